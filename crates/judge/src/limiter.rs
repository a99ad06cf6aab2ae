//! How many calls a judge may have in flight, in which order they go, and how fast they follow one another.
//!
//! A call passes three things: its turn (by urgency), a free place (as many as [`Controller`] finds worth it), and
//! the pace (requests and tokens per minute). It waits for place and pace while it holds the turn, so that an urgent
//! call stands behind one other call at most, and not behind a row of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::adaptive::Controller;
use crate::pace::{Estimate, Pace};
use crate::reply::Usage;
use crate::turnstile::{Turnstile, Urgency};

/// The limits of a judge, shared by all its clones.
#[derive(Debug)]
pub struct Limiter {
    turnstile: Arc<Turnstile>,
    semaphore: Arc<Semaphore>,
    pace: Pace,
    state: Mutex<State>,
    max: usize,
}

#[derive(Debug)]
struct State {
    controller: Controller,
    /// Slots that are still held although the limit no longer has room for them; they vanish when released.
    debt: usize,
    /// Rises with each change of the limit: calls from before it say nothing about what came after.
    epoch: u64,
    /// Rises with each halving, so that calls from before it cannot halve once more.
    halvings: u64,
}

/// The right to make one call. Released on drop.
#[derive(Debug)]
pub(crate) struct Slot {
    limiter: Arc<Limiter>,
    permit: Option<OwnedSemaphorePermit>,
    estimate: Estimate,
    epoch: u64,
    halvings: u64,
    /// It took the last free place.
    full: bool,
}

/// What a [`Limiter`] allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    pub(crate) start: usize,
    pub(crate) max: usize,
    pub(crate) least_answers: u32,
    pub(crate) requests_per_minute: Option<f64>,
    pub(crate) tokens_per_minute: Option<f64>,
}

impl Limiter {
    pub(crate) fn new(allowed: Allowed) -> Arc<Limiter> {
        let controller = Controller::new(allowed.start, allowed.max, allowed.least_answers);
        Arc::new(Limiter {
            turnstile: Arc::default(),
            semaphore: Arc::new(Semaphore::new(controller.limit())),
            pace: Pace::new(allowed.requests_per_minute, allowed.tokens_per_minute),
            state: Mutex::new(State { controller, debt: 0, epoch: 0, halvings: 0 }),
            max: allowed.max,
        })
    }

    /// How many calls may be in flight now.
    pub fn limit(&self) -> usize {
        self.lock().controller.limit()
    }

    /// How many calls may be in flight at most.
    pub fn max(&self) -> usize {
        self.max
    }

    /// How many calls are in flight, or about to be. May be above the limit shortly after it was halved.
    pub fn in_flight(&self) -> usize {
        let state = self.lock();
        (state.controller.limit() + state.debt).saturating_sub(self.semaphore.available_permits())
    }

    /// Waits until a call with so large a body may go. None when it was withdrawn, or everything stopped, before that.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        urgency: Urgency,
        body_bytes: usize,
        withdrawn: &CancellationToken,
        stop: &CancellationToken,
    ) -> Option<Slot> {
        tokio::select! {
            biased;
            () = stop.cancelled() => None,
            () = withdrawn.cancelled() => None,
            slot = self.take(urgency, body_bytes) => slot,
        }
    }

    async fn take(self: &Arc<Self>, urgency: Urgency, body_bytes: usize) -> Option<Slot> {
        let turn = self.turnstile.enter(urgency).await;
        let permit = Arc::clone(&self.semaphore).acquire_owned().await.ok()?;
        // From here on it is given back by the slot, which knows about debt.
        let mut slot = {
            let state = self.lock();
            Slot {
                limiter: Arc::clone(self),
                permit: Some(permit),
                estimate: Estimate::default(),
                epoch: state.epoch,
                halvings: state.halvings,
                full: self.semaphore.available_permits() == 0,
            }
        };
        slot.estimate = self.pace.ready(body_bytes).await;
        drop(turn);
        Some(slot)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives out, or takes in, places after the controller has changed its mind.
    fn follow(&self, state: &mut State, before: usize) {
        let now = state.controller.limit();
        if now == before {
            return;
        }
        state.epoch += 1;
        if let Some(more) = now.checked_sub(before) {
            let paid = more.min(state.debt);
            state.debt -= paid;
            self.semaphore.add_permits(more - paid);
        } else {
            let cut = before - now;
            state.debt += cut - self.semaphore.forget_permits(cut);
        }
        tracing::debug!(limit = now, before, "calls of the judge at once");
    }
}

