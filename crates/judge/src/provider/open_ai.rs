//! Chat completions as OpenAI defined them, in the dialects of those who speak it.

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
    let mut messages = Vec::with_capacity(2);
    if !question.system.is_empty() {
        messages.push(json!({ "role": "system", "content": question.system }));
    }
    messages.push(json!({ "role": "user", "content": question.user }));

    let mut parameters = Map::new();
    if let Some(temperature) = settings.temperature {
        parameters.insert("temperature".into(), json!(temperature));
    }
    if settings.max_tokens.is_some() {
        let limit = profile.reply_tokens(question.output_chars);
        parameters.insert(settings.max_tokens_key.as_str().into(), json!(limit));
    }
    let mut body = profile.rule().apply(parameters);
    body.insert("model".into(), json!(settings.model));
    body.insert("messages".into(), Value::Array(messages));
    if let Some((key, value)) = structured_output(profile.structured_output(), question) {
        body.insert(key.into(), value);
    }
    body
}

fn structured_output(dialect: StructuredOutput, question: &Question) -> Option<(&'static str, Value)> {
    let schema = &question.schema;
    Some(match dialect {
        StructuredOutput::JsonSchema => (
            "response_format",
            json!({
                "type": "json_schema",
                "json_schema": { "name": question.schema_name, "strict": true, "schema": schema },
            }),
        ),
        StructuredOutput::JsonObject => ("response_format", json!({ "type": "json_object" })),
        StructuredOutput::JsonObjectWithSchema => {
            ("response_format", json!({ "type": "json_object", "schema": schema }))
        }
        StructuredOutput::StructuredOutputs => ("structured_outputs", json!({ "json": schema })),
        StructuredOutput::GuidedJson => ("guided_json", schema.clone()),
        // The profile has refused the dialects of other providers.
        StructuredOutput::Tool | StructuredOutput::OutputConfig | StructuredOutput::None => return None,
    })
}

pub(super) fn open(body: &[u8]) -> Envelope {
    let value = match parse(body) {
        Ok(value) => value,
        Err(problem) => return Envelope::Unreadable(problem),
    };
    let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) else {
        return match error_object(&value) {
            Some(_) => Envelope::Error(value),
            None => Envelope::Unreadable("the reply is JSON without choices".to_owned()),
        };
    };
    if error_object(choice).is_some() {
        return Envelope::Error(choice.clone());
    }
    let finish_reason = text(choice, "finish_reason");
    let message = choice.get("message").filter(|message| message.is_object());
    if message.is_none() && finish_reason.is_none() {
        return Envelope::Unreadable("the first choice of the reply has no message".to_owned());
    }
    let message = message.unwrap_or(&Value::Null);
    let Some(said) = said(message) else {
        return Envelope::Unreadable("the content of the reply is neither text nor parts".to_owned());
    };
    Envelope::completion(Reply {
        reasoning_only: said.content.trim().is_empty() && said.reasoned,
        content: said.content,
        refusal: said.refusal,
        finish_reason,
        model: text(&value, "model"),
        usage: usage(&value),
        ..Reply::of(body)
    })
}

/// What the message says.
struct Said {
    content: String,
    refusal: Option<String>,
    reasoned: bool,
}

fn said(message: &Value) -> Option<Said> {
    let mut said = Said {
        content: String::new(),
        refusal: text(message, "refusal").filter(|refusal| !refusal.trim().is_empty()),
        reasoned: ["reasoning_content", "reasoning", "reasoning_details"].iter().any(|key| {
            message.get(key).is_some_and(|value| match value {
                Value::String(text) => !text.trim().is_empty(),
                Value::Array(parts) => !parts.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                _ => false,
            })
        }),
    };
    match message.get("content") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => said.content.clone_from(text),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| said.add_part(part)),
        Some(_) => return None,
    }
    Some(said)
}

impl Said {
    fn add_part(&mut self, part: &Value) {
        if let Value::String(text) = part {
            self.content.push_str(text);
            return;
        }
        match part.get("type").and_then(Value::as_str) {
            Some("refusal") => self.refusal = text(part, "refusal").or(self.refusal.take()),
            Some("thinking" | "reasoning" | "redacted_thinking") => self.reasoned = true,
            _ => self.content.push_str(part.get("text").and_then(Value::as_str).unwrap_or_default()),
        }
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let usage = value.get("usage")?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let cached = usage.pointer("/prompt_tokens_details/cached_tokens").and_then(Value::as_u64);
    Usage::of(
        count("prompt_tokens"),
        count("completion_tokens"),
        cached.or_else(|| count("prompt_cache_hit_tokens")),
    )
}

#[cfg(test)]
#[path = "open_ai_tests.rs"]
mod tests;
