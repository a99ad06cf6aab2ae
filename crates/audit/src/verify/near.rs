//! What a quote that stands nowhere nearly says. Never a pass, only a help in the message.

use memchr::memmem::Finder;

/// Texts beyond this many bytes are not searched: the help is not worth more.
const MAX_BYTES: usize = 1 << 20;
const MAX_PLACES: usize = 6;
const MIN_UNITS: usize = 4;

/// In words how the nearest text differs, when it does in one word (or, without spaces, one character).
pub fn describe<'a>(folded: &str, texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let units = units(folded);
    if units.len() < MIN_UNITS || folded.len() > 4096 {
        return None;
    }
    let middle = units.len() / 2;
    let (left, right) = (span(folded, &units[..middle])?, span(folded, &units[middle..])?);
    let (find_left, find_right) = (Finder::new(left), Finder::new(right));
    let reversed: Vec<&str> = units[..middle].iter().rev().copied().collect();
    let mut searched = 0;
    for text in texts {
        searched += text.len();
        if searched > MAX_BYTES {
            break;
        }
        let after = find_left
            .find_iter(text.as_bytes())
            .take(MAX_PLACES)
            .find_map(|at| compare(&units[middle..], Units::forward(&text[at + left.len()..])));
        let before = || {
            let places = find_right.find_iter(text.as_bytes()).take(MAX_PLACES);
            places.map(|at| compare(&reversed, Units::backward(&text[..at]))).find_map(|found| found)
        };
        if let Some(difference) = after.or_else(before) {
            return Some(difference);
        }
    }
    None
}

/// The stretch of text that consecutive units cover.
fn span<'t>(text: &'t str, units: &[&'t str]) -> Option<&'t str> {
    let start = units.first()?.as_ptr() as usize - text.as_ptr() as usize;
    let last = units.last()?;
    let end = last.as_ptr() as usize - text.as_ptr() as usize + last.len();
    text.get(start..end)
}

/// Words, or characters where there are no spaces.
fn units(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    if words.len() >= MIN_UNITS {
        return words;
    }
    text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).filter(|unit| *unit != " ").collect()
}

/// The words and characters of a source, on from a place in one direction.
#[derive(Clone)]
struct Units<'t> {
    rest: &'t str,
    is_backward: bool,
}

impl<'t> Units<'t> {
    fn forward(rest: &'t str) -> Self {
        Self { rest, is_backward: false }
    }

    fn backward(rest: &'t str) -> Self {
        Self { rest, is_backward: true }
    }

    fn next(&mut self, is_word: bool) -> Option<&'t str> {
        if self.is_backward {
            let rest = self.rest.trim_end_matches(' ');
            let last = rest.chars().next_back()?;
            let start = if is_word {
                rest.rfind(' ').map_or(0, |space| space + 1)
            } else {
                rest.len() - last.len_utf8()
            };
            self.rest = &rest[..start];
            return Some(&rest[start..]);
        }
        let rest = self.rest.trim_start_matches(' ');
        let first = rest.chars().next()?;
        let end = if is_word { rest.find(' ').unwrap_or(rest.len()) } else { first.len_utf8() };
        self.rest = &rest[end..];
        Some(&rest[..end])
    }
}

/// The one difference between the units of a quote and those of a source, if it is only one.
fn compare(quote: &[&str], source: Units<'_>) -> Option<String> {
    let is_word = quote.iter().any(|unit| unit.chars().count() > 1);
    let mut source = source;
    for (at, unit) in quote.iter().enumerate() {
        let here = source.clone();
        let found = source.next(is_word)?;
        if is_same(unit, found) {
            continue;
        }
        let rest = &quote[at + 1..];
        if goes_on(rest, source.clone(), is_word) {
            return Some(format!("differs from the source in one place: `{unit}` for `{found}`"));
        }
        if goes_on(&quote[at..], source.clone(), is_word) {
            return Some(format!("leaves out `{found}` of the source"));
        }
        if !rest.is_empty() && goes_on(rest, here, is_word) {
            return Some(format!("adds `{unit}` to the source"));
        }
        return None;
    }
    None
}

fn goes_on(quote: &[&str], mut source: Units<'_>, is_word: bool) -> bool {
    quote.iter().all(|unit| source.next(is_word).is_some_and(|found| is_same(unit, found)))
}

fn is_same(unit: &str, found: &str) -> bool {
    let bare = |text: &'_ str| text.trim_matches(|c: char| c.is_ascii_punctuation()).to_owned();
    unit == found || (!bare(unit).is_empty() && bare(unit) == bare(found))
}

#[cfg(test)]
mod tests {
    use super::describe;

    const SOURCE: &str = "rule 4: the old mill opens its doors from 09:20 to 16:45 every day";

    fn near(quote: &str) -> Option<String> {
        describe(quote, [SOURCE].into_iter())
    }

    #[test]
    fn one_difference_is_named() {
        assert_eq!(
            near("the old mill opens its doors from 09:20 to 17:45").unwrap(),
            "differs from the source in one place: `17:45` for `16:45`"
        );
        assert_eq!(
            near("the new mill opens its doors").unwrap(),
            "differs from the source in one place: `new` for `old`"
        );
        assert_eq!(near("the old mill opens its doors to 16:45"), None);
        assert_eq!(near("the old mill never opens its doors").unwrap(), "adds `never` to the source");
        assert_eq!(near("the old mill opens doors from 09:20").unwrap(), "leaves out `its` of the source");
    }

    #[test]
    fn characters_stand_for_words_without_spaces() {
        let found = describe("高さは334メートルです", ["東京タワーの高さは333メートルです"].into_iter());
        assert_eq!(found.unwrap(), "differs from the source in one place: `4` for `3`");
    }
}
