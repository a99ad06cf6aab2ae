//! What a worker knows of itself, for readiness, metrics and its report to the fleet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, NaiveDate, Utc};
use queue::Lane;
use store::SampledOut;

/// No message was taken yet.
const NEVER: i64 = i64::MIN;

/// Shared by all parts of a worker.
#[derive(Debug)]
pub(crate) struct Vitals {
    begun: Instant,
    lanes: [LaneVitals; 3],
    /// Milliseconds from `begun` to the last beat.
    beat: AtomicU64,
    /// What the database's last answer was: none before the first, an error's text after a failure.
    database: Mutex<Option<Result<(), String>>>,
    stopping: AtomicBool,
    sampled_out: Mutex<HashMap<(String, NaiveDate), u64>>,
}

#[derive(Debug)]
struct LaneVitals {
    in_work: Arc<AtomicU64>,
    /// When the last message that was taken was published, in seconds.
    published: AtomicI64,
}

/// One delivery that is held and in work.
#[derive(Debug)]
pub(crate) struct InWork(Arc<AtomicU64>);

impl Drop for InWork {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Vitals {
    pub(crate) fn new() -> Self {
        let lane = || LaneVitals { in_work: Arc::default(), published: AtomicI64::new(NEVER) };
        Self {
            begun: Instant::now(),
            lanes: [lane(), lane(), lane()],
            beat: AtomicU64::new(0),
            database: Mutex::new(None),
            stopping: AtomicBool::new(false),
            sampled_out: Mutex::default(),
        }
    }

    /// A delivery is taken in work, until the value is dropped.
    pub(crate) fn taken(&self, lane: Lane, published_at: Option<DateTime<Utc>>) -> InWork {
        let vitals = self.lane(lane);
        vitals.in_work.fetch_add(1, Ordering::Relaxed);
        if let Some(time) = published_at {
            vitals.published.store(time.timestamp(), Ordering::Relaxed);
            let waited = (Utc::now() - time).to_std().unwrap_or_default();
            metrics::histogram!("groundcrew_queue_wait_seconds", "lane" => lane.routing_key())
                .record(waited.as_secs_f64());
        }
        InWork(Arc::clone(&vitals.in_work))
    }

    pub(crate) fn in_work(&self, lane: Lane) -> u64 {
        self.lane(lane).in_work.load(Ordering::Relaxed)
    }

    pub(crate) fn last_published(&self, lane: Lane) -> Option<DateTime<Utc>> {
        let seconds = self.lane(lane).published.load(Ordering::Relaxed);
        (seconds != NEVER).then(|| DateTime::from_timestamp(seconds, 0)).flatten()
    }

    /// The event loop is alive.
    pub(crate) fn beat(&self) {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.beat.store(ms, Ordering::Relaxed);
    }

    pub(crate) fn since_beat(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.beat.load(Ordering::Relaxed)))
    }

    pub(crate) fn database_answered(&self, answer: Result<(), String>) {
        *lock(&self.database) = Some(answer);
    }

    pub(crate) fn database(&self) -> Option<Result<(), String>> {
        lock(&self.database).clone()
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Counts a trace that sampling leaves out.
    pub(crate) fn left_out(&self, project: &str) {
        *lock(&self.sampled_out).entry((project.to_owned(), Utc::now().date_naive())).or_default() += 1;
    }

    /// Takes the counts that are not stored yet.
    pub(crate) fn take_left_out(&self) -> Vec<SampledOut> {
        let counts = std::mem::take(&mut *lock(&self.sampled_out));
        counts.into_iter().map(|((project, day), traces)| SampledOut { project, day, traces }).collect()
    }

    /// Puts counts back that could not be stored.
    pub(crate) fn keep_left_out(&self, counts: Vec<SampledOut>) {
        let mut kept = lock(&self.sampled_out);
        for SampledOut { project, day, traces } in counts {
            *kept.entry((project, day)).or_default() += traces;
        }
    }

    fn lane(&self, lane: Lane) -> &LaneVitals {
        match lane {
            Lane::Urgent => &self.lanes[0],
            Lane::Normal => &self.lanes[1],
            Lane::Bulk => &self.lanes[2],
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_loop_that_does_not_beat_is_silent_for_longer_and_longer() {
        let begun = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
        let vitals = Vitals { begun, ..Vitals::new() };
        assert!(vitals.since_beat() >= Duration::from_secs(60));
        vitals.beat();
        assert!(vitals.since_beat() < Duration::from_secs(30));
    }

    #[test]
    fn counts_that_could_not_be_stored_are_kept_beside_new_ones() {
        let vitals = Vitals::new();
        vitals.left_out("p");
        let first = vitals.take_left_out();
        vitals.left_out("p");
        vitals.keep_left_out(first);
        let counts = vitals.take_left_out();
        assert_eq!(counts.iter().map(|count| count.traces).sum::<u64>(), 2);
        assert!(vitals.take_left_out().is_empty());
    }

    #[test]
    fn a_delivery_counts_for_as_long_as_it_is_in_work() {
        let vitals = Vitals::new();
        let (one, other) = (vitals.taken(Lane::Bulk, None), vitals.taken(Lane::Bulk, None));
        assert_eq!((vitals.in_work(Lane::Bulk), vitals.in_work(Lane::Urgent)), (2, 0));
        drop(one);
        assert_eq!(vitals.in_work(Lane::Bulk), 1);
        drop(other);
        assert_eq!((vitals.in_work(Lane::Bulk), vitals.last_published(Lane::Bulk)), (0, None));
    }
}
