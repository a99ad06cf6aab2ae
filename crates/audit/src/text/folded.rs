//! A folded text with the way back to the original.

use std::ops::Range;

/// A folded text. Each of its characters knows the bytes of the original that it stands for.
#[derive(Debug, Clone, Default)]
pub struct Folded {
    /// The folded spelling.
    pub text: String,
    places: Vec<Place>,
}

/// Where a stretch of a folded text comes from; it ends where the next one begins.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Its first byte in the folded text.
    at: u32,
    /// Its first byte in the original.
    start: u32,
    /// How many bytes of the original all of it stands for; 0 when it goes byte by byte.
    width: u32,
}

impl Folded {
    /// The bytes of the original that a range of whole folded characters stands for.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        let start = self.of_byte(range.start).start;
        start..range.end.checked_sub(1).map_or(start, |last| self.of_byte(last).end).max(start)
    }

    /// What of the original is cut in two where the folded text is cut at `at`, if anything is: a
    /// character that became several, or one and its mark.
    pub fn cut_at(&self, at: usize) -> Option<Range<usize>> {
        let before = at.checked_sub(1).filter(|_| at < self.text.len())?;
        let place = self.of_byte(at);
        (self.of_byte(before).start == place.start).then_some(place)
    }

    /// `text` without these ranges, given in order; none when there are none.
    pub fn without(text: &str, cuts: impl IntoIterator<Item = Range<usize>>) -> Option<Self> {
        let mut out = Self::default();
        let mut kept_from = 0;
        for cut in cuts {
            out.keep(text, kept_from..cut.start);
            kept_from = cut.end;
        }
        if kept_from == 0 {
            return None;
        }
        out.keep(text, kept_from..text.len());
        Some(out)
    }

    fn keep(&mut self, text: &str, kept: Range<usize>) {
        if !kept.is_empty() {
            self.note(self.text.len(), kept.start, kept.end, true);
            self.text.push_str(&text[kept]);
        }
    }

    fn of_byte(&self, byte: usize) -> Range<usize> {
        let following = self.places.partition_point(|place| place.at as usize <= byte);
        let Some(place) = following.checked_sub(1).and_then(|index| self.places.get(index)) else {
            return 0..0;
        };
        let start = place.start as usize;
        match place.width as usize {
            0 => start + byte - place.at as usize..start + byte - place.at as usize + 1,
            width => start..start + width,
        }
    }

    /// Notes that what is written from the byte `at` on comes from `start..end`.
    pub fn note(&mut self, at: usize, start: usize, end: usize, is_bytewise: bool) {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let goes_on = |last: &Place| {
            last.width == 0 && is_bytewise && last.start as usize + at - last.at as usize == start
        };
        if !self.places.last().is_some_and(goes_on) {
            let width = if is_bytewise { 0 } else { offset(end - start) };
            self.places.push(Place { at: offset(at), start: offset(start), width });
        }
    }
}
