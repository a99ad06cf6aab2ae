//! From the judge's text to the one JSON object that is meant.
//!
//! Models wrap their JSON in fences, reasoning and courtesies; all of that is taken off and noted.
//! What is never done: to repair broken JSON, or to choose between two objects.

use serde_json::Value;
use trace::json::{self, Document};

use super::groups::{extent, has_key, looks_like_array, looks_like_object};
use super::{Code, Problem, refusal};

/// What a reply's text holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Extracted {
    /// The judge, or its provider's filter, declined.
    Refusal(Problem),
    /// No object that could be read.
    Unreadable(Vec<Problem>),
    /// The one object that is meant.
    Object {
        /// The object.
        value: Value,
        /// Oddities that were tolerated, in short sentences.
        notes: Vec<String>,
    },
}

/// Finds the object that is meant in a judge's text. `keys` are the top-level keys that it should have.
pub fn extract(content: &str, finish_reason: Option<&str>, keys: &[&str]) -> Extracted {
    let finish = Finish::of(finish_reason);
    if finish == Finish::Filtered {
        let reason = finish_reason.unwrap_or_default();
        return Extracted::Refusal(Problem::new(
            Code::Refused,
            "$",
            format!("the reply was withheld: finish reason `{reason}`"),
        ));
    }
    let mut notes = Vec::new();
    let mended = json::mend_surrogates(content);
    if matches!(mended, std::borrow::Cow::Owned(_)) {
        notes.push("half of a surrogate pair was replaced".to_owned());
    }
    let text = trim(&mended);
    if text.is_empty() {
        return unreadable(finish, Code::Empty, "the reply is empty; expected one JSON object".into());
    }
    match Search::new(keys, finish).run(text) {
        Found::Object(document, more) => {
            notes.extend(more);
            accept(document, finish, notes)
        }
        Found::Problem(code, message) => unreadable(finish, code, message),
        Found::Refusal => {
            Extracted::Refusal(Problem::new(Code::Refused, "$", "the judge declined to answer"))
        }
    }
}

fn accept(document: Document, finish: Finish, mut notes: Vec<String>) -> Extracted {
    if !document.duplicate_keys.is_empty() {
        let duplicate = |path| Problem::new(Code::DuplicateKey, path, "this key is given more than once");
        return Extracted::Unreadable(document.duplicate_keys.into_iter().map(duplicate).collect());
    }
    if finish == Finish::Length {
        notes.push("the reply is complete although it stopped at the length limit".to_owned());
    }
    Extracted::Object { value: document.value, notes }
}

fn unreadable(finish: Finish, code: Code, message: String) -> Extracted {
    let is_cut = finish == Finish::Length && matches!(code, Code::Empty | Code::NotJson);
    let (code, message) = if is_cut {
        (
            Code::Truncated,
            "the reply stopped at the length limit before its JSON object was complete".to_owned(),
        )
    } else {
        (code, message)
    };
    Extracted::Unreadable(vec![Problem::new(code, "$", message)])
}

/// Why the judge stopped, as far as reading depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    Length,
    Filtered,
    Other,
}

impl Finish {
    fn of(reason: Option<&str>) -> Self {
        match reason.unwrap_or_default().to_ascii_lowercase().as_str() {
            "length" | "max_tokens" | "max_output_tokens" | "model_length" => Self::Length,
            "content_filter" | "content_filtered" | "refusal" | "safety" | "prohibited_content" => {
                Self::Filtered
            }
            _ => Self::Other,
        }
    }
}

/// Takes off white space, byte order marks and other characters that are not seen.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}' | '\u{2060}' | '\0'))
}

const REASONING_ONLY: &str = "the reply is reasoning only; expected one JSON object";

/// The tags that close a model's reasoning, with those that open it.
const REASONING: [(&str, &str); 7] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<analysis>", "</analysis>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
];

/// The length of a tag of the list at the start of `text`, in any case.
fn tag_at(text: &str, tags: impl Fn(&(&'static str, &'static str)) -> &'static str) -> Option<usize> {
    REASONING
        .iter()
        .map(tags)
        .find(|tag| text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag)))
        .map(str::len)
}

fn closing_tag_at(text: &str) -> Option<usize> {
    tag_at(text, |pair| pair.1)
}

/// The first closing tag in `text`: where it begins and ends.
fn find_closing_tag(text: &str) -> Option<(usize, usize)> {
    text.char_indices().filter(|(_, c)| matches!(c, '<' | '[' | '◁')).find_map(|(at, _)| {
        let length = closing_tag_at(&text[at..])?;
        Some((at, at + length))
    })
}

enum Found {
    Object(Document, Vec<String>),
    Problem(Code, String),
    Refusal,
}

/// How a scan over a text ended.
enum Scan {
    /// Reasoning ends here: what counts comes after.
    ReasoningEndsAt(usize),
    /// The whole text was read.
    Done,
}

