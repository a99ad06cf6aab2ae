//! What a reply is once its envelope is open, whichever provider it came from. What stands inside is for others
//! to read.

use std::{borrow::Cow, time::Duration};

use serde_json::Value;

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
    /// Why the model stopped: `stop`, `length` or `content_filter`, whatever the provider calls these, and
    /// other reasons in the provider's words.
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

impl Reply {
    /// A reply of which nothing is known but its bytes.
    pub(crate) fn of(body: &[u8]) -> Reply {
        Reply {
            body: body.to_vec(),
            content: String::new(),
            reasoning_only: false,
            refusal: None,
            finish_reason: None,
            model: None,
            usage: None,
            latency: Duration::ZERO,
            cost: None,
        }
    }
}

impl Usage {
    /// All or nothing: half a count would make a wrong price.
    ///
    /// A prompt was sent, so zero tokens of it is a server that does not count, not a free call.
    pub(crate) fn of(prompt: Option<u64>, completion: Option<u64>, cached: Option<u64>) -> Option<Usage> {
        Some(Usage { prompt: prompt.filter(|&tokens| 0 < tokens)?, completion: completion?, cached })
    }
}

/// What an HTTP body of a successful status turned out to be.
pub(crate) enum Envelope {
    /// A reply, without the times and the cost that the caller knows.
    Completion(Box<Reply>),
    /// An error object that came with a successful status, or inside the first choice.
    Error(Value),
    /// Anything else, with the reason in words.
    Unreadable(String),
}

impl Envelope {
    pub(crate) fn completion(reply: Reply) -> Envelope {
        Envelope::Completion(Box::new(reply))
    }
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
    readable(body).map(|(value, _)| value)
}

/// The same, with the text that was read in the end.
pub(crate) fn readable(body: &[u8]) -> Result<(Value, String), String> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    if text.starts_with('<') {
        return Err("the reply is a page of HTML or XML, not JSON".to_owned());
    }
    let first = match serde_json::from_str(text) {
        Ok(value) => return Ok((value, text.to_owned())),
        Err(error) => error,
    };
    let mended = mend_surrogates(text);
    match serde_json::from_str(&mended) {
        Ok(value) => Ok((value, mended.into_owned())),
        Err(_) => Err(format!("the reply is not JSON: {first}")),
    }
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
