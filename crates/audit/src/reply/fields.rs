//! A typed reader over a JSON object that collects everything that is wrong at once, with paths.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use trace::json::member;

use super::extract::type_name;
use super::{Code, Problem};

/// Reads the fields of one object, and of the objects in it.
#[derive(Debug)]
pub struct Fields<'a> {
    path: String,
    object: &'a Map<String, Value>,
    asked: Vec<&'static str>,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

impl<'a> Fields<'a> {
    /// A reader of the object at `path`.
    pub fn new(path: impl Into<String>, object: &'a Map<String, Value>) -> Self {
        Self { path: path.into(), object, asked: Vec::new(), problems: Vec::new(), notes: Vec::new() }
    }

    /// The path of one of this object's keys.
    pub fn path_of(&self, key: &str) -> String {
        member(&self.path, key)
    }

    /// Adds a problem with one of this object's keys.
    pub fn refuse(&mut self, code: Code, key: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(code, self.path_of(key), message));
    }

    /// Notes an oddity of one of this object's keys.
    pub fn note(&mut self, key: &str, message: &str) {
        self.notes.push(format!("{}: {message}", self.path_of(key)));
    }

    /// The string at a key, if it is one.
    pub fn string(&self, key: &str) -> Option<&'a str> {
        self.object.get(key)?.as_str()
    }

    /// A number in a range.
    pub fn number(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        let number = match self.required(key, "a number")? {
            Value::Number(number) => number.as_f64(),
            other => return self.wrong_type(key, other, "a number"),
        };
        match number.filter(|number| range.contains(number)) {
            None => {
                self.refuse(
                    Code::OutOfRange,
                    key,
                    format!("expected a number from {} to {}", range.start(), range.end()),
                );
                None
            }
            found => found,
        }
    }

    /// A whole number that is not negative; `2.0` is one.
    pub fn count(&mut self, key: &'static str) -> Option<u64> {
        const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
        let value = self.required(key, "a whole number")?;
        let Value::Number(number) = value else { return self.wrong_type(key, value, "a whole number") };
        if let Some(count) = number.as_u64() {
            return Some(count);
        }
        let float = number.as_f64().unwrap_or(f64::NAN);
        if float.fract() != 0.0 {
            self.refuse(Code::WrongType, key, "a fraction; expected a whole number");
            return None;
        }
        if !(0.0..=LARGEST_EXACT).contains(&float) {
            self.refuse(Code::OutOfRange, key, "expected a whole number from 0");
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and within the exact range of f64"
        )]
        Some(float as u64)
    }

    /// A string that says something.
    pub fn text(&mut self, key: &'static str) -> Option<&'a str> {
        let text = self.text_or_empty(key)?;
        if text.trim().is_empty() {
            self.refuse(Code::MissingKey, key, "empty; expected text");
            return None;
        }
        Some(text)
    }

    /// A string that may be empty.
    pub fn text_or_empty(&mut self, key: &'static str) -> Option<&'a str> {
        match self.required(key, "a string")? {
            Value::String(text) => Some(text),
            other => self.wrong_type(key, other, "a string"),
        }
    }

    /// A string or null; the key must be there. The outer option is empty when it is neither.
    pub fn nullable_text(&mut self, key: &'static str) -> Option<Option<&'a str>> {
        match self.present(key, "a string or null")? {
            Value::Null => Some(None),
            Value::String(text) => Some(Some(text)),
            other => self.wrong_type(key, other, "a string or null"),
        }
    }

    /// One of the allowed words, in any case.
    pub fn word(&mut self, key: &'static str, allowed: &[&'static str]) -> Option<&'static str> {
        match self.required(key, &expected(allowed))? {
            Value::String(word) => self.allowed(key, word, allowed),
            other => self.wrong_type(key, other, &expected(allowed)),
        }
    }

    /// One of the allowed words, or null; the key must be there.
    pub fn nullable_word(
        &mut self,
        key: &'static str,
        allowed: &[&'static str],
    ) -> Option<Option<&'static str>> {
        let wanted = format!("{} or null", expected(allowed));
        match self.present(key, &wanted)? {
            Value::Null => Some(None),
            Value::String(word) => self.allowed(key, word, allowed).map(Some),
            other => self.wrong_type(key, other, &wanted),
        }
    }

    /// A list of objects, each read by `read`; the ones that could be read.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Fields<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let value = self.required(key, "an array")?;
        let Value::Array(items) = value else { return self.wrong_type(key, value, "an array") };
        let mut out = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let path = format!("{}[{at}]", self.path_of(key));
            let Value::Object(object) = item else {
                let message = format!("{}; expected an object", type_name(item));
                self.problems.push(Problem::new(Code::WrongType, path, message));
                continue;
            };
            let mut fields = Fields::new(path, object);
            out.extend(read(&mut fields));
            let (problems, notes) = fields.finish();
            self.problems.extend(problems);
            self.notes.extend(notes);
        }
        Some(out)
    }

    /// One object, read by `read`.
    pub fn object<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Fields<'a>) -> Option<T>,
    ) -> Option<T> {
        let value = self.required(key, "an object")?;
        let Value::Object(object) = value else { return self.wrong_type(key, value, "an object") };
        let mut fields = Fields::new(self.path_of(key), object);
        let out = read(&mut fields);
        let (problems, notes) = fields.finish();
        self.problems.extend(problems);
        self.notes.extend(notes);
        out
    }

    /// An id of a list that we numbered: a string, or the same as a whole number, which is noted.
    pub fn identifier(&mut self, key: &'static str) -> Option<String> {
        match self.required(key, "a string")? {
            Value::String(id) if id.trim().is_empty() => {
                self.refuse(Code::MissingKey, key, "empty; expected an id of the list");
                None
            }
            Value::String(id) => Some(id.clone()),
            Value::Number(number) if number.is_u64() => {
                self.note(key, "a number, read as a string");
                Some(number.to_string())
            }
            other => self.wrong_type(key, other, "a string"),
        }
    }

    /// A number that the judge gave to something: a whole number, or the same as a string, which is noted.
    pub fn ordinal(&mut self, key: &'static str) -> Option<u64> {
        let Some(Value::String(text)) = self.object.get(key) else { return self.count(key) };
        let digits = text.trim();
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse().ok().filter(|_| is_plain) {
            Some(number) => {
                self.asked.push(key);
                self.note(key, "a string, read as a number");
                Some(number)
            }
            None => self.count(key),
        }
    }

    /// Everything that was wrong, and what was odd; keys that nobody asked for are odd.
    pub fn finish(mut self) -> (Vec<Problem>, Vec<String>) {
        let extra: Vec<&String> =
            self.object.keys().filter(|key| !self.asked.contains(&key.as_str())).collect();
        for key in extra {
            self.notes.push(format!("{}: unknown key, ignored", member(&self.path, key)));
        }
        (self.problems, self.notes)
    }

    fn present(&mut self, key: &'static str, wanted: &str) -> Option<&'a Value> {
        self.asked.push(key);
        let value = self.object.get(key);
        if value.is_none() {
            self.refuse(Code::MissingKey, key, format!("missing; expected {wanted}"));
        }
        value
    }

    fn required(&mut self, key: &'static str, wanted: &str) -> Option<&'a Value> {
        let value = self.present(key, wanted)?;
        if value.is_null() {
            self.refuse(Code::MissingKey, key, format!("null; expected {wanted}"));
            return None;
        }
        Some(value)
    }

    fn wrong_type<T>(&mut self, key: &str, value: &Value, wanted: &str) -> Option<T> {
        self.refuse(Code::WrongType, key, format!("{}; expected {wanted}", type_name(value)));
        None
    }

    fn allowed(&mut self, key: &str, word: &str, allowed: &[&'static str]) -> Option<&'static str> {
        let Some(found) = allowed.iter().copied().find(|known| known.eq_ignore_ascii_case(word)) else {
            self.refuse(Code::BadEnum, key, format!("expected {}, got `{}`", expected(allowed), shown(word)));
            return None;
        };
        if found != word {
            self.note(key, &format!("`{word}` was read as `{found}`"));
        }
        Some(found)
    }
}

/// A word of the judge, fit to be shown: short, and without characters that a terminal would obey.
fn shown(word: &str) -> String {
    const LONGEST: usize = 40;
    crate::text::shorten(word, LONGEST).escape_debug().to_string()
}

fn expected(allowed: &[&str]) -> String {
    let words: Vec<String> = allowed.iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(value: &Value, read: impl FnOnce(&mut Fields<'_>)) -> Vec<(Code, String)> {
        let mut fields = Fields::new("$", value.as_object().unwrap());
        read(&mut fields);
        fields.finish().0.into_iter().map(|problem| (problem.code, problem.path)).collect()
    }

    #[test]
    fn numbers_are_not_guessed() {
        let value =
            json!({"a": "0.5", "b": true, "c": 2.5, "d": 2.0, "e": -1, "f": 1.5, "g": null, "h": 1e300});
        let found = problems(&value, |fields| {
            fields.number("a", 0.0..=1.0);
            fields.number("b", 0.0..=1.0);
            fields.count("c");
            assert_eq!(fields.count("d"), Some(2));
            fields.count("e");
            fields.number("f", 0.0..=1.0);
            fields.count("g");
            fields.count("h");
        });
        use Code::{MissingKey, OutOfRange, WrongType};
        let codes: Vec<Code> = found.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, [WrongType, WrongType, WrongType, OutOfRange, OutOfRange, MissingKey, OutOfRange]);
    }

    #[test]
    fn a_nullable_key_must_be_there() {
        let value = json!({"a": null, "t": "  "});
        let found = problems(&value, |fields| {
            assert_eq!(fields.nullable_text("a"), Some(None));
            assert_eq!(fields.nullable_text("b"), None);
            fields.text("t");
        });
        assert_eq!(found, [(Code::MissingKey, "$.b".to_owned()), (Code::MissingKey, "$.t".to_owned())]);
    }

    #[test]
    fn words_differ_in_case_only() {
        let value = json!({"a": "Grounded", "b": "grounded.", "c": " grounded", "odd key": 1});
        let mut fields = Fields::new("$", value.as_object().unwrap());
        assert_eq!(fields.word("a", &["grounded"]), Some("grounded"));
        assert_eq!(fields.word("b", &["grounded", "hallucinated"]), None);
        assert_eq!(fields.word("c", &["grounded"]), None);
        let (problems, notes) = fields.finish();
        assert_eq!(problems[0].message, "expected `grounded` or `hallucinated`, got `grounded.`");
        assert_eq!(problems.len(), 2);
        assert_eq!(notes, ["$.a: `Grounded` was read as `grounded`", "$[\"odd key\"]: unknown key, ignored"]);
    }
}
