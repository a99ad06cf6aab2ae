//! One spelling for texts that differ only in their typography, with the way back to the original.
//!
//! What is made equal: canonical and compatibility forms, case, white space, quotation marks,
//! dashes, ellipses, list bullets and emphasis marks. What never is: digits, and letters.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::chars::{
    compatible, digit, is_bullet, is_dash, is_ignorable, is_letter, is_long_dash, is_quotation, is_unspaced,
    is_word, push_lower,
};
use super::classes::Class;
pub use super::folded::Folded;
use super::numbers::words::superscript;
use super::signs;

/// Whether case is folded too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Upper case stays.
    Kept,
    /// Everything becomes lower case.
    Folded,
}

impl Folded {
    /// Folds `text`.
    pub fn new(text: &str, case: Case) -> Self {
        Folder::run(text, case, true)
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
        let mut at = 0;
        loop {
            at = folder.plain_run(at);
            let Some(c) = folder.char_at(at) else { return folder.out };
            at = folder.step(at, c);
        }
    }

    /// Takes plain characters, and single blanks between them, without further thought: most of most texts.
    fn plain_run(&mut self, start: usize) -> usize {
        let (Some(mut last), None) = (self.last, self.space) else { return start };
        let mut at = start;
        loop {
            let end = self.ascii_run(at);
            if let Some(byte) = self.text.as_bytes()[at..end].last() {
                last = char::from(*byte);
                at = end;
            }
            let blank = usize::from(self.text.as_bytes().get(at) == Some(&b' '));
            let Some(c) = self.plain_at(at + blank).filter(|c| blank == 0 || is_kept_between(last, *c))
            else {
                break;
            };
            at += blank + c.len_utf8();
            last = c;
        }
        if at > start {
            self.take(start, at);
            self.last = Some(last);
        }
        at
    }

    /// Writes a stretch of the original as it is, but for its ASCII case.
    fn take(&mut self, start: usize, end: usize) {
        let from = self.out.text.len();
        self.out.text.push_str(&self.text[start..end]);
        if self.case == Case::Folded {
            self.out.text[from..].make_ascii_lowercase();
        }
        if self.keeps_places {
            self.out.note(from, start, end, true);
        }
    }

    /// The end of the plain ASCII characters from `start` on, with single blanks between them.
    fn ascii_run(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let has =
            |at: usize, wanted: u8| bytes.get(at).is_some_and(|byte| ASCII[usize::from(*byte)] & wanted != 0);
        let mut at = start;
        loop {
            while has(at, PLAIN) {
                at += 1;
            }
            let is_between = at > start
                && bytes.get(at) == Some(&b' ')
                && has(at - 1, BEFORE_BLANK)
                && has(at + 1, AFTER_BLANK);
            if !is_between {
                break;
            }
            at += 1;
        }
        // What follows may be a mark that joins the last one.
        if at > start && bytes.get(at).is_some_and(|byte| !byte.is_ascii()) {
            at -= 1;
            if at > start && bytes[at - 1] == b' ' {
                at -= 1;
            }
        }
        at
    }

