//! Deciding about one claim.

use super::{
    align::{Evidence, Passage},
    report::ClaimAnalysis,
    words::Words,
};

/// A claim with less of its words in a passage is not about the same thing.
const GROUNDED_OVERLAP: f64 = 0.6;

/// From here on a passage speaks of the same thing, so that a difference is a contradiction.
const SAME_TOPIC_OVERLAP: f64 = 0.5;

/// Less than this is no overlap at all: function words and chance.
const NO_OVERLAP: f64 = 0.2;

/// Word beginnings of matters where a wrong number or a lost "not" can do harm.
const DANGER: [&str; 21] = [
    " mg",
    " ml",
    "tablet",
    "dose",
    "dosage",
    "dosis",
    "allerg",
    "lethal",
    "fatal",
    "death",
    "tödlich",
    "poison",
    "toxic",
    "giftig",
    "contraindicat",
    "overdose",
    "pregnan",
    "schwanger",
    "投与",
    "致死",
    "用量",
];

/// Decides about one claim.
pub(super) fn on(claim: &str, evidence: &Evidence<'_>) -> ClaimAnalysis {
    let words = Words::of(claim);
    match evidence.passage_for(&words, GROUNDED_OVERLAP) {
        Some(passage) => grounded(claim, &passage),
        None => hallucinated(claim, &words, evidence),
    }
}

fn grounded(claim: &str, passage: &Passage<'_>) -> ClaimAnalysis {
    ClaimAnalysis {
        claim_text: claim.to_owned(),
        classification: "grounded".to_owned(),
        supporting_evidence: Some(passage.text.to_owned()),
        contradicting_evidence: None,
        explanation: format!(
            "{:.0} % of the claim's words stand in this passage, with all of its numbers and names.",
            passage.overlap * 100.0
        ),
        severity: None,
        source_id: Some(passage.source_id.to_owned()),
    }
}

fn hallucinated(claim: &str, words: &Words, evidence: &Evidence<'_>) -> ClaimAnalysis {
    let best = evidence.best_sentence(words);
    let difference = match best {
        Some((sentence, passage)) => Difference::between(words, &sentence.words, passage.overlap),
        None => Difference { missing_words: words.content.len(), ..Difference::default() },
    };
    let contradicting = best
        .filter(|(sentence, passage)| {
            SAME_TOPIC_OVERLAP <= passage.overlap && difference.contradicts(words, &sentence.words)
        })
        .map(|(_, passage)| passage);
    ClaimAnalysis {
        claim_text: claim.to_owned(),
        classification: "hallucinated".to_owned(),
        supporting_evidence: None,
        contradicting_evidence: contradicting.map(|passage| passage.text.to_owned()),
        explanation: difference.explained(),
        severity: Some(difference.severity(claim).to_owned()),
        source_id: contradicting.map(|passage| passage.source_id.to_owned()),
    }
}

/// What sets a claim apart from the nearest sentence of the evidence.
#[derive(Debug, Default)]
struct Difference {
    overlap: f64,
    numbers: Vec<String>,
    names: Vec<String>,
    missing_words: usize,
    negation: bool,
}

impl Difference {
    fn between(claim: &Words, evidence: &Words, overlap: f64) -> Difference {
        Difference {
            overlap,
            numbers: claim.numbers.difference(&evidence.numbers).cloned().collect(),
            names: claim.names.difference(&evidence.content).cloned().collect(),
            missing_words: claim.content.difference(&evidence.content).count(),
            negation: evidence.denies(claim),
        }
    }

    /// A number that differs contradicts only where the evidence has another one in its place; a number that
    /// is merely not there is unsupported.
    fn contradicts(&self, claim: &Words, evidence: &Words) -> bool {
        let has_other_number = !evidence.numbers.is_subset(&claim.numbers);
        !self.numbers.is_empty() && has_other_number || self.negation
    }

    fn severity(&self, claim: &str) -> &'static str {
        let changes_meaning = !self.numbers.is_empty()
            || (self.negation && NO_OVERLAP <= self.overlap)
            || !self.names.is_empty();
        let lower = claim.to_lowercase();
        if changes_meaning && DANGER.iter().any(|word| lower.contains(word)) {
            "critical"
        } else if changes_meaning || self.overlap < NO_OVERLAP {
            "major"
        } else {
            "minor"
        }
    }

    fn explained(&self) -> String {
        if self.overlap < NO_OVERLAP {
            return "The evidence does not speak of this.".to_owned();
        }
        let mut reasons = Vec::new();
        if !self.numbers.is_empty() {
            reasons.push(format!(
                "the nearest sentence of the evidence does not have {}",
                self.numbers.join(", ")
            ));
        }
        if self.negation {
            reasons.push("one of the two says no and the other does not".to_owned());
        }
        if !self.names.is_empty() {
            reasons.push("a name of the claim is not in the nearest sentence".to_owned());
        }
        if reasons.is_empty() {
            reasons
                .push(format!("{} words of the claim are not in the nearest sentence", self.missing_words));
        }
        format!("Not borne out: {}.", reasons.join("; "))
    }
}
