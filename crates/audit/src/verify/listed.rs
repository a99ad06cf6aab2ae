//! A claim of a list, the judge's or ours, and how it stands to another.

use crate::text::{self, Form, Number, Pool, Vocabulary, numbers, words};

/// A claim of the judge's list, prepared for the alignment.
pub struct Listed {
    /// JSON path of its words in the reply.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) words: Vec<String>,
    pub(super) content: Vec<String>,
    pub(super) numbers: Vec<Number>,
}

impl Listed {
    /// The claim `text` at `path` of the reply.
    pub fn new(text: &str, path: String) -> Self {
        let plain = text::plain(text);
        let words = words(&plain);
        let content = words.iter().filter(|word| text::is_content(word) && !reports(word)).cloned().collect();
        let numbers = numbers(&plain);
        Self { path, text: text.to_owned(), words, content, numbers }
    }

    /// Whether this claim of the judge says what `sent` says, in whatever inflection: no number of its own, and
    /// most of its words or of the sent ones.
    pub fn is_about(&self, sent: &Self) -> bool {
        if self.words == sent.words {
            return true;
        }
        if self.is_negated() != sent.is_negated() {
            return false;
        }
        let numbers = Pool::of([sent.text.as_str()]);
        let is_foreign = |number: &&Number| number.form == Form::Digits && !numbers.holds_loosely(number);
        if self.numbers.iter().any(|number| is_foreign(&number)) {
            return false;
        }
        let shares_most = |some: &Self, all: &Self| {
            let mut vocabulary = Vocabulary::default();
            vocabulary.add(0, &all.text, &all.words);
            let held = some.content.iter().filter(|word| vocabulary.holds(word)).count();
            held * 2 >= some.content.len()
        };
        shares_most(self, sent) && (!self.content.is_empty() || sent.content.is_empty())
            || (!sent.content.is_empty() && shares_most(sent, self))
    }

    /// Whether another claim of the list says it better than the one at `place`: verdicts were exchanged.
    pub fn is_rather_about_another(&self, place: usize, sent: &[Self]) -> bool {
        let distance = |other: &Self| {
            let missing =
                |from: &Self, to: &Self| from.words.iter().filter(|word| !to.words.contains(word)).count();
            missing(self, other) + missing(other, self)
        };
        let own = sent.get(place).map_or(usize::MAX, distance);
        own > 0 && sent.iter().enumerate().any(|(at, other)| at != place && distance(other) < own)
    }

    /// Whether it denies something.
    pub(super) fn is_negated(&self) -> bool {
        self.words.iter().any(|word| denies(word))
    }

    /// The numbers and dates of the claim that none of its quotes has, as they are written.
    pub fn numbers_not_in<'q>(&self, quotes: impl IntoIterator<Item = &'q str>) -> Vec<&str> {
        let telling: Vec<&Number> =
            self.numbers.iter().filter(|number| number.form != Form::Incidental).collect();
        if telling.is_empty() {
            return Vec::new();
        }
        let pool = Pool::of(quotes);
        let mut missing: Vec<&str> = Vec::new();
        for number in telling.into_iter().filter(|number| !pool.holds(number)) {
            if !missing.contains(&number.text.as_str()) {
                missing.push(&number.text);
            }
        }
        missing
    }
}

/// Words that turn a statement into its opposite.
pub(super) fn denies(word: &str) -> bool {
    matches!(
        word,
        "not"
            | "no"
            | "never"
            | "none"
            | "nor"
            | "neither"
            | "without"
            | "cannot"
            | "nicht"
            | "kein"
            | "keine"
            | "keinen"
            | "keiner"
            | "nie"
            | "ohne"
            | "pas"
            | "jamais"
            | "aucun"
            | "aucune"
            | "sans"
            | "nunca"
            | "ninguno"
            | "ninguna"
            | "sin"
            | "não"
            | "sem"
            | "nessun"
            | "nessuna"
            | "senza"
            | "niet"
            | "geen"
            | "nooit"
            | "не"
            | "нет"
            | "без"
            | "لا"
            | "ليس"
            | "لم"
            | "ไม่"
            | "नहीं"
            | "不"
            | "没"
            | "無"
    ) || word.ends_with("n't")
        || word.ends_with("n’t")
}

/// Words by which a judge speaks about the answer instead of making its claim.
fn reports(word: &str) -> bool {
    matches!(
        word,
        "answer"
            | "answers"
            | "response"
            | "assistant"
            | "model"
            | "states"
            | "stated"
            | "says"
            | "said"
            | "claims"
            | "claimed"
            | "mentions"
            | "according"
            | "user"
            | "question"
            | "query"
            | "asserts"
            | "indicates"
    )
}
