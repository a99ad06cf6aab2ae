//! The contract through its public surface: messages with the right result beside them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use trace::{Kind, Provenance, Readiness, Requirements, completeness, content_hash, decode};

/// A message body that is complete for every kind.
const COMPLETE: &str = r#"{
  "schema": "groundcrew.trace/v1", "trace_id": "pool-1", "project": "baths",
  "query": "When does the pool open?", "answer": "The pool opens at 7:30.",
  "retrieval": {"retrieved_at": "2026-05-04T06:00:00Z", "chunks": [
    {"source_id": "hours", "rank": 1, "score": 0.9, "text": "Opening: 7:30, closed on Mondays."},
    {"source_id": "fees", "rank": 2, "text": "A day costs 5 euro."}]},
  "reference": [{"source_id": "hours", "text": "Opening: 7:30."}]
}"#;

/// What `check trace` would print: the word and the paths.
fn result(body: &[u8], kind: Kind, requirements: &Requirements) -> (&'static str, Vec<String>) {
    let paths = |problems: &[trace::Problem]| problems.iter().map(|problem| problem.path.clone()).collect();
    match decode(body) {
        Err(undecodable) => ("undecodable", paths(&undecodable.problems)),
        Ok(trace) => match completeness::check(&trace, kind, requirements) {
            Readiness::Complete(_) => ("complete", Vec::new()),
            Readiness::Incomplete(problems) => ("incomplete", paths(&problems)),
            Readiness::NotApplicable(_) => ("not_applicable", Vec::new()),
        },
    }
}

/// The complete message with the value at `pointer` replaced, or taken out.
fn with(pointer: &str, value: Option<serde_json::Value>) -> Vec<u8> {
    let mut message: serde_json::Value = serde_json::from_str(COMPLETE).unwrap();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = message.pointer_mut(parent).unwrap();
    match (parent, value) {
        (serde_json::Value::Array(list), value) => list[key.parse::<usize>().unwrap()] = value.unwrap(),
        (serde_json::Value::Object(object), Some(value)) => drop(object.insert(key.to_owned(), value)),
        (serde_json::Value::Object(object), None) => drop(object.remove(key)),
        _ => panic!("no parent at {pointer}"),
    }
    message.to_string().into_bytes()
}

#[track_caller]
fn check(body: &[u8], word: &str, paths: &[&str]) {
    let strict = Requirements::default();
    assert_eq!(
        result(body, Kind::Faithfulness, &strict),
        (word, paths.iter().map(|path| (*path).to_owned()).collect())
    );
}

#[test]
fn a_complete_trace_is_complete_for_every_kind() {
    for kind in Kind::ALL {
        assert_eq!(result(COMPLETE.as_bytes(), *kind, &Requirements::default()).0, "complete", "{kind}");
    }
}

#[test]
fn each_missing_field_is_named_by_its_path() {
    check(&with("/query", None), "incomplete", &["$.query"]);
    check(&with("/query", Some(" \n".into())), "incomplete", &["$.query"]);
    check(&with("/answer", None), "incomplete", &["$.answer"]);
    check(&with("/answer", Some(serde_json::Value::Null)), "incomplete", &["$.answer"]);
    check(&with("/retrieval", None), "incomplete", &["$.retrieval"]);
    check(&with("/retrieval/chunks", None), "incomplete", &["$.retrieval.chunks"]);
    check(&with("/retrieval/retrieved_at", None), "incomplete", &["$.retrieval.retrieved_at"]);
    check(&with("/retrieval/chunks/1/rank", None), "incomplete", &["$.retrieval.chunks[1].rank"]);
    check(
        &with("/retrieval/chunks/0/source_id", Some(" ".into())),
        "incomplete",
        &["$.retrieval.chunks[0].source_id"],
    );
    check(
        &with("/retrieval/chunks/0/text", Some("\t".into())),
        "incomplete",
        &["$.retrieval.chunks[0].text"],
    );
    check(&with("/retrieval/truncated", Some(true.into())), "incomplete", &["$.retrieval.truncated"]);
    check(&with("/answer", Some("It opens at...[truncated]".into())), "incomplete", &["$.answer"]);
}

