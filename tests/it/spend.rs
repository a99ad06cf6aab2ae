//! Caps hold across a fleet.

use std::time::Duration;

use audit::spend::{Caps, OverCap};
use testkit::material::{all_grounded, trace};
use testkit::{PATIENCE, System, wait_until_equal};
use worker::{Lanes, SpendSettings};

async fn count(system: &System, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&system.database.pool).await.unwrap()
}

const ENDED: &str = "select count(*) from groundcrew.audits where disposition is not null";
const OVER: &str = "select count(*) from groundcrew.audits where disposition = 'over_budget'";
const USED: &str = "select coalesce(sum(calls), 0)::int8 from groundcrew.usage";
const ATTEMPTS: &str = "select count(*) from groundcrew.attempts";

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_hold_a_cap_within_one_block_each() {
    const CAP: i64 = 100;
    const BLOCK: i64 = 10;
    let system = System::builder()
        .tuned(|tuning| {
            tuning.caps = Caps { calls: Some(100), ..Caps::default() };
            tuning.spend = SpendSettings { block_calls: 10, reservation: Duration::from_secs(60) };
        })
        .start()
        .await;
    for number in 0..140 {
        system.publish(&trace(&format!("t-{number}"))).await;
    }
    let (first, second) = (system.worker().await, system.worker().await);
    wait_until_equal("ended audits", PATIENCE, 140, async || count(&system, ENDED).await).await;

    let calls = i64::try_from(system.judge.total_calls().received).unwrap();
    println!("cap {CAP}, two workers with blocks of {BLOCK}: {calls} calls");
    assert!((CAP - 2 * BLOCK..=CAP + 2 * BLOCK).contains(&calls), "{calls} calls under a cap of {CAP}");
    assert_eq!(count(&system, USED).await, calls, "usage is what the judge was asked");
    assert_eq!(count(&system, ATTEMPTS).await, calls);
    assert_eq!(count(&system, OVER).await, 140 - calls);

    system.outbox_empty().await;
    let announced = system.announced().await;
    let alerts: Vec<_> = announced.iter().filter(|seen| seen.routing_key.starts_with("alert.")).collect();
    assert_eq!(alerts.len(), 1, "one alert, and not one for each audit");
    assert_eq!(alerts[0].routing_key, "alert.over_budget");
    assert_eq!(alerts[0].body["limit"], "calls");
    assert_eq!(count(&system, "select count(*) from groundcrew.review_items").await, 0);
    first.stop(PATIENCE).await;
    second.stop(PATIENCE).await;
    let held = "select count(*) from groundcrew.reservations where expires_at > now()";
    assert_eq!(count(&system, held).await, 0, "workers that stop give back what they hold");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_worker_had_reserved_is_used_by_others_and_the_rest_waits_for_the_day() {
    let system = System::builder()
        .tuned(|tuning| {
            tuning.caps = Caps { calls: Some(30), ..Caps::default() };
            tuning.over_cap = OverCap::Defer;
            tuning.judge_total_timeout = Duration::from_secs(3);
            tuning.judge_read_timeout = Duration::from_secs(3);
            tuning.spend = SpendSettings { block_calls: 20, reservation: Duration::from_secs(6) };
        })
        .start()
        .await;
    let killed = system.worker_process();
    for number in 0..5 {
        system.publish(&trace(&format!("a-{number}"))).await;
    }
    wait_until_equal("ended audits", PATIENCE, 5, async || count(&system, ENDED).await).await;
    killed.kill();

    let worker = system.worker().await;
    for number in 0..40 {
        system.publish(&trace(&format!("b-{number}"))).await;
    }
    // 5 made, 15 reserved by the dead: without its expiry there would be no more than 15.
    wait_until_equal("stored calls", PATIENCE, 30, async || count(&system, USED).await).await;
    // Those that wait come round at least once more, and are put off again.
    wait_until_equal("an empty lane", PATIENCE, Some(0), async || {
        system.counts(queue::Lane::Normal.queue()).await.map(|counts| counts.ready)
    })
    .await;
    assert_eq!((count(&system, USED).await, count(&system, OVER).await), (30, 0));
    assert_eq!(count(&system, ATTEMPTS).await, 30);
    worker.stop(PATIENCE).await;
}

/// Deliveries that the broker had taken back stayed in work and asked the judge as well; only one of the replies counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_lost_begins_no_call_and_what_was_asked_is_counted() {
    const TRACES: usize = 8;
    let system = System::builder()
        .judged(|judge| {
            judge.canned_default = Some(all_grounded().to_string());
            judge.latency_ms = 1_500;
        })
        .tuned(|tuning| {
            tuning.concurrency = 1;
            tuning.caps = Caps { calls: Some(12), ..Caps::default() };
        })
        .start()
        .await;
    // All of them are in work, and wait for the judge's one place.
    let worker =
        system.worker_with(|settings| settings.lanes = Lanes { urgent: 0, normal: 8, bulk: 0 }).await;
    for number in 0..TRACES {
        system.publish(&trace(&format!("t-{number}"))).await;
    }
    for asked in [1, 3] {
        wait_until_equal("a call in flight", PATIENCE, true, async || {
            system.judge.total_calls().received >= asked
        })
        .await;
        system.to_broker.cut();
        system.consumers(1).await;
    }
    wait_until_equal("ended audits", PATIENCE, 8, async || count(&system, ENDED).await).await;
    assert_eq!(count(&system, OVER).await, 0);
    let calls = i64::try_from(system.judge.total_calls().received).unwrap();
    // One of each of the two losses had begun, and is asked about again by the next holder.
    assert!((8..=10).contains(&calls), "{calls} calls for 8 traces");
    wait_until_equal("usage is what the judge was asked", PATIENCE, calls, async || {
        count(&system, USED).await
    })
    .await;
    worker.stop(PATIENCE).await;
}
