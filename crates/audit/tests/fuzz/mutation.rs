//! Changes valid replies as the bytes of an input order it, so that a fuzzer gets past the reader.

use serde_json::{Map, Value, json};
use trace::Trace;

/// The bytes of an input, read one after the other; zeros when there are no more.
pub struct Orders<'a>(&'a [u8]);

impl<'a> Orders<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// A number below `limit`, or 0.
    fn below(&mut self, limit: usize) -> usize {
        let wide = if limit > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (wide | usize::from(self.byte())) % limit.max(1)
    }

    pub fn one_of<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }

    /// A few bytes as text.
    fn text(&mut self) -> String {
        let length = usize::from(self.byte() % 24).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(taken).into_owned()
    }

    /// A stretch of `text`, cut anywhere.
    fn stretch(&mut self, text: &str) -> String {
        let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (one, other) = (*self.one_of(&cuts), *self.one_of(&cuts));
        text[one.min(other)..one.max(other)].to_owned()
    }
}

/// `reply`, changed as ordered, as a judge might write it.
pub fn changed(reply: Value, trace: &Trace, orders: &mut Orders<'_>) -> String {
    const MOST_CHANGES: usize = 24;
    let mut reply = reply;
    for _ in 0..MOST_CHANGES {
        if orders.rest().is_empty() {
            break;
        }
        change(&mut reply, trace, orders);
    }
    let text = if orders.byte().is_multiple_of(2) { reply.to_string() } else { format!("{reply:#}") };
    dressed(text, orders)
}

fn change(reply: &mut Value, trace: &Trace, orders: &mut Orders<'_>) {
    let order = orders.byte() % 12;
    let places = places(reply);
    let place = orders.one_of(&places).clone();
    let Some(value) = reply.pointer_mut(&place) else { return };
    let is_leaf = !value.is_object() && !value.is_array();
    match order {
        0..=3 if is_leaf => *value = Value::String(passage(trace, orders)),
        4 => *value = odd_value(orders),
        5 => retype(value, orders),
        6 => splice(value, orders),
        7 | 8 => change_list(value, orders),
        9 => {
            if let Some(object) = value.as_object_mut() {
                remove(object, orders);
            }
        }
        10 => {
            if let Some(object) = value.as_object_mut() {
                object.insert(orders.text(), odd_value(orders));
            }
        }
        11 if is_leaf => {
            let answer = trace.answer.as_deref().unwrap_or_default();
            *value = Value::String(orders.stretch(answer));
        }
        _ => {}
    }
}

/// JSON pointers of all that is in the value.
fn places(value: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, out: &mut Vec<String>) {
        out.push(path.to_owned());
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| walk(item, &format!("{path}/{at}"), out));
            }
            Value::Object(members) => members.iter().for_each(|(key, member)| {
                walk(member, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), out);
            }),
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(value, "", &mut out);
    // Without the value itself: a reply that is no object is the business of inputs without orders.
    if out.len() > 1 { out.split_off(1) } else { out }
}

/// Something that stands in the evidence, whole or in pieces, or the name of a source.
fn passage(trace: &Trace, orders: &mut Orders<'_>) -> String {
    if trace.chunks().is_empty() {
        return orders.text();
    }
    let chunk = orders.one_of(trace.chunks());
    let text = chunk.text.as_deref().unwrap_or_default();
    match orders.byte() % 8 {
        0 => chunk.source_id.clone().unwrap_or_default(),
        1 => text.to_owned(),
        2 => format!("{} ... {}", orders.stretch(text), orders.stretch(text)),
        3 => format!("\"{}\" and \"{}\"", orders.stretch(text), orders.stretch(text)),
        4 => format!("{}{}{}", orders.stretch(text), orders.text(), orders.stretch(text)),
        _ => orders.stretch(text),
    }
}

fn odd_value(orders: &mut Orders<'_>) -> Value {
    let values = [
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("none"),
        json!("NO EVIDENCE FOUND"),
        json!("\u{0}"),
        json!("…"),
        json!([]),
        json!({}),
        json!([[[{}]]]),
        json!("critical"),
        json!("GROUNDED"),
        json!("hallucinated"),
        json!("a".repeat(5000)),
        json!("… ".repeat(60)),
    ];
    orders.one_of(&values).clone()
}

/// Another spelling of a text.
fn retype(value: &mut Value, orders: &mut Orders<'_>) {
    let Some(text) = value.as_str() else { return };
    let text = match orders.byte() % 7 {
        0 => text.to_uppercase(),
        1 => text.to_lowercase(),
        2 => text.replace(' ', "\u{a0}"),
        3 => text.replace(['“', '”', '«', '»'], "\"").replace(['–', '—'], "-"),
        4 => format!("**{text}**"),
        5 => text.replace(' ', "\n"),
        _ => text.chars().rev().collect(),
    };
    *value = Value::String(text);
}

/// A few characters of a text replaced.
fn splice(value: &mut Value, orders: &mut Orders<'_>) {
    let Some(text) = value.as_str() else { return };
    let mut chars: Vec<char> = text.chars().collect();
    let start = orders.below(chars.len() + 1);
    let end = (start + orders.below(4)).min(chars.len());
    chars.splice(start..end, orders.text().chars());
    *value = Value::String(chars.into_iter().collect());
}

fn change_list(value: &mut Value, orders: &mut Orders<'_>) {
    let Some(items) = value.as_array_mut().filter(|items| !items.is_empty()) else { return };
    let (one, other) = (orders.below(items.len()), orders.below(items.len()));
    match orders.byte() % 4 {
        0 => items.swap(one, other),
        1 => drop(items.remove(one)),
        2 if items.len() < 60 => items.insert(other, items[one].clone()),
        _ => items.truncate(one),
    }
}

fn remove(object: &mut Map<String, Value>, orders: &mut Orders<'_>) {
    let keys: Vec<String> = object.keys().cloned().collect();
    if !keys.is_empty() {
        object.remove(orders.one_of(&keys));
    }
}

/// What models put around their JSON, and what goes wrong with it.
fn dressed(text: String, orders: &mut Orders<'_>) -> String {
    match orders.byte() % 14 {
        0 => format!("```json\n{text}\n```"),
        1 => format!("<think>\n{}\n</think>\n{text}", orders.text()),
        2 => format!("Here it is: {text} Good luck!"),
        3 => orders.stretch(&text),
        4 => format!("{text}{text}"),
        5 => format!("{text}\n{}", orders.stretch(&text)),
        6 => text.replace("null", "\"\\ud83d\""),
        7 => text.replacen('{', &format!("{{{:?}: 1,", orders.text()), 1),
        8 => {
            let before = orders.stretch(&text);
            format!("{before}{}{text}", orders.text())
        }
        9 => text.replace("\"claim_text\"", "\"claim_text\":\"\",\"claim_text\""),
        _ => text,
    }
}
