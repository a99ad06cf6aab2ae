//! Waiting out a database outage without losing what is in hand.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Why a database operation was given up.
#[derive(Debug, thiserror::Error)]
pub enum GivenUp {
    /// Whoever asked has to stop.
    #[error("stopped while waiting for the database")]
    Stopped,
    /// Trying again cannot help.
    #[error(transparent)]
    Failed(store::Error),
}

/// Repeats `operation` until it succeeds, fails for good, or `abort` is cancelled.
///
/// The operation itself is never cancelled, only the pause between two tries: a dropped
/// transaction would poison its connection.
///
/// # Errors
/// [`GivenUp`]: stopped, or an error that is not transient.
pub async fn persist<T, Operation>(
    what: &'static str,
    abort: &CancellationToken,
    mut operation: impl FnMut() -> Operation,
) -> Result<T, GivenUp>
where
    Operation: Future<Output = Result<T, store::Error>>,
{
    let mut pause = FIRST_PAUSE;
    let mut waiting = false;
    loop {
        match operation().await {
            Ok(value) => {
                if waiting {
                    tracing::info!(what, "the database answers again");
                }
                return Ok(value);
            }
            Err(error) if !error.is_transient() => return Err(GivenUp::Failed(error)),
            Err(error) => {
                if !waiting {
                    tracing::warn!(what, error = %chain(&error), "the database does not answer; waiting for it");
                    waiting = true;
                }
            }
        }
        tokio::select! {
            () = abort.cancelled() => return Err(GivenUp::Stopped),
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// An error and its causes on one line.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        source = cause.source();
    }
    line
}