#[test]
fn an_empty_answer_and_an_empty_retrieval_are_complete() {
    check(&with("/answer", Some("".into())), "complete", &[]);
    check(&with("/retrieval/chunks", Some(serde_json::json!([]))), "complete", &[]);
}

#[test]
fn a_gate_does_not_apply_without_evidence_and_a_reference_needs_one() {
    let body = with("/retrieval/chunks", Some(serde_json::json!([])));
    assert_eq!(result(&body, Kind::Gate, &Requirements::default()).0, "not_applicable");
    assert_eq!(result(&body, Kind::EvidenceCheck, &Requirements::default()).0, "not_applicable");
    let body = with("/reference", None);
    assert_eq!(
        result(&body, Kind::Reference, &Requirements::default()),
        ("incomplete", vec!["$.reference".to_owned()])
    );
}

#[test]
fn every_mistyped_field_is_named_at_once() {
    let mut message: serde_json::Value = serde_json::from_str(COMPLETE).unwrap();
    message["schema"] = "groundcrew.trace/v2".into();
    message["project"] = serde_json::Value::Null;
    message["intent"] = "poetic".into();
    message["occurred_at"] = "yesterday".into();
    message["retrieval"]["chunks"][0]["rank"] = 1.5.into();
    message["retrieval"]["chunks"][1]["text"] = 7.into();
    let (word, mut paths) =
        result(message.to_string().as_bytes(), Kind::Faithfulness, &Requirements::default());
    paths.sort();
    assert_eq!(word, "undecodable");
    assert_eq!(
        paths,
        [
            "$.intent",
            "$.occurred_at",
            "$.project",
            "$.retrieval.chunks[0].rank",
            "$.retrieval.chunks[1].text",
            "$.schema"
        ]
    );
}

#[test]
fn odd_but_harmless_messages_are_read() {
    check(format!("\u{feff}{COMPLETE}").as_bytes(), "complete", &[]);
    check(&with("/retrieval/chunks/0/rank", Some(1.0.into())), "complete", &[]);
    check(&with("/origin", Some(serde_json::Value::Null)), "complete", &[]);
    check(&with("/answer", Some("a\u{0}b at 7:30".into())), "complete", &[]);
    check(&with("/retrieval/retrieved_at", Some("2026-05-04T08:00:00.123+02:00".into())), "complete", &[]);
    check(&with("/something_new", Some(serde_json::json!({"a": [1]}))), "complete", &[]);
    let lone = COMPLETE.replace("7:30.\"", "7:30 \\ud83d.\"");
    check(lone.as_bytes(), "complete", &[]);
}

#[test]
fn unknown_fields_are_kept() {
    let trace = decode(&with("/something_new", Some(7.into()))).unwrap();
    assert_eq!(serde_json::to_value(&trace).unwrap()["something_new"], 7);
}

#[test]
fn what_is_no_trace_is_undecodable_and_says_why() {
    for (body, word) in [
        (&b"{trace_id: 1}"[..], "not JSON"),
        (b"", "empty"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"[]", "one message carries one trace"),
        (b"42", "found a number"),
        (&serde_json::to_vec(COMPLETE).unwrap(), "encoded twice"),
    ] {
        let problems = decode(body).unwrap_err().problems;
        assert_eq!(problems[0].path, "$");
        assert!(problems[0].message.contains(word), "{problems:?}");
    }
    check(&with("/trace_id", Some("".into())), "undecodable", &["$.trace_id"]);
    check(&with("/trace_id", Some("x".repeat(257).into())), "undecodable", &["$.trace_id"]);
    check(&with("/trace_id", Some(7.into())), "undecodable", &["$.trace_id"]);
    check(&with("/retrieval/chunks/0", Some("text".into())), "undecodable", &["$.retrieval.chunks[0]"]);
    check(&with("/retrieval", Some(serde_json::json!([]))), "undecodable", &["$.retrieval"]);
    check(&with("/audits", Some(serde_json::json!(["gate", "truth"]))), "undecodable", &["$.audits[1]"]);
}

#[test]
fn a_key_given_twice_is_undecodable() {
    let body = COMPLETE.replacen("\"answer\"", "\"answer\": \"Never.\", \"answer\"", 1);
    check(body.as_bytes(), "undecodable", &["$.answer"]);
}

