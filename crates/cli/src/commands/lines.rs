//! JSON Lines: one message per line, as bytes.

/// A line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its number, from 1, blank lines counted.
    pub(crate) number: usize,
    /// Its bytes without the line break.
    pub(crate) bytes: &'a [u8],
}

/// The lines that are not blank.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    bytes
        .split(|byte| *byte == b'\n')
        .enumerate()
        .map(|(at, line)| Line { number: at + 1, bytes: line.strip_suffix(b"\r").unwrap_or(line) })
        .filter(|line| !line.bytes.iter().all(u8::is_ascii_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        let found: Vec<_> = lines(b"a\r\n\n \t\nb\xff").map(|line| (line.number, line.bytes)).collect();
        assert_eq!(found, [(1, &b"a"[..]), (4, &b"b\xff"[..])]);
    }
}
