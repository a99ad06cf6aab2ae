//! What the fleet does while the judge is away or slow, while an operator has paused it, and what it says about itself.

use std::time::Duration;

use practice::{CannedReply, Fault};
use queue::Lane;
use serde_json::{Value, json};
use testkit::material::{all_grounded, trace};
use testkit::{PATIENCE, System, ask, wait_for, wait_until_equal};

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("t-{at}")).collect()
}

async fn ready(system: &System) -> u32 {
    system.counts(Lane::Normal.queue()).await.map_or(0, |counts| counts.ready)
}

async fn attempts(system: &System) -> usize {
    system.strings("select audit_id::text from groundcrew.attempts").await.len()
}

// --- the breaker ---------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_stays_away_costs_one_delivery_per_probe_and_the_rest_stays_in_the_queue() {
    const WAITING: usize = 40;
    const PROBES: usize = 5;
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .tuned(|tuning| {
            tuning.concurrency = 8;
            tuning.limits.breaker_failures = 3;
            tuning.limits.breaker_open_ms = 400;
            tuning.retry_tiers = [60, 120].map(Duration::from_secs).to_vec();
        })
        .start()
        .await;
    let tier = queue::tier_name(system.tuning.retry_tiers[0]);
    system.vhost.tap("test.parked", &tier, "").await;
    let worker = system.worker().await;
    system.consumers(1).await;
    system.to_judge.refuse();
    system.publish(&trace("first")).await;
    wait_for("an open breaker", PATIENCE, async || worker.judge.is_open().then_some(())).await;
    for id in ids(WAITING) {
        system.publish(&trace(&id)).await;
    }
    let opened = attempts(&system).await;
    wait_for("probes", PATIENCE, async || (attempts(&system).await >= opened + PROBES).then_some(())).await;

    // Each probe takes one delivery, fails, and parks it; while its outcome is awaited nothing else is taken.
    let (waiting, made) = (ready(&system).await, attempts(&system).await);
    let gone = WAITING - usize::try_from(waiting).unwrap();
    assert!(gone <= made - opened + 4, "{gone} of {WAITING} left the queue for {} probes", made - opened);
    let parked = system.vhost.peek("test.parked").await;
    assert!(parked.iter().all(|seen| seen.headers["groundcrew-tier"].as_i64() <= Some(1)), "{parked:?}");
    let advanced = parked.iter().filter(|seen| seen.headers["groundcrew-tier"] == json!(1)).count();
    assert!(advanced <= 1, "only the one that opened the breaker had its tries: {parked:?}");

    system.to_judge.heal();
    wait_until_equal("an empty lane", PATIENCE, 0, async || ready(&system).await).await;
    wait_for("a closed breaker", PATIENCE, async || (!worker.judge.is_open()).then_some(())).await;
    let passed = async || {
        system.strings("select trace_id from groundcrew.audits where disposition = 'passed'").await.len()
    };
    let at_least = WAITING - gone;
    wait_for("what stayed in the queue", PATIENCE, async || (passed().await >= at_least).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_slow_probe_is_on_its_way_nothing_else_is_parked() {
    let broken = || CannedReply::fault(Fault::Status500);
    let system = System::builder()
        .replies("first", [broken(), broken(), broken(), CannedReply::content(all_grounded())])
        .judged(|judge| {
            judge.canned_default = Some(all_grounded().to_string());
            judge.latency_ms = 700;
        })
        .tuned(|tuning| {
            tuning.limits.breaker_failures = 3;
            tuning.limits.breaker_open_ms = 500;
            tuning.retry_tiers = vec![Duration::from_millis(900)];
        })
        .start()
        .await;
    let tier = queue::tier_name(system.tuning.retry_tiers[0]);
    system.vhost.tap("test.parked", &tier, "").await;
    let worker = system.worker().await;
    system.consumers(1).await;
    system.publish(&trace("first")).await;
    wait_for("an open breaker", PATIENCE, async || worker.judge.is_open().then_some(())).await;
    for id in ids(20) {
        system.publish(&trace(&id)).await;
    }
    for id in ids(20).iter().map(String::as_str).chain(["first"]) {
        assert_eq!(system.ended(id).await["disposition"], "passed", "{id}");
    }
    let parked = system.vhost.peek("test.parked").await;
    let is_first = |seen: &&testkit::Seen| seen.body["trace_id"] == "first";
    assert_eq!(parked.iter().filter(is_first).count(), parked.len(), "{parked:?}");
}

// --- concurrency ---------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn concurrency_is_halved_by_throttles_and_comes_back_with_use() {
    let busy = || CannedReply::fault(Fault::Status429);
    let mut builder = System::builder()
        .judged(|judge| {
            judge.canned_default = Some(all_grounded().to_string());
            judge.latency_ms = 200;
        })
        .tuned(|tuning| {
            tuning.concurrency = 16;
            tuning.limits.recover_after = 5;
            tuning.retry_tiers = vec![Duration::from_millis(100)];
        });
    let throttled: Vec<String> = (0..4).map(|at| format!("busy-{at}")).collect();
    for id in &throttled {
        builder = builder.replies(id, [busy(), CannedReply::content(all_grounded())]);
    }
    let system = builder.start().await;
    let worker = system.worker().await;
    let limiter = worker.judge.limiter();
    assert_eq!((limiter.limit(), limiter.max()), (16, 16));
    for id in &throttled {
        system.publish(&trace(id)).await;
        system.ended(id).await;
    }
    assert!(limiter.limit() <= 2, "four throttles one after the other: {}", limiter.limit());
    for id in ids(300) {
        system.publish(&trace(&id)).await;
    }
    wait_for("more calls at once", PATIENCE, async || (limiter.limit() >= 4).then_some(())).await;
}

