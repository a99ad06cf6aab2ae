//! `check trace` and `check reply`.

use super::{Call, Run};

const TRACE: &str = r#"{
  "schema": "groundcrew.trace/v1", "trace_id": "kiosk-1", "project": "park", "occurred_at": "2026-05-04T10:00:00Z",
  "query": "When does the kiosk open?",
  "answer": "The kiosk opens at 09:30. Coffee costs 2.40 euro.",
  "retrieval": {"retrieved_at": "2026-05-04T10:00:00Z", "chunks": [
    {"source_id": "kiosk", "rank": 1, "text": "The kiosk opens at 09:30 and closes at 18:00."},
    {"source_id": "menu", "rank": 2, "text": "Coffee 2.60 euro, tea 2.20 euro."}]}
}"#;

const REPLY: &str = r#"{"faithfulness_score": 0.9, "total_claims": 2, "grounded_claims": 1, "hallucinated_claims": 1,
  "omitted_facts": 1, "claim_analysis": [
    {"claim_text": "The kiosk opens at 09:30.", "classification": "grounded", "explanation": "Word for word.",
     "supporting_evidence": "The kiosk opens at 09:30", "contradicting_evidence": null, "severity": null, "source_id": "kiosk"},
    {"claim_text": "Coffee costs 2.40 euro.", "classification": "hallucinated", "explanation": "Another price.",
     "supporting_evidence": null, "contradicting_evidence": "Coffee 2.60 euro", "severity": "minor", "source_id": "menu"}],
  "omission_flags": [{"omitted_fact": "It closes at 18:00.", "source_passage": "closes at 18:00", "relevance": "Opening hours."}],
  "overall_assessment": "One price is wrong."}"#;

fn check_trace(trace: &str, options: &str) -> Run {
    Call::new().file("trace.json", trace).run(&format!("check trace trace.json {options}"))
}

fn check_reply(reply: &[u8], options: &str) -> Run {
    Call::new()
        .file("trace.json", TRACE)
        .file("reply.txt", reply)
        .run(&format!("check reply --trace trace.json --reply reply.txt {options}"))
}

/// A trace with most of what can be missing missing, and a hostile name for a field.
const INCOMPLETE: &str = r#"{
  "schema": "groundcrew.trace/v1", "trace_id": "kiosk-1", "project": "park", "answer": "At nine ...[truncated]",
  "retrieval": {"chunks": [{"text": "The kiosk opens at nine."}, {"source_id": "b", "rank": 2}]}
}"#;

#[test]
fn a_trace_is_complete_incomplete_not_applicable_or_undecodable() {
    let creative = TRACE.replace("\"query\"", "\"intent\": \"creative\", \"query\"");
    let mut shown = String::new();
    for (name, trace) in [
        ("complete", TRACE),
        ("incomplete", INCOMPLETE),
        ("creative", &creative),
        ("no JSON", "{\"schema\": "),
        ("hostile", "{\"schema\": 7, \"trace_id\": \" \", \"\\u001b[2J\": 1, \"\\u001b[2J\": 2}"),
    ] {
        for options in ["", "--json"] {
            let run = check_trace(trace, options);
            assert!(!run.stdout.contains('\u{1b}'), "{name}");
            shown.push_str(&format!("## {name} {options}\n{}\n", run.shown()));
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_project_may_relax_what_a_trace_needs() {
    let relaxed = TRACE.replace("\"rank\": 1, ", "").replace("\"rank\": 2, ", "");
    let call = Call::new().stdin(relaxed.clone());
    assert_eq!(call.run("check trace -").code, 1);
    let call = Call::new()
        .stdin(relaxed)
        .file("groundcrew.toml", "[projects.park]\nrequirements.rank = \"list_order\"\n");
    assert_eq!(call.run("check trace -").code, 0);
}

#[test]
fn a_reply_is_accepted_or_told_why_not() {
    let fabricated = REPLY.replace("\"The kiosk opens at 09:30\"", "\"The kiosk opens at dawn\"");
    let mut shown = String::new();
    for (name, reply, options) in [
        ("accepted", REPLY, "--finish-reason stop"),
        (
            "format",
            "I could not find any problem with \u{1b}[31mthis\u{1b}[0m answer.",
            "--finish-reason stop",
        ),
        ("missing key", "{\"faithfulness_score\": 1}", "--finish-reason stop"),
        ("content", fabricated.as_str(), "--finish-reason stop"),
        ("refusal", "I'm sorry, but I can't help with assessing this answer.", "--finish-reason stop"),
        ("cut", &REPLY[..200], "--finish-reason length"),
    ] {
        for json in ["", "--json"] {
            let run = check_reply(reply.as_bytes(), &format!("{options} {json}"));
            assert!(!run.stdout.contains('\u{1b}'), "{name}");
            shown.push_str(&format!("## {name} {json}\n{}\n", run.shown()));
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_reply_may_hold_any_bytes() {
    let mut reply = REPLY.as_bytes().to_vec();
    let at = reply.windows(4).position(|window| window == b"Word").unwrap();
    reply[at] = 0xff;
    let run = check_reply(&reply, "--json");
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(run.stdout.contains("\u{fffd}ord for word."));
    assert_eq!(check_reply(&[0, 159, 146, 150], "--json").code, 1);
    assert_eq!(check_reply(b"", "--json").code, 1);
}

#[test]
fn a_reply_about_a_trace_that_is_never_judged_is_wrong_usage() {
    let mut shown = String::new();
    for (trace, options) in [(INCOMPLETE, ""), ("{}", ""), (TRACE, "--kind reference")] {
        let call = Call::new().file("trace.json", trace).file("reply.txt", REPLY);
        let run = call.run(&format!("check reply --trace trace.json --reply reply.txt {options}"));
        assert_eq!(run.code, 2);
        shown.push_str(&run.shown());
    }
    insta::assert_snapshot!(shown);
}

/// A trace with a reference of two sentences.
const WITH_REFERENCE: &str = r#"{"schema": "groundcrew.trace/v1", "trace_id": "pool", "project": "cases",
    "query": "What does the pool cost?", "answer": "A swim costs 4 euro. It opens at 7.",
    "reference": [{"text": "A swim costs 4 euro. It opens at 7:00."}]}"#;

/// Verdicts about claims with these ids.
fn verdicts(claims: &[(&str, &str)]) -> String {
    let entries: Vec<String> = claims
        .iter()
        .map(|(id, text)| {
            format!(
                r#"{{"claim_id": "{id}", "claim_text": "{text}", "reference_evidence": "A swim costs 4 euro. It opens at 7:00.",
                    "explanation": "", "category": "grounded", "severity": null}}"#
            )
        })
        .collect();
    let count = claims.len();
    format!(
        r#"{{"analysis": [{}], "summary": {{"total_claims": {count}, "grounded_count": {count},
            "hallucinated_count": 0, "unsupported_count": 0}}}}"#,
        entries.join(", ")
    )
}

