//! What a quote can say otherwise than its source although all of its words stand there: a denial or a number was left
//! out between two pieces or just before the first, or only a hyphen or the case of a unit tells two words apart.
//! Never a failure, since a person has to look at the sense; below every threshold of the gate.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use crate::text::chars::{digit, is_dash, is_letter, is_word};
use crate::text::negation::changes_sense;
use crate::text::{content_words, denies, numbers, words};

/// One such difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alteration {
    /// Between two pieces of one sentence a denial was left out.
    DenialElided,
    /// Between two pieces of one sentence a number was left out, and another stands in its place.
    NumberElided,
    /// The end of a sentence was joined to another, without its own beginning.
    SentencesJoined,
    /// The quote begins right behind a denial, or ends right before one.
    DenialCutOff,
    /// Only a hyphen or a letter that sounds the same tells the words apart.
    SpellingDiffers,
    /// Only the case of a unit tells the amounts apart.
    UnitDiffers,
}

impl Alteration {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::DenialElided,
        Self::NumberElided,
        Self::SentencesJoined,
        Self::DenialCutOff,
        Self::SpellingDiffers,
        Self::UnitDiffers,
    ];

    /// The doubt that it is.
    pub const fn code(self) -> &'static str {
        match self {
            Self::DenialElided => "elided_negation",
            Self::NumberElided => "elided_number",
            Self::SentencesJoined => "elided_sentences",
            Self::DenialCutOff => "negation_cut_off",
            Self::SpellingDiffers => "spelling_differs",
            Self::UnitDiffers => "unit_case_differs",
        }
    }

    /// The doubt in words.
    pub const fn message(self) -> &'static str {
        match self {
            Self::DenialElided => "what the quote leaves out denies or narrows what it says",
            Self::NumberElided => "the quote leaves out a number and goes on with another",
            Self::SentencesJoined => {
                "the quote joins the end of a sentence to another and leaves out its beginning"
            }
            Self::DenialCutOff => "the quote stands beside a denial of its sentence and leaves it out",
            Self::SpellingDiffers => {
                "the quote has a hyphen or a letter that its source has not, and may mean another word"
            }
            Self::UnitDiffers => "the quote has a unit in another case, which is another unit",
        }
    }

    /// Whether it matters only where the claim itself denies nothing: a claim that does has the denial after all.
    pub const fn is_of_denial_alone(self) -> bool {
        matches!(self, Self::DenialCutOff)
    }
}

const ENDS: [char; 8] = ['.', '!', '?', '。', '！', '？', '؟', '।'];

/// What was left out between the pieces of a quote, which stand at `places` of `text`.
pub(super) fn in_gaps(text: &str, places: &[Range<usize>]) -> Vec<Alteration> {
    let mut found = Vec::new();
    for pair in places.windows(2) {
        let [before, after] = pair else { continue };
        let Some(gap) = text.get(before.end..after.start) else { continue };
        for alteration in in_gap(&text[before.clone()], gap, &text[after.clone()]).into_iter().flatten() {
            if !found.contains(&alteration) {
                found.push(alteration);
            }
        }
    }
    found
}

fn in_gap(before: &str, gap: &str, after: &str) -> [Option<Alteration>; 2] {
    let is_ended = before.trim_end().ends_with(ENDS) || gap.trim_start().starts_with(ENDS);
    let borders = borders(gap);
    // What of the gap goes on with the sentence of the piece before it, and what begins that of the piece after it.
    let (head, tail) = match (borders.first(), borders.last()) {
        (Some(first), Some(last)) => (if is_ended { "" } else { &gap[..*first] }, &gap[*last..]),
        _ if is_ended => ("", gap),
        _ => (gap, ""),
    };
    if changes_sense(head) || changes_sense(tail) {
        return [Some(Alteration::DenialElided), None];
    }
    let is_joined = !content_words(tail).is_empty();
    // `costs … 90 minutes` of `costs 2.80 and is valid for 90 minutes`
    let starts_with_number = || {
        let start: String = gap.trim_start().chars().take(24).collect();
        numbers(&start).first().is_some_and(|number| {
            words(&start.chars().take(number.span.start).collect::<String>()).is_empty()
        })
    };
    let is_replaced = borders.is_empty() && !is_ended && !numbers(after).is_empty() && starts_with_number();
    [is_joined.then_some(Alteration::SentencesJoined), is_replaced.then_some(Alteration::NumberElided)]
}

