//! Waiting for a condition. The only place of the tests that sleeps.

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Longer than anything takes on a busy machine, so that only a real failure runs into it.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(20);

/// Asks until there is an answer.
///
/// # Panics
/// When `deadline` passes without one; the text names `what` was waited for.
pub async fn wait_for<T, F>(what: &str, deadline: Duration, mut ask: F) -> T
where
    F: AsyncFnMut() -> Option<T>,
{
    let end = Instant::now() + deadline;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "waited {deadline:?} in vain for: {what}");
        sleep(PAUSE).await;
    }
}

/// Asks until the answer is the expected one, and shows the last one if it never is.
///
/// # Panics
/// When `deadline` passes.
pub async fn wait_until_equal<T, F>(what: &str, deadline: Duration, expected: T, mut ask: F)
where
    T: PartialEq + Debug,
    F: AsyncFnMut() -> T,
{
    let end = Instant::now() + deadline;
    loop {
        let answer = ask().await;
        if answer == expected {
            return;
        }
        assert!(
            Instant::now() < end,
            "waited {deadline:?} in vain for: {what}; expected {expected:?}, found {answer:?}"
        );
        sleep(PAUSE).await;
    }
}
