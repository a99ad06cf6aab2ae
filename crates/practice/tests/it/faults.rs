use std::{collections::HashSet, time::Duration};

use practice::{Fault, Faults, Settings};
use serde_json::Value;

use crate::client::{EVIDENCE, Raw, ask, body, parse, receive, send, start, trace_header, user_message};

/// The reply with this fault in it.
async fn with(fault: Fault) -> Raw {
    let server = start(Settings { faults: Faults::always(fault), ..Settings::default() }).await;
    let raw = ask(&server, "t").await;
    assert_eq!(raw.header("groundcrew-practice-fault"), Some(fault.as_str()));
    raw
}

async fn honest() -> Raw {
    ask(&start(Settings::default()).await, "t").await
}

fn claims(report: &Value) -> Vec<Value> {
    report["claim_analysis"].as_array().unwrap().clone()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// The claims that differ from the honest ones, side by side.
async fn changed_claims(fault: Fault) -> Vec<(Value, Value)> {
    let (spoiled, honest) = (with(fault).await.report(), honest().await.report());
    claims(&honest).into_iter().zip(claims(&spoiled)).filter(|(before, after)| before != after).collect()
}

#[tokio::test]
async fn contents_that_are_not_one_json_object() {
    let honest = honest().await.content();
    assert!(!is_json(&with(Fault::NotJson).await.content()));
    assert_eq!(with(Fault::Empty).await.content(), "");
    assert_eq!(with(Fault::Fenced).await.content(), format!("```json\n{honest}\n```"));

    let think = with(Fault::Think).await.content();
    let (thoughts, rest) = think.split_once("</think>\n").unwrap();
    assert!(thoughts.starts_with("<think>") && thoughts.contains('{'));
    assert_eq!(rest, honest);

    let two = with(Fault::SeveralCandidates).await.content();
    let objects: HashSet<&str> = two.lines().filter(|line| is_json(line)).collect();
    assert_eq!(objects.len(), 2, "two complete and different objects");
    assert!(objects.contains(honest.as_str()));
}

#[tokio::test]
async fn truncated_replies_say_so_or_do_not() {
    let honest = honest().await.content();
    for (fault, reason) in [(Fault::Truncated, "length"), (Fault::TruncatedStop, "stop")] {
        let raw = with(fault).await;
        assert_eq!(raw.choice()["finish_reason"], reason);
        assert!(honest.starts_with(&raw.content()) && !is_json(&raw.content()));
    }
}

#[tokio::test]
async fn messages_without_content() {
    let reasoning = with(Fault::ReasoningOnly).await.choice();
    assert!(reasoning["message"]["content"].is_null());
    assert!(reasoning["message"]["reasoning_content"].is_string());

    let filtered = with(Fault::ContentFilter).await.choice();
    assert!(filtered["message"]["content"].is_null());
    assert_eq!(filtered["finish_reason"], "content_filter");

    assert!(with(Fault::Refusal).await.content().contains("can't help"));
    let field = with(Fault::RefusalField).await.choice();
    assert!(field["message"]["content"].is_null() && field["message"]["refusal"].is_string());
}

#[tokio::test]
async fn shapes_that_break_the_schema() {
    let twice = with(Fault::DuplicateKey).await.content();
    assert!(is_json(&twice));
    let first = twice.split('"').nth(1).unwrap();
    assert_eq!(twice.matches(&format!("\"{first}\":")).count(), 2, "{twice}");

    let missing = with(Fault::MissingKey).await.report();
    assert!(claims(&missing).iter().any(|claim| claim.get("classification").is_none()));

    assert!(with(Fault::WrongType).await.report()["claim_analysis"].is_string());
    assert_eq!(with(Fault::OutOfRange).await.report()["faithfulness_score"], 98.6);

    let nan = with(Fault::Nan).await.content();
    assert!(!is_json(&nan));
    assert!(is_json(&nan.replace("NaN", "0")));

    let changed = changed_claims(Fault::BadEnum).await;
    assert_eq!(changed.len(), 1);
    assert!(changed[0].1["classification"].as_str().unwrap().ends_with("ed."));
}

#[tokio::test]
async fn claims_that_do_not_match_the_answer() {
    let honest = claims(&honest().await.report());
    let missing = claims(&with(Fault::MissingClaim).await.report());
    assert_eq!(missing.len(), honest.len() - 1);
    let left_out = honest.iter().find(|claim| !missing.contains(claim)).unwrap();
    assert!(left_out["claim_text"].as_str().unwrap().contains(|c: char| c.is_numeric()));

    let duplicate = claims(&with(Fault::DuplicateClaim).await.report());
    assert_eq!(duplicate[..honest.len()], honest);
    assert!(duplicate.len() == honest.len() + 1 && honest.contains(&duplicate[honest.len()]));

    let invented = with(Fault::InventedClaim).await.report();
    assert_eq!(invented["total_claims"], honest.len() + 1);
    let text = claims(&invented)[honest.len()]["claim_text"].as_str().unwrap().to_owned();
    assert!(text.contains("48151") && !crate::client::ANSWER.contains(&text));

    let report = with(Fault::CountMismatch).await.report();
    assert_ne!(report["total_claims"], claims(&report).len());
    assert_eq!(claims(&report), honest);
}

#[tokio::test]
async fn quotes_and_sources_that_are_not_there() {
    let (before, after) = changed_claims(Fault::MissingQuote).await.remove(0);
    assert!(before["supporting_evidence"].is_string() && after["supporting_evidence"].is_null());
    assert_eq!(after["classification"], "grounded");

    let (_, after) = changed_claims(Fault::FabricatedQuote).await.remove(0);
    let quote = after["supporting_evidence"].as_str().unwrap();
    assert!(EVIDENCE.iter().all(|(_, text)| !text.contains(quote)));

    let (before, after) = changed_claims(Fault::WrongSource).await.remove(0);
    let (quote, id) = (after["supporting_evidence"].as_str().unwrap(), &after["source_id"]);
    assert_eq!(before["supporting_evidence"], quote);
    let (_, text) = EVIDENCE.iter().find(|(known, _)| id == known).unwrap();
    assert!(!text.contains(quote));

    let (_, after) = changed_claims(Fault::UnknownSource).await.remove(0);
    assert!(EVIDENCE.iter().all(|(id, _)| after["source_id"] != *id));
}

#[tokio::test]
async fn statuses() {
    for (fault, status, code) in [
        (Fault::Status429, 429, "rate_limit_exceeded"),
        (Fault::Status429RetryAfter, 429, "rate_limit_exceeded"),
        (Fault::Status500, 500, "internal_error"),
        (Fault::Status529, 529, "overloaded"),
        (Fault::Status401, 401, "invalid_api_key"),
    ] {
        let raw = with(fault).await;
        assert_eq!((raw.status, &raw.json()["error"]["code"]), (status, &code.into()));
        assert_eq!(raw.header("retry-after").is_some(), fault == Fault::Status429RetryAfter);
    }
    let html = with(Fault::Html200).await;
    assert_eq!((html.status, html.header("content-type")), (200, Some("text/html")));
    assert!(html.body.starts_with(b"<!DOCTYPE html>"));
}

#[tokio::test]
async fn bodies_that_are_broken() {
    let cut = with(Fault::CutBody).await;
    let announced: usize = cut.header("content-length").unwrap().parse().unwrap();
    assert!(!cut.body.is_empty() && cut.body.len() < announced);

    let huge = with(Fault::Huge).await;
    assert!(10 * 1024 * 1024 < huge.body.len());
    assert_eq!(huge.header("content-length").unwrap(), huge.body.len().to_string());

    let broken = with(Fault::BrokenUtf8).await;
    assert!(std::str::from_utf8(&broken.body).is_err());
    let mended: Value = serde_json::from_str(&String::from_utf8_lossy(&broken.body)).unwrap();
    let report = mended["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(claims(&serde_json::from_str(report).unwrap()), claims(&honest().await.report()));

    let nul = with(Fault::Nul).await;
    assert!(nul.content().contains("\\u0000"));
    assert!(nul.report()["overall_assessment"].as_str().unwrap().contains('\0'));
}

#[tokio::test]
async fn replies_that_take_for_ever() {
    for (fault, least) in [(Fault::Hang, 0), (Fault::SlowDrip, 3)] {
        let server = start(Settings { faults: Faults::always(fault), ..Settings::default() }).await;
        let body = body(&user_message());
        let mut stream =
            send(server.local_addr(), "POST", "/v1/chat/completions", &trace_header("t"), &body).await;
        // However slow the machine is: at least so much comes, and the end does not.
        let mut bytes = Vec::new();
        loop {
            let (more, closed) = receive(&mut stream, Duration::from_millis(400)).await;
            bytes.extend_from_slice(&more);
            assert!(!closed, "{fault} ended");
            let came = if bytes.is_empty() { 0 } else { parse(&bytes).body.len() };
            assert!(least > 0 || came == 0, "{fault}: {came}");
            if came >= least {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_fault_that_cannot_be_done_leaves_the_reply_honest() {
    let settings = || Settings { faults: Faults::always(Fault::FabricatedQuote), ..Settings::default() };
    let server = start(settings()).await;
    let unsupported = user_message().replace(crate::client::ANSWER, "Parking costs 4 euro.");
    let raw = crate::client::ask_raw(&server, "t", &body(&unsupported)).await;
    assert_eq!(raw.header("groundcrew-practice-fault"), None);
    assert_eq!(raw.report()["total_claims"], 1);
}

#[tokio::test]
async fn the_seed_decides() {
    let run = async |seed: u64| {
        let faults = Faults::parse(["empty=0.2", "status500=0.2", "missing_quote=0.2"]).unwrap();
        let server = start(Settings { seed, faults, ..Settings::default() }).await;
        let mut replies = Vec::new();
        for trace_id in ["a", "b", "a", "c", "d", "e", "b", "a"] {
            let raw = ask(&server, trace_id).await;
            replies.push((raw.status, raw.body));
        }
        replies
    };
    let first = run(5).await;
    assert_eq!(first, run(5).await);
    assert_ne!(first, run(6).await);
}
