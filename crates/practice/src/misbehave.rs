//! Spoiling a reply in exactly one named way.

use std::{borrow::Cow, collections::HashSet};

use serde_json::Value;

use crate::{
    dice::Dice,
    envelope::Said,
    faults::Fault,
    honest::{ClaimAnalysis, Report},
};

/// 10 MiB, ten times what a judge is allowed to say.
const HUGE_BYTES: usize = 10 * 1024 * 1024;

/// Stands in the text where [`Fault::BrokenUtf8`] puts broken bytes once the body is a row of bytes.
pub(crate) const BROKEN_MARK: char = '\u{F8FF}';

/// What a reply is made from.
#[derive(Debug, Clone)]
pub(crate) struct Base<'a> {
    /// The report, where the content is one.
    pub(crate) report: Option<Report>,
    /// The content as text.
    pub(crate) text: Cow<'a, str>,
    /// The source ids of the evidence, with their texts, as far as the question was read.
    pub(crate) sources: Vec<(String, String)>,
}

/// Spoils what the judge says. None when the fault cannot be done to this reply: a report without grounded
/// claims has no quote to forge. Faults of the transport are none of this function's business.
pub(crate) fn spoil(fault: Fault, base: &Base<'_>, dice: &mut Dice) -> Option<Said> {
    let text = base.text.as_ref();
    let said = match fault {
        Fault::NotJson => Said::content("Looking at the answer, most of it seems fine to me, more or less."),
        Fault::SeveralCandidates => Said::content(two_candidates(base)?),
        Fault::Truncated => Said { finish_reason: "length".into(), ..Said::content(beginning(text)) },
        Fault::TruncatedStop => Said::content(beginning(text)),
        Fault::Empty => Said::content(""),
        Fault::ReasoningOnly => Said {
            reasoning: Some("The answer has to be held against the evidence, so first".into()),
            ..Said::nothing("length")
        },
        Fault::DuplicateKey => Said::content(duplicate_key(text)?),
        Fault::Nan => Said::content(not_a_number(base.report.as_ref()?)),
        Fault::MissingKey | Fault::WrongType => Said::content(broken_shape(fault, base.report.as_ref()?)?),
        Fault::Refusal => Said::content("I'm sorry, but I can't help with that request."),
        Fault::RefusalField => {
            Said { refusal: Some("I'm sorry, but I can't help with that.".into()), ..Said::nothing("stop") }
        }
        Fault::ContentFilter => Said::nothing("content_filter"),
        Fault::Fenced => Said::content(format!("```json\n{text}\n```")),
        Fault::Think => Said::content(format!(
            "<think>At first sight {{\"claim_analysis\": [], \"overall_assessment\": \"all grounded\"}} would do, \
             but no.</think>\n{text}"
        )),
        Fault::Huge => Said::content("x".repeat(HUGE_BYTES)),
        Fault::BrokenUtf8 => Said::content(with_remark(base, &format!("{BROKEN_MARK}"))),
        Fault::Nul => Said::content(with_remark(base, "\0")),
        Fault::BadEnum
        | Fault::OutOfRange
        | Fault::MissingClaim
        | Fault::DuplicateClaim
        | Fault::InventedClaim
        | Fault::FabricatedQuote
        | Fault::WrongSource
        | Fault::MissingQuote
        | Fault::UnknownSource
        | Fault::CountMismatch => {
            let mut report = base.report.clone()?;
            spoil_report(fault, &mut report, base, dice).then(|| Said::content(report.to_json()))?
        }
        Fault::Hang
        | Fault::SlowDrip
        | Fault::Status429
        | Fault::Status429RetryAfter
        | Fault::Status500
        | Fault::Status529
        | Fault::Status401
        | Fault::CutBody
        | Fault::Html200 => return None,
    };
    Some(said)
}

/// Spoils one thing in a report and says whether there was such a thing.
fn spoil_report(fault: Fault, report: &mut Report, base: &Base<'_>, dice: &mut Dice) -> bool {
    match fault {
        Fault::OutOfRange => report.faithfulness_score = 98.6,
        Fault::CountMismatch => {
            report.total_claims += 3;
            report.grounded_claims += 1;
            report.faithfulness_score = if report.faithfulness_score < 0.5 { 1.0 } else { 0.0 };
        }
        Fault::MissingClaim => {
            // A number that another claim holds too would not be missed.
            let is_alone = |claim: &ClaimAnalysis| {
                let others = report.claim_analysis.iter().filter(|other| *other != claim);
                let held: HashSet<String> = others.flat_map(ClaimAnalysis::numbers).collect();
                claim.numbers().iter().any(|number| !held.contains(number))
            };
            let Some(&left_out) = dice.pick(&indices(report, is_alone)) else { return false };
            report.claim_analysis.remove(left_out);
            report.count();
        }
        Fault::DuplicateClaim => {
            let Some(claim) = dice.pick(&report.claim_analysis).cloned() else { return false };
            report.claim_analysis.push(claim);
            report.count();
        }
        Fault::InventedClaim => {
            report.claim_analysis.push(invented_claim());
            report.count();
        }
        _ => {
            let wanted = |claim: &ClaimAnalysis| fault == Fault::BadEnum || claim.is_grounded();
            let Some(&chosen) = dice.pick(&indices(report, wanted)) else { return false };
            return spoil_claim(fault, &mut report.claim_analysis[chosen], base, dice);
        }
    }
    true
}

