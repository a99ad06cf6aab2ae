//! A quote must not begin or end inside of a number or a word: `3:10` is not what `23:10` says,
//! and `legal` is not what `illegal` says.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use crate::text::chars::{digit, is_dash, is_letter, is_quotation, is_spaced_word, leading_word};
use crate::text::numbers::words::{han_scale, is_han_numeral, scale, superscript};

/// Whether `range` begins and ends where numbers and words do.
pub fn is_whole(text: &str, range: &Range<usize>) -> bool {
    begins_whole(text, range.start) && ends_whole(text, range.end)
}

fn begins_whole(text: &str, at: usize) -> bool {
    let mut before = text[..at].chars().rev();
    let mut after = text[at..].chars();
    let (Some(previous), Some(first)) = (before.next(), after.next()) else { return true };
    let earlier = before.next();
    if is_combining_mark(first) || joins(previous, first) {
        return false;
    }
    // The quote begins with the separator of a number: `.5 mg` of `2.5 mg`.
    if is_separator(first) && digit(previous).is_some() && after.clone().next().and_then(digit).is_some() {
        return false;
    }
    if digit(first).is_some() {
        let is_after_digit = earlier.and_then(digit).is_some();
        let is_signed =
            is_dash(previous) && earlier.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '='));
        let is_fraction =
            matches!(previous, '.' | ',') && earlier.is_none_or(|c| !is_spaced_word(c) && digit(c).is_none());
        let is_thousand = is_thin_space(previous) && is_after_digit && has_three_digits(&text[at..]);
        let is_inside = is_separator(previous) && is_after_digit;
        return !(is_inside || is_signed || is_fraction || is_thousand);
    }
    !(is_dash(previous) && is_letter(first) && negates(&text[..at - previous.len_utf8()]))
}

fn ends_whole(text: &str, at: usize) -> bool {
    let mut after = text[at..].chars();
    let (Some(last), Some(next)) = (text[..at].chars().next_back(), after.next()) else { return true };
    let later = after.next();
    if is_combining_mark(next) || joins(last, next) {
        return false;
    }
    // The quote ends with the separator of a number: `costs 2.` of `costs 2.80`.
    if is_separator(last)
        && digit(next).is_some()
        && text[..at].chars().rev().nth(1).and_then(digit).is_some()
    {
        return false;
    }
    if digit(last).is_some() {
        let rest = &text[at + next.len_utf8()..];
        // `10` is not what `10^13` or `10%` says, and `3` not what `3 1/2` says.
        if matches!(next, '^' | '%' | '٪' | '％' | '‰') || is_mixed_fraction(&text[at..]) {
            return false;
        }
        let goes_on = is_separator(next) && later.and_then(digit).is_some();
        let is_thousand = is_thin_space(next) && has_three_digits(rest)
            || next == ' ' && rest.starts_with("000") && has_three_digits(rest);
        return !goes_on && !is_thousand && superscript(next).is_none() && !is_scaled(&text[at..]);
    }
    if is_quotation(next) && is_letter(last) {
        // "can" is not what "can't" says; "the mill" is what "the mill's" says.
        let mut tail = text[at + next.len_utf8()..].chars().take_while(|c| is_letter(*c));
        return matches!((tail.next(), tail.next()), (None, _) | (Some('s' | 'S'), None));
    }
    true
}

/// Two characters of one number or word.
fn joins(one: char, other: char) -> bool {
    (is_spaced_word(one) && is_spaced_word(other))
        || (is_han_numeral(one) && is_han_numeral(other))
        || (digit(one).is_some() && han_scale(other).is_some())
}

fn is_separator(c: char) -> bool {
    matches!(c, '.' | ',' | ':' | '/' | '\'' | '’' | '\u{66b}' | '\u{66c}' | '．' | '，' | '：')
}

fn is_thin_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}')
}

fn has_three_digits(text: &str) -> bool {
    text.chars().take(4).take_while(|c| digit(*c).is_some()).count() == 3
}

/// ` 1/2` after a whole number.
fn is_mixed_fraction(rest: &str) -> bool {
    let mut chars = rest.chars();
    matches!(chars.next(), Some(' ' | '\u{a0}'))
        && chars.next().and_then(digit).is_some()
        && chars.next() == Some('/')
        && chars.next().and_then(digit).is_some()
}

/// `3` alone is not what `3 million` says.
fn is_scaled(rest: &str) -> bool {
    let word = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}', '-']);
    if rest.len() - word.len() > 2 {
        return false;
    }
    let word = leading_word(word.chars(), 12);
    scale(&word).is_some() || matches!(word.as_str(), "dozen" | "dozens" | "dutzend" | "percent" | "prozent")
}

/// `refundable` is not what `non-refundable` says.
fn negates(before: &str) -> bool {
    let start = before
        .char_indices()
        .rev()
        .take(5)
        .take_while(|(_, c)| is_letter(*c))
        .last()
        .map_or(before.len(), |(at, _)| at);
    matches!(before[start..].to_lowercase().as_str(), "non" | "un" | "in" | "anti" | "no" | "not" | "nicht")
}

#[cfg(test)]
mod tests {
    use super::is_whole;

    fn stands(quote: &str, text: &str) -> bool {
        let at = text.find(quote).unwrap();
        is_whole(text, &(at..at + quote.len()))
    }

    #[test]
    fn pieces_of_numbers_and_words_do_not_stand() {
        for (quote, text) in [
            ("3:10", "at 23:10"),
            ("10", "in 2010"),
            ("10", "10.5 km"),
            ("10", "10,000"),
            ("10", "10\u{a0}000 people"),
            ("10", "10 000 people"),
            ("5 °C", "-5 °C"),
            ("5", ".5"),
            ("3", "3 million"),
            ("3", "3万人"),
            ("3", "3½"),
            ("10", "10²"),
            ("三人", "十三人"),
            ("legal", "illegal"),
            ("We can", "We can't pay"),
            ("refundable", "non-refundable"),
            ("e", "e\u{301}"),
            ("7", "K7"),
            ("10", "10km"),
            ("costs 2.", "costs 2.80"),
            (".5 mg", "2.5 mg"),
            ("killed 1,", "killed 1,000 people"),
            ("at 23:", "at 23:10"),
            ("has 10", "has 10^13 cells"),
            ("takes 3", "takes 3 1/2 hours"),
            ("by 5", "by 5%"),
            ("needs 5", "needs 5 dozen eggs"),
        ] {
            assert!(!stands(quote, text), "{quote} in {text}");
        }
    }

    #[test]
    fn whole_ones_do() {
        for (quote, text) in [
            ("10", "from 10 to 12"),
            ("10", "10-15"),
            ("15", "10-15"),
            ("until 10", "until 10. Then"),
            ("costs 2.", "costs 2. 80 people came"),
            ("in 1,", "in 1, 2 and 3"),
            ("10", "10 200-page books"),
            ("the mill", "the mill's bell"),
            ("known", "well-known"),
            ("タワー", "東京タワーは"),
            ("2010", "2010年"),
            ("eau", "l'eau"),
        ] {
            assert!(stands(quote, text), "{quote} in {text}");
        }
    }
}
