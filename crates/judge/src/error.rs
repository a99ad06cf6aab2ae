//! Why a call brought no reply.

use std::{error::Error as StdError, time::Duration};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A call that brought no reply that could be read.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct JudgeError {
    /// What kind of failure it was: all that a caller needs in order to decide.
    pub class: Class,
    /// What happened, in one line, in our own words and without the API key.
    pub message: String,
    /// What the provider says about it, in one line and without the API key. It may repeat what it was asked, so it
    /// belongs into what is stored and not into a log.
    pub words: Option<String>,
    /// The HTTP status, where one was received.
    pub status: Option<u16>,
    /// How long to stay away, clamped to the configured limits. Set by the judge's own `Retry-After`, or by
    /// the breaker (the time until it lets a probe through).
    pub retry_after: Option<Duration>,
    /// What came back, up to a bound, with the API key taken out of it. Empty when nothing did.
    pub body: Vec<u8>,
    /// How long the call took. Zero when none was made.
    pub latency: Duration,
    /// Whether a request was made. False when the breaker was open, or when the call was stopped while it
    /// waited for its turn: there is no attempt to count or to store then.
    pub sent: bool,
    /// The cause, where there is one.
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

impl JudgeError {
    /// What kind of failure it was.
    pub fn class(&self) -> Class {
        self.class
    }

    /// What happened, and what the provider says about it.
    pub fn in_full(&self) -> String {
        match &self.words {
            Some(words) => format!("{}: {words}", self.message),
            None => self.message.clone(),
        }
    }
}

/// The kinds of failure of a call. Each is met with another action, so nobody needs to look at messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing readable came back: no connection, a time-out, a server error, a cut body, a body that is not
    /// a chat completion. Trying again may help.
    Transport,
    /// The judge, or the breaker before it, asks to come later. Nothing was used up.
    Throttle,
    /// The judge's provider will not treat this content. Trying again will not help.
    Refusal,
    /// The question is too long for the model. Smaller units may help.
    ContextTooLong,
    /// The configuration is wrong: a bad key, an unknown model, a parameter the model does not accept.
    Permanent,
    /// The judge sent more than `max_reply_bytes`. The body holds the beginning.
    Oversized,
    /// The caller's stop token was cancelled.
    Interrupted,
}

impl Class {
    /// The name as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Transport => "transport",
            Class::Throttle => "throttle",
            Class::Refusal => "refusal",
            Class::ContextTooLong => "context_too_long",
            Class::Permanent => "permanent",
            Class::Oversized => "oversized",
            Class::Interrupted => "interrupted",
        }
    }
}
