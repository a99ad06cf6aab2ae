//! One reply, judged: the very code that the worker and `groundcrew check reply` run.

use serde::Serialize;
use trace::{Kind, Trace};

use crate::kinds;
use crate::reply::{self, Problem};
use crate::report::Report;
use crate::units::{SentClaim, Unit};

/// What a reply turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Well-formed and consistent with the trace.
    Accepted,
    /// Not well-formed.
    Format,
    /// Well-formed, but contradicts the trace or itself.
    Content,
    /// The judge declined.
    Refusal,
}

impl Outcome {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Format => "format",
            Self::Content => "content",
            Self::Refusal => "refusal",
        }
    }
}

/// The judgment of one reply.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessment {
    /// What the reply is.
    pub outcome: Outcome,
    /// Why it was not accepted; empty when it was.
    pub problems: Vec<Problem>,
    /// What the reply says, mapped and recomputed. Present when accepted; for a content failure
    /// what could be mapped is kept so that a person can see it. None for an extraction.
    pub report: Option<Report>,
    /// The claims that an extraction found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extracted: Vec<SentClaim>,
}

/// Judges `content` as a reply about one `unit` of `trace`.
///
/// # Errors
/// [`kinds::Unavailable`] when this version cannot run the kind.
pub fn assess(
    kind: Kind,
    trace: &Trace,
    unit: &Unit,
    content: &str,
    finish_reason: Option<&str>,
) -> Result<Assessment, kinds::Unavailable> {
    let kind = kinds::find(kind)?;
    let keys = match unit {
        Unit::Extraction(_) => kinds::extraction::KEYS,
        _ => kind.reply_keys(),
    };
    Ok(match reply::extract(content, finish_reason, keys) {
        reply::Extracted::Refusal(problem) => failed(Outcome::Refusal, vec![problem]),
        reply::Extracted::Unreadable(problems) => failed(Outcome::Format, problems),
        reply::Extracted::Object { value, notes } => match unit {
            Unit::Extraction(section) => kinds::extraction::assess(trace, *section, &value),
            unit => kind.assess(trace, unit, &value, notes),
        },
    })
}

pub(crate) fn failed(outcome: Outcome, problems: Vec<Problem>) -> Assessment {
    Assessment { outcome, problems, report: None, extracted: Vec::new() }
}
