//! The gate over HTTP: what a caller is told, and what is stored before it is told.

use std::time::Duration;

use audit::gate::{Policy, WhenExhausted, WhenUngrounded, WhenUnknown};
use desk::access::Role;
use futures_util::future::join_all;
use practice::{CannedReply, Fault};
use serde_json::{Value, json};
use testkit::{Desk, PATIENCE, wait_for};
use tokio::time::Instant;

const TEXT: &str = "The mill opened in 1820. It has three wheels. It turns every day.";

/// A question about the mill, whose judge is asked under this trace id.
pub(crate) fn call(trace_id: &str) -> Value {
    json!({
        "project": "mill", "trace_id": trace_id, "query": "What is there to know about the mill?", "answer": TEXT,
        "evidence": [
            { "source_id": "history", "text": "The mill opened in 1820. It turns every day." },
            { "source_id": "works", "text": "The mill has two wheels." },
        ],
    })
}

fn with(mut call: Value, fields: Value) -> Value {
    call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    call
}

/// What the judge says: of the three sentences, whether each is grounded.
pub(crate) fn verdicts(wheels: bool, confidence: &str) -> CannedReply {
    let claim = |text: &str, quote: Option<&str>, source: Option<&str>, confidence: &str| {
        json!({ "claim_text": text, "verdict": if quote.is_some() { "grounded" } else { "ungrounded" },
            "source_quote": quote, "source_id": source, "confidence": confidence })
    };
    let of_wheels = if wheels { (Some("The mill has two wheels."), Some("works")) } else { (None, None) };
    CannedReply::content(json!({
        "overall_verdict": if wheels { "grounded" } else { "ungrounded" },
        "claims": [
            claim("The mill opened in 1820.", Some("The mill opened in 1820."), Some("history"), "HIGH"),
            claim(if wheels { "It has wheels." } else { "It has three wheels." }, of_wheels.0, of_wheels.1, confidence),
            claim("It turns every day.", Some("It turns every day."), Some("history"), "HIGH"),
        ],
    }))
}

const GROUNDED: &str = "The mill opened in 1820. It turns every day.";

/// An answer of which all stands in the evidence; the practice judge sees that by itself.
fn grounded(trace_id: &str) -> Value {
    with(call(trace_id), json!({ "answer": GROUNDED }))
}

async fn desk(policy: Policy, replies: &[(&str, CannedReply)]) -> (Desk, String) {
    let replies: Vec<(String, CannedReply)> =
        replies.iter().map(|(id, reply)| ((*id).to_owned(), reply.clone())).collect();
    let desk = Desk::start(
        |settings| settings.default_project.gate = policy,
        |judge| replies.into_iter().for_each(|(id, reply)| judge.canned.insert(id, vec![reply])),
    )
    .await;
    let token = desk.token(Role::Gate, None).await;
    (desk, token)
}

