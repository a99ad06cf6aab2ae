//! Numbers and dates in texts, so that two ways to write one number are found equal.
//!
//! A number is a set of readings, since `2,000` is two thousand here and two elsewhere. Two numbers
//! agree when they share one. Dates are compared part by part, times as hours and minutes.

use std::collections::HashSet;

mod amount;
mod clock;
mod scan;
pub(crate) mod words;

use super::chars::digit;
use crate::report::Span;

/// How a number is written, which says how much it weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In digits, or the name of a month beside digits: it must be accounted for.
    Digits,
    /// In words, above twelve: it is as telling as digits, but easily worded otherwise.
    Words,
    /// Part of a name, a small number in words, a month alone: it can only confirm another.
    Incidental,
}

/// One number of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// As it is written.
    pub text: String,
    /// Where it stands, scalar values.
    pub span: Span,
    /// How it is written.
    pub form: Form,
    /// What it can mean; months are `m5`, times `t6:10`.
    readings: Vec<String>,
    /// What else it confirms: the hour of a full hour.
    also: Vec<String>,
    /// What it is made of, and what it is without its sign: it says none of these, and holds them.
    parts: Vec<String>,
    /// Powers of ten of the scale word that belongs to it.
    scale: usize,
}

/// The numbers of one or several texts, to be looked up.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    /// What the texts say.
    said: HashSet<String>,
    /// What their numbers are made of.
    parts: HashSet<String>,
}

impl Pool {
    /// The numbers of `texts`.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut pool = Self::default();
        texts.into_iter().for_each(|text| pool.add(&numbers(text)));
        pool
    }

    /// Adds numbers.
    pub fn add(&mut self, numbers: &[Number]) {
        for number in numbers {
            self.said.extend(number.readings.iter().chain(&number.also).cloned());
            self.parts.extend(number.parts.iter().cloned());
        }
    }

    /// Adds what `text` has in digits, list and citation marks included.
    pub fn add_digits(&mut self, text: &str) {
        self.add(&scan::scan(text, false));
    }

    /// Adds the number that `text` begins with, if it does: a list mark, or what looks like one.
    pub fn add_leading(&mut self, text: &str) {
        let head: String = text.trim_start().chars().take(16).collect();
        if head.contains(|c: char| digit(c).is_some()) {
            self.add(&numbers(&head));
        }
    }

    /// Whether the number, as such, is here.
    pub fn holds(&self, number: &Number) -> bool {
        number.readings.iter().any(|reading| self.said.contains(reading))
    }

    /// Whether the number or what it implies is here: `2 a.m.` where `2` stands.
    pub fn holds_loosely(&self, number: &Number) -> bool {
        self.holds(number)
            || number.readings.iter().any(|reading| self.parts.contains(reading))
            || number
                .also
                .iter()
                .chain(&number.parts)
                .any(|reading| self.said.contains(reading) || self.parts.contains(reading))
    }
}

impl Number {
    /// One spelling for what it says: `7` for `7:00`.
    pub fn plain(&self) -> &str {
        let full_hour =
            self.readings.first().filter(|reading| reading.ends_with(":0") && reading.starts_with('t'));
        match full_hour {
            Some(hour) => &hour[1..hour.len() - 2],
            None => self.readings.first().map_or(self.text.as_str(), String::as_str),
        }
    }

    /// Everything that it says, confirms or is made of: two numbers that share one may be the same.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.readings.iter().chain(&self.also).chain(&self.parts).map(String::as_str)
    }

    /// Whether both can mean the same.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.readings.iter().any(|reading| other.readings.contains(reading))
    }

    /// Its value, where it is a small whole number.
    pub(crate) fn small(&self) -> Option<u32> {
        self.readings.iter().find_map(|reading| reading.parse().ok().filter(|value| *value < 10_000))
    }

    /// The month that it can mean, from 1.
    pub(crate) fn month(&self) -> Option<u32> {
        self.readings.iter().find_map(|reading| reading.strip_prefix('m')?.parse().ok())
    }

    /// Whether it is written in letters.
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(super::chars::is_letter)
    }

    /// Whether it says one and nothing else; `a` and `one` are as often no number at all.
    pub(crate) fn is_one(&self) -> bool {
        self.readings.iter().all(|reading| reading == "1")
    }

    /// Whether it is an English number in words, of three and more.
    pub(crate) fn is_spelled(&self) -> bool {
        let is_word = self.text.starts_with(|c: char| c.is_ascii_alphabetic())
            && self.text.contains(char::is_lowercase);
        let is_many = |reading: &String| reading.len() > 1 || !matches!(reading.as_str(), "0" | "1" | "2");
        let means = words::meaning(&self.text.split([' ', '-']).next().unwrap_or_default().to_lowercase());
        is_word
            && means.english.is_some()
            && self.readings.iter().any(|reading| is_many(reading) && !reading.starts_with('m'))
    }

    /// Whether it is a time of the day and nothing else.
    pub(crate) fn is_time(&self) -> bool {
        self.readings.iter().all(|reading| reading.starts_with('t'))
    }

    /// Whether only the sign tells the two apart.
    pub(crate) fn is_minus(&self, other: &Self) -> bool {
        let negates = |one: &Self, other: &Self| {
            let mut values = one.readings.iter().filter_map(|reading| reading.strip_prefix('-'));
            values.any(|value| other.readings.iter().any(|reading| reading == value))
        };
        negates(self, other) || negates(other, self)
    }

    /// Whether only the half of the day tells the two apart.
    pub(crate) fn is_other_half(&self, other: &Self) -> bool {
        let faces = |number: &Self| -> Vec<String> {
            let face = |reading: &String| {
                let (hour, rest) = reading.strip_prefix('t')?.split_once(':')?;
                Some(format!("{}:{rest}", hour.parse::<u32>().ok()? % 12))
            };
            number.readings.iter().filter_map(face).collect()
        };
        self.is_time()
            && other.is_time()
            && !self.readings.iter().any(|reading| other.readings.contains(reading))
            && faces(self).iter().any(|face| faces(other).contains(face))
    }

    /// Whether it is the name of a month.
    pub fn is_month(&self) -> bool {
        self.readings.iter().any(|reading| reading.starts_with('m'))
    }
}

