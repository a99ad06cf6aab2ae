//! How many calls a judge may have in flight.
//!
//! A judge that throttles often means "too many at once", so besides waiting, fewer calls are made at once:
//! the limit halves on a throttle and grows back by one after a row of successes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The limit of calls in flight, shared by all clones of a judge. Waiting is first come, first served.
#[derive(Debug)]
pub struct Limiter {
    semaphore: Arc<Semaphore>,
    state: Mutex<State>,
    max: usize,
    recover_after: u32,
}

#[derive(Debug)]
struct State {
    limit: usize,
    /// Slots that are still held although the limit no longer has room for them; they vanish when released.
    debt: usize,
    successes: u32,
    /// Rises with each halving, so that calls from before it cannot halve once more.
    epoch: u64,
}

/// The right to make one call. Released on drop.
#[derive(Debug)]
pub(crate) struct Slot {
    limiter: Arc<Limiter>,
    permit: Option<OwnedSemaphorePermit>,
    epoch: u64,
}

impl Limiter {
    pub(crate) fn new(max: usize, recover_after: u32) -> Arc<Limiter> {
        Arc::new(Limiter {
            semaphore: Arc::new(Semaphore::new(max)),
            state: Mutex::new(State { limit: max, debt: 0, successes: 0, epoch: 0 }),
            max,
            recover_after,
        })
    }

    /// How many calls may be in flight now.
    pub fn limit(&self) -> usize {
        self.lock().limit
    }

    /// How many calls may be in flight when the judge is content.
    pub fn max(&self) -> usize {
        self.max
    }

    /// How many calls are in flight. May be above the limit shortly after it was halved.
    pub fn in_flight(&self) -> usize {
        let state = self.lock();
        (state.limit + state.debt).saturating_sub(self.semaphore.available_permits())
    }

    /// Waits for a slot. None when `stop` was cancelled first.
    pub(crate) async fn acquire(self: &Arc<Self>, stop: &CancellationToken) -> Option<Slot> {
        let permit = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            permit = Arc::clone(&self.semaphore).acquire_owned() => permit.ok()?,
        };
        let epoch = self.lock().epoch;
        Some(Slot { limiter: Arc::clone(self), permit: Some(permit), epoch })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Notes that the judge throttled this call.
    ///
    /// Sixteen calls in flight that are all throttled are one piece of news, not sixteen: only calls that
    /// began after the last halving can halve again.
    pub(crate) fn throttled(&self) {
        let mut state = self.limiter.lock();
        if state.epoch != self.epoch {
            return;
        }
        let limit = (state.limit / 2).max(1);
        let cut = state.limit - limit;
        let idle = self.limiter.semaphore.forget_permits(cut);
        state.debt += cut - idle;
        state.limit = limit;
        state.successes = 0;
        state.epoch += 1;
        tracing::info!(limit, "judge throttled, fewer calls at once");
    }

    /// Notes that the judge answered this call.
    pub(crate) fn succeeded(&self) {
        let mut state = self.limiter.lock();
        if state.limit == self.limiter.max {
            return;
        }
        state.successes += 1;
        if state.successes < self.limiter.recover_after {
            return;
        }
        state.successes = 0;
        state.limit += 1;
        if state.debt == 0 {
            self.limiter.semaphore.add_permits(1);
        } else {
            state.debt -= 1;
        }
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
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn slots(limiter: &Arc<Limiter>, count: usize) -> Vec<Slot> {
        let mut slots = Vec::new();
        for _ in 0..count {
            slots.push(limiter.acquire(&CancellationToken::new()).await.unwrap());
        }
        slots
    }

    async fn is_full(limiter: &Arc<Limiter>) -> bool {
        timeout(Duration::from_secs(1), limiter.acquire(&CancellationToken::new())).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_calls_than_the_limit() {
        let limiter = Limiter::new(3, 1);
        let mut held = slots(&limiter, 3).await;
        assert!(is_full(&limiter).await);
        assert_eq!(limiter.in_flight(), 3);
        held.pop();
        assert_eq!(limiter.in_flight(), 2);
        slots(&limiter, 1).await;
    }

    #[tokio::test(start_paused = true)]
    async fn many_throttles_at_once_halve_once() {
        let limiter = Limiter::new(16, 1);
        let held = slots(&limiter, 16).await;
        held.iter().for_each(Slot::throttled);
        assert_eq!((limiter.limit(), limiter.in_flight()), (8, 16));
        // Those that are over the limit leave without making room.
        drop(held);
        assert_eq!(limiter.in_flight(), 0);
        let held = slots(&limiter, 8).await;
        assert!(is_full(&limiter).await);
        held[0].throttled();
        assert_eq!(limiter.limit(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_never_falls_below_one() {
        let limiter = Limiter::new(3, 1);
        for expected in [1, 1, 1] {
            slots(&limiter, 1).await[0].throttled();
            assert_eq!(limiter.limit(), expected);
        }
        let held = slots(&limiter, 1).await;
        assert!(is_full(&limiter).await);
        drop(held);
    }

    #[tokio::test(start_paused = true)]
    async fn successes_bring_the_limit_back_one_by_one_and_no_further() {
        let limiter = Limiter::new(4, 3);
        slots(&limiter, 1).await[0].throttled();
        let mut limits = Vec::new();
        for _ in 0..12 {
            slots(&limiter, 1).await[0].succeeded();
            limits.push(limiter.limit());
        }
        assert_eq!(limits, [2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4]);
        let _held = slots(&limiter, 4).await;
        assert!(is_full(&limiter).await);
    }

    #[tokio::test(start_paused = true)]
    async fn growth_pays_the_debt_first() {
        let limiter = Limiter::new(4, 1);
        let held = slots(&limiter, 4).await;
        held[0].throttled();
        held[1].succeeded();
        assert_eq!((limiter.limit(), limiter.in_flight()), (3, 4));
        drop(held);
        let _held = slots(&limiter, 3).await;
        assert!(is_full(&limiter).await);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_the_stop_token() {
        let limiter = Limiter::new(1, 1);
        let _held = slots(&limiter, 1).await;
        let stop = CancellationToken::new();
        let canceller = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            canceller.cancel();
        });
        assert!(limiter.acquire(&stop).await.is_none());
    }
}
