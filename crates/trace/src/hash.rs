//! When are two traces the same? When their content hash is.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::Trace;

/// SHA-256 over what a verdict depends on: query, answer, chunks (id, rank, text), reference,
/// intent and risk. Times, labels and metadata are left out, so a label that comes later does not
/// make another trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ContentHash({self})")
    }
}

/// The hash of a trace's content.
pub fn content_hash(trace: &Trace) -> ContentHash {
    let mut hash = Fields(Sha256::new());
    hash.text(Some("groundcrew content 1"));
    hash.text(trace.query.as_deref());
    hash.text(trace.answer.as_deref());
    hash.list(trace.retrieval.as_ref().and_then(|retrieval| retrieval.chunks.as_deref()), |hash, chunk| {
        hash.text(chunk.source_id.as_deref());
        hash.number(chunk.rank);
        hash.text(chunk.text.as_deref());
    });
    hash.list(trace.reference.as_deref(), |hash, reference| {
        hash.text(reference.source_id.as_deref());
        hash.text(reference.text.as_deref());
    });
    hash.text(Some(trace.intent.as_str()));
    hash.text(Some(trace.risk.as_str()));
    ContentHash(hash.0.finalize().into())
}

/// Writes fields so that no two sequences of fields give the same bytes: each is tagged as present
/// or absent and carries its length.
struct Fields(Sha256);

impl Fields {
    fn text(&mut self, text: Option<&str>) {
        self.number(text.map(|text| i64::try_from(text.len()).unwrap_or(i64::MAX)));
        self.0.update(text.unwrap_or_default().as_bytes());
    }

    fn number(&mut self, number: Option<i64>) {
        self.0.update([u8::from(number.is_some())]);
        self.0.update(number.unwrap_or_default().to_be_bytes());
    }

    fn list<T>(&mut self, items: Option<&[T]>, mut each: impl FnMut(&mut Self, &T)) {
        self.number(items.map(|items| i64::try_from(items.len()).unwrap_or(i64::MAX)));
        for item in items.unwrap_or_default() {
            each(self, item);
        }
    }
}
