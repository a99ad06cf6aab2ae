//! The guard before every handler: who asks, and may they?

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use store::Access;

use super::origin::{is_cross_site, names_loopback};
use super::principal::{Login, Principal, Role};
use super::session;
use super::token::{hash, is_ours};
use crate::gate;
use crate::problem::Refusal;
use crate::routes::Least;
use crate::state::Desk;

/// What stands before one route.
#[derive(Debug, Clone)]
pub struct Guard {
    pub(crate) desk: Desk,
    pub(crate) least: Least,
}

/// Lets a request through, with who asks among its extensions, or refuses it. What is asked of the desk is kept.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let Least::Role(least) = guard.least else { return next.run(request).await };
    let peer = peer(&request);
    let from = address(&guard.desk, peer, request.headers());
    let mut access = Access {
        principal: String::new(),
        role: None,
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        status: 0,
        address: from.map(|address| address.to_string()),
    };
    let (request, principal) = match identified(&guard.desk, least, peer, request).await {
        Ok(identified) => identified,
        Err(response) => {
            access.status = response.status().as_u16();
            keep_refusal(&guard.desk, from, access);
            return response;
        }
    };
    access.principal.clone_from(&principal.name);
    access.role = Some(principal.role.as_str());
    let response = admit(&guard, principal, least, request, next).await;
    access.status = response.status().as_u16();
    // The gate keeps the calls that it answers itself, and lists renew themselves all day.
    if least == Role::Gate {
        keep_refusal(&guard.desk, from, access);
    } else if is_kept(&access) {
        keep(&guard.desk, access);
    }
    response
}

/// Who asks, and the request. Who calls the gate is told what to do by their deadline, whoever they are.
async fn identified(
    desk: &Desk,
    least: Role,
    peer: Option<IpAddr>,
    request: Request,
) -> Result<(Request, Principal), Response> {
    if least != Role::Gate {
        return match identify(desk, peer, request.headers()).await {
            Ok(principal) => Ok((request, principal)),
            Err(refusal) => Err(refusal.into_response()),
        };
    }
    let (of_task, headers) = (desk.clone(), request.headers().clone());
    let identifying = desk.tasks().spawn(async move { identify(&of_task, peer, &headers).await });
    gate::identified(desk, request, identifying).await
}

async fn admit(
    guard: &Guard,
    principal: Principal,
    least: Role,
    mut request: Request,
    next: Next,
) -> Response {
    if !principal.role.covers(least) {
        let message =
            format!("{} has the role {}, and this asks for {least}", principal.name, principal.role);
        return Refusal::forbidden(message).into_response();
    }
    let mut cookie = None;
    if principal.login.is_ambient() {
        if is_cross_site(request.method(), request.headers()) {
            return Refusal::forbidden("the request comes from another site").into_response();
        }
        let (word, new) = session::csrf(request.headers());
        cookie = new;
        if !request.method().is_safe() && is_browser(principal.login, request.headers()) {
            let limit = guard.desk.settings().max_body_bytes;
            request = match session::check(request, &word, limit).await {
                Ok(request) => request,
                Err(refusal) => return refusal.into_response(),
            };
        }
        request.extensions_mut().insert(word);
    }
    request.extensions_mut().insert(principal);
    let mut response = next.run(request).await;
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Whether a browser sends the request. One says where a request that changes something comes from; a program behind a
/// proxy says nothing, and no page can make it ask.
fn is_browser(login: Login, headers: &HeaderMap) -> bool {
    login == Login::Session
        || ["origin", "sec-fetch-site", "cookie"].iter().any(|name| headers.contains_key(*name))
}

/// Every change, every refusal, and every look at a trace.
fn is_kept(access: &Access) -> bool {
    let is_trace = ["/items/", "/dead-letters/"].iter().any(|part| access.path.contains(part));
    access.method != "GET" || access.status >= 400 || is_trace
}

/// Keeps who asked for what, beside the answer.
pub(crate) fn keep(desk: &Desk, access: Access) {
    let store = desk.store().clone();
    desk.tasks().spawn(async move {
        if let Err(error) = store.keep_access(vec![access]).await {
            tracing::error!(error = %durable::chain(&error), "who asked for what could not be kept");
        }
    });
}

/// Keeps a refusal, unless the address, or all together, have had too many within the minute. Nothing else is kept: what
/// is not refused, or fails on this side.
pub(crate) fn keep_refusal(desk: &Desk, from: Option<IpAddr>, access: Access) {
    if (400..500).contains(&access.status) && desk.refused().keeps(from) {
        keep(desk, access);
    }
}

/// Who is on the other side of the connection.
pub(crate) fn peer(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip())
}

/// Where a request comes from, seen through what stands in front of the desk.
pub(crate) fn address(desk: &Desk, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
    let logins = &desk.settings().logins;
    client(peer, |address| logins.is_front(address), headers)
}

