//! The review desk over HTTP, as a program of its own.

use std::time::Duration;

use desk::access::Role;
use practice::CannedReply;
use reqwest::{Client, Method, Response, StatusCode, header};
use serde_json::{Value, json};
use testkit::material::{WRONG_FARE, all_grounded, trace, wrong_fare};
use testkit::{PATIENCE, Process, System, wait_for};

/// A desk that runs, and where.
pub struct Desk {
    pub url: String,
    process: Process,
}

/// Starts the desk of a system.
pub async fn start(system: &System, variables: &[(&str, &str)]) -> Desk {
    let mut command = system.program(&["desk"]).set("GROUNDCREW_DESK__LISTEN", "127.0.0.1:0");
    for (name, value) in variables {
        command = command.set(*name, *value);
    }
    let process = command.start();
    let url = wait_for("the desk's address", PATIENCE, async || {
        let log = process.log();
        log.lines().find_map(|line| line.strip_prefix("desk ")).map(str::to_owned)
    })
    .await;
    Desk { url, process }
}

/// Makes a token.
pub async fn token(system: &System, name: &str, role: Role) -> String {
    let (code, printed) = system.program(&["token", "add", name, "--role", role.as_str()]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    printed.lines().find(|line| line.starts_with("gc_")).unwrap().trim().to_owned()
}

impl Desk {
    /// Asks for something with a token.
    pub async fn ask(&self, method: Method, path: &str, token: &str, body: Option<Value>) -> Response {
        let mut request = Client::new().request(method, format!("{}{path}", self.url)).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    /// What is there, as JSON.
    pub async fn get(&self, path: &str, token: &str) -> Value {
        self.ask(Method::GET, path, token, None).await.json().await.unwrap()
    }

    /// Does something; gives the status and the answer.
    pub async fn post(&self, path: &str, token: &str, body: Value) -> (StatusCode, Value) {
        let response = self.ask(Method::POST, path, token, Some(body)).await;
        (response.status(), response.json().await.unwrap())
    }

    /// Ends it.
    pub async fn stop(mut self) {
        self.process.terminate();
        let ended = self.process.ended(PATIENCE).await;
        assert!(ended.success(), "{}", self.process.log());
    }
}

/// A system with a worker in which a trace with a wrong fare was escalated. Gives the review item.
pub async fn escalated(system: &System, trace_id: &str) -> String {
    system.publish(&trace(trace_id).saying(WRONG_FARE)).await;
    assert_eq!(system.ended(trace_id).await["disposition"], "escalated");
    let items = system.review_items(trace_id).await;
    items[0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_is_decided_over_the_api_and_its_end_reaches_who_waits() {
    let system =
        System::builder().replies("wrong", [CannedReply::content(wrong_fare("critical"))]).start().await;
    let worker = system.worker().await;
    let item = escalated(&system, "wrong").await;
    // With the rights of its role, and no more.
    let role = format!("desk_{}", uuid::Uuid::now_v7().simple());
    let make = format!("create role {role} login password 'p' in role groundcrew_desk");
    sqlx::query(sqlx::AssertSqlSafe(make)).execute(&system.database.pool).await.unwrap();
    let url = system.database.url_as(&role, "p", None);
    let desk = start(&system, &[("DATABASE_URL", &url)]).await;
    let (ann, bob) =
        (token(&system, "ann", Role::Reviewer).await, token(&system, "bob", Role::Reviewer).await);
    let listed = desk.get("/api/v1/review/items", &ann).await;
    assert_eq!(listed["items"][0]["review_item"], item.as_str());
    assert_eq!(listed["searched"], Value::Null);
    for (text, found) in [("wrong", 1), ("61%20EURO", 1), ("submarine", 0)] {
        let listed = desk.get(&format!("/api/v1/review/items?text={text}"), &ann).await;
        let said = (listed["items"].as_array().map(Vec::len), &listed["searched"], &listed["next"]);
        assert_eq!(said, (Some(found), &json!(1), &Value::Null), "{text}");
    }
    let path = format!("/api/v1/review/items/{item}");
    let (status, taken) = desk.post(&format!("{path}/take"), &ann, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{taken}");
    let (status, refused) = desk.post(&format!("{path}/take"), &bob, json!({})).await;
    assert_eq!((status, &refused["error"]["code"]), (StatusCode::CONFLICT, &json!("taken")));

    let shown = desk.get(&path, &ann).await;
    let claims = shown["report"]["claims"].as_array().unwrap();
    let flag = claims.iter().find(|claim| claim["is_flag"] == true).unwrap();
    assert_eq!((&flag["verdict"], &shown["mine"]), (&json!("contradicted"), &json!(true)));
    let say = |extra: Value| {
        let mut body = json!({ "fence": taken["fence"], "report_version": shown["report_version"] });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    let rulings = format!("{path}/rulings");
    let (status, wrong) = desk.post(&rulings, &ann, say(json!({ "ruling": "confirm", "claim": 99 }))).await;
    assert_eq!(
        (status, &wrong["error"]["problems"][0]["path"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("$.claim"))
    );
    let (status, lost) =
        desk.post(&rulings, &bob, say(json!({ "ruling": "confirm", "claim": flag["index"] }))).await;
    assert_eq!((status, &lost["error"]["code"]), (StatusCode::CONFLICT, &json!("taken")), "not bob's");
    let (status, early) = desk
        .post(&format!("{path}/close"), &ann, json!({ "fence": taken["fence"], "decision": "block" }))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{early}");
    let (status, ruled) = desk
        .post(
            &rulings,
            &ann,
            say(json!({ "ruling": "confirm", "claim": flag["index"], "note": "16, not 61" })),
        )
        .await;
    assert_eq!(status, StatusCode::OK, "{ruled}");
    let added = json!({ "ruling": "add", "text": "The crossing takes 35 minutes.", "verdict": "unsupported", "severity": "minor" });
    assert_eq!(desk.post(&rulings, &ann, say(added)).await.0, StatusCode::OK);
    let long = "x".repeat(4_001);
    for ending in ["close", "dismiss", "retry"] {
        let body = json!({ "fence": taken["fence"], "note": long });
        let (status, refused) = desk.post(&format!("{path}/{ending}"), &ann, body).await;
        let said = (status, &refused["error"]["problems"][0]["path"]);
        assert_eq!(
            said,
            (StatusCode::UNPROCESSABLE_ENTITY, &json!("$.note")),
            "{ending}: notes have a limit"
        );
    }
    let (status, closed) = desk
        .post(&format!("{path}/close"), &ann, json!({ "fence": taken["fence"], "decision": "deliver" }))
        .await;
    assert_eq!(status, StatusCode::OK, "{closed}");
    assert_eq!((&closed["faithful"], &closed["released"]), (&json!(false), &json!(true)));

    // The events leave by the worker's relay.
    for name in ["audit.finalised", "audit.released"] {
        let told = system.announcement(name, "wrong").await;
        assert_eq!(
            (&told.body["final_decision"], &told.body["reviewers"]),
            (&json!("deliver"), &json!(["ann"]))
        );
    }
    let truth = system
        .strings("select text || ' ' || verdict || ' ' || coalesce(answer_start::text, '') from analytics.ground_truth_claims order by 1")
        .await;
    assert_eq!(truth.len(), 2, "{truth:?}");
    assert!(
        truth.iter().all(|line| line.chars().last().is_some_and(|c| c.is_ascii_digit())),
        "placed: {truth:?}"
    );
    // And it can be measured with.
    let folder = std::env::temp_dir().join(format!("gc-{}", uuid::Uuid::now_v7().simple()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("cases.jsonl");
    let (code, printed) = system
        .program(&["golden", "export", "--practice", "--out"])
        .argument(file.to_str().unwrap())
        .run()
        .await;
    assert_eq!(code, Some(0), "{printed}");
    let case: Value = serde_json::from_str(std::fs::read_to_string(&file).unwrap().trim()).unwrap();
    assert_eq!((&case["trace_id"], &case["human_label"]["faithful"]), (&json!("wrong"), &json!(false)));
    assert_eq!(case["human_label"]["claims"].as_array().unwrap().len(), 2);
    // What is there is not replaced, and a file without cases is not written.
    std::fs::write(&file, "corrected by hand").unwrap();
    let none = folder.join("none.jsonl");
    for (to, project, code) in [(&file, "any", 2), (&none, "no-such-project", 0)] {
        let mut program = system.program(&["golden", "export", "--practice", "--out"]);
        program = program.argument(to.to_str().unwrap());
        if project != "any" {
            program = program.argument("--project").argument(project);
        }
        let (ended, printed) = program.run().await;
        assert_eq!(ended, Some(code), "{printed}");
        assert!(printed.contains(if code == 2 { "is not replaced" } else { "no cases" }), "{printed}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "corrected by hand");
    assert!(!none.exists());
    for name in ["me", "Nobody", " loopback "] {
        let (ended, printed) = system.program(&["token", "add", name, "--role", "viewer"]).run().await;
        assert_eq!(ended, Some(2), "a token called {name} would mean something else: {printed}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let logged = system.strings("select principal || ' ' || status from groundcrew.access_log where path like '%/close' order by id").await;
    assert_eq!(logged, ["ann 422", "ann 422", "ann 200"]);
    desk.stop().await;
    worker.stop(PATIENCE).await;
    let drop = sqlx::AssertSqlSafe(format!("drop role {role}"));
    sqlx::query(drop).execute(&system.database.pool).await.unwrap();
}

/// What the judge said must not be in anything that the asker can get.
#[tokio::test(flavor = "multi_thread")]
async fn the_blind_sample_shows_nothing_of_the_judge_before_the_ruling() {
    let system = System::builder()
        .replies("quiet", [CannedReply::content(all_grounded())])
        .tuned(|tuning| tuning.sample_passed = 1.0)
        .start()
        .await;
    let worker = system.worker().await;
    let label = json!({ "labeler": "Zoe Label", "faithful": true, "score": 0.77 });
    system.publish(&trace("quiet").set("/human_label", label)).await;
    assert_eq!(system.ended("quiet").await["disposition"], "passed");
    let item = system.review_items("quiet").await[0]["id"].as_str().unwrap().to_owned();
    let desk = start(&system, &[]).await;
    let (ann, eve) = (token(&system, "ann", Role::Reviewer).await, token(&system, "eve", Role::Viewer).await);
    let api = format!("/api/v1/review/items/{item}");
    let page = format!("/items/{item}");
    let (_, taken) = desk.post(&format!("{api}/take"), &ann, json!({})).await;
    let hidden = [
        "blind_sample",
        "\"verdict\":",
        "grounded",
        "The source says the same.",
        "Checked claim by claim.",
        "Zoe Label",
        "0.77",
        "passed\"",
        "escalated",
        "faithfulness_score",
        "critical_finding",
    ];
    for token in [&ann, &eve] {
        for path in
            [api.as_str(), &page, "/sample", "/api/v1/review/items?list=sample", "/api/v1/review/counts"]
        {
            let text = desk.ask(Method::GET, path, token, None).await.text().await.unwrap();
            // The keys name what a reviewer can say, at the end of the page; and an option is no verdict.
            let text = text.split("<dialog").next().unwrap().replace("<option value=\"grounded\">", "");
            for word in hidden {
                assert!(!text.contains(word), "{path} says {word}: {text}");
            }
        }
    }
    let shown = desk.get(&api, &ann).await;
    assert_eq!((&shown["revealed"], &shown["report"]), (&json!(false), &Value::Null));
    let overall = json!({
        "fence": taken["fence"], "report_version": shown["report_version"], "ruling": "overall", "faithful": true,
    });
    assert_eq!(desk.post(&format!("{api}/rulings"), &ann, overall).await.0, StatusCode::OK);
    assert_eq!(desk.get(&api, &ann).await["report"]["disposition"], "passed");
    assert_eq!(desk.get(&api, &eve).await["report"], Value::Null, "who has not ruled sees nothing");
    let (status, closed) = desk.post(&format!("{api}/close"), &ann, json!({ "fence": taken["fence"] })).await;
    assert_eq!((status, &closed["faithful"]), (StatusCode::OK, &json!(true)));
    desk.stop().await;
    worker.stop(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_needs_the_word_of_its_pages_and_ends_with_its_token() {
    let system = System::builder().start().await;
    let desk = start(&system, &[]).await;
    let ann = token(&system, "ann", Role::Reviewer).await;
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let login = |token: String| {
        let form = format!("token={token}&next=/queue");
        let request = client.post(format!("{}/login", desk.url));
        request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(form).send()
    };
    let response = login(ann.clone()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
    for part in ["__Host-groundcrew=", "Secure", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let page = |path: &str| client.get(format!("{}{path}", desk.url)).header(header::COOKIE, &cookie).send();
    let queue = page("/queue").await.unwrap();
    assert_eq!(queue.status(), StatusCode::OK);
    let html = queue.text().await.unwrap();
    let word = html.split("name=\"csrf\" content=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(word.len(), 64);

    let path = "/api/v1/review/items/00000000-0000-0000-0000-000000000000/take";
    let post = |word: Option<&str>, origin: Option<&str>| {
        let mut request = client.post(format!("{}{path}", desk.url)).header(header::COOKIE, &cookie);
        if let Some(word) = word {
            request = request.header("x-csrf-token", word);
        }
        if let Some(origin) = origin {
            request = request.header(header::ORIGIN, origin);
        }
        request.send()
    };
    assert_eq!(post(None, None).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(post(Some("0"), None).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(
        post(Some(&word), Some("https://evil.example")).await.unwrap().status(),
        StatusCode::FORBIDDEN
    );
    assert_eq!(post(Some(&word), None).await.unwrap().status(), StatusCode::NOT_FOUND, "it came through");

    let (code, printed) = system.program(&["token", "revoke", "ann"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(page("/queue").await.unwrap().status(), StatusCode::UNAUTHORIZED);

    // Whoever guesses is soon not listened to.
    let mut last = StatusCode::OK;
    for _ in 0..25 {
        last = login("gc_guess".to_owned()).await.unwrap().status();
        if last == StatusCode::TOO_MANY_REQUESTS {
            break;
        }
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    desk.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_audit_is_asked_for_again_and_a_dead_letter_replayed_from_the_desk() {
    let system = System::builder()
        .replies(
            "stubborn",
            [
                CannedReply::content("no JSON"),
                CannedReply::content("no JSON"),
                CannedReply::content(all_grounded()),
            ],
        )
        .start()
        .await;
    let worker = system.worker().await;
    system.publish(&trace("stubborn")).await;
    assert_eq!(system.ended("stubborn").await["disposition"], "unreadable");
    let item = system.review_items("stubborn").await[0]["id"].as_str().unwrap().to_owned();
    let desk = start(&system, &[]).await;
    let admin = token(&system, "root", Role::Admin).await;
    let path = format!("/api/v1/review/items/{item}");
    let shown = desk.get(&path, &admin).await;
    assert_eq!(shown["list"], "failed");
    assert_eq!(shown["report"]["attempts"][0]["content"], "no JSON");
    assert!(shown["trace"]["raw"].as_str().unwrap().contains("stubborn"));
    let (_, taken) = desk.post(&format!("{path}/take"), &admin, json!({})).await;
    let (status, closed) =
        desk.post(&format!("{path}/retry"), &admin, json!({ "fence": taken["fence"] })).await;
    assert_eq!((status, &closed["generation"]), (StatusCode::OK, &json!(1)));
    let audits = system.ended_times("stubborn", 2).await;
    assert_eq!(audits[1]["disposition"], "passed");

    system.publish_bytes("no trace").await;
    let letter = system.dead_letters("undecodable", 1).await[0]["id"].as_str().unwrap().to_owned();
    let (status, replayed) =
        desk.post(&format!("/api/v1/dead-letters/{letter}/replay"), &admin, json!({})).await;
    assert_eq!((status, &replayed["generation"]), (StatusCode::OK, &json!(1)));
    wait_for("the letter to come back", Duration::from_secs(30), async || {
        let letters = desk.get("/api/v1/dead-letters", &admin).await;
        letters
            .as_array()
            .unwrap()
            .iter()
            .any(|letter| letter["replays"] == 1 || letter["headers"]["generation"] == 1)
            .then_some(())
    })
    .await;
    let open = desk.get("/api/v1/dead-letters", &admin).await;
    for letter in open.as_array().unwrap() {
        let path = format!("/api/v1/dead-letters/{}/discard", letter["id"].as_str().unwrap());
        assert_eq!(desk.post(&path, &admin, json!({})).await.0, StatusCode::UNPROCESSABLE_ENTITY);
        let long = json!({ "note": "x".repeat(4_001) });
        let (status, refused) = desk.post(&path, &admin, long).await;
        let said = (status, &refused["error"]["problems"][0]["path"]);
        assert_eq!(said, (StatusCode::UNPROCESSABLE_ENTITY, &json!("$.note")), "notes have a limit");
        assert_eq!(desk.post(&path, &admin, json!({ "note": "a test" })).await.0, StatusCode::OK);
    }
    desk.stop().await;
    worker.stop(PATIENCE).await;
}
