//! Closed-world evaluation of every claim, with a groundedness in percent (docs/audits.md, H).

mod reply;

use serde_json::Value;
use trace::{Kind, Trace};

use self::reply::Reply;
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
    kind: Kind::HallucinationEval,
    prompts: &[Source(include_str!("prompts/v1.md")), Source(include_str!("prompts/v2.md"))],
    schema: reply::schema,
    basis: Basis::Retrieval,
    listing: Listing::ByJudge,
    retries: Policy::new(1, 1, Remedy::AppendError, 1),
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
        Verdict::Unsupported => "UNSUPPORTED",
        Verdict::Contradicted => "CONTRADICTED",
        Verdict::InsufficientEvidence => "UNVERIFIABLE",
    }
}

/// Groundedness of an answer without claims (H-08).
const NO_CLAIMS: f64 = 100.0;

/// Supported claims over all claims, in percent (H-07); 100 by rule without claims, with a note (H-08).
fn conclude(report: &mut Report, _: &Circumstances<'_>) {
    score(report);
}

fn score(report: &mut Report) {
    report.score = report.grounded_share().map(|share| share * 100.0);
    if report.score.is_none() {
        report.score = Some(NO_CLAIMS);
        report.by_rule = true;
        if report.overall_assessment.trim().is_empty() {
            report.overall_assessment =
                "The answer makes no factual claims; the rule sets the groundedness to 100.".into();
        }
    }
}

/// An empty answer makes no claims; with empty evidence every claim is unsupported (H-09).
fn decide_by_rule(trace: &Trace) -> Option<Report> {
    if rules::has_no_answer(trace) {
        const NOTE: &str =
            "No answer was provided, so it makes no claims; the rule sets the groundedness to 100.";
        return Some(rules::no_claims(Some(NO_CLAIMS), NOTE));
    }
    rules::has_no_evidence(trace).then(|| rules::all_unsupported(trace, Some(0.0)))
}

/// Too many contradicted or unsupported claims block. Flags of low confidence are surfaced, and block only
/// beside a finding of higher confidence (H-17, H-18).
fn reasons(report: &Report, circumstances: &Circumstances<'_>) -> Vec<Reason> {
    let is_low = |claim: &Claim| claim.confidence == Some(Confidence::Low);
    let low: Vec<usize> = report.findings().filter(|(_, claim)| is_low(claim)).map(|(at, _)| at).collect();
    let is_firm = report.findings().any(|(_, claim)| !is_low(claim));
    let mut reasons = Vec::new();
    if is_firm {
        let policy = circumstances.policy;
        for (verdict, limit, code) in [
            (Verdict::Contradicted, policy.max_contradicted, "contradicted_claims"),
            (Verdict::Unsupported, policy.max_unsupported, "unsupported_claims"),
            (Verdict::InsufficientEvidence, policy.max_unsupported, "unverifiable_claims"),
        ] {
            let claims: Vec<usize> =
                report.findings().filter(|(_, claim)| claim.verdict == verdict).map(|(at, _)| at).collect();
            if claims.len() > limit {
                let message = format!("{} {} claims, {limit} allowed", claims.len(), verdict.as_str());
                // What cannot be checked is no proof of a hallucination: people decide.
                let decision =
                    if verdict == Verdict::InsufficientEvidence { Decision::Hold } else { Decision::Block };
                reasons.push(Reason { claims, decision, ..Reason::block(code, message) });
            }
        }
    }
    if !low.is_empty() {
        let message = "the judge is not sure about these flags".to_owned();
        reasons.push(Reason { claims: low, ..Reason::hold("low_confidence", message) });
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
        if claim.classification.value == Verdict::Contradicted && claim.source_evidence.is_none() {
            let path = format!("{LIST}[{at}].source_evidence");
            let message = "a contradicted claim comes without the passage that contradicts it";
            check.doubt("contradiction_without_quote", &path, message, Some(at));
        }
    }
    let mut assessment = check.finish(LIST, &reply.overall_assessment);
    if let Some(report) = &mut assessment.report {
        score(report);
        report.discrepancies = discrepancies(&reply, report.score);
    }
    assessment
}

/// Path of the list of claims.
const LIST: &str = "$.claims";

fn judged(at: usize, claim: &reply::Claim) -> Judged<'_> {
    let verdict = claim.classification.value;
    let quote = Field::of("source_evidence", claim.source_evidence.as_deref());
    let contradicts = verdict == Verdict::Contradicted;
    Judged {
        path: format!("{LIST}[{at}]"),
        text: &claim.claim_text,
        id: None,
        verdict,
        word: &claim.classification.spelling,
        severity: None,
        confidence: Some(claim.confidence),
        fabrication: claim.fabrication,
        explanation: &claim.notes,
        source: Field::of("evidence_source", claim.evidence_source.as_deref()),
        supporting: quote.filter(|_| !contradicts),
        contradicting: quote.filter(|_| contradicts),
        source_key: Some("evidence_source"),
        quote_key: "source_evidence",
    }
}

/// The judge's figures that differ from what its claims add up to.
fn discrepancies(reply: &Reply, score: Option<f64>) -> Vec<Discrepancy> {
    /// What rounding to whole percents can do.
    const ROUNDING: f64 = 0.51;
    let count = |verdict| reply.claims.iter().filter(|claim| claim.classification.value == verdict).count();
    [
        discrepancy("$.groundedness_score", reply.groundedness_score, score, ROUNDING),
        count_discrepancy("$.total_claims", reply.total_claims, reply.claims.len()),
        count_discrepancy("$.supported_claims", reply.supported_claims, count(Verdict::Grounded)),
        count_discrepancy("$.unsupported_claims", reply.unsupported_claims, count(Verdict::Unsupported)),
        count_discrepancy("$.contradicted_claims", reply.contradicted_claims, count(Verdict::Contradicted)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
