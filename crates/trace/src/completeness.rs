//! Is this trace complete enough to be judged? Decided per kind, before any money is spent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Chunk, Intent, Kind, Problem, Trace, truncation};

/// What may be done with a trace under one kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Readiness {
    /// It can be audited. Fields that the project lets us fill in are filled in.
    Complete(Box<Prepared>),
    /// It cannot be judged; every missing or doubtful field is listed.
    Incomplete(Vec<Problem>),
    /// The kind makes no sense for this trace; nothing is wrong with it.
    NotApplicable(String),
}

/// A complete trace and where its provenance fields came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The trace, with relaxed fields filled in: every chunk has a source id, a rank and a text.
    pub trace: Trace,
    /// How each provenance field was obtained; stored and shown with the result.
    pub provenance: BTreeMap<&'static str, Provenance>,
}

/// Where a field of the retrieval came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// The producer stated it.
    Explicit,
    /// Taken from the surrounding span of the tracing SDK.
    FromSpan,
    /// Taken from the order of the list.
    ListOrder,
    /// Made up by us from the content.
    Synthetic,
}

/// Which fields of the retrieval a project demands. `None`: the field must be there. A provenance:
/// it may be missing and is then obtained so. Requiring all three is the default for
/// `faithfulness` (docs/audits.md, F-07).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requirements {
    /// `retrieval.retrieved_at`: may be relaxed to `from_span`, when the trace's own time serves.
    pub retrieved_at: Option<Provenance>,
    /// `retrieval.chunks[].rank`: may be relaxed to `list_order`.
    pub rank: Option<Provenance>,
    /// `retrieval.chunks[].source_id`: may be relaxed to `synthetic`.
    pub source_id: Option<Provenance>,
}

impl Requirements {
    /// The provenance words that make sense for a field, for error messages.
    pub fn check(&self) -> Result<(), String> {
        let wrong = |key: &str, given: Option<Provenance>, allowed: Provenance| match given {
            Some(given) if given != allowed && given != Provenance::Explicit => {
                Err(format!("{key}: expected {allowed:?} or Explicit, found {given:?}"))
            }
            _ => Ok(()),
        };
        wrong("retrieved_at", self.retrieved_at, Provenance::FromSpan)?;
        wrong("rank", self.rank, Provenance::ListOrder)?;
        wrong("source_id", self.source_id, Provenance::Synthetic)
    }
}

/// Decides whether `trace` can be audited as `kind`.
///
/// Applicability comes first: a creative answer without evidence is not incomplete, it is not ours to judge.
pub fn check(trace: &Trace, kind: Kind, requirements: &Requirements) -> Readiness {
    if trace.intent != Intent::Factual {
        return Readiness::NotApplicable(format!(
            "the intent is {}: only factual answers are audited",
            trace.intent
        ));
    }
    let mut problems = Vec::new();
    // The gate's own question is whether the evidence carries the answer; who asks may leave the user's out.
    if !matches!(kind, Kind::Gate | Kind::EvidenceCheck) || trace.query.is_some() {
        text(&mut problems, "$.query", trace.query.as_deref(), Blank::Problem);
    }
    text(&mut problems, "$.answer", trace.answer.as_deref(), Blank::Allowed);
    match kind {
        Kind::Reference => reference(&mut problems, trace),
        Kind::Gate | Kind::EvidenceCheck if problems.is_empty() && has_empty_retrieval(trace) => {
            return Readiness::NotApplicable(format!("{kind} does not apply to an answer without evidence"));
        }
        _ => {}
    }
    if kind != Kind::Reference {
        retrieval(&mut problems, trace, requirements);
    }
    if problems.is_empty() {
        Readiness::Complete(Box::new(fill_in(trace.clone())))
    } else {
        Readiness::Incomplete(problems)
    }
}

#[derive(PartialEq)]
enum Blank {
    Allowed,
    Problem,
}

fn text(problems: &mut Vec<Problem>, path: &str, text: Option<&str>, blank: Blank) {
    match text {
        None => problems.push(Problem::new(path, "missing")),
        Some(text) if blank == Blank::Problem && text.trim().is_empty() => {
            problems.push(Problem::new(path, "is blank"))
        }
        Some(text) => {
            if let Some(sign) = truncation::sign(text) {
                problems.push(Problem::new(path, sign));
            }
        }
    }
}

fn has_empty_retrieval(trace: &Trace) -> bool {
    trace.retrieval.as_ref().is_some_and(|retrieval| retrieval.chunks.as_ref().is_some_and(Vec::is_empty))
}

