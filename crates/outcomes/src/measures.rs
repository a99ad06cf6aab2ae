//! The numbers that an ended audit yields.

use audit::routing::{Decision, Disposition};
use audit::{Severity, Verdict};
use trace::Kind;

use crate::record::{Record, Standing};

/// A number that an audit yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Claims that the evidence contradicts.
    Contradicted,
    /// Claims that the evidence does not carry.
    Unsupported,
    /// Claims about which the evidence says too little.
    InsufficientEvidence,
    /// Claims that are not grounded.
    Findings,
    /// Claims.
    Claims,
    /// Facts that the answer left out.
    Omissions,
    /// Critical findings.
    Critical,
    /// Major findings.
    Major,
    /// Minor findings.
    Minor,
    /// 1 where people have to see it.
    Escalated,
    /// 1 where the answer must not be delivered.
    Blocked,
    /// Share of the claims that are grounded, 0 to 1, any kind.
    GroundedShare,
    /// The score of `faithfulness`, 0 to 1.
    Faithfulness,
    /// The score of `hallucination_eval`, percent.
    Groundedness,
    /// The score of `evidence_check`, 0 to 1, lower is better.
    HallucinationRatio,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 15] = [
        Self::Contradicted,
        Self::Unsupported,
        Self::InsufficientEvidence,
        Self::Findings,
        Self::Claims,
        Self::Omissions,
        Self::Critical,
        Self::Major,
        Self::Minor,
        Self::Escalated,
        Self::Blocked,
        Self::GroundedShare,
        Self::Faithfulness,
        Self::Groundedness,
        Self::HallucinationRatio,
    ];

    /// The word for it in thresholds.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contradicted => "contradicted",
            Self::Unsupported => "unsupported",
            Self::InsufficientEvidence => "insufficient_evidence",
            Self::Findings => "findings",
            Self::Claims => "claims",
            Self::Omissions => "omissions",
            Self::Critical => "critical",
            Self::Major => "major",
            Self::Minor => "minor",
            Self::Escalated => "escalated",
            Self::Blocked => "blocked",
            Self::GroundedShare => "grounded_share",
            Self::Faithfulness => "faithfulness",
            Self::Groundedness => "groundedness",
            Self::HallucinationRatio => "hallucination_ratio",
        }
    }

    /// The metric of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.as_str() == word)
    }

    /// Whether several audits' numbers may be added up.
    pub const fn is_count(self) -> bool {
        !matches!(
            self,
            Self::GroundedShare | Self::Faithfulness | Self::Groundedness | Self::HallucinationRatio
        )
    }

    /// Whether audits of a kind can have this number at all: what none can have is not zero.
    fn is_known_to(self, kind: Kind) -> bool {
        match self {
            // The gate's one verdict against a claim is `unsupported`.
            Self::Contradicted => kind != Kind::Gate,
            Self::InsufficientEvidence => matches!(kind, Kind::HallucinationEval | Kind::EvidenceCheck),
            Self::Omissions => kind == Kind::Faithfulness,
            Self::Critical | Self::Major | Self::Minor => {
                matches!(kind, Kind::Faithfulness | Kind::Reference)
            }
            _ => true,
        }
    }

    /// What a judged record yields; none where its kind has no such number, or there is nothing to measure.
    fn of(self, record: &Record) -> Option<f64> {
        let of_kind = |kind| record.score.filter(|_| record.kind == kind);
        let severity =
            |severity| count(record.findings().filter(|claim| claim.severity == Some(severity)).count());
        if !self.is_known_to(record.kind) {
            return None;
        }
        match self {
            Self::Contradicted => Some(count(record.count(Verdict::Contradicted))),
            Self::Unsupported => Some(count(record.count(Verdict::Unsupported))),
            Self::InsufficientEvidence => Some(count(record.count(Verdict::InsufficientEvidence))),
            Self::Findings => Some(count(record.findings().count())),
            Self::Claims => Some(count(record.claims.len())),
            Self::Omissions => Some(count(record.omissions.len())),
            Self::Critical => Some(severity(Severity::Critical)),
            Self::Major => Some(severity(Severity::Major)),
            Self::Minor => Some(severity(Severity::Minor)),
            Self::Escalated => Some(f64::from(u8::from(record.disposition == Disposition::Escalated))),
            Self::Blocked => Some(f64::from(u8::from(record.decision == Some(Decision::Block)))),
            Self::GroundedShare => (!record.claims.is_empty())
                .then(|| count(record.count(Verdict::Grounded)) / count(record.claims.len())),
            Self::Faithfulness => of_kind(Kind::Faithfulness),
            Self::Groundedness => of_kind(Kind::HallucinationEval),
            Self::HallucinationRatio => of_kind(Kind::EvidenceCheck),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a file has fewer than 2^52 of anything")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

/// All numbers of one audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Measures {
    values: [Option<f64>; Metric::ALL.len()],
    /// Whether a rule fixed the score, so that it stays out of means.
    pub by_rule: bool,
}

impl Measures {
    /// The numbers of a judged audit; none for one that was not judged.
    pub fn of(record: &Record) -> Option<Self> {
        (record.standing() == Standing::Judged)
            .then(|| Self { values: Metric::ALL.map(|metric| metric.of(record)), by_rule: record.by_rule })
    }

    /// How bad the answer is, to put answers in order: critical findings, contradictions, findings.
    pub(crate) fn harm(&self) -> [u64; 3] {
        [Metric::Critical, Metric::Contradicted, Metric::Findings].map(|metric| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let count = self.get(metric).unwrap_or_default() as u64;
            count
        })
    }

    /// One of them.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.values[metric as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_stands_in_its_place_and_has_its_own_word() {
        for (at, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!(metric as usize, at);
            assert_eq!(Metric::parse(metric.as_str()), Some(metric));
        }
    }
}
