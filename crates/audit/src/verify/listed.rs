//! A claim of a list, the judge's or ours, and how it stands to another.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;

use super::measures::{self, Numbered};
use super::senses::shared;
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
        let acronyms = text::acronyms(&plain);
        let is_content =
            |word: &&String| (text::is_content(word) && !reports(word)) || acronyms.contains(word);
        let content = words.iter().filter(is_content).cloned().collect();
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
            let missing = |from: &Self, to: &Self| from.words.len() - shared(&from.words, &to.words);
            missing(self, other) + missing(other, self)
        };
        let own = sent.get(place).map_or(usize::MAX, distance);
        own > 0 && sent.iter().enumerate().any(|(at, other)| at != place && distance(other) < own)
    }

    /// Its first score or date of which the quotes have only the reverse.
    pub(super) fn reversed_in(&self, quotes: &[Numbered<'_>]) -> Option<String> {
        measures::reversed(&self.numbered(), quotes)
    }

    /// Its first number that these texts have with another unit or the opposite limit alone.
    pub(super) fn measured_otherwise(&self, texts: &[Numbered<'_>]) -> Option<String> {
        measures::differing(&self.numbered(), texts)
    }

    fn numbered(&self) -> Numbered<'_> {
        Numbered { text: &self.plain, numbers: Cow::Borrowed(&self.numbers) }
    }

    /// Without list marks, citations, links and emphasis.
    pub(super) fn plain(&self) -> &str {
        &self.plain
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
    pub(super) fn numbers_not_in(&self, quotes: &[Numbered<'_>]) -> Vec<&str> {
        let mut pool = Pool::default();
        quotes.iter().for_each(|quote| pool.add(&quote.numbers));
        let (chars, slots) = (OnceCell::new(), OnceCell::new());
        let is_replaced = |number: &Number| {
            let chars: &Vec<char> = chars.get_or_init(|| self.plain.chars().collect());
            slots.get_or_init(|| Slots::of(quotes)).hold_another_for(chars, number)
        };
        let mut missing: Vec<&str> = Vec::new();
        for number in self.numbers.iter().filter(|number| !pool.holds(number)) {
            let counts = number.form != Form::Incidental || is_replaced(number);
            if counts && !missing.contains(&number.text.as_str()) {
                missing.push(&number.text);
            }
        }
        missing
    }
}

/// The places in which numbers stand: before a word, in a name, as a month.
pub(super) struct Slots {
    has_month: bool,
    names: HashSet<String>,
    counted: HashSet<String>,
}

impl Slots {
    fn of(texts: &[Numbered<'_>]) -> Self {
        let mut slots = Self { has_month: false, names: HashSet::new(), counted: HashSet::new() };
        for text in texts {
            let chars: Vec<char> = text.text.chars().collect();
            for number in text.numbers.iter() {
                slots.has_month |= number.is_month() && number.text.starts_with(char::is_uppercase);
                if number.form == Form::Incidental {
                    slots.names.insert(name_before(&chars, number));
                }
                if !number.is_month() {
                    slots.counted.insert(next_word(&chars, number));
                }
            }
        }
        slots
    }

    /// The place of one number of `chars`.
    pub(super) fn of_one(chars: &[char], number: &Number) -> Self {
        let is_named = number.form == Form::Incidental;
        let name = if is_named { name_before(chars, number) } else { String::new() };
        let counted = if number.is_month() { String::new() } else { next_word(chars, number) };
        Self {
            has_month: number.is_month() && number.text.starts_with(char::is_uppercase),
            names: HashSet::from([name]),
            counted: HashSet::from([counted]),
        }
    }

    /// Whether another number stands where `number` stands in `chars`: before the same word, in the same name, or
    /// another month.
    pub(super) fn hold_another_for(&self, chars: &[char], number: &Number) -> bool {
        if number.is_month() {
            return self.has_month && number.text.starts_with(char::is_uppercase);
        }
        let name = name_before(chars, number);
        if !name.is_empty() {
            return self.names.contains(&name);
        }
        let next = next_word(chars, number);
        !next.is_empty() && self.counted.contains(&next)
    }
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
