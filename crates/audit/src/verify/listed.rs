//! A claim of a list, the judge's or ours, and how it stands to another.

use crate::text::{self, Form, Number, Pool, Vocabulary, denies, numbers, words};

/// A claim of the judge's list, prepared for the alignment.
pub struct Listed {
    /// JSON path of its words in the reply.
    pub(super) path: String,
    pub(super) text: String,
    /// Without list marks, citations, links and emphasis.
    plain: String,
    pub(super) words: Vec<String>,
    pub(super) content: Vec<String>,
    pub(super) numbers: Vec<Number>,
}

/// The words and the numbers of a claim, each in one spelling.
pub(super) type Sayings<'c> = (Vec<&'c str>, Vec<&'c str>);

impl Listed {
    /// The claim `text` at `path` of the reply.
    pub fn new(text: &str, path: String) -> Self {
        let plain = text::plain(text);
        let words = words(&plain);
        let content = words.iter().filter(|word| text::is_content(word) && !reports(word)).cloned().collect();
        let numbers = numbers(&plain);
        Self { path, text: text.to_owned(), plain, words, content, numbers }
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

    /// Its words without those that change nothing when they are left out.
    pub(super) fn telling_words(&self) -> Vec<&str> {
        telling(&self.words)
    }

    /// Its words and numbers in one spelling each: what two claims share when one repeats the other.
    pub(super) fn sayings(&self) -> Sayings<'_> {
        let has_digit = |word: &str| word.chars().any(|c| text::chars::digit(c).is_some());
        let words = self.telling_words().into_iter().filter(|word| !has_digit(word)).collect();
        (words, self.numbers.iter().map(Number::plain).collect())
    }

    /// Whether it denies something.
    pub(super) fn is_negated(&self) -> bool {
        self.words.iter().any(|word| denies(word))
    }

    /// The numbers and dates of the claim that none of its quotes has, as they are written. A small number in words, a
    /// month alone and the number of a name count where a quote has another one in the same place.
    pub fn numbers_not_in<'q>(&self, quotes: impl IntoIterator<Item = &'q str>) -> Vec<&str> {
        if self.numbers.is_empty() {
            return Vec::new();
        }
        let quotes: Vec<&str> = quotes.into_iter().collect();
        let pool = Pool::of(quotes.iter().copied());
        let mut missing: Vec<&str> = Vec::new();
        for number in self.numbers.iter().filter(|number| !pool.holds(number)) {
            let counts = number.form != Form::Incidental || is_replaced(&self.plain, number, &quotes);
            if counts && !missing.contains(&number.text.as_str()) {
                missing.push(&number.text);
            }
        }
        missing
    }
}

/// Whether a quote has another number where `claim` has this one: before the same word, in the same name, or another
/// month.
fn is_replaced(claim: &str, number: &Number, quotes: &[&str]) -> bool {
    let chars: Vec<char> = claim.chars().collect();
    let name = name_before(&chars, number);
    let next = next_word(&chars, number);
    let is_capital = number.text.starts_with(char::is_uppercase);
    quotes.iter().any(|quote| {
        let quoted: Vec<char> = quote.chars().collect();
        numbers(quote).iter().any(|other| {
            if number.is_month() {
                return is_capital && other.is_month() && other.text.starts_with(char::is_uppercase);
            }
            if !name.is_empty() {
                return name_before(&quoted, other) == name && other.form == Form::Incidental;
            }
            !next.is_empty() && !other.is_month() && next_word(&quoted, other) == next
        })
    })
}

/// The letters that lead into a number, with its hyphen: `B` of `B12`, `COVID-` of `COVID-19`.
fn name_before(chars: &[char], number: &Number) -> String {
    let before = chars.get(..number.span.start).unwrap_or_default();
    if !number.text.starts_with(|c: char| text::chars::digit(c).is_some()) {
        return String::new();
    }
    let letters: Vec<char> = before
        .iter()
        .rev()
        .take(12)
        .take_while(|c| text::chars::is_letter(**c) || **c == '-')
        .copied()
        .collect();
    letters.into_iter().rev().flat_map(char::to_lowercase).collect()
}

/// The word that a number in words counts, without the ending of its number.
fn next_word(chars: &[char], number: &Number) -> String {
    let after: String = chars.get(number.span.end..).unwrap_or_default().iter().take(40).collect();
    let next =
        words(&after).into_iter().next().filter(|word| text::is_content(word) && !after.starts_with('-'));
    next.map(|word| text::rough_stem(&word)).unwrap_or_default()
}

/// Words without articles and the like, which make no second claim of a first.
pub(super) fn telling(words: &[String]) -> Vec<&str> {
    const IDLE: [&str; 9] = ["a", "an", "the", "also", "too", "der", "die", "das", "ein"];
    words.iter().map(String::as_str).filter(|word| !IDLE.contains(word)).collect()
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
