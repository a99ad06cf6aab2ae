//! Commas and the like between words, which a judge may leave out or add when it copies a passage.

use super::chars::is_letter;
use super::folded::Folded;
use super::negation::denies;
use super::words::words;

/// `text` without commas, semicolons and colons between words; none when it has none.
///
/// One beside a number stays, since it may be part of it, and one after a denial stays, since it decides what is
/// denied: "No, parking is allowed".
pub(crate) fn without(text: &str) -> Option<Folded> {
    let marks = text.char_indices().filter(|(_, c)| is_mark(*c)).map(|(at, c)| at..at + c.len_utf8());
    Folded::without(text, marks.filter(|mark| parts_words(&text[..mark.start], &text[mark.end..])))
}

fn is_mark(c: char) -> bool {
    matches!(c, ',' | ';' | ':' | '،' | '؛')
}

/// Characters before a mark in which a denial is looked for.
const LONGEST_DENIAL: usize = 40;

fn parts_words(before: &str, after: &str) -> bool {
    let before = before.trim_end();
    if !before.chars().next_back().is_some_and(|c| is_letter(c) || matches!(c, '"' | '”' | '’' | ')')) {
        return false;
    }
    let next = after.trim_start();
    let stands_apart = next.len() < after.len() || next.is_empty();
    if !stands_apart || !next.chars().next().is_none_or(is_letter) {
        return false;
    }
    let last = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    // A word that denies is short; a stretch without spaces may be a whole file.
    let start = last.char_indices().rev().take(LONGEST_DENIAL).last().map_or(0, |(at, _)| at);
    !words(&last[start..]).iter().any(|word| denies(word))
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn marks_between_words_go_and_the_way_back_stays() {
        let text = "Green, he said; a colour.";
        let bare = without(text).unwrap();
        assert_eq!(bare.text, "Green he said a colour.");
        assert_eq!(&text[bare.original(0..bare.text.len())], text);
        let he = bare.text.find("he").unwrap();
        assert_eq!(&text[bare.original(he..he + 7)], "he said");
    }

    #[test]
    fn a_wide_space_before_the_word_is_no_place_to_cut() {
        assert_eq!(without("a\u{a0}word, b").unwrap().text, "a\u{a0}word b");
        assert!(without("a\u{3000}nein, b").is_none());
    }

    #[test]
    fn marks_in_numbers_and_after_denials_stay() {
        for text in
            ["1,500 euro", "in 2019, 40 people", "No, parking is allowed", "Nein, das gilt", "12:30", "a,b"]
        {
            assert!(without(text).is_none(), "{text}");
        }
    }
}
