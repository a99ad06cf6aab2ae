//! What stands beside a number and changes it: its unit, its limit, and the other numbers of a date or a score.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::report::Span;
use crate::text::chars::{is_dash, is_letter};
use crate::text::fixed::Quick;
use crate::text::windows::Windows;
use crate::text::{Number, numbers};

/// Units, each with the ways to write it. A word that is a unit in one place and something else in another is left out.
const UNITS: &str = "mg milligram milligrams milligramm|g gram grams gramm gramme grammes|kg kilogram kilograms kilo kilos|\
    µg μg mcg ug microgram micrograms|ton tons tonne tonnes|ounce ounces oz|mm millimetre millimetres millimeter millimeters|\
    cm centimetre centimetres centimeter centimeters|metre metres meter meters m|km kilometre kilometres kilometer kilometers|\
    mile miles|foot feet ft|inch inches|yard yards|ml millilitre millilitres milliliter milliliters|litre litres liter liters l|\
    second seconds sec secs sekunde sekunden|minute minutes min mins minuten minuto minutos minuti|\
    hour hours hr hrs h stunde stunden heure heures hora horas uur ore|day days tag tage tagen jour jours día días giorno giorni \
    dag dagen|week weeks woche wochen semaine semaines semana semanas settimana settimane weken|\
    month months monat monate monaten mois meses mesi maanden|year years yr yrs jahr jahre jahren année années año años anni jaar|\
    decade decades|century centuries jahrhundert siècle siglo|euro euros eur €|dollar dollars usd $|pound pounds gbp £|\
    yen jpy ¥|rupee rupees inr ₹|franc francs chf|% percent prozent|‰ permille promille|bc bce|ad ce|byte bytes|bit bits|\
    kb kilobyte kilobytes|mb megabyte megabytes|gb gigabyte gigabytes|tb terabyte terabytes|°c ℃|°f ℉";

static KNOWN: LazyLock<HashMap<&str, usize, Quick>> = LazyLock::new(|| {
    let units = UNITS.split('|').enumerate();
    units.flat_map(|(unit, words)| words.split_whitespace().map(move |word| (word, unit))).collect()
});

/// Whether a folded word is a unit, or says that a number is an age.
pub(super) fn is_measuring(word: &str) -> bool {
    matches!(word, "old" | "aged" | "age" | "celsius" | "fahrenheit" | "degrees" | "minus")
        || KNOWN.contains_key(word)
}

/// Whether a number is the least or the most that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Least,
    Most,
}

/// Words before a number that make it a limit.
const LIMITS: [(&str, Limit); 24] = [
    ("at least", Limit::Least),
    ("more than", Limit::Least),
    ("over", Limit::Least),
    ("above", Limit::Least),
    ("no less than", Limit::Least),
    ("not less than", Limit::Least),
    ("mindestens", Limit::Least),
    ("mehr als", Limit::Least),
    ("au moins", Limit::Least),
    ("al menos", Limit::Least),
    (">", Limit::Least),
    ("≥", Limit::Least),
    ("no more than", Limit::Most),
    ("not more than", Limit::Most),
    ("at most", Limit::Most),
    ("less than", Limit::Most),
    ("fewer than", Limit::Most),
    ("up to", Limit::Most),
    ("under", Limit::Most),
    ("below", Limit::Most),
    ("höchstens", Limit::Most),
    ("weniger als", Limit::Most),
    ("<", Limit::Most),
    ("≤", Limit::Most),
];

/// A text with its numbers, which are read once for all that is asked of them.
pub(super) struct Numbered<'t> {
    pub(super) text: &'t str,
    pub(super) numbers: Cow<'t, [Number]>,
}

impl<'t> Numbered<'t> {
    /// Reads the numbers of `text`.
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, numbers: Cow::Owned(numbers(text)) }
    }
}

/// What a text has beside one of its numbers.
struct Measured<'n> {
    number: &'n Number,
    unit: Option<usize>,
    limit: Option<Limit>,
}

