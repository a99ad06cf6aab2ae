//! A judge that can be asked.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    breaker::{Breaker, BreakerSettings, BreakerState, Outcome, Pass, Refused},
    call::{self, Failure},
    client::Clients,
    error::{Class, JudgeError},
    limiter::{Allowed, Limiter, Slot},
    profile::Profile,
    provider,
    question::Question,
    reply::Reply,
    turnstile::Urgency,
};

/// How long a call waits for its turn, its place and its pace before it is put off. A delivery must not be held for
/// longer than the broker allows, however tight the limits are.
pub const TURN_PATIENCE: Duration = Duration::from_secs(300);

/// The smallest part of a limit: with less, a call would not come within a process's life.
pub const LEAST_SHARE: f64 = 0.0001;

/// A judge. Clones are cheap and share connections, limiter and breaker.
#[derive(Debug, Clone)]
pub struct Judge {
    shared: Arc<Shared>,
}

/// How hard a judge may be used. Unknown keys are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Calls in flight at most.
    pub max_concurrency: usize,
    /// Calls in flight at the beginning; above `max_concurrency` it means that.
    pub start_concurrency: usize,
    /// After how many answers at least the concurrency may grow.
    pub recover_after: u32,
    /// Calls that may begin in any minute; 0 for no limit.
    pub requests_per_minute: u32,
    /// Tokens of prompts and replies in any minute; 0 for no limit.
    pub tokens_per_minute: u32,
    /// Which part of the two limits per minute is this process's, 0.0001 to 1.
    pub limit_share: f64,
    /// After how many transport failures in a row the breaker opens.
    pub breaker_failures: u32,
    /// How long the breaker stays open after transport failures, in milliseconds.
    pub breaker_open_ms: u64,
    /// How long the breaker stays open after a permanent failure, in milliseconds.
    pub breaker_permanent_open_ms: u64,
    /// The shortest pause that a `Retry-After` makes, in milliseconds.
    pub retry_after_min_ms: u64,
    /// The longest pause that a `Retry-After` makes, in milliseconds.
    pub retry_after_max_ms: u64,
}

