//! What stands near a place of a text, without a walk over all of it for each place.

use std::borrow::Cow;

use crate::report::Span;

/// A text that is looked at around many places.
pub(crate) struct Windows<'t> {
    text: &'t str,
    /// The byte of each character; empty for ASCII, where a place is also a byte.
    bytes: Cow<'static, [usize]>,
}

impl<'t> Windows<'t> {
    /// How many characters are seen to either side: more than any word, unit or citation has.
    const WIDTH: usize = 80;

    /// Windows on `text`.
    pub(crate) fn of(text: &'t str) -> Self {
        let bytes = if text.is_ascii() {
            Cow::Borrowed(&[][..])
        } else {
            Cow::Owned(text.char_indices().map(|(at, _)| at).collect())
        };
        Self { text, bytes }
    }

    /// What stands before and behind `span`, up to [`Self::WIDTH`] characters each.
    pub(crate) fn around(&self, span: Span) -> (&'t str, &'t str) {
        let part =
            |start: usize, end: usize| self.text.get(self.byte(start)..self.byte(end)).unwrap_or_default();
        (
            part(span.start.saturating_sub(Self::WIDTH), span.start),
            part(span.end, span.end.saturating_add(Self::WIDTH)),
        )
    }

    fn byte(&self, at: usize) -> usize {
        match &self.bytes {
            bytes if bytes.is_empty() => at.min(self.text.len()),
            bytes => bytes.get(at).copied().unwrap_or(self.text.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_near_is_seen_and_what_stands_far_is_not() {
        for text in ["costs 5 euro", "kostet 5 €"] {
            let at = text.chars().position(|c| c == '5').unwrap();
            let (before, after) = Windows::of(text).around(Span { start: at, end: at + 1 });
            assert_eq!(format!("{before}5{after}"), text);
        }
        let long = "ä".repeat(500);
        let (before, after) = Windows::of(&long).around(Span { start: 200, end: 201 });
        assert_eq!((before.chars().count(), after.chars().count()), (80, 80));
        assert_eq!(Windows::of("ab").around(Span { start: 7, end: 9 }).1, "");
    }
}
