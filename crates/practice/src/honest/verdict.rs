//! Deciding about one claim.

use audit::{Severity, verify::is_absent};

use super::{
    align::{Evidence, Passage},
    analysis::{Claim, Verdict},
    words::Words,
};

/// A claim with less of its words in a passage is not about the same thing.
pub(super) const GROUNDED_OVERLAP: f64 = 0.6;

/// From here on a passage speaks of the same thing, so that a difference is a contradiction.
pub(super) const SAME_TOPIC_OVERLAP: f64 = 0.5;

/// Less than this is no overlap at all: function words and chance.
pub(super) const NO_OVERLAP: f64 = 0.2;

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

/// Decides about one claim by its words.
pub(super) fn on<'a>(id: String, text: String, words: &Words, evidence: &Evidence<'a>) -> Claim<'a> {
    match evidence.passage_for(words, GROUNDED_OVERLAP).filter(is_quotable) {
        Some(passage) => grounded(id, text, passage),
        None => not_grounded(id, text, words, evidence),
    }
}

/// Whether a passage can be cited: one that reads like "none" would be taken for no passage.
fn is_quotable(passage: &Passage<'_>) -> bool {
    !is_absent(passage.text)
}

fn grounded(id: String, text: String, passage: Passage<'_>) -> Claim<'_> {
    Claim {
        id,
        text,
        verdict: Verdict::Grounded,
        passage: Some(passage),
        severity: None,
        explanation: format!(
            "{:.0} % of the claim's words stand in this passage, with all of its numbers and names.",
            passage.overlap * 100.0
        ),
        overlap: passage.overlap,
        is_foreign: false,
    }
}

fn not_grounded<'a>(id: String, text: String, words: &Words, evidence: &Evidence<'a>) -> Claim<'a> {
    let best = evidence.best_sentence(words);
    let difference = match best {
        Some((sentence, passage)) => Difference::between(words, &sentence.words, passage.overlap),
        None => Difference { missing_words: words.content.len(), ..Difference::default() },
    };
    let contradicting = best
        .filter(|(sentence, passage)| {
            SAME_TOPIC_OVERLAP <= passage.overlap && difference.contradicts(words, &sentence.words)
        })
        .map(|(_, passage)| passage)
        .filter(is_quotable);
    Claim {
        id,
        verdict: if contradicting.is_some() { Verdict::Contradicted } else { Verdict::Unsupported },
        passage: contradicting,
        severity: Some(difference.severity(&text)),
        explanation: difference.explained(),
        overlap: difference.overlap,
        is_foreign: words.numbers.union(&words.names).any(|word| !evidence.has(word)),
        text,
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

    fn severity(&self, claim: &str) -> Severity {
        let changes_meaning = !self.numbers.is_empty()
            || (self.negation && NO_OVERLAP <= self.overlap)
            || !self.names.is_empty();
        let lower = claim.to_lowercase();
        if changes_meaning && DANGER.iter().any(|word| lower.contains(word)) {
            Severity::Critical
        } else if changes_meaning || self.overlap < NO_OVERLAP {
            Severity::Major
        } else {
            Severity::Minor
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
