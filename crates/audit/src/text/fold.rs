//! One spelling for texts that differ only in their typography, with the way back to the original.
//!
//! What is made equal: canonical and compatibility forms, case, white space, quotation marks,
//! dashes, ellipses, list bullets and emphasis marks. What never is: digits, and letters.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::chars::{
    compatible, digit, is_bullet, is_dash, is_ignorable, is_letter, is_long_dash, is_quotation, is_unspaced,
    is_word, push_lower,
};

/// Whether case is folded too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Upper case stays.
    Kept,
    /// Everything becomes lower case.
    Folded,
}

/// A folded text. Each of its bytes knows the bytes of the original that it stands for.
#[derive(Debug, Clone, Default)]
pub struct Folded {
    /// The folded spelling.
    pub text: String,
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl Folded {
    /// Folds `text`.
    pub fn new(text: &str, case: Case) -> Self {
        Folder::run(text, case, true)
    }

    /// The bytes of the original that a range of folded bytes stands for.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        let at = |offsets: &[u32], index: usize| offsets.get(index).map_or(0, |offset| *offset as usize);
        let start = at(&self.starts, range.start);
        start..range.end.checked_sub(1).map_or(start, |last| at(&self.ends, last)).max(start)
    }
}

/// The folded spelling alone.
pub fn fold(text: &str, case: Case) -> String {
    Folder::run(text, case, false).text
}

struct Folder<'a> {
    text: &'a str,
    case: Case,
    /// Whether the way back is wanted.
    keeps_places: bool,
    out: Folded,
    /// White space that was read and is not written yet.
    space: Option<Space>,
    /// The last character that was written, before its case was folded.
    last: Option<char>,
}

#[derive(Debug, Clone, Copy)]
struct Space {
    start: usize,
    end: usize,
    has_newline: bool,
}

