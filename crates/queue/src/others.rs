use lapin::types::{AMQPValue, FieldTable, ShortString};
use serde_json::{Map, Value};

use crate::headers::{belongs_to_the_broker, is_ours, text};

/// How deep tables and arrays may lie in one another to be told in JSON.
const DEEPEST: u8 = 16;

/// Headers that mean nothing to us, as they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherHeaders(FieldTable);

impl OtherHeaders {
    /// How many bytes of them are carried along. RabbitMQ takes frames of 128 KiB unless it is told otherwise, and all
    /// headers of a message stand in one.
    pub const CARRIED: usize = 31 * 1024;

    /// The names of the headers, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.inner().keys().map(ShortString::as_str)
    }

    /// The value of one header, if it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        text(self.0.inner().get(name)?)
    }

    /// All of them as a JSON object, to be stored. Text, numbers, truth values, tables and lists come back as they were
    /// by [`OtherHeaders::from_json`]; times become numbers, and bytes that are no UTF-8 text that says so.
    #[must_use]
    pub fn to_json(&self) -> Value {
        object(&self.0, 0)
    }

    /// The headers of a stored JSON object. Names that are ours, the broker's, or longer than 255 bytes are left out.
    #[must_use]
    pub fn from_json(stored: &Value) -> Self {
        let mut headers = Self::default();
        for (name, value) in stored.as_object().into_iter().flatten() {
            if let Ok(name) = ShortString::try_new(name.as_str()) {
                headers.keep(name, amqp(value));
            }
        }
        headers
    }

    pub(crate) fn keep(&mut self, name: ShortString, value: AMQPValue) {
        if !belongs_to_the_broker(name.as_str()) && !is_ours(name.as_str()) {
            self.0.insert(name, value);
        }
    }

    /// Those of them that take no more than this many bytes together, the smallest first.
    pub(crate) fn within(self, room: usize) -> Self {
        let size = |(name, value): (&ShortString, &AMQPValue)| 1 + name.as_str().len() + size(value);
        if self.0.inner().iter().map(size).sum::<usize>() <= room {
            return self;
        }
        let mut sizes: Vec<(usize, &ShortString)> =
            self.0.inner().iter().map(|(name, value)| (size((name, value)), name)).collect();
        sizes.sort();
        let (mut kept, mut taken, mut left_out) = (FieldTable::default(), 0, 0_usize);
        for (size, name) in sizes {
            taken += size;
            match self.0.inner().get(name) {
                Some(value) if taken <= room => {
                    kept.insert(name.clone(), value.clone());
                }
                _ => left_out += 1,
            }
        }
        tracing::warn!(left_out, room, "a message has more headers of its producer than are carried along");
        Self(kept)
    }

    pub(crate) fn into_table(self) -> FieldTable {
        self.0
    }
}

/// For a producer that is not on AMQP. Names that are ours, the broker's, or longer than 255 bytes are left out.
impl FromIterator<(String, String)> for OtherHeaders {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        let mut headers = Self::default();
        for (name, value) in pairs {
            if let Ok(name) = ShortString::try_new(name) {
                headers.keep(name, AMQPValue::LongString(value.into()));
            }
        }
        headers
    }
}

/// Bytes of a value on the wire, its type included.
fn size(value: &AMQPValue) -> usize {
    1 + match value {
        AMQPValue::Void => 0,
        AMQPValue::Boolean(_) | AMQPValue::ShortShortInt(_) | AMQPValue::ShortShortUInt(_) => 1,
        AMQPValue::ShortInt(_) | AMQPValue::ShortUInt(_) => 2,
        AMQPValue::LongInt(_) | AMQPValue::LongUInt(_) | AMQPValue::Float(_) => 4,
        AMQPValue::DecimalValue(_) => 5,
        AMQPValue::LongLongInt(_) | AMQPValue::Double(_) | AMQPValue::Timestamp(_) => 8,
        // Written as a long string.
        AMQPValue::ShortString(text) => 4 + text.as_str().len(),
        AMQPValue::LongString(text) => 4 + text.as_bytes().len(),
        AMQPValue::ByteArray(bytes) => 4 + bytes.as_slice().len(),
        AMQPValue::FieldArray(values) => 4 + values.as_slice().iter().map(size).sum::<usize>(),
        AMQPValue::FieldTable(table) => {
            let entries = table.inner().iter();
            4 + entries.map(|(name, value)| 1 + name.as_str().len() + size(value)).sum::<usize>()
        }
    }
}

