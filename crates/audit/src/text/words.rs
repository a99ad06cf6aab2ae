//! Words and content words, and how a text's words are looked up.

use std::collections::HashMap;
use std::sync::LazyLock;

use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

use super::chars::{is_alphabetic, is_unspaced, is_word};
use super::fold::{Case, fold};
use super::stop_words::is_stop_word;

/// The words and numbers of `text`, folded, in reading order.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    // White space always parts words, so each stretch can be read by itself.
    for stretch in text.split_whitespace() {
        if stretch.is_ascii() { ascii_words(stretch, &mut out) } else { segmented_words(stretch, &mut out) }
    }
    out
}

/// The rules of Unicode's word borders, as far as they matter in ASCII.
fn ascii_words(stretch: &str, out: &mut Vec<String>) {
    let bytes = stretch.as_bytes();
    let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(at) {
            at += 1;
            continue;
        }
        let start = at;
        loop {
            at += 1;
            if is_word(at) || (bytes.get(at) == Some(&b'_') && is_word(at + 1)) {
                continue;
            }
            let (before, after) = (bytes[at - 1], bytes.get(at + 1).copied().unwrap_or(b' '));
            let joins = match bytes.get(at) {
                Some(b'.' | b'\'') => {
                    both(before, after, u8::is_ascii_alphabetic) || both(before, after, u8::is_ascii_digit)
                }
                Some(b':') => both(before, after, u8::is_ascii_alphabetic),
                Some(b',' | b';') => both(before, after, u8::is_ascii_digit),
                _ => false,
            };
            if !joins {
                break;
            }
        }
        push_word(stretch[start..at].to_ascii_lowercase(), out);
    }
}

fn both(one: u8, other: u8, is: impl Fn(&u8) -> bool) -> bool {
    is(&one) && is(&other)
}

fn segmented_words(stretch: &str, out: &mut Vec<String>) {
    /// Dictionaries, since the neural models take a hundred times as long for Thai and find no more.
    static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
        LazyLock::new(|| WordSegmenter::new_dictionary(Default::default()));
    let mut start = 0;
    for (end, kind) in SEGMENTER.segment_str(stretch).iter_with_word_type() {
        let part = &stretch[start..end];
        start = end;
        if kind.is_word_like() || part.chars().any(is_word) {
            push_word(fold(part, Case::Folded), out);
        }
    }
}

fn push_word(word: String, out: &mut Vec<String>) {
    if let Some(verb) = word.strip_suffix("n't") {
        // `isn't` is `is not`, so that a denial is seen however it is written.
        let whole = match verb {
            "ca" => "can",
            "wo" => "will",
            "sha" => "shall",
            verb => verb,
        };
        out.extend([whole, "not"].into_iter().filter(|word| !word.is_empty()).map(str::to_owned));
        return;
    }
    let word = bare(word);
    if !word.is_empty() {
        out.push(word);
    }
}

/// The words of `text` that carry content: no numbers, no function words.
pub fn content_words(text: &str) -> Vec<String> {
    words(text).into_iter().filter(|word| is_content(word)).collect()
}

/// Words of `text`, folded, that are written in capitals and would else pass for words without content: `WHO`, `IT`,
/// `US`. None where capitals are the rule.
pub(crate) fn acronyms(text: &str) -> Vec<String> {
    let has_pair = text.as_bytes().windows(2).any(|pair| both(pair[0], pair[1], u8::is_ascii_uppercase));
    if !has_pair {
        return Vec::new();
    }
    let is_capital =
        |word: &&str| (2..=5).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let capitals = words.iter().filter(|word| word.len() > 1 && !word.contains(char::is_lowercase)).count();
    if capitals * 2 > words.len() {
        return Vec::new();
    }
    let folded = words.into_iter().filter(is_capital).map(str::to_ascii_lowercase);
    folded.filter(|word| is_stop_word(word)).collect()
}