fn measured<'n>(text: &'n Numbered<'_>) -> Vec<Measured<'n>> {
    let windows = Windows::of(text.text);
    text.numbers
        .iter()
        .map(|number| {
            let (before, after) = windows.around(number.span);
            Measured { unit: unit(number, before, after), limit: limit(before), number }
        })
        .collect()
}

fn unit(number: &Number, before: &str, after: &str) -> Option<usize> {
    let known = |word: &str| KNOWN.get(word).copied();
    let sign = before.trim_end().chars().next_back().filter(|c| matches!(c, '€' | '$' | '£' | '¥' | '₹'));
    if let Some(unit) = sign.and_then(|c| known(c.encode_utf8(&mut [0; 4]))) {
        return Some(unit);
    }
    let after = ["st", "nd", "rd", "th"].iter().find_map(|end| after.strip_prefix(end)).unwrap_or(after);
    let rest = after.trim_start_matches([' ', '\u{a0}', '\u{202f}', '-']);
    if after.len() - rest.len() > 2 || number.is_month() {
        return None;
    }
    let mut chars = rest.chars();
    match chars.next()? {
        c @ ('%' | '‰' | '€' | '$' | '£' | '¥' | '₹' | '℃' | '℉') => {
            known(c.encode_utf8(&mut [0; 4]))
        }
        '°' => known(&format!("°{}", chars.find(|c| *c != ' ')?.to_lowercase())),
        _ => {
            let word: String = rest.chars().take_while(|c| is_letter(*c)).take(16).collect();
            let is_alone = rest[word.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric());
            // `5 M` is no metre, and `bc` no era.
            let is_era = |word: &str| matches!(word, "bc" | "bce" | "ad" | "ce");
            let lower = word.to_lowercase();
            let is_meant = if is_era(&lower) { word != lower } else { word.len() > 1 || word == lower };
            Some(lower).filter(|_| is_alone && is_meant).and_then(|word| known(&word))
        }
    }
}

fn limit(before: &str) -> Option<Limit> {
    let near = before.trim_end_matches([' ', '\u{a0}', '€', '$', '£']);
    let tail: String = near.chars().rev().take(16).collect::<Vec<_>>().into_iter().rev().collect();
    let tail = tail.to_lowercase();
    // The longest first: "no more than" is none of "more than".
    let mut found = LIMITS.iter().filter(|(words, _)| ends_with_words(&tail, words)).collect::<Vec<_>>();
    found.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
    found.first().map(|(_, limit)| *limit)
}

fn ends_with_words(text: &str, words: &str) -> bool {
    text.strip_suffix(words)
        .is_some_and(|rest| !words.starts_with(is_letter) || !rest.ends_with(|c: char| is_letter(c)))
}

/// The first number of `claim` that `texts` have with another unit or the opposite limit alone.
pub(super) fn differing(claim: &Numbered<'_>, texts: &[Numbered<'_>]) -> Option<String> {
    let mut ours = measured(claim);
    ours.retain(|one| one.unit.is_some() || one.limit.is_some());
    if ours.is_empty() {
        return None;
    }
    let theirs: Vec<Measured<'_>> = texts.iter().flat_map(measured).collect();
    ours.iter()
        .find(|one| {
            let mut same = theirs.iter().filter(|other| one.number.says_the_same(other.number)).peekable();
            same.peek().is_some() && {
                let same: Vec<&Measured<'_>> = same.collect();
                let differs = |other: &Measured<'_>| {
                    one.unit.is_some_and(|unit| other.unit.is_some_and(|theirs| theirs != unit))
                        || one.limit.is_some_and(|limit| other.limit.is_some_and(|theirs| theirs != limit))
                };
                same.into_iter().all(differs)
            }
        })
        .map(|one| one.number.text.clone())
}

