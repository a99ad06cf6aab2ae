//! How a request is refused: a status, a word for programs, and words for people.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
pub use trace::Problem;

/// A request that is not carried out.
#[derive(Debug, Clone)]
pub struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
    problems: Vec<Problem>,
    place: Option<(usize, usize)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// A refusal with a word for programs and a sentence for people.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), problems: Vec::new(), place: None, headers: Vec::new() }
    }

    /// 400: the body is not what it should be at all.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", message)
    }

    /// 401: nobody knows who asks.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", message);
        refusal.with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 403: who asks may not do this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// 404: there is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 409: it contradicts what is there.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// 422: these fields are wrong.
    pub fn unprocessable(problems: Vec<Problem>) -> Self {
        let message = match problems.as_slice() {
            [only] => format!("{}: {}", only.path, only.message),
            _ => format!("{} fields are wrong", problems.len()),
        };
        Self { problems, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", message) }
    }

    /// 429: later.
    pub fn too_many(message: impl Into<String>, retry_after_s: u64) -> Self {
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message);
        refusal.with(header::RETRY_AFTER, HeaderValue::from(retry_after_s))
    }

    /// 503: something that is needed does not answer.
    pub fn unavailable(message: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
        refusal.with(header::RETRY_AFTER, HeaderValue::from(1))
    }

    /// Where in the body it is, line and column from 1.
    #[must_use]
    pub fn at(self, line: usize, column: usize) -> Self {
        Self { place: Some((line, column)), ..self }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// What is said to people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What is wrong, field by field.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// A database that does not answer, or another failure of ours. Said to the log in full, to the caller in brief.
    pub fn failed(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = %durable::chain(error), "a request failed");
        Self::unavailable("the database does not answer as it should; try again")
    }
}

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Self {
        if !error.is_data() {
            return Self::failed(&error);
        }
        // The database is well: something in the request is none that it can hold, and trying again does not help.
        tracing::warn!(error = %durable::chain(&error), "the database refused what was sent");
        if is_taken(&error) {
            return Self::conflict("something else has this id already: choose another");
        }
        let message = "a value is too large, too long, or none that can be stored";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", message)
    }
}

/// Whether the database holds something else under the same id.
fn is_taken(error: &store::Error) -> bool {
    let store::Error::Database { source, .. } = error else { return false };
    source.as_database_error().is_some_and(|error| error.is_unique_violation())
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut error = json!({ "code": self.code, "message": self.message });
        if !self.problems.is_empty() {
            error["problems"] = json!(self.problems);
        }
        if let Some((line, column)) = self.place {
            error["line"] = json!(line);
            error["column"] = json!(column);
        }
        let mut response = (self.status, Json(json!({ "error": error }))).into_response();
        response.headers_mut().extend(self.headers.clone());
        // For who asks for a page: the same in words.
        response.extensions_mut().insert(self);
        response
    }
}
