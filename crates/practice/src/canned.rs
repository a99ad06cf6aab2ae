//! Replies that are fixed beforehand, trace by trace.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::faults::Fault;

/// Fixed replies by trace id. The n-th call for a trace gets the n-th reply, the last one repeats.
#[derive(Debug, Clone, Default)]
pub struct Canned {
    replies: HashMap<String, Vec<CannedReply>>,
}

/// One fixed reply.
///
/// Without `content` it is what the practice judge would have said, so `{"practice": true}` is the normal
/// answer, and `{"fault": "hang"}` is the fault that is named.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CannedReply {
    /// The message's content. A text is given as it is, anything else as its JSON.
    pub content: Option<Value>,
    /// The finish reason; `stop` when not given.
    pub finish_reason: Option<String>,
    /// The HTTP status; 200 when not given. With another one the content becomes the error's message.
    pub status: Option<u16>,
    /// How much later than usual the reply comes, in milliseconds.
    pub delay_ms: u64,
    /// A fault that is done to the reply.
    pub fault: Option<Fault>,
    /// Says in so many words that this is the normal answer.
    pub practice: bool,
}

/// A file of canned replies that cannot be used.
#[derive(Debug, Error)]
pub enum CannedError {
    /// A line is not what it should be.
    #[error("line {line} of the canned replies is wrong")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// A line holds values that make no sense.
    #[error("line {line} of the canned replies: {problem}")]
    Sense {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    trace_id: String,
    replies: Vec<CannedReply>,
}

impl Canned {
    /// Reads JSON Lines of `{"trace_id": "...", "replies": [...]}`. Empty lines are skipped.
    ///
    /// # Errors
    /// The first line that is wrong, by its number.
    pub fn parse(text: &str) -> Result<Canned, CannedError> {
        let mut canned = Canned::default();
        for (index, text) in text.lines().enumerate() {
            let line = index + 1;
            if text.trim().is_empty() {
                continue;
            }
            let Line { trace_id, replies } =
                serde_json::from_str(text).map_err(|source| CannedError::Line { line, source })?;
            if let Some(problem) = problem(&trace_id, &replies) {
                return Err(CannedError::Sense { line, problem });
            }
            if canned.replies.insert(trace_id, replies).is_some() {
                return Err(CannedError::Sense { line, problem: "this trace stands on an earlier line too" });
            }
        }
        Ok(canned)
    }

    /// Sets the replies for a trace. Without replies the trace is treated like any other.
    pub fn insert(&mut self, trace_id: impl Into<String>, replies: Vec<CannedReply>) {
        if !replies.is_empty() {
            self.replies.insert(trace_id.into(), replies);
        }
    }

    /// The reply to the n-th call for a trace, n from 1.
    pub(crate) fn get(&self, trace_id: &str, nth: u64) -> Option<&CannedReply> {
        let replies = self.replies.get(trace_id)?;
        let index = usize::try_from(nth.saturating_sub(1)).unwrap_or(usize::MAX);
        replies.get(index).or(replies.last())
    }
}

impl CannedReply {
    /// A reply of this content and nothing else.
    pub fn content(content: impl Into<Value>) -> CannedReply {
        CannedReply { content: Some(content.into()), ..CannedReply::default() }
    }

    /// A reply with this fault.
    pub fn fault(fault: Fault) -> CannedReply {
        CannedReply { fault: Some(fault), ..CannedReply::default() }
    }

    /// The normal answer.
    pub fn practice() -> CannedReply {
        CannedReply { practice: true, ..CannedReply::default() }
    }
}

fn problem(trace_id: &str, replies: &[CannedReply]) -> Option<&'static str> {
    if trace_id.is_empty() {
        return Some("the trace id is empty");
    }
    if replies.is_empty() {
        return Some("there are no replies");
    }
    replies.iter().find_map(|reply| {
        if *reply == CannedReply::default() {
            return Some("a reply is empty; say {\"practice\": true} for the normal answer");
        }
        if reply.practice && reply.content.is_some() {
            return Some("a reply is both fixed and the normal answer");
        }
        // Informational statuses are no replies: a client would go on waiting.
        reply
            .status
            .is_some_and(|status| !(200..600).contains(&status))
            .then_some("a status is outside of 200 to 599")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_call_gets_the_nth_reply_and_the_last_repeats() {
        let canned = Canned::parse(concat!(
            "{\"trace_id\":\"a\",\"replies\":[{\"content\":\"one\"},{\"fault\":\"hang\"},{\"practice\":true}]}\n",
            "\n",
            "{\"trace_id\":\"b\",\"replies\":[{\"content\":{\"k\":1},\"finish_reason\":\"length\",\"status\":200}]}",
        ))
        .unwrap();
        assert_eq!(canned.get("a", 1), Some(&CannedReply::content("one")));
        assert_eq!(canned.get("a", 2), Some(&CannedReply::fault(Fault::Hang)));
        for nth in 3..6 {
            assert_eq!(canned.get("a", nth), Some(&CannedReply::practice()));
        }
        assert_eq!(canned.get("b", 9).unwrap().finish_reason.as_deref(), Some("length"));
        assert_eq!(canned.get("c", 1), None);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for line in [
            "nonsense",
            r#"{"trace_id":"a"}"#,
            r#"{"trace_id":"a","replies":[{"fault":"hangs"}]}"#,
            r#"{"trace_id":"a","replies":[{"contents":"x"}]}"#,
            r#"{"trace_id":"a","replies":[]}"#,
            r#"{"trace_id":"a","replies":[{}]}"#,
            r#"{"trace_id":"a","replies":[{"status":100}]}"#,
            r#"{"trace_id":"a","replies":[{"practice":true,"content":"x"}]}"#,
            r#"{"trace_id":"","replies":[{"practice":true}]}"#,
            r#"{"trace_id":"ok","replies":[{"practice":true}]}"#,
        ] {
            let text = format!("{{\"trace_id\":\"ok\",\"replies\":[{{\"content\":\"x\"}}]}}\n{line}");
            let error = Canned::parse(&text).unwrap_err();
            assert!(error.to_string().contains("line 2"), "{error}");
        }
    }
}
