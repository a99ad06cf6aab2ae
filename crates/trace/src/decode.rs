//! From the bytes of a message to a [`Trace`].

use serde_json::Value;

use crate::contract::{MAX_ID_CHARS, SCHEMA};
use crate::{Problem, Trace, json};

/// A message that is no trace. It goes to the dead letters with these problems; it is never tried again by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the message is not a {SCHEMA} trace")]
pub struct Undecodable {
    /// Every problem found, by path.
    pub problems: Vec<Problem>,
}

/// At most this many problems are listed; a message with more has another cause than its fields.
const MAX_PROBLEMS: usize = 50;

/// Reads one trace.
///
/// # Errors
/// [`Undecodable`] with all problems at once: not UTF-8, not JSON, no object, wrong or missing
/// `schema`, missing `trace_id` or `project`, fields of a wrong type, keys given twice.
pub fn decode(body: &[u8]) -> Result<Trace, Undecodable> {
    let document = read_object(body).map_err(|problem| Undecodable { problems: vec![problem] })?;
    let mut problems: Vec<Problem> = document
        .duplicate_keys
        .iter()
        .map(|path| Problem::new(path, "this key is given more than once; which value counts is unclear"))
        .collect();
    let mut value = document.value;
    problems.extend(required_fields(&value));
    placeholders(&mut value);
    match typed(value, &mut problems) {
        Some(trace) if problems.is_empty() => Ok(trace),
        _ => {
            problems.truncate(MAX_PROBLEMS);
            Err(Undecodable { problems })
        }
    }
}

/// The JSON object in the body, after a byte order mark and lone surrogates are dealt with.
fn read_object(body: &[u8]) -> Result<json::Document, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| {
        Problem::new(
            "$",
            format!("the message is not UTF-8: the first bad byte is at offset {}", error.valid_up_to()),
        )
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Problem::new("$", "the message is empty"));
    }
    let document = json::read(&json::mend_surrogates(text))
        .map_err(|error| Problem::new("$", format!("the message is not JSON: {error}")))?;
    match &document.value {
        Value::Object(_) => Ok(document),
        Value::String(inner) if json::read(inner).is_ok_and(|inner| inner.value.is_object()) => {
            Err(Problem::new(
                "$",
                "the message is JSON that was encoded twice: a string that holds an object; send the object itself",
            ))
        }
        Value::Array(_) => {
            Err(Problem::new("$", "expected one trace object, found an array; one message carries one trace"))
        }
        other => Err(Problem::new("$", format!("expected a trace object, found {}", type_name(other)))),
    }
}

/// The three fields without which a trace cannot even be stored under a name.
fn required_fields(value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    match value.get("schema") {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        Some(Value::String(_)) => {
            problems.push(Problem::new(
                "$.schema",
                format!("this version of the contract is unknown; expected \"{SCHEMA}\""),
            ));
        }
        other => problems.push(missing_or_mistyped("$.schema", other)),
    }
    for key in ["trace_id", "project"] {
        let path = format!("$.{key}");
        match value.get(key) {
            Some(Value::String(id)) if id.trim().is_empty() => {
                problems.push(Problem::new(path, "must not be blank"))
            }
            Some(Value::String(id)) if id.chars().count() > MAX_ID_CHARS => {
                problems.push(Problem::new(path, format!("longer than {MAX_ID_CHARS} characters")));
            }
            Some(Value::String(id)) if id.contains('\0') => {
                problems.push(Problem::new(path, "must not contain the NUL character"));
            }
            Some(Value::String(_)) => {}
            other => problems.push(missing_or_mistyped(&path, other)),
        }
    }
    problems
}

fn missing_or_mistyped(path: &str, value: Option<&Value>) -> Problem {
    match value {
        None | Some(Value::Null) => Problem::new(path, "required, and missing"),
        Some(other) => Problem::new(path, format!("expected a string, found {}", type_name(other))),
    }
}

/// Lets the typed reader go on past required fields that are already reported.
fn placeholders(value: &mut Value) {
    if let Value::Object(object) = value {
        for key in ["schema", "trace_id", "project"] {
            if !object.get(key).is_some_and(Value::is_string) {
                object.insert(key.to_owned(), Value::String(String::new()));
            }
        }
    }
}

/// Reads the value into the typed contract. Each mistyped field is reported and blanked, so that the
/// next one is found as well.
fn typed(mut value: Value, problems: &mut Vec<Problem>) -> Option<Trace> {
    while problems.len() < MAX_PROBLEMS {
        match serde_path_to_error::deserialize::<_, Trace>(&value) {
            Ok(trace) => return Some(trace),
            Err(error) => {
                let mut steps: Vec<_> = error.path().iter().cloned().collect();
                let problem = Problem::new(render(&steps), error.inner().to_string());
                if problems.iter().any(|known| known.path == problem.path) {
                    // Blanking was not enough, as with a word in a list of words: blank what holds it.
                    steps.pop();
                } else {
                    problems.push(problem);
                }
                if !blank(&mut value, &steps) {
                    return None;
                }
            }
        }
    }
    None
}

fn render(steps: &[serde_path_to_error::Segment]) -> String {
    use serde_path_to_error::Segment;
    steps.iter().fold("$".to_owned(), |path, step| match step {
        Segment::Seq { index } => format!("{path}[{index}]"),
        Segment::Map { key } => json::member(&path, key),
        Segment::Enum { variant } => json::member(&path, variant),
        Segment::Unknown => path,
    })
}

/// Blanks the value at `steps`: a member becomes null, an item of a list an empty object. False when
/// there is no such place or nothing to blank.
fn blank(value: &mut Value, steps: &[serde_path_to_error::Segment]) -> bool {
    use serde_path_to_error::Segment;
    let mut place = value;
    let mut blanked = Value::Null;
    for step in steps {
        let next = match step {
            Segment::Seq { index } => place.get_mut(*index),
            Segment::Map { key } => place.get_mut(key.as_str()),
            // A bad word is reported below the field that holds it.
            Segment::Enum { .. } | Segment::Unknown => break,
        };
        let Some(next) = next else { return false };
        place = next;
        blanked = if matches!(step, Segment::Seq { .. }) {
            Value::Object(serde_json::Map::new())
        } else {
            Value::Null
        };
    }
    if steps.is_empty() || *place == blanked {
        return false;
    }
    *place = blanked;
    true
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
