//! What the messages of `groundcrew.review` say.

use audit::report::Severity;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// The longest text of a trace that goes along, in characters.
const MOST_CONTENT: usize = 1000;

/// A review item, as far as it matters for who is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The review item.
    pub review_item: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind.
    pub kind: String,
    /// The gravest finding; none where the kind has no severities, or the judge's replies could not be used.
    pub severity: Option<Severity>,
    /// Whether routing made it urgent.
    pub urgent: bool,
    /// Whether it is of the blind sample.
    pub blind: bool,
    /// Whether the practice judge decided it.
    pub practice: bool,
    /// The codes of the reasons, each once, in alphabetical order.
    pub reasons: Vec<String>,
    /// Who answers for the content.
    pub content_owner: Option<String>,
    /// What the trace says.
    pub content: Option<Content>,
}

/// Texts of a trace, cut to [`MOST_CONTENT`] characters each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The question.
    pub query: String,
    /// The answer.
    pub answer: String,
}

impl Content {
    /// Cuts them; none when there is neither.
    pub(crate) fn of(query: Option<String>, answer: Option<String>) -> Option<Self> {
        let cut = |text: Option<String>| text.unwrap_or_default().chars().take(MOST_CONTENT).collect();
        (query.is_some() || answer.is_some()).then(|| Self { query: cut(query), answer: cut(answer) })
    }

    /// As pages keep it.
    pub(crate) fn json(&self) -> Value {
        json!({ "query": self.query, "answer": self.answer })
    }
}

/// A message, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// An item was made.
    Opened(Box<Notice>),
    /// An item was taken or closed.
    Moved(Uuid),
    /// Nothing that anybody is told about.
    Other,
}

/// A message is none of ours.
#[derive(Debug, thiserror::Error)]
#[error("not a message about a review item")]
pub struct Unreadable(#[from] serde_json::Error);

#[derive(Deserialize)]
struct Opened {
    review_item: Uuid,
    project: String,
    trace_id: String,
    kind: String,
    #[serde(default)]
    severity: Option<Severity>,
    #[serde(default)]
    urgent: bool,
    #[serde(default)]
    blind: bool,
    #[serde(default)]
    practice: bool,
    #[serde(default)]
    reasons: Vec<Value>,
    #[serde(default)]
    content_owner: Option<String>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    answer: Option<String>,
}

#[derive(Deserialize)]
struct Moved {
    review_item: Uuid,
}

impl Incoming {
    /// Reads a message by its routing key.
    ///
    /// # Errors
    /// [`Unreadable`] when the body is not what the key promises.
    pub fn read(routing_key: &str, body: &[u8]) -> Result<Self, Unreadable> {
        match routing_key {
            "review.opened" => {
                let opened: Opened = serde_json::from_slice(body)?;
                Ok(Self::Opened(Box::new(opened.into())))
            }
            "review.taken" | "review.closed" => {
                let moved: Moved = serde_json::from_slice(body)?;
                Ok(Self::Moved(moved.review_item))
            }
            _ => Ok(Self::Other),
        }
    }
}

impl From<Opened> for Notice {
    fn from(opened: Opened) -> Self {
        let code = |reason: &Value| reason.get("code").and_then(Value::as_str).map(str::to_owned);
        let mut reasons: Vec<String> = opened.reasons.iter().filter_map(code).collect();
        reasons.sort_unstable();
        reasons.dedup();
        Self {
            review_item: opened.review_item,
            project: opened.project,
            trace_id: opened.trace_id,
            kind: opened.kind,
            severity: opened.severity,
            urgent: opened.urgent,
            blind: opened.blind,
            practice: opened.practice,
            reasons,
            content_owner: opened.content_owner,
            content: Content::of(opened.query, opened.answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_by_its_key() {
        let id = Uuid::from_u128(7);
        let body = json!({
            "review_item": id, "project": "harbour", "trace_id": "t", "kind": "faithfulness", "severity": "critical",
            "urgent": true, "reasons": [{ "code": "b" }, { "code": "a" }, { "code": "b" }], "query": "q",
            "answer": "x".repeat(5000), "content_owner": "fares",
        });
        let read = Incoming::read("review.opened", body.to_string().as_bytes()).unwrap();
        let Incoming::Opened(notice) = read else { panic!("{read:?}") };
        assert_eq!(notice.reasons, ["a", "b"]);
        assert_eq!((notice.severity, notice.urgent), (Some(Severity::Critical), true));
        assert_eq!(notice.content.unwrap().answer.len(), MOST_CONTENT);
        let moved = json!({ "review_item": id }).to_string();
        assert_eq!(Incoming::read("review.taken", moved.as_bytes()).unwrap(), Incoming::Moved(id));
        assert_eq!(Incoming::read("review.closed", moved.as_bytes()).unwrap(), Incoming::Moved(id));
        assert_eq!(Incoming::read("review.lent", b"?").unwrap(), Incoming::Other);
        assert!(Incoming::read("review.opened", b"{}").is_err());
        assert!(Incoming::read("review.taken", b"no JSON").is_err());
    }
}
