//! Makes the broker's byte stream safe to read for a client that insists on UTF-8.
//!
//! AMQP 0-9-1 allows any bytes in ids, header names and routing keys, and RabbitMQ passes them on. The client
//! library does not: it drops the whole connection, the broker delivers the message again, and so one message
//! with a binary id (a UUID of 16 raw bytes is enough) would stop every lane until it and its innocent neighbours
//! were over the delivery limit, and then do the same to the dead queue.
//!
//! Bytes that are no UTF-8 become `?`. Bodies are never touched.

const METHOD: u8 = 1;
const CONTENT_HEADER: u8 = 2;
/// Type, channel and length.
const HEAD: usize = 7;
/// No broker is allowed to send a longer frame unless a client asked for it, and we never do.
const LONGEST: usize = 1024 * 1024;

/// Takes the stream in pieces of any size and gives it out cleaned.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    /// The frame that has begun and must be seen whole, or the head of any frame.
    frame: Vec<u8>,
    /// What is left of a frame that is passed on unseen.
    passing: usize,
}

impl Cleaner {
    /// Appends to `out` what can be given out after `bytes`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if self.passing > 0 {
                let (pass, rest) = bytes.split_at(self.passing.min(bytes.len()));
                out.extend_from_slice(pass);
                self.passing -= pass.len();
                bytes = rest;
                continue;
            }
            let wanted = self.whole().unwrap_or(HEAD);
            let (taken, rest) = bytes.split_at((wanted - self.frame.len()).min(bytes.len()));
            self.frame.extend_from_slice(taken);
            bytes = rest;
            let Some(whole) = self.whole() else { continue };
            let seen_whole = matches!(self.frame[0], METHOD | CONTENT_HEADER) && whole <= LONGEST;
            if !seen_whole {
                self.passing = whole - HEAD;
                out.append(&mut self.frame);
            } else if self.frame.len() == whole {
                clean(&mut self.frame);
                out.append(&mut self.frame);
            }
        }
    }

    /// The length of the current frame with head and end mark, once its head is there.
    fn whole(&self) -> Option<usize> {
        let length = self.frame.get(3..HEAD)?;
        let length = u32::from_be_bytes(length.try_into().ok()?);
        Some(HEAD.saturating_add(usize::try_from(length).ok()?).saturating_add(1))
    }
}

fn clean(frame: &mut Vec<u8>) {
    let kind = frame[0];
    let end = frame.len() - 1;
    let mut cursor = Cursor { bytes: &mut frame[HEAD..end] };
    if kind == METHOD {
        // Whatever cannot be walked is not a method that carries a stranger's text.
        let _outcome = cursor.method();
    } else if cursor.properties().is_none() {
        bare(frame);
    }
}

/// Drops the properties of a message whose properties cannot be understood at all. Its body is still worth having.
fn bare(frame: &mut Vec<u8>) {
    /// Class, weight and body size.
    const FIXED: usize = 12;
    if frame.len() < HEAD + FIXED + 1 {
        return;
    }
    frame.truncate(HEAD + FIXED);
    frame.extend_from_slice(&[0, 0, 0xce]);
    frame[3..HEAD].copy_from_slice(&14_u32.to_be_bytes());
}

struct Cursor<'a> {
    bytes: &'a mut [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Option<&'a mut [u8]> {
        let bytes = std::mem::take(&mut self.bytes);
        let (taken, rest) = bytes.split_at_mut_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        (*self.take(N)?).try_into().ok()
    }

    fn short_text(&mut self) -> Option<()> {
        let [length] = self.number()?;
        question_marks(self.take(length.into())?);
        Some(())
    }

    fn long(&mut self) -> Option<&'a mut [u8]> {
        let length = u32::from_be_bytes(self.number()?);
        self.take(usize::try_from(length).ok()?)
    }

    /// `basic.deliver`, `basic.get-ok` and `basic.return` carry the routing key.
    fn method(&mut self) -> Option<()> {
        let class = u16::from_be_bytes(self.number()?);
        let method = u16::from_be_bytes(self.number()?);
        match (class, method) {
            (60, 50) => {
                self.take(2)?;
                self.short_text()?;
            }
            (60, 60) => {
                self.short_text()?;
                self.take(9)?;
            }
            (60, 71) => {
                self.take(9)?;
            }
            _ => return Some(()),
        }
        self.short_text()?;
        self.short_text()
    }

    fn properties(&mut self) -> Option<()> {
        self.take(12)?;
        let flags = u16::from_be_bytes(self.number()?);
        // The lowest bit announces more flags, which no property of a message needs.
        if flags & 1 != 0 {
            return None;
        }
        for bit in (2..16).rev().filter(|bit| flags & (1 << bit) != 0) {
            match bit {
                13 => self.table(0)?,
                // Delivery mode and priority.
                11 | 12 => {
                    self.take(1)?;
                }
                // Timestamp.
                6 => {
                    self.take(8)?;
                }
                _ => self.short_text()?,
            }
        }
        self.bytes.is_empty().then_some(())
    }

    fn table(&mut self, depth: u8) -> Option<()> {
        let mut entries = Cursor { bytes: self.long()? };
        while !entries.bytes.is_empty() {
            entries.short_text()?;
            entries.value(depth)?;
        }
        Some(())
    }

    fn value(&mut self, depth: u8) -> Option<()> {
        // The client library descends as deep as a message tells it to.
        let deeper = depth.checked_add(1).filter(|depth| *depth <= 32)?;
        let [kind] = self.number()?;
        let fixed = match kind {
            b'F' => return self.table(deeper),
            b'A' => {
                let mut values = Cursor { bytes: self.long()? };
                while !values.bytes.is_empty() {
                    values.value(deeper)?;
                }
                return Some(());
            }
            // Long strings are bytes to the client library as well.
            b'S' | b'x' => return self.long().map(|_| ()),
            b'V' => 0,
            b't' | b'b' | b'B' => 1,
            b's' | b'U' | b'u' => 2,
            b'I' | b'i' | b'f' => 4,
            b'D' => 5,
            b'L' | b'l' | b'd' | b'T' => 8,
            _ => return None,
        };
        self.take(fixed).map(|_| ())
    }
}

