use practice::{Canned, Fault, Faults, Settings};
use serde_json::json;
use tokio::time::{Duration, Instant};

use crate::client::{ask, ask_raw, body_in, named, start, user_message};

fn canned(lines: &[serde_json::Value]) -> Canned {
    Canned::parse(&lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap()
}

#[tokio::test]
async fn canned_replies_come_in_order_and_the_last_repeats() {
    let replies = json!([
        { "content": "first" },
        { "content": { "a": 1 }, "finish_reason": "length" },
        { "content": "sorry", "status": 503 },
        { "fault": "status429_retry_after" },
        { "fault": "fenced" },
        { "practice": true, "delay_ms": 50 },
    ]);
    let settings = Settings {
        canned: canned(&[json!({ "trace_id": "t/1", "replies": replies })]),
        ..Settings::default()
    };
    let server = start(settings).await;
    assert_eq!(ask(&server, "t%2F1").await.content(), "first");
    let second = ask(&server, "t%2F1").await;
    assert_eq!(
        (second.content().as_str(), &second.choice()["finish_reason"]),
        ("{\"a\":1}", &json!("length"))
    );
    let third = ask(&server, "t%2F1").await;
    assert_eq!((third.status, &third.json()["error"]["message"]), (503, &json!("sorry")));
    let fourth = ask(&server, "t%2F1").await;
    assert_eq!((fourth.status, fourth.header("retry-after")), (429, Some("1")));
    assert!(ask(&server, "t%2F1").await.content().starts_with("```json\n{"));
    for _ in 0..2 {
        let started = Instant::now();
        assert_eq!(ask(&server, "t%2F1").await.report()["total_claims"], 4);
        assert!(Duration::from_millis(50) <= started.elapsed());
    }
    assert_eq!(ask(&server, "other").await.report()["total_claims"], 4);
}

#[tokio::test]
async fn faults_by_rate_leave_canned_replies_alone() {
    let settings = Settings {
        faults: Faults::always(Fault::Status500),
        canned: canned(&[json!({ "trace_id": "t", "replies": [{ "content": "fine" }] })]),
        canned_default: Some("x".into()),
        ..Settings::default()
    };
    let server = start(settings).await;
    assert_eq!(ask(&server, "t").await.content(), "fine");
    assert_eq!(ask(&server, "u").await.status, 500);
}

#[tokio::test]
async fn the_default_content_needs_no_question() {
    let server = start(Settings { canned_default: Some("{}".into()), ..Settings::default() }).await;
    assert_eq!(ask_raw(&server, "", "whatever").await.content(), "{}");
}

#[tokio::test]
async fn a_canned_reply_can_be_spoiled_whatever_its_kind() {
    let honest = start(Settings::default()).await;
    for kind in audit::kinds::ALL.iter().map(|spec| spec.kind) {
        let request = body_in(&named(kind.as_str()), "You audit.", &user_message());
        let report = ask_raw(&honest, "t", &request).await.report();
        let spoil = |fault: &str| json!({ "content": report, "fault": fault });
        let replies = json!([spoil("missing_quote"), spoil("invented_claim")]);
        let canned = canned(&[json!({ "trace_id": "t", "replies": replies })]);
        let server = start(Settings { canned, ..Settings::default() }).await;
        let unquoted = ask_raw(&server, "t", &request).await;
        assert_eq!(unquoted.header("groundcrew-practice-fault"), Some("missing_quote"), "{kind}");
        assert_ne!(unquoted.report(), report);
        assert!(ask_raw(&server, "t", &request).await.content().contains("48151"), "{kind}");
    }
}

#[tokio::test]
async fn what_is_no_reply_cannot_be_spoiled_as_one() {
    let settings = Settings {
        canned_default: Some("{\"claims\": 1}".into()),
        faults: Faults::always(Fault::BadEnum),
        ..Settings::default()
    };
    let raw = ask(&start(settings).await, "t").await;
    assert_eq!(raw.header("groundcrew-practice-fault"), None);
    assert_eq!(raw.content(), "{\"claims\": 1}");
}
