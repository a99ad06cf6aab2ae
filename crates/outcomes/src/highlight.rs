//! Texts cut where something in them is to be marked. Places are Unicode scalar values.

use audit::Span;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<M> {
    /// The piece.
    pub text: String,
    /// How it is marked; none where it is not.
    pub mark: Option<M>,
}

/// Cuts `text` at the borders of `marks`. Where marks overlap, the one that is greatest counts; what lies outside
/// the text is left out. The pieces put together are the text.
pub fn cut<M: Copy + Ord>(text: &str, marks: &[(Span, M)]) -> Vec<Piece<M>> {
    let mut pieces: Vec<Piece<M>> = Vec::new();
    // Only at a border can the mark change.
    let mut borders: Vec<usize> = marks.iter().flat_map(|(span, _)| [span.start, span.end]).collect();
    borders.sort_unstable();
    borders.dedup();
    let mut borders = borders.into_iter().peekable();
    let mut mark = None;
    for (at, c) in text.chars().enumerate() {
        let is_border = borders.next_if(|border| *border <= at).is_some();
        if is_border || at == 0 {
            while borders.next_if(|border| *border <= at).is_some() {}
            mark = marks
                .iter()
                .filter(|(span, _)| (span.start..span.end).contains(&at))
                .map(|(_, mark)| *mark)
                .max();
        }
        match pieces.last_mut().filter(|piece| piece.mark == mark) {
            Some(piece) => piece.text.push(c),
            None => pieces.push(Piece { text: c.to_string(), mark }),
        }
    }
    pieces
}

/// Shortens what lies far from every mark: at most `around` scalar values beside a mark stay, with an ellipsis where
/// something is left out. A text without marks keeps its beginning.
pub fn shorten<M: Copy + PartialEq>(pieces: Vec<Piece<M>>, around: usize) -> Vec<Piece<M>> {
    let last = pieces.len().saturating_sub(1);
    let has_mark = pieces.iter().any(|piece| piece.mark.is_some());
    let keep = |at: usize, piece: Piece<M>| {
        if piece.mark.is_some() {
            return piece;
        }
        let (before, after) = match (has_mark, at == 0, at == last) {
            (false, ..) | (true, false, true) => (around, 0),
            (true, true, _) => (0, around),
            (true, false, false) => (around, around),
        };
        Piece { text: shortened(&piece.text, before, after), mark: None }
    };
    pieces.into_iter().enumerate().map(|(at, piece)| keep(at, piece)).collect()
}

/// The first `before` and the last `after` scalar values.
fn shortened(text: &str, before: usize, after: usize) -> String {
    let length = text.chars().count();
    if length <= before + after + 1 {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(before).collect();
    short.push('…');
    short.extend(text.chars().skip(length - after));
    short
}

/// A text whose every character is seen as what it is: control characters, and those that reorder or hide text, are
/// written as their code point.
pub fn visible(text: &str) -> String {
    let is_hidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\r' {
            continue;
        }
        if is_hidden(c) { shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    fn shown(pieces: &[Piece<u8>]) -> String {
        let show = |piece: &Piece<u8>| match piece.mark {
            Some(mark) => format!("[{mark}:{}]", piece.text),
            None => piece.text.clone(),
        };
        pieces.iter().map(show).collect()
    }

    #[test]
    fn places_are_scalar_values_and_not_bytes() {
        assert_eq!(shown(&cut("横浜の家 é x", &[(span(1, 3), 1)])), "横[1:浜の]家 é x");
    }

    #[test]
    fn of_marks_that_overlap_the_greatest_counts() {
        assert_eq!(shown(&cut("abcdef", &[(span(0, 4), 1), (span(2, 6), 2)])), "[1:ab][2:cdef]");
        assert_eq!(shown(&cut("abc", &[(span(2, 9), 1), (span(7, 8), 2)])), "ab[1:c]");
        assert_eq!(shown(&cut("", &[(span(0, 3), 1)])), "");
    }

    #[test]
    fn what_is_far_from_a_mark_is_left_out() {
        let text = "0123456789 quote 0123456789";
        let pieces = shorten(cut(text, &[(span(11, 16), 1)]), 4);
        assert_eq!(shown(&pieces), "…789 [1:quote] 012…");
        assert_eq!(shown(&shorten(cut::<u8>(text, &[]), 4)), "0123…");
    }

    proptest! {
        #[test]
        fn pieces_are_the_text_and_marked_where_a_mark_is(
            text in "\\PC{0,40}",
            marks in proptest::collection::vec((0..50_usize, 0..50_usize, 0..3_u8), 0..6),
        ) {
            let marks: Vec<(Span, u8)> =
                marks.into_iter().map(|(start, length, mark)| (span(start, start + length), mark)).collect();
            let pieces = cut(&text, &marks);
            prop_assert_eq!(pieces.iter().map(|piece| piece.text.as_str()).collect::<String>(), text.clone());
            let marked: Vec<Option<u8>> =
                pieces.iter().flat_map(|piece| piece.text.chars().map(|_| piece.mark)).collect();
            for (at, found) in marked.into_iter().enumerate() {
                let wanted =
                    marks.iter().filter(|(span, _)| span.start <= at && at < span.end).map(|(_, mark)| *mark).max();
                prop_assert_eq!(found, wanted);
            }
        }
    }
}
