//! The gate over RabbitMQ: a trace with a reply queue is told what to do.

use audit::gate::WhenUngrounded;
use queue::Envelope;
use serde_json::{Value, json};
use testkit::material::TraceBuilder;
use testkit::{PATIENCE, System, wait_for};

use crate::gate::{call, verdicts};

const REPLIES: &str = "answers.mill";

/// The same question as over HTTP, as a trace.
fn asked(trace_id: &str, session: Option<&str>) -> TraceBuilder {
    let call = call(trace_id);
    let mut chunks = call["evidence"].clone();
    for (chunk, rank) in chunks.as_array_mut().unwrap().iter_mut().zip(1..) {
        chunk["rank"] = json!(rank);
    }
    testkit::material::trace(trace_id)
        .set("/project", "mill")
        .set("/answer", call["answer"].clone())
        .set("/retrieval/chunks", chunks)
        .set("/audits", json!(["gate"]))
        .set("/metadata", session.map_or(Value::Null, |session| json!({ "gate_session": session })))
}

async fn reply(system: &System, trace_id: &str) -> Value {
    let what = format!("the reply about {trace_id}");
    wait_for(&what, PATIENCE, async || {
        let seen = system.vhost.peek(REPLIES).await;
        seen.into_iter().map(|seen| seen.body).find(|body| body["trace_id"] == trace_id)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_names_a_reply_queue_is_told_what_to_do_and_a_session_ends_with_people() {
    let ids = ["q1", "q2", "q3"];
    let mut builder = System::builder().tuned(|tuning| tuning.reply_to_prefixes = vec!["answers.".into()]);
    for id in ids.iter().chain(&["plain"]) {
        builder = builder.replies(id, [verdicts(false, "HIGH")]);
    }
    let system = builder.start().await;
    system.vhost.tap(REPLIES, queue::exchange::RESULTS, "nothing.at.all").await;
    let _worker = system
        .worker_with(|settings| settings.default_project.gate.ungrounded = WhenUngrounded::Regenerate)
        .await;
    let mut actions = Vec::new();
    for id in ids {
        let envelope = Envelope { reply_to: Some(REPLIES.into()), ..Envelope::default() };
        system.publish_with(&asked(id, Some("talk")), envelope).await;
        let said = reply(&system, id).await;
        assert_eq!(said["session"], "talk");
        assert_eq!(said["instruction"].is_string(), said["action"] == "regenerate");
        actions.push(said["action"].clone());
    }
    assert_eq!(actions, ["regenerate", "regenerate", "block"]);
    assert!(system.review_items("q1").await.is_empty());
    assert_eq!(system.review_items("q3").await.len(), 1);
    let calls = system.json("select to_jsonb(g) from groundcrew.gate_calls g order by received_at").await;
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| call["channel"] == "queue" && call["outcome"] == "judged"), "{calls:?}");

    // A gate that nobody waits for is an audit like any other: people see what it found.
    system.publish(&asked("plain", Some("talk"))).await;
    let audit = system.ended("plain").await;
    assert_eq!((&audit["disposition"], &audit["decision"]), (&json!("escalated"), &json!("block")));
    assert_eq!(system.json("select to_jsonb(g.id) from groundcrew.gate_calls g").await.len(), 3);
}

async fn asking(system: &System, trace: &TraceBuilder, correlation_id: &str) {
    let envelope = Envelope {
        reply_to: Some(REPLIES.into()),
        correlation_id: Some(correlation_id.into()),
        ..Envelope::default()
    };
    system.publish_with(trace, envelope).await;
}

/// The reply with this correlation id.
async fn answered(system: &System, correlation_id: &str) -> Value {
    let what = format!("the reply to {correlation_id}");
    wait_for(&what, PATIENCE, async || {
        let mut seen = system.vhost.peek(REPLIES).await.into_iter();
        seen.find(|seen| seen.correlation_id.as_deref() == Some(correlation_id)).map(|seen| seen.body)
    })
    .await
}

async fn system(replies: &[(&str, practice::CannedReply)]) -> System {
    let mut builder = System::builder().tuned(|tuning| tuning.reply_to_prefixes = vec!["answers.".into()]);
    for (id, reply) in replies {
        builder = builder.replies(id, [reply.clone()]);
    }
    let system = builder.start().await;
    system.vhost.tap(REPLIES, queue::exchange::RESULTS, "nothing.at.all").await;
    system
}

#[tokio::test(flavor = "multi_thread")]
async fn who_publishes_the_same_trace_again_is_answered_from_what_is_stored() {
    let slow = practice::CannedReply { delay_ms: 300, ..verdicts(false, "HIGH") };
    let system = system(&[("dupe", slow)]).await;
    let _worker = system
        .worker_with(|settings| settings.default_project.gate.ungrounded = WhenUngrounded::Regenerate)
        .await;
    let gate = asked("dupe", Some("talk"));
    // While it is in work, and afterwards.
    asking(&system, &gate, "d1").await;
    asking(&system, &gate, "d2").await;
    let first = answered(&system, "d1").await;
    assert_eq!((&first["action"], &first["outcome"]), (&json!("regenerate"), &json!("judged")));
    assert_eq!(answered(&system, "d2").await, first);
    asking(&system, &gate, "d3").await;
    assert_eq!(answered(&system, "d3").await, first);
    // The very same question, as of a program that lost its reply.
    asking(&system, &gate, "d3").await;
    wait_for("the fourth reply", PATIENCE, async || {
        (system.vhost.peek(REPLIES).await.len() >= 4).then_some(())
    })
    .await;
    let calls = system.json("select to_jsonb(g) from groundcrew.gate_calls g").await;
    assert_eq!(calls.len(), 1, "a copy is no further call, and uses up no regeneration");

    // Any other kind, also where the messages were removed by age and where nobody had asked before.
    let plain = testkit::material::trace("plain");
    system.publish(&plain).await;
    system.ended("plain").await;
    asking(&system, &plain, "p1").await;
    let stored = answered(&system, "p1").await;
    assert_eq!((&stored["kind"], &stored["trace_id"]), (&json!("faithfulness"), &json!("plain")));
    system.outbox_empty().await;
    sqlx::query("delete from groundcrew.outbox").execute(&system.database.pool).await.unwrap();
    asking(&system, &plain, "p2").await;
    let rebuilt = answered(&system, "p2").await;
    for field in ["schema", "event", "audit_id", "disposition", "decision", "claims", "prompt_version"] {
        assert_eq!(rebuilt[field], stored[field], "{field}");
    }
    assert_eq!(rebuilt["score"].as_f64(), stored["score"].as_f64());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_nobody_waited_for_tells_who_asks_later_what_its_decision_says() {
    let system = system(&[("late", verdicts(false, "HIGH"))]).await;
    let _worker = system.worker().await;
    let gate = asked("late", None);
    system.publish(&gate).await;
    system.ended("late").await;
    asking(&system, &gate, "later").await;
    let said = answered(&system, "later").await;
    assert_eq!(
        (&said["verdict"], &said["action"], &said["outcome"]),
        (&json!("ungrounded"), &json!("block"), &json!("judged"))
    );
    let calls = system.json("select to_jsonb(g) from groundcrew.gate_calls g").await;
    assert_eq!((calls.len(), &calls[0]["audit_id"]), (1, &said["audit_id"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_over_the_queue_that_is_not_judged_has_a_verdict_an_action_and_a_row() {
    let system = system(&[]).await;
    let _worker = system.worker().await;
    let bare = asked("bare", None).set("/retrieval", Value::Null);
    let poem = asked("poem", None).set("/intent", "creative");
    asking(&system, &bare, "incomplete").await;
    asking(&system, &poem, "not_applicable").await;
    for outcome in ["incomplete", "not_applicable"] {
        let said = answered(&system, outcome).await;
        assert_eq!(
            (&said["verdict"], &said["action"], &said["outcome"], &said["disposition"]),
            (&json!("unknown"), &json!("block"), &json!(outcome), &json!(outcome))
        );
    }
    let calls = system.json("select to_jsonb(g) from groundcrew.gate_calls g").await;
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call["verdict"] == "unknown" && call["action"] == "block"), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_session_that_is_no_name_is_refused() {
    let system = system(&[]).await;
    let _worker = system.worker().await;
    let sessions = [json!(5), json!("x".repeat(500)), json!("a\0b"), json!(" "), json!(["s"])];
    for (at, session) in sessions.iter().enumerate() {
        let trace = asked(&format!("s{at}"), None).set("/metadata", json!({ "gate_session": session }));
        asking(&system, &trace, &format!("c{at}")).await;
        let said = answered(&system, &format!("c{at}")).await;
        assert_eq!((&said["outcome"], &said["action"]), (&json!("incomplete"), &json!("block")), "{said}");
        assert_eq!(said["trace_problems"][0]["path"], "$.metadata.gate_session", "{said}");
    }
    assert_eq!(system.judge.total_calls().received, 0);
    // Put right it is judged; the session is no part of what the answer is about.
    asking(&system, &asked("s0", Some("talk")), "right").await;
    let said = answered(&system, "right").await;
    assert_eq!((&said["session"], &said["generation"]), (&json!("talk"), &json!(1)), "{said}");
}