impl Folder<'_> {
    fn run(text: &str, case: Case, keeps_places: bool) -> Folded {
        let mut folder = Folder { text, case, keeps_places, out: Folded::default(), space: None, last: None };
        folder.out.text.reserve(text.len());
        if keeps_places {
            folder.out.starts.reserve(text.len());
            folder.out.ends.reserve(text.len());
        }
        let mut at = 0;
        loop {
            at = folder.plain_run(at);
            let Some(c) = folder.char_at(at) else { return folder.out };
            at = folder.step(at, c);
        }
    }

    /// Takes ASCII letters and digits inside of a word without further thought: most of most texts.
    fn plain_run(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = start;
        if self.space.is_some() || self.last.is_none() {
            return at;
        }
        while bytes.get(at).is_some_and(u8::is_ascii_alphanumeric)
            && bytes.get(at + 1).is_some_and(u8::is_ascii)
        {
            let c = char::from(bytes[at]);
            self.out.text.push(if self.case == Case::Folded { c.to_ascii_lowercase() } else { c });
            if self.keeps_places {
                let offset = u32::try_from(at).unwrap_or(u32::MAX);
                self.out.starts.push(offset);
                self.out.ends.push(offset.saturating_add(1));
            }
            self.last = Some(c);
            at += 1;
        }
        at
    }

    fn char_at(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.text[at..].chars().next(),
            None => None,
        }
    }

    fn char_before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back()
    }

    /// Handles the character at `at` and returns where the next one begins.
    fn step(&mut self, at: usize, c: char) -> usize {
        let after = at + c.len_utf8();
        if c.is_ascii_alphanumeric() && self.char_at(after).is_none_or(|next| next.is_ascii()) {
            self.write(c, at, after, after);
            return after;
        }
        if c == ' ' {
            return self.blank(at, after, false);
        }
        match c {
            _ if c.is_whitespace() || c == '|' => {
                self.blank(at, after, matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}'))
            }
            '\u{ad}' if self.char_at(after) == Some('\n') => self.skip_blanks(after),
            _ if is_ignorable(c) => after,
            '\\' => self.backslash(at, after),
            '&' => self.entity(at, after),
            '.' | '…' => self.dots(at),
            '*' | '_' | '#' => self.markup(at, c),
            _ if is_bullet(c) => after,
            _ if is_quotation(c) => {
                let is_inside =
                    self.char_before(at).is_some_and(is_word) && self.char_at(after).is_some_and(is_word);
                if is_inside {
                    self.write('\'', at, after, after);
                }
                after
            }
            _ if is_dash(c) => self.dash(at, c),
            _ => self.cluster(at, c),
        }
    }

    fn blank(&mut self, start: usize, end: usize, has_newline: bool) -> usize {
        let space = self.space.get_or_insert(Space { start, end, has_newline });
        space.end = end;
        space.has_newline |= has_newline;
        end
    }

    fn skip_blanks(&self, mut at: usize) -> usize {
        while let Some(c) = self.char_at(at).filter(|c| c.is_whitespace()) {
            at += c.len_utf8();
        }
        at
    }

    /// The end of the run of characters that `belongs` holds for.
    fn run_end(&self, mut at: usize, belongs: impl Fn(char) -> bool) -> usize {
        while let Some(c) = self.char_at(at).filter(|c| belongs(*c)) {
            at += c.len_utf8();
        }
        at
    }

    /// Writes one character that stands for `start..end`; `next` is where reading goes on.
    fn write(&mut self, c: char, start: usize, end: usize, next: usize) {
        if let Some(space) = self.space.take() {
            let is_tight = match self.last {
                None => true,
                Some(last) => matches!(last, '(' | '[' | '{') || (is_unspaced(last) && is_unspaced(c)),
            };
            let closes = matches!(c, ',' | ';' | ':' | '.' | '!' | '?' | ')' | ']' | '}' | '%')
                && self.char_at(next).and_then(digit).is_none();
            if !is_tight && !closes {
                self.push(' ', space.start, space.end);
            }
        }
        self.push(c, start, end);
    }

    fn push(&mut self, c: char, start: usize, end: usize) {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        match self.case {
            Case::Kept => self.out.text.push(c),
            Case::Folded => push_lower(&mut self.out.text, c),
        }
        if self.keeps_places {
            self.out.starts.resize(self.out.text.len(), offset(start));
            self.out.ends.resize(self.out.text.len(), offset(end));
        }
        self.last = Some(c);
    }

    /// Escapes that were left in a text by one encoding too many.
    fn backslash(&mut self, at: usize, after: usize) -> usize {
        match self.char_at(after) {
            Some('n' | 'r') => self.blank(at, after + 1, true),
            Some('t') => self.blank(at, after + 1, false),
            Some(next) if next.is_ascii_punctuation() && next != '\\' => after,
            _ => {
                self.write('\\', at, after, after);
                after
            }
        }
    }

    fn entity(&mut self, at: usize, after: usize) -> usize {
        const ENTITIES: [(&str, char); 5] =
            [("amp;", '&'), ("lt;", '<'), ("gt;", '>'), ("nbsp;", ' '), ("quot;", '"')];
        let rest = &self.text[after..];
        let found = ENTITIES.iter().find(|(name, _)| rest.starts_with(name));
        let (c, end) = found.map_or(('&', after), |(name, c)| (*c, after + name.len()));
        match c {
            ' ' => self.blank(at, end, false),
            '"' => end,
            _ => {
                self.write(c, at, end, end);
                end
            }
        }
    }

    fn dots(&mut self, at: usize) -> usize {
        let end = self.run_end(at, |c| c == '.' || c == '…');
        let run = &self.text[at..end];
        let count = if run.len() > 2 { 3 } else { run.len() };
        for _ in 0..count {
            self.write('.', at, end, end);
        }
        end
    }

    /// Emphasis and heading marks go; signs inside of words and formulas stay.
    fn markup(&mut self, at: usize, c: char) -> usize {
        let end = self.run_end(at, |next| next == c);
        let is_inside = self.char_before(at).is_some_and(is_word) && self.char_at(end).is_some_and(is_word);
        let is_heading =
            c == '#' && self.at_line_start() && self.char_at(end).is_none_or(char::is_whitespace);
        let stays = match c {
            '#' => !is_heading,
            '*' => is_inside && end - at == 1,
            _ => is_inside,
        };
        if stays {
            for start in at..end {
                self.write(c, start, start + 1, end);
            }
        }
        end
    }

    fn at_line_start(&self) -> bool {
        self.last.is_none() || self.space.is_some_and(|space| space.has_newline)
    }

    fn dash(&mut self, at: usize, c: char) -> usize {
        let end = self.run_end(at, is_dash);
        let before = self.char_before(at);
        let after = self.char_at(end);
        let resume = self.skip_blanks(end);
        let next = self.char_at(resume);
        let is_single = end - at == c.len_utf8();
        let is_long = is_long_dash(c) || !is_single;
        let (before_letter, after_letter) = (before.is_some_and(is_letter), after.is_some_and(is_letter));
        if !is_long && before_letter && after_letter {
            return end; // well-known
        }
        let breaks_line = self.text[end..resume].contains('\n');
        if !is_long && before_letter && breaks_line && next.is_some_and(char::is_lowercase) {
            return resume; // a word cut at the end of a line
        }
        if is_single && self.last.and_then(digit).is_some() && next.and_then(digit).is_some() {
            self.space = None;
            self.write('-', at, end, end);
            return resume; // 10 – 15
        }
        // Quotation marks are left out, so a dash beside one stands beside what is beyond it.
        let is_open = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || is_quotation(c));
        let is_spaced = is_open(before) && is_open(after);
        // A bullet, or a dash between clauses: which of the two is lost when lines are joined.
        if (is_long || is_spaced) && c != '\u{2212}' {
            return self.blank(at, resume, breaks_line);
        }
        self.write('-', at, end, end);
        end
    }

    /// A character with the marks that belong to it, in one canonical and compatible form.
    fn cluster(&mut self, at: usize, c: char) -> usize {
        let first = at + c.len_utf8();
        let end =
            self.run_end(first, |next| !next.is_ascii() && (is_combining_mark(next) || is_conjoining(next)));
        if end == first && is_plain(c) {
            self.write(c, at, end, end);
            return end;
        }
        let text = self.text;
        for composed in text[at..end].nfc().filter(|c| !is_ignorable(*c)) {
            compatible(composed, |part| {
                if part.is_whitespace() {
                    self.blank(at, end, false);
                } else {
                    self.write(part, at, end, end);
                }
            });
        }
        end
    }
}