fn question_marks(text: &mut [u8]) {
    let mut at = 0;
    let mut broken = Vec::new();
    for chunk in text.utf8_chunks() {
        at += chunk.valid().len();
        broken.push(at..at + chunk.invalid().len());
        at += chunk.invalid().len();
    }
    for range in broken {
        text[range].fill(b'?');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&[kind, 0, 1], &length[..], payload, &[0xce]].concat()
    }

    fn header(flags: u16, properties: &[u8]) -> Vec<u8> {
        let fixed = [&60_u16.to_be_bytes()[..], &0_u16.to_be_bytes(), &2_u64.to_be_bytes()].concat();
        frame(CONTENT_HEADER, &[&fixed[..], &flags.to_be_bytes(), properties].concat())
    }

    fn cleaned(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Cleaner::default().push(bytes, &mut out);
        out
    }

    #[test]
    fn a_binary_id_becomes_question_marks_and_its_neighbours_stay() {
        let before = header(0b1000_0000_1000_0000, b"\x04json\x05a\xff\xfeb\x80");
        let after = header(0b1000_0000_1000_0000, b"\x04json\x05a??b?");
        assert_eq!(cleaned(&before), after);
    }

    /// A long string, table or array: its length and its content.
    fn long(content: &[u8]) -> Vec<u8> {
        [&u32::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
    }

    #[test]
    fn header_names_are_cleaned_at_every_depth_and_header_values_are_not() {
        let headers = |byte: u8| {
            let value = [b"S", &long(&[0xff])[..]].concat();
            let inner = long(&[&[1, byte], &value[..]].concat());
            let array = long(&[b"F", &inner[..], b"t\x01", &value].concat());
            let table = [&[2, b'a', byte][..], b"A", &array, b"\x01bI\0\0\0\x07"].concat();
            header(1 << 13, &long(&table))
        };
        assert_eq!(cleaned(&headers(0xff)), headers(b'?'));
    }

    #[test]
    fn a_routing_key_is_cleaned_where_messages_carry_one() {
        let deliver = |key: &[u8; 2]| {
            let fixed = b"\x00\x3c\x00\x3c\x03tag\0\0\0\0\0\0\0\x01\x00\x01e\x02";
            frame(METHOD, &[&fixed[..], key].concat())
        };
        assert_eq!(cleaned(&deliver(b"\xc3\x28")), deliver(b"?("));
        let returned = |key: &[u8; 2]| {
            let fixed = b"\x00\x3c\x00\x32\x01\x38\x08NO_ROUTE\x00\x02";
            frame(METHOD, &[&fixed[..], key].concat())
        };
        assert_eq!(cleaned(&returned(b"\xff\xff")), returned(b"??"));
    }

    #[test]
    fn properties_that_cannot_be_walked_are_dropped_with_the_message_kept() {
        let unknown_value = header(1 << 13, b"\x00\x00\x00\x03\x01aZ");
        assert_eq!(cleaned(&unknown_value), header(0, b""));
        let too_short = header(1 << 7, b"\x09abc");
        assert_eq!(cleaned(&too_short), header(0, b""));
        let deep = (0..200).fold(b"V".to_vec(), |inner, _| [b"A", &long(&inner)[..]].concat());
        let table = long(&[b"\x01a", &deep[..]].concat());
        assert_eq!(cleaned(&header(1 << 13, &table)), header(0, b""));
    }

    proptest! {
        #[test]
        fn the_stream_may_come_in_any_pieces(
            payloads in prop::collection::vec((1_u8..5, prop::collection::vec(any::<u8>(), 0..80)), 0..8),
            cuts in prop::collection::vec(1_usize..40, 1..60),
        ) {
            let stream: Vec<u8> = payloads.iter().flat_map(|(kind, payload)| frame(*kind, payload)).collect();
            let whole = cleaned(&stream);
            let mut cleaner = Cleaner::default();
            let mut pieces = Vec::new();
            let mut rest = &stream[..];
            for cut in cuts.iter().cycle() {
                let (piece, later) = rest.split_at((*cut).min(rest.len()));
                cleaner.push(piece, &mut pieces);
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(pieces, whole);
        }

        #[test]
        fn anything_at_all_passes_without_a_panic_and_bodies_pass_unchanged(
            noise in prop::collection::vec(any::<u8>(), 0..400),
            body in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            cleaned(&noise);
            let body = frame(3, &body);
            prop_assert_eq!(cleaned(&body), body);
        }

        #[test]
        fn text_that_is_utf_8_stays_as_it_is(id in "\\PC{0,60}") {
            let properties = [&[u8::try_from(id.len()).unwrap_or(0)][..], id.as_bytes()].concat();
            prop_assume!(id.len() < 256);
            let frame = header(1 << 7, &properties);
            prop_assert_eq!(cleaned(&frame), frame);
        }
    }
}
