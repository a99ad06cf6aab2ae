//! The OpenAI-compatible wrapping of requests, replies and errors.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::MODEL;

/// What of a request the practice judge looks at.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatRequest {
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(default)]
    response_format: Option<ResponseFormat>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    role: String,
    #[serde(default)]
    content: Value,
}

#[derive(Debug, Deserialize)]
struct ResponseFormat {
    #[serde(default)]
    json_schema: Option<JsonSchema>,
    /// What some servers take beside `json_object`: a schema without a name.
    #[serde(default)]
    schema: Value,
}

#[derive(Debug, Deserialize)]
struct JsonSchema {
    #[serde(default)]
    name: String,
}

/// The message of a reply and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) content: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) refusal: Option<String>,
    pub(crate) finish_reason: String,
}

impl ChatRequest {
    /// The text of the last user message.
    pub(crate) fn user(&self) -> Option<String> {
        self.messages.iter().rev().find(|message| message.role == "user")?.text()
    }

    /// The name of the asked schema. None where the dialect carries none.
    pub(crate) fn schema_name(&self) -> Option<&str> {
        self.response_format.as_ref()?.json_schema.as_ref().map(|schema| schema.name.as_str())
    }

    /// Says whether the reply is asked to have a key: by a schema without a name, or else by the example in the
    /// system message.
    pub(crate) fn asked_keys(&self) -> impl Fn(&str) -> bool {
        let properties = self.response_format.as_ref().and_then(|format| format.schema.get("properties"));
        let instructions = self.messages.iter().filter(|message| message.role == "system");
        let instructions: String = instructions.filter_map(Message::text).collect();
        move |key| match properties {
            Some(properties) => properties.get(key).is_some(),
            None => instructions.contains(&format!("\"{key}\"")),
        }
    }
}

impl Message {
    /// The message's text; parts are joined.
    fn text(&self) -> Option<String> {
        match &self.content {
            Value::String(text) => Some(text.clone()),
            Value::Array(parts) => {
                Some(parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect())
            }
            _ => None,
        }
    }
}

impl Said {
    pub(crate) fn content(content: impl Into<String>) -> Said {
        Said { content: Some(content.into()), reasoning: None, refusal: None, finish_reason: "stop".into() }
    }

    pub(crate) fn nothing(finish_reason: &str) -> Said {
        Said { content: None, reasoning: None, refusal: None, finish_reason: finish_reason.into() }
    }
}

/// The body of a chat completion. Tokens are estimated from the number of bytes.
pub(crate) fn completion(said: &Said, request_bytes: usize) -> String {
    let told = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let (prompt, completion) =
        (request_bytes.div_ceil(4), (told(&said.content) + told(&said.reasoning)).div_ceil(4));
    let mut message = json!({ "role": "assistant", "content": said.content, "refusal": said.refusal });
    if let (Some(reasoning), Some(fields)) = (&said.reasoning, message.as_object_mut()) {
        fields.insert("reasoning_content".into(), json!(reasoning));
    }
    json!({
        "id": "chatcmpl-practice",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{ "index": 0, "message": message, "finish_reason": said.finish_reason }],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    })
    .to_string()
}

/// The body of an error.
pub(crate) fn error(kind: &str, code: &str, message: &str) -> String {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } }).to_string()
}
