use std::time::Duration;

use backoff::ExponentialBackoff;
use backoff::backoff::Backoff as _;

const FIRST: Duration = Duration::from_millis(200);
const CAP: Duration = Duration::from_secs(5);

/// How long to wait before the next try to reach the broker: doubling from 200 ms, jittered by half, never above
/// 5 s, never at an end.
///
/// `backoff` only supplies the numbers. Its own retry loop gives up after a time and cannot be cancelled, so the
/// loops are ours.
#[derive(Debug)]
pub struct Delay(ExponentialBackoff);

impl Delay {
    /// A fresh sequence.
    #[must_use]
    pub fn new() -> Self {
        let mut policy = ExponentialBackoff {
            initial_interval: FIRST,
            multiplier: 2.0,
            randomization_factor: 0.5,
            max_interval: CAP,
            max_elapsed_time: None,
            ..ExponentialBackoff::default()
        };
        // The policy starts from its own default interval until it is reset.
        policy.reset();
        Self(policy)
    }

    /// The next pause.
    pub fn next_pause(&mut self) -> Duration {
        // The jitter is added above the cap, hence the second clamp.
        self.0.next_backoff().unwrap_or(CAP).min(CAP)
    }

    /// Starts over, after a success.
    pub fn reset(&mut self) {
        self.0.reset();
    }
}

impl Default for Delay {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_are_jittered_and_never_exceed_the_cap() {
        let mut delay = Delay::new();
        let mut middle = FIRST;
        for _ in 0..200 {
            let pause = delay.next_pause();
            assert!(pause >= middle / 2 && pause <= CAP, "{pause:?} around {middle:?}");
            middle = (middle * 2).min(CAP);
        }
        let late: Vec<Duration> = (0..20).map(|_| delay.next_pause()).collect();
        assert!(late.iter().any(|pause| pause != &late[0]), "no jitter: {late:?}");
    }

    #[test]
    fn a_reset_starts_over() {
        let mut delay = Delay::new();
        for _ in 0..20 {
            delay.next_pause();
        }
        delay.reset();
        assert!(delay.next_pause() <= FIRST * 3 / 2 + Duration::from_millis(1));
    }
}