#[test]
fn a_reply_about_a_list_of_claims_is_held_against_that_list() {
    let check = |claims: Option<&str>, reply: &str| {
        let mut call = Call::new().file("trace.json", WITH_REFERENCE).file("reply.txt", reply);
        let mut options = String::new();
        if let Some(claims) = claims {
            call = call.file("claims.jsonl", claims);
            options = "--claims claims.jsonl".to_owned();
        }
        call.run(&format!(
            "check reply --kind reference --trace trace.json --reply reply.txt --finish-reason stop --json {options}"
        ))
    };
    let split = verdicts(&[("1", "A swim costs 4 euro."), ("2", "It opens at 7.")]);
    assert_eq!(check(None, &split).code, 0, "without a list every statement is a claim");
    let only = verdicts(&[("b", "It opens at 7.")]);
    for list in
        [r#"{"id": "b", "text": "It opens at 7."}"#, r#"[{"claim_id": "b", "claim_text": "It opens at 7."}]"#]
    {
        let run = check(Some(list), &only);
        assert_eq!(run.code, 0, "{list}: {}", run.shown());
    }
    let numbered = verdicts(&[("1", "It opens at 7.")]);
    assert_eq!(check(Some("\"It opens at 7.\"\n"), &numbered).code, 0, "a list of texts is numbered");
    let run = check(Some("\"It opens at 7.\"\n"), &only);
    assert!(run.code == 1 && run.stdout.contains("missing_claim"), "{}", run.shown());
    assert!(run.stdout.contains("invented_claim"), "{}", run.shown());
    let run = check(Some("It opens at 7.\n"), &only);
    assert!(run.code == 2 && run.stderr.contains("claims.jsonl line 1"), "{}", run.shown());
}

#[test]
fn prompts_are_listed_shown_compared_and_checked() {
    let run = Call::new().run("prompt list --json");
    let prompts: Vec<serde_json::Value> = serde_json::from_str(&run.stdout).unwrap();
    assert!(prompts.iter().filter(|prompt| prompt["current"] == true).count() == 5, "{}", run.shown());
    let shown = Call::new().run("prompt show gate");
    assert_eq!(shown.code, 0);
    let changed =
        shown.stdout.replace("version: gate-2", "version: gate-mine").replace("last check", "only check");
    let call = || Call::new().file("prompts/gate.md", &changed).file("gate.md", &changed);
    let run = call().run("prompt diff gate-2 gate.md");
    assert!(run.code == 1 && run.stdout.contains("- version: gate-2"), "{}", run.shown());
    assert_eq!(call().run("prompt diff gate-2 gate").code, 0, "a prompt is the same as itself");
    assert_eq!(call().run("prompt check gate.md").code, 0);
    let broken = changed.replace("Room 12 has a ramp and is open", "Room 12 is open");
    let run = Call::new().file("gate.md", &broken).run("prompt check gate.md");
    assert!(run.code == 1 && run.stdout.contains("fabricated_quote"), "{}", run.shown());
    let run = call().file("groundcrew.toml", "[prompts]\ndir = \"prompts\"\n").run("prompt list --json");
    assert!(run.stdout.contains("gate-mine"), "{}", run.shown());
    let same = shown.stdout.replace("last check", "only check");
    let run = Call::new()
        .file("prompts/gate.md", &same)
        .file("groundcrew.toml", "[prompts]\ndir = \"prompts\"\n")
        .run("prompt list");
    assert!(
        run.code == 2 && run.stderr.contains("a changed prompt needs a version of its own"),
        "{}",
        run.shown()
    );
}
