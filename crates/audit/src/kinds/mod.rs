//! The audit kinds. Each is one folder: its prompts, its typed reply, its mapping into the common
//! report, its rules without a judge, and its reasons to involve people.

pub mod evidence_check;
pub mod extraction;
pub mod faithfulness;
pub mod gate;
pub mod hallucination_eval;
pub mod reference;
mod shape;

use serde_json::Value;
use trace::{Kind, Trace};

use crate::Assessment;
use crate::evidence::Basis;
use crate::policy;
use crate::report::{Report, Verdict};
use crate::routing::{self, Decision, Reason};
use crate::units::Unit;

/// A kind that the contract names and this version cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the audit kind `{0}` is not available in this version")]
pub struct Unavailable(pub Kind);

/// Who lists the claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// The judge takes the answer apart.
    ByJudge,
    /// We send a numbered list, and every claim of it gets exactly one verdict.
    Sent,
}

/// What a kind is made of: data, a reader of its replies, and pure functions on reports.
#[derive(Debug)]
pub struct Spec {
    /// Which kind this is.
    pub kind: Kind,
    /// The prompts of this kind, newest last.
    pub prompts: &'static [crate::prompt::Source],
    /// The JSON Schema of a reply, for structured output and for the prompt's tests.
    pub schema: fn() -> Value,
    /// What the answer is held against.
    pub basis: Basis,
    /// Who lists the claims.
    pub listing: Listing,
    /// How often the judge is asked again, unless configuration says otherwise.
    pub retries: policy::Policy,
    /// What the producer should do when the judge's replies could not be used.
    pub unusable: Decision,
    /// Whether the trace's own metadata is shown to the judge.
    pub shows_metadata: bool,
    /// The judge's word for an internal verdict.
    pub word: fn(Verdict) -> &'static str,
    /// The required top-level keys of a reply.
    reply_keys: &'static [&'static str],
    /// Reads and verifies one reply object.
    assess: fn(&Trace, &Unit, &Value, Vec<String>) -> Assessment,
    /// What follows from the claims: score, and verdicts that a threshold changes.
    pub conclude: fn(&mut Report, &routing::Circumstances<'_>),
    /// What a rule decides without a call, if one does.
    pub decide_by_rule: fn(&Trace) -> Option<Report>,
    /// Why people must see the report, beyond the reasons that all kinds share.
    pub reasons: fn(&Report, &routing::Circumstances<'_>) -> Vec<Reason>,
}

impl Spec {
    /// The required top-level keys of a reply: an object with none of them cannot be meant as one.
    pub fn reply_keys(&self) -> &'static [&'static str] {
        self.reply_keys
    }

    /// Reads and verifies one reply object about a unit of `trace`.
    pub fn assess(&self, trace: &Trace, unit: &Unit, value: &Value, notes: Vec<String>) -> Assessment {
        (self.assess)(trace, unit, value, notes)
    }
}

/// The kind's parts.
///
/// # Errors
/// [`Unavailable`] when this version cannot run the kind.
pub fn find(kind: Kind) -> Result<&'static Spec, Unavailable> {
    ALL.iter().copied().find(|spec| spec.kind == kind).ok_or(Unavailable(kind))
}

/// Every kind that this version can run.
pub static ALL: &[&Spec] =
    &[&faithfulness::SPEC, &hallucination_eval::SPEC, &reference::SPEC, &evidence_check::SPEC, &gate::SPEC];
