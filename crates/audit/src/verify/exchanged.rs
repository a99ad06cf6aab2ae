//! Numbers that a claim has and the answer has not, where an exchange would whitewash the answer: numbers in words,
//! signs, halves of the day. What stands in digits is judged by `invented_claim` before.

use std::collections::HashSet;

use super::claims::{Answer, Prepared};
use super::listed::{Listed, Slots};
use crate::reply::{Code, Problem};
use crate::text::{Form, Number, Pool};

impl Answer {
    /// Claims with another number than their sentence of the answer has in the same place, which no claim holds; and
    /// claims that only add a number in words, by index.
    pub(super) fn exchanged(
        &self,
        claims: &[Listed],
        sentences: &[Option<usize>],
    ) -> (Vec<Problem>, Vec<(usize, String)>) {
        let mut held: Option<Pool> = None;
        let (mut problems, mut added) = (Vec::new(), Vec::new());
        for (at, (claim, sentence)) in claims.iter().zip(sentences).enumerate() {
            let sentence = sentence.and_then(|at| self.sentences.get(at));
            for number in &claim.numbers {
                let is_known = number.is_one() || self.numbers.holds(number);
                // One in digits that the answer has in no form is refused already.
                if is_known || (number.form == Form::Digits && !self.numbers.holds_loosely(number)) {
                    continue;
                }
                let held = held.get_or_insert_with(|| {
                    let mut pool = Pool::default();
                    claims.iter().for_each(|claim| pool.add(&claim.numbers));
                    pool
                });
                let other = sentence.and_then(|sentence| replaced(claim, number, sentence, held));
                if let Some(other) = other {
                    let message =
                        format!("the claim has `{}` where the answer has `{}`", number.text, other.text);
                    problems.push(Problem::new(Code::InventedClaim, claim.path.as_str(), message));
                    break;
                }
                if number.is_spelled() && !self.numbers.holds_loosely(number) {
                    added.push((at, number.text.clone()));
                    break;
                }
            }
        }
        (problems, added)
    }
}

/// The number of the answer's sentence that no claim holds and for which the claim has `number`.
fn replaced<'p>(claim: &Listed, number: &Number, sentence: &'p Prepared, held: &Pool) -> Option<&'p Number> {
    let mut open = sentence.numbers.iter().filter(|other| !other.is_one() && !held.holds(other)).peekable();
    open.peek()?;
    let chars: Vec<char> = claim.plain().chars().collect();
    let text: Vec<char> = sentence.sentence.text.chars().collect();
    // "fell by 5" is how one says "-5".
    let is_of_loss = || claim.words.iter().chain(&sentence.words).any(|word| lessens(word));
    open.find(|other| {
        if number.is_minus(other) {
            return !is_of_loss();
        }
        if number.is_other_half(other) {
            return true;
        }
        if number.form == Form::Digits {
            return false;
        }
        let both = |is: fn(&Number) -> bool| is(number) && is(other);
        let is_named = |number: &Number| {
            number.is_month() && number.span.start > 0 && number.text.starts_with(char::is_uppercase)
        };
        both(Number::is_time)
            || both(is_named)
            || Slots::of_one(&text, other).hold_another_for(&chars, number)
    })
}

/// Words that say that something became less, or lies below something.
fn lessens(word: &str) -> bool {
    const BEGINNINGS: [&str; 26] = [
        "fall", "fell", "drop", "declin", "decreas", "lower", "less", "loss", "lost", "lose", "below",
        "reduc", "minus", "negativ", "down", "under", "deficit", "sank", "sink", "sunk", "gefallen", "wenig",
        "baiss", "diminu", "dismin", "cold",
    ];
    BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
}

/// How many words of a claim may be looked at for an exchange of two.
const LONGEST: usize = 400;

/// Whether exactly two words have changed places: `Smith killed Jones` and `Jones killed Smith`.
pub(super) fn has_words_exchanged(ours: &[String], theirs: &[String]) -> bool {
    if ours.len() != theirs.len() || ours.len() > LONGEST {
        return false;
    }
    let mut differing = (0..ours.len()).filter(|at| ours[*at] != theirs[*at]);
    match (differing.next(), differing.next(), differing.next()) {
        (Some(one), Some(other), None) => ours[one] == theirs[other] && ours[other] == theirs[one],
        _ => false,
    }
}