/// Every number of `text`, in reading order.
pub fn numbers(text: &str) -> Vec<Number> {
    scan::scan(text, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_held(number: &str, text: &str) -> bool {
        let pool = Pool::of([text]);
        let numbers = numbers(number);
        assert!(!numbers.is_empty(), "{number}");
        numbers.iter().all(|number| pool.holds(number))
    }

    #[test]
    fn one_number_in_two_spellings() {
        for (one, other) in [
            ("2,000", "2000"),
            ("2.000", "2000"),
            ("2 000", "2000"),
            ("1\u{a0}234\u{a0}567", "1,234,567"),
            ("12,34,567", "1234567"),
            ("152,5 m", "152.5 metres"),
            ("06:10", "6:10"),
            ("6:10 pm", "18:10"),
            ("2 a.m.", "02:00"),
            ("two", "2"),
            ("2", "zwei"),
            ("twenty-five", "25"),
            ("two hundred and fifty thousand", "250,000"),
            ("3 million", "3,000,000"),
            ("3.5bn", "3 500 000 000"),
            ("between 3 million and 5 million", "3 to 5 million"),
            ("3 May 2024", "2024-05-03"),
            ("2024-05-03", "May 3rd, 2024"),
            ("03.05.2024", "3 May 2024"),
            ("05/03/24", "3 May 2024"),
            ("2024年5月3日", "2024-05-03"),
            ("50%", "50 percent"),
            ("20 %", "0.2"),
            ("٢٠٢٤", "2024"),
            ("２３：１０", "23:10"),
            ("3万", "30000"),
            ("1億2000万", "120,000,000"),
            ("3人", "三人"),
            ("2024", "二〇二四年"),
            ("World War 2", "World War II"),
            ("10^6", "10⁶"),
            ("3½", "3.5"),
            ("1990", "1990s"),
            ("1st", "first"),
            ("2015-2016", "2015-16"),
            ("v3.10.2", "3.10.2"),
            ("23時10分", "23:10"),
            ("EUR5", "5 euro"),
            ("May 2024", "2024-05"),
            ("9h30", "9 h 30"),
            ("午後9時半", "21:30"),
            ("下午3点", "15:00"),
            ("7 pm", "seven in the evening"),
            ("7:30", "half past seven"),
            ("7:15", "quarter past seven"),
            ("6:45", "a quarter to seven"),
            ("12:00", "noon"),
            ("00:00", "midnight"),
            ("1990s", "the nineties"),
            ("23", "dreiundzwanzig"),
            ("25%", "a quarter"),
            ("50 %", "half"),
            ("1er", "premier"),
            ("5 लाख", "500000"),
            ("-5 °C", "minus 5 °C"),
            ("−5", "-5"),
            ("พ.ศ. 2567", "2024"),
        ] {
            assert!(is_held(one, other), "{one} / {other}: {:?} {:?}", numbers(one), numbers(other));
        }
    }

    #[test]
    fn another_number_is_another_number() {
        for (one, other) in [
            ("9:40", "9:20"),
            ("3 million", "3 billion"),
            ("3", "3 million"),
            ("10", "10.5"),
            ("10", "2010"),
            ("2,80", "280"),
            ("6:10 pm", "6:10 am"),
            ("10²", "102"),
            ("3 May 2024", "3 June 2024"),
            ("0.5", "5"),
            ("1890", "1980"),
            ("5", "2,5"),
            ("3", "1.2.3"),
            ("5 °C", "-5 °C"),
            ("-5", "5"),
            ("19:30", "7:30 in the morning"),
            ("7 am", "seven in the evening"),
            ("7:30", "half past eight"),
        ] {
            assert!(!is_held(one, other), "{one} / {other}: {:?} {:?}", numbers(one), numbers(other));
        }
    }

    #[test]
    fn names_and_small_words_only_confirm() {
        let forms = |text: &str| numbers(text).iter().map(|number| number.form).collect::<Vec<_>>();
        assert_eq!(forms("Room B12, COVID-19 and GPT-4"), [Form::Incidental; 3]);
        assert_eq!(forms("two of them may come"), [Form::Incidental; 2]);
        assert_eq!(forms("mid-1990s"), [Form::Digits]);
        assert_eq!(forms("in May 2024"), [Form::Digits; 2]);
        assert_eq!(forms("thirty"), [Form::Words]);
        assert_eq!(forms("10mg"), [Form::Digits]);
    }
}
