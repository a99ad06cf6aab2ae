//! Words and content words, and how a text's words are looked up.

use std::collections::{HashMap, HashSet};

use icu_segmenter::WordSegmenter;

use super::chars::{is_unspaced, is_word};
use super::fold::{Case, fold};
use super::stop_words::is_stop_word;

/// The words and numbers of `text`, folded, in reading order.
pub fn words(text: &str) -> Vec<String> {
    let segmenter = WordSegmenter::new_auto(Default::default());
    let mut start = 0;
    let mut out = Vec::new();
    for (end, kind) in segmenter.segment_str(text).iter_with_word_type() {
        let part = &text[start..end];
        start = end;
        if !kind.is_word_like() && !part.chars().any(is_word) {
            continue;
        }
        let word = bare(if part.is_ascii() { part.to_ascii_lowercase() } else { fold(part, Case::Folded) });
        if !word.is_empty() {
            out.push(word);
        }
    }
    out
}

/// The words of `text` that carry content: no numbers, no function words.
pub fn content_words(text: &str) -> Vec<String> {
    words(text).into_iter().filter(|word| is_content(word)).collect()
}

/// A word without what an apostrophe joins to it: `Turner's`, `l'eau`.
fn bare(word: String) -> String {
    let Some((before, after)) = word.split_once('\'') else { return word };
    if before.len() <= 5 && after.chars().count() >= 3 { after.to_owned() } else { before.to_owned() }
}

fn is_content(word: &str) -> bool {
    if !word.chars().any(char::is_alphabetic) || is_stop_word(word) {
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

/// The words of a text, to be looked up in any inflection.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    words: HashSet<String>,
    /// Words by their first letters, for inflections.
    stems: HashMap<[char; 3], Vec<String>>,
    /// The text itself, for scripts in which word borders are a guess.
    unspaced: String,
}

impl Vocabulary {
    /// The words of `text`.
    pub fn of(text: &str) -> Self {
        let mut vocabulary = Self::default();
        vocabulary.add(text, &words(text));
        vocabulary
    }

    /// Adds a text whose words are known already.
    pub fn add(&mut self, text: &str, words: &[String]) {
        for word in words {
            if self.words.insert(word.clone()) {
                if let Some(stem) = stem(word) {
                    self.stems.entry(stem).or_default().push(word.clone());
                }
            }
        }
        if text.chars().any(is_unspaced) {
            self.unspaced.push_str(&fold(text, Case::Folded));
            self.unspaced.push('\n');
        }
    }

    /// Whether the folded word stands in the text, in this or another inflection.
    pub fn holds(&self, word: &str) -> bool {
        if self.words.contains(word) {
            return true;
        }
        if word.chars().any(is_unspaced) {
            return self.unspaced.contains(word);
        }
        let Some(others) = stem(word).and_then(|stem| self.stems.get(&stem)) else { return false };
        others.iter().any(|other| is_inflection(word, other))
    }
}

fn stem(word: &str) -> Option<[char; 3]> {
    let mut chars = word.chars();
    Some([chars.next()?, chars.next()?, chars.next()?])
}

/// Two words of one stem, judged by their common beginning alone.
fn is_inflection(one: &str, other: &str) -> bool {
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
        assert_eq!(content_words("The last tram leaves Harbour Square at 23:40."), ["last", "tram", "leaves", "harbour", "square"]);
        assert_eq!(content_words("L’eau de Turner's maison"), ["eau", "de", "turner", "maison"]);
        assert_eq!(content_words("東京タワーは高い"), ["東京", "タワー", "高い"]);
        assert!(content_words("รถไฟออกจากสถานีทุกวัน").len() >= 3);
        assert_eq!(content_words("الحافلة في المدينة"), ["الحافلة", "المدينة"]);
        assert!(content_words("42, 3.5 — ???").is_empty());
    }

    #[test]
    fn inflections_are_found_and_other_words_are_not() {
        let vocabulary = Vocabulary::of("The studies recommend leaving. 東京タワーは高い");
        for word in ["study", "studied", "recommendation", "leaves", "leave", "タワー", "高い"] {
            assert!(vocabulary.holds(word), "{word}");
        }
        for word in ["student", "record", "tram", "低い"] {
            assert!(!vocabulary.holds(word), "{word}");
        }
    }
}
