//! Lanes, rates and samples: who goes first, who goes aside, who is left out.

use queue::{Envelope, Lane};
use serde_json::json;
use testkit::material::{TraceBuilder, all_grounded, trace};
use testkit::{PATIENCE, System, wait_until_equal};
use worker::{Lanes, Project};

fn ids(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{prefix}-{at}")).collect()
}

async fn publish(system: &System, lane: Lane, trace: &TraceBuilder) {
    system.try_publish(lane, Envelope::default(), trace.bytes()).await.unwrap();
}

async fn ended(system: &System) -> usize {
    system.strings("select id::text from groundcrew.audits where disposition is not null").await.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_urgent_trace_does_not_wait_behind_a_flood_in_the_other_lanes() {
    const FLOOD: usize = 40;
    let system = System::builder()
        .judged(|judge| {
            judge.canned_default = Some(all_grounded().to_string());
            judge.latency_ms = 400;
        })
        .tuned(|tuning| tuning.concurrency = 2)
        .start()
        .await;
    // All of the flood is in the worker's hands, and waits for the judge's two places.
    let _worker =
        system.worker_with(|settings| settings.lanes = Lanes { urgent: 4, normal: 40, bulk: 40 }).await;
    system.consumers(1).await;
    for (normal, bulk) in ids("n", FLOOD).iter().zip(ids("b", FLOOD)) {
        publish(&system, Lane::Normal, &trace(normal)).await;
        publish(&system, Lane::Bulk, &trace(&bulk)).await;
    }
    system.taken(Lane::Normal).await;
    system.taken(Lane::Bulk).await;

    let before = ended(&system).await;
    publish(&system, Lane::Urgent, &trace("now")).await;
    assert_eq!(system.ended("now").await["disposition"], "passed");
    let passed_by = ended(&system).await - before;
    // Two calls in flight, two that may follow, and what ended while it was published and looked for.
    assert!(passed_by <= 16, "{passed_by} others ended before the urgent one");
    assert!(before + passed_by < 2 * FLOOD, "the flood was over before anything could be seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_of_more_than_two_thousand_takes_them_through_several_consumers() {
    const COUNT: usize = 30;
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .start()
        .await;
    let worker =
        system.worker_with(|settings| settings.lanes = Lanes { urgent: 0, normal: 4100, bulk: 0 }).await;
    system.consumers(3).await;
    assert_eq!(
        system.counts(Lane::Bulk.queue()).await.unwrap().consumers,
        0,
        "a lane with 0 is left to others"
    );
    for id in ids("t", COUNT) {
        system.publish(&trace(&id)).await;
    }
    for id in ids("t", COUNT) {
        assert_eq!(system.ended(&id).await["disposition"], "passed", "{id}");
    }
    worker.stop(PATIENCE).await;
    system.consumers(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_over_its_rate_goes_to_bulk_once_and_is_audited_there() {
    const COUNT: usize = 6;
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .start()
        .await;
    system.vhost.tap("test.bulk", queue::exchange::TRACES, "bulk").await;
    let _worker = system
        .worker_with(|settings| {
            settings.default_project = Project { rate_per_minute: 2, ..settings.default_project.clone() };
        })
        .await;
    for id in ids("t", COUNT) {
        system.publish(&trace(&id)).await;
    }
    for id in ids("t", COUNT) {
        assert_eq!(system.ended(&id).await["disposition"], "passed", "{id}");
        assert_eq!(system.judge.calls(&id).received, 1, "{id}");
    }
    system.drained(Lane::Normal).await;
    system.drained(Lane::Bulk).await;
    let moved = system.vhost.peek("test.bulk").await;
    assert_eq!(moved.len(), COUNT - 2, "two a minute stay, and nothing is moved twice: {moved:?}");
    for seen in moved {
        assert_eq!(seen.headers["groundcrew-moved-from"], json!("normal"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sampling_leaves_out_the_same_traces_each_time_and_counts_them() {
    const COUNT: usize = 30;
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .start()
        .await;
    let worker = system
        .worker_with(|settings| {
            settings.default_project = Project { sample_rate: 0.5, ..settings.default_project.clone() };
        })
        .await;
    let project = trace("any").value()["project"].as_str().unwrap().to_owned();
    let is_in = |id: &str| trace::sampling::position(&project, id) < 0.5;
    let (kept, left): (Vec<String>, Vec<String>) = ids("t", COUNT).into_iter().partition(|id| is_in(id));
    assert!(!kept.is_empty() && !left.is_empty());
    // Twice: the second copy is left out as well, or is a duplicate.
    for id in kept.iter().chain(&left).chain(&left) {
        system.publish(&trace(id)).await;
    }
    let never = ["user_report", "monitoring"].map(|origin| (origin, ids(origin, 4)));
    for (origin, ids) in &never {
        for id in ids {
            system.publish(&trace(id).set("/origin", *origin)).await;
        }
    }
    let always = kept.iter().chain(never.iter().flat_map(|(_, ids)| ids));
    for id in always {
        assert_eq!(system.ended(id).await["disposition"], "passed", "{id}");
    }
    system.drained(Lane::Normal).await;
    worker.stop(PATIENCE).await;
    for id in &left {
        assert!(system.audits(id).await.is_empty(), "{id}");
        assert_eq!(system.judge.calls(id).received, 0, "{id}");
    }
    let counted = system.json("select to_jsonb(s) from analytics.sampled_out_daily s").await;
    let sum: i64 = counted.iter().filter_map(|day| day["traces"].as_i64()).sum();
    assert_eq!(usize::try_from(sum).unwrap(), 2 * left.len(), "{counted:?}");
    assert!(counted.iter().all(|day| day["project"] == json!(project)));
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_with_a_sample_sends_what_the_worker_would_keep() {
    let system = System::builder().start().await;
    let file = std::env::temp_dir().join(format!("groundcrew-sample-{}.jsonl", uuid::Uuid::now_v7()));
    let traces: Vec<TraceBuilder> = ids("t", 20).iter().map(|id| trace(id)).collect();
    let mut lines: Vec<u8> = Vec::new();
    for trace in &traces {
        lines.extend(trace.bytes());
        lines.push(b'\n');
    }
    lines.extend(b"no trace\n");
    std::fs::write(&file, lines).unwrap();
    let project = traces[0].value()["project"].as_str().unwrap().to_owned();
    let kept = traces.iter().filter(|made| trace::sampling::position(&project, made.id()) < 0.3).count();

    let path = file.to_str().unwrap();
    let (code, printed) = system.program(&["publish", path, "--sample=0.3", "--json"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    wait_until_equal(
        "what is kept and what is no trace",
        PATIENCE,
        Some(u32::try_from(kept).unwrap() + 1),
        async || system.counts(Lane::Normal.queue()).await.map(|counts| counts.ready),
    )
    .await;
    let answer: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(answer["left_out"], json!(20 - kept));
    let (code, printed) = system.program(&["publish", path, "--sample=1.5"]).run().await;
    assert_eq!(code, Some(2), "{printed}");
    std::fs::remove_file(&file).unwrap();
}
