//! The body of a request, bounded in size and in time.

use std::time::Duration;

use axum::body::Bytes;
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
        let limit = desk.settings().max_body_bytes;
        match tokio::time::timeout(PATIENCE, axum::body::to_bytes(request.into_body(), limit)).await {
            Ok(Ok(bytes)) => Ok(Self(bytes)),
            Ok(Err(error)) if is_too_long(&error) => Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                format!("the body is longer than desk.max_body_bytes allows ({limit} bytes)"),
            )),
            Ok(Err(error)) => Err(Refusal::malformed(format!("the body could not be read: {error}"))),
            Err(_) => Err(Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                "timeout",
                "the body did not arrive within 30 seconds",
            )),
        }
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
