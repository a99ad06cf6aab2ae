//! Who asks is found out by the deadline of the call, or the call is answered without.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest as _, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::call::{Answered, unknown};
use super::request::{self, Asked};
use super::{answer, respond};
use crate::access::Principal;
use crate::body::Bounded;
use crate::problem::Refusal;
use crate::state::Desk;

/// Who asks is known sooner than this, unless the database does not answer; then it matters how long the caller waits.
const SOON: Duration = Duration::from_millis(50);

/// How long it took to find out who asks: it counts as part of the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited(pub(crate) Duration);

/// Waits for `identifying` until the deadline of the call that the request brings. The request comes back with what is
/// left of it.
///
/// # Errors
/// The response: a refusal, or `unknown` where who asks could not be looked up in time.
pub(crate) async fn identified(
    desk: &Desk,
    mut request: Request,
    mut identifying: JoinHandle<Result<Principal, Refusal>>,
) -> Result<(Request, Principal), Response> {
    let began = Instant::now();
    let mut asked = None;
    let found = match tokio::time::timeout(SOON, &mut identifying).await {
        Ok(found) => Some(found),
        Err(_) => {
            (request, asked) = peeked(desk, request).await?;
            let deadline = asked.as_ref().map_or(desk.settings().gate.deadline, |asked| asked.deadline);
            // Not aborted when it is late: it may be writing.
            tokio::time::timeout_at(began + deadline, &mut identifying).await.ok()
        }
    };
    let refusal = match found {
        Some(Ok(Ok(principal))) => {
            request.extensions_mut().insert(Waited(began.elapsed()));
            return Ok((request, principal));
        }
        Some(Ok(Err(refusal))) if refusal.status() != StatusCode::SERVICE_UNAVAILABLE => {
            return Err(refusal.into_response());
        }
        Some(Ok(Err(refusal))) => refusal,
        Some(Err(_)) | None => Refusal::unavailable("the database does not answer as it should; try again"),
    };
    if asked.is_none() {
        (_, asked) = peeked(desk, request).await?;
    }
    let Some(asked) = asked else { return Err(refusal.into_response()) };
    let message = "who asks could not be looked up; try again";
    let body = answer::not_stored(&unknown(desk, &asked.trace), message);
    Err(respond(Answered { body, is_stored: false, is_repeated: false, took: None }))
}

/// Reads the call without taking it away; none when it is no call, which is said later.
async fn peeked(desk: &Desk, request: Request) -> Result<(Request, Option<Asked>), Response> {
    let (parts, body) = request.into_parts();
    let bare = Request::new(body);
    let Bounded(bytes) = Bounded::from_request(bare, desk).await.map_err(IntoResponse::into_response)?;
    let asked = request::read(&bytes, "unknown", Utc::now(), &desk.settings().gate).ok();
    Ok((Request::from_parts(parts, Body::from(bytes)), asked))
}