/// Why a judge could not be set up.
#[derive(Debug, Error)]
pub enum JudgeSetupError {
    /// A limit cannot be used.
    #[error("judge limits: `{key}` {problem}")]
    Limits {
        /// The key that is wrong.
        key: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The judges cannot stand in for one another.
    #[error("judge `{judge}` {problem}")]
    Order {
        /// The judge that is out of place.
        judge: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The HTTP client could not be built, most likely for want of CA certificates.
    #[error("http client of the judge could not be built")]
    Client(#[source] reqwest::Error),
}

#[derive(Debug)]
struct Shared {
    profile: Profile,
    clients: Clients,
    limiter: Arc<Limiter>,
    breaker: Arc<Breaker>,
    retry_after_limits: (Duration, Duration),
}

impl Judge {
    /// Sets a judge up. Nothing is sent.
    ///
    /// # Errors
    /// When a limit cannot be used or the HTTP client cannot be built.
    pub fn new(profile: Profile, limits: &Limits) -> Result<Judge, JudgeSetupError> {
        limits.check()?;
        let clients = Clients::new(&profile, limits.max_concurrency)?;
        let breaker = Breaker::new(
            profile.name(),
            BreakerSettings {
                failures: limits.breaker_failures,
                open: Duration::from_millis(limits.breaker_open_ms),
                permanent_open: Duration::from_millis(limits.breaker_permanent_open_ms),
            },
        );
        let retry_after_limits = (
            Duration::from_millis(limits.retry_after_min_ms),
            Duration::from_millis(limits.retry_after_max_ms),
        );
        let limiter = Limiter::new(limits.allowed());
        Ok(Judge { shared: Arc::new(Shared { profile, clients, limiter, breaker, retry_after_limits }) })
    }

    /// Asks once. Waits for its turn first, at most five minutes; that wait is not part of any time-out.
    ///
    /// # Errors
    /// A [`JudgeError`] whose class says what to do. While the breaker is open that is [`Class::Throttle`],
    /// at once and with the time left. When `stop` is cancelled it is [`Class::Interrupted`].
    pub async fn ask(&self, question: &Question, stop: &CancellationToken) -> Result<Reply, JudgeError> {
        self.ask_with(self.body(question).to_string().into(), &question.trace_id, stop).await
    }

    /// Asks once with a body that [`Judge::body`] made, so that who stores it need not make it twice.
    ///
    /// # Errors
    /// As [`Judge::ask`].
    pub async fn ask_with(
        &self,
        body: Bytes,
        trace_id: &str,
        stop: &CancellationToken,
    ) -> Result<Reply, JudgeError> {
        self.ask_as(Urgency::Normal, body, trace_id, &CancellationToken::new(), stop).await
    }

    /// Asks once, before or after those who wait, as the urgency says. Once `withdrawn` is cancelled the call does not
    /// begin; one that has begun is paid for, so it ends.
    ///
    /// # Errors
    /// As [`Judge::ask`]; [`Class::Throttle`] as well when the limits left no room for five minutes.
    /// [`Class::Interrupted`] when it was withdrawn.
    pub async fn ask_as(
        &self,
        urgency: Urgency,
        body: Bytes,
        trace_id: &str,
        withdrawn: &CancellationToken,
        stop: &CancellationToken,
    ) -> Result<Reply, JudgeError> {
        let shared = &*self.shared;
        // Looked at before the queue, so that nobody waits for a slot only to be refused.
        shared.breaker.check().map_err(|refused| self.refused(refused))?;
        let turn = shared.limiter.acquire(urgency, body.len(), withdrawn, stop);
        let turn = timeout(TURN_PATIENCE, turn).await;
        let slot = match turn {
            Ok(Some(slot)) => slot,
            Ok(None) => return Err(self.interrupted(None)),
            Err(_) => {
                return Err(self.not_sent(Class::Throttle, "has no room for another call within its limits"));
            }
        };
        let pass = shared.breaker.enter().map_err(|refused| self.refused(refused))?;

        let started = Instant::now();
        let client = shared.clients.take(&shared.profile);
        let call = call::call(
            client.client(),
            &shared.profile,
            shared.retry_after_limits,
            call::Asked { body, trace_id },
        );
        let result = tokio::select! {
            biased;
            // Slot and pass are given back unsettled: a call that was stopped says nothing about the judge.
            () = stop.cancelled() => return Err(self.interrupted(Some(started.elapsed()))),
            result = call => result,
        };
        settle(&slot, pass, &result);
        measure(shared.profile.name(), started.elapsed(), &result);
        result.map_err(|failure| *failure.error)
    }

    /// The request body that [`Judge::ask`] sends for this question, exactly.
    pub fn body(&self, question: &Question) -> Value {
        provider::body(&self.shared.profile, question)
    }

    /// The profile's name.
    pub fn name(&self) -> &str {
        self.shared.profile.name()
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.shared.profile
    }

    /// The limit of calls in flight.
    pub fn limiter(&self) -> &Limiter {
        &self.shared.limiter
    }

    /// The breaker.
    pub fn breaker(&self) -> &Breaker {
        &self.shared.breaker
    }

    /// Whether a question would be refused now.
    pub fn is_open(&self) -> bool {
        self.shared.breaker.is_open()
    }

    /// The breaker's state and its changes, so that work can pause while the judge cannot be asked.
    pub fn watch_breaker(&self) -> watch::Receiver<BreakerState> {
        self.shared.breaker.watch()
    }

    /// Waits while another call is the probe that decides whether this judge may be asked again. Returns whether a
    /// question would not be refused now.
    pub async fn wait_for_probe(&self, stop: &CancellationToken) -> bool {
        self.shared.breaker.wait_for_probe(stop).await;
        !self.is_open()
    }

    /// Waits until a question would not be refused, or until `stop` is cancelled.
    pub async fn wait_until_maybe_closed(&self, stop: &CancellationToken) {
        self.shared.breaker.wait_until_maybe_closed(stop).await;
    }

    fn refused(&self, refused: Refused) -> JudgeError {
        JudgeError {
            retry_after: Some(refused.time_left),
            ..self.not_sent(Class::Throttle, "is left alone for now: its breaker is open")
        }
    }

    fn interrupted(&self, latency: Option<Duration>) -> JudgeError {
        JudgeError {
            sent: latency.is_some(),
            latency: latency.unwrap_or_default(),
            ..self.not_sent(Class::Interrupted, "was not waited for: the call was stopped")
        }
    }

    fn not_sent(&self, class: Class, message: &str) -> JudgeError {
        JudgeError {
            class,
            message: format!("judge `{}` {message}", self.name()),
            words: None,
            status: None,
            retry_after: None,
            body: Vec::new(),
            latency: Duration::ZERO,
            sent: false,
            source: None,
        }
    }
}

/// Tells limiter and breaker how a call went.
fn settle(slot: &Slot, pass: Pass, result: &Result<Reply, Failure>) {
    let outcome = match result {
        Ok(_) => Outcome::Answered,
        Err(Failure { error, certain, .. }) => match error.class {
            Class::Transport => Outcome::Transport,
            Class::Throttle => Outcome::Throttle(error.retry_after),
            Class::Permanent => Outcome::Permanent { certain: *certain },
            // The judge is well: it read the question and had something to say about it.
            Class::Refusal | Class::ContextTooLong | Class::Oversized => Outcome::Answered,
            // Not a result of a call; given back unsettled.
            Class::Interrupted => return,
        },
    };
    match (outcome, result) {
        (Outcome::Answered, Ok(reply)) => slot.answered(reply.latency, reply.usage),
        (Outcome::Answered, Err(Failure { error, .. })) => slot.answered(error.latency, None),
        (Outcome::Throttle(_), _) | (_, Err(Failure { timed_out: true, .. })) => slot.too_many(),
        (Outcome::Transport | Outcome::Permanent { .. }, _) => slot.failed(),
    }
    pass.settle(outcome);
}

fn measure(judge: &str, took: Duration, result: &Result<Reply, Failure>) {
    let outcome = match result {
        Ok(_) => "answered",
        Err(Failure { error, .. }) => error.class.as_str(),
    };
    let judge = judge.to_owned();
    metrics::counter!("groundcrew_judge_calls_total", "judge" => judge.clone(), "outcome" => outcome)
        .increment(1);
    metrics::histogram!("groundcrew_judge_call_seconds", "judge" => judge).record(took.as_secs_f64());
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_concurrency: 8,
            start_concurrency: 8,
            recover_after: 10,
            requests_per_minute: 0,
            tokens_per_minute: 0,
            limit_share: 1.0,
            breaker_failures: 8,
            breaker_open_ms: 30_000,
            breaker_permanent_open_ms: 60_000,
            retry_after_min_ms: 1_000,
            retry_after_max_ms: 300_000,
        }
    }
}

impl Limits {
    fn allowed(&self) -> Allowed {
        let share = |limit: u32| (limit > 0).then(|| f64::from(limit) * self.limit_share);
        Allowed {
            start: self.start_concurrency,
            max: self.max_concurrency,
            least_answers: self.recover_after,
            requests_per_minute: share(self.requests_per_minute),
            tokens_per_minute: share(self.tokens_per_minute),
        }
    }

