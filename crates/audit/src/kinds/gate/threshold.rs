//! The evidence threshold: what a quote and a confidence must be for a claim to count as grounded.

use serde::{Deserialize, Serialize};

use crate::report::{Claim, Confidence, MatchGrade, Report, Role, Verdict};
use crate::routing::Circumstances;
use crate::verify::Alteration;

/// How good the evidence of a grounded claim must be (G-13). A near miss never counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// The quote stands in the evidence but for white space and Unicode forms, and the judge is sure.
    Strict,
    /// Case may differ, and the judge is at least fairly sure.
    #[default]
    Standard,
    /// Any quote that was found counts, whatever the judge's confidence.
    Lenient,
}

impl Threshold {
    /// The project's threshold; always the strictest at high risk (G-06).
    pub fn for_circumstances(circumstances: &Circumstances<'_>) -> Self {
        if circumstances.high_risk { Self::Strict } else { circumstances.policy.evidence_threshold }
    }

    /// The word used in configuration and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::Lenient => "lenient",
        }
    }

    /// The laxest grade of a quote, and the lowest confidence.
    const fn limits(self) -> (MatchGrade, Confidence) {
        match self {
            Self::Strict => (MatchGrade::Normalised, Confidence::High),
            Self::Standard => (MatchGrade::CaseFolded, Confidence::Medium),
            Self::Lenient => (MatchGrade::Elided, Confidence::Low),
        }
    }

    /// A claim whose quote says otherwise than its source is not grounded under any threshold.
    pub fn distrust(report: &mut Report) {
        for doubt in &report.doubts {
            let is_altered = Alteration::ALL.iter().any(|alteration| alteration.code() == doubt.code);
            let claim = doubt.claim.filter(|_| is_altered).and_then(|at| report.claims.get_mut(at));
            if let Some(claim) = claim.filter(|claim| claim.verdict == Verdict::Grounded) {
                claim.verdict = Verdict::Unsupported;
                claim.explanation = format!(
                    "The judge called it grounded; under no threshold it is, since {}.",
                    doubt.message
                );
            }
        }
    }

    /// Makes a claim that the judge called grounded ungrounded when its evidence is not good enough, and says so.
    pub fn apply(self, claim: &mut Claim) {
        if claim.verdict != Verdict::Grounded {
            return;
        }
        let (grade, confidence) = self.limits();
        let supporting = claim.evidence.iter().filter(|evidence| evidence.role == Role::Supporting);
        let too_lax = supporting.map(|evidence| evidence.grade).max().filter(|found| *found > grade);
        let too_unsure = claim.confidence.filter(|found| *found < confidence);
        let why = match (too_lax, too_unsure) {
            (Some(found), _) => format!("its quote is only `{}`", found.as_str()),
            (None, Some(found)) => format!("the judge's confidence is only {}", found.as_str()),
            (None, None) => return,
        };
        claim.verdict = Verdict::Unsupported;
        claim.explanation = format!(
            "The judge called it grounded; under the threshold `{}` it is not, since {why}.",
            self.as_str()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Evidence, Span};

    fn verdict(threshold: Threshold, grade: MatchGrade, confidence: Confidence) -> Verdict {
        let mut claim = Claim {
            id: None,
            text: "x".into(),
            verdict: Verdict::Grounded,
            judge_verdict: Some("grounded".into()),
            severity: None,
            confidence: Some(confidence),
            fabrication: None,
            explanation: String::new(),
            evidence: vec![Evidence {
                role: Role::Supporting,
                source_id: "s".into(),
                chunk: 0,
                quote: "x".into(),
                span: Span { start: 0, end: 1 },
                grade,
            }],
            answer_span: None,
            by_rule: false,
        };
        threshold.apply(&mut claim);
        assert_eq!(claim.explanation.is_empty(), claim.verdict == Verdict::Grounded);
        claim.verdict
    }

    #[test]
    fn each_threshold_has_its_lowest_grade_and_confidence() {
        use Confidence::{High, Low, Medium};
        use MatchGrade::{CaseFolded, Elided, Exact, Normalised};
        use Threshold::{Lenient, Standard, Strict};
        for (threshold, grade, confidence, grounded) in [
            (Strict, Exact, High, true),
            (Strict, Normalised, High, true),
            (Strict, CaseFolded, High, false),
            (Strict, Exact, Medium, false),
            (Standard, CaseFolded, Medium, true),
            (Standard, Elided, High, false),
            (Standard, Exact, Low, false),
            (Lenient, Elided, Low, true),
        ] {
            let expected = if grounded { Verdict::Grounded } else { Verdict::Unsupported };
            assert_eq!(
                verdict(threshold, grade, confidence),
                expected,
                "{threshold:?} {grade:?} {confidence:?}"
            );
        }
    }
}
