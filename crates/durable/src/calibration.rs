//! Following the golden runs on record, so that a result says whether its judge was ever measured.

use std::time::Duration;

use runner::Runner;
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::patience::chain;

/// How often golden runs are looked for: they are rare, and nobody waits for the mark to go.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Looks until the stop. What cannot be looked up now is looked up the next time; until then what was known holds.
pub async fn follow(store: &Store, runner: &Runner, stop: &CancellationToken) {
    loop {
        // Not raced with the stop: a read that is cancelled takes its connection with it.
        match store.calibrated().await {
            Ok(known) => runner.calibration().replace(known),
            Err(error) => tracing::debug!(error = %chain(&error), "golden runs cannot be looked up now"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}
