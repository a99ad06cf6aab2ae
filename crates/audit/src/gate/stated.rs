//! Which sentences of an answer state a claim that is not grounded.
//!
//! Nothing here is a guess: a sentence states such a claim when it has a word or a number that only claims which are
//! not grounded have. What stays must be carried by claims that are grounded.

use std::collections::HashSet;

use crate::report::Claim;
use crate::text::{self, Number, Pool, Sentence, Vocabulary, denies};

/// A claim, taken apart.
struct Parts {
    words: Vec<String>,
    numbers: Vec<Number>,
    is_negated: bool,
}

impl Parts {
    fn of(said: &str) -> Self {
        let plain = text::plain(said);
        let all = text::words(&plain);
        let numbers: Vec<Number> =
            text::numbers(&plain).into_iter().filter(|number| !number.is_one()).collect();
        let spelled: HashSet<String> = numbers.iter().map(|number| number.text.to_lowercase()).collect();
        let is_negated = all.iter().any(|word| denies(word));
        let words =
            all.into_iter().filter(|word| text::is_content(word) && !spelled.contains(word)).collect();
        Self { words, numbers, is_negated }
    }
}

/// What the claims say, grounded and not.
pub(super) struct Stated {
    failed: Vec<Distinct>,
    grounded: Vec<Grounded>,
}

struct Grounded {
    span: Option<crate::report::Span>,
    vocabulary: Vocabulary,
    numbers: Pool,
    is_negated: bool,
}

/// What a claim that is not grounded has alone: words and numbers that no grounded claim has.
struct Distinct {
    words: Vec<String>,
    numbers: Vec<Number>,
    /// All of its words and numbers.
    all: Parts,
}

/// The words and numbers of one text.
pub(super) struct Said {
    vocabulary: Vocabulary,
    numbers: Pool,
    parts: Parts,
}

impl Said {
    pub(super) fn of(text: &str) -> Self {
        let parts = Parts::of(text);
        // Everything counts here, list marks and headings too.
        let mut numbers = Pool::default();
        numbers.add(&parts.numbers);
        Self { vocabulary: Vocabulary::of(text), numbers, parts }
    }
}

impl Stated {
    /// None when a claim that is not grounded has nothing of its own: it could stand anywhere.
    pub(super) fn of(claims: &[Claim]) -> Option<Self> {
        let grounded = claims.iter().filter(|claim| !claim.is_finding());
        let grounded: Vec<Grounded> = grounded
            .map(|claim| Grounded {
                span: claim.answer_span,
                vocabulary: Vocabulary::of(&claim.text),
                numbers: Pool::of([text::plain(&claim.text).as_str()]),
                is_negated: Parts::of(&claim.text).is_negated,
            })
            .collect();
        let failed = claims.iter().filter(|claim| claim.is_finding()).map(|claim| {
            let all = Parts::of(&claim.text);
            let is_own = |word: &&String| !grounded.iter().any(|other| other.vocabulary.holds(word));
            let words: Vec<String> = all.words.iter().filter(is_own).cloned().collect();
            let is_own = |number: &&Number| !grounded.iter().any(|other| other.numbers.holds_loosely(number));
            let numbers: Vec<Number> = all.numbers.iter().filter(is_own).cloned().collect();
            (!words.is_empty() || !numbers.is_empty()).then_some(Distinct { words, numbers, all })
        });
        Some(Self { failed: failed.collect::<Option<_>>()?, grounded })
    }

    /// Whether a text states one of the claims that are not grounded.
    pub(super) fn is_stated_in(&self, said: &Said) -> bool {
        self.failed.iter().any(|claim| claim.shares(said))
    }

    /// Whether all that the failed claims have alone stands in these texts.
    pub(super) fn are_all_found_in(&self, texts: &[&Said]) -> bool {
        self.failed.iter().all(|claim| {
            claim.words.iter().all(|word| texts.iter().any(|said| said.vocabulary.holds(word)))
                && claim
                    .numbers
                    .iter()
                    .all(|number| texts.iter().any(|said| said.numbers.holds_loosely(number)))
        })
    }

    /// Whether what is left of a statement is carried by grounded claims: by those about it, or by one that says all of
    /// it. What it shares with a claim that is not grounded must stand in them too.
    pub(super) fn is_carried(&self, sentence: &Sentence, left: &Said) -> bool {
        let Parts { words, numbers, is_negated } = &left.parts;
        if words.is_empty() && numbers.is_empty() {
            return true;
        }
        let is_about = |claim: &&Grounded| {
            claim.span.is_some_and(|span| span.start < sentence.span.end && sentence.span.start < span.end)
        };
        let says_all = |claim: &&Grounded| {
            claim.is_negated == *is_negated
                && words.iter().all(|word| claim.vocabulary.holds(word))
                && numbers.iter().all(|number| claim.numbers.holds_loosely(number))
        };
        let carrying: Vec<&Grounded> =
            self.grounded.iter().filter(|claim| is_about(claim) || says_all(claim)).collect();
        let holds = |word: &String| carrying.iter().any(|claim| claim.vocabulary.holds(word));
        let counts = |number: &Number| carrying.iter().any(|claim| claim.numbers.holds_loosely(number));
        let held = words.iter().filter(|word| holds(word)).count()
            + numbers.iter().filter(|number| counts(number)).count();
        let is_free = |claim: &Distinct| {
            let shared = claim.all.words.iter().filter(|word| left.vocabulary.holds(word));
            let counted = claim.all.numbers.iter().filter(|number| left.numbers.holds_loosely(number));
            shared.into_iter().all(holds) && counted.into_iter().all(counts)
        };
        let denies_alike = !is_negated || carrying.iter().any(|claim| claim.is_negated);
        !carrying.is_empty()
            && denies_alike
            && held * 2 >= words.len() + numbers.len()
            && self.failed.iter().all(is_free)
    }
}

impl Distinct {
    fn shares(&self, said: &Said) -> bool {
        self.words.iter().any(|word| said.vocabulary.holds(word))
            || self.numbers.iter().any(|number| said.numbers.holds_loosely(number))
    }
}
