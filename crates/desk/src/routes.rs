//! The one table of what can be asked for. The router is built from it, so that no route exists without a least role.

use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::{self, Role};
use crate::openapi::{self, Shape};
use crate::pages;
use crate::problem::Refusal;
use crate::review;
use crate::state::Desk;
use crate::{gate, health};

/// Who may ask for a route at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Least {
    /// Everybody, without a login.
    Public,
    /// Who has this role, or one that covers it.
    Role(Role),
}

/// One thing that can be asked for.
#[derive(Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// Who may ask.
    pub least: Least,
    /// What it is, for people.
    pub about: &'static str,
    pub(crate) shape: Shape,
    handler: MethodRouter<Desk>,
}

impl Route {
    /// A route; `handler` answers the same method.
    pub fn new(
        method: Method,
        path: &'static str,
        least: Least,
        about: &'static str,
        handler: MethodRouter<Desk>,
    ) -> Self {
        Self { method, path, least, about, shape: Shape::default(), handler }
    }
}

/// Every route.
pub fn all() -> Vec<Route> {
    let mut routes = health::routes();
    routes.extend(review::routes());
    routes.extend(openapi::routes());
    routes.extend(pages::routes());
    routes.extend(gate::routes());
    routes
}

/// The router of all routes. Whoever asks is known, and may ask, before a handler runs.
pub(crate) fn router(desk: Desk) -> Router {
    let mut router = Router::new();
    for route in all() {
        let guard = access::Guard { desk: desk.clone(), least: route.least };
        let handler = route.handler.route_layer(from_fn_with_state(guard, access::guard));
        router = router.route(route.path, handler);
    }
    router
        .fallback(async || Refusal::not_found("there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path has another method")
        })
        .layer(CatchPanicLayer::custom(|_| {
            tracing::error!("a request ended by a panic");
            let failed = StatusCode::INTERNAL_SERVER_ERROR;
            Refusal::new(failed, "defect", "a defect of this program ended the request").into_response()
        }))
        .layer(from_fn(pages::dress))
        .layer(map_response(secured))
        .layer(from_fn(measured))
        .with_state(desk)
}

/// Headers of every answer: nothing is guessed, framed, cached by others or loaded from elsewhere.
const SECURITY: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

async fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in SECURITY {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn measured(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let path = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    metrics::counter!("groundcrew_http_requests_total", "route" => path.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("groundcrew_http_request_seconds", "route" => path)
        .record(began.elapsed().as_secs_f64());
    response
}
