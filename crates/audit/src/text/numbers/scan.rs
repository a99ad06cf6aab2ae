//! Finds the numbers of a text.

use super::amount::{Amount, amount, decimal, divide_by_hundred, integer, on_clock, shift};
use super::words::{self, Meaning, Word};
use super::{Form, Number};
use crate::report::Span;
use crate::text::chars::{digit, is_dash, is_letter, is_unspaced, is_word, leading_word};

/// Every number of `text`, in reading order; those in letters only if asked for.
pub(super) fn scan(text: &str, reads_words: bool) -> Vec<Number> {
    let (mut chars, mut original) = (Vec::with_capacity(text.len()), Vec::new());
    if text.is_ascii() {
        // Plain as it is.
        chars.extend(text.bytes().map(char::from));
    } else {
        chars.extend(text.chars().map(plain));
        original.reserve(chars.len());
        original.extend(text.chars());
    }
    let is_thai = original.iter().any(|c| matches!(c, '\u{e00}'..='\u{e7f}'));
    let mut scan = Scan { text, original, chars, reads_words, is_thai, found: Vec::new() };
    scan.run();
    scan.join_ranges();
    scan.read_signs();
    scan.weigh_months();
    scan.found
}

/// One spelling for digits and for what can stand inside of a number.
fn plain(c: char) -> char {
    match c {
        _ if c.is_ascii() => c,
        '\u{66b}' | '．' => '.',
        '\u{66c}' | '，' => ',',
        '：' | '∶' => ':',
        '％' | '٪' => '%',
        '\u{2019}' => '\'',
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => '\u{a0}',
        _ if is_dash(c) => '-',
        _ => digit(c).map_or(c, |value| char::from(b'0' + value)),
    }
}

pub(super) struct Scan<'t> {
    text: &'t str,
    /// The characters as they are written; empty for ASCII, where a place is also a byte.
    pub(super) original: Vec<char>,
    pub(super) chars: Vec<char>,
    reads_words: bool,
    /// Whether the text has Thai letters, and may count years in the Buddhist era.
    is_thai: bool,
    found: Vec<Number>,
}