/// Where sentences end inside of a text, in bytes.
fn borders(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_last =
            chars.peek().is_none_or(|(_, next)| next.is_whitespace() || matches!(next, '"' | '”' | ')'));
        if c == '\n' || matches!(c, '。' | '！' | '？') || (ENDS.contains(&c) && is_last) {
            ends.push(at + c.len_utf8());
        }
    }
    ends
}

/// Whether the words directly before or after `range`, in its clause, deny what it says.
pub(super) fn is_denial_cut_off(text: &str, range: &Range<usize>) -> bool {
    /// Words away from the quote that a denial still reaches.
    const BEFORE: usize = 3;
    const AFTER: usize = 2;
    /// Bytes in which so many words are looked for.
    const NEAR: usize = 60;
    let clause = |c: char| {
        ENDS.contains(&c) || matches!(c, ',' | ';' | ':' | '\n' | '(' | ')' | '，' | '、' | '；' | '：' | '|')
    };
    let mut start = range.start.saturating_sub(NEAR);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let quote = &text[range.clone()];
    let left = &text[start..range.start];
    let left =
        &left[left.rfind(clause).map_or(0, |at| at + left[at..].chars().next().map_or(1, char::len_utf8))..];
    if !left.trim().is_empty() && words(left).iter().rev().take(BEFORE).any(|word| denies(word)) {
        return true;
    }
    if quote.trim_end().ends_with(clause) {
        return false;
    }
    let mut end = (range.end + NEAR).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let right = &text[range.end..end];
    let right = &right[..right.find(clause).unwrap_or(right.len())];
    !right.trim().is_empty() && words(right).iter().take(AFTER).any(|word| denies(word))
}

/// What the folding made equal between the words of the source and of the quote, and should not pass unnoticed.
pub(super) fn in_spelling(source: &str, quote: &str) -> Vec<Alteration> {
    if source == quote {
        return Vec::new();
    }
    let mut found = Vec::new();
    if letters(source) != letters(quote) && !has_line_hyphen(source) && !has_line_hyphen(quote) {
        found.push(Alteration::SpellingDiffers);
    }
    let (source, quote) = (units(source), units(quote));
    if source.len() == quote.len()
        && source.iter().zip(&quote).any(|(one, other)| !one.is_empty() && !other.is_empty() && one != other)
    {
        found.push(Alteration::UnitDiffers);
    }
    found
}

/// The words with their inner hyphens, in lower case: what is left when typography and case are taken away.
fn letters(text: &str) -> Vec<String> {
    let is_double_s = |pair: &[u8]| pair.eq_ignore_ascii_case(b"ss");
    if text.is_ascii() && !text.contains('-') && !text.as_bytes().windows(2).any(is_double_s) {
        return Vec::new();
    }
    let chars: Vec<char> = text.nfc().filter(|c| !matches!(c, '\u{ad}' | '\u{200b}')).collect();
    let mut out = Vec::new();
    let mut word = String::new();
    let is_upper =
        |at: usize| chars[..at].iter().rev().find(|c| is_letter(**c)).is_some_and(|c| c.is_uppercase());
    for (at, c) in chars.iter().enumerate() {
        let is_hyphen = is_dash(*c)
            && at > 0
            && is_letter(chars[at - 1])
            && chars.get(at + 1).is_some_and(|next| is_letter(*next));
        match c {
            _ if is_hyphen => word.push('-'),
            // `STRASSE` is how `Straße` is written in capitals.
            'ß' | 'ẞ' => word.push('ß'),
            's' | 'S' if word.ends_with('s') && is_upper(at) && c.is_uppercase() => {
                word.pop();
                word.push('ß');
            }
            _ if is_letter(*c) => word.extend(c.to_lowercase()),
            _ if word.contains(['-', 'ß']) || word.contains("ss") => out.push(std::mem::take(&mut word)),
            _ => word.clear(),
        }
    }
    if word.contains(['-', 'ß']) || word.contains("ss") {
        out.push(word);
    }
    out
}

/// Whether a word is cut at the end of a line, so that its hyphen means nothing.
fn has_line_hyphen(text: &str) -> bool {
    text.contains(['\n', '\r']) && text.split(['\n', '\r']).any(|line| line.trim_end().ends_with(is_dash))
}

