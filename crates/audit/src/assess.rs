//! One reply, judged: the very code that the worker and `groundcrew check reply` run.

use serde::Serialize;
use trace::{Kind, Trace};

use crate::evidence::Basis;
use crate::kinds;
use crate::reply::{self, Problem};
use crate::report::{Evidence, Report, Role};
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
    let mut assessment = match reply::extract(content, finish_reason, keys) {
        reply::Extracted::Refusal(problem) => failed(Outcome::Refusal, vec![problem]),
        reply::Extracted::Unreadable(problems) => failed(Outcome::Format, problems),
        reply::Extracted::Object { value, notes } => match unit {
            Unit::Extraction(section) => kinds::extraction::assess(trace, *section, &value),
            unit => {
                let mut assessment = kind.assess(trace, unit, &value, notes);
                if let Some(report) = &mut assessment.report
                    && kind.basis == Basis::Retrieval
                {
                    note_unseen_chunks(report, trace);
                }
                assessment
            }
        },
    };
    shorten(&mut assessment.problems);
    Ok(assessment)
}

/// Leaves out what nobody reads and no judge mends: all but the first problems of a reply, with a word on how many more
/// there are.
fn shorten(problems: &mut Vec<Problem>) {
    const MOST: usize = 50;
    let Some(next) = problems.get(MOST) else { return };
    let message = format!("{} more problems are not listed, of this code and others", problems.len() - MOST);
    let rest = Problem::new(next.code, next.path.clone(), message);
    problems.truncate(MOST);
    problems.push(rest);
}

/// Notes each grounded claim whose passages all stand in chunks that the generator did not see: the answer is right by
/// what was retrieved, and was not made from it.
fn note_unseen_chunks(report: &mut Report, trace: &Trace) {
    let unseen: Vec<bool> = trace.chunks().iter().map(|chunk| chunk.in_prompt == Some(false)).collect();
    if !unseen.contains(&true) {
        return;
    }
    let is_unseen = |evidence: &Evidence| unseen.get(evidence.chunk).copied().unwrap_or_default();
    let notes = report.claims.iter().enumerate().filter_map(|(at, claim)| {
        let mut supporting = claim.evidence.iter().filter(|evidence| evidence.role == Role::Supporting).peekable();
        supporting.peek()?;
        supporting.all(is_unseen).then(|| {
            format!("claim {at} is supported only by chunks that were not in the generator's prompt (in_prompt is false)")
        })
    });
    report.notes.extend(notes.collect::<Vec<_>>());
}

pub(crate) fn failed(outcome: Outcome, problems: Vec<Problem>) -> Assessment {
    Assessment { outcome, problems, report: None, extracted: Vec::new() }
}
