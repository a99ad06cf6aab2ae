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
    assert_eq!(claimed, GateClaimed::New { regenerations: 0, generation: 0 });
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
    assert_eq!(again, GateClaimed::New { regenerations: 0, generation: 1 });
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
