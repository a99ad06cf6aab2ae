//! Requests and tokens per minute.
//!
//! Requests are spaced evenly. Tokens are estimated before a call and corrected after it, from what the judge says it
//! used. A call goes as soon as those before it are paid for, and is paid for by the time that the next one waits: so
//! a call that is larger than a minute's limit goes as well, and only the pause after it is long. In no minute do more
//! calls begin, or more estimated tokens go out, than the limit and one call say. Who gives up waiting has taken
//! nothing.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use crate::reply::Usage;

const MINUTE: Duration = Duration::from_secs(60);

/// Bytes of a request that are counted as one token. English text has about four; keys and quotation marks of JSON
/// bring it down.
const BYTES_PER_TOKEN: usize = 3;

/// What a reply is taken to cost before any was seen, in tokens.
const FIRST_REPLY: f64 = 1_000.0;

/// How much one reply weighs in the mean of their tokens.
const WEIGHT: f64 = 0.125;

/// A wait for tokens that is shorter than this is not worth a timer.
const SLACK: Duration = Duration::from_millis(10);

/// How long a wait lasts at most before it is looked at anew: a call that failed may have given its tokens back.
const LOOK: Duration = Duration::from_secs(1);

/// A call is believed to have used so many times its estimate, and a reply to be so many times the mean. More than that
/// is a server that cannot count, and would hold up everything; a model that really takes more is caught up with, since
/// the mean follows.
const BELIEVED: f64 = 10.0;

/// Longer waits are as good as this one.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// How fast calls may follow one another. Without limits it never waits.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The time from one request to the next.
    period: Option<Duration>,
    /// Tokens per second.
    tokens: Option<f64>,
    books: Mutex<Books>,
}

/// A claim on tokens that waits for its correction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Estimate(f64);

#[derive(Debug)]
struct Books {
    /// When the next request may go; none before the first.
    request_at: Option<Instant>,
    /// When all tokens that were taken are paid for.
    paid_at: Option<Instant>,
    /// Mean tokens of a reply.
    reply: f64,
    /// Somebody was told that a call is larger than a minute's limit.
    is_told: bool,
}

impl Pace {
    /// Limits per minute; none for no limit.
    pub(crate) fn new(requests: Option<f64>, tokens: Option<f64>) -> Self {
        let books = Books { request_at: None, paid_at: None, reply: FIRST_REPLY, is_told: false };
        Self {
            period: requests.map(|per_minute| seconds(MINUTE.as_secs_f64() / per_minute)),
            tokens: tokens.map(|per_minute| per_minute / MINUTE.as_secs_f64()),
            books: Mutex::new(books),
        }
    }

    /// Waits until a call with so large a body may go. May be dropped at any time: nothing is taken before.
    pub(crate) async fn ready(&self, body_bytes: usize) -> Estimate {
        loop {
            let now = Instant::now();
            match self.take(body_bytes, now) {
                Ok(estimate) => return estimate,
                Err(until) => sleep_until(until.min(now + LOOK)).await,
            }
        }
    }

    /// Takes a request and its tokens, both or none. Says when to come back if it is too early.
    fn take(&self, body_bytes: usize, now: Instant) -> Result<Estimate, Instant> {
        let mut books = self.books();
        if let Some(at) = books.request_at.filter(|at| now < *at && self.period.is_some()) {
            return Err(at);
        }
        if let Some(at) = books.paid_at.filter(|at| now + SLACK < *at) {
            return Err(at);
        }
        if let Some(period) = self.period {
            // Timers are late by a little, which must not add up.
            let due = books.request_at.filter(|at| now.duration_since(*at) < SLACK).unwrap_or(now);
            books.request_at = Some(later(due, period));
        }
        let Some(per_second) = self.tokens else { return Ok(Estimate::default()) };
        let estimate = float(body_bytes.div_ceil(BYTES_PER_TOKEN)) + books.reply;
        let price = seconds(estimate / per_second);
        if price > MINUTE && !std::mem::replace(&mut books.is_told, true) {
            tracing::warn!(
                tokens = estimate.round(),
                tokens_per_minute = (per_second * MINUTE.as_secs_f64()).round(),
                pause_s = price.as_secs(),
                "one call of the judge takes more tokens than tokens_per_minute allows; calls are far apart"
            );
        }
        let due = books.paid_at.unwrap_or(now).max(now);
        books.paid_at = Some(later(due, price));
        Ok(Estimate(estimate))
    }

    /// Corrects an estimate. Without a usage it stands.
    pub(crate) fn used(&self, estimate: Estimate, usage: Option<Usage>) {
        let (Some(per_second), Some(usage)) = (self.tokens, usage) else { return };
        let (prompt, completion) = (float(usage.prompt), float(usage.completion));
        let used = (prompt + completion).min(BELIEVED * estimate.0);
        let mut books = self.books();
        books.correct(used - estimate.0, per_second);
        books.reply += (completion.min(BELIEVED * books.reply) - books.reply) * WEIGHT;
    }