/// The first score or date of `claim` of which `texts` have only the reverse: `3:2` for `2:3`, 3 April for 4 March.
pub(super) fn reversed(claim: &Numbered<'_>, texts: &[Numbered<'_>]) -> Option<String> {
    let ours = groups(claim);
    if ours.is_empty() {
        return None;
    }
    let theirs: Vec<Group> = texts.iter().flat_map(groups).collect();
    let is_reversed = |group: &&Group| {
        let stands = |(one, other): (u32, u32)| {
            theirs.iter().any(|found| found.is_date == group.is_date && found.pairs.contains(&(one, other)))
        };
        !group.pairs.iter().any(|pair| stands(*pair))
            && group.pairs.iter().any(|pair| stands((pair.1, pair.0)))
    };
    ours.iter().find(is_reversed).map(|group| group.text.clone())
}

/// Two numbers that belong together: the parts of a score, or month and day.
struct Group {
    text: String,
    is_date: bool,
    /// What it can mean.
    pairs: Vec<(u32, u32)>,
}

fn groups(text: &Numbered<'_>) -> Vec<Group> {
    let Numbered { text, numbers: found } = text;
    if found.len() < 2 {
        return Vec::new();
    }
    let chars: Vec<char> = text.chars().collect();
    let between = |left: &Number, right: &Number| -> Option<&[char]> {
        chars.get(left.span.end..right.span.start).filter(|between| between.len() < 5)
    };
    let sign = |left: &Number, right: &Number| match between(left, right)? {
        [c] if is_dash(*c) => Some('-'),
        [c @ (':' | '/' | '.')] => Some(*c),
        _ => None,
    };
    let written = |first: &Number, last: &Number| -> String {
        crate::text::slice(text, Span { start: first.span.start, end: last.span.end }).to_owned()
    };
    let mut out = Vec::new();
    let mut at = 0;
    while at + 1 < found.len() {
        let (one, two) = (&found[at], &found[at + 1]);
        let third = found.get(at + 2);
        if let Some(three) =
            third.filter(|three| sign(one, two).is_some() && sign(two, three) == sign(one, two))
        {
            let parts = (one.small(), two.small(), three.small());
            let pairs = match (parts, sign(one, two)) {
                ((Some(1000..), Some(month), Some(day)), _) => vec![(month, day)],
                ((Some(day), Some(month), Some(_)), Some('.')) => vec![(month, day)],
                ((Some(one), Some(two), Some(_)), _) => vec![(one, two), (two, one)],
                _ => Vec::new(),
            };
            let pairs: Vec<(u32, u32)> = pairs
                .into_iter()
                .filter(|(month, day)| (1..=12).contains(month) && (1..=31).contains(day))
                .collect();
            if !pairs.is_empty() {
                out.push(Group { text: written(one, three), is_date: true, pairs });
            }
            at += 3;
            continue;
        }
        let is_named = |month: &Number, day: &Number| {
            let (month, day) = (month.month().filter(|_| month.is_word())?, day.small()?);
            (1..=31).contains(&day).then_some((month, day))
        };
        let is_near = between(one, two).is_some();
        if let Some(pair) = is_named(one, two).or_else(|| is_named(two, one)).filter(|_| is_near) {
            out.push(Group { text: written(one, two), is_date: true, pairs: vec![pair] });
        } else if let (Some(':' | '-'), Some(left @ ..100), Some(right @ ..100)) =
            (sign(one, two), one.small(), two.small())
        {
            out.push(Group { text: written(one, two), is_date: false, pairs: vec![(left, right)] });
        }
        at += 1;
    }
    out
}

/// Whether a text says of a number that it is a limit, or within one, or below zero.
pub(super) fn is_limited(text: &str) -> bool {
    let has_sign = text.contains(['<', '>', '≤', '≥', '±', '~', '−', '–', '-']);
    let lower = text.to_lowercase();
    has_sign
        || lower.contains("minus")
        || lower.contains(" to ")
        || LIMITS.iter().any(|(words, _)| words.starts_with(is_letter) && lower.contains(words))
}

