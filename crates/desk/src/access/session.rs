//! Browsers that are logged in: cookies, and the word that proves that a request comes from a page of ours.
//!
//! What a browser sends by itself, it also sends when another site made it ask. Such a request changes something only
//! when it brings a word that other sites cannot read: it stands in the page, and is derived from a cookie.

use axum::body::Body;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};

use super::secret::{hex, same, secret};
use crate::problem::Refusal;

/// The cookie of a session. The prefix makes browsers refuse it without Secure, and from other hosts.
const SESSION: &str = "__Host-groundcrew";

/// The cookie from which the word is derived for who has no session.
const PAGE: &str = "__Host-groundcrew-page";

/// The header in which scripts send the word.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";

/// The field in which forms send the word.
pub(crate) const CSRF_FIELD: &str = "csrf";

/// The word for the pages of one browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csrf(pub String);

/// Known to every handler behind a guard.
impl<S: Send + Sync> FromRequestParts<S> for Csrf {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        // Who sends a token sees pages too, and needs no word.
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(|| Self(String::new())))
    }
}

/// What the session's cookie holds.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, SESSION)
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lists = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let value = pairs.find(|(found, _)| *found == name)?.1;
    (value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(value)
}

/// The header that begins a session, or with none ends it.
pub(crate) fn session_cookie(secret: Option<&str>, lasts: std::time::Duration) -> Option<HeaderValue> {
    let (value, age) = secret.map_or(("", 0), |secret| (secret, lasts.as_secs()));
    format!("{SESSION}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={age}").parse().ok()
}

/// The word for a browser, and the cookie that it needs for it if it has none yet.
pub(crate) fn csrf(headers: &HeaderMap) -> (Csrf, Option<HeaderValue>) {
    let derive = |secret: &str| Csrf(hex(&Sha256::digest(format!("page {secret}").as_bytes())));
    if let Some(known) = session(headers).or_else(|| cookie(headers, PAGE)) {
        return (derive(known), None);
    }
    let new = secret();
    let cookie = format!("{PAGE}={new}; Path=/; Secure; HttpOnly; SameSite=Lax").parse().ok();
    (derive(&new), cookie)
}

/// Lets a request through that brings the word, in a header or in a form.
///
/// # Errors
/// 403 when it does not, 413 when the form is too long, 408 when it does not arrive.
pub(crate) async fn check(request: Request, word: &Csrf, limit: usize) -> Result<Request, Refusal> {
    let is_word = |given: &str| same(given, &word.0);
    let in_header = request.headers().get(CSRF_HEADER).and_then(|value| value.to_str().ok());
    if let Some(given) = in_header {
        return if is_word(given) { Ok(request) } else { Err(missing()) };
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
        return Err(missing());
    }
    let (parts, body) = request.into_parts();
    let bytes = crate::body::read(body, limit, "desk.max_body_bytes allows").await?;
    let found = form_urlencoded::parse(&bytes).any(|(name, value)| name == CSRF_FIELD && is_word(&value));
    if found { Ok(Request::from_parts(parts, Body::from(bytes))) } else { Err(missing()) }
}

fn missing() -> Refusal {
    Refusal::forbidden(
        "the request does not come from a page of the desk, or the page is too old: load it again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, cookie.parse().unwrap())])
    }

    #[test]
    fn a_session_is_a_cookie_of_the_right_shape() {
        let secret = secret();
        assert_eq!(session(&headers(&format!("a=b; {SESSION}={secret}; c=d"))), Some(secret.as_str()));
        for wrong in
            [format!("{SESSION}=short"), format!("x{SESSION}={secret}"), format!("{SESSION}={secret}g")]
        {
            assert_eq!(session(&headers(&wrong)), None, "{wrong}");
        }
        let set = session_cookie(Some(&secret), std::time::Duration::from_secs(60)).unwrap();
        let set = set.to_str().unwrap();
        assert!(["Secure", "HttpOnly", "SameSite=Lax", "Max-Age=60"].iter().all(|part| set.contains(part)));
    }

    #[tokio::test]
    async fn only_who_can_read_the_page_has_the_word() {
        let mine = headers(&format!("{SESSION}={}", secret()));
        let (word, cookie) = csrf(&mine);
        assert!(cookie.is_none() && csrf(&headers(&format!("{SESSION}={}", secret()))).0 != word);
        assert!(csrf(&HeaderMap::new()).1.is_some());
        let form = |body: String| {
            let kind = "application/x-www-form-urlencoded";
            Request::post("/x").header(header::CONTENT_TYPE, kind).body(Body::from(body)).unwrap()
        };
        let passed = check(form(format!("a=1&csrf={}", word.0)), &word, 1000).await.unwrap();
        let body = axum::body::to_bytes(passed.into_body(), 1000).await.unwrap();
        assert!(body.starts_with(b"a=1&csrf="), "the handler still reads the form");
        assert!(check(form("a=1&csrf=00".into()), &word, 1000).await.is_err());
        assert!(check(form(format!("csrf={}&{}", word.0, "x".repeat(2000))), &word, 1000).await.is_err());
        let scripted =
            |value: &str| Request::post("/x").header(CSRF_HEADER, value).body(Body::empty()).unwrap();
        assert!(check(scripted(&word.0), &word, 10).await.is_ok());
        assert!(check(scripted("no"), &word, 10).await.is_err());
        let json = Request::post("/x").body(Body::from("{}")).unwrap();
        assert!(check(json, &word, 10).await.is_err());
    }
}
