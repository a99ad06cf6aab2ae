//! Anthropic's Messages API.
//!
//! The schema is sent as that of a tool which the model is made to call, and the arguments of the call are the
//! reply. Models that cannot be made to call a tool get the schema as `output_config.format`.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::text;
use crate::{
    dialect::StructuredOutput,
    profile::Profile,
    question::Question,
    reply::{Envelope, Reply, Usage, error_object, readable},
};

pub(super) fn body(profile: &Profile, question: &Question) -> Map<String, Value> {
    let settings = profile.settings();
    let mut parameters = Map::new();
    if let Some(temperature) = settings.temperature {
        // This API knows temperatures up to 1 only.
        parameters.insert("temperature".into(), json!(temperature.min(1.0)));
    }
    // The API does not do without a limit.
    parameters.insert("max_tokens".into(), json!(profile.reply_tokens(question.output_chars)));
    let mut body = profile.rule().apply(parameters);
    body.insert("model".into(), json!(settings.model));
    body.insert("messages".into(), json!([{ "role": "user", "content": question.user }]));
    if !question.system.is_empty() {
        body.insert("system".into(), json!(question.system));
    }
    match profile.structured_output() {
        StructuredOutput::Tool => {
            let name = &question.schema_name;
            body.insert(
                "tools".into(),
                json!([{
                    "name": name,
                    "description": "Takes the result of the audit.",
                    "input_schema": question.schema,
                }]),
            );
            body.insert(
                "tool_choice".into(),
                json!({ "type": "tool", "name": name, "disable_parallel_tool_use": true }),
            );
        }
        StructuredOutput::OutputConfig => {
            let format = json!({ "type": "json_schema", "schema": question.schema });
            body.insert("output_config".into(), json!({ "format": format }));
        }
        _ => {}
    }
    body
}

pub(super) fn open(body: &[u8]) -> Envelope {
    let (value, json) = match readable(body) {
        Ok(readable) => readable,
        Err(problem) => return Envelope::Unreadable(problem),
    };
    if error_object(&value).is_some() {
        return Envelope::Error(value);
    }
    let Some(blocks) = value.get("content").and_then(Value::as_array) else {
        return Envelope::Unreadable("the reply is JSON without a list of content blocks".to_owned());
    };
    let said = Said::of(blocks, &json);
    let finish_reason = text(&value, "stop_reason").map(normalised);
    Envelope::completion(Reply {
        reasoning_only: said.content.trim().is_empty() && said.reasoned,
        content: said.content,
        refusal: (finish_reason.as_deref() == Some("content_filter")).then(|| refusal(&value)),
        finish_reason,
        model: text(&value, "model"),
        usage: usage(&value),
        ..Reply::of(body)
    })
}

/// The reason to stop in the words that every provider's reasons are put into.
fn normalised(stop_reason: String) -> String {
    match stop_reason.as_str() {
        "end_turn" | "stop_sequence" | "tool_use" => "stop".to_owned(),
        "max_tokens" | "model_context_window_exceeded" => "length".to_owned(),
        "refusal" => "content_filter".to_owned(),
        _ => stop_reason,
    }
}

/// Why the model declined, as far as the provider says.
fn refusal(value: &Value) -> String {
    let detail = |key: &str| value.pointer(&format!("/stop_details/{key}")).and_then(Value::as_str);
    match detail("explanation").or_else(|| detail("category")) {
        Some(detail) => format!("the model declined: {detail}"),
        None => "the model declined".to_owned(),
    }
}

/// What the content blocks say.
struct Said {
    content: String,
    reasoned: bool,
}

impl Said {
    /// `json` is the text that `blocks` were read from: arguments of a call are taken from there, so that
    /// whoever validates them sees a key that stands there twice.
    fn of(blocks: &[Value], json: &str) -> Said {
        let arguments = serde_json::from_str::<RawMessage>(json).map(|raw| raw.content).unwrap_or_default();
        let mut said = Said { content: String::new(), reasoned: false };
        let mut calls = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            match block.get("type").and_then(Value::as_str) {
                Some("tool_use") => {
                    calls.extend(arguments.get(at).and_then(|block| block.input).map(RawValue::get));
                }
                Some("thinking" | "redacted_thinking") => said.reasoned = true,
                Some("text") => said.content += block.get("text").and_then(Value::as_str).unwrap_or_default(),
                _ => {}
            }
        }
        // Text beside a call is an introduction; without a call it is all there is.
        if !calls.is_empty() {
            said.content = calls.join("\n");
        }
        said
    }
}

#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow)]
    content: Vec<RawBlock<'a>>,
}

#[derive(Deserialize)]
struct RawBlock<'a> {
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// This API counts tokens of the prompt that were cached, or are cached now, apart from the others.
fn usage(value: &Value) -> Option<Usage> {
    let usage = value.get("usage")?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let cached = count("cache_read_input_tokens");
    let written = count("cache_creation_input_tokens").unwrap_or(0);
    let prompt =
        count("input_tokens").map(|fresh| fresh.saturating_add(written).saturating_add(cached.unwrap_or(0)));
    Usage::of(prompt, count("output_tokens"), cached)
}