impl Answer {
    /// Claims with the words of one sentence and the number of another.
    pub(super) fn misnumbered(&self, claims: &[Listed]) -> Vec<usize> {
        let mut wanted: HashSet<&[String]> = HashSet::new();
        wanted.extend(
            claims.iter().filter(|claim| !claim.numbers.is_empty()).map(|claim| claim.content.as_slice()),
        );
        let of_same_words: Vec<&Prepared> = self
            .sentences
            .iter()
            .filter(|prepared| prepared.content.len() > 1 && wanted.contains(prepared.content.as_slice()))
            .collect();
        let is_misnumbered = |claim: &Listed| {
            let mut same =
                of_same_words.iter().filter(|prepared| prepared.content == claim.content).peekable();
            same.peek().is_some_and(|prepared| !prepared.numbers.is_empty())
                && same.all(|prepared| {
                    let mut pool = Pool::default();
                    pool.add(&prepared.numbers);
                    !claim
                        .numbers
                        .iter()
                        .all(|number| number.form != Form::Digits || pool.holds_loosely(number))
                })
        };
        // A list of rows is no exchange, and each row would be held against each.
        const MOST: usize = 200;
        if of_same_words.len() > MOST {
            return Vec::new();
        }
        let numbered = claims.iter().enumerate().filter(|(_, claim)| !claim.numbers.is_empty());
        numbered.filter(|(_, claim)| is_misnumbered(claim)).map(|(at, _)| at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims::tests::{doubted, refused};

    #[test]
    fn a_number_in_words_is_not_exchanged() {
        for (answer, claim) in [
            ("The dose is five tablets.", "The dose is six tablets."),
            ("The club has two hundred members.", "The club has three hundred members."),
            ("Der Klub hat fünf Mitglieder.", "Der Klub hat sechs Mitglieder."),
            ("俱乐部有五名成员。", "俱乐部有六名成员。"),
            ("It is -5 degrees outside.", "It is 5 degrees outside."),
            ("It opens at 9 am and closes at 5 pm.", "It opens at 5 am and closes at 9 pm."),
            ("The club won three times.", "The club won five times."),
            ("The third floor is closed.", "The second floor is closed."),
            ("It opens in May to all.", "It opens in June to all."),
            ("It opens at half past eight.", "It opens at half past nine."),
            ("GPT-4 wrote the text of it.", "GPT-3 wrote the text of it."),
        ] {
            assert!(refused(answer, &[claim]), "{answer} / {claim}");
        }
    }

    #[test]
    fn another_word_for_the_same_number_is_none() {
        for (answer, claim) in [
            ("The dose is five tablets.", "The dose is 5 tablets."),
            ("The hall has a couple of doors.", "The hall has two doors."),
            ("Both mills are old.", "The two mills are old."),
            ("One of the mills is old.", "A mill is old."),
            ("Half of the staff left.", "50 % of the staff left."),
            ("A dozen eggs are sold.", "Twelve eggs are sold."),
            ("The change of the price was -5 %.", "The price fell by 5 %."),
            ("It opens at 9 and closes at 17:00.", "It opens at 9 am and closes at 5 pm."),
            ("It is open 9-5 pm on weekdays.", "It is open from 9 to 5 pm on weekdays."),
            ("It ran from 2010 -2015 in Leeds.", "It ran from 2010 to 2015 in Leeds."),
            ("The mill opened in May.", "The mill opened in May."),
            ("He sang twice in Leeds last year.", "He sang two times in Leeds last year."),
            ("The Second World War ended it.", "World War II ended it."),
            ("Der Klub hat einen Hof und zwei Säle.", "Der Klub hat 2 Säle."),
        ] {
            let problems = super::super::claims::tests::checked(answer, &[claim], &[]).problems;
            assert!(!refused(answer, &[claim]), "{answer} / {claim}: {problems:?}");
            let doubts = doubted(answer, &[claim]);
            assert!(doubts.is_empty(), "{answer} / {claim}: {doubts:?}");
        }
    }

    #[test]
    fn a_number_in_words_that_is_only_added_is_noticed() {
        let added = doubted("The hall opens at nine.", &["The hall opens at nine and closes at five."]);
        assert_eq!(added, ["number_not_in_answer"]);
        let split = ["The hall opens at nine.", "The hall closes at five."];
        assert!(doubted("The hall opens at nine and closes at five.", &split).is_empty());
    }

    #[test]
    fn words_and_numbers_that_changed_places_are_noticed() {
        let doses = doubted(
            "Adults take 250 mg. Children take 500 mg.",
            &["Adults take 500 mg.", "Children take 250 mg."],
        );
        assert!(doses.contains(&"claim_turned_around".to_owned()), "{doses:?}");
        let names = doubted("Smith killed Jones in Leeds.", &["Jones killed Smith in Leeds."]);
        assert_eq!(names, ["claim_turned_around"]);
        for (answer, claim) in [
            ("It costs 5 euro per tablet.", "It costs 5 dollars per tablet."),
            ("It is 5 g per tablet taken.", "It is 5 mg per tablet taken."),
            ("At least 5 people came.", "At most 5 people came."),
        ] {
            assert_eq!(doubted(answer, &[claim]), ["claim_turned_around"], "{answer} / {claim}");
        }
        for (answer, claim) in [
            ("Smith killed Jones in Leeds.", "Jones was killed by Smith in Leeds."),
            ("The mill opened in May.", "In May the mill opened."),
            ("Adults take 250 mg. Children take 500 mg.", "Adults take 250 mg."),
        ] {
            assert!(doubted(answer, &[claim]).is_empty(), "{answer} / {claim}");
        }
    }
}