#[test]
fn a_project_may_relax_fields_and_the_provenance_is_kept() {
    let relaxed = Requirements {
        retrieved_at: Some(Provenance::FromSpan),
        rank: Some(Provenance::ListOrder),
        source_id: Some(Provenance::Synthetic),
    };
    let body = serde_json::json!({
        "schema": "groundcrew.trace/v1", "trace_id": "t", "project": "p", "occurred_at": "2026-05-04T06:00:00Z",
        "query": "q?", "answer": "a.", "retrieval": {"chunks": [{"text": "one"}, {"text": "two"}]}
    });
    let trace = decode(body.to_string().as_bytes()).unwrap();
    let Readiness::Complete(prepared) = completeness::check(&trace, Kind::Faithfulness, &relaxed) else {
        panic!("relaxed fields still make it incomplete");
    };
    assert_eq!(prepared.provenance["retrieved_at"], Provenance::FromSpan);
    assert_eq!(prepared.provenance["rank"], Provenance::ListOrder);
    assert_eq!(prepared.provenance["source_id"], Provenance::Synthetic);
    assert_eq!(prepared.trace.chunks()[1].rank, Some(2));
    assert_eq!(prepared.trace.retrieval.as_ref().unwrap().retrieved_at, trace.occurred_at);
    let ids: Vec<_> = prepared.trace.chunks().iter().map(|chunk| chunk.source_id.clone().unwrap()).collect();
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn the_content_hash_depends_on_content_alone() {
    let hash = |body: Vec<u8>| content_hash(&decode(&body).unwrap());
    let base = hash(COMPLETE.into());
    for (pointer, value) in [
        ("/query", serde_json::json!("Other?")),
        ("/answer", serde_json::json!("Other.")),
        ("/retrieval/chunks/0/text", serde_json::json!("Other.")),
        ("/retrieval/chunks/0/rank", serde_json::json!(3)),
        ("/retrieval/chunks/0/source_id", serde_json::json!("other")),
        ("/risk", serde_json::json!("high")),
        ("/intent", serde_json::json!("creative")),
        ("/reference", serde_json::json!([])),
    ] {
        assert_ne!(hash(with(pointer, Some(value))), base, "{pointer}");
    }
    for (pointer, value) in [
        ("/occurred_at", serde_json::json!("2026-01-01T00:00:00Z")),
        ("/retrieval/retrieved_at", serde_json::json!("2026-01-01T00:00:00Z")),
        ("/human_label", serde_json::json!({"faithful": true})),
        ("/metadata", serde_json::json!({"a": 1})),
        ("/retrieval/chunks/0/score", serde_json::json!(0.1)),
    ] {
        assert_eq!(hash(with(pointer, Some(value))), base, "{pointer}");
    }
}

#[test]
fn cases_given_by_environment_come_out_right() {
    // Anybody's file of cases: lines with `raw`, `kind` and `expect {result, paths}`.
    let Ok(path) = std::env::var("GROUNDCREW_TRACE_CASES") else { return };
    let mut count = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let kind = case["kind"].as_str().unwrap().parse().unwrap();
        let (word, paths) = result(case["raw"].as_str().unwrap().as_bytes(), kind, &Requirements::default());
        assert_eq!(word, case["expect"]["result"], "{}", case["name"]);
        for path in case["expect"]["paths"].as_array().unwrap() {
            assert!(paths.iter().any(|found| path == found), "{}: {path} not in {paths:?}", case["name"]);
        }
        count += 1;
    }
    println!("{count} cases, all right");
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
        let _ = decode(&body);
    }

    #[test]
    fn no_json_of_the_right_shape_makes_it_panic(
        answer in ".*", rank in proptest::option::of(proptest::prelude::any::<f64>()), extra in "[\\PC]{0,20}"
    ) {
        let body = serde_json::json!({
            "schema": "groundcrew.trace/v1", "trace_id": extra, "project": "p", "answer": answer, "query": answer,
            "retrieval": {"chunks": [{"rank": rank, "text": answer, extra: 1}]}
        });
        if let Ok(trace) = decode(body.to_string().as_bytes()) {
            let _ = completeness::check(&trace, Kind::Faithfulness, &Requirements::default());
            let _ = content_hash(&trace);
        }
    }
}
