//! Where one trace ends and the next begins.
//!
//! JSON Lines unless the first character is `[` (a JSON array) or the first line is a lone `{` (one object that is
//! printed over several lines). What is inside a piece is not looked at: a line that is no JSON is a piece like any
//! other, so that it spoils none of its neighbours.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

use trace::Problem;

/// How reading ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At the end of the file, after this many pieces.
    Whole(u64),
    /// Nobody wanted more.
    Stopped,
}

/// Takes the line on which a piece begins, from 1, and its bytes or why there are none.
type Each<'a> = dyn FnMut(u64, Result<Vec<u8>, Problem>) -> ControlFlow<()> + 'a;

/// Hands over one piece after the other. A piece longer than `limit` bytes is skipped and reported.
///
/// # Errors
/// When the source cannot be read on.
pub(super) fn split(source: impl Read, limit: usize, each: &mut Each<'_>) -> io::Result<End> {
    let mut reader = Reader { source: BufReader::with_capacity(1 << 16, source), line: 1, limit };
    reader.skip_byte_order_mark()?;
    match reader.skip_space()? {
        None => Ok(End::Whole(0)),
        Some(b'[') => reader.array(each),
        Some(_) => reader.lines(each),
    }
}

struct Reader<R> {
    source: BufReader<R>,
    line: u64,
    limit: usize,
}

/// A stretch of bytes, or that it was too long to be kept.
enum Stretch {
    Kept(Vec<u8>),
    TooLong,
}

