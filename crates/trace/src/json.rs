//! A strict JSON reader: every duplicate key is found, lone surrogates do not lose the document.
//!
//! `serde_json::Value` keeps the last of two equal keys in silence (RFC 8259 section 4 leaves it
//! open). A verdict or a trace with two values for one key is ambiguous, so both readers of
//! Groundcrew must know.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON value, and what was odd about its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The value; of duplicate keys the last one.
    pub value: Value,
    /// JSON paths of keys that occur more than once in their object, in reading order.
    pub duplicate_keys: Vec<String>,
}

/// Reads the whole of `text` as one JSON value.
///
/// # Errors
/// Where and why the text is not JSON, by `serde_json`.
pub fn read(text: &str) -> Result<Document, serde_json::Error> {
    let (document, used) = read_prefix(text)?;
    if text[used..].trim_matches([' ', '\t', '\r', '\n']).is_empty() {
        return Ok(document);
    }
    // serde_json words the error and counts the line.
    Err(serde_json::from_str::<serde::de::IgnoredAny>(text)
        .err()
        .unwrap_or_else(|| serde_json::Error::custom("trailing characters")))
}

/// Reads one JSON value from the start of `text`; also says how many bytes it took.
///
/// # Errors
/// Where and why the text does not start with a JSON value; [`serde_json::Error::is_eof`] when it only ends too early.
pub fn read_prefix(text: &str) -> Result<(Document, usize), serde_json::Error> {
    let duplicates = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut stream_end = 0;
    let value = Node { path: "$".to_owned(), duplicates: &duplicates }.deserialize(&mut deserializer)?;
    // The deserializer does not say where it stands; a stream over the same text does.
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    if let Some(step) = stream.next() {
        step?;
        stream_end = stream.byte_offset();
    }
    Ok((Document { value, duplicate_keys: duplicates.into_inner() }, stream_end))
}

/// Replaces `\uXXXX` escapes that are one half of a surrogate pair by `\ufffd`.
///
/// Producers that cut text inside an emoji and then write ASCII-only JSON send such halves; no
/// UTF-8 string can hold them, and refusing the document would lose everything around them.
pub fn mend_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut mended: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        let escape = at + found;
        let Some(unit) = code_unit(bytes, escape) else {
            at = escape + 2;
            continue;
        };
        let is_high = (0xD800..0xDC00).contains(&unit);
        let is_low = (0xDC00..0xE000).contains(&unit);
        if is_high && code_unit(bytes, escape + 6).is_some_and(|next| (0xDC00..0xE000).contains(&next)) {
            at = escape + 12;
            continue;
        }
        if is_high || is_low {
            let out = mended.get_or_insert_with(String::new);
            out.push_str(&text[copied..escape]);
            out.push_str("\\ufffd");
            copied = escape + 6;
        }
        at = escape + 6;
    }
    match mended {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(&text[copied..]);
            Cow::Owned(out)
        }
    }
}

/// The UTF-16 code unit of the `\uXXXX` escape that starts at `at`, if one does.
fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    if !escape.starts_with(b"\\u") || !escape[2..].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
}

/// Builds a value while it keeps the paths of duplicate keys.
struct Node<'a> {
    path: String,
    duplicates: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Node {
            path: format!("{}[{}]", self.path, list.len()),
            duplicates: self.duplicates,
        })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = member(&self.path, &key);
            let value = entries.next_value_seed(Node { path: path.clone(), duplicates: self.duplicates })?;
            if object.insert(key, value).is_some() {
                self.duplicates.borrow_mut().push(path);
            }
        }
        Ok(Value::Object(object))
    }
}

/// The path of a member: `.key` where the key is a plain word, `["key"]` otherwise.
pub fn member(parent: &str, key: &str) -> String {
    let plain = key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') && !key.is_empty();
    if plain { format!("{parent}.{key}") } else { format!("{parent}[{}]", Value::from(key)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_keys_are_found_at_every_depth() {
        let document = read(r#"{"a": 1, "b": [{"c": 1, "c": 2}], "a": 3}"#).unwrap();
        assert_eq!(document.duplicate_keys, ["$.b[0].c", "$.a"]);
        assert_eq!(document.value["a"], 3);
    }

    #[test]
    fn what_follows_the_value_is_an_error_for_read_and_a_rest_for_read_prefix() {
        assert!(read(r#"{"a":1} x"#).is_err());
        assert_eq!(read_prefix(r#"{"a":1} x"#).unwrap().1, 7);
        assert!(read_prefix(r#"{"a":"#).unwrap_err().is_eof());
    }

    #[test]
    fn a_lone_half_of_a_surrogate_pair_is_mended_and_nothing_else_is_touched() {
        assert_eq!(mend_surrogates(r#"a\ud83d"#), r#"a\ufffd"#);
        assert_eq!(mend_surrogates(r#"\udc00x\ud83d\ude00"#), r#"\ufffdx\ud83d\ude00"#);
        assert_eq!(mend_surrogates(r#"\\ud83d"#), r#"\\ud83d"#);
        assert_eq!(mend_surrogates(r#"\\\ud83d"#), r#"\\\ufffd"#);
        assert_eq!(mend_surrogates("\\"), "\\");
    }

    proptest::proptest! {
        #[test]
        fn mending_never_changes_what_serde_json_could_read(text in "(\\\\u[dD][89a-fA-F][0-9a-f]{2}|\\\\\\\\|\\\\n|[a-zé😀]){0,12}") {
            let quoted = format!("\"{text}\"");
            let mended = mend_surrogates(&quoted);
            let after = serde_json::from_str::<String>(&mended);
            proptest::prop_assert!(after.is_ok(), "{} -> {}", quoted, mended);
            if let Ok(before) = serde_json::from_str::<String>(&quoted) {
                proptest::prop_assert_eq!(before, after.unwrap());
            }
        }
    }
}
