//! Every claim of a list held against authoritative documents (docs/audits.md, R).

mod reply;

use serde_json::Value;
use trace::{Kind, Trace};

use self::reply::{Category, Reply};
use super::shape::count_discrepancy;
use super::{Listing, Spec};
use crate::assess::failed;
use crate::evidence::Basis;
use crate::policy::{Policy, Remedy};
use crate::prompt::Source;
use crate::reply::{Code, Problem};
use crate::report::{Discrepancy, Report, Verdict};
use crate::routing::{Circumstances, Decision, Reason};
use crate::rules;
use crate::units::{self, Unit};
use crate::verify::{Check, Field, Judged};
use crate::{Assessment, Outcome};

/// The parts of this kind.
pub static SPEC: Spec = Spec {
    kind: Kind::Reference,
    prompts: &[Source(include_str!("prompts/v1.md")), Source(include_str!("prompts/v2.md"))],
    schema: reply::schema,
    basis: Basis::Reference,
    listing: Listing::Sent,
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
        Verdict::Grounded => "grounded",
        Verdict::Contradicted => "hallucinated",
        Verdict::Unsupported | Verdict::InsufficientEvidence => "unsupported",
    }
}

/// This kind yields counts and no score.
fn conclude(report: &mut Report, _: &Circumstances<'_>) {
    report.score = None;
}

/// An answer without a statement has nothing to compare.
fn decide_by_rule(trace: &Trace) -> Option<Report> {
    let answer = trace.answer.as_deref().unwrap_or_default();
    units::sentence_claims(answer)
        .is_empty()
        .then(|| rules::no_claims(None, "The answer makes no statement that a reference could confirm."))
}

/// Severities say it all, and they are routed alike for every kind.
fn reasons(_: &Report, _: &Circumstances<'_>) -> Vec<Reason> {
    Vec::new()
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
    for (at, claim) in reply.analysis.iter().enumerate() {
        check.claim(&judged(at, claim));
    }
    let mut assessment = check.finish(LIST, "");
    if let Some(report) = &mut assessment.report {
        report.discrepancies = discrepancies(&reply);
    }
    assessment
}

/// Path of the list of claims.
const LIST: &str = "$.analysis";

fn judged(at: usize, claim: &reply::Claim) -> Judged<'_> {
    let verdict = match claim.category.value {
        Category::Grounded => Verdict::Grounded,
        Category::Hallucinated => Verdict::Contradicted,
        Category::Unsupported => Verdict::Unsupported,
    };
    let quote = Field::of("reference_evidence", claim.reference_evidence.as_deref());
    let contradicts = verdict == Verdict::Contradicted;
    Judged {
        path: format!("{LIST}[{at}]"),
        text: &claim.claim_text,
        id: Some(claim.claim_id.clone()),
        verdict,
        word: &claim.category.spelling,
        severity: claim.severity,
        confidence: None,
        fabrication: None,
        explanation: &claim.explanation,
        source: None,
        supporting: quote.filter(|_| !contradicts),
        contradicting: quote.filter(|_| contradicts),
        source_key: None,
        quote_key: "reference_evidence",
    }
}

/// The judge's figures that differ from what its claims add up to.
fn discrepancies(reply: &Reply) -> Vec<Discrepancy> {
    let count = |category| reply.analysis.iter().filter(|claim| claim.category.value == category).count();
    let summary = &reply.summary;
    [
        count_discrepancy("$.summary.total_claims", summary.total_claims, reply.analysis.len()),
        count_discrepancy("$.summary.grounded_count", summary.grounded_count, count(Category::Grounded)),
        count_discrepancy(
            "$.summary.hallucinated_count",
            summary.hallucinated_count,
            count(Category::Hallucinated),
        ),
        count_discrepancy(
            "$.summary.unsupported_count",
            summary.unsupported_count,
            count(Category::Unsupported),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
