//! How often was asked about which trace.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;

/// Enough that two cores seldom meet at the same lock.
const SHARDS: usize = 64;

/// How often was asked, and how often a reply went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Calls {
    /// Requests that arrived in full.
    pub received: u64,
    /// Chat completions that were handed over for sending to their last byte. Error statuses, pages of HTML
    /// and replies that were cut or never finished are not among them.
    pub answered: u64,
}

/// Counts by trace id. The empty id stands for calls without one.
#[derive(Debug)]
pub(crate) struct Counts {
    shards: Vec<Mutex<HashMap<String, Calls>>>,
    hasher: RandomState,
}

/// All counts at one moment.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Overview {
    total: Calls,
    untraced: Calls,
    traces: BTreeMap<String, Calls>,
}

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }

    /// Counts a call that arrived and says which one of its trace it is, from 1.
    pub(crate) fn received(&self, trace_id: &str) -> u64 {
        self.change(trace_id, |calls| {
            calls.received += 1;
            calls.received
        })
    }

    /// Counts a reply that went out.
    pub(crate) fn answered(&self, trace_id: &str) {
        self.change(trace_id, |calls| calls.answered += 1);
    }

    pub(crate) fn of(&self, trace_id: &str) -> Calls {
        self.shard(trace_id).get(trace_id).copied().unwrap_or_default()
    }

    pub(crate) fn overview(&self) -> Overview {
        let mut overview = Overview::default();
        for shard in &self.shards {
            for (trace_id, calls) in lock(shard).iter() {
                overview.total.received += calls.received;
                overview.total.answered += calls.answered;
                if trace_id.is_empty() {
                    overview.untraced = *calls;
                } else {
                    overview.traces.insert(trace_id.clone(), *calls);
                }
            }
        }
        overview
    }

    pub(crate) fn total(&self) -> Calls {
        self.overview().total
    }

    pub(crate) fn reset(&self) {
        self.shards.iter().for_each(|shard| lock(shard).clear());
    }

    fn change<T>(&self, trace_id: &str, change: impl FnOnce(&mut Calls) -> T) -> T {
        let mut shard = self.shard(trace_id);
        // Looked up first, so that a known trace costs no allocation.
        if let Some(calls) = shard.get_mut(trace_id) {
            return change(calls);
        }
        change(shard.entry(trace_id.to_owned()).or_default())
    }

    fn shard(&self, trace_id: &str) -> MutexGuard<'_, HashMap<String, Calls>> {
        #[expect(clippy::cast_possible_truncation, reason = "any part of a hash will do")]
        let hash = self.hasher.hash_one(trace_id) as usize;
        lock(&self.shards[hash % SHARDS])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