fn spoil_claim(fault: Fault, claim: &mut ClaimAnalysis, base: &Base<'_>, dice: &mut Dice) -> bool {
    match fault {
        Fault::BadEnum => claim.classification.push('.'),
        Fault::MissingQuote => claim.supporting_evidence = None,
        Fault::UnknownSource => claim.source_id = Some("no-such-source-7731".into()),
        Fault::FabricatedQuote => {
            let quote = claim.supporting_evidence.get_or_insert_default();
            quote.push_str(" This was confirmed on page 90210 of the appendix.");
        }
        Fault::WrongSource => {
            let Some(quote) = &claim.supporting_evidence else { return false };
            // The other source must not hold the quote too, or nothing would be wrong.
            let holds_quote =
                |id: &str| base.sources.iter().any(|(other, text)| other == id && text.contains(quote));
            let others: Vec<&String> =
                base.sources.iter().map(|(id, _)| id).filter(|id| !holds_quote(id)).collect();
            let Some(&other) = dice.pick(&others) else { return false };
            claim.source_id = Some(other.clone());
        }
        _ => return false,
    }
    true
}

fn indices(report: &Report, wanted: impl Fn(&ClaimAnalysis) -> bool) -> Vec<usize> {
    let claims = report.claim_analysis.iter().enumerate();
    claims.filter(|(_, claim)| wanted(claim)).map(|(index, _)| index).collect()
}

fn invented_claim() -> ClaimAnalysis {
    ClaimAnalysis {
        claim_text: "The harbour commission rejected 48151 petitions in 2093.".into(),
        classification: "hallucinated".into(),
        supporting_evidence: None,
        contradicting_evidence: None,
        explanation: "The evidence does not speak of this.".into(),
        severity: Some("major".into()),
        source_id: None,
    }
}

/// The report and a different one before it, both complete.
fn two_candidates(base: &Base<'_>) -> Option<String> {
    let mut other = base.report.clone()?;
    for claim in &mut other.claim_analysis {
        claim.classification = if claim.is_grounded() { "hallucinated".into() } else { "grounded".into() };
    }
    other.count();
    other.overall_assessment.push_str(" This was only a first draft.");
    Some(format!("A first draft:\n{}\n\nOn reflection:\n{}", other.to_json(), base.text))
}

/// The first two thirds, which for a JSON text is never valid JSON.
fn beginning(text: &str) -> String {
    let count = text.chars().count();
    text.chars().take(count * 2 / 3).collect()
}

/// Repeats the first key with another value.
fn duplicate_key(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix('{')?;
    let key = rest.split('"').nth(1)?;
    Some(format!("{{\"{key}\":null,{rest}"))
}

fn not_a_number(report: &Report) -> String {
    let text = report.to_json();
    let score = serde_json::to_string(&report.faithfulness_score).unwrap_or_default();
    text.replacen(&format!("\"faithfulness_score\":{score}"), "\"faithfulness_score\":NaN", 1)
}

fn broken_shape(fault: Fault, report: &Report) -> Option<String> {
    let mut value = serde_json::to_value(report).ok()?;
    let fields = value.as_object_mut()?;
    if fault == Fault::WrongType {
        fields.insert("claim_analysis".into(), Value::from("none worth mentioning"));
        return Some(value.to_string());
    }
    let first_claim = fields.get_mut("claim_analysis").and_then(|claims| claims.get_mut(0));
    match first_claim.and_then(Value::as_object_mut) {
        Some(claim) => claim.remove("classification"),
        None => fields.remove("claim_analysis"),
    };
    Some(value.to_string())
}

/// Adds a remark to the assessment, or to the end of a content that is no report.
fn with_remark(base: &Base<'_>, remark: &str) -> String {
    match &base.report {
        Some(report) => {
            let mut report = report.clone();
            report.overall_assessment.push_str(remark);
            report.to_json()
        }
        None => format!("{}{remark}", base.text),
    }
}
