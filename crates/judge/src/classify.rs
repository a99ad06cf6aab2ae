//! From a provider's error to a class.
//!
//! Providers agree on the status codes and on little else, so the body's code, type and wording are looked
//! at too. Wordings are kept narrow: a marker that is too wide would turn a wrong parameter into a refusal
//! that nobody retries, or a rate limit into an alert.

use std::time::Duration;

use serde_json::Value;

use crate::{error::Class, reply};

/// What a provider said about a failure, in one shape.
#[derive(Debug, Default)]
pub(crate) struct ProviderError {
    /// Lower-case code, type, status word and inner code, separated by spaces.
    codes: String,
    /// The message as sent.
    pub(crate) message: String,
    /// A status that the body names, for bodies that came with 200.
    status: Option<u16>,
    /// How long the body asks to be left alone.
    pub(crate) retry_after: Option<Duration>,
}

/// The verdict about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) class: Class,
    /// Whether a permanent failure must hit every question alike. An unsupported parameter does, but an odd
    /// question can be answered with the same status, so 400 and its kin are not certain.
    pub(crate) certain: bool,
}

const TOO_LONG_CODES: [&str; 5] = [
    "context_length_exceeded",
    "exceed_context_size",
    "string_above_max_length",
    "request_too_large",
    "context_window_exceeded",
];

const TOO_LONG_WORDS: [&str; 21] = [
    "context length",
    "context window",
    "context size",
    "context_length",
    "maximum context",
    "context overflow",
    "context the overflows",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "too many tokens",
    "too many input tokens",
    "maximum prompt length",
    "exceeds the maximum number of tokens",
    "exceeded model token limit",
    "reduce the length of the messages",
    "range of input length",
    "request too large for",
    "too large for model",
    "exceed context limit",
];

const REFUSAL_CODES: [&str; 7] = [
    "content_filter",
    "content_policy",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "moderation_blocked",
    "safety_violation",
    "sensitive_content",
];

const REFUSAL_WORDS: [&str; 14] = [
    "content_filter",
    "content filter",
    "content policy",
    "content_policy",
    "content management policy",
    "content moderation",
    "usage policy",
    "usage policies",
    "safety system",
    "safety policy",
    "safety policies",
    "safety reasons",
    "blocked by safety",
    "was flagged",
];

// Codes and wordings of an account that cannot pay. The advice to check plan and billing is not among them:
// one provider gives it with every ordinary rate limit.
const BILLING_MARKS: [&str; 10] = [
    "insufficient_quota",
    "billing_hard_limit",
    "billing_not_active",
    "insufficient_balance",
    "insufficient balance",
    "credit balance is too low",
    "billing hard limit",
    "account_deactivated",
    "access_terminated",
    "your specified api usage limits",
];

// One provider answers 400 to a wrong key and to an account that may not use it.
const KEY_MARKS: [&str; 3] = ["api_key_invalid", "api key not valid", "failed_precondition"];

impl ProviderError {
    /// Reads an error body. A body that is no known form of one gives an empty error.
    pub(crate) fn read(body: &[u8]) -> ProviderError {
        reply::parse(body).map(|value| ProviderError::from_value(&value)).unwrap_or_default()
    }

    pub(crate) fn from_value(value: &Value) -> ProviderError {
        // One provider wraps the object in an array.
        let value = value.get(0).unwrap_or(value);
        let error = reply::error_object(value).unwrap_or(value);
        if let Value::String(message) = error {
            return ProviderError { message: message.clone(), ..ProviderError::default() };
        }
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let codes = [
            error.get("code"),
            error.get("type"),
            error.get("status"),
            error.pointer("/innererror/code"),
            error.pointer("/metadata/error_type"),
        ];
        let reasons = details.iter().map(|detail| detail.get("reason"));
        let message = ["message", "detail", "msg"].iter().find_map(|key| match error.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            // Validation errors of some servers are lists of objects.
            other => Some(other.to_string()),
        });
        ProviderError {
            codes: codes
                .into_iter()
                .chain(reasons)
                .flatten()
                .filter_map(|code| code.as_str().map(str::to_lowercase))
                .collect::<Vec<_>>()
                .join(" "),
            message: message.unwrap_or_default(),
            status: status_in(error),
            retry_after: details.iter().find_map(|detail| seconds(detail.get("retryDelay")?.as_str()?)),
        }
    }

    fn says_code(&self, marks: &[&str]) -> bool {
        marks.iter().any(|mark| self.codes.contains(mark))
    }

    fn says(&self, marks: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        marks.iter().any(|mark| self.codes.contains(mark) || message.contains(mark))
    }
}

/// Classifies a response whose status is no success.
pub(crate) fn by_status(status: u16, has_retry_after: bool, error: &ProviderError) -> Verdict {
    let certain = |class| Verdict { class, certain: true };
    let too_long = error.says_code(&TOO_LONG_CODES) || error.says(&TOO_LONG_WORDS);
    let refused = error.says_code(&REFUSAL_CODES) || error.says(&REFUSAL_WORDS);
    match status {
        300..=399 => certain(Class::Permanent),
        413 => certain(Class::ContextTooLong),
        // Some providers say "too many requests" of one request that is larger than a minute's allowance:
        // no waiting helps that.
        429 if error.says(&["request too large"]) => certain(Class::ContextTooLong),
        429 if error.says(&BILLING_MARKS) => certain(Class::Permanent),
        429 | 529 => certain(Class::Throttle),
        503 if has_retry_after || error.says(&["overloaded"]) => certain(Class::Throttle),
        400 | 422 | 500 if too_long => certain(Class::ContextTooLong),
        400 | 403 | 422 | 451 if refused => certain(Class::Refusal),
        // A time-out, a conflict and "too early" are the server's moods, whatever their number says.
        408 | 409 | 425 | 499 | 500..=599 => certain(Class::Transport),
        400 | 422 => {
            Verdict { class: Class::Permanent, certain: error.says(&BILLING_MARKS) || error.says(&KEY_MARKS) }
        }
        401..=499 => certain(Class::Permanent),
        _ => certain(Class::Transport),
    }
}

/// Classifies an error object that came with a successful status.
pub(crate) fn by_error(error: &ProviderError) -> Verdict {
    if let Some(status) = error.status {
        return by_status(status, false, error);
    }
    // Without a status the words must do. Refusals first: their codes are the most exact.
    let status = if error.says_code(&REFUSAL_CODES) || error.says_code(&TOO_LONG_CODES) {
        400
    } else if error.says(&BILLING_MARKS) || error.says_code(&["rate_limit", "too_many", "resource_exhausted"])
    {
        429
    } else if error.says_code(&["overloaded"]) {
        529
    } else if error.says_code(&["authentication", "invalid_api_key", "permission", "unauthorized"]) {
        401
    } else if error.says_code(&["not_found"]) {
        404
    } else if error.says_code(&["invalid_request", "badrequest", "bad_request", "invalid_argument"])
        || error.says(&REFUSAL_WORDS)
        || error.says(&TOO_LONG_WORDS)
    {
        400
    } else {
        500
    };
    by_status(status, false, error)
}

/// A status that the error object names: `code` or `status`, as a number or as digits.
fn status_in(error: &Value) -> Option<u16> {
    ["code", "status", "status_code"]
        .iter()
        .find_map(|key| match error.get(key)? {
            Value::Number(number) => number.as_u64().and_then(|number| u16::try_from(number).ok()),
            Value::String(text) => text.parse().ok(),
            _ => None,
        })
        .filter(|status| (400..600).contains(status))
}

/// A duration as protocol buffers write it in JSON: `34.5s`.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
