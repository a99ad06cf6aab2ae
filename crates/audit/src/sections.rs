//! The units of an audit: the whole answer, or sections of it cut at sentence borders.

use crate::report::{Report, Span};
use crate::text;

/// Cuts `answer` into sections of at most `max_chars` scalar values, at sentence borders. One
/// sentence longer than that is a section of its own: cutting inside it would change its meaning.
/// A short answer is one section.
pub fn split(answer: &str, max_chars: usize) -> Vec<Span> {
    let total = answer.chars().count();
    if total <= max_chars {
        return vec![Span { start: 0, end: total }];
    }
    let mut sections: Vec<Span> = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for sentence in text::sentences(answer) {
        if sentence.span.end - start > max_chars && end > start {
            sections.push(Span { start, end });
            start = end;
        }
        end = sentence.span.end;
    }
    sections.push(Span { start, end: total });
    sections
}

/// Merges the reports of an answer's sections into one. The score is left to the kind.
pub fn merge(mut reports: Vec<Report>) -> Report {
    if reports.len() == 1 {
        return reports.remove(0);
    }
    let mut merged = Report::default();
    let mut assessments = Vec::new();
    let mut coverages = Vec::new();
    for (unit, report) in reports.into_iter().enumerate() {
        let before = merged.claims.len();
        merged.claims.extend(report.claims);
        merged.omissions.extend(report.omissions);
        merged.doubts.extend(report.doubts.into_iter().map(|mut doubt| {
            doubt.claim = doubt.claim.map(|claim| claim + before);
            doubt
        }));
        merged.discrepancies.extend(report.discrepancies);
        merged.notes.extend(report.notes.into_iter().map(|note| format!("section {}: {note}", unit + 1)));
        coverages.extend(report.coverage);
        assessments.push(report.overall_assessment);
    }
    // The same passage may be missed by several sections; it is one omission.
    let mut seen = std::collections::HashSet::new();
    merged.omissions.retain(|omission| seen.insert((omission.chunk, omission.span)));
    if !coverages.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "a handful of sections")]
        let count = coverages.len() as f64;
        merged.coverage = Some(coverages.iter().sum::<f64>() / count);
    }
    merged.overall_assessment = assessments.join("\n");
    merged
}
