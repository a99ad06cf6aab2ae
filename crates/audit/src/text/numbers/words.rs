//! Numbers that are written in letters: words, months, Roman and Han numerals, scale words.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::chars::leading_word;
use crate::text::fixed::Quick;

/// What an English number word does in a spelled number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// `seven`, `seventeen`.
    Unit(u64),
    /// `seventy`.
    Tens(u64),
    /// `hundred`, `thousand`, ...
    Scale(u64),
    /// `seventh`: ends the number.
    Ordinal(u64),
}

const UNITS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
                     sixteen seventeen eighteen nineteen";
const ORDINALS: &str = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth \
                        thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth";
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";

/// What a word can mean as a number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meaning {
    /// Its part in an English number.
    pub english: Option<Word>,
    /// Its value in another language.
    pub other: Option<u64>,
    /// The month that it names, from 1.
    pub month: Option<u32>,
}

static WORDS: LazyLock<HashMap<&str, Meaning, Quick>> = LazyLock::new(|| {
    let mut words: HashMap<&str, Meaning, Quick> = HashMap::default();
    for (word, value) in UNITS.split_whitespace().zip(0..) {
        words.entry(word).or_default().english = Some(Word::Unit(value));
    }
    for (word, value) in ORDINALS.split_whitespace().zip(0..) {
        words.entry(word).or_default().english = Some(Word::Ordinal(value));
    }
    for (word, value) in TENS.split_whitespace().zip(2..) {
        words.entry(word).or_default().english = Some(Word::Tens(value * 10));
    }
    for (word, part) in OTHER_ENGLISH {
        words.entry(word).or_default().english = Some(part);
    }
    for (line, value) in OTHERS {
        line.split_whitespace().for_each(|word| words.entry(word).or_default().other = Some(value));
    }
    for (line, month) in MONTHS.iter().zip(1..) {
        line.split_whitespace().for_each(|word| words.entry(word).or_default().month = Some(month));
    }
    words
});

const OTHER_ENGLISH: [(&str, Word); 11] = [
    ("dozen", Word::Scale(12)),
    ("hundred", Word::Scale(100)),
    ("thousand", Word::Scale(1_000)),
    ("million", Word::Scale(1_000_000)),
    ("billion", Word::Scale(1_000_000_000)),
    ("trillion", Word::Scale(1_000_000_000_000)),
    ("once", Word::Ordinal(1)),
    ("twice", Word::Ordinal(2)),
    ("both", Word::Ordinal(2)),
    ("pair", Word::Ordinal(2)),
    ("twentieth", Word::Ordinal(20)),
];

/// First letters and lengths of the ASCII words that mean something: a cheap look before the dear one.
static SHAPES: LazyLock<[u32; 26]> = LazyLock::new(|| {
    let mut shapes = [0; 26];
    for word in WORDS.keys().filter(|word| word.is_ascii()) {
        shapes[usize::from(word.as_bytes()[0] - b'a') % 26] |= 1 << (word.len() % 32);
    }
    shapes
});

/// Whether a word, in any case, can mean a number at all.
pub fn may_mean(word: &[char]) -> bool {
    let Some(first) = word.first().filter(|first| first.is_ascii_alphabetic()) else { return true };
    let index = first.to_ascii_lowercase() as usize - 'a' as usize;
    SHAPES[index] & (1 << (word.len() % 32)) != 0 || !word.iter().all(char::is_ascii)
}

/// What a lower-case word can mean as a number.
pub fn meaning(word: &str) -> Meaning {
    WORDS.get(word).copied().unwrap_or_default()
}

/// The same for the letters of a short word, in any case.
pub fn meaning_of(letters: &[char]) -> Meaning {
    const SHORT: usize = 16;
    if letters.len() > SHORT || !letters.iter().all(char::is_ascii) {
        return meaning(&leading_word(letters.iter().copied(), letters.len()));
    }
    // Asked of every other word, so without an allocation.
    let mut bytes = [0; SHORT];
    for (byte, letter) in bytes.iter_mut().zip(letters) {
        *byte = u8::try_from(letter.to_ascii_lowercase()).unwrap_or_default();
    }
    std::str::from_utf8(&bytes[..letters.len()]).map_or_else(|_| Meaning::default(), meaning)
}

