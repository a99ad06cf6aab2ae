//! What of a text is compared: content words, numbers, names, and whether it says no.

use std::{
    collections::{BTreeSet, HashSet},
    sync::LazyLock,
};

type WordList = LazyLock<HashSet<&'static str>>;

/// Words that say nothing about the matter: English, German, French and Spanish.
static STOP_WORDS: WordList = LazyLock::new(|| {
    list(
        "a an the and or but of in on at to for from by with as is are was were be been being it \
    its this that these those there which who whom whose what when where how will would can could may might \
    shall should do does did has have had he she they we you i his her their our your my also than then so such \
    into over under about per each any some all more most other if \
    der die das den dem des ein eine einen einem einer eines und oder aber von im am zu zum zur für mit auf aus \
    bei nach an als ist sind war waren wird werden wurde wurden sein hat haben hatte es er sie wir ihr ich sich \
    auch dass daß so wie was wer welche welcher dieser diese dieses durch über unter um bis \
    le la les un une des du de et ou à au aux en dans par pour sur est sont était il elle ils elles ce cette \
    el los las una unos y o del al por para con es son era se que su sus",
    )
});

/// Words of these two tell which language a text is in, as far as it matters for capital letters.
static GERMAN_WORDS: WordList = LazyLock::new(|| {
    list("der die das den dem des ein eine und ist sind nicht von mit für auf wird werden wurde")
});
static ENGLISH_WORDS: WordList =
    LazyLock::new(|| list("the and is are was of to in that with for on not by an has have"));

static NEGATIONS: WordList = LazyLock::new(|| {
    list(
        "no not never none neither nor without cannot nothing nobody nowhere \
    nicht nie niemals ohne weder kein keine keinen keinem keiner keines nichts niemand \
    pas jamais sans aucun aucune ningún ninguna nunca sin tampoco \
    لا ليس ليست لم لن غير بدون",
    )
});

/// Negations of languages without spaces are endings and particles, not words.
const UNSPACED_NEGATIONS: [&str; 10] =
    ["ません", "ない", "なかった", "なく", "ずに", "不", "没", "無い", "未だ", "ไม่"];

/// Where the decimal digits of the scripts that are read begin: Arabic, Persian, Devanagari, Thai, full width.
const ZEROS: [char; 5] = ['٠', '۰', '०', '๐', '０'];

/// A "not" in the evidence counts against a claim only where the claim tells this share of the sentence: in a
/// long sentence it most likely belongs to something else.
const SAME_STATEMENT_SHARE: f64 = 0.4;

/// What is compared of one text.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    /// Content words in lower case and without endings; pairs of characters where no spaces stand.
    pub(super) content: BTreeSet<String>,
    /// Numbers, written in one way.
    pub(super) numbers: BTreeSet<String>,
    /// Words with a capital letter that is not due to the sentence's beginning, as in `content`.
    pub(super) names: BTreeSet<String>,
    /// Whether the text says no.
    pub(super) negated: bool,
}

impl Words {
    pub(super) fn of(text: &str) -> Words {
        let mut words =
            Words { negated: UNSPACED_NEGATIONS.iter().any(|word| text.contains(word)), ..Words::default() };
        let capitals_mean_names = !has_german_capitals(text);
        for (index, token) in tokens(text).into_iter().enumerate() {
            if token.starts_with(is_numeral) {
                words.numbers.insert(number(token));
                words.content.insert(number(token));
            } else if token.starts_with(is_unspaced) {
                words.content.extend(pairs(token));
            } else {
                let lower = token.to_lowercase();
                words.negated |=
                    NEGATIONS.contains(lower.as_str()) || lower.ends_with("n't") || lower.ends_with("n’t");
                if STOP_WORDS.contains(lower.as_str()) || NEGATIONS.contains(lower.as_str()) {
                    continue;
                }
                let stem = stem(&lower);
                if 0 < index && capitals_mean_names && token.starts_with(char::is_uppercase) {
                    words.names.insert(stem.clone());
                }
                words.content.insert(stem);
            }
        }
        words
    }

    /// Whether this text of the evidence says no where the claim does not, or the other way round.
    pub(super) fn denies(&self, claim: &Words) -> bool {
        match (self.negated, claim.negated) {
            (true, true) | (false, false) => false,
            (false, true) => true,
            (true, false) => SAME_STATEMENT_SHARE <= self.found_in(claim),
        }
    }

    /// Which share of these content words is also in `other`, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "texts are shorter than 2^53 words")]
    pub(super) fn found_in(&self, other: &Words) -> f64 {
        let found = self.content.iter().filter(|word| other.content.contains(*word)).count();
        found as f64 / self.content.len().max(1) as f64
    }
}

/// Runs of letters or digits. A number keeps the points and commas inside it, a word its apostrophes.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = &rest[start..];
        let first = rest.chars().next().unwrap_or_default();
        let (belongs, joins): (fn(char) -> bool, &str) = if is_numeral(first) {
            (is_numeral, ".,:٫٬")
        } else if is_unspaced(first) {
            (is_unspaced, "")
        } else {
            (|c| c.is_alphanumeric() && !is_unspaced(c), "'’")
        };
        let end = token_end(rest, belongs, joins);
        tokens.push(&rest[..end]);
        rest = &rest[end..];
    }
    tokens
}

