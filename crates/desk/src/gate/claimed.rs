//! Copies of one call: one is judged, the others wait for its answer.

use std::time::Duration;

use durable::persist;
use store::{GateClaim, GateClaimed};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::call::Failed;
use crate::problem::Refusal;
use crate::state::Desk;

/// How often a copy looks whether the call has its answer.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// What a copy finds.
#[derive(Debug)]
pub(crate) enum Place {
    /// The call is ours.
    Ours { regenerations: u32, earlier: Vec<Uuid>, generation: u32 },
    /// The call has been answered.
    Answered(String),
    /// The call is still in work, and the copy's deadline has passed.
    Late,
}

/// Claims the call, or waits for who has.
pub(crate) async fn place(
    desk: &Desk,
    claim: &GateClaim,
    until: Instant,
    abort: &CancellationToken,
) -> Result<Place, Failed> {
    let claiming = || persist("claiming a call", abort, || desk.store().claim_gate_call(claim.clone()));
    let mut claimed = claiming().await?;
    loop {
        match claimed {
            GateClaimed::New { regenerations, earlier, generation } => {
                return Ok(Place::Ours { regenerations, earlier, generation });
            }
            GateClaimed::Answered { response: Some(response) } => return Ok(Place::Answered(response)),
            GateClaimed::Answered { response: None } => {
                let message =
                    "the answer to the call under this Idempotency-Key is no longer kept; use a new key";
                return Err(Failed::Refused(Refusal::conflict(message)));
            }
            GateClaimed::OtherBody => {
                let message = "this Idempotency-Key was used for another body";
                return Err(Failed::Refused(Refusal::conflict(message)));
            }
            GateClaimed::InWork => {}
        }
        if Instant::now() >= until {
            return Ok(Place::Late);
        }
        tokio::time::sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now()))).await;
        let (Some(key), Some(hash)) = (&claim.call.idempotency_key, claim.call.body_hash) else {
            claimed = claiming().await?;
            continue;
        };
        let look = || desk.store().gate_call_under(&claim.key.project, key, hash);
        claimed = match persist("looking at a call", abort, look).await? {
            Some(known) => known,
            // Whoever had it gave it up without an answer.
            None => claiming().await?,
        };
    }
}
