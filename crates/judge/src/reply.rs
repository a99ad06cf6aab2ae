//! What a reply is once its envelope is open, whichever provider it came from. What stands inside is for others
//! to read.

use std::time::Duration;

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

/// More tokens than this no call can use: ten times the longest context of any model.
const MOST_TOKENS: u64 = 100_000_000;

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
    /// A prompt was sent, so zero tokens of it is a server that does not count, not a free call. A server that reports
    /// more than any model can read or write does not count either: such a number would use up caps and limits.
    pub(crate) fn of(prompt: Option<u64>, completion: Option<u64>, cached: Option<u64>) -> Option<Usage> {
        let usage = Usage { prompt: prompt.filter(|&tokens| 0 < tokens)?, completion: completion?, cached };
        if usage.prompt.max(usage.completion) > MOST_TOKENS {
            tracing::warn!(
                prompt_tokens = usage.prompt,
                completion_tokens = usage.completion,
                "a judge reports more tokens than any model takes; what the call used counts as not known"
            );
            return None;
        }
        Some(usage)
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
    // Some servers emit half of a pair when a token ends inside an emoji.
    let mended = trace::json::mend_surrogates(text);
    match serde_json::from_str(&mended) {
        Ok(value) => Ok((value, mended.into_owned())),
        Err(_) => Err(format!("the reply is not JSON: {first}")),
    }
}
