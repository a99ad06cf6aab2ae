//! One HTTP exchange with a judge, from the request to a reply or a classified error.

use std::{error::Error as StdError, time::Duration};

use bytes::Bytes;
use chrono::Utc;
use reqwest::{
    Client, StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};
use tokio::time::{Instant, timeout};

use crate::{
    classify::{self, ProviderError, Verdict},
    error::{Class, JudgeError},
    headers, price,
    profile::{Profile, TRACE_ID_HEADER},
    provider,
    reply::{Envelope, Reply},
    secret::Secret,
};

/// An error's body is read no further than this: it is a message, not data.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// How much of a provider's message goes into ours.
const MAX_MESSAGE_CHARS: usize = 300;

/// A shorter key is a placeholder (`none`, `EMPTY`), and taking it out would spoil ordinary text.
const MIN_SECRET_BYTES: usize = 8;

/// A failed call. `certain` is the breaker's business only, so it stays outside of the public error.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Box<JudgeError>,
    pub(crate) certain: bool,
    /// Time ran out, which is what an overloaded judge lets happen.
    pub(crate) timed_out: bool,
}

/// What is sent.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// The body, as it was rendered once: these are the bytes that are stored.
    pub(crate) body: Bytes,
    /// Only the practice judge is told.
    pub(crate) trace_id: &'a str,
}

/// Asks once.
pub(crate) async fn call(
    client: &Client,
    profile: &Profile,
    retry_after_limits: (Duration, Duration),
    asked: Asked<'_>,
) -> Result<Reply, Failure> {
    let mut received = Received::default();
    let started = Instant::now();
    // The exchange writes into `received` as it goes, so that a time-out does not lose what had come.
    let exchange = Box::pin(exchange(client, profile, asked, &mut received));
    let ended = timeout(profile.total_timeout(), exchange).await;
    let latency = started.elapsed();

    let (shortest, longest) = retry_after_limits;
    // One provider puts the time into the body of its error.
    received.retry_after = received.retry_after.or_else(|| received.pause_in_error());
    received.retry_after = received.retry_after.map(|pause| pause.clamp(shortest, longest));
    let case = Case { profile, received, latency };
    // A status that is no success says more than how reading its body went.
    if let Some(status) = case.received.status.filter(|status| !status.is_success()) {
        return Err(case.by_status(status));
    }
    match ended {
        Err(_elapsed) => {
            let limit_ms = profile.settings().total_timeout_ms;
            let failure =
                case.failure(Class::Transport, format!("did not finish within {limit_ms} ms"), None);
            Err(Failure { timed_out: true, ..failure })
        }
        Ok(Err(Trouble::Http(error))) => Err(case.by_http_error(error)),
        Ok(Err(Trouble::TooLarge)) => {
            let limit = profile.settings().max_reply_bytes;
            Err(case.failure(Class::Oversized, format!("sent more than {limit} bytes"), None))
        }
        Ok(Ok(())) => case.read(),
    }
}

/// What has come back so far.
#[derive(Debug, Default)]
struct Received {
    status: Option<StatusCode>,
    retry_after: Option<Duration>,
    location: Option<String>,
    body: Vec<u8>,
}

impl Received {
    fn pause_in_error(&self) -> Option<Duration> {
        self.status.filter(|status| !status.is_success())?;
        ProviderError::read(&self.body).retry_after
    }
}

enum Trouble {
    Http(reqwest::Error),
    TooLarge,
}

async fn exchange(
    client: &Client,
    profile: &Profile,
    asked: Asked<'_>,
    received: &mut Received,
) -> Result<(), Trouble> {
    let mut request = client
        .post(profile.endpoint().clone())
        .header(CONTENT_TYPE, "application/json")
        .headers(profile.headers().clone())
        .body(asked.body);
    if profile.is_practice() {
        request = request.header(TRACE_ID_HEADER, headers::percent_encode(asked.trace_id));
    }
    let mut response = request.send().await.map_err(Trouble::Http)?;
    received.status = Some(response.status());
    received.retry_after = headers::retry_after(response.headers(), Utc::now());
    received.location =
        response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);

    let max_bytes = if response.status().is_success() {
        profile.settings().max_reply_bytes
    } else {
        profile.settings().max_reply_bytes.min(MAX_ERROR_BODY_BYTES)
    };
    while let Some(chunk) = response.chunk().await.map_err(Trouble::Http)? {
        let room = max_bytes - received.body.len();
        if room < chunk.len() {
            received.body.extend_from_slice(&chunk[..room]);
            return Err(Trouble::TooLarge);
        }
        received.body.extend_from_slice(&chunk);
    }
    Ok(())
}

