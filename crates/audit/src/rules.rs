//! What a rule decides without asking a judge. Which rule holds for which kind is the kind's business.

use trace::Trace;

use crate::report::{Claim, Report, Verdict};
use crate::text;

/// Whether the answer is empty.
pub fn has_no_answer(trace: &Trace) -> bool {
    trace.answer.as_deref().unwrap_or_default().trim().is_empty()
}

/// Whether the retrieval found nothing.
pub fn has_no_evidence(trace: &Trace) -> bool {
    trace.chunks().is_empty()
}

/// Every statement of the answer is unsupported, since the retrieval found nothing.
pub fn all_unsupported(trace: &Trace, score: Option<f64>) -> Report {
    let answer = trace.answer.as_deref().unwrap_or_default();
    let claims = text::sentences(answer)
        .into_iter()
        .filter(text::Sentence::is_statement)
        .map(|sentence| Claim {
            explanation: "The retrieval found nothing, so nothing supports this statement.".into(),
            answer_span: Some(sentence.span),
            by_rule: true,
            ..Claim::new(sentence.text, Verdict::Unsupported)
        })
        .collect();
    Report {
        score,
        by_rule: true,
        claims,
        overall_assessment:
            "The retrieval found nothing; the rule calls every statement of the answer unsupported.".into(),
        ..Report::default()
    }
}

/// An answer without claims. `score`: what the rule sets, if it sets one.
pub fn no_claims(score: Option<f64>, note: &str) -> Report {
    Report { score, by_rule: true, overall_assessment: note.into(), ..Report::default() }
}
