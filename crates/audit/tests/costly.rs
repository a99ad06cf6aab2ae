//! Texts made to cost time. The work must grow with the length alone: each of these took seconds when some part of
//! it grew with the square. Nothing is timed; a test that hangs has failed.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use audit::{Outcome, Unit, assess};
use serde_json::{Value, json};
use trace::{Kind, Trace};

/// What is repeated: marks that open and never close, marks that may belong to a number, rows of numbers, words, lines.
const UNITS: [&str; 30] = [
    "1,",
    "1 ",
    "1:",
    "(5",
    "five ",
    "2024 ",
    "3万",
    "5 mg of it, ",
    "[[",
    "[a](",
    "![",
    "((a",
    "【",
    "{\"a\": ",
    "{\"a\":1,",
    "<",
    "<!--",
    "<sup>",
    "&lt;br&gt;",
    "*a",
    "` ",
    "\"a\",",
    "... ",
    "- ",
    "\\n",
    "a,",
    "Here are A. ",
    "http://",
    "a 1\n",
    "WHO ",
];

fn trace(answer: &str, chunk: &str) -> Trace {
    serde_json::from_value(json!({
        "schema": trace::SCHEMA, "trace_id": "t", "project": "p", "query": "What is asked?", "answer": answer,
        "retrieval": {"retrieved_at": "2026-01-05T08:00:00Z", "chunks": [
            {"source_id": "s1", "rank": 1, "text": chunk}, {"source_id": "s2", "rank": 2, "text": "Entry is 8 euro."}]},
    }))
    .unwrap()
}

fn gate(claims: impl IntoIterator<Item = (String, String)>) -> Value {
    let claims: Vec<Value> = claims
        .into_iter()
        .map(|(text, quote)| {
            json!({"claim_text": text, "verdict": "grounded", "source_quote": quote, "source_id": "s1",
                   "confidence": "HIGH"})
        })
        .collect();
    json!({"overall_verdict": "grounded", "claims": claims})
}

fn judge(trace: &Trace, reply: &Value) -> Outcome {
    assess(Kind::Gate, trace, &Unit::Whole, &reply.to_string(), Some("stop")).unwrap().outcome
}

const HONEST: &str = "Entry is 8 euro for adults.";

fn units() -> impl Iterator<Item = String> {
    const LENGTH: usize = 20_000;
    UNITS.iter().map(|unit| unit.repeat(LENGTH / unit.len()))
}

#[test]
fn an_answer_made_to_cost_time_costs_little() {
    let reply = gate([(HONEST.to_owned(), HONEST.to_owned())]);
    for text in units() {
        assert_ne!(judge(&trace(&format!("{text} {HONEST}"), HONEST), &reply), Outcome::Format);
    }
}

#[test]
fn a_chunk_made_to_cost_time_costs_little() {
    // A quote that is nearly there is looked for in every way that there is.
    let reply = gate([(HONEST.to_owned(), "Entry is 9 euro, for adults".to_owned())]);
    for text in units() {
        assert_eq!(judge(&trace(HONEST, &format!("{text} {HONEST}")), &reply), Outcome::Content);
    }
}

#[test]
fn a_quote_and_a_claim_made_to_cost_time_cost_little() {
    for text in units() {
        let reply = gate([(HONEST.to_owned(), format!("{text} x")), (text.clone(), HONEST.to_owned())]);
        assert_ne!(
            judge(&trace(&format!("{text}, {HONEST}"), &format!("{text} y {HONEST}")), &reply),
            Outcome::Format
        );
    }
}

#[test]
fn many_claims_about_many_sentences_cost_little() {
    let words = ["mill", "bell", "road", "lamp", "door", "wall"];
    let fact = |at: usize| format!("The {} of house {at} was built in {}.", words[at % 6], 1000 + at % 900);
    let answer: Vec<String> = (0..600).map(fact).collect();
    let answer = answer.join(" ");
    let claims = |from: usize| (0..400).map(move |at| (fact(at + from), fact(at)));
    assert_ne!(judge(&trace(&answer, &answer), &gate(claims(0))), Outcome::Format);
    assert_eq!(judge(&trace(&answer, &answer), &gate(claims(400))), Outcome::Content);
    // They stand for nothing, and are written out from nowhere.
    let invented = (0..400).map(|at| (format!("Its colour {at} pleases nobody"), fact(at)));
    assert_eq!(judge(&trace(&answer, &answer), &gate(invented)), Outcome::Content);
}

#[test]
fn a_reply_with_endless_problems_lists_the_first_and_counts_the_rest() {
    let reply = gate((0..400).map(|at| (format!("Nobody said {at} of this"), "nowhere at all".to_owned())));
    let assessment =
        assess(Kind::Gate, &trace(HONEST, HONEST), &Unit::Whole, &reply.to_string(), Some("stop")).unwrap();
    assert_eq!(assessment.problems.len(), 51);
    let last = &assessment.problems[50].message;
    assert!(last.contains("more problems"), "{last}");
}
