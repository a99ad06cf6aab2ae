//! One try: a request to a receiver, and what its answer means.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use chrono::Utc;
use judge::Secret;
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use store::TryOutcome;

use crate::message::Page;
use crate::retry::{Answer, outcome};
use crate::{NotifyError, sign};

/// The header with the notification's id: what has been taken under it once need not be taken again.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The header with the event.
pub(crate) const EVENT: &str = "groundcrew-event";

/// Where a receiver is, and in which words it wants to be told.
#[derive(Clone)]
pub enum Target {
    /// PagerDuty's Events API v2.
    PagerDuty {
        /// The endpoint.
        url: Secret,
        /// The integration's key.
        routing_key: Secret,
    },
    /// A Slack incoming webhook. Its address is its password.
    Slack {
        /// The endpoint.
        url: Secret,
    },
    /// Any other endpoint.
    Webhook {
        /// The endpoint.
        url: Secret,
        /// What bodies are signed with.
        signing_key: Secret,
    },
}

/// Somebody to tell.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// Where and how.
    pub target: Target,
    /// How long one try may take.
    pub timeout: Duration,
}

/// Says what kind it is; addresses and keys stay hidden.
impl fmt::Debug for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind())
    }
}

impl Target {
    /// `pagerduty`, `slack` or `webhook`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::PagerDuty { .. } => "pagerduty",
            Self::Slack { .. } => "slack",
            Self::Webhook { .. } => "webhook",
        }
    }

    fn url(&self) -> &Secret {
        match self {
            Self::PagerDuty { url, .. } | Self::Slack { url } | Self::Webhook { url, .. } => url,
        }
    }

    /// What is sent. `again`: an earlier try may have arrived.
    fn body(&self, page: &Page, again: bool) -> serde_json::Value {
        match self {
            Self::PagerDuty { routing_key, .. } => page.pagerduty(routing_key.expose()),
            Self::Slack { .. } => page.slack(again),
            Self::Webhook { .. } => page.webhook(),
        }
    }

    /// What would be sent, without keys.
    pub fn shown(&self, page: &Page) -> serde_json::Value {
        match self {
            Self::PagerDuty { .. } => page.pagerduty("(hidden)"),
            target => target.body(page, false),
        }
    }
}

/// A client for all receivers. It follows no redirects: an address that was moved is for people to look at, and a key is
/// sent nowhere else.
pub(crate) fn client() -> Result<Client, NotifyError> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Losing the race against another thread means that there is a provider, which is all we want.
        let _lost_race = rustls::crypto::ring::default_provider().install_default();
    }
    Client::builder()
        .user_agent(concat!("groundcrew/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .build()
        .map_err(NotifyError::Client)
}

impl Receiver {
    /// Makes one try.
    pub(crate) async fn send(&self, client: &Client, page: &Page, again: bool) -> Answer {
        let body = self.target.body(page, again).to_string();
        let mut request = client
            .post(self.target.url().expose())
            .timeout(self.timeout)
            .header(CONTENT_TYPE, "application/json")
            .header(IDEMPOTENCY_KEY, page.notification.to_string())
            .header(EVENT, page.event.as_str());
        if let Target::Webhook { signing_key, .. } = &self.target {
            let now = Utc::now().timestamp();
            request = request.header(sign::TIMESTAMP, now).header(
                sign::SIGNATURE,
                sign::signature(signing_key.expose().as_bytes(), now, body.as_bytes()),
            );
        }
        match request.body(body).send().await {
            Ok(response) => {
                let status = response.status().as_u16();
                let outcome = outcome(status);
                Answer {
                    outcome,
                    status: Some(status),
                    retry_after: judge::retry_after(response.headers(), Utc::now()),
                    // What the receiver says may repeat what it was sent, so that only the status is kept.
                    error: (outcome != TryOutcome::Delivered).then(|| format!("answered {status}")),
                }
            }
            Err(error) => {
                // Before a connection there was nothing to deliver; one that broke may have carried all of it.
                let was_sent = !error.is_connect() && !error.is_builder();
                let outcome = if was_sent { TryOutcome::Timeout } else { TryOutcome::Unavailable };
                Answer { outcome, status: None, retry_after: None, error: Some(words(error)) }
            }
        }
    }
}

/// An error without the address, which may be a secret.
fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;
    use crate::notifier::test_page;

    /// It was called unavailable, as if nothing could have arrived.
    #[tokio::test]
    async fn a_connection_that_ends_without_an_answer_may_have_carried_the_page() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Secret::new(format!("http://{}/", listener.local_addr().unwrap()));
        let receiver = Receiver { target: Target::Slack { url }, timeout: Duration::from_secs(20) };
        let client = client().unwrap();
        let page = test_page();
        let takes_and_goes = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            assert!(connection.read(&mut [0; 16]).await.unwrap() > 0);
        };
        let (answer, ()) = tokio::join!(receiver.send(&client, &page, false), takes_and_goes);
        assert_eq!((answer.outcome, answer.status), (TryOutcome::Timeout, None), "{answer:?}");
        drop(listener);
        let answer = receiver.send(&client, &page, false).await;
        assert_eq!((answer.outcome, answer.status), (TryOutcome::Unavailable, None), "{answer:?}");
    }
}
