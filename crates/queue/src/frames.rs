//! Makes the broker's byte stream safe to read for a client that insists on UTF-8.
//!
//! AMQP 0-9-1 allows any bytes in ids, header names and routing keys, and RabbitMQ passes them on. The client
//! library does not: it drops the whole connection, the broker delivers the message again, and so one message
//! with a binary id (a UUID of 16 raw bytes is enough) would stop every lane until it and its innocent neighbours
//! were over the delivery limit, and then do the same to the dead queue.
//!
//! Bytes that are no UTF-8 become `?`. Bodies are never touched.
//!
//! Size is the other way to the same end. A broker holds publishers to the frame size that was agreed on, but not
//! itself: what it adds to a message's headers (`x-delivery-count`, `x-death`) makes a frame that was just allowed one
//! that the client library answers by dropping the connection. Such a message loses its large headers and keeps the
//! rest.

const METHOD: u8 = 1;
const CONTENT_HEADER: u8 = 2;
/// Type, channel and length.
const HEAD: usize = 7;
/// Class, weight and body size of a content header.
const FIXED: usize = 12;
/// Frames longer than this are not looked at as a whole.
const LONGEST: usize = 1024 * 1024;
/// The client library never agrees on less.
const LEAST_AGREED: usize = 4096;

/// Takes the stream in pieces of any size and gives it out cleaned.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    /// The frame that has begun and must be seen whole, or the head of any frame.
    frame: Vec<u8>,
    /// What is left of a frame that is passed on unseen.
    passing: usize,
    /// What is left of a frame that is not passed on.
    dropping: usize,
    /// The frame size that this side asks for; 0 for whatever the broker says.
    wish: usize,
    /// The longest frame that was agreed on, head and end mark included; 0 for no limit.
    agreed: usize,
}

impl Cleaner {
    /// For a connection that asks for frames of this size at most; 0 for whatever the broker says.
    pub(crate) fn new(wish: u32) -> Self {
        Self { wish: usize::try_from(wish).unwrap_or_default(), ..Self::default() }
    }

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
            if self.dropping > 0 {
                let dropped = self.dropping.min(bytes.len());
                self.dropping -= dropped;
                bytes = &bytes[dropped..];
                continue;
            }
            let wanted = self.whole().map_or(HEAD, |whole| self.seen_of(whole));
            let (taken, rest) = bytes.split_at((wanted - self.frame.len()).min(bytes.len()));
            self.frame.extend_from_slice(taken);
            bytes = rest;
            let Some(whole) = self.whole() else { continue };
            let seen = self.seen_of(whole);
            if self.frame.len() < seen {
                continue;
            }
            if seen == whole {
                self.clean();
            } else if self.frame[0] == CONTENT_HEADER {
                self.dropping = whole - seen;
                bare(&mut self.frame);
                tracing::warn!(
                    bytes = whole,
                    "a message came with enormous headers; it is taken without any"
                );
            } else {
                self.passing = whole - seen;
            }
            out.append(&mut self.frame);
        }
    }

    /// How much of the current frame of this length has to be seen before anything is decided.
    fn seen_of(&self, whole: usize) -> usize {
        match self.frame[0] {
            METHOD | CONTENT_HEADER if whole <= LONGEST => whole,
            CONTENT_HEADER => HEAD + FIXED,
            _ => HEAD,
        }
    }

    /// Cleans the current frame, which is there whole.
    fn clean(&mut self) {
        let (kind, end) = (self.frame[0], self.frame.len() - 1);
        let mut cursor = Cursor { bytes: &mut self.frame[HEAD..end] };
        if kind == METHOD {
            // Whatever cannot be walked is not a method that carries a stranger's text.
            if let Some(Some(offered)) = cursor.method() {
                self.agree(offered);
            }
        } else if cursor.properties().is_none() {
            bare(&mut self.frame);
        } else if self.agreed > 0 && self.frame.len() > self.agreed {
            tracing::warn!(
                bytes = self.frame.len(),
                allowed = self.agreed,
                "a message came with more headers than a frame may hold; it is taken without the large ones"
            );
            match shorten(&self.frame, self.agreed / 4) {
                Some(short) if short.len() <= self.agreed => self.frame = short,
                _ => bare(&mut self.frame),
            }
        }
    }

    /// The broker offers frames of this size, and the smaller wish counts; 0 is no limit.
    fn agree(&mut self, offered: u32) {
        let offered = usize::try_from(offered).unwrap_or_default();
        self.agreed = match (offered, self.wish) {
            (0, limit) | (limit, 0) => limit,
            (offered, wish) => offered.min(wish),
        };
        if self.agreed > 0 {
            self.agreed = self.agreed.max(LEAST_AGREED);
        }
    }

    /// The length of the current frame with head and end mark, once its head is there.
    fn whole(&self) -> Option<usize> {
        let length = self.frame.get(3..HEAD)?;
        let length = u32::from_be_bytes(length.try_into().ok()?);
        Some(HEAD.saturating_add(usize::try_from(length).ok()?).saturating_add(1))
    }
}

