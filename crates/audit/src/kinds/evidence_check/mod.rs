//! Which claims the sources carry, with paraphrase as support (docs/audits.md, E).

mod contradiction;
mod reply;

use serde_json::Value;
use trace::{Kind, Trace};

use self::reply::{Reply, Support};
use super::shape::{count_discrepancy, discrepancy};
use super::{Listing, Spec};
use crate::assess::failed;
use crate::evidence::Basis;
use crate::policy::{Policy, Remedy};
use crate::prompt::Source;
use crate::reply::{Code, Problem};
use crate::report::{Claim, Confidence, Discrepancy, Report, Verdict};
use crate::routing::{Circumstances, Decision, Reason};
use crate::rules;
use crate::units::Unit;
use crate::verify::{Check, Field, Judged};
use crate::{Assessment, Outcome};

/// The parts of this kind.
pub static SPEC: Spec = Spec {
    kind: Kind::EvidenceCheck,
    prompts: &[Source(include_str!("prompts/v1.md")), Source(include_str!("prompts/v2.md"))],
    schema: reply::schema,
    basis: Basis::Retrieval,
    listing: Listing::ByJudge,
    retries: Policy::new(2, 0, Remedy::SamePrompt, 2),
    unusable: Decision::Hold,
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
        Verdict::Grounded => "SUPPORTED",
        Verdict::Contradicted | Verdict::Unsupported => "UNSUPPORTED",
        Verdict::InsufficientEvidence => "INSUFFICIENT_EVIDENCE",
    }
}

/// Unsupported claims, contradicted ones among them, over all claims (E-09); none without claims.
fn conclude(report: &mut Report, _: &Circumstances<'_>) {
    report.score = ratio(report);
}

fn ratio(report: &Report) -> Option<f64> {
    let contradicted = report.share(Verdict::Contradicted)?;
    Some(report.share(Verdict::Unsupported)? + contradicted)
}

/// An empty answer has no claim to look up (E-12).
fn decide_by_rule(trace: &Trace) -> Option<Report> {
    rules::has_no_answer(trace)
        .then(|| rules::no_claims(None, "No answer was provided, so there is no claim."))
}

/// A high ratio, contradicting sources, and verdicts below the lowest confidence, which is higher at high risk
/// (E-14, E-15).
fn reasons(report: &Report, circumstances: &Circumstances<'_>) -> Vec<Reason> {
    let limit = circumstances.policy.max_hallucination_ratio;
    let mut reasons = Vec::new();
    if let Some(score) = ratio(report).filter(|score| *score > limit) {
        let message = format!("the hallucination ratio {score:.2} is above {limit:.2}");
        let claims = report.findings().map(|(at, _)| at).collect();
        reasons.push(Reason { claims, ..Reason::hold("hallucination_ratio", message) });
    }
    let insufficient = report.share(Verdict::InsufficientEvidence).unwrap_or_default();
    if insufficient > MAX_INSUFFICIENT {
        let message = format!("for {:.0} % of the claims the evidence says too little", insufficient * 100.0);
        let claims = report.findings().map(|(at, _)| at).collect();
        reasons.push(Reason { claims, ..Reason::hold("insufficient_evidence", message) });
    }
    let chosen = |wanted: &dyn Fn(&Claim) -> bool| -> Vec<usize> {
        (0..).zip(&report.claims).filter(|(_, claim)| wanted(claim)).map(|(at, _)| at).collect()
    };
    let contradicted = chosen(&|claim| claim.verdict == Verdict::Contradicted);
    if !contradicted.is_empty() {
        let message = "a source contradicts the claim, or sources contradict each other".to_owned();
        reasons.push(Reason { claims: contradicted, ..Reason::hold("contradicted_claims", message) });
    }
    let lowest = if circumstances.high_risk { Confidence::High } else { Confidence::Medium };
    let unsure = chosen(&|claim| claim.confidence.is_some_and(|confidence| confidence < lowest));
    if !unsure.is_empty() {
        let message = format!("the judge's confidence is below {}", lowest.as_str());
        reasons.push(Reason { claims: unsure, ..Reason::hold("low_confidence", message) });
    }
    reasons
}