/// The value of a German number from 13 to 99 in one word: `dreiundzwanzig`.
pub fn german(letters: &[char]) -> Option<u64> {
    const UNITS: [(&str, u64); 9] = [
        ("ein", 1),
        ("zwei", 2),
        ("drei", 3),
        ("vier", 4),
        ("fünf", 5),
        ("sechs", 6),
        ("sieben", 7),
        ("acht", 8),
        ("neun", 9),
    ];
    const TENS: [(&str, u64); 8] = [
        ("zwanzig", 20),
        ("dreißig", 30),
        ("vierzig", 40),
        ("fünfzig", 50),
        ("sechzig", 60),
        ("siebzig", 70),
        ("achtzig", 80),
        ("neunzig", 90),
    ];
    const TEENS: [(&str, u64); 7] = [
        ("dreizehn", 13),
        ("vierzehn", 14),
        ("fünfzehn", 15),
        ("sechzehn", 16),
        ("siebzehn", 17),
        ("achtzehn", 18),
        ("neunzehn", 19),
    ];
    // All of them end in "zehn", "zig" or "ßig".
    let ends_like_one = matches!(letters.last(), Some('g' | 'G' | 'n' | 'N'));
    if !(7..=17).contains(&letters.len()) || !ends_like_one {
        return None;
    }
    let word = leading_word(letters.iter().copied(), letters.len());
    let of = |list: &[(&str, u64)], word: &str| {
        list.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    };
    of(&TEENS, &word).or_else(|| of(&TENS, &word)).or_else(|| {
        let (unit, tens) = word.split_once("und")?;
        Some(of(&UNITS, unit)? + of(&TENS, tens)?)
    })
}

/// The month that a lower-case word names, from 1.
pub fn month(word: &str) -> Option<u32> {
    meaning(word).month
}

/// Adds up the words of a spelled number.
#[derive(Debug, Default)]
pub struct Sum {
    total: u64,
    current: u64,
    last: Option<Word>,
}

impl Sum {
    /// Takes the next word.
    pub fn push(&mut self, word: Word) {
        match word {
            Word::Unit(value) | Word::Tens(value) | Word::Ordinal(value) => {
                self.current = self.current.saturating_add(value)
            }
            Word::Scale(value) if value <= 100 => self.current = self.current.max(1).saturating_mul(value),
            Word::Scale(value) => {
                self.total = self.total.saturating_add(self.current.max(1).saturating_mul(value));
                self.current = 0;
            }
        }
        self.last = Some(word);
    }

    /// Whether the number can go on with this word.
    pub fn takes(&self, word: Word) -> bool {
        match (self.last, word) {
            (Some(Word::Ordinal(_)) | None, _) => false,
            (Some(Word::Tens(_)), Word::Unit(value) | Word::Ordinal(value)) => (1..10).contains(&value),
            (Some(Word::Unit(_)), Word::Unit(_) | Word::Tens(_) | Word::Ordinal(_)) => false,
            (Some(Word::Tens(_)), Word::Tens(_)) => false,
            _ => true,
        }
    }

    /// Whether `and` can stand inside of the number here.
    pub fn takes_and(&self) -> bool {
        matches!(self.last, Some(Word::Scale(_)))
    }

    /// The number.
    pub fn value(&self) -> u64 {
        self.total.saturating_add(self.current)
    }
}

/// Numbers from 0 to 12 and a few more in German, French, Spanish, Italian, Portuguese and Dutch.
const OTHERS: [(&str, u64); 17] = [
    ("null nul", 0),
    ("eins ein eine einen einem einer un une uno una um uma een één", 1),
    ("zwei zwo deux dos due dois duas twee", 2),
    ("drei trois tres tre três drie", 3),
    ("vier quatre cuatro quattro quatro", 4),
    ("fünf cinq cinco cinque vijf", 5),
    ("sechs seis sei zes", 6),
    ("sieben sept siete sette sete zeven", 7),
    ("acht huit ocho otto oito", 8),
    ("neun neuf nueve nove negen", 9),
    ("zehn dix diez dieci dez tien", 10),
    ("elf onze undici", 11),
    ("zwölf douze doce dodici doze twaalf", 12),
    ("zwanzig vingt veinte venti vinte twintig", 20),
    ("premier première primero primera primo prima primeiro primeira erste ersten erster erstes eerste", 1),
    ("deuxième segundo segunda secondo seconda zweite zweiten zweiter zweites tweede", 2),
    ("troisième tercero tercera terzo terza terceiro terceira dritte dritten dritter drittes derde", 3),
];

/// Months by number, in the languages of [`OTHERS`] and in English and Russian.
const MONTHS: [&str; 12] = [
    "january jan januar jänner janvier enero gennaio janeiro januari январь января",
    "february feb februar février febrero febbraio fevereiro februari февраль февраля",
    "march mar märz mars marzo março maart март марта",
    "april apr avril abril aprile апрель апреля",
    "may mai mayo maggio maio mei май мая",
    "june jun juni juin junio giugno junho июнь июня",
    "july jul juli juillet julio luglio julho июль июля",
    "august aug août agosto augustus август августа",
    "september sep sept septembre septiembre settembre setembro сентябрь сентября",
    "october oct oktober octobre octubre ottobre outubro октябрь октября",
    "november nov novembre noviembre novembro ноябрь ноября",
    "december dec dezember décembre diciembre dicembre dezembro декабрь декабря",
];