/// A finished exchange, waiting to be understood.
struct Case<'a> {
    profile: &'a Profile,
    received: Received,
    latency: Duration,
}

impl Case<'_> {
    fn read(self) -> Result<Reply, Failure> {
        match provider::open(self.profile.settings().provider, &self.received.body) {
            Envelope::Completion(reply) => {
                let cost = price::cost(self.profile.price(reply.model.as_deref()), reply.usage);
                Ok(Reply { latency: self.latency, cost, ..*reply })
            }
            Envelope::Unreadable(problem) => {
                Err(self.failure(Class::Transport, format!("answered, but {problem}"), None))
            }
            Envelope::Error(value) => {
                let error = ProviderError::from_value(&value);
                let verdict = classify::by_error(&error);
                Err(self.verdict(verdict, "answered success with an error".to_owned(), said(&error)))
            }
        }
    }

    fn by_status(self, status: StatusCode) -> Failure {
        let error = ProviderError::read(&self.received.body);
        let verdict = classify::by_status(status.as_u16(), self.received.retry_after.is_some(), &error);
        if status.is_redirection() {
            let target = self.received.location.as_deref().map(one_line).unwrap_or_default();
            let message =
                format!("redirects to `{target}` ({status}); `base_url` should name the final address");
            return self.verdict(verdict, message, None);
        }
        let timed_out = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT);
        let failure = self.verdict(verdict, format!("answered {}", status.as_u16()), said(&error));
        Failure { timed_out, ..failure }
    }

    fn by_http_error(self, error: reqwest::Error) -> Failure {
        let settings = self.profile.settings();
        let message = if error.is_connect() && error.is_timeout() {
            format!("could not be connected to within {} ms", settings.connect_timeout_ms)
        } else if error.is_connect() {
            "could not be connected to".to_owned()
        } else if error.is_timeout() {
            format!("was silent for {} ms", settings.read_timeout_ms)
        } else if self.received.status.is_some() {
            format!("broke off its reply after {} bytes", self.received.body.len())
        } else {
            "closed the connection without a reply".to_owned()
        };
        let timed_out = error.is_timeout();
        // The address may carry a key in its query.
        let failure = self.failure(Class::Transport, message, Some(Box::new(error.without_url())));
        Failure { timed_out, ..failure }
    }

    fn verdict(self, verdict: Verdict, message: String, words: Option<String>) -> Failure {
        let key = self.profile.settings().api_key.clone();
        let words = words.map(|words| redacted(words, key.as_ref()));
        let mut failure = Failure { certain: verdict.certain, ..self.failure(verdict.class, message, None) };
        failure.error.words = words;
        failure
    }

    fn failure(
        self,
        class: Class,
        message: String,
        source: Option<Box<dyn StdError + Send + Sync>>,
    ) -> Failure {
        let key = self.profile.settings().api_key.as_ref();
        let message = format!("judge `{}` {message}", self.profile.name());
        let error = JudgeError {
            class,
            message: redacted(message, key),
            words: None,
            status: self.received.status.map(|status| status.as_u16()),
            retry_after: self.received.retry_after,
            body: redact(self.received.body, key),
            latency: self.latency,
            sent: true,
            source,
        };
        Failure { error: Box::new(error), certain: true, timed_out: false }
    }
}

/// The provider's own words on one line.
fn said(error: &ProviderError) -> Option<String> {
    (!error.message.is_empty()).then(|| one_line(&error.message))
}

fn redacted(text: String, key: Option<&Secret>) -> String {
    String::from_utf8_lossy(&redact(text.into_bytes(), key)).into_owned()
}

/// Makes a text from outside fit into one line of a message.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Takes the API key out of what will be stored or shown: some gateways repeat it in their errors.
fn redact(bytes: Vec<u8>, key: Option<&Secret>) -> Vec<u8> {
    let Some(key) = key.map(Secret::expose).filter(|key| MIN_SECRET_BYTES <= key.len()) else { return bytes };
    let key = key.as_bytes();
    let mut clean = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while let Some(at) = rest.windows(key.len()).position(|window| window == key) {
        clean.extend_from_slice(&rest[..at]);
        clean.extend_from_slice(b"[redacted]");
        rest = &rest[at + key.len()..];
    }
    clean.extend_from_slice(rest);
    clean
}