/// Units that mean something else in another case; `KB` counts as `kB`.
const UNITS: &str = " mW MW mV MV mA MA mHz MHz mg Mg mPa MPa mJ MJ Mb MB kb kB Gb GB Tb TB Mbps MBps kbps kBps Gbps GBps \
    mΩ MΩ pF PF nm Nm m M g G t T mmol Mmol mm Mm ms Ms mN MN mK MK ";

/// The units directly behind numbers, those that another case makes another unit.
fn units(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if digit(chars[at]).is_none() || chars.get(at + 1).is_some_and(|next| digit(*next).is_some()) {
            at += 1;
            continue;
        }
        at += 1;
        let start = at + usize::from(chars.get(at).is_some_and(|c| c.is_whitespace()));
        let unit: String =
            chars[start.min(chars.len())..].iter().take_while(|c| is_word(**c)).take(8).collect();
        let unit = unit.strip_prefix('K').map_or(unit.clone(), |rest| format!("k{rest}"));
        let is_known = |unit: &str| !unit.is_empty() && UNITS.contains(&format!(" {unit} "));
        // One that is no unit in this case, such as `MG` in a heading, stands for the usual one.
        out.push(if is_known(&unit) { unit } else { String::new() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(text: &str, before: &str, after: &str) -> Vec<Alteration> {
        let first = text.find(before).unwrap();
        let second = first + before.len() + text[first + before.len()..].find(after).unwrap();
        in_gaps(text, &[first..first + before.len(), second..second + after.len()])
    }

    #[test]
    fn a_denial_that_was_left_out_is_noticed() {
        use Alteration::{DenialElided, NumberElided, SentencesJoined};
        let text = "Paper tickets are cheap. Online tickets are not fully refundable after purchase.";
        assert_eq!(gap(text, "Online tickets are", "fully refundable after"), [DenialElided]);
        assert_eq!(gap(text, "Paper tickets are", "fully refundable after"), [DenialElided]);
        assert_eq!(gap(text, "Paper tickets are cheap", "Online tickets are"), []);
        let text = "Dogs travel in the first car. Cats sleep in the last car.";
        assert_eq!(gap(text, "Dogs travel", "the last car"), [SentencesJoined]);
        assert_eq!(gap(text, "Dogs travel", "Cats sleep"), []);
        let text = "A single ticket costs 2.80 and is valid for 90 minutes.";
        assert_eq!(gap(text, "A single ticket costs", "90 minutes"), [NumberElided]);
        assert_eq!(gap(text, "A single ticket", "valid for 90 minutes"), []);
        let text = "Cats are banned. They never bite. Dogs are welcome in cars.";
        assert_eq!(gap(text, "Cats are banned.", "Dogs are welcome"), [], "a whole sentence may go");
    }

    #[test]
    fn a_denial_beside_the_quote_is_noticed() {
        let cut = |text: &str, quote: &str| {
            let at = text.find(quote).unwrap();
            is_denial_cut_off(text, &(at..at + quote.len()))
        };
        assert!(cut("It is not true that the pool is open on Sundays.", "the pool is open on Sundays"));
        assert!(cut("Dogs are not allowed on trams.", "allowed on trams"));
        assert!(cut("Hunde dürfen in die Bahn nicht hinein.", "Hunde dürfen in die Bahn"));
        assert!(!cut("Dogs are not allowed on trams but are allowed on buses.", "are allowed on buses"));
        assert!(!cut("Not on Mondays; the pool is open on Sundays.", "the pool is open on Sundays"));
        assert!(!cut("The pool is open on Sundays, not on Mondays.", "The pool is open on Sundays"));
    }

    #[test]
    fn what_only_a_hyphen_or_a_case_tells_apart_is_noticed() {
        use Alteration::{SpellingDiffers, UnitDiffers};
        for (source, quote, wanted) in [
            ("they re-sign it", "they resign it", vec![SpellingDiffers]),
            ("in Maßen", "in Massen", vec![SpellingDiffers]),
            ("die Straße", "DIE STRASSE", vec![]),
            ("exhibi-\ntion", "exhibition", vec![]),
            ("soft\u{ad}ly", "softly", vec![]),
            ("yields 5 mW now", "yields 5 MW now", vec![UnitDiffers]),
            ("a 5MB file", "a 5Mb file", vec![UnitDiffers]),
            ("a 5 KB file", "a 5 kB file", vec![]),
            ("TAKE 5 MG", "take 5 mg", vec![]),
            ("The Mill – old", "the mill - old", vec![]),
        ] {
            assert_eq!(in_spelling(source, quote), wanted, "{source} / {quote}");
        }
    }
}