    /// The character at `at`, if it stays as it is, or changes only its ASCII case.
    fn plain_at(&self, at: usize) -> Option<char> {
        let c = self.char_at(at)?;
        let class = Class::of(c);
        let keeps_case = c.is_ascii() || self.case == Case::Kept || class.has(Class::CASELESS);
        let is_joined =
            || self.char_at(at + c.len_utf8()).is_some_and(|next| Class::of(next).has(Class::JOINS));
        (class.has(Class::PLAIN) && keeps_case && !is_joined()).then_some(c)
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
            '|' if signs::is_condition(self.text, at) => self.cluster(at, c),
            _ if c.is_whitespace() || c == '|' => {
                self.blank(at, after, matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}'))
            }
            '\u{ad}' if self.char_at(after) == Some('\n') => self.skip_blanks(after),
            _ if is_ignorable(c) => after,
            '\\' => self.backslash(at, after),
            '&' => self.entity(at, after),
            '.' | '…' => self.dots(at),
            '*' | '_' | '#' => self.markup(at, c),
            // `3·5` is not `35`; elsewhere a bullet only begins an item.
            _ if is_bullet(c) && self.is_inside(at, after) => {
                self.write('·', at, after, after);
                after
            }
            _ if is_bullet(c) => after,
            _ if signs::is_index(self.text, at, c) => {
                self.write(superscript(c).unwrap_or(c), at, after, after);
                after
            }
            _ if is_quotation(c) => {
                if self.is_inside(at, after) {
                    self.write('\'', at, after, after);
                }
                after
            }
            _ if is_dash(c) => self.dash(at, c),
            _ => self.cluster(at, c),
        }
    }

    /// Whether word characters stand directly before `at` and from `after` on.
    fn is_inside(&self, at: usize, after: usize) -> bool {
        self.char_before(at).is_some_and(is_word) && self.char_at(after).is_some_and(is_word)
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
                Some(last) => is_opening(last) || (is_unspaced(last) && is_unspaced(c)),
            };
            let closes = is_closing(c) && self.char_at(next).and_then(digit).is_none();
            if !is_tight && !closes {
                self.push(' ', space.start, space.end);
            }
        }
        self.push(c, start, end);
    }

    fn push(&mut self, c: char, start: usize, end: usize) {
        let at = self.out.text.len();
        match self.case {
            Case::Kept => self.out.text.push(c),
            Case::Folded => push_lower(&mut self.out.text, c),
        }
        if self.keeps_places {
            let written = &self.out.text[at..];
            let is_one = written.chars().next().is_some_and(|first| first.len_utf8() == written.len());
            let is_bytewise = is_one && written.len() == end - start;
            self.out.note(at, start, end, is_bytewise);
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
        let is_inside = self.is_inside(at, end);
        let is_power = || {
            let is_digit = |c: Option<char>| c.and_then(digit).is_some();
            is_digit(self.char_before(at)) && is_digit(self.char_at(end))
        };
        let is_heading =
            c == '#' && self.at_line_start() && self.char_at(end).is_none_or(char::is_whitespace);
        let stays = match c {
            '#' => !is_heading,
            '*' => is_inside && (end - at == 1 || is_power()),
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
        // `- 5 °C` is below zero, wherever its sign stands.
        if is_single && !is_long && next.and_then(digit).is_some() && signs::is_temperature(self.text, resume)
        {
            self.write('-', at, end, end);
            return resume;
        }
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
        let end = self.run_end(first, |next| Class::of(next).has(Class::JOINS));
        if end == first && Class::of(c).has(Class::PLAIN) {
            self.write(c, at, end, end);
            return end;
        }
        let text = &self.text[at..end];
        if is_nfc_quick(text.chars()) == IsNormalized::Yes {
            text.chars().for_each(|c| self.composed(c, at, end));
        } else {
            text.nfc().for_each(|c| self.composed(c, at, end));
        }
        end
    }

    fn composed(&mut self, c: char, start: usize, end: usize) {
        if is_ignorable(c) {
            return;
        }
        compatible(c, |part| {
            if part.is_whitespace() {
                self.blank(start, end, false);
            } else {
                self.write(part, start, end, end);
            }
        });
    }
}

/// Whether a blank between two plain characters stays.
fn is_kept_between(before: char, after: char) -> bool {
    !(is_opening(before) || is_closing(after) || (is_unspaced(before) && is_unspaced(after)))
}

/// In [`ASCII`]: the character is plain.
const PLAIN: u8 = 1;
/// It is plain, and a blank after it may stay.
const BEFORE_BLANK: u8 = 2;
/// It is plain, and a blank before it stays.
const AFTER_BLANK: u8 = 4;

/// What the folding wants to know of each byte, so that most of most texts is one look per byte.
static ASCII: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let c = byte as char;
        if is_plain_ascii(byte) {
            table[byte as usize] = PLAIN
                | if is_opening(c) { 0 } else { BEFORE_BLANK }
                | if is_closing(c) { 0 } else { AFTER_BLANK };
        }
        byte += 1;
    }
    table
};

/// The plain characters of ASCII.
const fn is_plain_ascii(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'$' | b'%' | b'(' | b')' | b'+' | b',' | b'/' | b':'
                ..=b'@' | b'[' | b']' | b'^' | b'{' | b'}' | b'~'
        )
}

/// What a blank may stand behind without meaning anything.
const fn is_opening(c: char) -> bool {
    matches!(c, '(' | '[' | '{')
}

/// What a blank may stand before without meaning anything.
const fn is_closing(c: char) -> bool {
    matches!(c, ',' | ';' | ':' | '.' | '!' | '?' | ')' | ']' | '}' | '%')
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
            ("H₂O and CO₂", "H2O and CO2"),
            ("20 km²", "20 km2"),
            ("it was - 5 °C", "it was -5 °C"),
            ("| a | b |", "a b"),
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
            ("3·5", "35"),
            ("3•5", "35"),
            ("10**6", "106"),
            ("P(A|B)", "P(A B)"),
            ("10⁵", "105"),
            ("1½", "11/2"),
            ("it was - 5 °C", "it was 5 °C"),
            ("x²", "x2"),
            ("10m²3", "10m23"),
        ] {
            assert_ne!(folded(one), folded(other), "{one} / {other}");
        }
    }

    #[test]
    fn plain_is_the_same_with_and_without_the_table() {
        for byte in 0..128 {
            assert_eq!(is_plain_ascii(byte), Class::of(char::from(byte)).has(Class::PLAIN), "{byte}");
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
