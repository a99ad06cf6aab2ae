//! The broker and the database go away and come back while a worker runs.

use practice::CannedReply;
use queue::{Lane, State};
use serde_json::json;
use testkit::material::{WRONG_FARE, all_grounded, trace, wrong_fare};
use testkit::{Checker, Direction, Fate, PATIENCE, System, wait_for, wait_until_equal};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_goes_on_after_the_database_was_away() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .start()
        .await;
    let _worker = system.worker().await;
    system.publish(&trace("before")).await;
    system.ended("before").await;
    system.to_database.refuse();
    system.publish(&trace("meanwhile")).await;
    system.taken(Lane::Normal).await;
    assert_eq!(
        system.judge.calls("meanwhile").received,
        0,
        "nobody is asked before it is known what is known"
    );
    system.to_database.heal();
    assert_eq!(system.ended("meanwhile").await["disposition"], "passed");
    assert_eq!(system.judge.calls("meanwhile").received, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_was_paid_for_survives_an_outage_of_the_database() {
    let system = System::builder().replies("t", [CannedReply::content(all_grounded())]).start().await;
    let _worker = system.worker().await;
    system.to_judge.blackhole(Direction::ToClient);
    system.publish(&trace("t")).await;
    wait_until_equal("the call", PATIENCE, 1, async || system.judge.calls("t").received).await;
    system.to_database.refuse();
    system.to_judge.heal();
    wait_until_equal("the reply", PATIENCE, 1, async || system.judge.calls("t").answered).await;
    system.to_database.heal();
    assert_eq!(system.ended("t").await["disposition"], "passed");
    assert_eq!(system.judge.calls("t").received, 1, "the reply was kept in hand");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_to_the_broker_costs_a_redelivery_and_nothing_else() {
    const COUNT: usize = 16;
    let ids: Vec<String> = (0..COUNT).map(|at| format!("t-{at:02}")).collect();
    let builder = System::builder().judged(|judge| judge.latency_ms = 500);
    let builder = ids
        .iter()
        .fold(builder, |builder, id| builder.replies(id, [CannedReply::content(wrong_fare("critical"))]));
    let system = builder.start().await;
    let worker = system.worker().await;
    let mut checker = Checker::default();
    for id in &ids {
        checker.attempt(id, Fate::Audit);
        system.publish(&trace(id).saying(WRONG_FARE)).await;
        checker.confirm(id);
    }
    for cut in 1..=2_u64 {
        wait_for("calls in flight", PATIENCE, async || {
            (system.judge.total_calls().received >= 6 * cut).then_some(())
        })
        .await;
        system.to_broker.cut();
    }
    for id in &ids {
        let audit = system.ended(id).await;
        assert_eq!(
            (&audit["disposition"], &audit["duplicates"]),
            (&json!("escalated"), &json!(0)),
            "{audit}"
        );
    }
    system.consumers(1).await;
    system.taken(Lane::Normal).await;
    system.outbox_empty().await;
    worker.stop(PATIENCE).await;
    let findings = checker.check(&system, 2, 2 * u64::from(system.tuning.concurrency)).await;
    assert!(findings.violations().is_empty(), "{:#?}\n{findings}", findings.violations());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_falls_silent_is_noticed_and_left() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .tuned(|tuning| tuning.heartbeat_s = 1)
        .start()
        .await;
    let worker = system.worker().await;
    system.publish(&trace("before")).await;
    system.ended("before").await;
    for direction in [Direction::ToServer, Direction::ToClient] {
        system.to_broker.blackhole(direction);
    }
    wait_for("the worker to notice", PATIENCE, async || {
        (!matches!(worker.consuming.state(), State::Up)).then_some(())
    })
    .await;
    system.to_broker.cut();
    system.to_broker.heal();
    system.publish(&trace("after")).await;
    assert_eq!(system.ended("after").await["disposition"], "passed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_somebody_deleted_is_declared_again() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .start()
        .await;
    let _worker = system.worker().await;
    system.consumers(1).await;
    system.vhost.delete_queue(Lane::Normal.queue()).await;
    system.consumers(1).await;
    system.publish(&trace("t")).await;
    assert_eq!(system.ended("t").await["disposition"], "passed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_lanes_go_on_while_one_is_full_of_work() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .replies("slow", [CannedReply { delay_ms: 4_000, ..CannedReply::content(all_grounded()) }])
        .tuned(|tuning| tuning.concurrency = 2)
        .start()
        .await;
    let _worker = system.worker().await;
    system.publish(&trace("slow")).await;
    wait_until_equal("the slow call", PATIENCE, 1, async || system.judge.calls("slow").received).await;
    for at in 0..5 {
        let body = trace(&format!("bulk-{at}")).bytes();
        system.try_publish(Lane::Bulk, queue::Envelope::default(), body).await.unwrap();
    }
    system.try_publish(Lane::Urgent, queue::Envelope::default(), trace("urgent").bytes()).await.unwrap();
    assert_eq!(system.ended("urgent").await["disposition"], "passed");
    assert!(system.audits("slow").await.is_empty(), "the urgent one did not wait for the slow one");
    assert_eq!(system.ended("slow").await["disposition"], "passed");
}
