//! What has to happen to outside text before Postgres takes it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;

use serde::Serialize;
use serde_json::Value;

/// What stands for NUL in text columns: the Unicode picture of it.
const NUL_PICTURE: &str = "\u{2400}";

/// The fastest level. Payloads are JSON and shrink well at any.
const ZSTD_LEVEL: i32 = 1;

/// Text as a Postgres `text` column takes it: the only character it refuses, NUL, becomes U+2400.
///
/// The original is kept byte for byte in the payload or the raw reply.
pub fn sanitise(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', NUL_PICTURE)) } else { Cow::Borrowed(text) }
}

/// [`sanitise`], owned.
pub(crate) fn clean(text: &str) -> String {
    sanitise(text).into_owned()
}

/// [`clean`] for text that may be absent.
pub(crate) fn clean_some(text: Option<&str>) -> Option<String> {
    text.map(clean)
}

/// JSON text as a `jsonb` column takes it: NUL becomes U+2400 in strings and keys.
///
/// Something that is no JSON, such as a map with keys that are no strings, becomes null.
pub(crate) fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    // Also true for an escaped backslash before "u0000", which then only takes the slow way.
    if !text.contains("\\u0000") {
        return text;
    }
    serde_json::from_str(&text).map_or_else(|_| "null".to_owned(), |value| clean_value(value).to_string())
}

fn clean_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(items) => items.into_iter().map(clean_value).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (clean(&key), clean_value(value))).collect(),
        other => other,
    }
}

/// A number as a column takes it: one NaN would be the mean of all rows.
pub(crate) fn finite(number: Option<f64>) -> Option<f64> {
    number.filter(|number| number.is_finite())
}

thread_local! {
    /// A context is a megabyte of tables; making one for each message costs more than compressing it.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses a body for a `bytea` column.
pub(crate) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => compressor,
            None => slot.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
        };
        compressor.compress(bytes)
    })
}

/// The reverse of [`compress`]; `length` is the length before compression.
pub(crate) fn decompress(bytes: &[u8], length: i64) -> io::Result<Vec<u8>> {
    zstd::bulk::decompress(bytes, usize::try_from(length).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_pictured_in_text_and_in_json() {
        assert_eq!(sanitise("a\0b"), "a␀b");
        assert!(matches!(sanitise("a␀b"), Cow::Borrowed(_)));
        assert_eq!(json(&serde_json::json!({ "k\0": ["v\0", 1] })), r#"{"k␀":["v␀",1]}"#);
        assert_eq!(json(&"a literal \\u0000 stays"), r#""a literal \\u0000 stays""#);
    }

    #[test]
    fn bodies_come_back_byte_for_byte() {
        for body in [&b""[..], b"{}", &[0, 255, 192, 128], &[b'x'; 100_000]] {
            let length = i64::try_from(body.len()).unwrap();
            assert_eq!(decompress(&compress(body).unwrap(), length).unwrap(), body);
        }
    }
}