// --- the operator --------------------------------------------------------------------------------

async fn status(system: &System) -> Value {
    let (code, printed) = system.program(&["queue", "status", "--json"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    serde_json::from_str(&printed).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_fleet_finishes_what_it_has_and_takes_nothing_until_it_is_resumed() {
    let system = System::builder()
        .judged(|judge| {
            judge.canned_default = Some(all_grounded().to_string());
            judge.latency_ms = 3_000;
        })
        .start()
        .await;
    let first = system.worker().await;
    let second = system.worker().await;
    system.consumers(2).await;
    system.publish(&trace("in-work")).await;
    wait_until_equal("a call", PATIENCE, 1, async || system.judge.total_calls().received).await;

    let (code, printed) = system.program(&["queue", "pause", "--reason", "the judge moves"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    system.consumers(0).await;
    assert_eq!(system.ended("in-work").await["disposition"], "passed");
    for id in ids(5) {
        system.publish(&trace(&id)).await;
    }
    // One that starts into the pause takes nothing either.
    let third = system.worker().await;
    let normal_of = |status: &Value| {
        let queues = status["queues"].as_array().unwrap();
        queues.iter().find(|queue| queue["queue"] == Lane::Normal.queue()).unwrap().clone()
    };
    let told = wait_for("three workers that say that they are paused and idle", PATIENCE, async || {
        let status = status(&system).await;
        let workers = status["workers"].as_array().unwrap();
        let paused = workers.iter().filter(|worker| worker["flow"] == "paused").count();
        (paused == 3 && normal_of(&status)["in_flight"] == json!(0)).then_some(status)
    })
    .await;
    assert_eq!(
        (&told["fleet"]["paused"], &told["fleet"]["reason"]),
        (&json!(true), &json!("the judge moves"))
    );
    let normal = normal_of(&told);
    assert_eq!((&normal["ready"], &normal["consumers"]), (&json!(5), &json!(0)));
    assert!(normal["oldest_at_most_s"].is_i64(), "{normal}");
    assert_eq!(system.judge.total_calls().received, 1);

    let (code, printed) = system.program(&["queue", "resume"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    for id in ids(5) {
        assert_eq!(system.ended(&id).await["disposition"], "passed", "{id}");
    }
    first.stop(PATIENCE).await;
    second.stop(PATIENCE).await;
    third.stop(PATIENCE).await;
    assert_eq!(status(&system).await["workers"], json!([]), "those that ended are gone from the list");
}

// --- health --------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn readiness_names_what_is_wrong_and_liveness_stays_true_through_it() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .tuned(|tuning| {
            tuning.limits.breaker_failures = 1;
            tuning.limits.breaker_open_ms = 60_000;
        })
        .start()
        .await;
    let worker =
        system.worker_with(|settings| settings.health_listen = Some("127.0.0.1:0".parse().unwrap())).await;
    let health = worker.health.unwrap();
    let readiness = async || -> Option<(u16, Vec<String>)> {
        let (status, body) = ask(health, "/readyz").await?;
        let body: Value = serde_json::from_str(&body).ok()?;
        let reasons = body["reasons"].as_array()?;
        Some((
            status,
            reasons.iter().filter_map(|reason| reason["what"].as_str().map(str::to_owned)).collect(),
        ))
    };
    let becomes = async |status: u16, reasons: &[&str]| {
        let reasons: Vec<String> = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        let what = format!("readiness {status} for {reasons:?}");
        wait_until_equal(&what, PATIENCE, Some((status, reasons)), async || readiness().await).await;
        let (alive, body) = ask(health, "/livez").await.unwrap();
        assert_eq!(alive, 200, "{body}");
    };
    becomes(200, &[]).await;
    system.publish(&trace("t")).await;
    system.ended("t").await;

    system.to_database.refuse();
    becomes(503, &["database"]).await;
    system.to_database.heal();
    becomes(200, &[]).await;

    system.to_broker.refuse();
    becomes(503, &["broker_consuming", "broker_publishing"]).await;
    system.to_broker.heal();
    becomes(200, &[]).await;

    system.program(&["queue", "pause"]).run().await;
    becomes(503, &["paused"]).await;
    system.program(&["queue", "resume"]).run().await;
    becomes(200, &[]).await;

    system.to_judge.refuse();
    system.publish(&trace("away")).await;
    becomes(503, &["judge"]).await;

    let (code, figures) = ask(health, "/metrics").await.unwrap();
    assert_eq!(code, 200);
    for line in [
        "groundcrew_audits_total{kind=\"faithfulness\",disposition=\"passed\"}",
        "groundcrew_deliveries_total{lane=\"normal\",outcome=\"acked\"}",
        "groundcrew_judge_calls_total{judge=\"practice\",outcome=\"answered\"}",
        "groundcrew_judge_call_seconds_bucket{judge=\"practice\",le=\"0.5\"}",
        "groundcrew_judge_breaker_open{judge=\"practice\"} 1",
        "groundcrew_ready 0",
        "groundcrew_up{service=\"database\"} 1",
    ] {
        assert!(figures.contains(line), "{line} is missing in:\n{figures}");
    }
    assert_eq!(ask(health, "/other").await.unwrap().0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_taken_is_refused_at_start() {
    let system = System::builder().start().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let worker = system.program(&["worker"]).set("GROUNDCREW_WORKER__HEALTH_LISTEN", address.clone());
    let (code, printed) = worker.run().await;
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("worker.health_listen") && printed.contains(&address), "{printed}");
}
