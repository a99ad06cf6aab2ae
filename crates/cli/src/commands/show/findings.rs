//! Claims, omissions and doubts, each beside the evidence.

use audit::{Basis, Evidence, Passage, Role, kinds};
use store::{AuditView, ClaimView, TraceView};
use trace::Trace;

use super::paragraph;
use crate::output::Output;
use crate::terminal;

/// How much of a chunk is shown before and after a quote, in characters.
const AROUND: usize = 60;

pub(super) fn print(
    output: &mut Output,
    audit: &AuditView,
    view: &TraceView,
    payload: Option<&Trace>,
    columns: usize,
) {
    let basis = audit.kind.parse().ok().and_then(|kind| kinds::find(kind).ok());
    let basis = basis.map_or(Basis::Retrieval, |spec| spec.basis);
    let passages = payload.map(|trace| basis.passages(trace)).unwrap_or_default();
    for claim in &audit.claims {
        print_claim(output, claim, view, &passages, columns);
    }
    for omission in &audit.omissions {
        output.line("");
        output.line(format!("  omission {}", omission.index));
        let left = format!("{}\nwhy it matters: {}", omission.missing_fact, omission.impact);
        let chunk = usize::try_from(omission.chunk).ok().and_then(|chunk| Some(passages.get(chunk)?.text));
        let span = (omission.chunk_start, omission.chunk_end);
        let right =
            format!("{}:\n{}", omission.source_id, in_context(chunk, span, &omission.available_evidence));
        beside(output, &left, &right, columns);
    }
    print_doubts(output, audit, columns);
}

fn print_claim(
    output: &mut Output,
    claim: &ClaimView,
    view: &TraceView,
    passages: &[Passage<'_>],
    columns: usize,
) {
    output.line("");
    let mut words = vec![claim.verdict.clone()];
    words.extend(claim.severity.clone());
    words.extend(claim.confidence.clone());
    words.extend(claim.fabrication.as_ref().map(|word| format!("made up: {word}")));
    if claim.by_rule {
        words.push("by rule".into());
    }
    if let Some(word) = claim.judge_verdict.as_ref().filter(|word| **word != claim.verdict) {
        words.push(format!("the judge's word: {word}"));
    }
    let id = claim.claim_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    output.line(format!(
        "  claim {}{}: {}",
        claim.index,
        terminal::line(&id),
        terminal::line(&words.join(", "))
    ));
    let sentence = sentence(view.answer.as_deref(), claim);
    let mut left = claim.text.clone();
    if let Some(sentence) = sentence.filter(|sentence| sentence.trim() != claim.text.trim()) {
        left = format!("{left}\nin the answer: {sentence}");
    }
    if !claim.explanation.trim().is_empty() {
        left = format!("{left}\nwhy: {}", claim.explanation);
    }
    beside(output, &left, &evidence(claim, passages), columns);
}

/// The part of the answer that the claim was aligned with.
fn sentence(answer: Option<&str>, claim: &ClaimView) -> Option<String> {
    let (start, end) = (usize::try_from(claim.answer_start?).ok()?, usize::try_from(claim.answer_end?).ok()?);
    Some(answer?.chars().skip(start).take(end.saturating_sub(start)).collect())
}

fn evidence(claim: &ClaimView, passages: &[Passage<'_>]) -> String {
    let quotes: Vec<Evidence> = serde_json::from_value(claim.evidence.clone()).unwrap_or_default();
    if quotes.is_empty() {
        return nearest(claim, passages);
    }
    let passages: Vec<String> = quotes
        .iter()
        .map(|quote| {
            let role = match quote.role {
                Role::Supporting => "supports",
                Role::Contradicting => "contradicts",
            };
            let passage = passages.get(quote.chunk);
            let chunk = passage.map(|passage| passage.text);
            let link =
                passage.and_then(|passage| passage.url).map(|url| format!("\n{url}")).unwrap_or_default();
            let scalars = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            let span = (scalars(quote.span.start), scalars(quote.span.end));
            format!(
                "{} {role} ({}):\n{}{link}",
                quote.source_id,
                quote.grade.as_str(),
                in_context(chunk, span, &quote.quote)
            )
        })
        .collect();
    passages.join("\n")
}

/// What comes nearest to a claim without a quote.
fn nearest(claim: &ClaimView, passages: &[Passage<'_>]) -> String {
    const NONE: &str = "no passage is quoted";
    let Some((at, span)) = audit::verify::nearest(passages, &claim.text) else { return NONE.into() };
    let passage = &passages[at];
    let link = passage.url.map(|url| format!("\n{url}")).unwrap_or_default();
    format!("{NONE}; nearest, in {}:\n{}{link}", passage.source_id, audit::text::slice(passage.text, span))
}

/// A quote with a little of what stands around it in the chunk, marked by « and ».
fn in_context(chunk: Option<&str>, span: (i64, i64), quote: &str) -> String {
    let range = usize::try_from(span.0).ok().zip(usize::try_from(span.1).ok());
    let (Some(chunk), Some((start, end))) = (chunk, range) else { return format!("«{quote}»") };
    let chars: Vec<char> = chunk.chars().collect();
    let (start, end) = (start.min(chars.len()), end.min(chars.len()));
    if start >= end {
        return format!("«{quote}»");
    }
    let (from, to) = (start.saturating_sub(AROUND), (end + AROUND).min(chars.len()));
    let text = |range: std::ops::Range<usize>| chars[range].iter().collect::<String>();
    let before = if from > 0 { "…" } else { "" };
    let after = if to < chars.len() { "…" } else { "" };
    format!("{before}{}«{}»{}{after}", text(from..start), text(start..end), text(end..to))
}

fn beside(output: &mut Output, left: &str, right: &str, columns: usize) {
    let room = columns.saturating_sub(4 + 3);
    let half = room / 2;
    for line in terminal::side_by_side(&terminal::block(left), &terminal::block(right), [half, room - half]) {
        output.line(format!("    {line}"));
    }
}

fn print_doubts(output: &mut Output, audit: &AuditView, columns: usize) {
    fn text<'a>(value: &'a serde_json::Value, key: &str) -> &'a str {
        value.get(key).and_then(|value| value.as_str()).unwrap_or_default()
    }
    for doubt in audit.doubts.as_array().into_iter().flatten() {
        let words = format!("{} at {}: {}", text(doubt, "code"), text(doubt, "path"), text(doubt, "message"));
        paragraph(output, "  doubt: ", &words, columns);
    }
    for discrepancy in audit.discrepancies.as_array().into_iter().flatten() {
        let number = |key: &str| discrepancy.get(key).map(ToString::to_string).unwrap_or_default();
        let path = text(discrepancy, "path");
        let words =
            format!("{path}: the judge says {}, the claims add up to {}", number("judge"), number("ours"));
        paragraph(output, "  discrepancy at ", &words, columns);
    }
}
