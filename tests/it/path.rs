//! From a published trace to its disposition, its rows and its messages.

use practice::{Calls, CannedReply, Fault};
use queue::Envelope;
use serde_json::{Value, json};
use testkit::material::{
    self, PROJECT, TEA, TraceBuilder, WRONG_FARE, all_grounded, fabricated_quote, reply, silent_about_tea,
    trace, wrong_fare,
};
use testkit::{PATIENCE, System, wait_for};

fn says(content: Value) -> [CannedReply; 1] {
    [CannedReply::content(content)]
}

/// What the event, the row and the judge say when an audit ended in this way.
async fn assert_ended(
    system: &System,
    trace_id: &str,
    disposition: &str,
    decision: Value,
    calls: u64,
) -> Value {
    let audit = system.ended(trace_id).await;
    assert_eq!(audit["disposition"], disposition, "{trace_id}: {audit}");
    assert_eq!(audit["decision"], decision, "{trace_id}: {audit}");
    assert_eq!(audit["project"], PROJECT);
    assert_eq!(audit["kind"], "faithfulness");
    assert_eq!(system.judge.calls(trace_id).received, calls, "calls about {trace_id}");
    let event = system.announcement(&format!("audit.{disposition}"), trace_id).await;
    assert_eq!(event.body["disposition"], disposition);
    assert_eq!(event.body["decision"], decision);
    assert_eq!(event.body["audit_id"], audit["id"]);
    assert_eq!(event.body["project"], PROJECT);
    audit
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_its_evidence_carries_passes() {
    let system = System::builder().replies("ok", says(all_grounded())).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("ok")).await;

    let audit = assert_ended(&system, "ok", "passed", json!("deliver"), 1).await;
    assert_eq!(audit["score"], json!(1));
    assert_eq!(audit["final"], json!(true));
    assert_eq!((&audit["claims_total"], &audit["claims_grounded"]), (&json!(5), &json!(5)));
    assert_eq!((&audit["attempts_total"], &audit["replies_total"]), (&json!(1), &json!(1)));
    assert_eq!(audit["practice"], json!(true));
    assert_eq!(audit["uncalibrated"], json!(true));
    assert_eq!(system.judge.calls("ok"), Calls { received: 1, answered: 1 });
    assert!(system.review_items("ok").await.is_empty());

    let claims = system.claims("ok").await;
    assert_eq!(claims.len(), 5);
    assert!(claims.iter().all(|claim| claim["verdict"] == "grounded" && claim["by_rule"] == json!(false)));
    assert_eq!(claims[0]["source_id"], "timetable");
    assert_eq!(claims[0]["evidence"][0]["grade"], "exact");
    let event = system.announcement("audit.passed", "ok").await;
    assert_eq!(event.body["final"], json!(true));
    assert_eq!(event.body["score"], json!(1.0));
    assert_eq!(event.body["findings"], json!([]));
    assert!(event.message_id.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minor_finding_is_recorded_and_calls_nobody() {
    let system = System::builder().replies("tea", says(silent_about_tea("minor"))).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("tea").saying(TEA)).await;

    let audit = assert_ended(&system, "tea", "flagged", json!("deliver"), 1).await;
    assert_eq!(audit["severity"], "minor");
    assert_eq!(audit["final"], json!(true));
    assert_eq!(audit["claims_unsupported"], json!(1));
    assert!(system.review_items("tea").await.is_empty());
    let event = system.announcement("audit.flagged", "tea").await;
    assert_eq!(event.body["findings"][0]["answer_sentence"], TEA);
    assert!(system.announced().await.iter().all(|seen| seen.routing_key != "review.opened"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_critical_finding_goes_to_people_with_the_evidence_beside_it() {
    let system = System::builder()
        .replies("critical", says(wrong_fare("critical")))
        .replies("major", says(wrong_fare("major")))
        .start()
        .await;
    let _worker = system.worker().await;
    for id in ["critical", "major"] {
        system.publish(&trace(id).saying(WRONG_FARE).set("/content_owner", "fares@harbour.example")).await;
    }

    let audit = assert_ended(&system, "critical", "escalated", json!("block"), 1).await;
    assert_eq!(
        (&audit["severity"], &audit["urgent"], &audit["final"]),
        (&json!("critical"), &json!(true), &json!(false))
    );
    let items = system.review_items("critical").await;
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!((&items[0]["urgent"], &items[0]["severity"]), (&json!(true), &json!("critical")));

    // The queue that people are called from, not only the exchange.
    let messages = system.vhost.peek(queue::queue::REVIEW).await;
    let message = messages.iter().find(|seen| seen.body["trace_id"] == "critical").expect("a review message");
    let body = &message.body;
    assert_eq!(message.routing_key, "review.opened");
    assert_eq!(body["project"], PROJECT);
    assert_eq!(body["severity"], "critical");
    assert_eq!(body["urgent"], json!(true));
    assert_eq!(body["review_item"], items[0]["id"]);
    assert_eq!(body["content_owner"], "fares@harbour.example");
    assert!(body["why"].as_str().unwrap().contains("critical"), "{body}");
    assert!(body["open_with"].as_str().unwrap().contains(audit["id"].as_str().unwrap()), "{body}");
    let flagged = body["flagged"].as_array().unwrap();
    assert_eq!(flagged.len(), 1, "only the finding is flagged: {flagged:?}");
    assert_eq!(flagged[0]["answer_sentence"], WRONG_FARE);
    assert_eq!(flagged[0]["verdict"], "contradicted");
    assert_eq!(flagged[0]["gap"], "The source says something else.");
    assert_eq!(flagged[0]["evidence"][0]["source_id"], "fares");
    assert_eq!(flagged[0]["evidence"][0]["quote"], "a return ticket 16 euro");
    assert!(flagged[0]["evidence"][0]["text"].as_str().unwrap().starts_with("A single ticket costs 9 euro"));
    assert_eq!(flagged[0]["evidence"][0]["url"], "https://harbour.example/fares");

    let audit = assert_ended(&system, "major", "escalated", json!("hold"), 1).await;
    assert_eq!((&audit["severity"], &audit["urgent"]), (&json!("major"), &json!(false)));
    assert_eq!(system.review_items("major").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_said_otherwise_before_is_asked_again() {
    let label = |faithful: bool| json!({ "labeler": "ada", "faithful": faithful });
    let system = System::builder()
        .replies("agrees", says(all_grounded()))
        .replies("differs", says(all_grounded()))
        .start()
        .await;
    let _worker = system.worker().await;
    system.publish(&trace("agrees").set("/human_label", label(true))).await;
    system.publish(&trace("differs").set("/human_label", label(false))).await;

    let audit = assert_ended(&system, "agrees", "passed", json!("deliver"), 1).await;
    assert_eq!(audit["human_agreement"], json!(true));
    let audit = assert_ended(&system, "differs", "escalated", json!("hold"), 1).await;
    assert_eq!(audit["human_agreement"], json!(false));
    assert!(audit["discrepancy_notes"].as_str().unwrap().contains("ada"), "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_claim_has_no_score() {
    let system = System::builder().replies("thanks", says(reply(&[]))).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("thanks").set("/answer", "You are welcome!")).await;

    let audit = assert_ended(&system, "thanks", "no_claims", json!("deliver"), 1).await;
    assert_eq!(audit["score"], Value::Null);
    assert_eq!(audit["claims_total"], json!(0));
    assert!(system.review_items("thanks").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_trace_is_never_judged_and_says_all_that_is_missing() {
    let system = System::builder().start().await;
    let _worker = system.worker().await;
    let gaps = trace("gaps")
        .without("/query")
        .without("/retrieval/retrieved_at")
        .without("/retrieval/chunks/0/rank")
        .without("/retrieval/chunks/1/source_id")
        .set("/retrieval/chunks/2/text", "Dogs must stay on the outer … (truncated 512 chars)");
    system.publish(&gaps).await;
    system.publish(&trace("bare").without("/retrieval").without("/answer")).await;

    let audit = assert_ended(&system, "gaps", "incomplete", Value::Null, 0).await;
    assert_eq!(
        paths(&audit),
        [
            "$.query",
            "$.retrieval.chunks[0].rank",
            "$.retrieval.chunks[1].source_id",
            "$.retrieval.chunks[2].text",
            "$.retrieval.retrieved_at",
        ]
    );
    let event = system.announcement("audit.incomplete", "gaps").await;
    assert_eq!(event.body["trace_problems"], audit["trace_problems"]);
    assert_eq!(audit["attempts_total"], json!(0));
    let audit = assert_ended(&system, "bare", "incomplete", Value::Null, 0).await;
    assert_eq!(paths(&audit), ["$.answer", "$.retrieval"]);
    assert!(system.review_items("gaps").await.is_empty());
}

fn paths(audit: &Value) -> Vec<&str> {
    let problems = audit["trace_problems"].as_array().expect("a list of problems");
    let mut paths: Vec<&str> = problems.iter().filter_map(|problem| problem["path"].as_str()).collect();
    paths.sort_unstable();
    paths
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_decides_costs_no_call() {
    let system = System::builder().start().await;
    let _worker = system.worker().await;
    system.publish(&trace("poem").set("/intent", "creative")).await;
    system.publish(&trace("found-nothing").set("/retrieval/chunks", json!([]))).await;
    system.publish(&trace("said-nothing").set("/answer", "  \n")).await;

    let audit = assert_ended(&system, "poem", "not_applicable", Value::Null, 0).await;
    assert_eq!(paths(&audit).len(), 1);

    let audit = assert_ended(&system, "found-nothing", "escalated", json!("hold"), 0).await;
    assert_eq!((&audit["score"], &audit["score_by_rule"]), (&json!(0), &json!(true)));
    let claims = system.claims("found-nothing").await;
    assert_eq!(claims.len(), 5);
    assert!(claims.iter().all(|claim| {
        claim["verdict"] == "unsupported"
            && claim["by_rule"] == json!(true)
            && claim["judge_verdict"].is_null()
    }));
    assert_eq!(system.review_items("found-nothing").await.len(), 1);

    let audit = assert_ended(&system, "said-nothing", "no_claims", json!("deliver"), 0).await;
    assert_eq!(audit["score_by_rule"], json!(true));
    for id in ["poem", "found-nothing", "said-nothing"] {
        assert!(system.attempts(id).await.is_empty(), "attempts at {id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_cannot_be_used_is_a_matter_for_people() {
    let prose = || CannedReply::content("I would say that this answer is quite good.");
    let fabricates = || CannedReply::content(fabricated_quote());
    let system = System::builder()
        .replies("unreadable", [prose(), prose()])
        .replies("inconsistent", [fabricates(), fabricates()])
        .replies("refused", [CannedReply::fault(Fault::Refusal)])
        .replies("filtered", [CannedReply::fault(Fault::ContentFilter)])
        .start()
        .await;
    let _worker = system.worker().await;
    for id in ["unreadable", "inconsistent", "refused", "filtered"] {
        system.publish(&trace(id)).await;
    }

    for (id, disposition, calls, code) in [
        ("unreadable", "unreadable", 2, "not_json"),
        ("inconsistent", "inconsistent", 2, "fabricated_quote"),
        ("refused", "refused", 1, "refused"),
        ("filtered", "refused", 1, "refused"),
    ] {
        let audit = assert_ended(&system, id, disposition, json!("hold"), calls).await;
        assert_eq!(audit["score"], Value::Null);
        assert_eq!(audit["final"], json!(false));
        let items = system.review_items(id).await;
        assert_eq!(items.len(), 1, "review items of {id}");
        let message = system.announcement("review.opened", id).await;
        let problems = &message.body["failed_output"]["problems"];
        assert_eq!(problems[0]["code"], code, "{id}: {}", message.body);
        assert_eq!(
            message.body["answer"],
            trace(id).value()["answer"],
            "the raw trace is beside the failed output"
        );
        let attempts = system.attempts(id).await;
        assert_eq!(u64::try_from(attempts.len()).unwrap(), calls, "attempts at {id}");
    }
    let message = system.announcement("review.opened", "unreadable").await;
    assert_eq!(message.body["failed_output"]["content"], "I would say that this answer is quite good.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_is_judged_in_sections_and_reported_as_one() {
    // All of one length, so that each section holds six of them.
    let sentence = |at: usize| format!("Locker {} at the pier costs {} euro a day.", at + 20, at + 40);
    let answer = |range: std::ops::Range<usize>| range.map(sentence).collect::<Vec<_>>().join(" ");
    let long = trace("long")
        .set("/answer", answer(0..12))
        .set("/retrieval/chunks/0/text", answer(0..12))
        .set("/retrieval/chunks/0/source_id", "lockers");
    let claims = |range: std::ops::Range<usize>| {
        let claims: Vec<Value> =
            range.map(|at| material::grounded(&sentence(at), &sentence(at), "lockers")).collect();
        CannedReply::content(reply(&claims))
    };
    let length = answer(0..6).chars().count() + 2;
    let system = System::builder()
        .replies("long", [claims(0..6), CannedReply::content("nonsense"), claims(6..12)])
        .tuned(|tuning| tuning.max_unit_chars = length)
        .start()
        .await;
    let _worker = system.worker().await;
    system.publish(&long).await;

    let audit = assert_ended(&system, "long", "passed", json!("deliver"), 3).await;
    assert_eq!(audit["claims_total"], json!(12));
    let attempts = system.attempts("long").await;
    let places: Vec<_> =
        attempts.iter().map(|attempt| (attempt["unit"].as_i64(), attempt["number"].as_i64())).collect();
    assert_eq!(places, [(Some(0), Some(1)), (Some(1), Some(1)), (Some(1), Some(2))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_lane_is_worked_on() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .start()
        .await;
    let _worker = system.worker().await;
    for lane in queue::Lane::ALL {
        let body = trace(lane.routing_key()).bytes();
        system.try_publish(lane, Envelope::default(), body).await.unwrap();
    }
    for lane in queue::Lane::ALL {
        assert_ended(&system, lane.routing_key(), "passed", json!("deliver"), 1).await;
    }
}

// --- answers to who asked ------------------------------------------------------------------------

fn asking(queue: &str) -> Envelope {
    Envelope {
        reply_to: Some(queue.to_owned()),
        correlation_id: Some("question 17".into()),
        ..Envelope::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_that_names_its_own_queue_is_answered_there() {
    use futures_util::StreamExt as _;
    use lapin::options::{BasicConsumeOptions, QueueDeclareOptions};
    use lapin::types::FieldTable;

    let system = System::builder().replies("asked", says(all_grounded())).start().await;
    let _worker = system.worker().await;
    let connection =
        lapin::Connection::connect(&system.vhost.url(None), lapin::ConnectionProperties::default())
            .await
            .unwrap();
    let channel = connection.create_channel().await.unwrap();
    let exclusive =
        QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
    let queue = channel.queue_declare("".into(), exclusive, FieldTable::default()).await.unwrap();
    assert!(queue.name().as_str().starts_with("amq."), "{}", queue.name());
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let mut answers =
        channel.basic_consume(queue.name().clone(), "".into(), options, FieldTable::default()).await.unwrap();

    system.publish_with(&trace("asked"), asking(queue.name().as_str())).await;
    let answer = tokio::time::timeout(PATIENCE, answers.next()).await.expect("an answer").unwrap().unwrap();
    let body: Value = serde_json::from_slice(&answer.data).unwrap();
    assert_eq!(body["trace_id"], "asked");
    assert_eq!(body["decision"], "deliver");
    let correlation = answer.properties.correlation_id().as_ref().map(ToString::to_string);
    assert_eq!(correlation.as_deref(), Some("question 17"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_not_the_producers_gets_no_answer() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .tuned(|tuning| tuning.reply_to_prefixes = vec!["answers.".into()])
        .start()
        .await;
    let _worker = system.worker().await;
    system.vhost.tap("somebody.elses", queue::exchange::RESULTS, "nothing.at.all").await;
    system.vhost.tap("answers.mine", queue::exchange::RESULTS, "nothing.at.all").await;
    system.publish_with(&trace("stranger"), asking("somebody.elses")).await;
    system.publish_with(&trace("fleet"), asking("groundcrew.audit.normal")).await;
    system.publish_with(&trace("allowed"), asking("answers.mine")).await;

    for id in ["stranger", "fleet", "allowed"] {
        assert_ended(&system, id, "passed", json!("deliver"), 1).await;
    }
    system.outbox_empty().await;
    assert!(system.vhost.peek("somebody.elses").await.is_empty());
    let answers = system.vhost.peek("answers.mine").await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].correlation_id.as_deref(), Some("question 17"));
    let replies = system.strings("select routing_key from groundcrew.outbox where exchange = ''").await;
    assert_eq!(replies, ["answers.mine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_queue_that_is_gone_is_noted_and_not_tried_for_ever() {
    let system = System::builder().replies("gone", says(all_grounded())).start().await;
    let _worker = system.worker().await;
    system.publish_with(&trace("gone"), asking("amq.gen-nobody-is-here")).await;

    assert_ended(&system, "gone", "passed", json!("deliver"), 1).await;
    let row = wait_for("the note about the queue that is gone", PATIENCE, async || {
        let sql = "select to_jsonb(o) from groundcrew.outbox o where exchange = '' and sent_at is not null";
        system.json(sql).await.pop()
    })
    .await;
    assert_eq!(row["outcome"], "returned");
    assert_eq!(row["attempts"], json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn passed_audits_of_the_blind_sample_are_shown_without_the_verdict() {
    let system = System::builder()
        .replies("sampled", says(all_grounded()))
        .tuned(|tuning| tuning.sample_passed = 1.0)
        .start()
        .await;
    let _worker = system.worker().await;
    system.publish(&trace("sampled")).await;

    let audit = assert_ended(&system, "sampled", "passed", json!("deliver"), 1).await;
    assert_eq!(audit["final"], json!(true), "a look at random holds nothing up");
    let items = system.review_items("sampled").await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["blind"], json!(true));
    let message = system.announcement("review.opened", "sampled").await;
    for field in ["disposition", "decision"] {
        assert_eq!(message.body[field], Value::Null, "{field} would tell what the judge said");
    }
    assert_eq!(message.body["flagged"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_trace_is_audited_apart_in_every_project() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .start()
        .await;
    let _worker = system.worker().await;
    let of = |project: &str| -> TraceBuilder { trace("shared").set("/project", project) };
    system.publish(&of("north")).await;
    system.publish(&of("south")).await;
    let audits = system.ended_times("shared", 2).await;
    let mut projects: Vec<&str> = audits.iter().filter_map(|audit| audit["project"].as_str()).collect();
    projects.sort_unstable();
    assert_eq!(projects, ["north", "south"]);
}