struct Search<'a> {
    keys: &'a [&'a str],
    finish: Finish,
    /// Different objects that could be meant, at most two.
    meant: Vec<Document>,
    /// Different objects with none of the keys, at most two.
    others: Vec<Document>,
    /// Whether an object that could be meant came more than once.
    is_repeated: bool,
    /// An array with an object in it.
    has_array: bool,
    /// Why the first broken piece could not be read, and whether it breaks off.
    broken: Option<(String, bool)>,
    /// The same for the first broken piece that has one of the keys.
    broken_meant: Option<(String, bool)>,
    /// Set once no closing reasoning tag is left, so that nobody looks for one again.
    is_past_reasoning: bool,
}

impl<'a> Search<'a> {
    fn new(keys: &'a [&'a str], finish: Finish) -> Self {
        Self {
            keys,
            finish,
            meant: Vec::new(),
            others: Vec::new(),
            is_repeated: false,
            has_array: false,
            broken: None,
            broken_meant: None,
            is_past_reasoning: false,
        }
    }

    fn run(mut self, text: &str) -> Found {
        /// No model ends its reasoning more often; a text made of endings must not cost more than a long one.
        const MAX_ENDINGS: usize = 64;
        let mut notes = Vec::new();
        let mut text = text;
        for _ in 0..MAX_ENDINGS {
            if text.is_empty() {
                return Found::Problem(Code::Empty, REASONING_ONLY.into());
            }
            if let Some(found) = whole(text) {
                return with_notes(found, notes);
            }
            if tag_at(text, |pair| pair.0).is_some() {
                let Some((_, end)) = find_closing_tag(text) else {
                    return Found::Problem(Code::Empty, REASONING_ONLY.into());
                };
                text = self.after_reasoning(text, end, &mut notes);
                continue;
            }
            if let Some(found) = unfenced(text).and_then(whole) {
                notes.push("a code fence around the reply was removed".to_owned());
                return with_notes(found, notes);
            }
            match self.scan(text) {
                Scan::ReasoningEndsAt(end) => text = self.after_reasoning(text, end, &mut notes),
                Scan::Done => return self.decide(text, notes),
            }
        }
        Found::Problem(
            Code::NotJson,
            format!("reasoning ends more than {MAX_ENDINGS} times; expected one JSON object"),
        )
    }

    fn after_reasoning<'t>(&mut self, text: &'t str, end: usize, notes: &mut Vec<String>) -> &'t str {
        *self = Search::new(self.keys, self.finish);
        if notes.is_empty() {
            notes.push("reasoning before the reply was removed".to_owned());
        }
        trim(&text[end..])
    }

    /// Reads `text` from left to right and collects what could be meant.
    fn scan(&mut self, text: &str) -> Scan {
        let mut at = 0;
        while let Some(step) = text[at..].find(['{', '[', '<', '◁']) {
            at += step;
            let rest = &text[at..];
            if let Some(length) = closing_tag_at(rest) {
                return Scan::ReasoningEndsAt(at + length);
            }
            if let Some(length) = tag_at(rest, |pair| pair.0) {
                let closing = if self.is_past_reasoning { None } else { find_closing_tag(&rest[length..]) };
                match closing {
                    Some((_, end)) => return Scan::ReasoningEndsAt(at + length + end),
                    None => self.is_past_reasoning = true,
                }
            }
            let is_group =
                if rest.starts_with('{') { looks_like_object(rest) } else { looks_like_array(rest) };
            if !is_group {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
            match json::read_prefix(rest) {
                Ok((document, length)) => {
                    self.collect(document);
                    at += length.max(1);
                }
                Err(error) => {
                    let extent = extent(rest);
                    let piece = &rest[..extent.unwrap_or(rest.len())];
                    if let Some((_, end)) = find_closing_tag(piece) {
                        return Scan::ReasoningEndsAt(at + end);
                    }
                    let fault = (error.to_string(), extent.is_none());
                    if self.keys.iter().any(|key| has_key(piece, key)) {
                        self.broken_meant.get_or_insert_with(|| fault.clone());
                    }
                    self.broken.get_or_insert(fault);
                    at += piece.len();
                }
            }
        }
        Scan::Done
    }

    fn collect(&mut self, document: Document) {
        match &document.value {
            Value::Object(object) => {
                let is_meant = self.keys.iter().any(|key| object.contains_key(*key));
                let list = if is_meant { &mut self.meant } else { &mut self.others };
                if list.iter().any(|known| known.value == document.value) {
                    self.is_repeated |= is_meant;
                } else if list.len() < 2 {
                    list.push(document);
                }
            }
            Value::Array(items) => self.has_array |= items.iter().any(holds_object),
            _ => {}
        }
    }

    fn decide(mut self, text: &str, mut notes: Vec<String>) -> Found {
        let several = || {
            Found::Problem(
                Code::SeveralCandidates,
                "several different JSON objects could be meant; expected one".into(),
            )
        };
        if self.meant.len() > 1 {
            return several();
        }
        match (self.meant.pop(), self.broken_meant) {
            (Some(_), Some((message, true))) => return Found::Problem(Code::Truncated, message),
            (Some(_), Some((_, false))) => return several(),
            (Some(document), None) => {
                notes.push("text around the JSON object was ignored".to_owned());
                if self.is_repeated {
                    notes.push("the same JSON object came more than once".to_owned());
                }
                return Found::Object(document, notes);
            }
            (None, Some((message, is_cut))) => return broken(message, is_cut, self.finish),
            (None, None) => {}
        }
        if let Some((message, is_cut)) = self.broken {
            return broken(message, is_cut, self.finish);
        }
        if self.has_array {
            return Found::Problem(Code::WrongType, "the reply is an array; expected an object".into());
        }
        match (self.others.pop(), self.others.is_empty()) {
            // An object in a refusal, such as an example of the format, is no reply.
            _ if refusal::is_refusal(text) => Found::Refusal,
            (None, _) => Found::Problem(Code::NotJson, "there is no JSON object in the reply".into()),
            (Some(document), true) => {
                notes.push("text around the JSON object was ignored".to_owned());
                Found::Object(document, notes)
            }
            (Some(_), false) => several(),
        }
    }
}