fn when(ungrounded: WhenUngrounded) -> Policy {
    Policy { ungrounded, ..Policy::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grounded_answer_is_delivered_and_stored_before_the_caller_hears_of_it() {
    let (desk, token) = desk(Policy::default(), &[]).await;
    let said = desk.gate(&token, &grounded("g")).await;
    assert_eq!(said.status, 200, "{}", said.text);
    assert_eq!((&said.body["verdict"], &said.body["action"]), (&json!("grounded"), &json!("deliver")));
    assert_eq!(said.body["claims"].as_array().unwrap().len(), 2);
    let claim = &said.body["claims"][0];
    assert_eq!((&claim["verdict"], &claim["answer_span"]["start"]), (&json!("grounded"), &json!(0)));
    assert_eq!(claim["evidence"][0]["source_id"], "history");
    assert!(said.header("server-timing").starts_with("judge;dur="), "{:?}", said.headers);

    // No waiting: the commit came before the answer.
    let audits = desk.json("select to_jsonb(a) from groundcrew.audits a").await;
    assert_eq!((&audits[0]["id"], &audits[0]["disposition"]), (&said.body["audit_id"], &json!("passed")));
    assert_eq!(desk.json("select to_jsonb(a) from groundcrew.attempts a").await.len(), 1);
    assert_eq!(desk.json("select to_jsonb(c) from groundcrew.claims c").await.len(), 2);
    assert_eq!(
        desk.json("select to_jsonb(t) from groundcrew.traces t where payload is not null").await.len(),
        1
    );
    let calls = desk.json("select to_jsonb(g) from groundcrew.gate_calls g").await;
    assert_eq!(calls.len(), 1);
    let stored = &calls[0];
    assert_eq!(stored["audit_id"], said.body["audit_id"]);
    assert_eq!(
        (&stored["action"], &stored["verdict"], &stored["outcome"]),
        (&json!("deliver"), &json!("grounded"), &json!("judged"))
    );
    assert!(stored["total_us"].as_i64().unwrap() >= stored["judge_us"].as_i64().unwrap());
    let events = desk.strings("select convert_from(body, 'utf8') from groundcrew.outbox").await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("\"action\":\"deliver\""), "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ungrounded_claim_blocks_and_goes_to_people_with_its_evidence() {
    let (desk, token) = desk(Policy::default(), &[("u", verdicts(false, "HIGH"))]).await;
    let said = desk.gate(&token, &call("u")).await;
    assert_eq!(
        (&said.body["verdict"], &said.body["action"], &said.body["decision"]),
        (&json!("ungrounded"), &json!("block"), &json!("block"))
    );
    assert_eq!(said.body["claims"][1]["verdict"], "unsupported");
    assert_eq!(said.body["redacted_answer"], Value::Null);
    let items = desk.json("select to_jsonb(r) from groundcrew.review_items r").await;
    assert_eq!((items.len(), &items[0]["id"]), (1, &said.body["review_item"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn redacting_gives_back_what_can_be_read_and_calls_nobody() {
    let (desk, token) = desk(when(WhenUngrounded::Redact), &[("r", verdicts(false, "HIGH"))]).await;
    let said = desk.gate(&token, &call("r")).await;
    assert_eq!((&said.body["action"], &said.body["redacted_answer"]), (&json!("redact"), &json!(GROUNDED)));
    assert_eq!((&said.body["disposition"], &said.body["decision"]), (&json!("flagged"), &json!("block")));
    assert!(desk.json("select to_jsonb(r) from groundcrew.review_items r").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_may_regenerate_twice_and_then_an_operator_sees_the_claims() {
    let bad = verdicts(false, "HIGH");
    let ids = ["one", "two", "three", "four"];
    let replies = ids.map(|id| (id, bad.clone()));
    let policy = Policy { exhausted: WhenExhausted::Escalate, ..when(WhenUngrounded::Regenerate) };
    let (desk, token) = desk(policy, &replies).await;
    let first = desk.gate(&token, &call("one")).await;
    assert_eq!((&first.body["action"], &first.body["regenerations_left"]), (&json!("regenerate"), &json!(1)));
    assert!(first.body["instruction"].as_str().unwrap().contains("\"It has three wheels.\""));
    assert_eq!(first.body["review_item"], Value::Null);
    // Who named no session is given one.
    let session = json!({ "session": first.body["session"] });
    let second = desk.gate(&token, &with(call("two"), session.clone())).await;
    assert_eq!(
        (&second.body["action"], &second.body["regenerations_left"]),
        (&json!("regenerate"), &json!(0))
    );
    let third = desk.gate(&token, &with(call("three"), session.clone())).await;
    assert_eq!((&third.body["action"], &third.body["decision"]), (&json!("escalate"), &json!("hold")));
    let codes: Vec<&Value> =
        third.body["reasons"].as_array().unwrap().iter().map(|reason| &reason["code"]).collect();
    assert!(codes.contains(&&json!("regenerations_exhausted")), "{codes:?}");
    let items = desk.json("select to_jsonb(r) from groundcrew.review_items r").await;
    assert_eq!((items.len(), &items[0]["trace_id"]), (1, &json!("three")));
    // Another session begins anew.
    assert_eq!(desk.gate(&token, &call("four")).await.body["action"], "regenerate");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_session_at_the_same_moment_do_not_regenerate_more_often() {
    let ids: Vec<String> = (0..8).map(|at| format!("s{at}")).collect();
    let replies: Vec<(&str, CannedReply)> =
        ids.iter().map(|id| (id.as_str(), verdicts(false, "HIGH"))).collect();
    let (desk, token) = desk(when(WhenUngrounded::Regenerate), &replies).await;
    let bodies: Vec<Value> = ids.iter().map(|id| with(call(id), json!({ "session": "same" }))).collect();
    let said = join_all(bodies.iter().map(|body| desk.gate(&token, body))).await;
    let regenerate = said.iter().filter(|said| said.body["action"] == "regenerate").count();
    assert!((1..=2).contains(&regenerate), "{regenerate} of them may regenerate");
    assert!(said.iter().all(|said| ["regenerate", "block"].contains(&said.body["action"].as_str().unwrap())));
}

#[tokio::test(flavor = "multi_thread")]
async fn high_risk_blocks_and_a_person_decides_on_what_is_unsure_or_of_value() {
    let bad = verdicts(false, "HIGH");
    let (desk, token) = desk(
        when(WhenUngrounded::Redact),
        &[("risk", bad.clone()), ("value", bad), ("unsure", verdicts(false, "LOW"))],
    )
    .await;
    let risk = desk.gate(&token, &with(call("risk"), json!({ "risk": "high" }))).await;
    assert_eq!(risk.body["action"], "block");
    assert!(risk.body["review_item"].is_string(), "a person has to release it");
    let value = desk.gate(&token, &with(call("value"), json!({ "value": "high" }))).await;
    assert_eq!((&value.body["action"], &value.body["decision"]), (&json!("escalate"), &json!("hold")));
    assert_eq!(desk.gate(&token, &call("unsure")).await.body["action"], "escalate");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missed_deadline_is_answered_unknown_and_its_call_of_the_judge_is_kept() {
    let hang = CannedReply::fault(Fault::Hang);
    for (unknown, fields, action) in [
        (WhenUnknown::Closed, json!({}), "block"),
        (WhenUnknown::Open, json!({}), "deliver"),
        (WhenUnknown::Open, json!({ "risk": "high" }), "block"),
    ] {
        let (desk, token) = desk(Policy { unknown, ..Policy::default() }, &[("slow", hang.clone())]).await;
        // Connections are open then, so that the end is stored when the deadline passes.
        assert_eq!(desk.gate(&token, &grounded("warm")).await.status, 200);
        let began = Instant::now();
        let body = with(with(call("slow"), json!({ "deadline_ms": 400 })), fields);
        let said = desk.gate(&token, &body).await;
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert_eq!((&said.body["verdict"], &said.body["action"]), (&json!("unknown"), &json!(action)));
        assert_eq!(said.body["outcome"], "deadline");
        let audits = desk.json("select to_jsonb(a) from groundcrew.audits a where trace_id = 'slow'").await;
        assert_eq!(
            (&audits[0]["disposition"], &audits[0]["decision"]),
            (&json!("judge_unavailable"), &Value::Null)
        );
        let attempts = desk
            .json(
                "select to_jsonb(t) - 'request' from groundcrew.attempts t
                join groundcrew.audits a on a.id = t.audit_id where a.trace_id = 'slow'",
            )
            .await;
        assert_eq!(attempts.len(), 1, "{attempts:?}");
        assert_eq!(
            (&attempts[0]["class"], &attempts[0]["problems"][0]["code"]),
            (&json!("transport"), &json!("interrupted"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_cancels_the_call_of_the_judge_and_leaves_its_attempt() {
    let (desk, token) = desk(Policy::default(), &[("gone", CannedReply::fault(Fault::Hang))]).await;
    let body = call("gone");
    let request =
        desk.request("POST", "/v1/gate").bearer_auth(&token).header("idempotency-key", "k").json(&body);
    let asking = tokio::spawn(request.send());
    wait_for("the judge to be asked", PATIENCE, async || {
        (desk.judge.calls("gone").received == 1).then_some(())
    })
    .await;
    asking.abort();
    let calls = wait_for("the end of the call", PATIENCE, async || {
        let calls =
            desk.json("select to_jsonb(g) from groundcrew.gate_calls g where ended_at is not null").await;
        (!calls.is_empty()).then_some(calls)
    })
    .await;
    assert_eq!((&calls[0]["outcome"], &calls[0]["verdict"]), (&json!("client_gone"), &json!("unknown")));
    assert_eq!(calls[0]["idempotency_key"], Value::Null, "the key is free for who asks again");
    let attempts = desk.json("select to_jsonb(a) - 'request' from groundcrew.attempts a").await;
    assert_eq!((attempts.len(), &attempts[0]["class"]), (1, &json!("transport")));
    let audits = desk.json("select to_jsonb(a) from groundcrew.audits a").await;
    assert_eq!(audits[0]["disposition"], "judge_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_reply_is_kept_before_the_next_call_and_blocks_in_the_end() {
    let (desk, token) = desk(Policy::default(), &[("bad", CannedReply::content("no JSON at all"))]).await;
    let said = desk.gate(&token, &call("bad")).await;
    assert_eq!((&said.body["verdict"], &said.body["action"]), (&json!("unknown"), &json!("block")));
    assert_eq!(
        (&said.body["outcome"], &said.body["disposition"]),
        (&json!("unusable"), &json!("unreadable"))
    );
    assert_eq!(desk.judge.calls("bad").received, 3, "two more tries, as the kind's policy says");
    let numbers = desk.json("select to_jsonb(a.number) from groundcrew.attempts a order by 1").await;
    assert_eq!(numbers, [1, 2, 3]);
    let calls = desk.json("select to_jsonb(g) from groundcrew.gate_calls g").await;
    assert_eq!((calls.len(), &calls[0]["outcome"]), (1, &json!("unusable")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_cannot_be_reached_is_no_verdict() {
    let (desk, token) =
        desk(Policy::default(), &[("down", CannedReply { status: Some(503), ..CannedReply::default() })])
            .await;
    let said = desk.gate(&token, &call("down")).await;
    assert_eq!((&said.body["verdict"], &said.body["action"]), (&json!("unknown"), &json!("block")));
    assert_eq!(said.body["outcome"], "judge_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evidence_check_tells_missing_from_contradicted_evidence() {
    let reply = CannedReply::practice();
    let (desk, token) = desk(Policy::default(), &[("e", reply)]).await;
    let said = desk.gate(&token, &with(grounded("e"), json!({ "kind": "evidence_check" }))).await;
    assert_eq!((said.status, &said.body["action"]), (200, &json!("deliver")), "{}", said.text);
    assert_eq!((&said.body["kind"], &said.body["score"]), (&json!("evidence_check"), &json!(0.0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_per_claim_mode_each_sentence_is_asked_about_at_the_same_time() {
    let desk = Desk::start(
        |settings| {
            settings.default_project.gate.per_claim = true;
            settings.gate.part_chars = 1;
        },
        |judge| judge.latency_ms = 400,
    )
    .await;
    let token = desk.token(Role::Gate, None).await;
    let sentences =
        ["The mill opened in 1820.", "It turns every day.", "Anna Roth owned it.", "The roof is of oak."];
    let text = sentences.join(" ");
    let body =
        with(call("parts"), json!({ "answer": text, "evidence": [{ "source_id": "all", "text": text }] }));
    let said = desk.gate(&token, &body).await;
    assert_eq!(
        (&said.body["action"], said.body["claims"].as_array().unwrap().len()),
        (&json!("deliver"), 4),
        "{}",
        said.text
    );
    let attempts =
        desk.json("select to_jsonb(a) - 'request' from groundcrew.attempts a order by a.unit").await;
    let units: Vec<&Value> = attempts.iter().map(|attempt| &attempt["unit"]).collect();
    assert_eq!(units, [0, 1, 2, 3]);
    // Each begins before the first has ended.
    let together =
        "select to_jsonb(max(started_at) < min(started_at + latency_us * interval '1 microsecond'))
        from groundcrew.attempts";
    assert_eq!(desk.json(together).await, [json!(true)], "{attempts:?}");
    let judged = desk.json("select to_jsonb(g.judge_us) from groundcrew.gate_calls g").await;
    let longest = attempts.iter().filter_map(|attempt| attempt["latency_us"].as_i64()).max();
    assert_eq!(judged[0].as_i64(), longest);
}
