//! Where the time between a trace and the announcement of its result goes.

use std::fmt;
use std::time::Duration;

/// What happens between two looks at the clock, in this order.
const STAGES: [&str; 5] = ["queue", "look up", "judge", "verify", "commit and announce"];

/// Times of many traces.
#[derive(Debug, Default)]
pub struct Added {
    whole: Vec<Duration>,
    stages: [Vec<Duration>; 5],
}

impl Added {
    /// One trace: when it was due to be published, when each stage but the last was over, and when its result arrived,
    /// all since the same moment.
    pub fn count(&mut self, due: Duration, stages: &[Duration; 4], arrived: Duration) {
        self.whole.push(arrived.saturating_sub(due));
        let mut before = due;
        for (times, over) in self.stages.iter_mut().zip(stages.iter().chain([&arrived])) {
            times.push(over.saturating_sub(before));
            before = *over;
        }
    }
}

/// The middle and the 99th of a hundred.
fn percentiles(times: &[Duration]) -> (Duration, Duration) {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    (at(50), at(99))
}

impl fmt::Display for Added {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (middle, late) = percentiles(&self.whole);
        write!(formatter, "p50 {middle:.1?}, p99 {late:.1?}")?;
        for (name, times) in STAGES.iter().zip(&self.stages) {
            let (middle, late) = percentiles(times);
            write!(formatter, "; {name} {middle:.1?}, {late:.1?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_of_a_trace_add_up_to_its_whole_time() {
        let at = Duration::from_millis;
        let mut added = Added::default();
        added.count(at(100), &[at(110), at(113), at(120), at(121)], at(150));
        let text = added.to_string();
        assert!(text.starts_with("p50 50.0ms, p99 50.0ms; queue 10.0ms, 10.0ms; look up 3.0ms"), "{text}");
        assert!(text.ends_with("verify 1.0ms, 1.0ms; commit and announce 29.0ms, 29.0ms"), "{text}");
    }
}
