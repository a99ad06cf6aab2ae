//! What stands in a request beside its body, and forms. What cannot be read is refused in the form of every refusal,
//! which axum's own extractors do not do.

use axum::RequestPartsExt as _;
use axum::body::Body;
use axum::extract::{Form, FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::body::Bounded;
use crate::problem::Refusal;
use crate::state::Desk;

/// The query, each parameter once and none that is unknown.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned + 'static, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let read = parts.extract::<Query<T>>().await;
        read.map(|Query(query)| Self(query)).map_err(|error| Refusal::malformed(error.body_text()))
    }
}

/// The id in the path.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let read = parts.extract::<Path<String>>().await;
        read.map(|Path(id)| Self(id)).map_err(|error| Refusal::malformed(error.body_text()))
    }
}

/// A form, bounded in size and in time as every body is.
pub(crate) struct Fields<T>(pub(crate) T);

impl<T: DeserializeOwned + 'static> FromRequest<Desk> for Fields<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let Bounded(bytes) = Bounded::from_request(Request::new(body), desk).await?;
        let request = Request::from_parts(parts, Body::from(bytes));
        let read = Form::<T>::from_request(request, &()).await;
        read.map(|Form(form)| Self(form)).map_err(|error| {
            let code = match error.status() {
                StatusCode::PAYLOAD_TOO_LARGE => "too_large",
                StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
                _ => "malformed",
            };
            Refusal::new(error.status(), code, error.body_text())
        })
    }
}
