//! Faithfulness of an answer to the retrieved evidence, with omissions (docs/audits.md, F).

mod reply;

use serde_json::Value;
use trace::{Kind, Trace};

use self::reply::{Classification, Reply};
use super::shape::{count_discrepancy, discrepancy};
use super::{Listing, Spec};
use crate::assess::failed;
use crate::evidence::Basis;
use crate::policy::{Policy, Remedy};
use crate::prompt::Source;
use crate::reply::{Code, Problem};
use crate::report::{Discrepancy, Report, Verdict};
use crate::routing::{Circumstances, Decision, Reason};
use crate::rules;
use crate::units::Unit;
use crate::verify::{Check, Field, Judged};
use crate::{Assessment, Outcome};

/// The parts of this kind.
pub static SPEC: Spec = Spec {
    kind: Kind::Faithfulness,
    prompts: &[
        Source(include_str!("prompts/v1.md")),
        Source(include_str!("prompts/v2.md")),
        Source(include_str!("prompts/v3.md")),
    ],
    schema: reply::schema,
    basis: Basis::Retrieval,
    listing: Listing::ByJudge,
    retries: Policy::new(1, 1, Remedy::Strengthen, 1),
    unusable: Decision::Hold,
    shows_metadata: true,
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
        Verdict::Contradicted | Verdict::Unsupported | Verdict::InsufficientEvidence => "hallucinated",
    }
}

/// Grounded claims over all claims (F-06); none without claims, unless a rule has set it.
fn conclude(report: &mut Report, _: &Circumstances<'_>) {
    report.score = report.grounded_share().or(report.score);
}

/// An answer that is empty has score 0 with a note (F-15); with empty evidence every statement of the answer is
/// unsupported, and the score is 0 (F-14).
fn decide_by_rule(trace: &Trace) -> Option<Report> {
    if rules::has_no_answer(trace) {
        const NOTE: &str =
            "No answer was provided, so there is nothing to support; the rule sets the score to 0.";
        return Some(rules::no_claims(Some(0.0), NOTE));
    }
    rules::has_no_evidence(trace).then(|| rules::all_unsupported(trace, Some(0.0)))
}

/// A score below the project's threshold (F-22).
fn reasons(report: &Report, circumstances: &Circumstances<'_>) -> Vec<Reason> {
    let threshold = circumstances.policy.review_below;
    let low = report.score.filter(|score| *score < threshold && !report.claims.is_empty());
    low.map(|score| Reason {
        claims: report.findings().map(|(at, _)| at).collect(),
        ..Reason::hold("score_below_threshold", format!("the score {score:.2} is below {threshold:.2}"))
    })
    .into_iter()
    .collect()
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
    for (at, claim) in reply.claim_analysis.iter().enumerate() {
        check.claim(&judged(at, claim));
    }
    for (at, omission) in reply.omission_flags.iter().enumerate() {
        check.omission(
            &format!("$.omission_flags[{at}].source_passage"),
            &omission.omitted_fact,
            &omission.source_passage,
            &omission.relevance,
        );
    }
    let mut assessment = check.finish(LIST, &reply.overall_assessment);
    if let Some(report) = &mut assessment.report {
        report.score = report.grounded_share();
        report.discrepancies = discrepancies(&reply, report.score);
    }
    assessment
}

/// Path of the list of claims.
const LIST: &str = "$.claim_analysis";

fn judged(at: usize, claim: &reply::Claim) -> Judged<'_> {
    let verdict = match (claim.classification.value, &claim.contradicting_evidence) {
        (Classification::Grounded, _) => Verdict::Grounded,
        (Classification::Hallucinated, Some(_)) => Verdict::Contradicted,
        (Classification::Hallucinated, None) => Verdict::Unsupported,
    };
    Judged {
        path: format!("{LIST}[{at}]"),
        text: &claim.claim_text,
        id: None,
        verdict,
        word: &claim.classification.spelling,
        severity: claim.severity,
        confidence: None,
        fabrication: None,
        explanation: &claim.explanation,
        source: Field::of("source_id", claim.source_id.as_deref()),
        supporting: Field::of("supporting_evidence", claim.supporting_evidence.as_deref()),
        contradicting: Field::of("contradicting_evidence", claim.contradicting_evidence.as_deref()),
        source_key: Some("source_id"),
        quote_key: "supporting_evidence",
    }
}

/// The judge's figures that differ from what its claims add up to.
fn discrepancies(reply: &Reply, score: Option<f64>) -> Vec<Discrepancy> {
    /// What rounding to two decimals can do.
    const ROUNDING: f64 = 0.0051;
    let total = reply.claim_analysis.len();
    let grounded = reply
        .claim_analysis
        .iter()
        .filter(|claim| claim.classification.value == Classification::Grounded)
        .count();
    [
        discrepancy("$.faithfulness_score", reply.faithfulness_score, score, ROUNDING),
        count_discrepancy("$.total_claims", reply.total_claims, total),
        count_discrepancy("$.grounded_claims", reply.grounded_claims, grounded),
        count_discrepancy("$.hallucinated_claims", reply.hallucinated_claims, total - grounded),
        count_discrepancy("$.omitted_facts", reply.omitted_facts, reply.omission_flags.len()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