impl Scan<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(c) = self.chars.get(at).copied() {
            at = if c.is_ascii_digit() {
                self.in_digits(at)
            } else if c.is_ascii_alphabetic() && self.reads_words {
                self.in_words(at)
            } else if c.is_ascii() {
                at + 1
            } else if words::superscript(c).is_some() {
                self.in_superscripts(at)
            } else if words::han_digit(c).is_some() {
                self.in_han(at)
            } else if is_letter(c) && self.reads_words {
                self.in_words(at)
            } else {
                at + 1
            };
        }
    }

    fn is_digit(&self, at: usize) -> bool {
        self.chars.get(at).is_some_and(char::is_ascii_digit)
    }

    pub(super) fn digits(&self, at: usize) -> &[char] {
        let rest = self.chars.get(at..).unwrap_or_default();
        &rest[..rest.iter().take_while(|c| c.is_ascii_digit()).count()]
    }

    /// The letters that begin at `at`, lower case.
    pub(super) fn word(&self, at: usize) -> String {
        leading_word(self.chars.get(at..).unwrap_or_default().iter().copied(), 24)
    }

    /// How many letters begin at `at`.
    fn letters(&self, at: usize) -> usize {
        self.chars.get(at..).unwrap_or_default().iter().take_while(|c| is_letter(**c)).count()
    }

    pub(super) fn add(
        &mut self,
        start: usize,
        end: usize,
        form: Form,
        readings: Vec<String>,
        also: Vec<String>,
    ) {
        let text = match self.original.get(start..end) {
            Some(chars) if !self.original.is_empty() => chars.iter().collect(),
            _ => self.text.get(start..end).unwrap_or_default().to_owned(),
        };
        self.found.push(Number {
            text,
            span: Span { start, end },
            form,
            readings,
            also,
            parts: Vec::new(),
            scale: 0,
        });
    }

    /// Reads what begins with a digit at `start` and returns where it ends.
    fn in_digits(&mut self, start: usize) -> usize {
        let form = if self.is_part_of_name(start) { Form::Incidental } else { Form::Digits };
        self.date(start, form)
            .or_else(|| self.time(start, form))
            .unwrap_or_else(|| self.quantity(start, form))
    }

    /// `B12`, `COVID-19`: digits that a word or a word with a hyphen leads into.
    fn is_part_of_name(&self, start: usize) -> bool {
        const JOINED: [&str; 10] =
            ["mid", "pre", "post", "non", "early", "late", "under", "over", "circa", "ca"];
        const CURRENCIES: [&str; 12] =
            ["eur", "usd", "gbp", "chf", "jpy", "cny", "inr", "rs", "sek", "nok", "dkk", "pln"];
        let is_letter = |at: usize| self.chars.get(at).is_some_and(|c| is_letter(*c) && !is_unspaced(*c));
        let Some(before) = start.checked_sub(1) else { return false };
        let (end, allowed): (usize, &[&str]) = match self.chars[before] {
            '-' if before > 0 => (before, &JOINED),
            _ => (start, &CURRENCIES),
        };
        let Some(last) = end.checked_sub(1).filter(|last| is_letter(*last)) else { return false };
        let first = (0..=last).rev().take(12).take_while(|at| is_letter(*at)).last().unwrap_or(last);
        !allowed.contains(&self.word(first).as_str())
    }

    /// `2024-05-03`, `3.5.2024`, `05/03/24`: three numbers, the middle or the first a month.
    fn date(&mut self, start: usize, form: Form) -> Option<usize> {
        let first = self.digits(start).len();
        let separator = *self.chars.get(start + first).filter(|c| matches!(c, '-' | '/' | '.'))?;
        let second_at = start + first + 1;
        let second = self.digits(second_at).len();
        let third_at = second_at + second + 1;
        let third = self.digits(third_at).len();
        let is_followed =
            self.chars.get(third_at + third) == Some(&separator) && self.is_digit(third_at + third + 1);
        if self.chars.get(second_at + second) != Some(&separator) || is_followed || !(1..=2).contains(&second)
        {
            return None;
        }
        let year_at = match (first, third) {
            (4, 1 | 2) => start,
            (1 | 2, 4) => third_at,
            (2, 2) if second == 2 => third_at,
            (1 | 2, 2) if separator == '/' => third_at,
            _ => return None,
        };
        let parts = [(start, first), (second_at, second), (third_at, third)];
        let is_date = parts
            .iter()
            .filter(|part| part.0 != year_at)
            .all(|part| self.small(part.0, part.1).is_some_and(|value| (1..=31).contains(&value)));
        if !is_date {
            return None;
        }
        for (at, length) in parts {
            let value = integer(&self.chars[at..at + length]);
            let mut readings = vec![value.clone()];
            if at != year_at {
                readings.extend(
                    self.small(at, length).filter(|value| *value <= 12).map(|value| format!("m{value}")),
                );
            } else if length == 2 {
                readings.extend([format!("20{value:0>2}"), format!("19{value:0>2}")]);
            }
            self.add(at, at + length, form, readings, Vec::new());
        }
        Some(third_at + third)
    }

    pub(super) fn small(&self, at: usize, length: usize) -> Option<u32> {
        self.chars.get(at..at + length)?.iter().collect::<String>().parse().ok()
    }

    /// An amount: digits with separators, perhaps with a scale word.
    fn quantity(&mut self, start: usize, form: Form) -> usize {
        /// The longest number has fewer; a longer row is a list, and need not be read to its end from every place.
        const MAX_GROUPS: usize = 16;
        let mut groups = vec![self.digits(start).to_vec()];
        let mut separators = Vec::new();
        let mut end = start + groups[0].len();
        while let Some(separator) =
            self.chars.get(end).copied().filter(|_| groups.len() < MAX_GROUPS && self.is_digit(end + 1))
        {
            let next = self.digits(end + 1);
            let is_thousands = next.len() == 3 && groups.iter().all(|group| group.len() <= 3);
            match separator {
                '.' | ',' => {}
                '\'' | '\u{a0}' if is_thousands => {}
                ' ' if is_thousands && separators.iter().all(|before| *before == ' ') => {}
                _ => break,
            }
            end += 1 + next.len();
            separators.push(separator);
            groups.push(next.to_vec());
        }
        let Some(mut amount) = amount(&groups, &separators) else {
            // A list without spaces, such as `1,2,5`: its first number; the scan goes on after it.
            let first = integer(&groups[0]);
            let end = start + groups[0].len();
            self.add(start, end, form, vec![first], Vec::new());
            return end;
        };
        if start > 0
            && self.chars[start - 1] == '.'
            && separators.is_empty()
            && !self.is_word_at(start.wrapping_sub(2))
        {
            amount.readings.push(decimal(&['0'], &groups[0]));
        }
        // "24/7" is said of what never closes, and counts nothing.
        let is_saying = self.chars.get(start..start + 4).is_some_and(|chars| chars == ['2', '4', '/', '7'])
            || (start > 2 && self.chars[start - 3..start] == ['2', '4', '/'] && groups[0] == ['7']);
        self.qualify(start, end, if is_saying { Form::Incidental } else { form }, amount)
    }

    fn is_word_at(&self, at: usize) -> bool {
        self.chars.get(at).is_some_and(|c| is_word(*c))
    }

    /// What follows an amount and changes its value: a scale, a per cent sign, a half of the day.
    fn qualify(&mut self, start: usize, end: usize, form: Form, amount: Amount) -> usize {
        let Amount { mut readings, mut also, parts } = amount;
        let next = self.chars.get(end).copied().unwrap_or(' ');
        let gap = usize::from(matches!(next, ' ' | '\u{a0}' | '-'));
        let word = self.word(end + gap);
        let mut after = end;
        let mut scale = 0;
        if let Some((places, length)) = self.power_of_ten(end) {
            readings = readings.iter().map(|reading| shift(reading, places)).collect();
            after = end + length;
        } else if let Some(places) = words::scale(&word) {
            readings = readings.iter().map(|reading| shift(reading, places)).collect();
            scale = places;
            after = end + gap + self.letters(end + gap);
        } else if let Some((places, length)) = words::attached_scale(&word).filter(|_| gap == 0) {
            let scaled: Vec<String> = readings.iter().map(|reading| shift(reading, places)).collect();
            readings.extend(scaled);
            after = end + length;
        } else if let Some(value) = self.han_scaled(end, &readings) {
            (readings, after) = value;
        } else if let Some((is_pm, end)) = self.half_of_day(end) {
            let length = self.digits(start).len();
            if let Some(hour) =
                self.small(start, length).filter(|hour| length <= 2 && (1..=12).contains(hour))
            {
                also.extend(readings);
                readings = vec![format!("t{}:0", on_clock(hour, is_pm))];
                after = end;
            }
        } else if matches!(word.as_str(), "o" | "uhr" | "h" | "heures")
            || matches!(next, '時' | '时' | '点' | '點' | '시')
        {
            let hour = self.small(start, self.digits(start).len()).zip(self.half_before(start));
            match hour {
                Some((hour, is_pm)) => readings.push(format!("t{}:0", on_clock(hour, is_pm))),
                None => also.extend(readings.iter().map(|reading| format!("t{reading}:0"))),
            }
        } else if next == '月' || next == '월' {
            let months: Vec<String> = readings.iter().map(|reading| format!("m{reading}")).collect();
            readings.extend(months);
        } else if word == "s" && gap == 0 && end - start == 2 {
            let decades: Vec<String> = readings.iter().map(|reading| format!("19{reading}")).collect();
            readings.extend(decades);
        } else if self.chars.get(end + gap) == Some(&'%') || matches!(word.as_str(), "percent" | "prozent") {
            let shares: Vec<String> = readings.iter().map(|reading| divide_by_hundred(reading)).collect();
            readings.extend(shares);
        } else if let Some(part) = words::fraction(next) {
            also.extend(readings.iter().cloned());
            readings = readings.iter().map(|reading| format!("{reading}{part}")).collect();
            after = end + 1;
        }
        // '99
        if end - start == 2
            && start > 0
            && self.chars[start - 1] == '\''
            && start.checked_sub(2).is_none_or(|before| !is_word(self.chars[before]))
        {
            let years: Vec<String> = ["19", "20"]
                .iter()
                .flat_map(|century| readings.iter().map(move |year| format!("{century}{year:0>2}")))
                .collect();
            readings.extend(years);
        }
        // 令和2年
        if next == '年'
            && let Some(first) = self.era_before(start)
        {
            readings.extend(self.small(start, end - start).map(|year| (first + year).to_string()));
        }
        if end - start == 2 && start >= 5 && self.chars[start - 1] == '-' && self.digits(start - 5).len() == 4
        {
            let century: String = self.chars[start - 5..start - 3].iter().collect();
            let years: Vec<String> =
                readings.iter().map(|reading| format!("{century}{reading:0>2}")).collect();
            readings.extend(years); // 2015-16
            if let Some(month) = self.small(start, 2).filter(|month| (1..=12).contains(month)) {
                readings.push(format!("m{month}")); // 2024-05
            }
        }
        // Years of the Buddhist era, as Thai texts count them.
        if end - start == 4 && self.is_thai {
            let year = self.small(start, 4).filter(|year| (2400..2700).contains(year));
            readings.extend(year.map(|year| (year - 543).to_string()));
        }
        self.add(start, after, form, readings, also);
        if let Some(number) = self.found.last_mut() {
            number.scale = scale;
            number.parts = parts;
        }
        after
    }

    /// The year before the first of the Japanese era that is named before `at`.
    fn era_before(&self, at: usize) -> Option<u32> {
        match self.chars.get(at.checked_sub(2)?..at)? {
            ['令', '和'] => Some(2018),
            ['平', '成'] => Some(1988),
            ['昭', '和'] => Some(1925),
            ['大', '正'] => Some(1911),
            ['明', '治'] => Some(1867),
            _ => None,
        }
    }

    /// `1e6`: the places of the exponent at `at`, and its length.
    fn power_of_ten(&self, at: usize) -> Option<(usize, usize)> {
        const MOST: usize = 24;
        self.chars.get(at).filter(|c| matches!(c, 'e' | 'E'))?;
        let sign = usize::from(self.chars.get(at + 1) == Some(&'+'));
        let digits = self.digits(at + 1 + sign);
        let end = at + 1 + sign + digits.len();
        let places: usize =
            digits.iter().collect::<String>().parse().ok().filter(|places| *places <= MOST)?;
        (digits.len() <= 2 && !self.is_word_at(end)).then_some((places, end - at))
    }

    /// `3万`, `1億2000万`.
    fn han_scaled(&self, end: usize, readings: &[String]) -> Option<(Vec<String>, usize)> {
        let mut sum = 0_u128;
        let mut part: u128 = readings.first()?.parse().ok()?;
        let mut at = end;
        let mut last_places = usize::MAX;
        loop {
            let mut places = 0;
            while let Some(more) = self.chars.get(at).and_then(|c| words::han_scale(*c)) {
                places += more;
                at += 1;
            }
            if places == 0 || places >= last_places || places > 24 {
                break;
            }
            last_places = places;
            sum = sum.checked_add(part.checked_mul(10_u128.checked_pow(u32::try_from(places).ok()?)?)?)?;
            let next = self.digits(at);
            if next.is_empty() {
                return Some((vec![sum.to_string()], at));
            }
            part = next.iter().collect::<String>().parse().ok()?;
            at += next.len();
        }
        (sum > 0).then(|| (vec![sum.saturating_add(part).to_string()], at))
    }

    fn in_superscripts(&mut self, start: usize) -> usize {
        let digits: Vec<char> = self.chars[start..].iter().map_while(|c| words::superscript(*c)).collect();
        let end = start + digits.len();
        let mut readings = vec![integer(&digits)];
        if let Some(part) = words::fraction(self.chars[start]) {
            readings = vec![format!("0{part}")];
        }
        self.add(start, end, Form::Incidental, readings, Vec::new());
        end
    }

    fn in_han(&mut self, start: usize) -> usize {
        let run: Vec<char> =
            self.chars[start..].iter().copied().take_while(|c| words::is_han_numeral(*c)).collect();
        let end = start + run.len();
        if let Some(value) = words::han_value(&run) {
            self.add(start, end, Form::Incidental, vec![value.to_string()], Vec::new());
        }
        end
    }

    /// Number words, months and Roman numerals among letters.
    fn in_words(&mut self, start: usize) -> usize {
        const LONGEST: usize = 17;
        if is_unspaced(self.chars[start]) {
            return start + 1;
        }
        let end =
            start + self.chars[start..].iter().take_while(|c| is_letter(**c) && !is_unspaced(**c)).count();
        let is_glued = start.checked_sub(1).is_some_and(|before| self.is_digit(before)) || self.is_digit(end);
        if end - start > LONGEST || is_glued {
            return end;
        }
        if let Some(end) = self.clock_in_words(start, end).or_else(|| self.share_in_words(start, end)) {
            return end;
        }
        let letters = &self.chars[start..end];
        let meaning = if words::may_mean(letters) { words::meaning_of(letters) } else { Meaning::default() };
        let mut found: Vec<String> = meaning.month.map(|month| format!("m{month}")).into_iter().collect();
        let mut form = Form::Incidental;
        let mut until = end;
        match meaning.english {
            Some(first) => {
                let (value, after) = self.spelled(first, end);
                if value > 12 {
                    form = Form::Words;
                }
                until = after;
                if let Some((is_pm, end)) = self.half_in_words(after).filter(|_| (1..=12).contains(&value)) {
                    let hour = u32::try_from(value).unwrap_or_default();
                    let readings = vec![format!("t{}:0", on_clock(hour, is_pm))];
                    self.add(start, end, form, readings, vec![value.to_string()]);
                    return end;
                }
                found.push(value.to_string());
            }
            None => found.extend(
                meaning
                    .other
                    .or_else(|| words::german(&self.chars[start..end]))
                    .or_else(|| words::roman(&self.chars[start..end]))
                    .map(|value| value.to_string()),
            ),
        }
        if !found.is_empty() {
            self.add(start, until, form, found, Vec::new());
        }
        until
    }

    /// A number right behind a minus sign, or behind `minus`, is below zero; what it is without its sign it only holds.
    fn read_signs(&mut self) {
        for number in &mut self.found {
            let at = number.span.start;
            let before = |back: usize| at.checked_sub(back).and_then(|at| self.chars.get(at));
            // `2010 -2015` is a range, however it is spaced.
            let is_range =
                before(2).is_some_and(|c| c.is_whitespace()) && before(3).is_some_and(char::is_ascii_digit);
            let is_signed = before(1) == Some(&'-')
                && !is_range
                && before(2).is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '=' | ':'));
            let is_named = at >= 6
                && self.chars[at - 6..at].iter().copied().eq("minus ".chars())
                && at.checked_sub(7).is_none_or(|at| !is_word(self.chars[at]));
            if (is_signed || is_named)
                && number.readings.iter().all(|reading| reading.starts_with(|c: char| c.is_ascii_digit()))
            {
                let negative = number.readings.iter().map(|reading| format!("-{reading}")).collect();
                number.parts.extend(std::mem::replace(&mut number.readings, negative));
            }
        }
    }

    /// A number in several English words: `two hundred and fifty thousand`.
    fn spelled(&self, first: Word, end: usize) -> (u64, usize) {
        let mut sum = words::Sum::default();
        sum.push(first);
        let mut at = end;
        loop {
            let mut next = at;
            while matches!(self.chars.get(next), Some(' ' | '-' | '\u{a0}')) && next < at + 2 {
                next += 1;
            }
            let mut word = self.word(next);
            if word == "and" && next > at && sum.takes_and() {
                next += 4;
                word = self.word(next);
            }
            let Some(part) = words::meaning(&word).english.filter(|part| next > at && sum.takes(*part))
            else {
                return (sum.value(), at);
            };
            sum.push(part);
            at = next + self.letters(next);
        }
    }

    /// In `3 to 5 million` the first number has the scale too.
    fn join_ranges(&mut self) {
        const JOINS: [&str; 11] = ["-", "to", "and", "or", "bis", "und", "et", "à", "a", "y", "e"];
        for at in 1..self.found.len() {
            let (scale, start) = (self.found[at].scale, self.found[at].span.start);
            let before = &mut self.found[at - 1];
            if scale == 0 || before.scale > 0 || before.form != Form::Digits || start < before.span.end {
                continue;
            }
            let between: String = self.chars[before.span.end..start].iter().collect();
            let join =
                between.trim_matches(|c: char| c.is_whitespace() || matches!(c, '$' | '€' | '£' | '¥'));
            if JOINS.contains(&join) {
                let scaled: Vec<String> =
                    before.readings.iter().map(|reading| shift(reading, scale)).collect();
                before.readings.extend(scaled);
            }
        }
    }

    /// A month counts where a day or a year stands beside it.
    fn weigh_months(&mut self) {
        const JOINS: [&str; 8] = ["", ",", ".", "of", "de", "del", "st", "the"];
        for at in 0..self.found.len() {
            let is_month = self.found[at].readings.iter().any(|reading| reading.starts_with('m'));
            if !is_month || self.found[at].form != Form::Incidental {
                continue;
            }
            let is_beside = |left: usize, right: usize| {
                let (Some(left), Some(right)) = (self.found.get(left), self.found.get(right)) else {
                    return false;
                };
                let is_dated = left.form == Form::Digits || right.form == Form::Digits;
                let between = self.chars.get(left.span.end..right.span.start).unwrap_or_default();
                let between: String = between.iter().take(12).collect();
                is_dated && JOINS.contains(&ordinal_rest(&between).trim())
            };
            if (at > 0 && is_beside(at - 1, at)) || is_beside(at, at + 1) {
                self.found[at].form = Form::Digits;
            }
        }
    }
}

/// `3rd of May`: what is left between day and month without the ending of the day.
fn ordinal_rest(between: &str) -> &str {
    ["st", "nd", "rd", "th"].iter().find_map(|ending| between.strip_prefix(ending)).unwrap_or(between)
}