/// Hangul vowels and finals, which join the syllable before them.
fn is_conjoining(c: char) -> bool {
    matches!(c, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}')
}

/// Characters that are their own canonical and compatible form: a shortcut for common letters.
fn is_plain(c: char) -> bool {
    c.is_ascii()
        || matches!(c,
            'À'..='ı' | 'Ĵ'..='ľ' | 'Ł'..='ň' | 'Ŋ'..='ž' | 'Α'..='Ρ' | 'Σ'..='ώ' | 'Ѐ'..='ӿ'
            | '\u{5d0}'..='\u{5ea}' | '\u{621}'..='\u{63a}' | '\u{641}'..='\u{64a}' | '\u{905}'..='\u{928}'
            | '\u{e01}'..='\u{e30}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        fold(text, Case::Folded)
    }

    #[test]
    fn typography_makes_no_difference() {
        for (one, other) in [
            ("Old  mill\u{a0}M3", "old mill m3"),
            ("the “old mill” – it’s shut", "the \"old mill\" - it's shut"),
            ("Bru\u{308}cke", "Brücke"),
            ("exam-\nple of a co-operation", "example of a cooperation"),
            ("word—word", "word -- word"),
            ("10–15 km", "10 - 15 km"),
            ("sizes:\n- small\n- large", "sizes: - small - large"),
            ("Wait… what", "Wait ... what"),
            ("**Note**: `x`", "Note: x"),
            ("- one\n- two", "one two"),
            ("soft\u{ad}ly and zero\u{200b}width", "softly and zerowidth"),
            ("Presley , the king (1935 )", "Presley, the king (1935)"),
            ("東京\nタワー", "東京タワー"),
            ("７月", "7月"),
            ("Straße", "STRASSE"),
            ("R&amp;D", "R&D"),
            ("« mot »", "mot"),
            ("50 %", "50%"),
        ] {
            assert_eq!(folded(one), folded(other), "{one} / {other}");
        }
    }

    #[test]
    fn what_means_something_else_stays_different() {
        for (one, other) in [
            ("10²", "102"),
            ("5½", "51⁄2"),
            ("costs .5", "costs 5"),
            ("2*3", "23"),
            ("10-15", "1015"),
            ("23:10", "2310"),
            ("H₂O", "H2O"),
        ] {
            assert_ne!(folded(one), folded(other), "{one} / {other}");
        }
    }

    #[test]
    fn every_folded_byte_leads_back_to_the_original() {
        let text = "A “quo\u{302}te”  —  of\u{ad}ten";
        let folded = Folded::new(text, Case::Folded);
        let at = folded.text.find("often").unwrap();
        assert_eq!(&text[folded.original(at..at + 5)], "of\u{ad}ten");
        let at = folded.text.find("quôte").unwrap();
        assert_eq!(&text[folded.original(at..at + "quôte".len())], "quo\u{302}te");
    }
}