fn object(table: &FieldTable, depth: u8) -> Value {
    let entries = table.inner().iter();
    Value::Object(entries.map(|(name, value)| (name.to_string(), json(value, depth))).collect::<Map<_, _>>())
}

fn json(value: &AMQPValue, depth: u8) -> Value {
    match value {
        AMQPValue::Void | AMQPValue::DecimalValue(_) => Value::Null,
        AMQPValue::Boolean(is) => (*is).into(),
        AMQPValue::Float(number) => f64::from(*number).into(),
        AMQPValue::Double(number) => (*number).into(),
        AMQPValue::Timestamp(seconds) => (*seconds).into(),
        AMQPValue::FieldArray(_) | AMQPValue::FieldTable(_) if depth >= DEEPEST => Value::Null,
        AMQPValue::FieldArray(values) => {
            values.as_slice().iter().map(|value| json(value, depth + 1)).collect()
        }
        AMQPValue::FieldTable(table) => object(table, depth + 1),
        AMQPValue::ShortString(text) => text.as_str().into(),
        AMQPValue::LongString(text) => String::from_utf8_lossy(text.as_bytes()).into(),
        AMQPValue::ByteArray(bytes) => String::from_utf8_lossy(bytes.as_slice()).into(),
        number => crate::headers::integer(number).map_or(Value::Null, Value::from),
    }
}

fn amqp(value: &Value) -> AMQPValue {
    match value {
        Value::Null => AMQPValue::Void,
        Value::Bool(is) => AMQPValue::Boolean(*is),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => AMQPValue::LongLongInt(whole),
            (None, Some(number)) => AMQPValue::Double(number),
            (None, None) => AMQPValue::Void,
        },
        Value::String(text) => AMQPValue::LongString(text.as_str().into()),
        Value::Array(values) => AMQPValue::FieldArray(values.iter().map(amqp).collect::<Vec<_>>().into()),
        Value::Object(map) => {
            let mut table = FieldTable::default();
            for (name, value) in map {
                if let Ok(name) = ShortString::try_new(name.as_str()) {
                    table.insert(name, amqp(value));
                }
            }
            AMQPValue::FieldTable(table)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_stored_as_json_comes_back() {
        let stored = json!({
            "text": "Größe", "whole": -7, "part": 0.5, "is": true, "none": null,
            "list": [1, "two", { "three": [] }], "table": { "deep": { "er": 1 } },
        });
        let headers = OtherHeaders::from_json(&stored);
        assert_eq!(headers.to_json(), stored);
        assert_eq!(OtherHeaders::from_json(&headers.to_json()), headers);
    }

    #[test]
    fn a_stored_object_brings_no_header_that_is_ours_or_the_brokers() {
        let stored = json!({ "x-death": 1, "CC": "q", "groundcrew-generation": 7, "tenant": "t" });
        assert_eq!(OtherHeaders::from_json(&stored).to_json(), json!({ "tenant": "t" }));
        assert_eq!(OtherHeaders::from_json(&json!("no object")), OtherHeaders::default());
    }

    #[test]
    fn the_largest_headers_are_left_out_first() {
        let pairs = [("a", 10), ("b", 10_000), ("c", 500), ("d", 40_000)];
        let headers: OtherHeaders =
            pairs.iter().map(|(name, length)| ((*name).to_owned(), "v".repeat(*length))).collect();
        assert_eq!(headers.clone().within(1_000).names().collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(headers.within(11_000).names().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
