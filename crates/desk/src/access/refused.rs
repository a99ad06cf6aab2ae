//! How many refusals of an address are kept: a flood of requests without a login may not fill the access log.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many of one address are kept in one window.
const OF_ADDRESS: u32 = 30;

/// So many of all addresses together: who has an IPv6 network has more addresses than anybody can count.
const OF_ALL: u32 = 600;

/// How long they count.
const WINDOW: Duration = Duration::from_secs(60);

/// Counts refusals in one window after another.
#[derive(Debug, Default)]
pub(crate) struct Refused(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    until: Option<Instant>,
    all: u32,
    left_out: u64,
    of: HashMap<Option<IpAddr>, u32>,
}

impl Refused {
    /// Whether one more is kept; the others are counted, in a figure and in the log.
    pub(crate) fn keeps(&self, address: Option<IpAddr>) -> bool {
        let now = Instant::now();
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.until.is_none_or(|until| until <= now) {
            if window.left_out > 0 {
                tracing::warn!(refusals = window.left_out, "more was refused than the access log keeps");
            }
            *window = Window { until: Some(now + WINDOW), ..Window::default() };
        }
        let is_kept = window.all < OF_ALL && {
            let of = window.of.entry(address).or_default();
            *of = of.saturating_add(1);
            *of <= OF_ADDRESS
        };
        if is_kept {
            window.all += 1;
        } else {
            window.left_out += 1;
            metrics::counter!("groundcrew_refusals_not_kept_total").increment(1);
        }
        is_kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_refusals_does_not_fill_the_access_log() {
        let refused = Refused::default();
        let address = |last: u32| Some(IpAddr::from(last.to_be_bytes()));
        let kept = |address, times: u32| (0..times).filter(|_| refused.keeps(address)).count();
        assert_eq!(kept(address(1), 100), OF_ADDRESS as usize);
        assert_eq!(kept(address(2), 1), 1, "others are not to blame");
        assert_eq!(kept(None, 100), OF_ADDRESS as usize);
        let all = (3..10_000).filter(|last| refused.keeps(address(*last))).count();
        assert_eq!(all, (OF_ALL - 2 * OF_ADDRESS - 1) as usize);
        tokio::time::advance(WINDOW).await;
        assert_eq!(kept(address(1), 100), OF_ADDRESS as usize, "a new window begins");
    }
}
