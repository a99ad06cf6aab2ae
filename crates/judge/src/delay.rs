//! How long to wait between quick tries of the same call.
//!
//! This is the only module that uses the `backoff` crate, and it uses it as a generator of numbers.
//! Its retry loops are left alone: they are bounded by time and not by count, they read a clock that tests
//! cannot stop, and a server that always sends `Retry-After` keeps them going for ever.
//! Whoever waits counts the tries, honours `Retry-After` and can be stopped.

use std::time::Duration;

use backoff::{ExponentialBackoff, ExponentialBackoffBuilder, backoff::Backoff};

/// How delays grow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelaySettings {
    /// The first delay, before jitter.
    pub initial: Duration,
    /// By how much each delay is longer than the one before. Below 1 it is taken as 1.
    pub factor: f64,
    /// No delay is longer than this, jitter included.
    pub cap: Duration,
    /// How far a delay may lie from its nominal value, as a share of it, 0 to 1.
    pub jitter: f64,
}

/// An endless row of delays that grow exponentially.
#[derive(Debug)]
pub struct Delays {
    backoff: ExponentialBackoff,
    cap: Duration,
}

impl Default for DelaySettings {
    fn default() -> DelaySettings {
        DelaySettings {
            initial: Duration::from_millis(250),
            factor: 2.0,
            cap: Duration::from_secs(10),
            jitter: 0.5,
        }
    }
}

impl Delays {
    /// Starts a row of delays. Settings out of their range are moved to the nearest end of it.
    pub fn new(settings: DelaySettings) -> Delays {
        let backoff = ExponentialBackoffBuilder::new()
            .with_initial_interval(settings.initial.min(settings.cap))
            .with_multiplier(settings.factor.max(1.0))
            .with_max_interval(settings.cap)
            .with_randomization_factor(settings.jitter.clamp(0.0, 1.0))
            .with_max_elapsed_time(None)
            .build();
        Delays { backoff, cap: settings.cap }
    }

    /// The next delay, never longer than the cap.
    pub fn next_delay(&mut self) -> Duration {
        // The generator adds jitter after it has applied its maximum, so the cap is applied again here.
        self.backoff.next_backoff().map_or(self.cap, |delay| delay.min(self.cap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap() {
        let mut delays = Delays::new(DelaySettings { jitter: 0.0, ..DelaySettings::default() });
        let seen: Vec<u128> = (0..8).map(|_| delays.next_delay().as_millis()).collect();
        assert_eq!(seen, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    }

    #[test]
    fn jitter_spreads_the_delays_and_never_passes_the_cap() {
        let mut all = Vec::new();
        for _ in 0..200 {
            let mut delays = Delays::new(DelaySettings::default());
            let first = delays.next_delay();
            assert!(Duration::from_millis(125) <= first && first <= Duration::from_millis(376), "{first:?}");
            for _ in 0..20 {
                assert!(delays.next_delay() <= Duration::from_secs(10));
            }
            all.push(first);
        }
        all.dedup();
        assert!(100 < all.len());
    }

    #[test]
    fn senseless_settings_still_give_delays_under_the_cap() {
        let cap = Duration::from_millis(5);
        let mut delays =
            Delays::new(DelaySettings { initial: Duration::from_secs(60), factor: -3.0, cap, jitter: 9.0 });
        for _ in 0..100 {
            assert!(delays.next_delay() <= cap);
        }
    }
}
