//! The body of a request, bounded in size and in time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;

use crate::problem::Refusal;
use crate::state::Desk;

/// A body that takes longer than this to arrive is not waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The bytes of a body that is not too long.
#[derive(Debug, Clone)]
pub struct Bounded(pub Bytes);

impl FromRequest<Desk> for Bounded {
    type Rejection = Refusal;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Refusal> {
        read(request.into_body(), desk.settings().max_body_bytes, "desk.max_body_bytes allows")
            .await
            .map(Self)
    }
}

/// Reads a body to its end: at most `limit` bytes, which is what `which` says, and not for ever.
///
/// # Errors
/// 413 when it is too long, 408 when it takes too long, 400 when it breaks off.
pub(crate) async fn read(body: Body, limit: usize, which: &str) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(PATIENCE, axum::body::to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the body is longer than {which} ({limit} bytes)"),
        )),
        Ok(Err(error)) => Err(Refusal::malformed(format!("the body could not be read: {error}"))),
        Err(_) => Err(Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            "the body did not arrive within 30 seconds",
        )),
    }
}

/// Whether the limit stopped the reading, and not the network.
fn is_too_long(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if current.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = current.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_arrives_is_not_waited_for() {
        let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let refusal = read(Body::from_stream(never), 100, "a test allows").await.unwrap_err();
        assert_eq!(refusal.status(), StatusCode::REQUEST_TIMEOUT);
        let refusal = read(Body::from("x".repeat(101)), 100, "a test allows").await.unwrap_err();
        assert_eq!(refusal.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(read(Body::from("x"), 1, "a test allows").await.unwrap(), "x");
    }
}
