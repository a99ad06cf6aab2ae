//! When to leave a judge alone.
//!
//! ```text
//! closed ──K transport failures, a permanent one, a throttle with Retry-After──▶ open
//!   ▲                                                                         │    ▲
//!   └── the probe is answered ── half-open ◀── the time is over, one call asks ┘    │
//!                                    └────────────── the probe fails ───────────────┘
//! ```

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// What those hear who come while a probe is on its way: nobody knows yet how long it takes.
const PROBE_PATIENCE: Duration = Duration::from_secs(1);

/// Keeps calls away from a judge that cannot answer them. Shared by all clones of a judge.
#[derive(Debug)]
pub struct Breaker {
    judge: String,
    settings: BreakerSettings,
    inner: Mutex<Inner>,
    published: watch::Sender<BreakerState>,
}

/// The breaker's state, as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls go through.
    Closed,
    /// Calls are refused until the time named; the first one after it is the probe.
    ///
    /// Nothing is published when the time is over, since nothing happens then: wait with
    /// [`Breaker::wait_until_maybe_closed`].
    Open {
        /// When a probe may go through.
        until: Instant,
        /// Why the breaker opened.
        reason: OpenReason,
    },
    /// One probe is on its way, all other calls are refused.
    HalfOpen,
}

/// Why the breaker opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenReason {
    /// The judge could not be reached several times in a row.
    Transport,
    /// The judge asked to be left alone for a while.
    Throttle,
    /// The configuration is wrong: somebody has to act.
    Permanent,
}

/// When the breaker opens, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BreakerSettings {
    pub(crate) failures: u32,
    pub(crate) open: Duration,
    pub(crate) permanent_open: Duration,
}

/// How a call went, as far as the breaker is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The judge is there and answers, whatever it says.
    Answered,
    Transport,
    /// With the time to stay away, where the judge named one.
    Throttle(Option<Duration>),
    /// `certain` when every question must fail alike.
    Permanent {
        certain: bool,
    },
}

/// The right to make one call. A probe that is dropped unsettled gives its right back.
#[derive(Debug)]
pub(crate) struct Pass {
    breaker: Arc<Breaker>,
    generation: u64,
    probe: bool,
    settled: bool,
}

/// Why no pass was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) time_left: Duration,
}

#[derive(Debug)]
struct Inner {
    state: BreakerState,
    /// Rises with each change of state, so that calls from before a change cannot undo it.
    generation: u64,
    failures: u32,
    ever_answered: bool,
    alerted: bool,
}

impl Breaker {
    pub(crate) fn new(judge: &str, settings: BreakerSettings) -> Arc<Breaker> {
        Arc::new(Breaker {
            judge: judge.to_owned(),
            settings,
            inner: Mutex::new(Inner {
                state: BreakerState::Closed,
                generation: 0,
                failures: 0,
                ever_answered: false,
                alerted: false,
            }),
            published: watch::Sender::new(BreakerState::Closed),
        })
    }

    /// Whether a call would be refused now.
    pub fn is_open(&self) -> bool {
        self.check().is_err()
    }

    /// The state now.
    pub fn state(&self) -> BreakerState {
        self.lock().state
    }

    /// The state and its changes.
    pub fn watch(&self) -> watch::Receiver<BreakerState> {
        self.published.subscribe()
    }

    /// Waits until a call would not be refused, or until `stop` is cancelled.
    ///
    /// "Maybe" closed: the call that follows may be the probe, and another may have been faster.
    pub async fn wait_until_maybe_closed(&self, stop: &CancellationToken) {
        let mut changes = self.watch();
        loop {
            let state = *changes.borrow_and_update();
            let time_is_over = async {
                match state {
                    BreakerState::Closed => {}
                    BreakerState::Open { until, .. } => sleep_until(until).await,
                    BreakerState::HalfOpen => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                changed = changes.changed() => if changed.is_err() { return },
                () = time_is_over => return,
            }
        }
    }

    /// Waits until no probe is on its way, or until `stop` is cancelled.
    pub(crate) async fn wait_for_probe(&self, stop: &CancellationToken) {
        let mut changes = self.watch();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            // An error would mean that the breaker is gone, and then nobody waits for it.
            _ = changes.wait_for(|state| *state != BreakerState::HalfOpen) => {}
        }
    }

