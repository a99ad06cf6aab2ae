//! How a worker stops, and how it starts when nothing answers yet.

use std::time::{Duration, Instant};

use practice::{CannedReply, Fault};
use queue::Lane;
use testkit::material::{all_grounded, trace};
use testkit::{PATIENCE, System, wait_for, wait_until_equal};

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
    wait_until_equal("the trace in work", PATIENCE, Some((0, 1)), async || {
        system.vhost.depth(Lane::Normal.queue()).await
    })
    .await;
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
    system.to_judge.blackhole(testkit::Direction::ToClient);
    system.publish(&trace("t")).await;
    wait_until_equal("the call", PATIENCE, 1, async || system.judge.calls("t").received).await;
    system.to_database.refuse();
    system.to_judge.heal();
    wait_until_equal("the reply", PATIENCE, 1, async || system.judge.calls("t").answered).await;
    system.to_database.heal();
    assert_eq!(system.ended("t").await["disposition"], "passed");
    assert_eq!(system.judge.calls("t").received, 1, "the reply was kept in hand");
}
