//! Who goes next. One at a time passes; those who wait are served by urgency, in shares, so that a flood of one
//! urgency keeps none of the others waiting for ever.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// How soon a call is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Urgency {
    /// Somebody waits for it.
    Urgent,
    /// The usual.
    #[default]
    Normal,
    /// Whenever there is room.
    Bulk,
}

impl Urgency {
    const ALL: [Urgency; 3] = [Urgency::Urgent, Urgency::Normal, Urgency::Bulk];

    const fn index(self) -> usize {
        match self {
            Urgency::Urgent => 0,
            Urgency::Normal => 1,
            Urgency::Bulk => 2,
        }
    }

    /// Of 21 calls while all three wait, so many are of this urgency.
    const fn share(self) -> i64 {
        match self {
            Urgency::Urgent => 16,
            Urgency::Normal => 4,
            Urgency::Bulk => 1,
        }
    }
}

/// A gate that one passes at a time.
#[derive(Debug, Default)]
pub(crate) struct Turnstile {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    taken: bool,
    waiting: [VecDeque<oneshot::Sender<Turn>>; 3],
    order: Order,
}

/// The right to be in the gate. Passed on when dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    /// None in a turn that was given back to whoever passes it on.
    turnstile: Option<Arc<Turnstile>>,
}

impl Turnstile {
    /// Waits for the turn. May be dropped at any time.
    pub(crate) async fn enter(self: &Arc<Self>, urgency: Urgency) -> Turn {
        loop {
            let waiting = {
                let mut inner = self.lock();
                if !inner.taken {
                    inner.taken = true;
                    return Turn { turnstile: Some(Arc::clone(self)) };
                }
                let (sender, receiver) = oneshot::channel();
                inner.waiting[urgency.index()].push_back(sender);
                receiver
            };
            // An error cannot come: senders are dropped only when their receiver is gone.
            if let Ok(turn) = waiting.await {
                return turn;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turnstile) = self.turnstile.take() else { return };
        let mut inner = turnstile.lock();
        loop {
            let counts = [0, 1, 2].map(|at| inner.waiting[at].len());
            let Some(next) = inner.order.next(counts) else {
                inner.taken = false;
                return;
            };
            let Some(sender) = inner.waiting[next.index()].pop_front() else { continue };
            match sender.send(Turn { turnstile: Some(Arc::clone(&turnstile)) }) {
                Ok(()) => return,
                // Whoever waited has gone: disarmed, or its drop would come back here.
                Err(mut turn) => turn.turnstile = None,
            }
        }
    }
}

/// Smooth weighted round robin over those who wait.
#[derive(Debug, Default)]
struct Order {
    credit: [i64; 3],
}

impl Order {
    /// Whose turn it is, given how many wait; none when nobody does.
    fn next(&mut self, waiting: [usize; 3]) -> Option<Urgency> {
        let present = || Urgency::ALL.into_iter().filter(|urgency| waiting[urgency.index()] > 0);
        for urgency in Urgency::ALL {
            let credit = &mut self.credit[urgency.index()];
            // Who does not wait saves nothing up.
            *credit = if waiting[urgency.index()] > 0 { *credit + urgency.share() } else { 0 };
        }
        // The first one of the largest: ties go to the more urgent.
        let chosen = present().rev().max_by_key(|urgency| self.credit[urgency.index()])?;
        self.credit[chosen.index()] -= present().map(Urgency::share).sum::<i64>();
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use proptest::prelude::*;
    use tokio::task::JoinHandle;

    use super::*;

    #[test]
    fn all_get_their_share_and_the_urgent_one_goes_first() {
        let mut order = Order::default();
        let turns: Vec<Urgency> = (0..42).map(|_| order.next([9, 9, 9]).unwrap()).collect();
        assert_eq!(turns[0], Urgency::Urgent);
        let count = |urgency| turns.iter().filter(|turn| **turn == urgency).count();
        assert_eq!((count(Urgency::Urgent), count(Urgency::Normal), count(Urgency::Bulk)), (32, 8, 2));
    }

    proptest! {
        #[test]
        fn whoever_waits_is_served_before_long(
            others in prop::collection::vec((0_usize..3, 0_usize..3, 0_usize..3), 0..200),
            who in 0_usize..3,
        ) {
            let mut order = Order::default();
            for (urgent, normal, bulk) in others {
                order.next([urgent, normal, bulk]);
            }
            let served = (0..10 * 21).any(|_| order.next([1, 1, 1]).map(Urgency::index) == Some(who));
            prop_assert!(served);
        }

        #[test]
        fn nobody_is_served_who_does_not_wait(rounds in prop::collection::vec((0_usize..2, 0_usize..2, 0_usize..2), 1..100)) {
            let mut order = Order::default();
            for (urgent, normal, bulk) in rounds {
                let waiting = [urgent, normal, bulk];
                match order.next(waiting) {
                    Some(urgency) => prop_assert!(waiting[urgency.index()] > 0),
                    None => prop_assert_eq!(waiting, [0, 0, 0]),
                }
            }
        }
    }

    fn waiting(turnstile: &Arc<Turnstile>, urgency: Urgency) -> JoinHandle<Turn> {
        let turnstile = Arc::clone(turnstile);
        tokio::spawn(async move { turnstile.enter(urgency).await })
    }

    #[tokio::test]
    async fn an_urgent_call_passes_a_long_row_of_others() {
        let turnstile = Arc::new(Turnstile::default());
        let first = turnstile.enter(Urgency::Bulk).await;
        let mut row: Vec<_> = (0..100).map(|_| waiting(&turnstile, Urgency::Bulk)).collect();
        tokio::task::yield_now().await;
        let urgent = waiting(&turnstile, Urgency::Urgent);
        tokio::task::yield_now().await;
        drop(first);
        let turn = urgent.await.unwrap();
        assert!(row.iter().all(|waiter| !waiter.is_finished()));
        drop(turn);
        // The others come in the order in which they came.
        for waiter in row.drain(..) {
            drop(waiter.await.unwrap());
        }
        assert!(!turnstile.lock().taken);
    }

    #[tokio::test]
    async fn a_turn_is_not_lost_with_one_who_left() {
        let turnstile = Arc::new(Turnstile::default());
        let first = turnstile.enter(Urgency::Normal).await;
        let gone = waiting(&turnstile, Urgency::Urgent);
        let next = waiting(&turnstile, Urgency::Normal);
        tokio::task::yield_now().await;
        gone.abort();
        assert!(gone.await.is_err());
        drop(first);
        drop(next.await.unwrap());
        // Given, and dropped before it was taken.
        let first = turnstile.enter(Urgency::Normal).await;
        let mut late = Box::pin(turnstile.enter(Urgency::Normal));
        assert!((&mut late).now_or_never().is_none());
        drop(first);
        drop(late);
        drop(turnstile.enter(Urgency::Normal).await);
    }
}
