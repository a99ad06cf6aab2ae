//! What follows a try.

use std::time::Duration;

use judge::delay::{DelaySettings, Delays};
use store::TryOutcome;

/// What came of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub outcome: TryOutcome,
    /// The HTTP status.
    pub status: Option<u16>,
    /// How long the receiver wants to be left alone.
    pub retry_after: Option<Duration>,
    /// What went wrong, without the address.
    pub error: Option<String>,
}

/// How often a notification is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Tries at most.
    pub max_tries: u32,
    /// The pause after the first, before jitter.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
}

/// How a try with this HTTP status ended.
pub const fn outcome(status: u16) -> TryOutcome {
    match status {
        200..=299 => TryOutcome::Delivered,
        429 => TryOutcome::Throttled,
        // A gateway has no answer of the receiver, which may have it.
        502 | 504 => TryOutcome::Timeout,
        // The receiver waited in vain, or does not dare yet: not the request's fault.
        408 | 425 | 500..=599 => TryOutcome::Unavailable,
        _ => TryOutcome::Refused,
    }
}

/// How long to wait after try `number` (from 1) ended like this; none when there is nothing more to try.
///
/// A receiver's own `Retry-After` is honoured up to [`Limits::longest_pause`]; it never shortens a pause.
pub fn pause(answer: &Answer, number: u32, limits: &Limits) -> Option<Duration> {
    match answer.outcome {
        TryOutcome::Delivered | TryOutcome::Refused => return None,
        TryOutcome::Throttled | TryOutcome::Unavailable | TryOutcome::Timeout => {}
    }
    if number >= limits.max_tries {
        return None;
    }
    let mut delays = Delays::new(DelaySettings {
        initial: limits.first_pause,
        factor: 2.0,
        cap: limits.longest_pause,
        jitter: 0.2,
    });
    let own = (0..number).map(|_| delays.next_delay()).last().unwrap_or(limits.first_pause);
    let asked = answer.retry_after.unwrap_or_default().min(limits.longest_pause);
    // Postgres counts in microseconds and refuses anything finer.
    Some(Duration::from_micros(u64::try_from(own.max(asked).as_micros()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits =
        Limits { max_tries: 5, first_pause: Duration::from_secs(1), longest_pause: Duration::from_secs(60) };

    fn answer(outcome: TryOutcome, retry_after: Option<u64>) -> Answer {
        Answer { outcome, status: None, retry_after: retry_after.map(Duration::from_secs), error: None }
    }

    #[test]
    fn statuses_say_whether_to_try_again() {
        for (status, expected) in [
            (200, TryOutcome::Delivered),
            (202, TryOutcome::Delivered),
            (429, TryOutcome::Throttled),
            (408, TryOutcome::Unavailable),
            (500, TryOutcome::Unavailable),
            (502, TryOutcome::Timeout),
            (503, TryOutcome::Unavailable),
            (504, TryOutcome::Timeout),
            (400, TryOutcome::Refused),
            (404, TryOutcome::Refused),
            (302, TryOutcome::Refused),
        ] {
            assert_eq!(outcome(status), expected, "{status}");
        }
    }

    #[test]
    fn retry_after_is_honoured_and_clamped() {
        let throttled = |after| pause(&answer(TryOutcome::Throttled, Some(after)), 1, &LIMITS).unwrap();
        assert_eq!(throttled(7), Duration::from_secs(7));
        assert_eq!(throttled(86_400), Duration::from_secs(60));
        assert!(throttled(0) >= Duration::from_millis(800), "never shorter than our own pause");
    }

    #[test]
    fn tries_end() {
        let timeout = answer(TryOutcome::Timeout, None);
        assert!(pause(&timeout, 4, &LIMITS).is_some());
        assert_eq!(pause(&timeout, 5, &LIMITS), None);
        assert_eq!(pause(&answer(TryOutcome::Refused, Some(1)), 1, &LIMITS), None);
        assert_eq!(pause(&answer(TryOutcome::Delivered, None), 1, &LIMITS), None);
    }

    proptest! {
        #[test]
        fn pauses_grow_and_stay_under_the_cap(number in 1_u32..40, after in prop::option::of(0_u64..1_000_000)) {
            let limits = Limits { max_tries: 100, ..LIMITS };
            let pause = pause(&answer(TryOutcome::Unavailable, after), number, &limits).unwrap();
            prop_assert!(pause <= limits.longest_pause);
            // Twice as long each time, give or take the jitter.
            let nominal = Duration::from_secs(1 << (number - 1).min(6)).min(limits.longest_pause);
            prop_assert!(pause >= nominal.mul_f64(0.75));
            prop_assert_eq!(pause.subsec_nanos() % 1000, 0, "an interval of Postgres has no nanoseconds");
        }
    }
}
