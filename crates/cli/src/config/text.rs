//! From TOML and from the text of variables to values, and back.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::key::Key;
use super::sources::{Entry, Origin};

/// Keys whose values are shown nowhere; so are those of judges that stand in, and of receivers.
const SECRETS: [&[&str]; 6] = [
    &["judge", "api_key"],
    &["database", "url"],
    &["queue", "url"],
    &["notify", "receiver_defaults", "url"],
    &["notify", "receiver_defaults", "routing_key"],
    &["notify", "receiver_defaults", "signing_key"],
];

/// Keys of a judge whose tables are values: their keys are names of models, or a provider's own.
const TABLES: [&str; 3] = ["extra_params", "prices", "model_map"];

/// All keys of a TOML text with their values and lines. Lists, and tables that are values themselves, stay whole.
pub(crate) fn entries(
    text: &str,
    origin: impl Fn(usize) -> Origin,
) -> Result<BTreeMap<Key, Entry>, toml::de::Error> {
    let document = DeTable::parse(text)?;
    let values: Table = toml::from_str(text)?;
    let mut found = BTreeMap::new();
    flatten(&Key(Vec::new()), document.get_ref(), &values, &mut |key, value, offset| {
        let line = text[..offset].matches('\n').count() + 1;
        found.insert(key, Entry { value: value.clone(), origin: origin(line) });
    });
    Ok(found)
}

fn flatten(parent: &Key, table: &DeTable<'_>, values: &Table, found: &mut impl FnMut(Key, &Value, usize)) {
    for (name, spanned) in table {
        let key = parent.child(name.get_ref());
        let Some(value) = values.get(name.get_ref().as_ref()) else { continue };
        let is_value = is_table(&key);
        match (spanned.get_ref(), value) {
            (DeValue::Table(inner), Value::Table(inner_values)) if !is_value && !inner.is_empty() => {
                flatten(&key, inner, inner_values, found);
            }
            _ => found(key, value, name.span().start),
        }
    }
}

/// Puts a value where its key says.
pub(crate) fn insert(table: &mut Table, parts: &[String], value: Value) {
    let [first, rest @ ..] = parts else { return };
    if rest.is_empty() {
        table.insert(first.clone(), value);
        return;
    }
    let inner = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(inner) = inner {
        insert(inner, rest, value);
    }
}

/// The value that a variable's text stands for, given a value of the right type.
pub(crate) fn parse(text: &str, example: &Value) -> Value {
    match example {
        Value::String(_) => Value::String(text.to_owned()),
        Value::Array(_) if text.trim_start().starts_with('[') => literal(text),
        Value::Array(items) => {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            let is_text = items.first().is_none_or(Value::is_str);
            Value::Array(
                words
                    .map(|word| if is_text { Value::String(word.to_owned()) } else { literal(word) })
                    .collect(),
            )
        }
        Value::Table(_) => serde_json::from_str::<Table>(text).map_or_else(|_| literal(text), Value::Table),
        _ => literal(text),
    }
}

/// A number, a boolean, a list or a table in TOML's spelling, else the text itself.
fn literal(text: &str) -> Value {
    let read = toml::from_str::<Table>(&format!("value = {}", text.trim()));
    read.ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| text.into())
}

/// Whether a URL holds a password.
pub(crate) fn has_password(url: &str) -> bool {
    let authority =
        url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) || url.contains("password=")
}

pub(crate) fn is_secret(key: &Key) -> bool {
    let template = key.template();
    let key = template.as_ref().unwrap_or(key);
    SECRETS.iter().any(|secret| key == &Key::new(secret))
}

/// Whether this is the key of some judge's API, or what a receiver must not be known by: no file may hold it.
pub(crate) fn is_kept_out_of_files(key: &Key) -> bool {
    let sections = ["judge", "judges", "notify"];
    key.0.first().is_some_and(|section| sections.contains(&section.as_str())) && is_secret(key)
}

fn is_table(key: &Key) -> bool {
    let template = key.template();
    matches!(
        template.as_ref().unwrap_or(key).0.as_slice(),
        [section, name] if section == "judge" && TABLES.contains(&name.as_str())
            || section == "notify" && name == "owners"
    )
}

/// A value as it may be printed.
pub(crate) fn shown(key: &Key, value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "\"\"".into(),
        Value::String(text) if may_hold_key(text) || is_misplaced(key, text) => HIDDEN.into(),
        _ if is_secret(key) => HIDDEN.into(),
        value => render(value),
    }
}

const HIDDEN: &str = "(hidden)";

/// Whether an address holds more than where something is: a user, or a query, where some providers want their key.
fn may_hold_key(text: &str) -> bool {
    has_password(text) || text.contains("://") && text.contains(['@', '?', '#'])
}

/// Whether the secret itself seems to stand where something about it should be said: its file, or its header.
fn is_misplaced(key: &Key, text: &str) -> bool {
    let name = key.0.last().map(String::as_str).unwrap_or_default();
    let is_file = text.contains(['/', '\\']) || std::path::Path::new(text).exists();
    let is_header = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    name.ends_with("_file") && !is_file || name.ends_with("_header") && !is_header
}

/// Whether a parameter of a provider's own is called like a secret.
fn is_called_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["key", "secret", "password", "authorization", "credential"].iter().any(|word| name.contains(word))
        || name.ends_with("token")
}

fn member(key: &str, value: &Value) -> String {
    match value {
        Value::Table(_) | Value::Array(_) => render(value),
        Value::String(text) if may_hold_key(text) => HIDDEN.into(),
        _ if is_called_secret(key) => HIDDEN.into(),
        value => render(value),
    }
}

/// A value in TOML's spelling.
fn render(value: &Value) -> String {
    match value {
        Value::String(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(render).collect::<Vec<_>>().join(", ")),
        Value::Table(table) if table.is_empty() => "{}".into(),
        Value::Table(table) => {
            let members: Vec<String> =
                table.iter().map(|(key, value)| format!("{key} = {}", member(key, value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Datetime(time) => time.to_string(),
    }
}
