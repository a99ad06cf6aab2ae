//! A judge that cannot be reached, or asks to be left alone.

use std::time::Duration;

use chrono::{DateTime, Utc};
use practice::{CannedReply, Fault};
use queue::{Envelope, Lane};
use serde_json::{Value, json};
use testkit::material::{all_grounded, trace};
use testkit::{PATIENCE, Seen, System, wait_for, wait_until_equal};

fn fine() -> CannedReply {
    CannedReply::content(all_grounded())
}

fn classes(attempts: &[Value]) -> Vec<&str> {
    attempts.iter().filter_map(|attempt| attempt["class"].as_str()).collect()
}

fn numbers(attempts: &[Value]) -> Vec<i64> {
    attempts.iter().filter_map(|attempt| attempt["number"].as_i64()).collect()
}

/// Copies of what is parked, by tier.
async fn tap_tiers(system: &System) {
    for tier in &system.tuning.retry_tiers {
        let exchange = queue::tier_name(*tier);
        system.vhost.tap(&format!("test.{exchange}"), &exchange, "").await;
    }
}

async fn parked(system: &System, tier: usize) -> Vec<Seen> {
    system.vhost.peek(&format!("test.{}", queue::tier_name(system.tuning.retry_tiers[tier]))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_error_is_tried_again_at_once() {
    let broken = || CannedReply::fault(Fault::Status500);
    let system = System::builder().replies("t", [broken(), broken(), fine()]).start().await;
    tap_tiers(&system).await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;

    let audit = system.ended("t").await;
    assert_eq!(audit["disposition"], "passed");
    assert_eq!((&audit["attempts_total"], &audit["replies_total"]), (&json!(3), &json!(1)));
    let attempts = system.attempts("t").await;
    assert_eq!(classes(&attempts), ["transport", "transport", "accepted"]);
    assert_eq!(numbers(&attempts), [1, 2, 3]);
    assert_eq!(attempts[0]["http_status"], json!(500));
    assert!(
        system.raw_replies("t").await[0].as_ref().is_some_and(|body| !body.is_empty()),
        "the error's body is kept"
    );
    assert!(parked(&system, 0).await.is_empty(), "nothing had to be parked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_hangs_or_breaks_off_runs_into_the_time_out() {
    let fault = CannedReply::fault;
    let system = System::builder()
        .replies("hang", [fault(Fault::Hang), fine()])
        .replies("cut", [fault(Fault::CutBody), fine()])
        .replies("html", [fault(Fault::Html200), fine()])
        .replies("drip", [fault(Fault::SlowDrip), fine()])
        .tuned(|tuning| {
            tuning.judge_read_timeout = Duration::from_millis(700);
            tuning.judge_total_timeout = Duration::from_millis(900);
        })
        .start()
        .await;
    let _worker = system.worker().await;
    for id in ["hang", "cut", "html", "drip"] {
        system.publish(&trace(id)).await;
    }
    for id in ["hang", "cut", "html", "drip"] {
        assert_eq!(system.ended(id).await["disposition"], "passed", "{id}");
        let attempts = system.attempts(id).await;
        assert_eq!(classes(&attempts), ["transport", "accepted"], "{id}: {attempts:?}");
    }
    let hung = &system.attempts("hang").await[0];
    assert!(hung["latency_us"].as_i64().unwrap() >= 700_000, "{hung}");
    assert_eq!(hung["raw_reply"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_judge_is_down_a_trace_goes_from_delay_to_delay() {
    let system = System::builder()
        .replies("t", [fine()])
        .tuned(|tuning| {
            tuning.limits.breaker_failures = 1000;
            tuning.retry_tiers = [300, 600, 900].map(Duration::from_millis).to_vec();
        })
        .start()
        .await;
    tap_tiers(&system).await;
    system.to_judge.refuse();
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;

    // Three tries, the first delay, three more, the second delay, three more.
    wait_for("nine attempts", PATIENCE, async || (system.attempts("t").await.len() >= 9).then_some(())).await;
    let open = system.audits("t").await;
    assert_eq!(open.len(), 1);
    assert_eq!((&open[0]["disposition"], &open[0]["replies_total"]), (&Value::Null, &json!(0)));
    system.to_judge.heal();

    assert_eq!(system.ended("t").await["disposition"], "passed");
    let attempts = system.attempts("t").await;
    let (last, failed) = attempts.split_last().unwrap();
    assert_eq!(last["class"], "accepted");
    assert!(failed.iter().all(|attempt| attempt["class"] == "transport"), "{failed:?}");
    let count = i64::try_from(attempts.len()).unwrap();
    assert_eq!(numbers(&attempts), (1..=count).collect::<Vec<_>>());
    assert!(gap_ms(&attempts, 3) >= 300, "the first delay");
    assert!(gap_ms(&attempts, 6) >= 600, "the second delay");

    let (first, second) = (parked(&system, 0).await, parked(&system, 1).await);
    assert_eq!((first.len(), second.len()), (1, 1), "each delay once: {first:?} {second:?}");
    assert_eq!(first[0].headers["groundcrew-tier"], json!(1));
    assert_eq!(second[0].headers["groundcrew-tier"], json!(2));
    assert_eq!(first[0].routing_key, "normal", "it comes back to its own lane");
    assert_eq!(first[0].headers["groundcrew-first-seen"], second[0].headers["groundcrew-first-seen"]);
    assert_eq!(
        second[0].headers["x-death"],
        Value::Null,
        "what RabbitMQ would take for a cycle is taken out"
    );
}

/// Time between the starts of an attempt and the one before it.
fn gap_ms(attempts: &[Value], at: usize) -> i64 {
    let start =
        |attempt: &Value| -> DateTime<Utc> { attempt["started_at"].as_str().unwrap().parse().unwrap() };
    (start(&attempts[at]) - start(&attempts[at - 1])).num_milliseconds()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_is_too_old_ends_without_a_judge_and_pages_nobody() {
    let system = System::builder().replies("old", [CannedReply::fault(Fault::Status500)]).start().await;
    let _worker = system.worker().await;
    let envelope =
        Envelope { first_seen: Some(Utc::now() - chrono::Duration::hours(25)), ..Envelope::default() };
    system.publish_with(&trace("old"), envelope).await;

    let audit = system.ended("old").await;
    assert_eq!((&audit["disposition"], &audit["decision"]), (&json!("judge_unavailable"), &Value::Null));
    assert_eq!(classes(&system.attempts("old").await), ["transport"; 3]);
    assert!(system.review_items("old").await.is_empty());
    system.announcement("audit.judge_unavailable", "old").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_throttles_costs_no_try_and_no_longer_delay() {
    let busy = || CannedReply::fault(Fault::Status429);
    let system = System::builder()
        .replies("t", [busy(), busy(), busy(), busy(), fine()])
        .tuned(|tuning| tuning.retry_tiers = [200, 60_000].map(Duration::from_millis).to_vec())
        .start()
        .await;
    tap_tiers(&system).await;
    let worker = system.worker().await;
    system.publish(&trace("t")).await;

    let audit = system.ended("t").await;
    assert_eq!((&audit["disposition"], &audit["replies_total"]), (&json!("passed"), &json!(1)));
    let attempts = system.attempts("t").await;
    assert_eq!(classes(&attempts), ["throttle", "throttle", "throttle", "throttle", "accepted"]);
    assert_eq!(numbers(&attempts), [1, 2, 3, 4, 5]);
    let first = parked(&system, 0).await;
    assert_eq!(first.len(), 4, "parked each time in the shortest delay");
    assert!(first.iter().all(|seen| seen.headers["groundcrew-tier"] == json!(0)), "{first:?}");
    assert!(parked(&system, 1).await.is_empty());
    assert!(worker.judge.limiter().limit() < worker.judge.limiter().max(), "fewer calls at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_opens_the_breaker_for_as_long_as_the_judge_says() {
    let system = System::builder()
        .replies("t", [CannedReply::fault(Fault::Status429RetryAfter), fine()])
        .tuned(|tuning| tuning.retry_tiers = vec![Duration::from_millis(200)])
        .start()
        .await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;
    assert_eq!(system.ended("t").await["disposition"], "passed");
    let attempts = system.attempts("t").await;
    assert_eq!(classes(&attempts), ["throttle", "accepted"], "refusals of the breaker are no attempts");
    assert!(gap_ms(&attempts, 1) >= 900, "the judge asked for a second");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_breaker_is_open_nothing_is_consumed() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .tuned(|tuning| {
            tuning.limits.breaker_failures = 3;
            tuning.limits.breaker_open_ms = 3_000;
            tuning.retry_tiers = vec![Duration::from_millis(500)];
        })
        .start()
        .await;
    let worker = system.worker().await;
    system.consumers(1).await;
    system.to_judge.refuse();
    system.publish(&trace("first")).await;
    wait_for("an open breaker", PATIENCE, async || worker.judge.is_open().then_some(())).await;
    system.consumers(0).await;

    let ids: Vec<String> = (0..20).map(|at| format!("t-{at}")).collect();
    for id in &ids {
        system.publish(&trace(id)).await;
    }
    let waiting = async || system.counts(Lane::Normal.queue()).await.map_or(0, |counts| counts.ready);
    wait_until_equal("all of them in the queue", PATIENCE, true, async || waiting().await >= 20).await;
    for id in &ids {
        assert!(system.audits(id).await.is_empty(), "{id} was begun behind an open breaker");
    }
    system.to_judge.heal();
    for id in ids.iter().map(String::as_str).chain(["first"]) {
        assert_eq!(system.ended(id).await["disposition"], "passed", "{id}");
    }
    system.consumers(1).await;
    for id in &ids {
        assert_eq!(system.judge.calls(id).received, 1, "calls about {id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_opens_the_breaker_and_loses_nothing() {
    let system = System::builder()
        .replies("t", [CannedReply::fault(Fault::Status401), fine()])
        .tuned(|tuning| {
            tuning.limits.breaker_permanent_open_ms = 1_500;
            tuning.retry_tiers = [200, 60_000].map(Duration::from_millis).to_vec();
        })
        .start()
        .await;
    tap_tiers(&system).await;
    let worker = system.worker().await;
    system.publish(&trace("t")).await;
    wait_for("an open breaker", PATIENCE, async || worker.judge.is_open().then_some(())).await;

    let audit = system.ended("t").await;
    assert_eq!(audit["disposition"], "passed");
    let attempts = system.attempts("t").await;
    assert_eq!(classes(&attempts), ["permanent", "accepted"]);
    assert_eq!(attempts[0]["http_status"], json!(401));
    assert!(gap_ms(&attempts, 1) >= 1_400, "the breaker stayed open");
    assert!(!parked(&system, 0).await.is_empty());
    assert!(parked(&system, 1).await.is_empty(), "no longer delay");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_network_only_takes_longer() {
    let system = System::builder().replies("t", [fine()]).start().await;
    for relay in [&system.to_broker, &system.to_database, &system.to_judge] {
        relay.delay(Duration::from_millis(30));
    }
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;
    assert_eq!(system.ended("t").await["disposition"], "passed");
    assert_eq!(system.judge.calls("t").received, 1);
}
