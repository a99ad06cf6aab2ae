//! What claims say, next to their sentences and to each other: the opposite, or the same again.

use std::collections::{HashMap, HashSet};

use super::claims::{Answer, Prepared};
use super::exchanged::has_words_exchanged;
use super::listed::Listed;
use super::measures::Numbered;
use crate::report::Span;
use crate::text::negation::opposite;
use crate::text::{self, Number, denies};

/// A claim's sentence, content words, numbers, and whether it denies.
type Gist<'c> = (Option<Span>, Vec<String>, Vec<&'c str>, bool);

impl Answer {
    /// Claims with the very content words of an earlier claim about the same sentence, in whatever order: one fact
    /// counts once, and a person has to see that it came twice.
    pub(super) fn restated(&self, claims: &[Listed], spans: &[Option<Span>]) -> Vec<usize> {
        let mut seen: HashMap<Gist<'_>, usize> = HashMap::new();
        let mut restated = padding(claims, spans);
        for (at, (claim, span)) in claims.iter().zip(spans).enumerate() {
            let mut stems: Vec<String> = claim.content.iter().map(|word| text::rough_stem(word)).collect();
            stems.sort_unstable();
            stems.dedup();
            let mut numbers: Vec<&str> = claim.numbers.iter().map(Number::plain).collect();
            numbers.sort_unstable();
            if stems.is_empty() || span.is_none() {
                continue;
            }
            let first = *seen.entry((*span, stems, numbers, claim.is_negated())).or_insert(at);
            // The very same words are judged as a repetition.
            if first != at && claims[first].sayings() != claim.sayings() {
                restated.push(at);
            }
        }
        restated.sort_unstable();
        restated.dedup();
        restated
    }

    /// Claims with the words of their sentence and the opposite sense.
    pub(super) fn turned(&self, claims: &[Listed], spans: &[Option<Span>]) -> Vec<usize> {
        let by_span: HashMap<Span, &Prepared> =
            self.sentences.iter().map(|prepared| (prepared.sentence.span, prepared)).collect();
        let sentence_of = |span: &Option<Span>| span.and_then(|span| by_span.get(&span).copied());
        let is_turned = |claim: &Listed, prepared: &Prepared| {
            let is_negated = prepared.words.iter().any(|word| denies(word));
            // Nearly the same words: a sentence that says more than the claim may deny something else.
            let is_as_long = prepared.content.len() <= claim.content.len() + 1;
            let shared = if is_as_long { shared(&claim.content, &prepared.content) } else { 0 };
            let is_near =
                shared > 0 && shared + 1 >= claim.content.len() && shared + 1 >= prepared.content.len();
            let is_reversed = || opposite(&claim.content, &prepared.content);
            (is_near && shared > 1 && is_negated != claim.is_negated())
                || (is_near && is_negated == claim.is_negated() && is_reversed())
                || has_numbers_exchanged(claim, prepared)
                || has_words_exchanged(&claim.words, &prepared.words)
                || has_other_units(claim, prepared)
        };
        claims
            .iter()
            .zip(spans)
            .enumerate()
            .filter(|(_, (claim, span))| sentence_of(span).is_some_and(|prepared| is_turned(claim, prepared)))
            .map(|(at, _)| at)
            .collect()
    }
}

/// Claims that say nothing which earlier claims about the same sentence have not said: one of them all of it, or several
/// of them in parts.
fn padding(claims: &[Listed], spans: &[Option<Span>]) -> Vec<usize> {
    /// Claims about one sentence: of more, each would be held against each.
    const MOST: usize = 60;
    let mut earlier: HashMap<Span, Vec<usize>> = HashMap::new();
    let mut found = Vec::new();
    for (at, (claim, span)) in claims.iter().zip(spans).enumerate() {
        let Some(span) = span else { continue };
        let before = earlier.entry(*span).or_default();
        if before.len() < MOST && claim.content.len() > 1 {
            let same_sense = before
                .iter()
                .map(|at| &claims[*at])
                .filter(|other| other.is_negated() == claim.is_negated() && !other.content.is_empty());
            let parts: Vec<&Listed> = same_sense
                .filter(|other| shared(&other.content, &claim.content) == other.content.len())
                .filter(|other| other.content.len() < claim.content.len())
                .collect();
            let is_said = |word: &String| parts.iter().any(|part| part.content.contains(word));
            let has_number = |number: &Number| {
                parts.iter().any(|part| part.numbers.iter().any(|other| other.says_the_same(number)))
            };
            if parts.len() > 1 && claim.content.iter().all(is_said) && claim.numbers.iter().all(has_number) {
                found.push(at);
            }
        }
        before.push(at);
    }
    found
}

/// How many of these words are among those.
pub(super) fn shared(these: &[String], those: &[String]) -> usize {
    /// From so many on a table is quicker than a walk for each.
    const MANY: usize = 64;
    if those.len() < MANY {
        return these.iter().filter(|word| those.contains(word)).count();
    }
    let those: HashSet<&String> = those.iter().collect();
    these.iter().filter(|word| those.contains(word)).count()
}

/// Whether a number of the claim has another unit or limit in its sentence.
fn has_other_units(claim: &Listed, prepared: &Prepared) -> bool {
    /// A row of numbers is no sentence that a unit decides.
    const MOST: usize = 40;
    let shares = |number: &Number| prepared.numbers.iter().any(|other| number.says_the_same(other));
    prepared.numbers.len() < MOST
        && claim.numbers.len() < MOST
        && claim.numbers.iter().any(shares)
        && claim.measured_otherwise(&[Numbered::of(&prepared.sentence.text)]).is_some()
}

/// Whether all words are the same and the numbers are, in another order.
fn has_numbers_exchanged(claim: &Listed, prepared: &Prepared) -> bool {
    if claim.numbers.len() < 2 || claim.content != prepared.content {
        return false;
    }
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (
        claim.numbers.iter().map(Number::plain).collect(),
        prepared.numbers.iter().map(Number::plain).collect(),
    );
    let sorted = |numbers: &[&str]| {
        let mut numbers: Vec<String> = numbers.iter().map(|number| (*number).to_owned()).collect();
        numbers.sort_unstable();
        numbers
    };
    ours != theirs && sorted(&ours) == sorted(&theirs)
}

/// Whether a word answers the question and so makes its words the answer's own.
pub(super) fn is_yes_or_no(word: &str) -> bool {
    matches!(
        word,
        "yes"
            | "certainly"
            | "definitely"
            | "sure"
            | "right"
            | "true"
            | "false"
            | "natürlich"
            | "sicher"
            | "certainement"
            | "claro"
            | "certo"
            | "конечно"
            | "no"
            | "yeah"
            | "yep"
            | "nope"
            | "correct"
            | "indeed"
            | "absolutely"
            | "ja"
            | "nein"
            | "doch"
            | "nee"
            | "oui"
            | "non"
            | "si"
            | "sí"
            | "sim"
            | "não"
            | "да"
            | "нет"
            | "نعم"
            | "لا"
            | "はい"
            | "ええ"
            | "いいえ"
            | "是"
            | "是的"
            | "不是"
            | "对"
            | "没有"
            | "네"
            | "예"
            | "아니요"
            | "हाँ"
            | "हां"
            | "नहीं"
            | "tak"
            | "nie"
            | "evet"
            | "hayır"
            | "có"
            | "không"
            | "ใช่"
            | "ไม่"
    )
}