fn reference(problems: &mut Vec<Problem>, trace: &Trace) {
    let Some(documents) = trace.reference.as_deref().filter(|documents| !documents.is_empty()) else {
        problems.push(Problem::new("$.reference", "missing: this kind compares the answer with it"));
        return;
    };
    for (at, document) in documents.iter().enumerate() {
        text(problems, &format!("$.reference[{at}].text"), document.text.as_deref(), Blank::Problem);
    }
}

fn retrieval(problems: &mut Vec<Problem>, trace: &Trace, requirements: &Requirements) {
    let Some(retrieval) = &trace.retrieval else {
        problems.push(Problem::new(
            "$.retrieval",
            "missing; a retrieval that found nothing has an empty list of chunks",
        ));
        return;
    };
    if retrieval.truncated == Some(true) {
        problems.push(Problem::new("$.retrieval.truncated", "the producer says that the context is cut"));
    }
    let every_chunk_has_a_time =
        !trace.chunks().is_empty() && trace.chunks().iter().all(|chunk| chunk.retrieved_at.is_some());
    let span_time_serves = is_relaxed(requirements.retrieved_at) && trace.occurred_at.is_some();
    if retrieval.retrieved_at.is_none() && !every_chunk_has_a_time && !span_time_serves {
        problems.push(Problem::new("$.retrieval.retrieved_at", "missing: when was this retrieved?"));
    }
    let Some(chunks) = &retrieval.chunks else {
        problems.push(Problem::new(
            "$.retrieval.chunks",
            "missing; a retrieval that found nothing has an empty list",
        ));
        return;
    };
    for (at, chunk) in chunks.iter().enumerate() {
        chunk_fields(problems, &format!("$.retrieval.chunks[{at}]"), chunk, requirements);
    }
}

fn chunk_fields(problems: &mut Vec<Problem>, path: &str, chunk: &Chunk, requirements: &Requirements) {
    if chunk.source_id.as_deref().is_none_or(|id| id.trim().is_empty()) && !is_relaxed(requirements.source_id)
    {
        problems.push(Problem::new(
            format!("{path}.source_id"),
            "missing: a verdict must be able to cite this chunk",
        ));
    }
    if chunk.rank.is_none() && !is_relaxed(requirements.rank) {
        problems.push(Problem::new(format!("{path}.rank"), "missing: the place in the retriever's ranking"));
    }
    text(problems, &format!("{path}.text"), chunk.text.as_deref(), Blank::Problem);
}

fn is_relaxed(requirement: Option<Provenance>) -> bool {
    !matches!(requirement, None | Some(Provenance::Explicit))
}

/// Fills in the fields whose absence the project allows, and says how.
fn fill_in(mut trace: Trace) -> Prepared {
    let mut provenance = BTreeMap::new();
    let occurred_at = trace.occurred_at;
    if let Some(retrieval) = &mut trace.retrieval {
        let has_time = retrieval.retrieved_at.is_some()
            || retrieval.chunks.iter().flatten().any(|chunk| chunk.retrieved_at.is_some());
        provenance.insert("retrieved_at", if has_time { Provenance::Explicit } else { Provenance::FromSpan });
        if !has_time {
            retrieval.retrieved_at = occurred_at;
        }
        provenance.insert("rank", Provenance::Explicit);
        provenance.insert("source_id", Provenance::Explicit);
        for (at, chunk) in retrieval.chunks.iter_mut().flatten().enumerate() {
            if chunk.rank.is_none() {
                chunk.rank = i64::try_from(at + 1).ok();
                provenance.insert("rank", Provenance::ListOrder);
            }
            if chunk.source_id.as_deref().is_none_or(|id| id.trim().is_empty()) {
                chunk.source_id = Some(synthetic_id(chunk));
                provenance.insert("source_id", Provenance::Synthetic);
            }
        }
    }
    for (document, number) in trace.reference.iter_mut().flatten().zip(1..) {
        if document.source_id.as_deref().is_none_or(|id| id.trim().is_empty()) {
            document.source_id = Some(format!("reference-{number}"));
            provenance.insert("reference_source_id", Provenance::Synthetic);
        }
    }
    Prepared { trace, provenance }
}

/// The same text gets the same id in every trace, so that findings can be grouped by source.
fn synthetic_id(chunk: &Chunk) -> String {
    let digest = Sha256::digest(chunk.text.as_deref().unwrap_or_default().as_bytes());
    digest.iter().take(6).fold("synthetic-".to_owned(), |id, byte| format!("{id}{byte:02x}"))
}