/// A word without what an apostrophe joins to it: `Turner's`, `l'eau`.
fn bare(word: String) -> String {
    let Some(mark) = word.bytes().position(|byte| byte == b'\'') else { return word };
    let (before, after) = (&word[..mark], &word[mark + 1..]);
    if before.len() <= 5 && after.chars().count() >= 3 { after.to_owned() } else { before.to_owned() }
}

/// Whether a folded word carries content.
pub fn is_content(word: &str) -> bool {
    if !word.chars().any(is_alphabetic) || is_stop_word(word) {
        return false;
    }
    let is_kana = |c: char| ('\u{3041}'..='\u{309f}').contains(&c);
    let mut chars = word.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some(one), None, None) => is_unspaced(one) && !is_kana(one),
        (Some(one), Some(two), None) => !(is_kana(one) && is_kana(two)),
        _ => true,
    }
}

/// The words of one or several texts, to be looked up in any inflection.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    /// The texts in which a word stands, by the number that they were added with.
    words: HashMap<String, Vec<usize>>,
    /// Words by their first letters, for inflections.
    stems: HashMap<u64, Vec<String>>,
    /// Texts of scripts in which word borders are a guess.
    unspaced: Vec<(usize, String)>,
}

impl Vocabulary {
    /// The words of `text`.
    pub fn of(text: &str) -> Self {
        let mut vocabulary = Self::default();
        vocabulary.add(0, text, &words(text));
        vocabulary
    }

    /// Adds the text with this number, whose words are known already.
    pub fn add(&mut self, number: usize, text: &str, words: &[String]) {
        for word in
            words.iter().flat_map(|word| [Some(word.as_str()), without_clitics(word)].into_iter().flatten())
        {
            match self.words.get_mut(word) {
                Some(places) if places.last() == Some(&number) => {}
                Some(places) => places.push(number),
                None => {
                    if let Some(stem) = stem(word) {
                        self.stems.entry(stem).or_default().push(word.to_owned());
                    }
                    self.words.insert(word.to_owned(), vec![number]);
                }
            }
        }
        if text.chars().any(is_unspaced) {
            self.unspaced.push((number, fold(text, Case::Folded)));
        }
    }

    /// Whether the folded word stands in a text, in this or another inflection.
    pub fn holds(&self, word: &str) -> bool {
        if self.words.contains_key(word)
            || without_clitics(word).is_some_and(|bare| self.words.contains_key(bare))
        {
            return true;
        }
        if word.chars().any(is_unspaced) {
            return self.unspaced.iter().any(|(_, text)| text.contains(word));
        }
        self.inflections(word).next().is_some()
    }

