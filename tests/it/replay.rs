//! Stored replies read again, and stored traces judged again.

use audit::units::Extraction;
use practice::CannedReply;
use serde_json::{Value, json};
use testkit::material::{all_grounded, fabricated_quote, trace};
use testkit::{PATIENCE, System, wait_until_equal};

/// All that is stored about audits, as one text.
async fn stored(system: &System) -> Vec<String> {
    system
        .strings(
            "select md5(string_agg(t::text, '' order by t::text)) from groundcrew.attempts t
             union all select md5(string_agg(t::text, '' order by t::text)) from groundcrew.audits t
             union all select count(*)::text from groundcrew.outbox",
        )
        .await
}

fn answer(log: &str) -> Value {
    serde_json::from_str(log).unwrap_or_else(|error| panic!("{error}: {log}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_keep_their_class_under_the_same_rules_and_say_so_under_others() {
    let system = System::builder()
        .replies("t", [CannedReply::content("not JSON"), CannedReply::content(all_grounded())])
        .tuned(|tuning| {
            tuning.extraction = Extraction::Judge;
            tuning.claims_per_call = 2;
        })
        .start()
        .await;
    let worker = system.worker().await;
    system.publish(&trace("t")).await;
    // Claims that one reply lists are the units of the next.
    system.publish(&trace("lists").set("/audits", json!(["reference", "gate"])).set(
        "/reference",
        json!([{ "source_id": "fares", "text": "A single ticket costs 9 euro. The crossing takes 35 minutes." }]),
    )).await;
    system.ended("t").await;
    system.ended_times("lists", 2).await;
    system.outbox_empty().await;
    worker.stop(PATIENCE).await;
    let (before, calls) = (stored(&system).await, system.judge.total_calls());
    let replies: i64 = sqlx::query_scalar(
        "select sum(replies_total)::int8 from groundcrew.audits where disposition is not null",
    )
    .fetch_one(&system.database.pool)
    .await
    .unwrap();
    assert!(replies >= 2 + 1 + 3, "{replies} replies");

    let (code, log) = system.program(&["replay", "replies", "--json"]).run().await;
    let told = answer(&log);
    assert_eq!(code, Some(0), "{log}");
    assert_eq!((&told["replies"], &told["unchanged"]), (&json!(replies), &json!(replies)), "{log}");
    assert_eq!(told["changed"], json!([]));
    let (code, log) =
        system.program(&["replay", "replies", "--kind", "gate", "--since", "2999-01-01"]).run().await;
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("stored replies: 0, of 0 audits"), "{log}");

    assert_eq!(stored(&system).await, before, "nothing that is stored is changed");
    assert_eq!(system.judge.total_calls(), calls, "nobody is asked");

    // As if the rules had become stricter: the words are ones that they do not accept.
    sqlx::query("update groundcrew.attempt_bodies set content = $1 where content = $2")
        .bind(fabricated_quote().to_string())
        .bind(all_grounded().to_string())
        .execute(&system.database.pool)
        .await
        .unwrap();
    let (code, log) = system.program(&["replay", "replies", "--json"]).run().await;
    let told = answer(&log);
    assert_eq!(code, Some(1), "{log}");
    let changed = &told["changed"][0];
    assert_eq!(told["changed"].as_array().unwrap().len(), 1);
    assert_eq!((&changed["before"], &changed["after"]), (&json!("accepted"), &json!("content")));
    assert_eq!((&changed["trace_id"], &changed["codes"][0]), (&json!("t"), &json!("fabricated_quote")));
    let audit = &system.audits("t").await[0];
    assert_eq!(changed["audit_id"], audit["id"]);
    assert_eq!(audit["disposition"], "passed", "and still nothing is changed");
    let (_, log) = system.program(&["replay", "replies"]).run().await;
    assert!(log.contains("accepted  content   1") && log.contains("fabricated_quote at $"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_are_judged_again_through_the_queue_once_somebody_says_so() {
    let system = System::builder()
        .replies("t", [CannedReply::content(all_grounded()), CannedReply::content(fabricated_quote())])
        .tuned(|tuning| tuning.price = Some((1.0, 2.0, "EUR".into())))
        .start()
        .await;
    let worker = system.worker().await;
    system.publish(&trace("t")).await;
    assert_eq!(system.ended("t").await["disposition"], "passed");

    let (code, log) = system.program(&["replay", "traces"]).run().await;
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("audits to make again: 1") && log.contains("1 calls of the judge"), "{log}");
    assert!(log.contains("EUR") && log.contains("nothing was sent"), "{log}");
    assert_eq!(system.judge.total_calls().received, 1, "an estimate costs nothing");

    let unknown = ["replay", "traces", "--kind", "faithfulness", "--prompt", "faithfulness-none", "--yes"];
    let (code, log) = system.program(&unknown).run().await;
    assert_eq!(code, Some(2), "{log}");

    let (code, log) = system.program(&["replay", "traces", "--yes"]).run().await;
    assert_eq!(code, Some(0), "{log}");
    let audits = system.ended_times("t", 2).await;
    let told: Vec<_> = audits.iter().map(|audit| (&audit["generation"], &audit["disposition"])).collect();
    assert_eq!(told, [(&json!(0), &json!("passed")), (&json!(1), &json!("inconsistent"))]);
    worker.stop(PATIENCE).await;

    let (code, log) = system.program(&["replay", "compare"]).run().await;
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("passed (deliver) -> inconsistent (hold)") && log.contains("0 of 1 end as before"),
        "{log}"
    );
    let pairs = system.json("select to_jsonb(g) from analytics.generations g").await;
    assert_eq!(pairs.len(), 1);
    assert_eq!((&pairs[0]["is_same"], &pairs[0]["earlier_score"]), (&json!(false), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_are_judged_again_here_under_the_wanted_prompt_without_a_worker() {
    let system = System::builder().start().await;
    let worker = system.worker().await;
    for name in ["a", "b"] {
        system.publish(&trace(name)).await;
        system.ended(name).await;
    }
    system.outbox_empty().await;
    worker.stop(PATIENCE).await;
    let folder = std::env::temp_dir().join(format!("prompts-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder).unwrap();
    let (code, shown) = system.program(&["prompt", "show", "faithfulness", "--json"]).run().await;
    assert_eq!(code, Some(0), "{shown}");
    let shown = answer(&shown);
    let version = shown["version"].as_str().unwrap();
    let file = shown["file"].as_str().unwrap().replacen(version, "faithfulness-again", 1);
    std::fs::write(folder.join("again.md"), file).unwrap();

    let arguments =
        ["replay", "traces", "--here", "--yes", "--kind", "faithfulness", "--prompt", "faithfulness-again"];
    let again = system.program(&arguments).set("GROUNDCREW_PROMPTS__DIR", folder.to_str().unwrap());
    let (code, log) = again.run().await;
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("judged again: 2, not: 0") && log.contains("passed: 2"), "{log}");
    wait_until_equal("audits", PATIENCE, 4, async || {
        system.strings("select id::text from groundcrew.audits where disposition is not null").await.len()
    })
    .await;
    let versions = system.strings(
        "select distinct earlier_prompt_version || ' ' || prompt_version from analytics.generations where is_same",
    );
    assert_eq!(versions.await, [format!("{version} faithfulness-again")]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Both asked for the generation after the last one that had ended, and only one of them was judged.
#[tokio::test(flavor = "multi_thread")]
async fn two_replays_that_wait_in_the_queue_are_two_generations() {
    const TRACES: usize = 3;
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .start()
        .await;
    let worker = system.worker().await;
    let ids: Vec<String> = (0..TRACES).map(|at| format!("t-{at}")).collect();
    for id in &ids {
        system.publish(&trace(id)).await;
        system.ended(id).await;
    }
    // As if the fleet were paused.
    worker.stop(PATIENCE).await;
    for _ in 0..2 {
        let (code, log) = system.program(&["replay", "traces", "--yes"]).run().await;
        assert!(code == Some(0) && log.contains("sent to lane bulk: 3, not: 0"), "{log}");
    }
    let worker = system.worker().await;
    for id in &ids {
        let audits = system.ended_times(id, 3).await;
        let generations: Vec<_> = audits.iter().map(|audit| &audit["generation"]).collect();
        assert_eq!(generations, [&json!(0), &json!(1), &json!(2)], "{id}");
        assert_eq!(system.judge.calls(id).received, 3, "{id}");
    }
    worker.stop(PATIENCE).await;
}
