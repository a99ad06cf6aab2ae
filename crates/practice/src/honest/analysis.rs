//! What the practice judge found out about an answer, before it is put into the words of a kind.

use audit::{Confidence, Severity};

use super::{align::Passage, verdict};

/// The claims of an answer, weighed, and what the answer leaves out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Analysis<'a> {
    pub(crate) claims: Vec<Claim<'a>>,
    pub(crate) omissions: Vec<Omission<'a>>,
}

/// One claim, weighed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Claim<'a> {
    /// The id it was sent under; its number from 1 where the practice judge lists the claims.
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) verdict: Verdict,
    /// What the verdict rests on: always there for a grounded or contradicted claim, never for an unsupported one.
    pub(crate) passage: Option<Passage<'a>>,
    /// How grave it is that the claim is not grounded; none for a grounded one.
    pub(crate) severity: Option<Severity>,
    pub(crate) explanation: String,
    /// Share of the claim's words in the passage, or in the nearest sentence where there is no passage; 0 to 1.
    pub(crate) overlap: f64,
    /// Whether a number or a name of the claim stands nowhere in the evidence.
    pub(crate) is_foreign: bool,
}

/// The verdicts that words alone can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Grounded,
    Contradicted,
    Unsupported,
}

/// One thing that the answer leaves out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Omission<'a> {
    /// The sentence of the evidence that says it, letter for letter.
    pub(crate) passage: &'a str,
}

impl Claim<'_> {
    /// How far the overlap is from where the verdict would be another.
    pub(crate) fn confidence(&self) -> Confidence {
        const CLEAR: f64 = 0.2;
        const FAIR: f64 = 0.05;
        let distance = match self.verdict {
            Verdict::Grounded => self.overlap - verdict::GROUNDED_OVERLAP,
            Verdict::Contradicted => self.overlap - verdict::SAME_TOPIC_OVERLAP,
            // Nothing can bear out what is nowhere.
            Verdict::Unsupported if self.is_foreign => 1.0,
            Verdict::Unsupported => (verdict::GROUNDED_OVERLAP - self.overlap).abs(),
        };
        if CLEAR <= distance {
            Confidence::High
        } else if FAIR <= distance {
            Confidence::Medium
        } else {
            Confidence::Low
        }
    }

    /// Whether the evidence speaks of the same thing and still says too little to tell.
    pub(crate) fn is_in_between(&self) -> bool {
        let touched = verdict::NO_OVERLAP..verdict::GROUNDED_OVERLAP;
        self.verdict == Verdict::Unsupported && !self.is_foreign && touched.contains(&self.overlap)
    }

    /// The passage's text, where the verdict is this one.
    pub(crate) fn quote_if(&self, verdict: Verdict) -> Option<&str> {
        self.passage.filter(|_| self.verdict == verdict).map(|passage| passage.text)
    }

    /// The passage's text, whatever it shows.
    pub(crate) fn quote(&self) -> Option<&str> {
        self.passage.map(|passage| passage.text)
    }

    /// Where the passage stands.
    pub(crate) fn source_id(&self) -> Option<&str> {
        self.passage.map(|passage| passage.source_id)
    }
}