fn token_end(text: &str, belongs: fn(char) -> bool, joins: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next_belongs = chars.peek().is_some_and(|(_, next)| belongs(*next));
        if !(belongs(c) || joins.contains(c) && next_belongs) {
            return at;
        }
    }
    text.len()
}

/// A number in one spelling: ASCII digits, no thousands separators, a point before decimals.
fn number(token: &str) -> String {
    let plain: String = token.chars().map(ascii_digit).collect();
    let groups: Vec<&str> = plain.split([',', '.']).collect();
    let grouped = 1 < groups.len()
        && (1..=3).contains(&groups[0].len())
        && groups[0] != "0"
        && groups[1..].iter().all(|group| group.len() == 3);
    if grouped {
        return groups.concat();
    }
    // With both separators the last one is the decimal one: 1.250,50 and 1,250.50.
    match plain.rfind([',', '.']) {
        Some(last) => {
            let whole: String = plain[..last].chars().filter(|c| !",.".contains(*c)).collect();
            format!("{whole}.{}", &plain[last + 1..])
        }
        None => plain,
    }
}

/// A digit or separator as it is written in ASCII; any other character as it is.
fn ascii_digit(c: char) -> char {
    match c {
        '٫' => '.',
        '٬' => ',',
        _ => digit(c).and_then(|value| char::from_digit(value, 10)).unwrap_or(c),
    }
}

fn digit(c: char) -> Option<u32> {
    c.to_digit(10).or_else(|| {
        ZEROS.iter().find_map(|zero| u32::from(c).checked_sub(u32::from(*zero)).filter(|value| *value < 10))
    })
}

/// Cuts what inflection adds, roughly: the same word in two forms should compare equal.
fn stem(word: &str) -> String {
    let word = word.trim_end_matches("'s").trim_end_matches("’s");
    let length = word.chars().count();
    for ending in ["ingen", "ungen", "ing", "est", "ern", "ed", "en", "er", "em", "es", "s", "e", "n"] {
        if ending.chars().count() + 4 <= length
            && let Some(stem) = word.strip_suffix(ending)
        {
            return stem.to_owned();
        }
    }
    word.to_owned()
}

/// Pairs of neighbouring characters, or the one character there is.
fn pairs(run: &str) -> Vec<String> {
    let chars: Vec<char> = run.chars().collect();
    if chars.len() < 2 {
        return vec![run.to_owned()];
    }
    chars.windows(2).map(|pair| pair.iter().collect()).collect()
}

/// German writes every noun with a capital letter, so capitals say nothing about names there.
fn has_german_capitals(text: &str) -> bool {
    let lower: Vec<String> = tokens(text).into_iter().map(str::to_lowercase).collect();
    let count = |list: &WordList| lower.iter().filter(|word| list.contains(word.as_str())).count();
    count(&ENGLISH_WORDS) < count(&GERMAN_WORDS)
}

fn list(words: &'static str) -> HashSet<&'static str> {
    words.split_ascii_whitespace().collect()
}

fn is_numeral(c: char) -> bool {
    digit(c).is_some()
}

/// Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han. Hangul has spaces, but
/// its particles stick to the words, so pairs compare better there too.
fn is_unspaced(c: char) -> bool {
    !is_numeral(c)
        && matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3005..=0x3007 | 0x3040..=0x30FF
        | 0x3400..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x20000..=0x3FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_in_one_spelling() {
        for (token, expected) in [
            ("1,250", "1250"),
            ("1.250.000", "1250000"),
            ("3,5", "3.5"),
            ("3.50", "3.50"),
            ("1.250,50", "1250.50"),
            ("1,250.50", "1250.50"),
            ("0.125", "0.125"),
            ("10:00", "10:00"),
            ("１４００", "1400"),
            ("١٬٢٥٠٫٥", "1250.5"),
            ("๒๕๖๗", "2567"),
            ("007", "007"),
        ] {
            assert_eq!(number(token), expected);
        }
        let words = Words::of("In 2019, 3 of 1,000 (0.3 %) failed at 10:00.");
        assert_eq!(Vec::from_iter(words.numbers), ["0.3", "1000", "10:00", "2019", "3"]);
    }

    #[test]
    fn words_lose_their_endings_and_names_are_seen() {
        let words = Words::of("The museum's gates opened for Lisbon visitors.");
        assert_eq!(Vec::from_iter(&words.content), ["gate", "lisbo", "museum", "open", "visitor"]);
        assert_eq!(Vec::from_iter(&words.names), ["lisbo"]);
        assert!(Words::of("Der Eintritt ist für Kinder nicht frei.").names.is_empty());
        assert_eq!(Vec::from_iter(Words::of("東京都の").content), ["京都", "東京", "都の"]);
    }

    #[test]
    fn negation_is_seen_in_several_languages() {
        for text in [
            "It is not open.",
            "It isn't open.",
            "It isn’t open.",
            "Er ist nicht offen.",
            "Keine Hunde.",
            "Ce n'est pas ouvert.",
            "開いていません。",
            "不开门。",
            "المتحف غير مجاني.",
            "ไม่เปิดให้บริการ",
        ] {
            assert!(Words::of(text).negated, "{text}");
        }
        for text in
            ["It is open.", "A notable northern knot.", "Er ist offen.", "開いています。", "เปิดให้บริการ"]
        {
            assert!(!Words::of(text).negated, "{text}");
        }
    }
}