    /// Takes an estimate back: the call was not answered, and nothing says that it used tokens.
    pub(crate) fn unused(&self, estimate: Estimate) {
        if let Some(per_second) = self.tokens {
            self.books().correct(-estimate.0, per_second);
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    /// Adds tokens to what has to be paid for, or takes them off it.
    fn correct(&mut self, tokens: f64, per_second: f64) {
        let Some(at) = self.paid_at else { return };
        let time = seconds(tokens.abs() / per_second);
        // Before the beginning of time nothing is owed either.
        self.paid_at = if tokens < 0.0 { at.checked_sub(time) } else { Some(later(at, time)) };
    }
}

fn later(time: Instant, by: Duration) -> Instant {
    time.checked_add(by).unwrap_or(time)
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(FOR_EVER).min(FOR_EVER)
}

/// A count as a number to calculate with; it loses nothing that matters to a pace.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn float(count: impl TryInto<u64>) -> f64 {
    count.try_into().unwrap_or(u64::MAX) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(prompt: u64, completion: u64) -> Option<Usage> {
        Some(Usage { prompt, completion, cached: None })
    }

    #[tokio::test(start_paused = true)]
    async fn without_limits_nothing_waits() {
        let pace = Pace::new(None, None);
        let begun = Instant::now();
        for _ in 0..1_000 {
            pace.ready(1_000_000).await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_spaced_evenly() {
        let pace = Pace::new(Some(120.0), None);
        let begun = Instant::now();
        let mut starts = Vec::new();
        for _ in 0..240 {
            pace.ready(10).await;
            starts.push(begun.elapsed());
        }
        assert!(begun.elapsed() >= Duration::from_secs(119), "{:?}", begun.elapsed());
        assert!(begun.elapsed() <= Duration::from_secs(121), "{:?}", begun.elapsed());
        for (at, start) in starts.iter().enumerate() {
            let in_minute = starts[at..].iter().take_while(|later| **later < *start + MINUTE).count();
            assert!(in_minute <= 120, "{in_minute} calls within a minute");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_of_a_minute_stay_under_the_limit() {
        // 3,000 bytes and a reply of a thousand tokens: two thousand tokens a call.
        let pace = Pace::new(None, Some(60_000.0));
        let begun = Instant::now();
        let mut starts = Vec::new();
        for _ in 0..90 {
            let estimate = pace.ready(3_000).await;
            assert_eq!(estimate, Estimate(2_000.0));
            starts.push(begun.elapsed());
            pace.used(estimate, usage(1_000, 1_000));
        }
        for (at, start) in starts.iter().enumerate() {
            let in_minute = starts[at..].iter().take_while(|later| **later < *start + MINUTE).count();
            assert!(in_minute <= 31, "{in_minute} calls of 2,000 tokens within a minute");
        }
        let took = begun.elapsed().as_secs();
        assert!((175..=190).contains(&took), "180,000 tokens took {took} s");
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_call_pays_for_what_the_last_one_used_more() {
        let pace = Pace::new(None, Some(60_000.0));
        let begun = Instant::now();
        let estimate = pace.ready(3_000).await;
        let first = begun.elapsed();
        pace.used(estimate, usage(10_000, 1_000));
        pace.ready(3_000).await;
        let second = begun.elapsed() - first;
        // 2,000 for itself, 9,000 for the other, about a thousand a second.
        assert!((10..=12).contains(&second.as_secs()), "{second:?}");

        let estimate = pace.ready(3_000).await;
        pace.unused(estimate);
        let before = Instant::now();
        pace.ready(3_000).await;
        assert!(before.elapsed() < Duration::from_millis(1_500), "the tokens of a failed call come back");
    }

    #[tokio::test(start_paused = true)]
    async fn replies_teach_the_estimate() {
        let pace = Pace::new(None, Some(1e9));
        for _ in 0..100 {
            let estimate = pace.ready(300).await;
            pace.used(estimate, usage(100, 50));
        }
        let Estimate(tokens) = pace.ready(300).await;
        assert!((145.0..=160.0).contains(&tokens), "{tokens}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_of_more_than_a_minute_takes_its_time_and_goes() {
        // 2,000 tokens at 60 a minute: 33 minutes and 20 seconds from call to call.
        let pace = Pace::new(None, Some(60.0));
        let begun = Instant::now();
        pace.ready(3_000).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let patience = tokio::time::timeout(Duration::from_secs(300), pace.ready(3_000));
        assert!(patience.await.is_err());
        pace.ready(3_000).await;
        assert_eq!(begun.elapsed().as_secs(), 2_000, "whoever gives up does not set the next one back");
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_for_tokens_has_taken_no_request_either() {
        let pace = Pace::new(Some(1.0), Some(600.0));
        let begun = Instant::now();
        pace.ready(3_000).await;
        for _ in 0..5 {
            assert!(tokio::time::timeout(Duration::from_secs(20), pace.ready(3_000)).await.is_err());
        }
        pace.ready(3_000).await;
        assert_eq!(begun.elapsed().as_secs(), 200);
    }

    #[tokio::test(start_paused = true)]
    async fn one_absurd_usage_neither_panics_nor_holds_up_the_rest() {
        let pace = Pace::new(None, Some(60_000.0));
        let begun = Instant::now();
        for absurd in [u64::MAX, 9_223_372_036_854_775_807, 100_000_000] {
            let estimate = pace.ready(3_000).await;
            pace.used(estimate, usage(absurd, absurd));
        }
        pace.ready(3_000).await;
        // 2,000, 3,125 and 5,516 tokens were expected of them; each counts ten times.
        assert_eq!(begun.elapsed().as_secs(), 106);
    }
}
