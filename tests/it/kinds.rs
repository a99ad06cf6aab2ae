//! All five audit kinds, from a published trace to their rows.

use std::collections::BTreeMap;

use audit::units::Extraction;
use practice::CannedReply;
use serde_json::{Value, json};
use testkit::material::{PROJECT, TraceBuilder, trace};
use testkit::{PATIENCE, System};

const ALL: [&str; 5] = ["faithfulness", "hallucination_eval", "reference", "evidence_check", "gate"];

/// A trace that asks for every kind, with the evidence as reference.
fn for_all(trace_id: &str) -> TraceBuilder {
    trace(trace_id).set("/audits", json!(ALL)).set(
        "/reference",
        json!([
            {"text": "On weekdays the first ferry to Norrey leaves pier 3 at 07:40. The crossing takes 35 minutes in calm weather."},
            {"source_id": "fares", "text": "A single ticket costs 9 euro, a return ticket 16 euro. Children under 6 travel free with an adult.", "url": "https://harbour.example/fares"},
            {"source_id": "rules", "text": "Dogs must stay on the outer deck and on a lead."},
        ]),
    )
}

/// The ended audits of a trace by kind.
async fn by_kind(system: &System, trace_id: &str, count: usize) -> BTreeMap<String, Value> {
    let audits = system.ended_times(trace_id, count).await;
    audits.into_iter().map(|audit| (audit["kind"].as_str().unwrap().to_owned(), audit)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_one_trace_is_an_audit_with_an_end_of_its_own() {
    let system = System::builder().start().await;
    let _worker = system.worker().await;
    system.publish(&for_all("all")).await;

    let audits = by_kind(&system, "all", 5).await;
    assert_eq!(audits.len(), 5);
    for kind in ALL {
        let audit = &audits[kind];
        assert_eq!(audit["disposition"], "passed", "{kind}: {audit}");
        assert_eq!(audit["decision"], "deliver", "{kind}");
        assert_eq!(audit["claims_total"], json!(5), "{kind}: {audit}");
        assert!(audit["prompt_version"].as_str().unwrap().starts_with(kind), "{kind}");
    }
    let scores = ALL.map(|kind| audits[kind]["score"].clone());
    assert_eq!(scores, [json!(1), json!(100), Value::Null, json!(0), json!(1)]);
    assert_eq!(system.judge.calls("all").received, 5, "one call for each kind");

    let claims = system
        .json("select to_jsonb(c) from analytics.claims c where kind = 'reference' order by index")
        .await;
    let ids: Vec<&str> = claims.iter().map(|claim| claim["claim_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    assert_eq!(claims[0]["source_id"], "reference-1", "a document without an id gets one");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_shows_in_every_kind_in_its_own_words() {
    let system = System::builder().start().await;
    let _worker = system.worker().await;
    system
        .publish(
            &for_all("fare")
                .set("/answer", "A single ticket costs 14 euro. Dogs must stay on the outer deck."),
        )
        .await;

    let audits = by_kind(&system, "fare", 5).await;
    let ends = |kind: &str| {
        (audits[kind]["disposition"].as_str().unwrap(), audits[kind]["decision"].as_str().unwrap())
    };
    assert_eq!(ends("faithfulness"), ("escalated", "hold"));
    assert_eq!(ends("hallucination_eval"), ("escalated", "block"), "one contradicted claim blocks");
    assert_eq!(ends("reference"), ("escalated", "hold"), "a major finding");
    assert_eq!(ends("evidence_check"), ("escalated", "hold"));
    assert_eq!(ends("gate"), ("escalated", "block"), "any ungrounded claim blocks");
    assert_eq!(system.review_items("fare").await.len(), 5);
    let messages = system.announced().await;
    let reference = messages
        .iter()
        .find(|seen| seen.routing_key == "review.opened" && seen.body["kind"] == "reference")
        .unwrap();
    let flagged = &reference.body["flagged"][0];
    assert_eq!(flagged["answer_sentence"], "A single ticket costs 14 euro.");
    assert_eq!(
        flagged["evidence"][0]["url"], "https://harbour.example/fares",
        "a link to the source: {flagged}"
    );
    assert!(flagged["evidence"][0]["text"].as_str().unwrap().contains("9 euro"), "{flagged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_reference_that_kind_is_incomplete_and_the_others_go_on() {
    let system = System::builder().start().await;
    let _worker = system.worker().await;
    system.publish(&for_all("bare").without("/reference")).await;

    let audits = by_kind(&system, "bare", 5).await;
    assert_eq!(audits["reference"]["disposition"], "incomplete");
    assert!(audits["reference"]["trace_problems"].to_string().contains("$.reference"));
    for kind in ALL.iter().filter(|kind| **kind != "reference") {
        assert_eq!(audits[*kind]["disposition"], "passed", "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_evidence_each_kind_follows_its_own_rule_and_nobody_is_asked() {
    let system = System::builder().start().await;
    let _worker = system.worker().await;
    let kinds = json!(["faithfulness", "hallucination_eval", "evidence_check", "gate"]);
    system.publish(&for_all("nothing").set("/audits", kinds).set("/retrieval/chunks", json!([]))).await;

    let audits = by_kind(&system, "nothing", 4).await;
    let end = |kind: &str| audits[kind]["disposition"].as_str().unwrap().to_owned();
    assert_eq!(end("faithfulness"), "escalated");
    assert_eq!(end("hallucination_eval"), "escalated");
    assert_eq!((end("evidence_check"), end("gate")), ("not_applicable".into(), "not_applicable".into()));
    assert_eq!(audits["hallucination_eval"]["score"], json!(0));
    assert_eq!(audits["hallucination_eval"]["decision"], "block", "five unsupported claims");
    assert_eq!(system.judge.calls("nothing").received, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_of_claims_goes_in_batches_and_comes_back_as_one_report() {
    let system = System::builder().tuned(|tuning| tuning.claims_per_call = 2).start().await;
    let _worker = system.worker().await;
    system.publish(&for_all("batches").set("/audits", json!(["reference"]))).await;

    let audit = system.ended("batches").await;
    assert_eq!((&audit["claims_total"], &audit["replies_total"]), (&json!(5), &json!(3)));
    let units: Vec<i64> =
        system.attempts("batches").await.iter().map(|attempt| attempt["unit"].as_i64().unwrap()).collect();
    assert_eq!(units, [0, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judge_may_list_the_claims_in_a_call_of_its_own_first() {
    let system = System::builder().tuned(|tuning| tuning.extraction = Extraction::Judge).start().await;
    let _worker = system.worker().await;
    system.publish(&for_all("listed").set("/audits", json!(["reference"]))).await;

    let audit = system.ended("listed").await;
    assert_eq!(audit["disposition"], "passed", "{audit}");
    assert_eq!((&audit["claims_total"], &audit["replies_total"]), (&json!(5), &json!(2)));
    assert_eq!(system.judge.calls("listed").received, 2);
    let unplaced = "select to_jsonb(count(*)) from groundcrew.claims where answer_start is null";
    assert_eq!(system.json(unplaced).await, [json!(0)], "each claim has its place in the answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_audits_are_stored_apart_and_a_view_says_how_far_they_agree() {
    let system = System::builder().tuned(|tuning| tuning.repeat = 3).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("thrice")).await;

    let audits = system.ended_times("thrice", 3).await;
    let repeats: Vec<i64> = audits.iter().map(|audit| audit["repeat"].as_i64().unwrap()).collect();
    assert_eq!(repeats, [0, 1, 2]);
    let summary = system.json("select to_jsonb(s) from analytics.stability s").await;
    assert_eq!(summary.len(), 1);
    assert_eq!(summary[0]["project"], PROJECT);
    assert_eq!((&summary[0]["runs"], &summary[0]["clean_runs"]), (&json!(3), &json!(3)));
    assert_eq!(summary[0]["flip_rate"], json!(0));
    let duplicates = system.json("select to_jsonb(sum(duplicates)) from groundcrew.audits").await;
    assert_eq!(duplicates, [json!(0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_with_no_budget_for_content_is_handed_to_people_after_one_reply() {
    let reply = json!({"overall_verdict": "grounded", "claims": []});
    let system = System::builder().replies("silent", [CannedReply::content(reply)]).start().await;
    let worker = system.worker().await;
    system.publish(&trace("silent").set("/audits", json!(["gate"]))).await;

    let audit = system.ended("silent").await;
    assert_eq!((&audit["disposition"], &audit["decision"]), (&json!("inconsistent"), &json!("block")));
    assert_eq!(system.judge.calls("silent").received, 1);
    worker.stop(PATIENCE).await;
}