impl Slot {
    /// Notes that the judge throttled this call, or did not answer it in time.
    ///
    /// Sixteen calls in flight that are all throttled are one piece of news, not sixteen: only calls that
    /// began after the last halving can halve again.
    pub(crate) fn too_many(&self) {
        self.limiter.pace.unused(self.estimate);
        let mut state = self.limiter.lock();
        if state.halvings != self.halvings {
            return;
        }
        state.halvings += 1;
        let before = state.controller.limit();
        state.controller.too_many();
        self.limiter.follow(&mut state, before);
        tracing::info!(limit = state.controller.limit(), "judge throttled or timed out, fewer calls at once");
    }

    /// Notes that the judge answered this call.
    pub(crate) fn answered(&self, latency: Duration, usage: Option<Usage>) {
        self.limiter.pace.used(self.estimate, usage);
        let mut state = self.limiter.lock();
        if state.epoch != self.epoch {
            return;
        }
        let before = state.controller.limit();
        state.controller.answered(latency, self.full);
        self.limiter.follow(&mut state, before);
    }

    /// Notes that no answer came, for a reason that has nothing to do with how many calls there are.
    pub(crate) fn failed(&self) {
        self.limiter.pace.unused(self.estimate);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.limiter.lock();
        if state.debt == 0 {
            return;
        }
        if let Some(permit) = self.permit.take() {
            state.debt -= 1;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::time::timeout;

    use super::*;

    const LATENCY: Duration = Duration::from_millis(100);

    fn limiter(start: usize, max: usize, least_answers: u32) -> Arc<Limiter> {
        let none = None;
        Limiter::new(Allowed {
            start,
            max,
            least_answers,
            requests_per_minute: none,
            tokens_per_minute: none,
        })
    }

    async fn slot(limiter: &Arc<Limiter>) -> Slot {
        limiter
            .acquire(Urgency::Normal, 0, &CancellationToken::new(), &CancellationToken::new())
            .await
            .unwrap()
    }

    async fn slots(limiter: &Arc<Limiter>, count: usize) -> Vec<Slot> {
        let mut slots = Vec::new();
        for _ in 0..count {
            slots.push(slot(limiter).await);
        }
        slots
    }

    async fn is_full(limiter: &Arc<Limiter>) -> bool {
        timeout(Duration::from_secs(1), slot(limiter)).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_calls_than_the_limit() {
        let limiter = limiter(3, 3, 1);
        let mut held = slots(&limiter, 3).await;
        assert!(is_full(&limiter).await);
        assert_eq!(limiter.in_flight(), 3);
        held.pop();
        assert_eq!(limiter.in_flight(), 2);
        slots(&limiter, 1).await;
    }

    #[tokio::test(start_paused = true)]
    async fn many_throttles_at_once_halve_once() {
        let limiter = limiter(16, 16, 1);
        let held = slots(&limiter, 16).await;
        held.iter().for_each(Slot::too_many);
        assert_eq!((limiter.limit(), limiter.in_flight()), (8, 16));
        // Those that are over the limit leave without making room.
        drop(held);
        assert_eq!(limiter.in_flight(), 0);
        let held = slots(&limiter, 8).await;
        assert!(is_full(&limiter).await);
        held[0].too_many();
        assert_eq!(limiter.limit(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_never_falls_below_one() {
        let limiter = limiter(3, 3, 1);
        for expected in [1, 1, 1] {
            slot(&limiter).await.too_many();
            assert_eq!(limiter.limit(), expected);
        }
        let held = slots(&limiter, 1).await;
        assert!(is_full(&limiter).await);
        drop(held);
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_grows_while_it_is_used_up_and_no_further_than_the_maximum() {
        let limiter = limiter(1, 4, 2);
        let mut limits = Vec::new();
        for _ in 0..6 {
            // One after the other: each takes the last free place there is when all others are held.
            for _ in 0..limiter.limit().max(2) {
                let held = slots(&limiter, limiter.limit()).await;
                held.last().unwrap().answered(LATENCY, None);
            }
            limits.push(limiter.limit());
        }
        assert_eq!(limits, [2, 4, 4, 4, 4, 4]);
        let _held = slots(&limiter, 4).await;
        assert!(is_full(&limiter).await);
    }

    #[tokio::test(start_paused = true)]
    async fn growth_pays_the_debt_first() {
        let limiter = limiter(4, 4, 1);
        let held = slots(&limiter, 4).await;
        held[0].too_many();
        assert_eq!((limiter.limit(), limiter.in_flight()), (2, 4));
        {
            let mut state = limiter.lock();
            let before = state.controller.limit();
            // The window after a halving rests, the one after that grows.
            (0..4).for_each(|_| state.controller.answered(LATENCY, true));
            limiter.follow(&mut state, before);
        }
        assert_eq!((limiter.limit(), limiter.in_flight()), (3, 4));
        drop(held);
        let _held = slots(&limiter, 3).await;
        assert!(is_full(&limiter).await);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_from_before_a_halving_do_not_count_for_growth() {
        let limiter = limiter(4, 4, 1);
        let held = slots(&limiter, 4).await;
        held[0].too_many();
        for slot in &held[1..] {
            (0..20).for_each(|_| slot.answered(LATENCY, None));
        }
        assert_eq!(limiter.limit(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_the_stop_token() {
        let limiter = limiter(1, 1, 1);
        let _held = slots(&limiter, 1).await;
        let stop = CancellationToken::new();
        let canceller = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            canceller.cancel();
        });
        let never = CancellationToken::new();
        assert!(limiter.acquire(Urgency::Urgent, 0, &never, &stop).await.is_none());
        assert!(limiter.acquire(Urgency::Urgent, 0, &stop, &never).await.is_none(), "or withdrawn");
    }

    #[tokio::test(start_paused = true)]
    async fn an_urgent_call_waits_for_one_place_and_not_for_a_flood() {
        let limiter = limiter(1, 1, 1);
        let held = slot(&limiter).await;
        let flood: Vec<_> = (0..500)
            .map(|_| {
                let limiter = Arc::clone(&limiter);
                tokio::spawn(async move {
                    let never = CancellationToken::new();
                    let slot = limiter.acquire(Urgency::Bulk, 0, &never, &never).await;
                    tokio::time::sleep(LATENCY).await;
                    drop(slot);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        let stop = CancellationToken::new();
        let begun = tokio::time::Instant::now();
        let mut urgent = Box::pin(limiter.acquire(Urgency::Urgent, 0, &stop, &stop));
        assert!((&mut urgent).now_or_never().is_none());
        drop(held);
        drop(urgent.await.unwrap());
        assert!(begun.elapsed() <= 2 * LATENCY, "{:?}", begun.elapsed());
        for bulk in flood {
            bulk.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_given_up_while_it_waits_for_its_pace_gives_everything_back() {
        let limiter = Limiter::new(Allowed {
            start: 1,
            max: 1,
            least_answers: 1,
            requests_per_minute: Some(1.0),
            tokens_per_minute: None,
        });
        drop(slot(&limiter).await);
        assert!(is_full(&limiter).await, "the second call of the minute waits");
        assert_eq!(limiter.in_flight(), 0);
        drop(slot(&limiter).await);
    }
}
