//! How many calls at once are worth it: a pure controller, fed with what happened.
//!
//! - A throttle or a time-out halves the limit, at once.
//! - Otherwise the limit grows while it is used and growth helps: it doubles until the first trouble, then rises by
//!   an eighth at a time.
//! - Growth is measured. Calls that began under the new limit are compared with those under the old one; by Little's
//!   law the throughput of a limit that is in use is the limit over the mean latency. When latency took most of what
//!   the growth should have brought, the growth is taken back, and not tried again for a while.
//! - Wherever that comparison is too noisy, a second brake holds: nothing grows while a call takes twice as long as
//!   in the best times.

use std::time::Duration;

/// A step of growth must bring at least this share of what it could bring, in calls per second.
const LEAST_GAIN: f64 = 0.3;

/// Above this multiple of the best mean latency nothing grows.
const MOST_SLOWDOWN: f64 = 2.0;

/// The best latency is forgotten by this factor with each window, so that a judge that became slower for good is
/// not held against its past for ever.
const FORGET: f64 = 1.01;

/// Windows without growth after a growth that did not help.
const REST_AFTER_REVERT: u32 = 10;

/// Windows without growth after a throttle.
const REST_AFTER_THROTTLE: u32 = 1;

/// Decides about the limit of calls in flight. It is at least 1 and at most `max`, always.
#[derive(Debug)]
pub(crate) struct Controller {
    limit: usize,
    max: usize,
    least_answers: u32,
    doubling: bool,
    window: Window,
    /// The limit before the last growth, and its mean latency in seconds.
    before: Option<(usize, f64)>,
    best: Option<f64>,
    rest: u32,
}

/// Answers to calls that began under the present limit.
#[derive(Debug, Default)]
struct Window {
    answers: u32,
    /// Of those, the ones that took the last free place when they began.
    full: u32,
    seconds: f64,
}

