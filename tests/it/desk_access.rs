//! Who may ask the desk for what.

use std::collections::HashSet;

use desk::access::{Logins, Proxy, Role};
use desk::routes::{self, Least};
use serde_json::json;
use testkit::served::Response;
use testkit::{Desk, PATIENCE, wait_for};

use crate::gate::call;

/// A path of a route with something in the place of its parameters.
fn filled(path: &str) -> String {
    let part = |part: &str| {
        if part.starts_with('{') {
            "00000000-0000-0000-0000-000000000000".to_owned()
        } else {
            part.to_owned()
        }
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_route_refuses_each_role_that_it_should() {
    let desk = Desk::start(|_| {}, |_| {}).await;
    let mut tokens = Vec::new();
    for role in Role::ALL {
        tokens.push((role, desk.token(role, None).await));
    }
    let routes = routes::all();
    let names: HashSet<(String, &str)> = routes.iter().map(|it| (it.method.to_string(), it.path)).collect();
    assert_eq!(names.len(), routes.len(), "each route stands in the table once");
    for route in routes {
        let path = filled(route.path);
        let nobody = Response::of(desk.request(route.method.as_str(), &path).send().await.unwrap()).await;
        let is_public = route.least == Least::Public;
        assert_eq!(nobody.status == 401, !is_public, "{} {path} for nobody: {}", route.method, nobody.text);
        for (role, token) in &tokens {
            let request = desk.request(route.method.as_str(), &path).bearer_auth(token);
            let said = Response::of(request.send().await.unwrap()).await;
            let may = match route.least {
                Least::Public => true,
                Least::Role(least) => role.covers(least),
            };
            assert_eq!(
                said.status == 403,
                !may,
                "{} {path} for {role}: {} {}",
                route.method,
                said.status,
                said.text
            );
            assert_ne!(said.status, 401, "{} {path} for {role}", route.method);
            assert_ne!(said.status, 405, "{} {path}", route.method);
            assert!(!route.about.is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_carries_the_security_headers() {
    let desk = Desk::start(|_| {}, |_| {}).await;
    for path in ["/healthz", "/readyz", "/metrics", "/v1/gate", "/nothing"] {
        let said = Response::of(desk.request("GET", path).send().await.unwrap()).await;
        let policy = said.header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(said.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(said.header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(said.header("cache-control"), "no-store", "{path}");
    }
    assert_eq!(
        Response::of(desk.request("GET", "/nothing").send().await.unwrap()).await.body["error"]["code"],
        "not_found"
    );
    assert_eq!(Response::of(desk.request("GET", "/v1/gate").send().await.unwrap()).await.status, 405);
    wait_for("readiness", PATIENCE, async || {
        let ready = desk.request("GET", "/readyz").send().await.unwrap();
        (ready.status().as_u16() == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_holds_for_its_projects_until_it_is_revoked() {
    let desk = Desk::start(|_| {}, |_| {}).await;
    let scoped = desk.token(Role::Gate, Some(&["other", "mill"])).await;
    assert_eq!(desk.gate(&scoped, &call("mine")).await.status, 200);
    let foreign = desk.token(Role::Gate, Some(&["other"])).await;
    let said = desk.gate(&foreign, &call("theirs")).await;
    assert_eq!((said.status, &said.body["error"]["code"]), (403, &json!("forbidden")));
    assert_eq!(desk.gate("gc_nobody", &call("x")).await.status, 401);
    assert_eq!(desk.judge.calls("theirs").received, 0);

    let tokens = desk.store.tokens().await.unwrap();
    let used = tokens.iter().find(|token| token.projects.as_ref().is_some_and(|it| it.len() == 2)).unwrap();
    assert!(used.last_used_at.is_some());
    let hashes = desk.strings("select encode(hash, 'hex') from groundcrew.api_tokens").await;
    assert!(hashes.iter().all(|hash| !scoped.contains(hash.as_str())), "the token itself is stored nowhere");
    assert!(desk.store.revoke_token(&used.name).await.unwrap());
    assert!(!desk.store.revoke_token(&used.name).await.unwrap());
    wait_for("the end of the token", PATIENCE, async || {
        (desk.gate(&scoped, &call("after")).await.status == 401).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_logins_of_an_address_do_not_lock_out_tokens_that_are_in_force() {
    let desk = Desk::start(|_| {}, |_| {}).await;
    let token = desk.token(Role::Gate, None).await;
    assert_eq!(desk.gate(&token, &call("a")).await.status, 200);
    let mut seen = Vec::new();
    for at in 0..25 {
        seen.push(desk.gate(&format!("gc_wrong{at}"), &call("b")).await.status);
    }
    assert_eq!((seen[0], seen[24]), (401, 429), "{seen:?}");
    let limited = desk.gate("gc_wrong", &call("b")).await;
    assert!(limited.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert_eq!(desk.gate(&token, &call("c")).await.status, 200);
    // One that nobody has used before, and that others at the address share it with who guess.
    let fresh = desk.token(Role::Gate, None).await;
    assert_eq!(desk.gate(&fresh, &call("d")).await.status, 200);
    assert_eq!(desk.gate("gc_wrong", &call("b")).await.status, 429, "what fails is still limited");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_believed_from_its_own_address_only() {
    let proxy = |address: &str| Proxy {
        addresses: vec![address.parse().unwrap()],
        user_header: "x-forwarded-user".parse().unwrap(),
        role_header: Some("x-forwarded-role".parse().unwrap()),
        projects_header: None,
        role: Role::Viewer,
    };
    for (address, is_trusted) in [("127.0.0.1", true), ("127.0.0.2", false)] {
        let desk = Desk::start(
            |settings| settings.logins = Logins { proxy: Some(proxy(address)), ..Logins::default() },
            |_| {},
        )
        .await;
        let ask = async |headers: &[(&str, &str)]| {
            let mut request = desk.request("POST", "/v1/gate").json(&call("p"));
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            request.send().await.unwrap().status().as_u16()
        };
        let gate = [("x-forwarded-user", "ada"), ("x-forwarded-role", "gate")];
        assert_eq!(ask(&gate).await, if is_trusted { 200 } else { 401 });
        assert_eq!(
            ask(&gate[..1]).await,
            if is_trusted { 403 } else { 401 },
            "a viewer does not ask the gate"
        );
        assert_eq!(ask(&[]).await, 401);
        assert_eq!(ask(&[("authorization", "Bearer gc_any")]).await, 401, "tokens are not among the logins");
        let foreign = [gate[0], gate[1], ("sec-fetch-site", "cross-site")];
        assert_eq!(ask(&foreign).await, if is_trusted { 403 } else { 401 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_loopback_nobody_is_asked_where_the_configuration_says_so() {
    let desk = Desk::start(
        |settings| settings.logins = Logins { loopback: Some(Role::Admin), ..Logins::default() },
        |_| {},
    )
    .await;
    let ask = async |name: &str, value: &str| {
        let request = desk.request("POST", "/v1/gate").json(&call("l")).header(name, value);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask("x-nothing", "1").await, 200);
    assert_eq!(ask("origin", "https://evil.example").await, 403);
    assert_eq!(ask("host", "evil.example").await, 401, "a name that points here is not this machine");
}
