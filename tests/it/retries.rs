//! What follows a reply that cannot be used, and what is kept of it.

use practice::{CannedReply, Fault};
use serde_json::{Value, json};
use testkit::System;
use testkit::material::{all_grounded, fabricated_quote, ferry_claims, reply, trace};

fn says(content: impl Into<Value>) -> CannedReply {
    CannedReply::content(content)
}

/// Class, remedy and number of each attempt.
fn story(attempts: &[Value]) -> Vec<(&str, Option<&str>, i64)> {
    attempts
        .iter()
        .map(|attempt| {
            let class = attempt["class"].as_str().unwrap_or_default();
            (class, attempt["remedy"].as_str(), attempt["number"].as_i64().unwrap_or_default())
        })
        .collect()
}

/// The user message of each attempt's stored request.
async fn questions(system: &System, trace_id: &str) -> Vec<String> {
    let sql = "select t.request from groundcrew.attempts t join groundcrew.audits a on a.id = t.audit_id
               where a.trace_id = $1 order by t.unit, t.number";
    let requests: Vec<Vec<u8>> =
        sqlx::query_scalar(sql).bind(trace_id).fetch_all(&system.database.pool).await.unwrap();
    requests
        .iter()
        .map(|packed| {
            let request: Value =
                serde_json::from_slice(&zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
            let messages = request["messages"].as_array().unwrap();
            assert_eq!(request["model"], practice::MODEL);
            assert_eq!(messages[0]["role"], "system");
            messages[1]["content"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_unreadable_reply_the_judge_is_asked_more_strictly() {
    let system = System::builder().replies("t", [says("not JSON"), says(all_grounded())]).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;

    let audit = system.ended("t").await;
    assert_eq!(audit["disposition"], "passed");
    assert_eq!((&audit["attempts_total"], &audit["replies_total"]), (&json!(2), &json!(2)));
    let attempts = system.attempts("t").await;
    assert_eq!(story(&attempts), [("format", Some("strengthen"), 1), ("accepted", None, 2)]);
    assert_eq!(attempts[0]["problems"][0]["code"], "not_json");
    assert_eq!(attempts[1]["problems"], json!([]));

    let questions = questions(&system, "t").await;
    let stronger =
        questions[1].strip_prefix(questions[0].as_str()).expect("the second question adds to the first");
    assert!(stronger.trim().len() > 100, "a stronger constraint: {stronger:?}");
    assert!(stronger.contains("not_json at $"), "it says what was wrong: {stronger:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_inconsistent_reply_the_judge_is_asked_more_strictly() {
    let system =
        System::builder().replies("t", [says(fabricated_quote()), says(all_grounded())]).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;

    assert_eq!(system.ended("t").await["disposition"], "passed");
    let attempts = system.attempts("t").await;
    assert_eq!(story(&attempts), [("content", Some("strengthen"), 1), ("accepted", None, 2)]);
    assert_eq!(attempts[0]["problems"][0]["code"], "fabricated_quote");
    let questions = questions(&system, "t").await;
    assert!(questions[1].contains("fabricated_quote at $"), "{}", questions[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_classes_share_one_further_call() {
    let system = System::builder()
        .replies("format-first", [says("not JSON"), says(fabricated_quote()), says(all_grounded())])
        .replies("content-first", [says(fabricated_quote()), says("not JSON"), says(all_grounded())])
        .start()
        .await;
    let _worker = system.worker().await;
    for id in ["format-first", "content-first"] {
        system.publish(&trace(id)).await;
    }

    let audit = system.ended("format-first").await;
    assert_eq!((&audit["disposition"], &audit["decision"]), (&json!("inconsistent"), &json!("hold")));
    let attempts = system.attempts("format-first").await;
    assert_eq!(story(&attempts), [("format", Some("strengthen"), 1), ("content", None, 2)]);

    let audit = system.ended("content-first").await;
    assert_eq!((&audit["disposition"], &audit["decision"]), (&json!("unreadable"), &json!("hold")));
    let attempts = system.attempts("content-first").await;
    assert_eq!(story(&attempts), [("content", Some("strengthen"), 1), ("format", None, 2)]);
    for id in ["format-first", "content-first"] {
        assert_eq!(system.judge.calls(id).received, 2, "calls about {id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_only_has_an_extra_key_is_accepted() {
    let mut odd = all_grounded();
    odd["mood"] = json!("cheerful");
    let fenced = CannedReply { fault: Some(Fault::Fenced), ..says(all_grounded()) };
    let system = System::builder().replies("extra", [says(odd)]).replies("fenced", [fenced]).start().await;
    let _worker = system.worker().await;
    for id in ["extra", "fenced"] {
        system.publish(&trace(id)).await;
        let audit = system.ended(id).await;
        assert_eq!(audit["disposition"], "passed", "{id}: {audit}");
        assert_ne!(audit["notes"], json!([]), "{id} is noted");
        assert_eq!(system.judge.calls(id).received, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_is_kept_whole_whatever_came_back() {
    let spoiled = |fault| CannedReply { fault: Some(fault), ..says(all_grounded()) };
    let truncated = CannedReply {
        finish_reason: Some("length".into()),
        ..says("{\"faithfulness_score\": 1.0, \"total_cla")
    };
    let system = System::builder()
        .replies("nul", [spoiled(Fault::Nul)])
        .replies("broken", [spoiled(Fault::BrokenUtf8)])
        .replies("cut", [truncated, says(all_grounded())])
        .tuned(|tuning| tuning.price = Some((2.0, 8.0, "EUR".into())))
        .start()
        .await;
    let _worker = system.worker().await;
    for id in ["nul", "broken", "cut"] {
        system.publish(&trace(id)).await;
        assert_eq!(system.ended(id).await["disposition"], "passed", "{id}");
    }

    let raw = system.raw_replies("nul").await.pop().flatten().expect("the bytes of the reply");
    assert!(String::from_utf8(raw).unwrap().contains("u0000"), "the NUL is in the stored bytes");
    let raw = system.raw_replies("broken").await.pop().flatten().expect("the bytes of the reply");
    assert!(String::from_utf8(raw).is_err(), "bytes that are no UTF-8 are kept as they came");

    let attempts = system.attempts("cut").await;
    assert_eq!(story(&attempts), [("format", Some("strengthen"), 1), ("accepted", None, 2)]);
    assert_eq!(attempts[0]["problems"][0]["code"], "truncated");
    assert_eq!(attempts[0]["finish_reason"], "length");
    assert_eq!(attempts[0]["content"], "{\"faithfulness_score\": 1.0, \"total_cla");
    let audit = system.ended("cut").await;
    for attempt in system.attempts("nul").await.iter().chain(&attempts) {
        assert_eq!(attempt["http_status"], json!(200));
        assert_eq!(
            (&attempt["model"], &attempt["model_answered"]),
            (&json!(practice::MODEL), &json!(practice::MODEL))
        );
        assert_eq!(attempt["prompt_version"], audit["prompt_version"]);
        assert_eq!(attempt["judge"], audit["judge"]);
        for positive in ["latency_us", "prompt_tokens", "completion_tokens", "cost_micros", "request_bytes"] {
            assert!(attempt[positive].as_i64().unwrap_or(0) > 0, "{positive}: {attempt}");
        }
        assert_eq!(attempt["currency"], "EUR");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_without_an_end_is_read_only_so_far() {
    let huge = CannedReply { fault: Some(Fault::Huge), ..says(all_grounded()) };
    let system = System::builder().replies("t", [huge, says(all_grounded())]).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;

    assert_eq!(system.ended("t").await["disposition"], "passed");
    let attempts = system.attempts("t").await;
    assert_eq!(story(&attempts), [("format", Some("strengthen"), 1), ("accepted", None, 2)]);
    assert_eq!(attempts[0]["problems"][0]["code"], "truncated");
    let kept = system.raw_replies("t").await[0].as_ref().map(Vec::len);
    assert_eq!(kept, Some(1 << 20), "the first mebibyte of ten is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_the_judge_finds_too_long_is_asked_about_in_smaller_units() {
    let too_long =
        CannedReply { status: Some(400), ..says("This exceeds the maximum context length of 4096 tokens.") };
    let claims = ferry_claims();
    let system = System::builder()
        .replies("t", [too_long.clone(), says(reply(&claims[..2])), says(reply(&claims[2..]))])
        .replies("short", [too_long])
        .tuned(|tuning| tuning.max_unit_chars = 200)
        .start()
        .await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;
    system.publish(&trace("short").set("/answer", "Dogs must stay on the outer deck.")).await;

    let audit = system.ended("t").await;
    assert_eq!((&audit["disposition"], &audit["claims_total"]), (&json!("passed"), &json!(5)));
    let attempts = system.attempts("t").await;
    let classes: Vec<_> = attempts.iter().map(|attempt| &attempt["class"]).collect();
    assert_eq!(classes, ["context_too_long", "accepted", "accepted"]);
    // An answer that cannot be cut any further is for people.
    let audit = system.ended("short").await;
    assert_eq!((&audit["disposition"], &audit["decision"]), (&json!("unreadable"), &json!("hold")));
    assert_eq!(system.judge.calls("short").received, 1);
    assert_eq!(system.review_items("short").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_is_not_known_is_null_and_not_zero() {
    let system = System::builder().replies("t", [says(all_grounded())]).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;
    system.ended("t").await;
    let attempts = system.attempts("t").await;
    assert_eq!((&attempts[0]["cost_micros"], &attempts[0]["currency"]), (&Value::Null, &Value::Null));
}
