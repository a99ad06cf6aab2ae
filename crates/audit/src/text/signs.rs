//! Signs whose meaning hangs on what stands around them, and which a folding must not lose.

use super::chars::{digit, is_letter, is_word};

/// The bar of `P(A|B)`, not of a table.
pub(super) fn is_condition(text: &str, at: usize) -> bool {
    const LONGEST: usize = 12;
    let stands_inside = text[..at].chars().next_back().is_some_and(is_word)
        && text[at + 1..].chars().next().is_some_and(is_word);
    stands_inside
        && text[..at]
            .chars()
            .rev()
            .take(LONGEST)
            .find(|c| matches!(c, '(' | ')' | '|') || c.is_whitespace())
            .is_some_and(|c| c == '(')
}

/// `CO₂` and `m²`: an index or power behind letters, which many write as a plain digit. Behind a digit it is none.
pub(super) fn is_index(text: &str, at: usize, c: char) -> bool {
    const UNITS: [&str; 9] = ["m", "cm", "mm", "km", "dm", "ft", "in", "mi", "yd"];
    let is_low = matches!(c, '\u{2080}'..='\u{2089}');
    let is_alone = || text[at + c.len_utf8()..].chars().next().is_none_or(|next| digit(next).is_none());
    if !(is_low || matches!(c, '²' | '³')) || !is_alone() {
        return false;
    }
    let letters: usize =
        text[..at].chars().rev().take_while(|c| is_letter(*c)).take(4).map(char::len_utf8).sum();
    let word = &text[at - letters..at];
    !word.is_empty() && (is_low || UNITS.contains(&word))
}

/// Whether a number of degrees begins at `at`.
pub(super) fn is_temperature(text: &str, at: usize) -> bool {
    let number: usize = text[at..]
        .chars()
        .take_while(|c| digit(*c).is_some() || matches!(c, '.' | ','))
        .map(char::len_utf8)
        .sum();
    let unit = text[at + number..].trim_start();
    unit.starts_with(['°', '℃', '℉']) || unit.starts_with("degrees") || unit.starts_with("Grad")
}
