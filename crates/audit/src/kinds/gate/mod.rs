//! The binary gate: any ungrounded claim makes the whole answer ungrounded (docs/audits.md, G).

mod reply;
mod threshold;

pub use threshold::Threshold;

use serde_json::Value;
use trace::{Kind, Trace};

use super::{Listing, Spec};
use crate::assess::failed;
use crate::evidence::Basis;
use crate::policy::{Policy, Remedy};
use crate::prompt::Source;
use crate::reply::{Code, Problem};
use crate::report::{Confidence, Report, Verdict};
use crate::routing::{self, Circumstances, Decision, Reason};
use crate::rules;
use crate::units::Unit;
use crate::verify::{Check, Field, Judged};
use crate::{Assessment, Outcome};

/// The parts of this kind.
pub static SPEC: Spec = Spec {
    kind: Kind::Gate,
    prompts: &[Source(include_str!("prompts/v1.md")), Source(include_str!("prompts/v2.md"))],
    schema: reply::schema,
    basis: Basis::Retrieval,
    listing: Listing::ByJudge,
    retries: Policy::new(2, 0, Remedy::SamePrompt, 2),
    unusable: Decision::Block,
    shows_metadata: false,
    word,
    reply_keys: reply::KEYS,
    assess,
    conclude,
    decide_by_rule,
    reasons,
};

/// The word of the kind's replies.
const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Grounded => "grounded",
        Verdict::Contradicted | Verdict::Unsupported | Verdict::InsufficientEvidence => "ungrounded",
    }
}

/// A claim whose evidence is below the threshold counts as ungrounded (G-13); the score is 1 when every claim is
/// grounded, else 0. Without claims the answer is grounded by rule (G-09).
fn conclude(report: &mut Report, circumstances: &Circumstances<'_>) {
    let threshold = Threshold::for_circumstances(circumstances);
    report.claims.iter_mut().for_each(|claim| threshold.apply(claim));
    Threshold::distrust(report);
    score(report);
}

fn score(report: &mut Report) {
    report.score = Some(if report.findings().next().is_none() { 1.0 } else { 0.0 });
    report.by_rule |= report.claims.is_empty();
}

/// An empty answer makes no claims, and so none that is ungrounded (G-09).
fn decide_by_rule(trace: &Trace) -> Option<Report> {
    const NOTE: &str = "No answer was provided, so it makes no claim that could be ungrounded.";
    rules::has_no_answer(trace).then(|| rules::no_claims(Some(1.0), NOTE))
}

/// Any ungrounded claim blocks (G-08); a person decides where the judge is not sure, or where what is blocked is of
/// high value (G-05).
fn reasons(report: &Report, circumstances: &Circumstances<'_>) -> Vec<Reason> {
    let ungrounded: Vec<usize> = report.findings().map(|(at, _)| at).collect();
    let unsure: Vec<usize> = (0..)
        .zip(&report.claims)
        .filter(|(_, claim)| claim.confidence == Some(Confidence::Low))
        .map(|(at, _)| at)
        .collect();
    // What was not judged is not let through: an answer may have told the judge to list nothing.
    let mut reasons: Vec<Reason> = routing::unjudged_reason(report).into_iter().collect();
    let is_blocked = !ungrounded.is_empty();
    if is_blocked {
        let message = format!("{} of {} claims are not grounded", ungrounded.len(), report.claims.len());
        reasons.push(Reason { claims: ungrounded.clone(), ..Reason::block("ungrounded", message) });
    }
    if !unsure.is_empty() {
        let message = "the judge is not sure about these claims".to_owned();
        reasons.push(Reason { claims: unsure, ..Reason::hold("low_confidence", message) });
    }
    if is_blocked && circumstances.trace.value == trace::Value::High {
        let message = "what is blocked is of high value".to_owned();
        reasons.push(Reason { claims: ungrounded, urgent: true, ..Reason::hold("high_value", message) });
    }
    reasons
}

fn assess(trace: &Trace, unit: &Unit, value: &Value, notes: Vec<String>) -> Assessment {
    let Value::Object(object) = value else {
        return failed(Outcome::Format, vec![Problem::new(Code::WrongType, "$", "expected an object")]);
    };
    let mut check = Check::new(trace, unit, SPEC.basis);
    let (reply, more) = match reply::read(object, check.corpus()) {
        Ok(read) => read,
        Err(problems) => return failed(Outcome::Format, problems),
    };
    check.note(notes);
    check.note(more);
    for (at, claim) in reply.claims.iter().enumerate() {
        check.claim(&judged(at, claim));
    }
    let all_grounded = reply.claims.iter().all(|claim| claim.verdict.value == Verdict::Grounded);
    let says_grounded = reply.overall_verdict.value == Verdict::Grounded;
    if all_grounded != says_grounded {
        let message = match (says_grounded, reply.claims.is_empty()) {
            (true, _) => "`grounded`, while a claim is ungrounded",
            (false, true) => "`ungrounded`, while no claim is listed",
            (false, false) => "`ungrounded`, while every claim is grounded",
        };
        check.refuse(Code::CountMismatch, "$.overall_verdict", message);
    }
    let mut assessment = check.finish(LIST, "");
    if let Some(report) = &mut assessment.report {
        score(report);
    }
    assessment
}

/// Path of the list of claims.
const LIST: &str = "$.claims";

fn judged(at: usize, claim: &reply::Claim) -> Judged<'_> {
    let quote = Field::of("source_quote", claim.source_quote.as_deref());
    let is_grounded = claim.verdict.value == Verdict::Grounded;
    Judged {
        path: format!("{LIST}[{at}]"),
        text: &claim.claim_text,
        id: None,
        verdict: claim.verdict.value,
        word: &claim.verdict.spelling,
        severity: None,
        confidence: Some(claim.confidence),
        fabrication: None,
        explanation: if is_grounded { "" } else { "No single source carries this claim." },
        source: Field::of("source_id", claim.source_id.as_deref()),
        supporting: quote,
        contradicting: None,
        source_key: Some("source_id"),
        quote_key: "source_quote",
    }
}