/// Drops the properties of a message whose properties cannot be understood at all. Its body is still worth having.
fn bare(frame: &mut Vec<u8>) {
    if frame.len() < HEAD + FIXED {
        return;
    }
    frame.truncate(HEAD + FIXED);
    frame.extend_from_slice(&[0, 0, 0xce]);
    frame[3..HEAD].copy_from_slice(&14_u32.to_be_bytes());
}

/// Leaves out headers of a message until they take no more than `room` bytes. What the fleet and the broker wrote goes
/// before what a producer wrote, and small before large. None when the frame has no headers.
fn shorten(frame: &[u8], room: usize) -> Option<Vec<u8>> {
    let content = HEAD..frame.len().checked_sub(1)?;
    let table = table_of(frame.get(content.clone())?)?;
    let (begin, end) = (HEAD + table.start, HEAD + table.end);
    let mut entries = entries_of(frame.get(begin + 4..end)?)?;
    entries.sort_by_key(|(name, entry)| (!is_known(name), entry.len()));
    let mut kept = Vec::new();
    for (_, entry) in entries {
        if kept.len() + entry.len() <= room {
            kept.extend_from_slice(entry);
        }
    }
    let length = u32::try_from(kept.len()).ok()?.to_be_bytes();
    let mut short = [&frame[..begin], &length, &kept, &frame[end..]].concat();
    let content = u32::try_from(short.len().checked_sub(HEAD + 1)?).ok()?.to_be_bytes();
    short[3..HEAD].copy_from_slice(&content);
    Some(short)
}

/// Where the table of headers stands in a content header, its length included.
fn table_of(content: &[u8]) -> Option<std::ops::Range<usize>> {
    let flags = u16::from_be_bytes(content.get(FIXED..FIXED + 2)?.try_into().ok()?);
    let mut at = FIXED + 2;
    // Content type and encoding come before.
    for bit in [15, 14] {
        if flags & (1 << bit) != 0 {
            at += 1 + usize::from(*content.get(at)?);
        }
    }
    if flags & (1 << 13) == 0 {
        return None;
    }
    let length = u32::from_be_bytes(content.get(at..at + 4)?.try_into().ok()?);
    Some(at..at + 4 + usize::try_from(length).ok()?)
}

/// The entries of a table, each with its name.
fn entries_of(table: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut entries = Vec::new();
    // Walked in a copy, since the walk cleans.
    let mut copy = table.to_vec();
    let mut cursor = Cursor { bytes: &mut copy };
    while !cursor.bytes.is_empty() {
        let begin = table.len() - cursor.bytes.len();
        cursor.short_text()?;
        let named = table.len() - cursor.bytes.len();
        cursor.value(0)?;
        let end = table.len() - cursor.bytes.len();
        entries.push((table.get(begin + 1..named)?, table.get(begin..end)?));
    }
    Some(entries)
}

/// Headers of ours, and those by which the broker says where a message has been.
fn is_known(name: &[u8]) -> bool {
    crate::headers::is_ours(&String::from_utf8_lossy(name))
        || matches!(name, b"x-death" | b"x-delivery-count" | b"x-acquired-count")
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

    /// `basic.deliver`, `basic.get-ok` and `basic.return` carry the routing key. `connection.tune` says how long a
    /// frame may be, which is given back.
    fn method(&mut self) -> Option<Option<u32>> {
        let class = u16::from_be_bytes(self.number()?);
        let method = u16::from_be_bytes(self.number()?);
        match (class, method) {
            (10, 30) => {
                self.take(2)?;
                return Some(Some(u32::from_be_bytes(self.number()?)));
            }
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
            _ => return Some(None),
        }
        self.short_text()?;
        self.short_text()?;
        Some(None)
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
#[path = "frames_tests.rs"]
mod tests;