/// With more claims than this that cannot be told the ratio says nothing about the answer.
const MAX_INSUFFICIENT: f64 = 0.5;

fn assess(trace: &Trace, unit: &Unit, value: &Value, notes: Vec<String>) -> Assessment {
    let Value::Object(object) = value else {
        return failed(Outcome::Format, vec![Problem::new(Code::WrongType, "$", "expected an object")]);
    };
    let mut check = Check::new(trace, unit, SPEC.basis).locating_claims();
    let (reply, more) = match reply::read(object, check.corpus()) {
        Ok(read) => read,
        Err(problems) => return failed(Outcome::Format, problems),
    };
    check.note(notes);
    check.note(more);
    for (at, claim) in reply.claims.iter().enumerate() {
        // What the judge says about places is recorded; ours are used.
        check.note([format!("{LIST}[{at}].answer_span: the judge says `{}`", claim.answer_span)]);
        check.claim(&judged(at, claim));
    }
    let mut seen = std::collections::HashSet::new();
    for (at, claim) in reply.claims.iter().enumerate().filter(|(_, claim)| !seen.insert(claim.claim_id)) {
        let message = format!("a second claim with the number {}", claim.claim_id);
        check.refuse(Code::DuplicateClaim, format!("{LIST}[{at}].claim_id"), message);
    }
    let mut assessment = check.finish(LIST, "");
    if let Some(report) = &mut assessment.report {
        report.score = ratio(report);
        report.discrepancies = discrepancies(&reply);
    }
    assessment
}

/// Path of the list of claims.
const LIST: &str = "$.claims";

fn judged(at: usize, claim: &reply::Claim) -> Judged<'_> {
    let missing = claim.missing_evidence_description.as_deref().unwrap_or_default();
    let contradicts = claim.verdict.value == Support::Unsupported
        && (claim.supporting_source.is_some() || contradiction::is_noted(missing));
    let verdict = match claim.verdict.value {
        Support::Supported => Verdict::Grounded,
        Support::Unsupported if contradicts => Verdict::Contradicted,
        Support::Unsupported => Verdict::Unsupported,
        Support::InsufficientEvidence => Verdict::InsufficientEvidence,
    };
    let quote = Field::of("supporting_source", claim.supporting_source.as_deref());
    Judged {
        path: format!("{LIST}[{at}]"),
        text: &claim.claim_text,
        id: None,
        verdict,
        word: &claim.verdict.spelling,
        severity: None,
        confidence: Some(claim.confidence),
        fabrication: None,
        explanation: missing,
        source: Field::of("source_location", claim.source_location.as_deref()),
        supporting: quote.filter(|_| !contradicts),
        contradicting: quote.filter(|_| contradicts),
        source_key: Some("source_location"),
        quote_key: "supporting_source",
    }
}

/// The judge's figures that differ from what its claims add up to.
fn discrepancies(reply: &Reply) -> Vec<Discrepancy> {
    /// What rounding to two decimals can do.
    const ROUNDING: f64 = 0.0051;
    let count = |word| reply.claims.iter().filter(|claim| claim.verdict.value == word).count();
    let total = reply.claims.len();
    let unsupported = count(Support::Unsupported);
    #[expect(clippy::cast_precision_loss, reason = "a reply has fewer than 2^52 claims")]
    let ratio = if total == 0 { 0.0 } else { unsupported as f64 / total as f64 };
    let said = &reply.overall_assessment;
    [
        count_discrepancy("$.overall_assessment.total_claims", said.total_claims, total),
        count_discrepancy(
            "$.overall_assessment.supported_claims",
            said.supported_claims,
            count(Support::Supported),
        ),
        count_discrepancy("$.overall_assessment.unsupported_claims", said.unsupported_claims, unsupported),
        count_discrepancy(
            "$.overall_assessment.insufficient_evidence_claims",
            said.insufficient_evidence_claims,
            count(Support::InsufficientEvidence),
        ),
        discrepancy(
            "$.overall_assessment.hallucination_ratio",
            said.hallucination_ratio,
            Some(ratio),
            ROUNDING,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
