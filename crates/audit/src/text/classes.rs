//! What is asked of characters again and again, found out once.
//!
//! Unicode's tables are searched for every answer, and a text of another script than Latin asks some
//! ten times per character. The answers for the first plane are kept in a table of 64 KB.

use std::sync::LazyLock;

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::chars::{is_bullet, is_dash, is_ignorable, is_quotation};

/// A set of answers about one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class(u8);

impl Class {
    /// A letter, digit or mark.
    pub const WORD: u8 = 1;
    /// A letter or mark.
    pub const LETTER: u8 = 1 << 1;
    /// A decimal digit.
    pub const DECIMAL: u8 = 1 << 2;
    /// Joins the character before it: a mark, or a Hangul vowel or final.
    pub const JOINS: u8 = 1 << 3;
    /// Its own lower case.
    pub const CASELESS: u8 = 1 << 4;
    /// Its own compatibility form.
    pub const ITSELF: u8 = 1 << 5;
    /// Stays as it is in a folded text, but for its case and unless something joins it.
    pub const PLAIN: u8 = 1 << 6;
    /// Part of a script that writes no spaces between words.
    pub const UNSPACED: u8 = 1 << 7;

    /// The answers about `c`.
    pub fn of(c: char) -> Self {
        static FIRST_PLANE: LazyLock<Vec<u8>> = LazyLock::new(|| {
            (0..=0xFFFF).map(|code| char::from_u32(code).map_or(0, |c| Class::find(c).0)).collect()
        });
        FIRST_PLANE.get(c as usize).map_or_else(|| Self::find(c), |answers| Self(*answers))
    }

    /// Whether all of these hold.
    pub const fn has(self, answers: u8) -> bool {
        self.0 & answers == answers
    }

    fn find(c: char) -> Self {
        let is_mark = is_combining_mark(c);
        let answers = [
            (Self::WORD, c.is_alphanumeric() || is_mark),
            (Self::LETTER, c.is_alphabetic() || is_mark),
            (Self::DECIMAL, is_decimal(c)),
            (Self::JOINS, is_mark || is_conjoining(c)),
            (Self::CASELESS, is_caseless(c)),
            (Self::ITSELF, is_itself(c)),
            (Self::PLAIN, is_plain(c)),
            (Self::UNSPACED, is_unspaced(c)),
        ];
        Self(answers.iter().filter(|(_, holds)| *holds).fold(0, |sum, (answer, _)| sum | answer))
    }
}

fn is_decimal(c: char) -> bool {
    CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::DecimalNumber
}

/// Hangul vowels and finals, which join the syllable before them.
fn is_conjoining(c: char) -> bool {
    matches!(c, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}')
}

fn is_caseless(c: char) -> bool {
    !matches!(c, 'ß' | 'ẞ' | 'ς') && c.to_lowercase().eq([c])
}

/// Superscripts, subscripts, fractions and encircled numbers count as their own form: `10²` must
/// never read as `102`.
fn is_itself(c: char) -> bool {
    c.is_ascii()
        || matches!(c, '\u{2070}'..='\u{209f}')
        || (!is_decimal(c) && (c.nfkc().any(is_decimal) || c.nfkc().eq([c])))
}

fn is_plain(c: char) -> bool {
    let is_mark_up = matches!(c, '|' | '\\' | '&' | '.' | '*' | '_' | '#');
    let is_typography = is_bullet(c) || is_quotation(c) || is_dash(c);
    // Read with what stands before them.
    let is_index = matches!(c, '²' | '³' | '\u{2080}'..='\u{2089}');
    !(is_mark_up || is_typography || is_index || c.is_whitespace() || is_ignorable(c))
        && c.nfc().eq([c])
        && is_itself(c)
}

fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0FFF // Thai, Lao, Tibetan
        | 0x1000..=0x109F | 0xAA60..=0xAA7F | 0xA9E0..=0xA9FF // Myanmar
        | 0x1780..=0x17FF | 0x19E0..=0x19FF // Khmer
        | 0x1950..=0x19DF | 0x1A20..=0x1AAF // Tai scripts
        | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F // kana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF // Han
    )
}