    /// The numbers of the texts in which the folded word stands, in this or another inflection.
    pub fn places(&self, word: &str) -> Vec<usize> {
        let mut places = self.words.get(word).cloned().unwrap_or_default();
        places.extend(without_clitics(word).and_then(|bare| self.words.get(bare)).into_iter().flatten());
        if word.chars().any(is_unspaced) {
            places.extend(
                self.unspaced.iter().filter(|(_, text)| text.contains(word)).map(|(number, _)| *number),
            );
        } else {
            for other in self.inflections(word) {
                places.extend(self.words.get(other).into_iter().flatten());
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    fn inflections<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        let others = stem(word).and_then(|stem| self.stems.get(&stem)).into_iter().flatten();
        others.map(String::as_str).filter(move |other| is_inflection(word, other))
    }
}

/// A word without the endings that English puts on a word for number alone: enough to see that a claim came twice.
pub(crate) fn rough_stem(word: &str) -> String {
    let stem = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
    let stem = stem.or_else(|| {
        word.strip_suffix('s').filter(|stem| stem.len() >= 3 && !stem.ends_with('s')).map(str::to_owned)
    });
    stem.unwrap_or_else(|| word.to_owned())
}

/// An Arabic word without the article and the words of one letter that are written together with it.
fn without_clitics(word: &str) -> Option<&str> {
    const CLITICS: [&str; 11] = ["وال", "بال", "كال", "فال", "لل", "ال", "و", "ب", "ل", "ف", "ك"];
    const SHORTEST: usize = 3;
    // In two bytes each, so that most words are told by their first.
    if !matches!(word.as_bytes().first(), Some(0xd8..=0xdb)) {
        return None;
    }
    CLITICS
        .iter()
        .filter_map(|clitic| word.strip_prefix(clitic))
        .find(|rest| rest.chars().count() >= SHORTEST)
}

/// What Korean puts behind a noun.
const PARTICLES: &str = " 은 는 이 가 을 를 의 에 에서 에게 로 으로 와 과 도 만 부터 까지 이다 입니다 이며 ";

fn is_hangul(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// Two forms of one Korean noun.
fn is_same_noun(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 2;
    let length: usize =
        one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    let is_particle = |rest: &str| rest.is_empty() || PARTICLES.contains(&format!(" {rest} "));
    one[..length].chars().count() >= SHORTEST && is_particle(&one[length..]) && is_particle(&other[length..])
}

/// The first three letters in one number, which is quicker to look up; of a Korean word two, since most nouns have two.
fn stem(word: &str) -> Option<u64> {
    if word.starts_with(is_hangul) {
        let mut chars = word.chars().map(|c| u64::from(u32::from(c)));
        return Some(chars.next()? << 42 | chars.next()? << 21);
    }
    let mut chars = word.chars().map(|c| u64::from(u32::from(c)));
    Some(chars.next()? << 42 | chars.next()? << 21 | chars.next()?)
}

/// Two words of one stem, judged by their common beginning alone.
fn is_inflection(one: &str, other: &str) -> bool {
    if one.starts_with(is_hangul) && is_same_noun(one, other) {
        return true;
    }
    let (one_length, other_length) = (one.chars().count(), other.chars().count());
    let (short, long) = (one_length.min(other_length), one_length.max(other_length));
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    if common == short {
        return long - short <= if short < 4 { 4 } else { 7 };
    }
    common >= 4 && common + 2 >= short && common * 2 > long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_words_of_several_scripts() {
        assert_eq!(content_words("The old mill opens its doors at 9:20."), ["old", "mill", "opens", "doors"]);
        assert_eq!(content_words("L’eau de Turner's maison"), ["eau", "de", "turner", "maison"]);
        assert_eq!(content_words("東京タワーは高い"), ["東京", "タワー", "高い"]);
        assert!(content_words("รถไฟออกจากสถานีทุกวัน").len() >= 3);
        assert_eq!(content_words("الحافلة في المدينة"), ["الحافلة", "المدينة"]);
        assert!(content_words("42, 3.5 — ???").is_empty());
    }

    #[test]
    fn particles_and_clitics_are_looked_past() {
        let vocabulary = Vocabulary::of("박물관은 서울에 있다. السعر بخصم والمدينة");
        for word in ["박물관이", "박물관", "서울은", "الخصم", "خصم", "المدينة", "مدينة"]
        {
            assert!(vocabulary.holds(word), "{word}");
        }
        for word in ["박사", "서점은", "الخبز"] {
            assert!(!vocabulary.holds(word), "{word}");
        }
    }

    #[test]
    fn acronyms_are_told_from_small_words() {
        assert_eq!(acronyms("The WHO and IT of the US, who am I"), ["who", "it", "us"]);
        assert!(acronyms("WHO IS IT").is_empty());
        assert!(acronyms("It is open; NATO said so").is_empty());
    }

    #[test]
    fn inflections_are_found_and_other_words_are_not() {
        let vocabulary = Vocabulary::of("The studies recommend leaving. 東京タワーは高い");
        for word in ["study", "studied", "recommendation", "leaves", "leave", "タワー", "高い"] {
            assert!(vocabulary.holds(word), "{word}");
        }
        for word in ["student", "record", "mill", "低い"] {
            assert!(!vocabulary.holds(word), "{word}");
        }
    }
}
