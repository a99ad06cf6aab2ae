//! How a worker stops, and how it starts when nothing answers yet.

use std::time::{Duration, Instant};

use practice::{CannedReply, Fault};
use queue::Lane;
use serde_json::json;
use testkit::material::{all_grounded, trace};
use testkit::{Database, PATIENCE, System, wait_for, wait_until_equal};

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_stops_at_once() {
    let system = System::builder().start().await;
    let mut worker = system.worker_process();
    system.consumers(1).await;
    let begun = Instant::now();
    worker.terminate();
    assert_eq!(worker.ended(PATIENCE).await.code(), Some(0), "{}", worker.log());
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}:\n{}", begun.elapsed(), worker.log());
    system.consumers(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_asked_to_stop_finishes_what_it_has_begun() {
    const COUNT: usize = 12;
    let system = System::builder()
        .judged(|judge| {
            judge.canned_default = Some(all_grounded().to_string());
            judge.latency_ms = 1_500;
        })
        .tuned(|tuning| tuning.concurrency = 6)
        .start()
        .await;
    let mut worker = system.worker_process();
    let ids: Vec<String> = (0..COUNT).map(|at| format!("t-{at}")).collect();
    for id in &ids {
        system.publish(&trace(id)).await;
    }
    wait_until_equal("six calls in flight", PATIENCE, 6, async || system.judge.total_calls().received).await;
    worker.terminate();
    assert_eq!(worker.ended(system.tuning.drain_deadline).await.code(), Some(0), "{}", worker.log());

    let ended = system.strings("select trace_id from groundcrew.audits where disposition = 'passed'").await;
    assert!(ended.len() >= 6, "what was paid for is finished: {ended:?}\n{}", worker.log());
    assert!(ended.len() < COUNT, "nothing new is begun: {ended:?}");
    assert_eq!(
        system.judge.total_calls().received,
        system.judge.total_calls().answered,
        "no call was broken off"
    );
    let sent = system.strings("select routing_key from groundcrew.outbox where sent_at is not null").await;
    assert_eq!(sent.len(), ended.len(), "their events are published before the end");

    let _next = system.worker_process();
    for id in &ids {
        assert_eq!(system.ended(id).await["disposition"], "passed", "{id}");
        assert_eq!(system.judge.calls(id).received, 1, "{id} was asked about once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_finished_by_the_deadline_goes_back_to_the_broker() {
    let hang = CannedReply::fault(Fault::Hang);
    let system = System::builder()
        .replies("stuck", [hang, CannedReply::content(all_grounded())])
        .tuned(|tuning| tuning.drain_deadline = Duration::from_secs(1))
        .start()
        .await;
    let worker = system.worker().await;
    system.publish(&trace("stuck")).await;
    wait_until_equal("the call", PATIENCE, 1, async || system.judge.calls("stuck").received).await;
    worker.stop(Duration::from_secs(8)).await;

    assert!(system.audits("stuck").await.is_empty());
    wait_until_equal("the trace in its queue", PATIENCE, Some(1), async || {
        system.counts(Lane::Normal.queue()).await.map(|counts| counts.ready)
    })
    .await;
    let _next = system.worker().await;
    assert_eq!(system.ended("stuck").await["disposition"], "passed");
    let attempts = system.attempts("stuck").await;
    assert_eq!(attempts.len(), 1, "a call that we stopped ourselves is no attempt: {attempts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_runs_out_of_time_hands_back_and_ends_well() {
    let hang = || CannedReply::fault(Fault::Hang);
    let system = System::builder()
        .replies("stuck", [hang(), hang(), CannedReply::content(all_grounded())])
        .tuned(|tuning| {
            tuning.judge_read_timeout = Duration::from_secs(1);
            tuning.judge_total_timeout = Duration::from_secs(1);
            tuning.drain_deadline = Duration::from_millis(1_600);
        })
        .start()
        .await;
    let mut worker = system.worker_process();
    system.publish(&trace("stuck")).await;
    wait_until_equal("the call", PATIENCE, 1, async || system.judge.calls("stuck").received).await;
    let begun = Instant::now();
    worker.terminate();
    assert_eq!(worker.ended(PATIENCE).await.code(), Some(0), "{}", worker.log());
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}:\n{}", begun.elapsed(), worker.log());
    system.consumers(0).await;
    assert_eq!(system.waiting().await, [Lane::Normal.queue()], "it is back in its queue, and not parked");

    let _next = system.worker_process();
    assert_eq!(system.ended("stuck").await["disposition"], "passed");
    let attempts = system.attempts("stuck").await;
    let told: Vec<_> = attempts.iter().map(|attempt| (&attempt["class"], &attempt["number"])).collect();
    // The first call ran into its time-out and is kept; the second was stopped by the worker itself.
    assert_eq!(told, [(&json!("transport"), &json!(1)), (&json!("accepted"), &json!(2))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_a_worker_at_once_and_loses_nothing() {
    let system = System::builder()
        .replies("stuck", [CannedReply::fault(Fault::Hang), CannedReply::content(all_grounded())])
        .start()
        .await;
    let mut worker = system.worker_process();
    system.publish(&trace("stuck")).await;
    wait_until_equal("the call", PATIENCE, 1, async || system.judge.calls("stuck").received).await;
    worker.terminate();
    wait_for("a word about the stop", PATIENCE, async || worker.log().contains("stopping").then_some(()))
        .await;
    assert!(worker.is_running(), "it waits for the call");
    worker.terminate();
    assert_eq!(worker.ended(Duration::from_secs(5)).await.code(), Some(130), "{}", worker.log());
    let _next = system.worker_process();
    assert_eq!(system.ended("stuck").await["disposition"], "passed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_waits_for_services_that_do_not_answer_yet() {
    let system = System::builder().replies("t", [CannedReply::content(all_grounded())]).start().await;
    system.to_broker.refuse();
    system.to_database.refuse();
    system.publish(&trace("t")).await;
    let mut worker = system.program(&["worker", "--wait-for", "60"]).start();
    wait_for("a word about the wait", PATIENCE, async || worker.log().contains("waiting").then_some(()))
        .await;
    system.to_database.heal();
    assert!(worker.is_running(), "{}", worker.log());
    system.to_broker.heal();
    assert_eq!(system.ended("t").await["disposition"], "passed");
    worker.terminate();
    assert_eq!(worker.ended(PATIENCE).await.code(), Some(0), "{}", worker.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_shall_not_wait_says_what_does_not_answer() {
    let system = System::builder().start().await;
    system.to_broker.refuse();
    let (code, log) = system.program(&["worker", "--wait-for", "0"]).run().await;
    assert!(code.is_some_and(|code| code != 0), "{code:?}:\n{log}");
    let address = system.to_broker.address().to_string();
    assert!(log.contains(&address), "it names the broker at {address}:\n{log}");
    assert!(!log.contains("panicked"), "{log}");
    let password = testkit::environment::amqp_url();
    let password = password.split(':').nth(2).and_then(|rest| rest.split('@').next()).unwrap();
    assert!(!log.contains(password), "and no password:\n{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_asked_to_stop_while_it_waits_stops() {
    let system = System::builder().start().await;
    system.to_broker.refuse();
    let mut worker = system.program(&["worker", "--wait-for", "60"]).start();
    wait_for("a word about the wait", PATIENCE, async || worker.log().contains("waiting").then_some(()))
        .await;
    let begun = Instant::now();
    worker.terminate();
    worker.ended(PATIENCE).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{}", worker.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_waits_for_the_tables_too() {
    let system = System::builder().replies("t", [CannedReply::content(all_grounded())]).start().await;
    let empty = Database::create_empty().await;
    let worker = system.program(&["worker"]).set("DATABASE_URL", empty.url(None));
    let (code, log) = worker.run().await;
    assert!(code.is_some_and(|code| code != 0), "{code:?}:\n{log}");
    assert!(log.contains("groundcrew migrate"), "it says what is missing:\n{log}");

    let waiting = worker.argument("--wait-for").argument("60").start();
    wait_for("a word about the wait", PATIENCE, async || waiting.log().contains("waiting").then_some(()))
        .await;
    let migrate = system.program(&["migrate"]).set("DATABASE_URL", empty.url(None));
    let (code, log) = migrate.run().await;
    assert_eq!(code, Some(0), "{log}");
    system.publish(&trace("t")).await;
    wait_until_equal("the audit", PATIENCE, 1_i64, async || {
        let sql = "select count(*) from groundcrew.audits where disposition = 'passed'";
        sqlx::query_scalar(sql).fetch_one(&empty.pool).await.unwrap()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_queues_are_set_otherwise_refuses_to_start() {
    let system = System::builder().start().await;
    let (code, log) = system.program(&["worker"]).set("GROUNDCREW_QUEUE__DELIVERY_LIMIT", "7").run().await;
    assert!(code.is_some_and(|code| code != 0), "{code:?}:\n{log}");
    for word in ["groundcrew.audit.normal", "x-delivery-limit"] {
        assert!(log.contains(word), "it names {word}:\n{log}");
    }
    assert_eq!(system.counts("groundcrew.audit.normal").await.map(|counts| counts.consumers), Some(0));
}