/// Who asks.
async fn identify(desk: &Desk, peer: Option<IpAddr>, headers: &HeaderMap) -> Result<Principal, Refusal> {
    let logins = &desk.settings().logins;
    let proxy = logins.proxy.as_ref().filter(|proxy| peer.is_some_and(|peer| proxy.is_trusted(peer)));
    let named = proxy.map(|proxy| proxy.principal(headers));
    let bearer = bearer(headers);
    // A proxy that says who asks may pass on what it was told itself, such as a password or a token of its own.
    let is_for_proxy =
        matches!(named, Some(Err(_) | Ok(Some(_)))) && !matches!(bearer, Ok(Some(token)) if is_ours(token));
    if !is_for_proxy && let Some(token) = bearer? {
        if !logins.token {
            return Err(Refusal::unauthenticated("tokens are not among desk.login"));
        }
        return by_token(desk, token, address(desk, peer, headers)).await;
    }
    if let Some(principal) = named.transpose().map_err(Refusal::unauthenticated)?.flatten() {
        return Ok(principal);
    }
    if let Some(cookie) = session::session(headers).filter(|_| logins.token)
        && let Some((name, role, projects)) = desk.store().find_session(hash(cookie)).await?
        && let Some(role) = Role::parse(&role)
    {
        return Ok(Principal { name, role, projects, login: Login::Session });
    }
    if let Some(role) = logins.loopback {
        let is_here = peer.is_some_and(|peer| peer.to_canonical().is_loopback()) && names_loopback(headers);
        if is_here {
            return Ok(Principal {
                name: "loopback".to_owned(),
                role,
                projects: None,
                login: Login::Loopback,
            });
        }
    }
    Err(Refusal::unauthenticated(if logins.token {
        "send a token as `Authorization: Bearer TOKEN`; `groundcrew token add` makes one"
    } else {
        "nobody is logged in"
    }))
}

/// The token of the request, if it brings one.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let token = value.to_str().ok().and_then(|value| {
        let (scheme, token) = value.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    match token.filter(|token| !token.is_empty()) {
        Some(token) => Ok(Some(token)),
        None => Err(Refusal::unauthenticated("expected `Authorization: Bearer TOKEN`")),
    }
}

/// Where the request comes from: each front says from where it got it, the last one at the end. What stands before the
/// first that is no front of ours may be invented.
fn client(peer: Option<IpAddr>, is_front: impl Fn(IpAddr) -> bool, headers: &HeaderMap) -> Option<IpAddr> {
    let mut from = peer?;
    let values = headers.get_all("x-forwarded-for").iter().rev();
    let mut named = values.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
    while is_front(from) {
        let Some(before) = named.next().and_then(forwarded) else { break };
        from = before;
    }
    Some(from)
}

/// An address, which some fronts write with its port.
fn forwarded(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    text.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

async fn by_token(desk: &Desk, token: &str, client: Option<IpAddr>) -> Result<Principal, Refusal> {
    let hash = hash(token);
    if let Some(principal) = desk.tokens().known(&hash) {
        return Ok(principal);
    }
    // A token that is in force passes, whatever others at this address have tried: nobody can guess one of 256 bits,
    // and behind a proxy many share an address. Only what fails is limited.
    if let Some(principal) = desk.tokens().find(hash).await? {
        return Ok(principal);
    }
    if let Some(wait) = client.and_then(|client| desk.failures().wait(client)) {
        return Err(Refusal::too_many("too many logins failed from this address", wait.as_secs().max(1)));
    }
    metrics::counter!("groundcrew_logins_failed_total").increment(1);
    if let Some(client) = client {
        desk.failures().add(client);
    }
    tracing::warn!(client = ?client, "a login failed: the token is unknown or revoked");
    Err(Refusal::unauthenticated("this token is not known, or was revoked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fronts_say_about_where_a_request_comes_from_counts() {
        let from = |peer: &str, said: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in said {
                headers.append("x-forwarded-for", axum::http::HeaderValue::from_static(value));
            }
            let is_front = |address: IpAddr| ["10.0.0.1", "10.0.0.2"].contains(&address.to_string().as_str());
            client(Some(peer.parse().unwrap()), is_front, &headers).unwrap().to_string()
        };
        assert_eq!(from("192.0.2.9", &["192.0.2.1"]), "192.0.2.9", "no front");
        assert_eq!(from("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(
            from("10.0.0.1", &["192.0.2.1, 192.0.2.2"]),
            "192.0.2.2",
            "the client says the first itself"
        );
        assert_eq!(from("10.0.0.1", &["192.0.2.1", "192.0.2.2"]), "192.0.2.2");
        assert_eq!(
            from("10.0.0.1", &["192.0.2.1, 192.0.2.2,10.0.0.2"]),
            "192.0.2.2",
            "one front after another"
        );
        assert_eq!(from("10.0.0.1", &["192.0.2.1:4711"]), "192.0.2.1");
        assert_eq!(from("10.0.0.1", &["[2001:db8::1]:4711"]), "2001:db8::1");
        assert_eq!(from("10.0.0.1", &["192.0.2.1, unknown"]), "10.0.0.1");
    }
}
