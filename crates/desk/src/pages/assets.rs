//! The style sheet, the script and the picture, in the binary.

use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::access::hex;
use crate::routes::{Least, Route};

const STYLE: &str = include_str!("../../assets/desk.css");
const SCRIPT: &str = include_str!("../../assets/desk.js");
const ICON: &str = include_str!("../../assets/icon.svg");

pub(super) fn routes() -> Vec<Route> {
    let asset = |path, about, kind: &'static str, text: &'static str| {
        Route::new(Method::GET, path, Least::Public, about, get(async move || serve(kind, text)))
    };
    vec![
        asset("/assets/desk.css", "the pages' style", "text/css; charset=utf-8", STYLE),
        asset("/assets/desk.js", "the pages' keys", "text/javascript; charset=utf-8", SCRIPT),
        asset("/assets/icon.svg", "the pages' icon", "image/svg+xml", ICON),
    ]
}

fn serve(kind: &'static str, text: &'static str) -> Response {
    let mut response = text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // Pages name them with their version, see `version`.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    response
}

/// Changes with the assets, so that no browser shows a page with yesterday's script.
pub(super) fn version() -> String {
    let digest = Sha256::digest([STYLE.as_bytes(), SCRIPT.as_bytes()].concat());
    hex(&digest[..6])
}