impl Controller {
    /// A controller that begins at `start` and looks again after at least `least_answers` answers.
    pub(crate) fn new(start: usize, max: usize, least_answers: u32) -> Self {
        let max = max.max(1);
        Self {
            limit: start.clamp(1, max),
            max,
            least_answers: least_answers.max(1),
            doubling: true,
            window: Window::default(),
            before: None,
            best: None,
            rest: 0,
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The judge throttled, or did not answer in time.
    pub(crate) fn too_many(&mut self) {
        self.limit = (self.limit / 2).max(1);
        self.doubling = false;
        self.window = Window::default();
        self.before = None;
        self.rest = REST_AFTER_THROTTLE;
    }

    /// A call that began under the present limit was answered. `full` says whether it took the last free place.
    pub(crate) fn answered(&mut self, latency: Duration, full: bool) {
        self.window.answers += 1;
        self.window.full += u32::from(full);
        self.window.seconds += latency.as_secs_f64();
        let enough = self.least_answers.max(u32::try_from(self.limit).unwrap_or(u32::MAX));
        if self.window.answers < enough {
            return;
        }
        let window = std::mem::take(&mut self.window);
        if window.full * 2 < window.answers {
            // Nobody needs more, and such calls say nothing about what more would do.
            self.before = None;
            return;
        }
        self.look(window.seconds / f64::from(window.answers));
    }

    /// Decides after a window in which the limit was in use.
    fn look(&mut self, latency: f64) {
        let best = self.best.map_or(latency, |best| latency.min(best * FORGET));
        self.best = Some(best);
        if let Some((limit, earlier)) = self.before.take()
            && !is_worth_it(ratio(self.limit, limit), latency / earlier.max(f64::MIN_POSITIVE))
        {
            self.limit = limit;
            self.doubling = false;
            self.rest = REST_AFTER_REVERT;
            return;
        }
        if self.rest > 0 {
            self.rest -= 1;
            return;
        }
        if latency > best * MOST_SLOWDOWN {
            self.doubling = false;
            return;
        }
        let step = if self.doubling { self.limit } else { (self.limit / 8).max(1) };
        let next = self.limit.saturating_add(step).min(self.max);
        if next > self.limit {
            self.before = Some((self.limit, latency));
            self.limit = next;
        }
    }
}

/// Whether `growth` times as many calls at once, `slower` times as slow, brought enough.
fn is_worth_it(growth: f64, slower: f64) -> bool {
    growth / slower - 1.0 >= LEAST_GAIN * (growth - 1.0)
}

#[expect(clippy::cast_precision_loss, reason = "limits are at most 10000")]
fn ratio(now: usize, before: usize) -> f64 {
    now as f64 / before.max(1) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A judge that answers `capacity` calls side by side, each in 100 ms, and lets others wait.
    fn latency(limit: usize, capacity: usize) -> Duration {
        Duration::from_millis(100).mul_f64(ratio(limit.max(capacity), capacity))
    }

    fn window(controller: &mut Controller, latency: Duration, full: bool) {
        let answers = controller.least_answers.max(u32::try_from(controller.limit).unwrap());
        for _ in 0..answers {
            controller.answered(latency, full);
        }
    }

    fn settle(controller: &mut Controller, capacity: usize, windows: usize) -> Vec<usize> {
        (0..windows)
            .map(|_| {
                let latency = latency(controller.limit(), capacity);
                window(controller, latency, true);
                controller.limit()
            })
            .collect()
    }

    #[test]
    fn the_limit_doubles_while_the_judge_keeps_up() {
        let mut controller = Controller::new(8, 1000, 10);
        assert_eq!(settle(&mut controller, 10_000, 8), [16, 32, 64, 128, 256, 512, 1000, 1000]);
    }

    #[test]
    fn growth_stops_where_more_calls_only_wait_longer() {
        let mut controller = Controller::new(4, 1000, 10);
        let limits = settle(&mut controller, 20, 400);
        assert!(limits[3..].iter().all(|limit| (16..=40).contains(limit)), "{limits:?}");
        let last = limits.last().unwrap();
        assert!((18..=26).contains(last), "{limits:?}");
    }

    #[test]
    fn a_limit_that_nobody_fills_does_not_grow() {
        let mut controller = Controller::new(4, 100, 10);
        for _ in 0..50 {
            window(&mut controller, Duration::from_millis(100), false);
        }
        assert_eq!(controller.limit(), 4);
    }

    #[test]
    fn after_a_throttle_it_grows_by_small_steps() {
        let mut controller = Controller::new(16, 16, 3);
        controller.too_many();
        assert_eq!(settle(&mut controller, 1000, 9), [8, 9, 10, 11, 12, 13, 14, 15, 16]);
    }

    #[test]
    fn a_judge_that_became_slower_for_good_is_measured_anew() {
        let mut controller = Controller::new(8, 64, 10);
        controller.too_many();
        settle(&mut controller, 1000, 3);
        let slow = Duration::from_secs(1);
        let limits: Vec<usize> = (0..600)
            .map(|_| {
                window(&mut controller, slow, true);
                controller.limit()
            })
            .collect();
        assert_eq!(*limits.last().unwrap(), 64, "{limits:?}");
    }

    #[derive(Debug, Clone)]
    enum Event {
        Answered { ms: u64, full: bool },
        TooMany,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            20 => (0_u64..5_000, any::<bool>()).prop_map(|(ms, full)| Event::Answered { ms, full }),
            1 => Just(Event::TooMany),
        ]
    }

    proptest! {
        #[test]
        fn the_limit_keeps_its_bounds_and_each_throttle_halves_it(
            start in 0_usize..40, max in 1_usize..40, least in 1_u32..20,
            events in prop::collection::vec(event(), 0..400),
        ) {
            let mut controller = Controller::new(start, max, least);
            for event in events {
                let before = controller.limit();
                match event {
                    Event::Answered { ms, full } => controller.answered(Duration::from_millis(ms), full),
                    Event::TooMany => {
                        controller.too_many();
                        prop_assert_eq!(controller.limit(), (before / 2).max(1));
                    }
                }
                prop_assert!((1..=max).contains(&controller.limit()));
            }
        }

        #[test]
        fn whatever_the_capacity_the_limit_ends_near_it(capacity in 4_usize..200, start in 1_usize..=4) {
            let mut controller = Controller::new(start, 2_000, 10);
            let limits = settle(&mut controller, capacity, 600);
            let last = *limits.last().unwrap();
            prop_assert!(last * 10 >= capacity * 8, "{last} calls at once for a capacity of {capacity}");
            prop_assert!(last <= capacity * 2, "{last} calls at once for a capacity of {capacity}");
        }

        #[test]
        fn throttles_that_end_are_overcome(halvings in 1_usize..12) {
            let mut controller = Controller::new(64, 64, 10);
            for _ in 0..halvings {
                controller.too_many();
            }
            settle(&mut controller, 10_000, 200);
            prop_assert_eq!(controller.limit(), 64);
        }
    }
}
