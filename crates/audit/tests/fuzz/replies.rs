//! The fuzz target for reading and verifying replies: nothing panics, and what is accepted is sound.
//!
//! An input is a head of four bytes and a body. The head chooses the kind, the trace, the finish
//! reason, and what the body is: the reply itself, or orders to change a valid one
//! ([`super::mutation`]).

use std::cell::RefCell;
use std::collections::HashMap;

use audit::kinds::Spec;
use audit::{
    Assessment, Evidence, MatchGrade, Outcome, Passage, Report, Span, Unit, assess, kinds, text, units,
};
use serde_json::{Value, json};
use trace::{Chunk, Kind, Trace};
use unicode_normalization::UnicodeNormalization;

use super::mutation::{Orders, changed};

/// Makes a valid reply about a trace.
type Start = fn(&Trace) -> Value;

/// A valid reply of each kind to start from; a kind without one starts from the first.
const REPLIES: &[(Kind, Start)] = &[
    (Kind::Faithfulness, faithfulness),
    (Kind::HallucinationEval, hallucination_eval),
    (Kind::Reference, reference),
    (Kind::EvidenceCheck, evidence_check),
    (Kind::Gate, gate),
];

const FINISH_REASONS: [Option<&str>; 5] =
    [None, Some("stop"), Some("length"), Some("content_filter"), Some("\u{0}?")];

/// One input of the fuzzer; returns what the reply turned out to be.
pub fn check(input: &[u8]) -> Outcome {
    thread_local! {
        static TRACES: Vec<Trace> = traces();
        static STARTS: RefCell<HashMap<(Kind, String), Value>> = RefCell::default();
    }
    TRACES.with(|traces| {
        let mut orders = Orders::new(input);
        let spec = *orders.one_of(kinds::ALL);
        let kind = spec.kind;
        let trace = orders.one_of(traces);
        let finish_reason = *orders.one_of(&FINISH_REASONS);
        let mode = orders.byte();
        let content = if mode.is_multiple_of(2) {
            String::from_utf8_lossy(orders.rest()).into_owned()
        } else {
            let (kind, start) = REPLIES.iter().find(|(known, _)| *known == kind).unwrap_or(&REPLIES[0]);
            let key = (*kind, trace.trace_id.clone());
            let reply =
                STARTS.with_borrow_mut(|starts| starts.entry(key).or_insert_with(|| start(trace)).clone());
            changed(reply, trace, &mut orders)
        };
        let section = Span { start: 3, end: usize::from(mode) };
        let unit = match mode & 14 {
            6 => Unit::Section(section),
            14 => Unit::Extraction(None),
            _ => units::whole(spec, trace, None),
        };
        let assessment = assess(kind, trace, &unit, &content, finish_reason).unwrap();
        is_sound(&assessment, trace, &unit, spec);
        assessment.outcome
    })
}

fn is_sound(assessment: &Assessment, trace: &Trace, unit: &Unit, spec: &Spec) {
    let is_accepted = assessment.outcome == Outcome::Accepted;
    assert_eq!(is_accepted, assessment.problems.is_empty());
    for problem in &assessment.problems {
        assert!(problem.path.starts_with('$'), "{problem:?}");
        assert!(!problem.message.is_empty(), "{problem:?}");
    }
    let lists_only = matches!(unit, Unit::Extraction(_));
    let has_report = !lists_only && matches!(assessment.outcome, Outcome::Accepted | Outcome::Content);
    assert_eq!(has_report, assessment.report.is_some());
    let Some(report) = &assessment.report else { return };
    is_sound_report(report, trace, &spec.basis.passages(trace));
    // Every number is one that JSON has.
    assert!(!serde_json::to_value(report).unwrap().is_null());
}

