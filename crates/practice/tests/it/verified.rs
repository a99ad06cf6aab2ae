//! The practice judge's replies, held against the verification that all judges meet.

use audit::{Assessment, Outcome, prompt::Prompt, reply::Code};
use practice::{Fault, Faults, Server, Settings};
use serde_json::json;
use trace::Trace;

use crate::client::{Raw, ask_raw, body, start};

/// Two chunks, and an answer that is right, wrong, unsupported and denied in turn.
fn sample() -> Trace {
    trace_of(
        &[
            ("museum", "The Harbour Museum in Porto opened in 1987. Entry is free on Sundays."),
            ("ships", "The collection holds 240 ships. Dogs are not allowed in the halls."),
        ],
        "What does the museum show?",
        "Here is what I found:\n\n1. The Harbour Museum in Porto opened in 1987 [1].\n2. It holds 204 ships [ships].\n\n\
         Dogs are allowed in the halls. Parking costs 4 euro (source: museum, 2)! Anything else?",
    )
}

fn trace_of(chunks: &[(&str, &str)], query: &str, answer: &str) -> Trace {
    let chunks: Vec<_> = chunks
        .iter()
        .zip(1..)
        .map(|((id, text), rank)| json!({ "source_id": id, "rank": rank, "text": text }))
        .collect();
    let trace = json!({
        "schema": "groundcrew.trace/v1", "trace_id": "t", "project": "p", "query": query, "answer": answer,
        "retrieval": { "retrieved_at": "2026-01-01T00:00:00Z", "chunks": chunks },
    });
    trace::decode(trace.to_string().as_bytes()).unwrap()
}

async fn ask(server: &Server, trace: &Trace) -> Raw {
    let spec = audit::kinds::find(trace::Kind::Faithfulness).unwrap();
    let rendered = audit::prompt::render(&Prompt::newest(spec).unwrap(), trace, None, "w7k2", None);
    ask_raw(server, "t", &body(&rendered.user)).await
}

fn assess(trace: &Trace, raw: &Raw) -> Assessment {
    let choice = raw.choice();
    let content = choice["message"]["content"].as_str().unwrap_or_default();
    audit::assess(trace::Kind::Faithfulness, trace, None, content, choice["finish_reason"].as_str()).unwrap()
}

#[tokio::test]
async fn honest_replies_are_accepted() {
    let server = start(Settings::default()).await;
    for (trace, scores) in [
        (sample(), (1, 4)),
        (
            trace_of(
                &[(
                    "köln",
                    "Die Straßenbrücke wurde 1965 eröffnet und ist 320 Meter lang. Sie ist nicht gesperrt.",
                )],
                "Wie lang ist die Brücke?",
                "**Antwort:** Die Straßenbrücke ist 320 Meter lang. Sie wurde am 3. Mai 1956 eröffnet.",
            ),
            (1, 2),
        ),
        (
            trace_of(
                &[("東京", "東京タワーは1958年に完成しました。高さは333メートルです。")],
                "東京タワーの高さは？",
                "東京タワーは1958年に完成しました。高さは３３３メートルです。入場料は1500円です。",
            ),
            (2, 3),
        ),
        (
            trace_of(
                &[("a", "Nothing of note.")],
                "?",
                "## Prices 2024\n\nThe price is 1.250,50 euro; 3,5 % more than in 2023.",
            ),
            (0, 1),
        ),
        (trace_of(&[("a", "It opens at 9.")], "?", "It opens at 9. It opens at 9. Really?"), (1, 1)),
    ] {
        let assessment = assess(&trace, &ask(&server, &trace).await);
        assert_eq!(assessment.outcome, Outcome::Accepted, "{assessment:?}");
        let report = assessment.report.unwrap();
        assert_eq!((report.count(audit::Verdict::Grounded), report.claims.len()), scores, "{report:?}");
        assert_eq!(report.coverage, Some(1.0));
        assert!(report.discrepancies.is_empty());
    }
}

#[tokio::test]
async fn each_fault_is_what_verification_calls_it() {
    let trace = sample();
    for (fault, outcome, code) in [
        (Fault::NotJson, Outcome::Format, Some(Code::NotJson)),
        (Fault::SeveralCandidates, Outcome::Format, Some(Code::SeveralCandidates)),
        (Fault::Truncated, Outcome::Format, Some(Code::Truncated)),
        (Fault::TruncatedStop, Outcome::Format, None),
        (Fault::Empty, Outcome::Format, Some(Code::Empty)),
        (Fault::DuplicateKey, Outcome::Format, Some(Code::DuplicateKey)),
        (Fault::MissingKey, Outcome::Format, Some(Code::MissingKey)),
        (Fault::WrongType, Outcome::Format, Some(Code::WrongType)),
        (Fault::BadEnum, Outcome::Format, Some(Code::BadEnum)),
        (Fault::OutOfRange, Outcome::Format, Some(Code::OutOfRange)),
        (Fault::Nan, Outcome::Format, None),
        (Fault::MissingClaim, Outcome::Content, Some(Code::UncoveredSentence)),
        (Fault::DuplicateClaim, Outcome::Content, Some(Code::DuplicateClaim)),
        (Fault::InventedClaim, Outcome::Content, Some(Code::InventedClaim)),
        (Fault::FabricatedQuote, Outcome::Content, Some(Code::FabricatedQuote)),
        (Fault::WrongSource, Outcome::Content, Some(Code::WrongSource)),
        (Fault::MissingQuote, Outcome::Content, Some(Code::MissingQuote)),
        (Fault::UnknownSource, Outcome::Content, Some(Code::UnknownSource)),
        (Fault::Refusal, Outcome::Refusal, Some(Code::Refused)),
        (Fault::CountMismatch, Outcome::Accepted, None),
        (Fault::Fenced, Outcome::Accepted, None),
        (Fault::Think, Outcome::Accepted, None),
        (Fault::Nul, Outcome::Accepted, None),
    ] {
        let server = start(Settings { faults: Faults::always(fault), ..Settings::default() }).await;
        let raw = ask(&server, &trace).await;
        assert_eq!(raw.header("groundcrew-practice-fault"), Some(fault.as_str()));
        let assessment = assess(&trace, &raw);
        assert_eq!(assessment.outcome, outcome, "{fault}: {assessment:?}");
        let codes: Vec<Code> = assessment.problems.iter().map(|problem| problem.code).collect();
        assert!(code.is_none_or(|code| codes == [code]), "{fault}: {codes:?}");
    }
}
