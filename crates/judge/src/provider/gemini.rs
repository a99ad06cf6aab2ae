//! Google's Gemini API, method `generateContent`.

use serde_json::{Map, Value, json};

use super::text;
use crate::{
    dialect::StructuredOutput,
    profile::Profile,
    question::Question,
    reply::{Envelope, Reply, Usage, error_object, parse},
};

pub(super) fn body(profile: &Profile, question: &Question) -> Map<String, Value> {
    let settings = profile.settings();
    let mut parameters = Map::new();
    if let Some(temperature) = settings.temperature {
        parameters.insert("temperature".into(), json!(temperature));
    }
    if settings.max_tokens.is_some() {
        parameters.insert("maxOutputTokens".into(), json!(profile.reply_tokens(question.output_chars)));
    }
    let mut config = profile.rule().apply(parameters);
    if profile.structured_output() != StructuredOutput::None {
        config.insert("responseMimeType".into(), json!("application/json"));
    }
    if profile.structured_output() == StructuredOutput::JsonSchema {
        config.insert("responseJsonSchema".into(), question.schema.clone());
    }
    let mut body = Map::new();
    body.insert("contents".into(), json!([{ "role": "user", "parts": [{ "text": question.user }] }]));
    if !question.system.is_empty() {
        body.insert("systemInstruction".into(), json!({ "parts": [{ "text": question.system }] }));
    }
    body.insert("generationConfig".into(), Value::Object(config));
    body
}

pub(super) fn open(body: &[u8]) -> Envelope {
    let value = match parse(body) {
        Ok(value) => value,
        Err(problem) => return Envelope::Unreadable(problem),
    };
    if error_object(&value).is_some() {
        return Envelope::Error(value);
    }
    let reply = Reply { model: text(&value, "modelVersion"), usage: usage(&value), ..Reply::of(body) };
    let Some(candidate) = value.get("candidates").and_then(|candidates| candidates.get(0)) else {
        // The prompt itself was blocked, so there is no candidate.
        return match value.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            Some(reason) => Envelope::completion(Reply {
                refusal: Some(format!("the prompt was blocked: {reason}")),
                finish_reason: Some("content_filter".to_owned()),
                ..reply
            }),
            None => Envelope::Unreadable("the reply is JSON without candidates".to_owned()),
        };
    };
    let reason = text(candidate, "finishReason");
    let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
    if parts.is_none() && reason.is_none() {
        return Envelope::Unreadable("the first candidate of the reply has no content".to_owned());
    }
    let (content, reasoned) = said(parts.map(Vec::as_slice).unwrap_or_default());
    let finish_reason = reason.as_deref().map(normalised);
    let is_blocked = finish_reason.as_deref() == Some("content_filter");
    Envelope::completion(Reply {
        reasoning_only: content.trim().is_empty() && (reasoned || 0 < thoughts(&value)),
        content,
        refusal: reason.filter(|_| is_blocked).map(|reason| format!("the reply was withheld: {reason}")),
        finish_reason,
        ..reply
    })
}

/// The text of the parts, and whether there are thoughts among them, which are no part of the reply.
fn said(parts: &[Value]) -> (String, bool) {
    let is_thought = |part: &&Value| part.get("thought").and_then(Value::as_bool) == Some(true);
    let (thoughts, said): (Vec<&Value>, Vec<&Value>) = parts.iter().partition(is_thought);
    let content = said.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    (content, !thoughts.is_empty())
}

/// The reason to stop in the words that every provider's reasons are put into.
fn normalised(reason: &str) -> String {
    match reason {
        "STOP" => "stop".to_owned(),
        "MAX_TOKENS" => "length".to_owned(),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => "content_filter".to_owned(),
        other => other.to_lowercase(),
    }
}

fn thoughts(value: &Value) -> u64 {
    value.pointer("/usageMetadata/thoughtsTokenCount").and_then(Value::as_u64).unwrap_or(0)
}

/// This API counts thoughts apart from the reply, and leaves out counts that are zero.
fn usage(value: &Value) -> Option<Usage> {
    let usage = value.get("usageMetadata")?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let said = count("candidatesTokenCount").unwrap_or(0);
    let completion = said.saturating_add(thoughts(value));
    Usage::of(count("promptTokenCount"), Some(completion), count("cachedContentTokenCount"))
}