    fn check(&self) -> Result<(), JudgeSetupError> {
        let wrong = |key, problem| Err(JudgeSetupError::Limits { key, problem });
        // Tokio's semaphore has an upper bound, far above any sensible number of calls.
        if !(1..=10_000).contains(&self.max_concurrency) {
            return wrong("max_concurrency", "must be between 1 and 10000");
        }
        if self.start_concurrency == 0 {
            return wrong("start_concurrency", "must be at least 1");
        }
        if !(LEAST_SHARE..=1.0).contains(&self.limit_share) {
            return wrong("limit_share", "must be at least 0.0001 and at most 1");
        }
        if self.recover_after == 0 {
            return wrong("recover_after", "must be at least 1");
        }
        if self.breaker_failures == 0 {
            return wrong("breaker_failures", "must be at least 1");
        }
        const DAY_MS: u64 = 24 * 60 * 60 * 1000;
        for (key, value) in [
            ("breaker_open_ms", self.breaker_open_ms),
            ("breaker_permanent_open_ms", self.breaker_permanent_open_ms),
            ("retry_after_min_ms", self.retry_after_min_ms),
            ("retry_after_max_ms", self.retry_after_max_ms),
        ] {
            if !(1..=DAY_MS).contains(&value) {
                return wrong(key, "must be between 1 and a day");
            }
        }
        if self.retry_after_max_ms < self.retry_after_min_ms {
            return wrong("retry_after_min_ms", "must not be longer than `retry_after_max_ms`");
        }
        Ok(())
    }
}
