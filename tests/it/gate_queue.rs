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
