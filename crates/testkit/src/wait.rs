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

/// RabbitMQ 3.10 writes its register of quorum queues only half a second after the last change to it. A crash before
/// that leaves the queue that was declared last without a leader, for ever, with all that was confirmed into it.
/// There is nothing to ask for it, so a test that crashes the broker gives it the time.
pub(crate) async fn register_of_queues_is_written() {
    sleep(Duration::from_millis(1500)).await;
}

/// Between two looks at something that takes its time.
pub(crate) async fn pause() {
    sleep(PAUSE).await;
}

/// Between two looks at a measurement: seldom enough that the looks are not in the figure.
pub(crate) async fn between_looks() {
    sleep(Duration::from_millis(500)).await;
}

/// How long a fault lasts that nothing else ends. Nothing is synchronised by it.
pub(crate) async fn while_a_fault_lasts(time: Duration) {
    sleep(time).await;
}
