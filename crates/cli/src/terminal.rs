//! Text from outside on a terminal: made harmless, measured and wrapped.

use std::fmt::Write;

/// Text on one line, with everything that could move the cursor, change colours or reorder text made visible.
pub(crate) fn line(text: &str) -> String {
    escape(text, false)
}

/// Text with its line breaks and tabs kept and everything else of that kind made visible.
pub(crate) fn block(text: &str) -> String {
    escape(text, true)
}

/// Bytes as text, with what is no UTF-8 made visible.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&block(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// JSON that means the same and is as harmless on a terminal as [`block`]: what the writer of JSON left as it
/// is and a terminal acts upon can only stand in strings, where it may be escaped.
pub(crate) fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !is_hostile(c) {
            shown.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    }
    shown
}

fn escape(text: &str, keep_lines: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' if keep_lines => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            c if is_hostile(c) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Control characters, and format characters that reorder or hide text. The joiners that Persian,
/// Indic scripts and emoji need are left alone.
pub(crate) fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// How many columns a text takes: wide characters take two, combining marks none.
pub(crate) fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// A text filled up with spaces to this many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The beginning of a text that fits into this many columns, with an ellipsis where something was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        shown.push(c);
    }
    shown.push('…');
    shown
}

/// Breaks a text into lines of at most this many columns, at spaces where there are any.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    // A tab's width depends on where it stands, which is not known here.
    let text = text.replace('\t', "    ");
    text.split('\n').flat_map(|paragraph| wrap_paragraph(paragraph, columns)).collect()
}

fn wrap_paragraph(paragraph: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in paragraph.split_inclusive(' ') {
        let bare = width(word.trim_end_matches(' '));
        if used + bare > columns && !current.is_empty() {
            lines.push(std::mem::take(&mut current));
            used = 0;
        }
        for c in word.chars() {
            // Scripts without spaces, and very long words, break between any two characters.
            let wide = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if used + wide > columns {
                if c == ' ' {
                    continue;
                }
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push(c);
            used += wide;
        }
    }
    lines.push(current);
    lines.iter().map(|line| line.trim_end_matches(' ').to_owned()).collect()
}

/// A text as one paragraph, its first line behind `first` and the others moved in as far.
pub(crate) fn paragraph(first: &str, text: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(width(first));
    let lines = wrap(text, columns.saturating_sub(indent.len()));
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| format!("{}{line}", if at == 0 { first } else { &indent }))
        .collect()
}

/// A number and the word for what it counts.
pub(crate) fn count(number: impl Into<i64>, one: &str) -> String {
    match number.into() {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}

/// Two texts beside each other, wrapped to these widths.
pub(crate) fn side_by_side(left: &str, right: &str, columns: [usize; 2]) -> Vec<String> {
    let (left, right) = (wrap(left, columns[0]), wrap(right, columns[1]));
    (0..left.len().max(right.len()))
        .map(|at| {
            let cell = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            format!("{} │ {}", pad(&cell(&left), columns[0]), cell(&right)).trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        assert_eq!(line("a\u{1b}[31mred\u{7}\r\n"), "a\\u{1b}[31mred\\u{7}\\r\\n");
        assert_eq!(block("a\n\tb\u{9b}2J"), "a\n\tb\\u{9b}2J");
        assert_eq!(
            line("user\u{202e}txt.exe \u{2066}x\u{e0041}"),
            "user\\u{202e}txt.exe \\u{2066}x\\u{e0041}"
        );
        assert_eq!(line("می\u{200c}خواهم 👩\u{200d}🔬"), "می\u{200c}خواهم 👩\u{200d}🔬");
        assert_eq!(bytes(b"ok \xff\xfe \x1b"), "ok \\xff\\xfe \\u{1b}");
    }

    #[test]
    fn json_stays_the_same_value_without_anything_hostile() {
        let value = serde_json::json!({ "a\u{9b}": "x\u{1b}[2J\u{202e}y\u{e0041}\n👩\u{200d}🔬" });
        let shown = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!shown.chars().any(|c| c != '\n' && is_hostile(c)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("横浜"), 4);
        assert_eq!(pad("横", 4), "横  ");
        assert_eq!(cut("横浜市", 5), "横浜…");
        assert_eq!(cut("short", 5), "short");
        assert_eq!(wrap("横浜市の高台", 6), ["横浜市", "の高台"]);
    }

    #[test]
    fn text_breaks_at_spaces_and_inside_long_words() {
        assert_eq!(wrap("the last tram leaves", 9), ["the last", "tram", "leaves"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn a_paragraph_is_moved_in_as_far_as_its_first_word() {
        assert_eq!(paragraph("why: ", "one two three", 13), ["why: one two", "     three"]);
        assert_eq!(
            [count(1, "chunk"), count(0, "chunk"), count(2, "chunk")],
            ["1 chunk", "0 chunks", "2 chunks"]
        );
    }

    #[test]
    fn columns_stand_beside_each_other() {
        let lines = side_by_side("one two three", "alpha", [7, 7]);
        assert_eq!(lines, ["one two │ alpha", "three   │"]);
    }
}
