//! Times of the day, in digits and in words, and shares and decades in words.

use super::Form;
use super::amount::{integer, on_clock};
use super::scan::Scan;
use super::words::{self, Word};
use crate::text::chars::is_word;

impl Scan<'_> {
    /// `23:10`, `6.10 pm`, `23h10`, `23時10分`.
    pub(super) fn time(&mut self, start: usize, form: Form) -> Option<usize> {
        let hours = self.digits(start).len();
        let hour = Some(hours).filter(|hours| *hours <= 2).and_then(|hours| self.small(start, hours))?;
        let mut at = start + hours;
        let is_blank = |c: Option<&char>| matches!(c, Some(' ' | '\u{a0}'));
        // `9 h 30`
        let is_apart = is_blank(self.chars.get(at))
            && self.chars.get(at + 1) == Some(&'h')
            && is_blank(self.chars.get(at + 2))
            && self.digits(at + 3).len() == 2;
        at += usize::from(is_apart);
        let separator = *self.chars.get(at)?;
        at += 1;
        if is_apart || (separator == '시' && self.chars.get(at) == Some(&' ')) {
            at += 1;
        }
        let is_han = matches!(separator, '時' | '时' | '点' | '點' | '시');
        if is_han && matches!(self.chars.get(at), Some('半' | '반')) {
            let hour = self.half_before(start).map_or(hour, |is_pm| on_clock(hour, is_pm));
            self.add(start, at + 1, form, vec![format!("t{hour}:30")], vec![hour.to_string()]);
            return Some(at + 1);
        }
        let minutes = self.digits(at).len();
        let minute =
            Some(minutes).filter(|minutes| *minutes <= 2).and_then(|minutes| self.small(at, minutes));
        let after = at + minutes;
        let is_time = match separator {
            ':' | 'h' => minutes == 2,
            '.' => minutes == 2 && self.half_of_day(after).is_some(),
            '時' | '时' | '点' | '點' | '시' => matches!(self.chars.get(after), Some('分' | '분')),
            _ => false,
        };
        let minute = minute.filter(|minute| is_time && *minute < 60 && hour < 30)?;
        let mut end = after;
        let mut seconds = String::new();
        if separator == ':' && self.chars.get(end) == Some(&':') && self.digits(end + 1).len() == 2 {
            seconds = format!(":{}", integer(self.digits(end + 1)));
            end += 3;
        }
        let (hour_read, end) =
            self.half_of_day(end).map_or((hour, end), |(is_pm, end)| (on_clock(hour, is_pm), end));
        let hour_read = self.half_before(start).map_or(hour_read, |is_pm| on_clock(hour_read, is_pm));
        let is_marked = end > after && seconds.is_empty();
        let mut readings = vec![format!("t{hour_read}:{minute}{seconds}")];
        // A clock face without a leading zero and without a.m. or p.m. may mean either half of the day.
        if !is_marked && (1..12).contains(&hour) && hours == 1 {
            readings.push(format!("t{}:{minute}{seconds}", hour + 12));
        }
        let mut also = Vec::new();
        if minute == 0 && seconds.is_empty() {
            also.push(hour.to_string());
        }
        if !matches!(separator, ':' | '.') {
            also.extend([hour.to_string(), minute.to_string()]);
        }
        self.add(start, end, form, readings, also);
        Some(end)
    }

    /// The half of the day that a word directly before `at` names.
    pub(super) fn half_before(&self, at: usize) -> Option<bool> {
        const WORDS: [(&str, bool); 10] = [
            ("午前", false),
            ("上午", false),
            ("早上", false),
            ("오전", false),
            ("午後", true),
            ("下午", true),
            ("晚上", true),
            ("오후", true),
            ("夜", true),
            ("저녁", true),
        ];
        if self.original.is_empty() {
            return None;
        }
        let before: Vec<char> =
            self.chars[..at].iter().rev().filter(|c| **c != ' ').take(2).copied().collect();
        let before: String = before.into_iter().rev().collect();
        WORDS.iter().find(|(word, _)| before.ends_with(word)).map(|(_, is_pm)| *is_pm)
    }

    /// `in the evening` at `at`: whether it is in the second half of the day, and where it ends.
    pub(super) fn half_in_words(&self, at: usize) -> Option<(bool, usize)> {
        const PHRASES: [(&str, bool); 6] = [
            (" in the morning", false),
            (" in the afternoon", true),
            (" in the evening", true),
            (" at night", true),
            (" o'clock in the morning", false),
            (" o'clock in the evening", true),
        ];
        if self.chars.get(at) != Some(&' ') {
            return None;
        }
        PHRASES.iter().find_map(|(phrase, is_pm)| {
            let length = phrase.chars().count();
            let found = self.chars.get(at..at + length)?;
            found.iter().copied().eq(phrase.chars()).then_some((*is_pm, at + length))
        })
    }

    /// `a.m.` or `p.m.` at `at`: whether it is p.m., and where it ends.
    pub(super) fn half_of_day(&self, at: usize) -> Option<(bool, usize)> {
        if let Some(found) = self.half_in_words(at) {
            return Some(found);
        }
        let mut at = if matches!(self.chars.get(at), Some(' ' | '\u{a0}')) { at + 1 } else { at };
        let is_pm = match self.chars.get(at)?.to_ascii_lowercase() {
            'a' => false,
            'p' => true,
            _ => return None,
        };
        at += 1;
        let has_dots = self.chars.get(at) == Some(&'.');
        at += usize::from(has_dots);
        self.chars.get(at).filter(|c| c.eq_ignore_ascii_case(&'m'))?;
        at += 1;
        if has_dots && self.chars.get(at) == Some(&'.') {
            at += 1;
        }
        self.chars.get(at).is_none_or(|c| !is_word(*c)).then_some((is_pm, at))
    }

    /// `noon`, `half past seven`, `quarter to eight`.
    pub(super) fn clock_in_words(&mut self, start: usize, end: usize) -> Option<usize> {
        let length = end - start;
        let begins_like_one = matches!(self.chars[start], 'n' | 'N' | 'm' | 'M' | 'h' | 'H' | 'q' | 'Q');
        if !matches!(length, 4 | 7 | 8) || !begins_like_one {
            return None;
        }
        let word = self.word(start);
        let (hour, minute, end) = match word.as_str() {
            "noon" => (12, 0, end),
            "midnight" => (0, 0, end),
            "half" | "quarter" => {
                let joint = end + 1;
                let joined = self.word(joint);
                let is_past = match (word.as_str(), joined.as_str()) {
                    (_, "past") => true,
                    ("quarter", "to") => false,
                    _ => return None,
                };
                let at = joint + joined.len() + 1;
                let name = self.word(at);
                let hour = match words::meaning(&name).english {
                    Some(Word::Unit(hour)) if (1..=12).contains(&hour) => u32::try_from(hour).ok()?,
                    _ => return None,
                };
                let hour = if is_past { hour } else { (hour + 10) % 12 + 1 };
                let minute = match (word.as_str(), is_past) {
                    ("half", _) => 30,
                    (_, true) => 15,
                    _ => 45,
                };
                (hour, minute, at + name.len())
            }
            _ => return None,
        };
        let mut readings = vec![format!("t{hour}:{minute}")];
        if (1..12).contains(&hour) {
            readings.push(format!("t{}:{minute}", hour + 12));
        }
        self.add(start, end, Form::Words, readings, Vec::new());
        Some(end)
    }

    /// `half`, `a quarter`, `the nineties`.
    pub(super) fn share_in_words(&mut self, start: usize, end: usize) -> Option<usize> {
        const DECADES: [&str; 8] =
            ["twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties"];
        let begins_like_one = matches!(
            self.chars[start].to_ascii_lowercase(),
            'h' | 'm' | 'q' | 'v' | 'd' | 't' | 'f' | 's' | 'e' | 'n'
        );
        if !(4..=9).contains(&(end - start)) || !begins_like_one {
            return None;
        }
        let word = self.word(start);
        let parts = match word.as_str() {
            "quarters" | "fourths" => Some((4, "0.25")),
            "thirds" => Some((3, "3")),
            "fifths" => Some((5, "0.2")),
            "eighths" => Some((8, "0.125")),
            "tenths" => Some((10, "0.1")),
            _ => None,
        };
        // `three quarters` is `3/4`
        if let Some((parts, share)) = parts {
            self.add(start, end, Form::Incidental, vec![share.to_owned()], vec![parts.to_string()]);
            return Some(end);
        }
        let readings = match word.as_str() {
            "half" | "hälfte" | "moitié" | "mitad" | "metà" => vec!["0.5".to_owned()],
            "quarter" | "viertel" => vec!["0.25".to_owned()],
            "doubled" => vec!["2".to_owned(), "100".to_owned()],
            "tripled" => vec!["3".to_owned(), "200".to_owned()],
            word => {
                let decade = DECADES.iter().position(|known| *known == word)?;
                vec![format!("19{}0", decade + 2), format!("{}0", decade + 2)]
            }
        };
        self.add(start, end, Form::Incidental, readings, Vec::new());
        Some(end)
    }
}
