//! Logging in with a token, and out.

use std::net::IpAddr;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use store::Access;

use super::frame::{self, render};
use crate::access::{self, hash};
use crate::body;
use crate::extract::Params;
use crate::problem::Refusal;
use crate::routes::{Least, Route};
use crate::state::Desk;

/// The longest form of a login, in bytes.
const FORM_BYTES: usize = 16 * 1024;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/login", Least::Public, "the login", get(show)),
        Route::new(Method::POST, "/login", Least::Public, "log in with a token", post(log_in)),
        Route::new(Method::POST, "/logout", Least::Role(access::Role::Viewer), "log out", post(log_out)),
    ]
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    version: &'static str,
    next: String,
    error: Option<String>,
    tokens: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Target {
    next: String,
}

async fn show(State(desk): State<Desk>, Params(target): Params<Target>) -> Response {
    answer(&desk, StatusCode::OK, &target.next, None)
}

fn answer(desk: &Desk, status: StatusCode, next: &str, error: Option<String>) -> Response {
    let page = LoginPage {
        version: frame::version(),
        next: own_path(next).to_owned(),
        error,
        tokens: desk.settings().logins.token,
    };
    render(status, &page)
}

/// A path of this site, whatever was asked for.
fn own_path(next: &str) -> &str {
    let is_own = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains('\\')
        && !next.chars().any(char::is_control);
    if is_own { next } else { "/" }
}

async fn log_in(State(desk): State<Desk>, request: Request) -> Response {
    let peer = access::peer(&request);
    let address = access::address(&desk, peer, request.headers());
    let mut entry = Access {
        principal: String::new(),
        role: None,
        method: "POST".to_owned(),
        path: "/login".to_owned(),
        status: 0,
        address: address.map(|address| address.to_string()),
    };
    let response = match logged_in(&desk, address, request).await {
        Ok((name, response)) => {
            entry.principal = name;
            entry.status = response.status().as_u16();
            access::keep(&desk, entry);
            return response;
        }
        Err(response) => response,
    };
    entry.status = response.status().as_u16();
    access::keep_refusal(&desk, address, entry);
    response
}

/// Begins a session: whose it is, and the answer.
async fn logged_in(
    desk: &Desk,
    address: Option<IpAddr>,
    request: Request,
) -> Result<(String, Response), Response> {
    if access::is_cross_site(request.method(), request.headers()) {
        return Err(Refusal::forbidden("the login comes from another site").into_response());
    }
    let read = body::read(request.into_body(), FORM_BYTES, "a login may be").await;
    let bytes = read.map_err(IntoResponse::into_response)?;
    let field = |wanted: &str| {
        form_urlencoded::parse(&bytes).find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
    };
    let (token, next) = (field("token").unwrap_or_default(), field("next").unwrap_or_default());
    if !desk.settings().logins.token {
        let message = "Tokens are not among desk.login.".to_owned();
        return Err(answer(desk, StatusCode::FORBIDDEN, &next, Some(message)));
    }
    let secret = access::secret();
    let lasts = desk.settings().review.session;
    let begun = desk.store().begin_session(hash(token.trim()), hash(&secret), lasts).await;
    let Some((name, ..)) = begun.map_err(|error| Refusal::from(error).into_response())? else {
        return Err(failed(desk, address, &next));
    };
    let response = Redirect::to(own_path(&next)).into_response();
    Ok((name, with_cookie(response, access::session_cookie(Some(&secret), lasts))))
}

/// The token is none in force. Only what fails is limited: others at this address may have tokens that are.
fn failed(desk: &Desk, address: Option<IpAddr>, next: &str) -> Response {
    if let Some(wait) = address.and_then(|address| desk.failures().wait(address)) {
        let seconds = wait.as_secs().max(1);
        let message = format!("Too many logins failed from this address. Try again in {seconds} s.");
        let mut response = answer(desk, StatusCode::TOO_MANY_REQUESTS, next, Some(message));
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        return response;
    }
    metrics::counter!("groundcrew_logins_failed_total").increment(1);
    if let Some(address) = address {
        desk.failures().add(address);
    }
    let message = "This token is not known, or was revoked.".to_owned();
    answer(desk, StatusCode::UNPROCESSABLE_ENTITY, next, Some(message))
}

async fn log_out(State(desk): State<Desk>, request: Request) -> Response {
    if let Some(cookie) = access::session(request.headers())
        && let Err(error) = desk.store().end_session(hash(cookie)).await
    {
        return Refusal::from(error).into_response();
    }
    let ended = access::session_cookie(None, std::time::Duration::ZERO);
    with_cookie(Redirect::to("/login").into_response(), ended)
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_login_nobody_leaves_the_site() {
        assert_eq!(own_path("/items/1?x=y"), "/items/1?x=y");
        for elsewhere in
            ["", "//evil.example", "https://evil.example", "/\\evil.example", "/a\nb", "javascript:x"]
        {
            assert_eq!(own_path(elsewhere), "/", "{elsewhere}");
        }
    }
}