fn is_sound_report(report: &Report, trace: &Trace, passages: &[Passage<'_>]) {
    for share in [report.score, report.coverage].into_iter().flatten() {
        assert!((0.0..=100.0).contains(&share), "{share}");
    }
    let answer = trace.answer.as_deref().unwrap_or_default();
    for claim in &report.claims {
        if let Some(span) = claim.answer_span {
            assert!(is_within(span, answer), "{claim:?}");
        }
        claim.evidence.iter().for_each(|found| stands_there(found, passages));
    }
    for omission in &report.omissions {
        let passage = &passages[omission.chunk];
        assert_eq!(omission.source_id, passage.source_id);
        assert!(is_within(omission.span, passage.text));
    }
    for doubt in &report.doubts {
        assert!(doubt.path.starts_with('$'), "{doubt:?}");
        assert!(doubt.claim.is_none_or(|claim| claim < report.claims.len()), "{doubt:?}");
    }
}

fn is_within(span: Span, text: &str) -> bool {
    span.start <= span.end && span.end <= text.chars().count()
}

/// A quote that was found must have the letters and digits of the place, whatever its typography.
fn stands_there(found: &Evidence, passages: &[Passage<'_>]) {
    let passage = &passages[found.chunk];
    let text = passage.text;
    assert_eq!(found.source_id, passage.source_id);
    assert!(is_within(found.span, text), "{found:?}");
    let place = text::slice(text, found.span);
    match found.grade {
        MatchGrade::Exact => assert_eq!(place, found.quote.trim()),
        MatchGrade::Normalised | MatchGrade::CaseFolded => {
            assert_eq!(letters(place), letters(&found.quote), "{found:?}");
        }
        MatchGrade::Elided => assert!(!letters(place).is_empty(), "{found:?}"),
    }
}

/// Letters and digits in one spelling, found in another way than the verification does it.
fn letters(text: &str) -> String {
    let escapes = ["&amp;", "&lt;", "&gt;", "&nbsp;", "&quot;", "\\n", "\\r", "\\t"];
    let bare = escapes.iter().fold(text.to_owned(), |text, escape| text.replace(escape, " "));
    let composed: String = bare.nfkc().collect();
    let lower = composed.to_lowercase().replace('ß', "ss").replace('ς', "σ");
    lower.nfkc().filter(|c| c.is_alphanumeric() && *c != '\u{640}').map(western).collect()
}

/// The digits of the scripts that have their own.
fn western(c: char) -> char {
    const ZEROS: [char; 5] = ['٠', '۰', '०', '๐', '၀'];
    let value =
        ZEROS.iter().filter_map(|zero| u32::from(c).checked_sub(u32::from(*zero))).find(|value| *value < 10);
    value.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

/// A reply of the kind `faithfulness` that is accepted as long as no order changes it.
fn faithfulness(trace: &Trace) -> Value {
    let says = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
    let chunks: Vec<&Chunk> =
        trace.chunks().iter().filter(|chunk| says(&chunk.text) && says(&chunk.source_id)).collect();
    let claims = text::sentences(trace.answer.as_deref().unwrap_or_default());
    let claims = claims.iter().filter(|sentence| sentence.is_statement()).enumerate().map(|(at, sentence)| {
        let chunk = chunks.get(at % chunks.len().max(1));
        let quote = chunk.and_then(|chunk| chunk.text.as_deref()).map(str::trim);
        json!({
            "claim_text": sentence.text,
            "classification": if chunk.is_some() { "grounded" } else { "hallucinated" },
            "supporting_evidence": quote, "contradicting_evidence": null, "explanation": "As the passage says.",
            "severity": if chunk.is_some() { None } else { Some("minor") },
            "source_id": chunk.and_then(|chunk| chunk.source_id.as_deref()),
        })
    });
    let claims: Vec<Value> = claims.collect();
    let passage = chunks.last().and_then(|chunk| chunk.text.as_deref());
    let omission = passage
        .map(|passage| json!({"omitted_fact": "More.", "source_passage": passage, "relevance": "Some."}));
    json!({
        "faithfulness_score": 1.0, "total_claims": claims.len(), "grounded_claims": claims.len(),
        "hallucinated_claims": 0, "omitted_facts": 1, "claim_analysis": claims,
        "omission_flags": omission.into_iter().collect::<Vec<_>>(), "overall_assessment": "Fine.",
    })
}

/// A faithfulness reply in the words of another kind.
fn in_words_of(trace: &Trace, claim: impl Fn(usize, &Value) -> Value) -> Vec<Value> {
    let reply = faithfulness(trace);
    reply["claim_analysis"].as_array().unwrap().iter().enumerate().map(|(at, it)| claim(at, it)).collect()
}

fn is_grounded(claim: &Value) -> bool {
    claim["classification"] == "grounded"
}

fn hallucination_eval(trace: &Trace) -> Value {
    let claims = in_words_of(trace, |_, claim| {
        json!({
            "claim_text": claim["claim_text"], "source_evidence": claim["supporting_evidence"],
            "evidence_source": claim["source_id"], "notes": "", "confidence": "HIGH",
            "classification": if is_grounded(claim) { "SUPPORTED" } else { "UNSUPPORTED" },
            "fabrication": if is_grounded(claim) { None } else { Some("likely") },
        })
    });
    json!({
        "claims": claims, "total_claims": claims.len(), "supported_claims": claims.len(), "unsupported_claims": 0,
        "contradicted_claims": 0, "groundedness_score": 100, "overall_assessment": "Fine.",
    })
}

fn reference(trace: &Trace) -> Value {
    let claims = in_words_of(trace, |at, claim| {
        json!({
            "claim_id": (at + 1).to_string(), "claim_text": claim["claim_text"], "reference_evidence": null,
            "explanation": "", "category": "unsupported", "severity": "minor",
        })
    });
    let summary = json!({"total_claims": claims.len(), "grounded_count": 0, "hallucinated_count": 0,
        "unsupported_count": claims.len()});
    json!({"analysis": claims, "summary": summary})
}

fn evidence_check(trace: &Trace) -> Value {
    let claims = in_words_of(trace, |at, claim| {
        json!({
            "claim_id": at + 1, "claim_text": claim["claim_text"], "answer_span": "0-9",
            "supporting_source": claim["supporting_evidence"], "source_location": claim["source_id"],
            "missing_evidence_description": if is_grounded(claim) { None } else { Some("A source.") },
            "verdict": if is_grounded(claim) { "SUPPORTED" } else { "UNSUPPORTED" }, "confidence": "LOW",
        })
    });
    let counts = json!({"total_claims": claims.len(), "supported_claims": claims.len(), "unsupported_claims": 0,
        "insufficient_evidence_claims": 0, "hallucination_ratio": 0.0});
    json!({"claims": claims, "overall_assessment": counts})
}

fn gate(trace: &Trace) -> Value {
    let claims = in_words_of(trace, |_, claim| {
        json!({
            "claim_text": claim["claim_text"], "source_quote": claim["supporting_evidence"],
            "source_id": claim["source_id"], "confidence": "HIGH",
            "verdict": if is_grounded(claim) { "grounded" } else { "ungrounded" },
        })
    });
    let all = claims.iter().all(|claim| claim["verdict"] == "grounded");
    json!({"claims": claims, "overall_verdict": if all { "grounded" } else { "ungrounded" }})
}

/// The traces that the replies are about.
fn traces() -> Vec<Trace> {
    let trace = |query: &str, answer: &str, chunks: &[(&str, &str)]| -> Trace {
        let chunks: Vec<Value> =
            chunks.iter().map(|(id, text)| json!({"source_id": id, "text": text})).collect();
        serde_json::from_value(json!({
            "schema": trace::SCHEMA, "trace_id": query, "project": "fuzz", "query": query, "answer": answer,
            "retrieval": {"chunks": chunks}
        }))
        .unwrap()
    };
    vec![
        trace(
            "When does the swimming pool open?",
            "The pool opens at 7:30 a.m. and closes at 21:00. A ticket costs €4.50 [pool#2]. Children under 6 swim for free.",
            &[
                ("pool", "The pool is open from 7:30 to 21:00, on Sundays until 18:00."),
                (
                    "pool#2",
                    "Tickets: 4.50 € for adults, 2.80 € for pupils; children under six years swim free of charge.",
                ),
                ("pool", "The “old basin” — built in 1931 — holds 1,200 m³ of water…"),
            ],
        ),
        trace(
            "塔の高さは？",
            "タワーの高さは333メートルです。1958年に完成しました。\nหอคอยสูง 333 เมตร สร้างเสร็จในปี 2501\nارتفاع البرج ٣٣٣ مترا.",
            &[
                (
                    "東京",
                    "東京タワーは1958年に完成した高さ333メートルの電波塔である。「赤い塔」とも呼ばれる。",
                ),
                ("ไทย", "หอคอยนี้สูง 333 เมตร สร้างเสร็จในปี พ.ศ. 2501 และเปิดให้ประชาชนเข้าชมทุกวัน"),
                ("عربي", "يبلغ ارتفاع البرج ٣٣٣ مترا، وقد اكتمل بناؤه عام ١٩٥٨."),
            ],
        ),
        trace(
            "What does the contract say?",
            "Here are the rules:\r\n\r\n1. **Notice** is three months (§ 4).\r\n2. The deposit is *non-refundable*[1].\r\n\r\n| a | b |\r\n|---|---|\r\n| 10² | 5½ |\r\n\r\nSources: [contract](https://example.com/a?b=c)",
            &[
                (
                    "contract, part 1",
                    "Notice\u{a0}period: 3 months.\r\nThe depo\u{ad}sit is non-refund-\r\nable &amp; due on 3 May\u{200b} 2024.",
                ),
                (
                    "contract, part 1",
                    "# Annex\n\n* 10² items\n* 5½ hours; Vie\u{323}\u{302}t Nam, Straße, ﬁne, ΣΟΦΟΣ, \\n escaped",
                ),
                ("", "A text without an id."),
            ],
        ),
        trace("Anything?", "", &[]),
        trace(
            "Is it true?",
            "Yes.",
            &[
                ("one", ""),
                ("two", "😀 👩\u{200d}🚒 1\u{fe0f}\u{20e3} \u{202e}abc\u{202c} e\u{301}"),
                ("none", "It is true."),
            ],
        ),
        trace(
            "How many?",
            "Between 3 million and 5 million, 12,34,567 or 1.234.567,89; 50 % on 2024-05-03 at 6.10 pm; 三百五十 and １２; XIV, twenty-five, 2 000.",
            &[(
                "numbers",
                "3 to 5 million. 12,34,567. 1.234.567,89. Fifty percent, 3 May 2024, 18:10. 350 and 12. 14th, 25, 2,000.",
            )],
        ),
    ]
}
