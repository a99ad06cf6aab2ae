//! The same trace more than once.

use practice::CannedReply;
use serde_json::json;
use testkit::material::{WRONG_FARE, all_grounded, trace, wrong_fare};
use testkit::{PATIENCE, System, wait_until_equal};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_trace_twice_is_judged_once_and_counted() {
    let system = System::builder().replies("t", [CannedReply::content(all_grounded())]).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;
    let first = system.ended("t").await;
    assert_eq!(first["duplicates"], json!(0));

    // What the verdict does not depend on makes no other trace.
    system
        .publish(
            &trace("t").set("/occurred_at", "2026-05-04T09:15:01Z").set("/metadata", json!({ "try": 2 })),
        )
        .await;
    system.publish(&trace("t")).await;
    wait_until_equal("two duplicates", PATIENCE, json!(2), async || {
        system.ended("t").await["duplicates"].clone()
    })
    .await;

    let audits = system.audits("t").await;
    assert_eq!(audits.len(), 1, "{audits:?}");
    assert_eq!(audits[0]["ended_at"], first["ended_at"]);
    assert_eq!(system.judge.calls("t").received, 1);
    system.outbox_empty().await;
    assert_eq!(system.announced().await.len(), 1, "a duplicate announces nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_id_with_another_answer_is_another_audit() {
    let system = System::builder()
        .replies("t", [CannedReply::content(all_grounded()), CannedReply::content(wrong_fare("critical"))])
        .start()
        .await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;
    system.ended("t").await;
    system.publish(&trace("t").saying(WRONG_FARE)).await;

    let mut audits = system.ended_times("t", 2).await;
    audits.sort_by_key(|audit| audit["opened_at"].as_str().map(str::to_owned));
    assert_eq!(
        (&audits[0]["disposition"], &audits[1]["disposition"]),
        (&json!("passed"), &json!("escalated"))
    );
    assert_eq!((&audits[0]["other_content"], &audits[1]["other_content"]), (&json!(false), &json!(true)));
    assert_eq!(audits[1]["generation"], json!(0), "other content is not another generation");
    assert_ne!(audits[0]["content_hash"], audits[1]["content_hash"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_copy_after_an_incomplete_one_is_judged_as_the_next_generation() {
    let system = System::builder().replies("t", [CannedReply::content(all_grounded())]).start().await;
    let _worker = system.worker().await;
    // The time of the retrieval is no part of the content.
    let incomplete = trace("t").without("/retrieval/retrieved_at");
    system.publish(&incomplete).await;
    assert_eq!(system.ended("t").await["disposition"], "incomplete");
    system.publish(&incomplete).await;
    wait_until_equal("a duplicate", PATIENCE, json!(1), async || {
        system.ended("t").await["duplicates"].clone()
    })
    .await;

    system.publish(&trace("t")).await;
    let audits = system.ended_times("t", 2).await;
    let told: Vec<_> = audits.iter().map(|audit| (&audit["generation"], &audit["disposition"])).collect();
    assert_eq!(told, [(&json!(0), &json!("incomplete")), (&json!(1), &json!("passed"))]);
    assert_eq!(audits[0]["content_hash"], audits[1]["content_hash"]);

    // From now on every copy, complete or not, is a duplicate.
    system.publish(&trace("t")).await;
    wait_until_equal("a duplicate of the judged one", PATIENCE, json!(1), async || {
        system.audits("t").await[1]["duplicates"].clone()
    })
    .await;
    assert_eq!(system.audits("t").await.len(), 2);
    assert_eq!(system.judge.calls("t").received, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_copies_in_two_workers_at_once_end_in_one_row() {
    let slow = CannedReply { delay_ms: 700, ..CannedReply::content(wrong_fare("critical")) };
    let system = System::builder().replies("t", [slow]).tuned(|tuning| tuning.concurrency = 1).start().await;
    let (_one, _other) = (system.worker().await, system.worker().await);
    system.consumers(2).await;
    system.publish(&trace("t").saying(WRONG_FARE)).await;
    system.publish(&trace("t").saying(WRONG_FARE)).await;
    wait_until_equal("a call from each worker", PATIENCE, 2, async || system.judge.calls("t").received).await;

    system.ended("t").await;
    wait_until_equal("the other copy counted", PATIENCE, json!(1), async || {
        system.ended("t").await["duplicates"].clone()
    })
    .await;
    assert_eq!(system.audits("t").await.len(), 1);
    assert_eq!(system.review_items("t").await.len(), 1);
    assert_eq!(system.attempts("t").await.len(), 1, "the attempt of whoever was first");
    assert_eq!(system.claims("t").await.len(), 6);
    system.announcement("audit.escalated", "t").await;
    system.announcement("review.opened", "t").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_that_both_have_to_ask_again_do_not_mix_their_attempts() {
    let slow = |content: serde_json::Value| CannedReply { delay_ms: 400, ..CannedReply::content(content) };
    let system = System::builder()
        .replies("t", [slow(json!("nonsense")), slow(json!("nonsense")), slow(all_grounded())])
        .tuned(|tuning| {
            tuning.concurrency = 1;
            // Longer than the rest of the other copy takes: who yields shall find it ended.
            tuning.retry_tiers = vec![std::time::Duration::from_secs(2)];
        })
        .start()
        .await;
    let (_one, _other) = (system.worker().await, system.worker().await);
    system.consumers(2).await;
    system.publish(&trace("t")).await;
    system.publish(&trace("t")).await;
    wait_until_equal("a call from each worker", PATIENCE, true, async || {
        system.judge.calls("t").received >= 2
    })
    .await;

    let audit = system.ended("t").await;
    assert_eq!(audit["disposition"], "passed");
    let attempts = system.attempts("t").await;
    let told: Vec<_> = attempts.iter().map(|attempt| (&attempt["class"], &attempt["number"])).collect();
    assert_eq!(told, [(&json!("format"), &json!(1)), (&json!("accepted"), &json!(2))]);
    assert_eq!(system.audits("t").await.len(), 1);
    // One interrupted copy: the budget of two, and the reply of the copy that yielded.
    assert!(system.judge.calls("t").answered <= 3, "{:?}", system.judge.calls("t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_that_comes_later_updates_the_comparison_without_a_call() {
    let system = System::builder().replies("t", [CannedReply::content(all_grounded())]).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("t")).await;
    assert_eq!(system.ended("t").await["human_agreement"], serde_json::Value::Null);
    system.publish(&trace("t").set("/human_label", json!({ "labeler": "ada", "faithful": false }))).await;
    wait_until_equal("the comparison", PATIENCE, json!(false), async || {
        system.ended("t").await["human_agreement"].clone()
    })
    .await;
    assert_eq!(system.judge.calls("t").received, 1);
}