    /// Whether a call would be let through, without taking the probe's place.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        match self.lock().state {
            BreakerState::Closed => Ok(()),
            BreakerState::Open { until, .. } => {
                let time_left = until.saturating_duration_since(Instant::now());
                if time_left.is_zero() { Ok(()) } else { Err(Refused { time_left }) }
            }
            BreakerState::HalfOpen => Err(Refused { time_left: PROBE_PATIENCE }),
        }
    }

    /// Lets one call through, or says how long to stay away.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Pass, Refused> {
        let mut inner = self.lock();
        let probe = match inner.state {
            BreakerState::Closed => false,
            BreakerState::Open { until, .. } => {
                let time_left = until.saturating_duration_since(Instant::now());
                if !time_left.is_zero() {
                    return Err(Refused { time_left });
                }
                self.change(&mut inner, BreakerState::HalfOpen);
                true
            }
            BreakerState::HalfOpen => return Err(Refused { time_left: PROBE_PATIENCE }),
        };
        Ok(Pass { breaker: Arc::clone(self), generation: inner.generation, probe, settled: false })
    }

    fn settle(&self, generation: u64, probe: bool, outcome: Outcome) {
        let mut inner = self.lock();
        let current = inner.generation == generation;
        match outcome {
            Outcome::Answered => {
                inner.ever_answered = true;
                if current {
                    inner.failures = 0;
                    if probe {
                        inner.alerted = false;
                        self.change(&mut inner, BreakerState::Closed);
                        tracing::info!(judge = self.judge, "judge answers again, breaker closed");
                    }
                }
            }
            // The judge said how long: that is news whatever the state, and it never shortens a pause.
            Outcome::Throttle(Some(pause)) => self.open(&mut inner, OpenReason::Throttle, pause),
            Outcome::Throttle(None) if current && probe => {
                self.open(&mut inner, OpenReason::Throttle, self.settings.open);
            }
            Outcome::Throttle(None) => {}
            Outcome::Transport if current => {
                if self.count_failure(&mut inner, probe) {
                    self.open(&mut inner, OpenReason::Transport, self.settings.open);
                }
            }
            Outcome::Transport => {}
            // A judge that has answered others may have stumbled over this one question, and one bad trace
            // must not stop the fleet. A judge that never answered is taken to be misconfigured at once.
            Outcome::Permanent { certain } => {
                let at_once = certain || !inner.ever_answered;
                if at_once || (current && self.count_failure(&mut inner, probe)) {
                    self.open(&mut inner, OpenReason::Permanent, self.settings.permanent_open);
                }
            }
        }
    }

    /// Counts a failure and says whether it was one too many. A failed probe always is.
    fn count_failure(&self, inner: &mut Inner, probe: bool) -> bool {
        inner.failures += 1;
        probe || self.settings.failures <= inner.failures
    }

    fn open(&self, inner: &mut Inner, reason: OpenReason, pause: Duration) {
        let until = Instant::now() + pause;
        if matches!(inner.state, BreakerState::Open { until: longer, .. } if until <= longer) {
            return;
        }
        let was_open = matches!(inner.state, BreakerState::Open { .. });
        inner.failures = 0;
        self.change(inner, BreakerState::Open { until, reason });
        let open_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        if reason == OpenReason::Permanent && !inner.alerted {
            // Once for each trouble and not for each probe: it stays until the judge has answered.
            inner.alerted = true;
            tracing::error!(judge = self.judge, open_ms, "judge is misconfigured, breaker opened");
        } else if !was_open {
            tracing::warn!(judge = self.judge, ?reason, open_ms, "breaker opened");
        }
    }

    fn change(&self, inner: &mut Inner, state: BreakerState) {
        inner.state = state;
        inner.generation += 1;
        self.published.send_replace(state);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Reports how the call went.
    pub(crate) fn settle(mut self, outcome: Outcome) {
        self.settled = true;
        self.breaker.settle(self.generation, self.probe, outcome);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.settled || !self.probe {
            return;
        }
        // The probe was given up (its caller was stopped): the next call may try at once.
        let mut inner = self.breaker.lock();
        if inner.generation == self.generation {
            let until = Instant::now();
            self.breaker.change(&mut inner, BreakerState::Open { until, reason: OpenReason::Transport });
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
