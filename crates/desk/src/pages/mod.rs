//! What browsers see: pages made on the server, one style sheet, one script, all of it in the binary.
//!
//! Every page works without the script; it adds keys, the jump between a claim and its evidence, and the list that
//! renews itself. Text of traces is escaped by the template engine, and characters that reorder or hide text are
//! written out.

mod assets;
mod dead;
mod frame;
mod item;
mod item_page;
mod login;
mod marks;
mod queue;

use axum::RequestPartsExt as _;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::MethodRouter;

use crate::access::{Csrf, Principal, Role};
use crate::extract::Id;
use crate::problem::Refusal;
use crate::routes::{Least, Route};
use crate::state::Desk;

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = assets::routes();
    routes.extend(login::routes());
    routes.extend(queue::routes());
    routes.extend(item::routes());
    routes.extend(dead::routes());
    routes
}

/// A request about one thing: who asks for it, and what stands in its path.
struct About {
    desk: Desk,
    asker: Principal,
    csrf: Csrf,
    id: String,
}

impl FromRequestParts<Desk> for About {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Refusal> {
        let asker = parts.extract::<Principal>().await?;
        let csrf = parts.extract::<Csrf>().await?;
        let Id(id) = parts.extract::<Id>().await?;
        Ok(Self { desk: desk.clone(), asker, csrf, id })
    }
}

fn page(path: &'static str, about: &'static str, handler: MethodRouter<Desk>) -> Route {
    Route::new(Method::GET, path, Least::Role(Role::Viewer), about, handler)
}

fn form(path: &'static str, least: Role, about: &'static str, handler: MethodRouter<Desk>) -> Route {
    Route::new(Method::POST, path, Least::Role(least), about, handler)
}

/// For who asks for a page: a refusal in words, and the login where nobody is logged in.
pub(crate) async fn dress(request: Request, next: Next) -> Response {
    let asks_for_page = wants_page(request.headers()) && !is_for_programs(request.uri().path());
    let is_get = request.method() == Method::GET;
    let target = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let response = next.run(request).await;
    if !asks_for_page {
        return response;
    }
    let Some(refusal) = response.extensions().get::<Refusal>() else { return response };
    if refusal.status() == StatusCode::UNAUTHORIZED {
        let next = if is_get { target } else { "/".to_owned() };
        let query: String =
            form_urlencoded::Serializer::new(String::new()).append_pair("next", &next).finish();
        return Redirect::to(&format!("/login?{query}")).into_response();
    }
    let mut dressed = frame::refused(refusal);
    // What the refusal says beside its words, such as when to try again.
    for (name, value) in response.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            dressed.headers_mut().append(name, value.clone());
        }
    }
    dressed
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

fn is_for_programs(path: &str) -> bool {
    ["/api/", "/v1/", "/metrics", "/healthz", "/readyz"].iter().any(|prefix| path.starts_with(prefix))
}