fn with_notes(found: Found, mut notes: Vec<String>) -> Found {
    match found {
        Found::Object(document, more) => {
            notes.extend(more);
            Found::Object(document, notes)
        }
        other => other,
    }
}

fn broken(message: String, is_cut: bool, finish: Finish) -> Found {
    if is_cut || finish == Finish::Length {
        return Found::Problem(Code::Truncated, format!("the JSON object is not complete: {message}"));
    }
    Found::Problem(Code::NotJson, format!("the JSON object cannot be read: {message}"))
}

/// The text as one JSON value, if it is one.
fn whole(text: &str) -> Option<Found> {
    if !text.starts_with(['{', '[', '"', '-', 't', 'f', 'n'])
        && !text.starts_with(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let document = json::read(text).ok()?;
    Some(match document.value {
        Value::Object(_) => Found::Object(document, Vec::new()),
        other => {
            Found::Problem(Code::WrongType, format!("the reply is {}; expected an object", type_name(&other)))
        }
    })
}

/// What a JSON value is, with its article.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn holds_object(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(holds_object),
        _ => false,
    }
}

/// The text inside of one code fence around everything.
fn unfenced(text: &str) -> Option<&str> {
    let fence = ["```", "~~~"].into_iter().find(|fence| text.starts_with(fence))?;
    let opened = text.trim_start_matches(&fence[..1]);
    let body = opened.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'));
    let closed = trim(body).strip_suffix(fence)?;
    Some(trim(closed.trim_end_matches(&fence[..1])))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[&str] = &["score"];

    fn code(text: &str) -> Option<Code> {
        match extract(text, None, KEYS) {
            Extracted::Object { .. } => None,
            Extracted::Refusal(problem) => Some(problem.code),
            Extracted::Unreadable(problems) => Some(problems[0].code),
        }
    }

    #[test]
    fn an_inner_object_of_a_broken_one_is_no_candidate() {
        assert_eq!(code(r#"{"score": 1, "list": [{"score": 2}],}"#), Some(Code::NotJson));
        assert_eq!(code(r#"{"list": [{"score": 2}"#), Some(Code::Truncated));
        assert_eq!(code(r#"[{"score": 1}"#), Some(Code::Truncated));
    }

    #[test]
    fn braces_and_brackets_of_prose_are_no_candidates() {
        assert_eq!(code(r#"Dear {user}, see [1] and { this }: {"score": 1} {"#), None);
        assert_eq!(code(r#"{"other": 1} and {"score": 1}"#), None);
        assert_eq!(code(r#"{"other": ...} and {"score": 1}"#), None);
        assert_eq!(code(r#"{"other": 1} and {"more": 2}"#), Some(Code::SeveralCandidates));
        assert_eq!(code(r#"as {"score": <number>} wants: {"score": 1}"#), Some(Code::SeveralCandidates));
    }

    #[test]
    fn texts_made_to_cost_time_cost_little() {
        const TIMES: usize = 1 << 14;
        for piece in [
            "{",
            "[",
            "{ ",
            "[{",
            "{}",
            "{\"",
            "{\"a\":",
            "{\"a\":[",
            "{'a':'",
            "{\"a\":}",
            "<think>",
            "{\"score\":1}</think>",
            "```",
            "\"",
            "{a:<think>",
        ] {
            let _ = extract(&piece.repeat(TIMES), None, KEYS);
        }
    }
}
