//! Logins that failed, by the address they came from.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many may fail in one window.
const FREE: u32 = 20;

/// How long failures count.
const WINDOW: Duration = Duration::from_secs(60);

/// So many addresses are remembered at once.
const ADDRESSES: usize = 100_000;

/// Counts failures. An address that fails too often is told to wait until its window is over; who has a token that is in
/// force does not notice.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl Failures {
    /// How long an address has to wait; none when it may try.
    pub(crate) fn wait(&self, address: IpAddr) -> Option<Duration> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, count) = failures.get(&address)?;
        (*count >= FREE)
            .then(|| until.saturating_duration_since(Instant::now()))
            .filter(|left| !left.is_zero())
    }

    /// Takes note of one more.
    pub(crate) fn add(&self, address: IpAddr) {
        let now = Instant::now();
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= ADDRESSES {
            failures.retain(|_, (until, _)| now < *until);
        }
        let entry = failures.entry(address).or_insert((now + WINDOW, 0));
        if entry.0 <= now {
            *entry = (now + WINDOW, 0);
        }
        entry.1 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_fails_too_often_waits_until_its_window_is_over() {
        let failures = Failures::default();
        let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        for _ in 0..FREE {
            assert_eq!(failures.wait(one), None);
            failures.add(one);
        }
        assert_eq!(failures.wait(one), Some(WINDOW));
        assert_eq!(failures.wait(other), None);
        tokio::time::advance(WINDOW).await;
        assert_eq!(failures.wait(one), None);
        failures.add(one);
        assert_eq!(failures.wait(one), None, "a new window begins");
    }
}
