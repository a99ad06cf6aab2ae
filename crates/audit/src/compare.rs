//! Comparison with a judgment that a person made before (docs/audits.md, F-17).

use serde::{Deserialize, Serialize};
use trace::HumanLabel;

use crate::report::Report;

/// How our result stands to a person's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Whether both say the same; none where one of them says nothing.
    pub agreement: Option<bool>,
    /// What differs, in words; empty when nothing does.
    pub discrepancy_notes: String,
}

/// Scores further apart than this are noted.
const SCORE_TOLERANCE: f64 = 0.2;

/// Compares a report with a label. The answer counts as faithful for us when every claim is grounded.
pub fn compare(report: &Report, label: &HumanLabel) -> Comparison {
    let ours = (!report.claims.is_empty()).then(|| report.findings().next().is_none());
    let agreement = ours.zip(label.faithful).map(|(ours, theirs)| ours == theirs);
    let mut notes = Vec::new();
    if agreement == Some(false) {
        let word = |faithful: bool| if faithful { "faithful" } else { "not faithful" };
        notes.push(format!(
            "{} called the answer {}, the audit {} ({} of {} claims not grounded)",
            label.labeler.as_deref().unwrap_or("the earlier label"),
            word(label.faithful.unwrap_or_default()),
            word(ours.unwrap_or_default()),
            report.findings().count(),
            report.claims.len()
        ));
    }
    if let Some((ours, theirs)) = report.grounded_share().zip(label.score)
        && (ours - theirs).abs() > SCORE_TOLERANCE
    {
        notes.push(format!(
            "the label's score is {theirs:.2}, the audit's share of grounded claims {ours:.2}"
        ));
    }
    Comparison { agreement, discrepancy_notes: notes.join("; ") }
}