impl<R: Read> Reader<R> {
    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.source.fill_buf()?.first().copied())
    }

    fn skip_byte_order_mark(&mut self) -> io::Result<()> {
        if self.source.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            self.source.consume(3);
        }
        Ok(())
    }

    /// Skips white space and gives the first byte behind it, which stays where it is.
    fn skip_space(&mut self) -> io::Result<Option<u8>> {
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.line += u64::from(byte == b'\n');
            self.source.consume(1);
        }
        Ok(None)
    }

    fn too_long(&self) -> Problem {
        let limit = self.limit;
        Problem::new("$", format!("longer than the {limit} bytes of worker.max_message_bytes"))
    }

    fn lines(&mut self, each: &mut Each<'_>) -> io::Result<End> {
        let mut pieces = 0;
        while self.peek()?.is_some() {
            let number = self.line;
            let line = self.line_bytes()?;
            let piece = match line {
                Stretch::TooLong => Err(self.too_long()),
                Stretch::Kept(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
                // No line of JSON Lines is a lone brace: this is one object over several lines.
                Stretch::Kept(line) if pieces == 0 && line.trim_ascii() == b"{" => match self.object(line)? {
                    Some(object) => Ok(object),
                    None => Err(self.too_long()),
                },
                Stretch::Kept(line) => Ok(line),
            };
            pieces += 1;
            if each(number, piece).is_break() {
                return Ok(End::Stopped);
            }
        }
        Ok(End::Whole(pieces))
    }

    /// A line without its break.
    fn line_bytes(&mut self) -> io::Result<Stretch> {
        let mut line = Vec::new();
        let mut is_too_long = false;
        loop {
            let buffer = self.source.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = &buffer[..end.unwrap_or(buffer.len())];
            if line.len() + taken.len() > self.limit {
                is_too_long = true;
                line = Vec::new();
            }
            if !is_too_long {
                line.extend_from_slice(taken);
            }
            let (used, is_last) =
                (taken.len() + usize::from(end.is_some()), end.is_some() || buffer.is_empty());
            self.source.consume(used);
            self.line += u64::from(end.is_some());
            if is_last {
                let kept = line.strip_suffix(b"\r").map(<[u8]>::to_vec).unwrap_or(line);
                return Ok(if is_too_long { Stretch::TooLong } else { Stretch::Kept(kept) });
            }
        }
    }

    /// The rest of an object whose first line is read; none when it is too long. What follows it is part of the piece,
    /// so that the reader of JSON complains about it.
    fn object(&mut self, mut bytes: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        bytes.push(b'\n');
        let mut is_too_long = false;
        loop {
            let line = match self.line_bytes()? {
                Stretch::TooLong => Vec::new(),
                Stretch::Kept(line) => line,
            };
            is_too_long |= bytes.len() + line.len() > self.limit;
            if !is_too_long {
                bytes.extend_from_slice(&line);
                bytes.push(b'\n');
            }
            if self.peek()?.is_none() {
                return Ok((!is_too_long).then_some(bytes));
            }
        }
    }

    fn array(&mut self, each: &mut Each<'_>) -> io::Result<End> {
        self.source.consume(1);
        let mut pieces = 0;
        loop {
            match self.skip_space()? {
                Some(b']') if pieces == 0 => return self.behind_array(pieces, each),
                None => return self.broken(pieces, "the file ends inside the array", each),
                Some(_) => {}
            }
            let number = self.line;
            let (element, end) = self.element()?;
            pieces += 1;
            let piece = match element {
                Stretch::TooLong => Err(self.too_long()),
                Stretch::Kept(bytes) if bytes.is_empty() => {
                    Err(Problem::new("$", "expected a trace between the commas of the array, found nothing"))
                }
                Stretch::Kept(_) if end.is_none() => Err(Problem::new("$", "the file ends inside the array")),
                Stretch::Kept(bytes) => Ok(bytes),
            };
            if each(number, piece).is_break() {
                return Ok(End::Stopped);
            }
            match end {
                None => return Ok(End::Whole(pieces)),
                Some(b',') => self.source.consume(1),
                Some(_) => return self.behind_array(pieces, each),
            }
        }
    }

    /// One element without the space around it, and the comma or bracket behind it, which stays where it is; none at
    /// the end of the file.
    fn element(&mut self) -> io::Result<(Stretch, Option<u8>)> {
        let mut bytes = Vec::new();
        let (mut is_too_long, mut in_string, mut is_escaped, mut depth) = (false, false, false, 0_u64);
        let end = loop {
            let Some(byte) = self.peek()? else { break None };
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'[' | b'{' => depth += 1,
                b',' | b']' if depth == 0 => break Some(byte),
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.source.consume(1);
            self.line += u64::from(byte == b'\n');
            is_too_long |= bytes.len() >= self.limit;
            if !is_too_long {
                bytes.push(byte);
            }
        };
        let kept = bytes.trim_ascii().to_vec();
        Ok((if is_too_long { Stretch::TooLong } else { Stretch::Kept(kept) }, end))
    }

    /// Nothing may follow the array.
    fn behind_array(&mut self, pieces: u64, each: &mut Each<'_>) -> io::Result<End> {
        self.source.consume(1);
        match self.skip_space()? {
            None => Ok(End::Whole(pieces)),
            Some(_) => self.broken(pieces, "something follows the array; a file holds one array", each),
        }
    }

    fn broken(&mut self, pieces: u64, why: &str, each: &mut Each<'_>) -> io::Result<End> {
        match each(self.line, Err(Problem::new("$", why))) {
            ControlFlow::Continue(()) => Ok(End::Whole(pieces + 1)),
            ControlFlow::Break(()) => Ok(End::Stopped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, limit: usize) -> Vec<(u64, Result<String, String>)> {
        let mut found = Vec::new();
        let end = split(text.as_bytes(), limit, &mut |line, piece| {
            let piece =
                piece.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|problem| problem.message);
            found.push((line, piece));
            ControlFlow::Continue(())
        });
        assert_eq!(end.unwrap(), End::Whole(u64::try_from(found.len()).unwrap()));
        found
    }

    fn good(line: u64, text: &str) -> (u64, Result<String, String>) {
        (line, Ok(text.to_owned()))
    }

    #[test]
    fn lines_are_pieces_and_blank_ones_are_skipped() {
        let found = pieces("\u{feff}{\"a\":1}\r\n\n  \nnot json\n{\"b\":2}", 100);
        assert_eq!(found, [good(1, "{\"a\":1}"), good(4, "not json"), good(5, "{\"b\":2}")]);
        assert_eq!(pieces(" \n\n", 100), []);
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_and_its_neighbours_stay() {
        let found = pieces(&format!("{{}}\n{}\n{{}}\n", "x".repeat(200_000)), 100);
        assert_eq!((&found[0], &found[2]), (&good(1, "{}"), &good(3, "{}")));
        assert!(found[1].1.as_ref().unwrap_err().contains("worker.max_message_bytes"));
    }

    #[test]
    fn an_array_is_taken_apart_at_its_own_commas() {
        let text = "\n[ {\"a\": \"],[\\\"\"},\n  {\"b\": [1, {\"c\": 2}]} ,\n\n3 ]\n";
        let found = pieces(text, 100);
        assert_eq!(
            found,
            [good(2, "{\"a\": \"],[\\\"\"}"), good(3, "{\"b\": [1, {\"c\": 2}]}"), good(5, "3")]
        );
        assert_eq!(pieces("[]", 100), []);
    }

    #[test]
    fn an_array_that_is_cut_or_followed_says_so() {
        let messages = |text: &str| -> Vec<String> {
            pieces(text, 100).into_iter().filter_map(|(_, piece)| piece.err()).collect()
        };
        assert_eq!(messages("[{\"a\":1}, {\"b\""), ["the file ends inside the array"]);
        assert_eq!(messages("[{\"a\":1},"), ["the file ends inside the array"]);
        assert_eq!(messages("[1,,2]"), ["expected a trace between the commas of the array, found nothing"]);
        assert_eq!(messages("[1] [2]"), ["something follows the array; a file holds one array"]);
    }

    #[test]
    fn one_object_may_be_printed_over_several_lines() {
        let text = "{\n  \"a\": 1,\n  \"b\": \"}\"\n}\n";
        assert_eq!(pieces(text, 100), [good(1, text)]);
    }

    /// Every way to write a list of values as an array gives the values back.
    #[test]
    fn written_arrays_are_read_back() {
        let values = serde_json::json!([{"t": "[{,\"\\"}, [], {}, "a]b", 1.5, null, [[["x"]]], "\u{2028}é,"]);
        for text in [values.to_string(), serde_json::to_string_pretty(&values).unwrap()] {
            let read: Vec<serde_json::Value> = pieces(&text, 1000)
                .into_iter()
                .map(|(_, piece)| serde_json::from_str(&piece.unwrap()).unwrap())
                .collect();
            assert_eq!(serde_json::Value::Array(read), values);
        }
    }
}