/// Whether what stands right before a number that a quote begins with changes it: `<5`, `±5`, `at least 5`, `4–5`.
pub(super) fn is_limit_before(before: &str) -> bool {
    let near = before.trim_end_matches([' ', '\u{a0}', '€', '$', '£']);
    let is_range = || {
        let head = near.trim_end_matches(is_dash);
        head.len() < near.len() && head.ends_with(|c: char| c.is_ascii_digit())
    };
    near.ends_with(['<', '>', '≤', '≥', '±'])
        || ends_with_words(&near.to_lowercase(), "minus")
        || is_range()
        || limit(before).is_some()
}

/// Whether what follows a number that a quote ends with makes it the beginning of a range: `5–6`, `5 to 6`, `5 ± 1`.
pub(super) fn is_limit_after(after: &str) -> bool {
    let rest = after.trim_start_matches(' ');
    let Some(rest) = rest.strip_prefix("to ").or_else(|| rest.strip_prefix(|c: char| is_dash(c) || c == '±'))
    else {
        return false;
    };
    rest.trim_start_matches([' ', '€', '$', '£']).starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_unit_beside_the_same_number_is_noticed() {
        for (claim, quote) in [
            ("Take 5 g daily.", "Take 5 mg daily."),
            ("It costs 5 euro.", "It costs 5 dollars."),
            ("It costs €5.", "It costs $5."),
            ("It lasted 3 weeks.", "It lasted 3 days."),
            ("The share is 5 ‰.", "The share is 5%."),
            ("It began in 44 BC.", "It began in 44 AD."),
            ("It began in the 19th century.", "It began 19 days ago."),
            ("At least 5 people came.", "At most 5 people came."),
            ("It is >5 mm.", "It is <5 mm."),
            ("It was 5 °C.", "It was 5 °F."),
            ("No more than 5 came.", "More than 5 came."),
        ] {
            assert!(differing(&Numbered::of(claim), &[Numbered::of(quote)]).is_some(), "{claim} / {quote}");
        }
    }

    #[test]
    fn the_same_unit_in_another_spelling_or_none_is_not() {
        for (claim, quote) in [
            ("Take 5 mg daily.", "Take 5 milligrams daily."),
            ("It costs 5 euros.", "It costs €5."),
            ("It costs $5.", "It costs 5 USD."),
            ("It lasted 3 weeks.", "Duration: 3"),
            ("It lasted three weeks.", "It took 3 weeks."),
            ("The share is 5 percent.", "The share is 5%."),
            ("It goes 80 kilometres per hour.", "80 km/h"),
            ("It takes 3 Tage.", "It takes 3 days."),
            ("At least 5 people came.", "5 people came."),
            ("More than 5 came.", "At least 5 came."),
            ("Take 5 mg for 5 days.", "5 mg for 5 days"),
            ("It has 5 m of rope.", "5 metres of rope"),
        ] {
            assert_eq!(differing(&Numbered::of(claim), &[Numbered::of(quote)]), None, "{claim} / {quote}");
        }
    }

    #[test]
    fn a_date_or_a_score_in_reverse_is_noticed() {
        for (claim, quote) in [
            ("It began on 2020-03-04.", "It began on 2020-04-03."),
            ("It began on 4 March 2020.", "It began on 2020-04-03."),
            ("The score was 3:2 for Leeds.", "The score was 2:3 for Leeds."),
            ("Leeds won 3-2.", "Leeds lost 2-3."),
            ("It began on 3.4.2020.", "It began on 4 March 2020."),
        ] {
            assert!(reversed(&Numbered::of(claim), &[Numbered::of(quote)]).is_some(), "{claim} / {quote}");
        }
        for (claim, quote) in [
            ("It began on 4 March 2020.", "It began on 2020-03-04."),
            ("It began on March 4, 2020.", "It began on 04/03/2020."),
            ("It began on 3/4/2020.", "It began on 4 March 2020."),
            ("The score was 3:2.", "It ended 3:2, after 2:3 at half time."),
            ("Pages 10-15 say so.", "See pages 10–15."),
            ("It opens at 9:20.", "It opens at 9:20 and closes at 20:09."),
        ] {
            assert_eq!(reversed(&Numbered::of(claim), &[Numbered::of(quote)]), None, "{claim} / {quote}");
        }
    }
}
