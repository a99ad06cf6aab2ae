//! Opening the envelope of a chat completion. What stands inside is for others to read.

use std::{borrow::Cow, time::Duration};

use serde_json::Value;

use crate::profile::Price;

/// A reply that came back whole. Nothing is said here about what the judge wrote in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The HTTP body as received.
    pub body: Vec<u8>,
    /// The message's text. Parts are joined, broken UTF-8 became U+FFFD, no content is the empty string.
    pub content: String,
    /// Whether the judge thought and then said nothing: no content, but reasoning beside it.
    pub reasoning_only: bool,
    /// The text by which the model refused, where the provider marks a refusal as such.
    pub refusal: Option<String>,
    /// Why the model stopped, in the provider's words: `stop`, `length`, `content_filter` and others.
    pub finish_reason: Option<String>,
    /// The model that answered, which may be more exact than the one that was asked for.
    pub model: Option<String>,
    /// Tokens used, where the provider told.
    pub usage: Option<Usage>,
    /// From sending the request to the last byte.
    pub latency: Duration,
    /// What the call cost. None when the price or the usage is unknown: unknown is not free.
    pub cost: Option<Cost>,
}

/// Tokens that a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, the cached ones included.
    pub prompt: u64,
    /// Tokens of the reply, reasoning included.
    pub completion: u64,
    /// Tokens of the prompt that the provider took from its cache. None when it does not say.
    pub cached: Option<u64>,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// Millionths of one unit of the currency.
    pub micros: i64,
    /// ISO 4217 code.
    pub currency: String,
}

/// What an HTTP body of a successful status turned out to be.
pub(crate) enum Envelope {
    /// A chat completion, without the times and the cost that the caller knows.
    Completion(Box<Reply>),
    /// An error object that came with a successful status, or inside the first choice.
    Error(Value),
    /// Anything else, with the reason in words.
    Unreadable(String),
}

/// Opens the body of a successful HTTP response.
pub(crate) fn open(body: &[u8]) -> Envelope {
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
    Envelope::Completion(Box::new(Reply {
        body: body.to_vec(),
        reasoning_only: said.content.trim().is_empty() && said.reasoned,
        content: said.content,
        refusal: said.refusal,
        finish_reason,
        model: text(&value, "model"),
        usage: usage(&value),
        latency: Duration::ZERO,
        cost: None,
    }))
}

/// The cost of a call, or None where price or usage is unknown.
///
/// Prices become whole micro-units once and all sums are done in integers, so that adding up costs is exact;
/// one rounding, half up, happens at the end.
pub(crate) fn cost(price: Option<&Price>, usage: Option<Usage>) -> Option<Cost> {
    let (price, usage) = (price?, usage?);
    let input = micros(price.input_per_million);
    let cached_price = price.cached_input_per_million.map_or(input, micros);
    let cached = usage.cached.unwrap_or(0).min(usage.prompt);
    let total = i128::from(usage.prompt - cached) * input
        + i128::from(cached) * cached_price
        + i128::from(usage.completion) * micros(price.output_per_million);
    let micros = i64::try_from((total + 500_000) / 1_000_000).ok()?;
    Some(Cost { micros, currency: price.currency.clone() })
}

/// The error object of a body, in any of the places where providers put it.
pub(crate) fn error_object(value: &Value) -> Option<&Value> {
    let error = value.get("error").filter(|error| match error {
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => false,
    });
    if error.is_some() {
        return error;
    }
    // The bare form: the fields of the error stand at the top, marked by the object's name.
    (value.get("object").and_then(Value::as_str) == Some("error")).then_some(value)
}

/// Reads JSON as leniently as an envelope deserves: what is broken inside a text must not make the whole
/// body unreadable, since asking again would bring the same bytes.
pub(crate) fn parse(body: &[u8]) -> Result<Value, String> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    if text.starts_with('<') {
        return Err("the reply is a page of HTML or XML, not JSON".to_owned());
    }
    serde_json::from_str(text)
        .or_else(|first| serde_json::from_str(&mend_surrogates(text)).map_err(|_| first))
        .map_err(|error| format!("the reply is not JSON: {error}"))
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

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn usage(value: &Value) -> Option<Usage> {
    let usage = value.get("usage")?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    // A prompt was sent, so zero tokens of it is a server that does not count, not a free call.
    let prompt = count("prompt_tokens").filter(|&tokens| 0 < tokens)?;
    let cached = usage.pointer("/prompt_tokens_details/cached_tokens").and_then(Value::as_u64);
    Some(Usage {
        prompt,
        completion: count("completion_tokens")?,
        cached: cached.or_else(|| count("prompt_cache_hit_tokens")),
    })
}

/// Whole micro-units. The profile has checked that the amount is between 0 and a million.
#[expect(clippy::cast_possible_truncation, reason = "at most 10^12 after the profile's check")]
fn micros(amount: f64) -> i128 {
    (amount * 1_000_000.0).round() as i128
}

/// Replaces `\uD800`-like escapes that have lost their other half, which some servers emit when a token ends
/// inside an emoji. Such a text is not JSON for a strict reader although all around it is.
fn mend_surrogates(text: &str) -> Cow<'_, str> {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        // Every escape is at least two characters long, and a backslash before a backslash is data.
        let pair = match (surrogate(escape), escape.get(6..).and_then(surrogate)) {
            (Some(high), Some(low)) if high < 0xDC00 && 0xDC00 <= low => 12,
            (Some(_), _) => {
                mended.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            (None, _) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&escape[..pair]);
        rest = &escape[pair..];
    }
    if mended.is_empty() {
        return Cow::Borrowed(text);
    }
    mended.push_str(rest);
    Cow::Owned(mended)
}

/// The value of a `\uXXXX` escape at the start, where it is half of a surrogate pair.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    (0xD800..0xE000).contains(&value).then_some(value)
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
