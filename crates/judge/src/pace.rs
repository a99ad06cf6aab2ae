//! Requests and tokens per minute.
//!
//! Requests are spaced evenly. Tokens are estimated before a call and corrected after it, from what the judge says it
//! used: the difference is added to, or taken from, what the next call has to wait for. In no minute do more calls
//! begin, or more estimated tokens go out, than the limit says.

use std::{
    num::NonZeroU32,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::Clock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};
use tokio::time::Instant;

use crate::reply::Usage;

const MINUTE: Duration = Duration::from_secs(60);

/// Bytes of a request that are counted as one token. English text has about four; keys and quotation marks of JSON
/// bring it down.
const BYTES_PER_TOKEN: usize = 3;

/// What a reply is taken to cost before any was seen, in tokens.
const FIRST_REPLY: f64 = 1_000.0;

/// How much one reply weighs in the mean of their tokens.
const WEIGHT: f64 = 0.125;

/// How fast calls may follow one another. Without limits it never waits.
#[derive(Debug)]
pub(crate) struct Pace {
    requests: Option<Rate>,
    tokens: Option<Tokens>,
}

/// A claim on tokens that waits for its correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Estimate(i64);

#[derive(Debug)]
struct Tokens {
    rate: Rate,
    /// What can be taken at once; larger calls take it several times.
    portion: u32,
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    /// Tokens that calls used beyond what was taken for them; negative when they used less.
    owed: i64,
    /// Mean tokens of a reply.
    reply: f64,
}

impl Pace {
    /// Limits per minute; none for no limit.
    pub(crate) fn new(requests: Option<f64>, tokens: Option<f64>) -> Self {
        let requests = requests.map(|per_minute| Rate::evenly(MINUTE.div_f64(per_minute)));
        Self { requests, tokens: tokens.map(Tokens::new) }
    }

    /// Waits until a call with so large a body may go. When dropped before that, what it took is lost, no more.
    pub(crate) async fn ready(&self, body_bytes: usize) -> Estimate {
        if let Some(requests) = &self.requests {
            requests.take(NonZeroU32::MIN).await;
        }
        match &self.tokens {
            Some(tokens) => tokens.take(body_bytes).await,
            None => Estimate(0),
        }
    }

    /// Corrects an estimate. Without a usage it stands.
    pub(crate) fn used(&self, estimate: Estimate, usage: Option<Usage>) {
        let (Some(tokens), Some(usage)) = (&self.tokens, usage) else { return };
        let mut books = tokens.books();
        books.owed += count(usage.prompt.saturating_add(usage.completion)) - estimate.0;
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let reply = usage.completion as f64;
        books.reply += (reply - books.reply) * WEIGHT;
    }

    /// Takes an estimate back: the call was not answered, and nothing says that it used tokens.
    pub(crate) fn unused(&self, estimate: Estimate) {
        if let Some(tokens) = &self.tokens {
            tokens.books().owed -= estimate.0;
        }
    }
}

impl Tokens {
    fn new(per_minute: f64) -> Self {
        // A second's worth at once, and the rest evenly: together no minute has more than the limit.
        let portion = whole(per_minute / 60.0);
        let evenly = (per_minute - f64::from(portion.get())).max(1.0);
        let rate = Rate::new(MINUTE.div_f64(evenly), portion);
        Self { rate, portion: portion.get(), books: Mutex::new(Books { owed: 0, reply: FIRST_REPLY }) }
    }

    async fn take(&self, body_bytes: usize) -> Estimate {
        let (estimate, mut open) = {
            let mut books = self.books();
            #[expect(clippy::cast_possible_truncation, reason = "a mean of counts, far below the bound")]
            let reply = books.reply as i64;
            let estimate = i64::try_from(body_bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(i64::MAX) + reply;
            let open = estimate.saturating_add(books.owed);
            books.owed = open.min(0);
            (estimate, open.max(0))
        };
        while let Ok(Some(part)) = u32::try_from(open.min(self.portion.into())).map(NonZeroU32::new) {
            self.rate.take(part).await;
            open -= i64::from(part.get());
        }
        Estimate(estimate)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

fn whole(number: f64) -> NonZeroU32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
    NonZeroU32::new(number as u32).unwrap_or(NonZeroU32::MIN)
}

/// One rate by tokio's clock.
#[derive(Debug)]
struct Rate {
    limiter: RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Duration>>,
    clock: TokioClock,
}

impl Rate {
    fn evenly(period: Duration) -> Self {
        Self::new(period, NonZeroU32::MIN)
    }

    fn new(period: Duration, at_once: NonZeroU32) -> Self {
        let clock = TokioClock(Instant::now());
        // A period of zero is no rate; one nanosecond is as good as none.
        let quota = Quota::with_period(period.max(Duration::from_nanos(1)))
            .unwrap_or(Quota::per_second(NonZeroU32::MAX))
            .allow_burst(at_once);
        Self { limiter: RateLimiter::direct_with_clock(quota, clock), clock }
    }

    /// Waits for so many cells, at most as many as may go at once.
    async fn take(&self, cells: NonZeroU32) {
        while let Ok(Err(not_yet)) = self.limiter.check_n(cells) {
            tokio::time::sleep(not_yet.wait_time_from(self.clock.now()).max(Duration::from_millis(1))).await;
        }
    }
}

/// Tokio's clock, which tests can stop, counted from the making of the rate.
#[derive(Debug, Clone, Copy)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
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
            assert_eq!(estimate, Estimate(2_000));
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
        assert!((145..=160).contains(&tokens), "{tokens}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_of_more_than_a_minute_takes_its_time_and_goes() {
        let pace = Pace::new(None, Some(600.0));
        let begun = Instant::now();
        pace.ready(3_000).await;
        assert!(begun.elapsed() > Duration::from_secs(150), "{:?}", begun.elapsed());
    }
}
