//! Did this site's own pages send the request, or did another site make a browser send it? Pure.

use axum::http::{HeaderMap, Method, header};

/// Whether a request that changes something came from elsewhere: what a browser says by itself proves nothing then.
pub(crate) fn is_cross_site(method: &Method, headers: &HeaderMap) -> bool {
    if method.is_safe() {
        return false;
    }
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(site) = text("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    match text("origin") {
        // Programs that are no browsers send none.
        None => false,
        Some(origin) => {
            let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
            let named = origin.split_once("://").map(|(_, rest)| rest);
            host.is_none() || named != host
        }
    }
}

/// Whether the request names this machine: a page elsewhere can let its own name point here (DNS rebinding).
pub(crate) fn names_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_requests_of_this_site_or_of_no_browser_change_anything() {
        let cross = |pairs: &[(&'static str, &'static str)]| is_cross_site(&Method::POST, &headers(pairs));
        assert!(!cross(&[("host", "desk.example")]));
        assert!(!cross(&[("host", "desk.example"), ("origin", "https://desk.example")]));
        assert!(cross(&[("host", "desk.example"), ("origin", "https://evil.example")]));
        assert!(cross(&[("host", "desk.example"), ("origin", "null")]));
        assert!(cross(&[("sec-fetch-site", "cross-site")]));
        assert!(cross(&[("sec-fetch-site", "same-site")]));
        assert!(!cross(&[("sec-fetch-site", "same-origin")]));
        assert!(!is_cross_site(&Method::GET, &headers(&[("origin", "https://evil.example")])));
    }

    #[test]
    fn the_host_must_be_this_machine() {
        for here in ["localhost", "LOCALHOST:80", "127.0.0.1:8090", "[::1]:8090", "127.9.9.9"] {
            assert!(names_loopback(&headers(&[("host", here)])), "{here}");
        }
        for elsewhere in ["evil.example", "localhost.evil.example", "10.0.0.1", "[::2]", ""] {
            assert!(!names_loopback(&headers(&[("host", elsewhere)])), "{elsewhere}");
        }
        assert!(!names_loopback(&HeaderMap::new()));
    }
}
