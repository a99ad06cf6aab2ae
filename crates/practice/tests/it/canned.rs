use practice::{Canned, Fault, Faults, Settings};
use serde_json::json;
use tokio::time::{Duration, Instant};

use crate::client::{ask, ask_raw, start};

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
async fn a_canned_report_can_be_spoiled() {
    let server = start(Settings::default()).await;
    let report = ask(&server, "t").await.report();
    let reply = json!({ "content": report, "fault": "unknown_source" });
    let settings =
        Settings { canned: canned(&[json!({ "trace_id": "t", "replies": [reply] })]), ..Settings::default() };
    let server = start(settings).await;
    assert!(ask(&server, "t").await.content().contains("no-such-source-7731"));
}