/// Powers of ten of a scale word that follows a number.
pub fn scale(word: &str) -> Option<usize> {
    Some(match word {
        "hundred" | "hundert" => 2,
        "thousand" | "tausend" | "mil" | "mille" | "mila" | "duizend" | "тысяч" | "тысячи" => 3,
        "हज़ार" | "हजार" => 3,
        "lakh" | "lakhs" | "लाख" => 5,
        "million" | "millions" | "millionen" | "mio" | "mln" | "mn" | "millones" | "millón" | "milioni"
        | "milione" | "milhões" | "milhão" | "miljoen" | "миллион" | "миллиона" | "миллионов" | "млн" => {
            6
        }
        "crore" | "crores" | "करोड़" => 7,
        "billion"
        | "billions"
        | "bn"
        | "milliarde"
        | "milliarden"
        | "mrd"
        | "milliard"
        | "milliards"
        | "miliardi"
        | "miliardo"
        | "miljard"
        | "миллиард"
        | "миллиарда"
        | "миллиардов"
        | "млрд" => 9,
        "trillion" | "trillions" | "tn" | "billionen" | "billones" | "bilhões" => 12,
        _ => return None,
    })
}

/// Letters directly after a number that may be a scale and may be a unit; how many letters they are.
pub fn attached_scale(word: &str) -> Option<(usize, usize)> {
    Some(match word {
        "k" => (3, 1),
        "m" => (6, 1),
        "mm" => (6, 2),
        "b" => (9, 1),
        "t" => (12, 1),
        _ => return None,
    })
}

/// Powers of ten of a Han scale character.
pub fn han_scale(c: char) -> Option<usize> {
    Some(match c {
        '十' => 1,
        '百' => 2,
        '千' | '천' => 3,
        '万' | '萬' | '만' => 4,
        '億' | '亿' | '억' => 8,
        '兆' | '조' => 12,
        _ => return None,
    })
}

/// The value of a Han digit; scale characters that can begin a numeral count as 1.
pub fn han_digit(c: char) -> Option<u64> {
    match c {
        _ if c.is_ascii() => None,
        '十' | '百' | '千' => Some(1),
        '两' | '兩' => Some(2),
        '零' => Some(0),
        _ => "〇一二三四五六七八九".chars().zip(0..).find(|(digit, _)| *digit == c).map(|(_, value)| value),
    }
}

/// Whether a character is part of a Han numeral.
pub fn is_han_numeral(c: char) -> bool {
    han_digit(c).is_some() || matches!(c, '万' | '萬' | '億' | '亿' | '兆')
}

/// The value of a Han numeral: by places (`二〇二四`) or by scales (`三百五十`).
pub fn han_value(run: &[char]) -> Option<u64> {
    if !run.iter().any(|c| han_scale(*c).is_some()) {
        return run.iter().try_fold(0_u64, |value, c| value.checked_mul(10)?.checked_add(han_digit(*c)?));
    }
    let (mut total, mut section, mut digit) = (0_u64, 0_u64, None);
    for c in run {
        match han_scale(*c) {
            None => digit = han_digit(*c),
            Some(places @ 1..=3) => {
                section = section.checked_add(
                    digit.take().unwrap_or(1).checked_mul(10_u64.pow(u32::try_from(places).ok()?))?,
                )?;
            }
            Some(places) => {
                let part = section.checked_add(digit.take().unwrap_or(0))?.max(1);
                total =
                    total.checked_add(part.checked_mul(10_u64.checked_pow(u32::try_from(places).ok()?)?)?)?;
                section = 0;
            }
        }
    }
    total.checked_add(section)?.checked_add(digit.unwrap_or(0))
}

/// The digit that a superscript, subscript or fraction character shows.
pub fn superscript(c: char) -> Option<char> {
    match c {
        '¹' => Some('1'),
        '²' => Some('2'),
        '³' => Some('3'),
        '½' | '¼' | '¾' => Some('0'),
        '⁰' | '⁴'..='⁹' => char::from_digit(u32::from(c) - 0x2070, 10),
        '₀'..='₉' => char::from_digit(u32::from(c) - 0x2080, 10),
        _ => None,
    }
}

/// The decimals of a fraction character.
pub fn fraction(c: char) -> Option<&'static str> {
    match c {
        '½' => Some(".5"),
        '¼' => Some(".25"),
        '¾' => Some(".75"),
        _ => None,
    }
}

/// The value of a Roman numeral of at least two capital letters, or a single `V` or `X`.
pub fn roman(word: &[char]) -> Option<u64> {
    if word.is_empty() || (word.len() == 1 && !matches!(word[0], 'V' | 'X')) || word.len() > 8 {
        return None;
    }
    let values: Option<Vec<i64>> = word
        .iter()
        .map(|c| match c {
            'I' => Some(1),
            'V' => Some(5),
            'X' => Some(10),
            'L' => Some(50),
            'C' => Some(100),
            'D' => Some(500),
            'M' => Some(1000),
            _ => None,
        })
        .collect();
    let values = values?;
    let total = values.iter().enumerate().fold(0_i64, |total, (at, value)| {
        if values.get(at + 1).is_some_and(|next| next > value) { total - value } else { total + value }
    });
    u64::try_from(total).ok().filter(|total| *total > 0)
}
