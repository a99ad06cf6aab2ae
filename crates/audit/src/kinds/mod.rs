//! The audit kinds. Each is one folder: its prompt, its typed reply, and its mapping into the common report.

pub mod faithfulness;

use serde_json::Value;
use trace::{Kind, Trace};

use crate::Assessment;
use crate::report::Span;

/// A kind that the contract names and this version cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the audit kind `{0}` is not available in this version; available: faithfulness")]
pub struct Unavailable(pub Kind);

/// What a kind is made of: data, a reader of its replies, and the rules that need no judge.
#[derive(Debug)]
pub struct Spec {
    /// Which kind this is.
    pub kind: Kind,
    /// The prompts of this kind, newest last.
    pub prompts: &'static [crate::prompt::Source],
    /// The JSON Schema of a reply, for structured output and for the prompt's tests.
    pub schema: fn() -> Value,
    /// The required top-level keys of a reply.
    reply_keys: &'static [&'static str],
    /// Reads and verifies one reply object.
    assess: fn(&Trace, Option<Span>, &Value, Vec<String>) -> Assessment,
    /// Recomputes score and totals of a report, after sections were merged.
    pub score: fn(&crate::Report) -> Option<f64>,
    /// What a rule decides without a call, if one does.
    pub decide_by_rule: fn(&Trace) -> Option<crate::Report>,
}

impl Spec {
    /// The required top-level keys of a reply: an object with none of them cannot be meant as one.
    pub fn reply_keys(&self) -> &'static [&'static str] {
        self.reply_keys
    }

    /// Reads and verifies one reply object about `trace` (or one section of its answer).
    pub fn assess(
        &self,
        trace: &Trace,
        section: Option<Span>,
        value: &Value,
        notes: Vec<String>,
    ) -> Assessment {
        (self.assess)(trace, section, value, notes)
    }
}

/// The kind's parts.
///
/// # Errors
/// [`Unavailable`] when this version cannot run the kind.
pub fn find(kind: Kind) -> Result<&'static Spec, Unavailable> {
    match kind {
        Kind::Faithfulness => Ok(&faithfulness::SPEC),
        other => Err(Unavailable(other)),
    }
}

/// Every kind that this version can run.
pub const AVAILABLE: &[Kind] = &[Kind::Faithfulness];
