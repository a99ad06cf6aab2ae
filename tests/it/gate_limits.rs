//! The gate at its limits: keys, copies, bounds, bad input, outages, shutdown.

use std::time::Duration;

use audit::gate::Policy;
use audit::record::{AuditKey, GateCall, GateChannel};
use chrono::Utc;
use desk::access::Role;
use futures_util::future::join_all;
use practice::{CannedReply, Fault};
use serde_json::{Value, json};
use store::{GateClaim, GateClaimed};
use testkit::served::Response;
use testkit::{Desk, PATIENCE, wait_for};
use trace::Kind;
use uuid::Uuid;

use crate::gate::{call, verdicts};

async fn desk(replies: &[(&str, CannedReply)]) -> (Desk, String) {
    desk_with(|_| {}, replies).await
}

async fn desk_with(
    change: impl FnOnce(&mut desk::Settings),
    replies: &[(&str, CannedReply)],
) -> (Desk, String) {
    let replies: Vec<(String, CannedReply)> =
        replies.iter().map(|(id, reply)| ((*id).to_owned(), reply.clone())).collect();
    let desk = Desk::start(change, |judge| {
        replies.into_iter().for_each(|(id, reply)| judge.canned.insert(id, vec![reply]));
    })
    .await;
    let token = desk.token(Role::Gate, None).await;
    (desk, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_of_one_call_are_judged_once_and_answered_alike() {
    let slow = CannedReply { delay_ms: 300, ..verdicts(false, "HIGH") };
    let (desk, token) = desk(&[("k", slow)]).await;
    let body = call("k");
    let headers = [("idempotency-key", "abc-1")];
    let said = join_all((0..10).map(|_| desk.gate_with(&token, &body, &headers))).await;
    assert!(said.iter().all(|it| it.status == 200 && it.text == said[0].text), "{said:?}");
    assert_eq!(desk.judge.calls("k").received, 1);
    let fresh = said.iter().filter(|it| it.header("idempotent-replayed").is_empty()).count();
    assert_eq!(fresh, 1);
    // Later it is still the same, and another body under the key is refused.
    let again = desk.gate_with(&token, &body, &headers).await;
    assert_eq!((again.text.as_str(), again.header("idempotent-replayed")), (said[0].text.as_str(), "true"));
    let other = desk.gate_with(&token, &call("other"), &headers).await;
    assert_eq!((other.status, &other.body["error"]["code"]), (409, &json!("conflict")));
    assert_eq!(desk.judge.total_calls().received, 1);
    assert_eq!(desk.json("select to_jsonb(a.id) from groundcrew.audits a").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_trace_without_a_key_is_a_new_generation() {
    let (desk, token) = desk(&[("t", verdicts(false, "HIGH"))]).await;
    let body = call("t");
    let said = join_all((0..4).map(|_| desk.gate(&token, &body))).await;
    let mut generations: Vec<i64> = said.iter().map(|it| it.body["generation"].as_i64().unwrap()).collect();
    generations.sort_unstable();
    assert_eq!(generations, [0, 1, 2, 3]);
    assert_eq!(desk.judge.calls("t").received, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_whose_deadline_passes_first_is_told_unknown() {
    let (desk, token) = desk(&[("late", CannedReply::fault(Fault::Hang))]).await;
    let body = |ms: u64| {
        let mut body = call("late");
        body["deadline_ms"] = json!(ms);
        body
    };
    let headers = [("idempotency-key", "late")];
    let (long, short) = (body(1500), body(1500));
    let (first, second) =
        tokio::join!(desk.gate_with(&token, &long, &headers), desk.gate_with(&token, &short, &headers));
    for said in [first, second] {
        assert_eq!((said.status, &said.body["verdict"]), (200, &json!("unknown")), "{}", said.text);
        assert_eq!(said.body["action"], "block");
    }
    assert_eq!(desk.judge.calls("late").received, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_the_bound_are_told_to_come_back() {
    let hang = CannedReply::fault(Fault::Hang);
    let (desk, token) =
        desk_with(|settings| settings.gate.max_calls = 2, &[("a", hang.clone()), ("b", hang)]).await;
    let calls: Vec<Value> = ["a", "b"]
        .map(|id| {
            let mut body = call(id);
            body["deadline_ms"] = json!(5000);
            body
        })
        .into();
    let requests =
        calls.iter().map(|body| desk.request("POST", "/v1/gate").bearer_auth(&token).json(body).send());
    let waiting: Vec<_> = requests.map(tokio::spawn).collect();
    wait_for("both calls in work", PATIENCE, async || (desk.judge.total_calls().received == 2).then_some(()))
        .await;
    let refused = desk.gate(&token, &call("c")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"), "{}", refused.text);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    // Their places are free when they have left.
    wait_for("a free place", PATIENCE, async || {
        (desk.gate(&token, &call("c")).await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_calls_are_told_what_is_wrong_and_cost_nothing() {
    let (desk, token) = desk_with(|settings| settings.max_body_bytes = 4096, &[]).await;
    let send = async |body: &str, kind: &str| {
        let request = desk.request("POST", "/v1/gate").bearer_auth(&token).header("content-type", kind);
        Response::of(request.body(body.to_owned()).send().await.unwrap()).await
    };
    let mut bare = call("x");
    bare.as_object_mut().unwrap().remove("evidence");
    let missing = desk.gate(&token, &bare).await;
    assert_eq!((missing.status, &missing.body["error"]["problems"][0]["path"]), (422, &json!("$.evidence")));
    let mut empty = call("x");
    empty["evidence"] = json!([]);
    assert_eq!(desk.gate(&token, &empty).await.body["error"]["problems"][0]["path"], "$.evidence");
    let malformed = send("{\n  \"project\": oops }", "application/json").await;
    assert_eq!(malformed.status, 400);
    assert_eq!(
        (&malformed.body["error"]["line"], &malformed.body["error"]["column"]),
        (&json!(2), &json!(14)),
        "{}",
        malformed.text
    );
    let large = send(&"x".repeat(5000), "application/json").await;
    assert_eq!((large.status, &large.body["error"]["code"]), (413, &json!("too_large")));
    assert_eq!(send("{}", "text/plain").await.status, 415);
    let key = desk.gate_with(&token, &call("x"), &[("idempotency-key", "")]).await;
    assert_eq!(key.status, 400, "{}", key.text);
    assert_eq!(desk.judge.total_calls().received, 0);
    assert!(desk.json("select to_jsonb(a.id) from groundcrew.audits a").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_makes_no_verdict() {
    let (desk, token) = desk(&[]).await;
    let mut body = call("db");
    body["deadline_ms"] = json!(500);
    body.as_object_mut().unwrap().remove("trace_id");
    // The token is known by now, so that only the result cannot be stored.
    assert_eq!(desk.gate(&token, &body).await.status, 200);
    desk.to_database.refuse();
    let said = desk.gate(&token, &body).await;
    assert_eq!(
        (said.status, &said.body["verdict"], &said.body["action"]),
        (503, &json!("unknown"), &json!("block")),
        "{}",
        said.text
    );
    assert_eq!(said.body["outcome"], "not_stored");
    desk.to_database.heal();
    wait_for("the database again", PATIENCE, async || {
        (desk.gate(&token, &body).await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_lets_calls_end() {
    let slow = CannedReply { delay_ms: 700, ..verdicts(false, "HIGH") };
    let (mut desk, token) = desk(&[("stop", slow)]).await;
    let asking =
        tokio::spawn(desk.request("POST", "/v1/gate").bearer_auth(&token).json(&call("stop")).send());
    wait_for("the judge to be asked", PATIENCE, async || {
        (desk.judge.calls("stop").received == 1).then_some(())
    })
    .await;
    desk.ask_to_stop();
    let said = Response::of(asking.await.unwrap().unwrap()).await;
    assert_eq!((said.status, &said.body["action"]), (200, &json!("block")), "{}", said.text);
    desk.stopped(Duration::from_secs(10)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_desk_left_open_ends_judge_unavailable_and_frees_its_key() {
    let (desk, token) = desk(&[]).await;
    let call = GateCall {
        id: Uuid::now_v7(),
        channel: GateChannel::Http,
        caller: Some("c".into()),
        session: Some("s".into()),
        regenerations: 0,
        earlier: Vec::new(),
        idempotency_key: Some("left".into()),
        body_hash: Some([7; 32]),
        deadline: Some(Duration::from_secs(1)),
        received_at: Utc::now(),
    };
    let key = AuditKey {
        project: "mill".into(),
        trace_id: "left".into(),
        content_hash: trace::ContentHash([1; 32]),
        kind: Kind::Gate,
        generation: 0,
        repeat: 0,
    };
    let claim = GateClaim { call, key, expires_in: Duration::from_secs(60) };
    let claimed = desk.store.claim_gate_call(claim.clone()).await.unwrap();
    assert_eq!(claimed, GateClaimed::New { regenerations: 0, earlier: Vec::new(), generation: 0 });
    let copy = GateClaim { call: GateCall { id: Uuid::now_v7(), ..claim.call.clone() }, ..claim.clone() };
    assert_eq!(desk.store.claim_gate_call(copy.clone()).await.unwrap(), GateClaimed::InWork);
    assert!(desk.store.end_lost_gate_calls().await.unwrap().is_empty(), "it is not lost yet");
    sqlx::query("update groundcrew.gate_calls set expires_at = now() - interval '1 second'")
        .execute(&desk.database.pool)
        .await
        .unwrap();
    // The desk looks for such calls by itself; whoever comes first ends it.
    let ended = wait_for("the end of the lost call", PATIENCE, async || {
        desk.store.end_lost_gate_calls().await.unwrap();
        let calls =
            desk.json("select to_jsonb(g) from groundcrew.gate_calls g where ended_at is not null").await;
        calls.into_iter().next()
    })
    .await;
    assert_eq!((&ended["outcome"], &ended["verdict"]), (&json!("cut_off"), &json!("unknown")));
    let again = desk.store.claim_gate_call(copy).await.unwrap();
    assert_eq!(again, GateClaimed::New { regenerations: 0, earlier: Vec::new(), generation: 1 });
    drop(token);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_over_its_cap_gets_no_verdict() {
    let (desk, token) = desk_with(
        |settings| {
            settings.default_project.caps.calls = Some(1);
            settings.default_project.over_cap = audit::spend::OverCap::Defer;
            settings.default_project.gate = Policy::default();
        },
        &[],
    )
    .await;
    let body = |id: &str| {
        let mut body = call(id);
        body["answer"] = json!("The mill opened in 1820.");
        body
    };
    let mut outcomes = Vec::new();
    for id in ["c1", "c2", "c3"] {
        outcomes.push(desk.gate(&token, &body(id)).await.body["outcome"].clone());
    }
    assert_eq!(outcomes[0], "judged");
    assert_eq!(outcomes[2], "over_budget", "nobody waits for the next day: {outcomes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_desk_leaves_an_audit_of_each_call_that_ends_judge_unavailable() {
    let desk = Desk::start(|_| {}, |judge| judge.latency_ms = 300_000).await;
    let token = desk.token(Role::Gate, None).await;
    // One with all that a call can have, and one with nothing: neither session nor key nor trace id.
    let mut named = call("named");
    named["session"] = json!("s");
    let mut bare = call("x");
    bare.as_object_mut().unwrap().remove("trace_id");
    for body in [&mut named, &mut bare] {
        body["deadline_ms"] = json!(60_000);
    }
    let requests: Vec<_> = [named, bare]
        .iter()
        .map(|body| desk.request("POST", "/v1/gate").bearer_auth(&token).json(body).send())
        .collect();
    let waiting: Vec<_> = requests.into_iter().map(tokio::spawn).collect();
    wait_for("two open audits", PATIENCE, async || {
        let open =
            desk.json("select to_jsonb(a.id) from groundcrew.audits a where disposition is null").await;
        (open.len() == 2).then_some(())
    })
    .await;
    // As if its process had gone long ago.
    sqlx::query("update groundcrew.gate_calls set expires_at = now() - interval '1 second'")
        .execute(&desk.database.pool)
        .await
        .unwrap();
    wait_for("the end of both", PATIENCE, async || {
        desk.store.end_lost_gate_calls().await.unwrap();
        let ended = desk
            .json("select to_jsonb(g) from groundcrew.gate_calls g join groundcrew.audits a on a.id = g.audit_id
                where g.outcome = 'cut_off' and a.disposition = 'judge_unavailable' and a.final")
            .await;
        (ended.len() == 2).then_some(())
    })
    .await;
    let told = desk
        .strings(
            "select convert_from(body, 'utf8') from groundcrew.outbox
            where routing_key = 'audit.judge_unavailable'",
        )
        .await;
    assert_eq!(told.len(), 2, "{told:?}");
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_cannot_be_looked_up_makes_unknown_by_the_deadline() {
    use audit::gate::WhenUnknown;
    use testkit::Direction;
    let (desk, _) =
        desk_with(|settings| settings.default_project.gate.unknown = WhenUnknown::Open, &[]).await;
    let token = desk.token(Role::Gate, None).await;
    let mut body = call("away");
    body["deadline_ms"] = json!(800);
    for (fields, action) in [
        (json!({}), "deliver"),
        (json!({ "risk": "high" }), "block"),
        (json!({ "domain": " medical " }), "block"),
    ] {
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        desk.to_database.blackhole(Direction::ToServer);
        let asked = tokio::time::Instant::now();
        let said = desk.gate(&token, &body).await;
        assert!(asked.elapsed() < Duration::from_millis(2500), "{:?}", asked.elapsed());
        assert_eq!(
            (said.status, &said.body["verdict"], &said.body["action"]),
            (503, &json!("unknown"), &json!(action)),
            "{}",
            said.text
        );
        assert_eq!(said.body["outcome"], "not_stored");
    }
    desk.to_database.heal();
    assert_eq!(desk.gate("gc_nobody", &call("x")).await.status, 401, "who is nobody is told so");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_calls_of_a_session_do_not_use_up_its_regenerations() {
    let ids = ["r1", "r2", "r3"];
    let slow = |at: u64| CannedReply { delay_ms: 600 - 200 * at, ..verdicts(false, "HIGH") };
    let replies: Vec<_> = ids.iter().zip(0..).map(|(id, at)| (*id, slow(at))).collect();
    let (desk, token) = desk_with(
        |settings| settings.default_project.gate.ungrounded = audit::gate::WhenUngrounded::Regenerate,
        &replies,
    )
    .await;
    let mut asking = Vec::new();
    for (id, open) in ids.iter().zip(1..) {
        let mut body = call(id);
        body["session"] = json!("talk");
        asking.push(tokio::spawn(desk.request("POST", "/v1/gate").bearer_auth(&token).json(&body).send()));
        // One after the other, so that the third is the last.
        wait_for("the call to be open", PATIENCE, async || {
            let calls = desk.json("select to_jsonb(g.id) from groundcrew.gate_calls g").await;
            (calls.len() == open).then_some(())
        })
        .await;
    }
    let mut said = Vec::new();
    for asked in asking {
        said.push(Response::of(asked.await.unwrap().unwrap()).await);
    }
    let told = said.iter().filter(|said| said.body["action"] == "regenerate").count();
    assert!(told <= 2, "{said:?}");
    assert_eq!(said[0].body["action"], "regenerate", "{}", said[0].text);
    let why = said[2].body["action_reason"].as_str().unwrap();
    assert_eq!(why.contains("used up"), told == 2 && !why.contains("still open"), "{why}");
}
