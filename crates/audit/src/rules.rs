//! What a rule decides without asking a judge.

use trace::Trace;

use crate::report::{Claim, Report, Verdict};
use crate::text;

/// Faithfulness without a call (docs/audits.md, F-14 and F-15): an empty answer scores 0 with a
/// note; with empty evidence every statement of the answer is unsupported and the score is 0.
pub fn faithfulness(trace: &Trace) -> Option<Report> {
    let answer = trace.answer.as_deref().unwrap_or_default();
    if answer.trim().is_empty() {
        return Some(ruled(
            Vec::new(),
            "No answer was provided, so there is nothing to support; the rule sets the score to 0.",
        ));
    }
    if !trace.chunks().is_empty() {
        return None;
    }
    let claims = text::sentences(answer)
        .into_iter()
        .filter(text::Sentence::is_statement)
        .map(|sentence| Claim {
            text: sentence.text.to_string(),
            verdict: Verdict::Unsupported,
            judge_verdict: None,
            severity: None,
            confidence: None,
            explanation: "The retrieval found nothing, so nothing supports this statement.".into(),
            evidence: Vec::new(),
            answer_span: Some(sentence.span),
            by_rule: true,
        })
        .collect();
    Some(ruled(
        claims,
        "The retrieval found nothing; the rule calls every statement of the answer unsupported.",
    ))
}

fn ruled(claims: Vec<Claim>, assessment: &str) -> Report {
    Report {
        score: Some(0.0),
        by_rule: true,
        claims,
        overall_assessment: assessment.into(),
        ..Report::default()
    }
}
