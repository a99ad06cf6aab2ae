//! How the desk refuses: in which form, and what it keeps of it.

use desk::access::{Logins, Proxy, Role};
use desk::routes::{self, Least};
use reqwest::Method;
use serde_json::json;
use testkit::served::Response;
use testkit::{Desk, PATIENCE, wait_for};

use crate::gate::call;

fn proxy() -> Proxy {
    Proxy {
        addresses: vec!["127.0.0.1".parse().unwrap()],
        user_header: "x-forwarded-user".parse().unwrap(),
        role_header: Some("x-forwarded-role".parse().unwrap()),
        projects_header: None,
        role: Role::Viewer,
    }
}

async fn asked(desk: &Desk, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = desk.request("GET", path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Response::of(request.send().await.unwrap()).await
}

const COUNTS: &str = "/api/v1/review/counts";

#[tokio::test(flavor = "multi_thread")]
async fn what_a_proxy_passes_on_in_authorization_shuts_nobody_out() {
    let desk = Desk::start(
        |settings| settings.logins = Logins { token: true, proxy: Some(proxy()), ..Logins::default() },
        |_| {},
    )
    .await;
    let user = ("x-forwarded-user", "ada");
    for _ in 0..15 {
        for passed_on in ["Basic YWRhOnB3", "Bearer eyJhbGciOiJub25lIn0.e30.x", "Negotiate"] {
            let said = asked(&desk, COUNTS, &[user, ("authorization", passed_on)]).await;
            assert_eq!(said.status, 200, "{passed_on}: {}", said.text);
        }
    }
    let wrong = ("authorization", "Bearer gc_wrong");
    assert_eq!(asked(&desk, COUNTS, &[user, wrong]).await.status, 401, "one of ours, and not in force");
    assert_eq!(
        asked(&desk, COUNTS, &[("authorization", "Basic YWRhOnB3")]).await.status,
        401,
        "nobody is named"
    );
    let token = desk.token(Role::Gate, None).await;
    let header = format!("Bearer {token}");
    assert_eq!(
        asked(&desk, COUNTS, &[user, ("authorization", &header)]).await.status,
        403,
        "the token counts"
    );
    assert_eq!(
        asked(&desk, COUNTS, &[("x-forwarded-user", "nobody")]).await.status,
        401,
        "a name of another meaning"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_behind_a_front_that_names_nobody_do_not_share_an_address() {
    let front = "127.0.0.1".parse().unwrap();
    let desk = Desk::start(
        |settings| settings.logins = Logins { token: true, fronts: vec![front], ..Logins::default() },
        |_| {},
    )
    .await;
    let wrong = async |from: &str| {
        let headers = [("authorization", "Bearer gc_wrong"), ("x-forwarded-for", from)];
        asked(&desk, COUNTS, &headers).await.status
    };
    for _ in 0..20 {
        assert_eq!(wrong("192.0.2.1").await, 401);
    }
    assert_eq!(wrong("192.0.2.1").await, 429);
    assert_eq!(wrong("192.0.2.2").await, 401, "another client");
    let token = desk.token(Role::Gate, None).await;
    let said = desk.gate_with(&token, &call("a"), &[("x-forwarded-for", "192.0.2.1")]).await;
    assert_eq!(said.status, 200, "a token in force passes: {}", said.text);
    wait_for("both addresses in the access log", PATIENCE, async || {
        let kept = desk.strings("select distinct address from groundcrew.access_log order by 1").await;
        (kept == ["192.0.2.1", "192.0.2.2"]).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_without_a_login_are_kept_and_a_flood_of_them_is_not() {
    let desk = Desk::start(|_| {}, |_| {}).await;
    assert_eq!(asked(&desk, COUNTS, &[]).await.status, 401);
    for _ in 0..60 {
        desk.gate("gc_wrong", &call("a")).await;
    }
    let login = desk.request("POST", "/login").header("origin", "https://evil.example").body("token=x");
    assert_eq!(login.send().await.unwrap().status().as_u16(), 403);
    let viewer = desk.token(Role::Viewer, None).await;
    assert_eq!(
        desk.request("POST", "/logout").bearer_auth(&viewer).send().await.unwrap().status().as_u16(),
        200
    );
    let counted = "select status || ' ' || count(*) from groundcrew.access_log where principal = '' group by status order by 1";
    // The first, twenty that failed, and nine of the limited ones: thirty of an address in a minute.
    wait_for("the refusals in the access log", PATIENCE, async || {
        (desk.strings(counted).await == ["401 21", "429 9"]).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_of_the_api_has_its_documented_form() {
    let desk = Desk::start(|_| {}, |_| {}).await;
    let admin = desk.token(Role::Admin, None).await;
    let get = async |path: &str| {
        Response::of(desk.request("GET", path).bearer_auth(&admin).send().await.unwrap()).await
    };
    // Public ones refuse nothing but a login, and that with its page.
    for route in routes::all().into_iter().filter(|route| route.least != Least::Public) {
        for query in ["?foo=1", "?list=failed&list=sample", "?limit=1&limit=2", "?next=a&next=b"] {
            let path = format!("{}{query}", route.path.replace("{id}", "%ff"));
            let request = desk.request(route.method.as_str(), &path).bearer_auth(&admin).json(&json!({}));
            let said = Response::of(request.send().await.unwrap()).await;
            if said.status >= 400 {
                assert!(
                    said.body["error"]["code"].is_string(),
                    "{} {path}: {} {}",
                    route.method,
                    said.status,
                    said.text
                );
            }
        }
        if route.method == Method::GET && route.path.contains("{id}") && !route.path.starts_with("/static") {
            let said = get(&route.path.replace("{id}", "%ff")).await;
            assert_eq!(said.status, 400, "{}: {}", route.path, said.text);
        }
    }
    for path in [
        "/api/v1/review/items?foo=1",
        "/api/v1/dead-letters?limit=1",
        "/dead-letters?limit=1",
        "/queue?text=a&text=b",
    ] {
        let said = get(path).await;
        assert_eq!(
            (said.status, &said.body["error"]["code"]),
            (400, &json!("malformed")),
            "{path}: {}",
            said.text
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_cannot_be_stored_is_no_failure_of_the_database() {
    let desk = Desk::start(|_| {}, |_| {}).await;
    let admin = desk.token(Role::Admin, None).await;
    let after = "after=0.-8000000000000000000.00000000-0000-0000-0000-000000000000";
    for list in ["findings", "failed", "sample", "closed"] {
        for more in ["", "&text=a"] {
            let path = format!("/api/v1/review/items?list={list}&{after}{more}");
            let said =
                Response::of(desk.request("GET", &path).bearer_auth(&admin).send().await.unwrap()).await;
            assert_eq!(
                (said.status, &said.body["error"]["problems"][0]["path"]),
                (422, &json!("after")),
                "{path}: {}",
                said.text
            );
        }
    }
    for path in [
        "/api/v1/dead-letters?reason=%00",
        "/api/v1/dead-letters?project=%00",
        "/api/v1/review/items?project=%00",
        "/api/v1/review/items?text=%00",
        "/api/v1/review/items?assignee=%00",
    ] {
        let said = Response::of(desk.request("GET", path).bearer_auth(&admin).send().await.unwrap()).await;
        assert!(said.status < 500, "{path}: {} {}", said.status, said.text);
    }
}
