//! The reply for the kind `faithfulness`, key by key as it is asked for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::words::Words;

/// The whole reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) faithfulness_score: f64,
    pub(crate) total_claims: usize,
    pub(crate) grounded_claims: usize,
    pub(crate) hallucinated_claims: usize,
    pub(crate) omitted_facts: usize,
    pub(crate) claim_analysis: Vec<ClaimAnalysis>,
    pub(crate) omission_flags: Vec<OmissionFlag>,
    pub(crate) overall_assessment: String,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClaimAnalysis {
    pub(crate) claim_text: String,
    pub(crate) classification: String,
    pub(crate) supporting_evidence: Option<String>,
    pub(crate) contradicting_evidence: Option<String>,
    pub(crate) explanation: String,
    pub(crate) severity: Option<String>,
    pub(crate) source_id: Option<String>,
}

/// One thing that the answer leaves out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OmissionFlag {
    pub(crate) omitted_fact: String,
    pub(crate) source_passage: String,
    pub(crate) relevance: String,
}

impl Report {
    /// A report whose totals and score follow from its claims.
    pub(crate) fn new(claim_analysis: Vec<ClaimAnalysis>, omission_flags: Vec<OmissionFlag>) -> Report {
        let mut report = Report {
            faithfulness_score: 0.0,
            total_claims: 0,
            grounded_claims: 0,
            hallucinated_claims: 0,
            omitted_facts: 0,
            claim_analysis,
            omission_flags,
            overall_assessment: String::new(),
        };
        report.count();
        report
    }

    /// Brings totals, score and summary in line with the claims.
    #[expect(clippy::cast_precision_loss, reason = "nobody makes 2^53 claims")]
    pub(crate) fn count(&mut self) {
        self.total_claims = self.claim_analysis.len();
        self.grounded_claims = self.claim_analysis.iter().filter(|claim| claim.is_grounded()).count();
        self.hallucinated_claims = self.total_claims - self.grounded_claims;
        self.omitted_facts = self.omission_flags.len();
        // An answer without claims has nothing that is grounded; what to make of that is for others to say.
        self.faithfulness_score = self.grounded_claims as f64 / self.total_claims.max(1) as f64;
        self.overall_assessment = format!(
            "Practice judge, by word overlap only: {} of {} claims are grounded, {} omissions.",
            self.grounded_claims, self.total_claims, self.omitted_facts
        );
    }

    pub(crate) fn to_json(&self) -> String {
        // Plain fields cannot fail to serialise; the empty text would be refused like any broken reply.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl ClaimAnalysis {
    pub(crate) fn is_grounded(&self) -> bool {
        self.classification == "grounded"
    }

    /// The numbers in the claim's text.
    pub(crate) fn numbers(&self) -> BTreeSet<String> {
        Words::of(&self.claim_text).numbers
    }
}
