//! What a quote can say otherwise than its source although all of its words stand there: a denial or a number was left
//! out between two pieces or just before the first, or only a hyphen or the case of a unit tells two words apart.
//! Never a failure, since a person has to look at the sense; below every threshold of the gate.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::measures::{is_limit_after, is_limit_before};
use crate::text::chars::{digit, is_dash, is_letter, is_unspaced, is_word};
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
    /// The quote begins or ends with a number and leaves out what makes it a limit, a range, or negative.
    LimitCutOff,
}

impl Alteration {
    /// Every one.
    pub const ALL: [Self; 7] = [
        Self::DenialElided,
        Self::NumberElided,
        Self::SentencesJoined,
        Self::DenialCutOff,
        Self::SpellingDiffers,
        Self::UnitDiffers,
        Self::LimitCutOff,
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
            Self::LimitCutOff => "limit_cut_off",
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
            Self::LimitCutOff => {
                "the quote leaves out what makes its first or last number a limit, a range or negative"
            }
        }
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
    // A cross in front of a list item denies it.
    if left.trim_end().ends_with(['✗', '✘', '❌', '☒']) {
        return true;
    }
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
    // Endings of verbs, where no space parts the words.
    const ENDINGS: [&str; 8] = ["ません", "ない", "なかった", "なく", "ず", "지 않", "않", "못"];
    let is_cut_inside = quote.ends_with(is_unspaced_or_hangul);
    if is_cut_inside && ENDINGS.iter().any(|ending| right.trim_start().starts_with(ending)) {
        return true;
    }
    let right = &right[..right.find(clause).unwrap_or(right.len())];
    !right.trim().is_empty() && words(right).iter().take(AFTER).any(|word| denies(word))
}

/// Whether the quote at `range` begins or ends with a number of which it leaves out the sign, the limit or the range.
pub(super) fn is_limit_cut_off(text: &str, range: &Range<usize>) -> bool {
    const NEAR: usize = 30;
    let quote = &text[range.clone()];
    let begins = quote.trim_start_matches(['€', '$', '£', ' ']).starts_with(|c: char| digit(c).is_some());
    let ends = quote.ends_with(|c: char| digit(c).is_some());
    let before = || {
        let start =
            text[..range.start].char_indices().rev().take(NEAR).last().map_or(range.start, |(at, _)| at);
        &text[start..range.start]
    };
    (begins && is_limit_before(before())) || (ends && is_limit_after(&text[range.end..]))
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
    let (behind, quoted) = (units(source), units(quote));
    let is_other = |(one, other): (&String, &String)| !one.is_empty() && !other.is_empty() && one != other;
    if (behind.len() == quoted.len() && behind.iter().zip(&quoted).any(is_other))
        || has_unit_in_other_case(source, quote)
    {
        found.push(Alteration::UnitDiffers);
    }
    found
}

/// A unit that stands in another case behind a number in words, or alone.
fn has_unit_in_other_case(source: &str, quote: &str) -> bool {
    let mut quoted = quote.split_whitespace();
    source.split_whitespace().any(|one| {
        quoted.next().is_some_and(|other| {
            one.len() > 1 && one != other && one.eq_ignore_ascii_case(other) && is_unit(one) && is_unit(other)
        })
    })
}

fn is_unit(word: &str) -> bool {
    !word.is_empty() && UNITS.contains(&format!(" {word} "))
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

fn is_unspaced_or_hangul(c: char) -> bool {
    is_unspaced(c) || ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// Units that mean something else in another case; `KB` counts as `kB`.
const UNITS: &str = " mW MW mV MV mA MA mHz MHz mg Mg mPa MPa mJ MJ Mb MB kb kB Gb GB Tb TB Mbps MBps kbps kBps Gbps GBps \
    mΩ MΩ pF PF nm Nm m M g G t T mmol Mmol mm Mm ms Ms mN MN mK MK pA Pa pV PV nA NA ";

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
        // One that is no unit in this case, such as `MG` in a heading, stands for the usual one.
        out.push(if is_unit(&unit) { unit } else { prime(&chars, at) });
    }
    out
}

/// The prime of feet or minutes, or the double one of inches or seconds, right behind the number that ends before `at`. One
/// that closes a quotation is none.
fn prime(chars: &[char], at: usize) -> String {
    let Some(mark) = chars.get(at) else { return String::new() };
    let is_odd = |mark: char| chars.iter().filter(|c| **c == mark).count() % 2 == 1;
    let prime = match mark {
        '′' => "′",
        '″' => "″",
        '\'' if is_odd('\'') => "′",
        '"' if is_odd('"') => "″",
        _ => "",
    };
    prime.to_owned()
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
        assert!(cut("犬は電車に乗れません。猫も同じです。", "犬は電車に乗れ"));
        assert!(!cut("犬は電車に乗れます。猫は乗れません。", "犬は電車に乗れます"));
        assert!(cut("כלבים אינם מורשים לעלות לרכבת.", "מורשים לעלות לרכבת"));
        assert!(cut("✗ dogs in the house", "dogs in the house"));
        assert!(!cut("✓ dogs in the house", "dogs in the house"));
        assert!(cut("Hunde dürfen in die Bahn nicht hinein.", "Hunde dürfen in die Bahn"));
        assert!(!cut("Dogs are not allowed on trams but are allowed on buses.", "are allowed on buses"));
        assert!(!cut("Not on Mondays; the pool is open on Sundays.", "the pool is open on Sundays"));
        assert!(!cut("The pool is open on Sundays, not on Mondays.", "The pool is open on Sundays"));
    }

    #[test]
    fn a_limit_beside_the_quote_is_noticed() {
        let cut = |text: &str, quote: &str| {
            let at = text.find(quote).unwrap();
            is_limit_cut_off(text, &(at..at + quote.len()))
        };
        assert!(cut("The low was minus 5 degrees in May.", "5 degrees in May"));
        assert!(cut("The share is <5 percent in May.", "5 percent in May"));
        assert!(cut("The share is ±5 percent in May.", "5 percent in May"));
        assert!(cut("It takes 5–6 weeks in May.", "It takes 5"));
        assert!(cut("It takes 5–6 weeks in May.", "6 weeks in May"));
        assert!(cut("At least 5 people came.", "5 people came"));
        assert!(cut("It costs up to $5 per day.", "$5 per day"));
        assert!(!cut("It takes 5–6 weeks in May.", "It takes 5–6 weeks"));
        assert!(!cut("In 2019 5 people came.", "5 people came"));
        assert!(!cut("It moved from Leeds to 5 towns.", "5 towns"));
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
            ("Five MW plants", "Five mW plants", vec![UnitDiffers]),
            ("draws 5 Pa", "draws 5 pA", vec![UnitDiffers]),
            ("is 5″ wide", "is 5′ wide", vec![UnitDiffers]),
            ("is 5\" wide", "is 5' wide", vec![UnitDiffers]),
            ("the \"rule of 5\" holds", "the 'rule of 5' holds", vec![]),
            ("is 5″ wide", "is 5\" wide", vec![]),
            ("TAKE 5 MG", "take 5 mg", vec![]),
            ("The Mill – old", "the mill - old", vec![]),
        ] {
            assert_eq!(in_spelling(source, quote), wanted, "{source} / {quote}");
        }
    }
}
