//! What holds for every reply, every quote and every text.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use audit::text::{self, sentences};
use audit::verify::{Corpus, Missing, Scope};
use audit::{MatchGrade, Outcome, Span, Unit, assess, reply};
use proptest::prelude::*;
use serde_json::json;
use trace::{Chunk, Kind, Retrieval, Trace};
use unicode_normalization::UnicodeNormalization;

const KEYS: &[&str] = &["faithfulness_score", "claim_analysis"];

fn trace(answer: &str, chunks: &[&str]) -> Trace {
    let chunk = |(at, text): (usize, &&str)| Chunk {
        source_id: Some(format!("s{at}")),
        text: Some((*text).to_owned()),
        ..Chunk::default()
    };
    let chunks = Some(chunks.iter().enumerate().map(chunk).collect());
    Trace {
        query: Some("What is known?".into()),
        answer: Some(answer.to_owned()),
        retrieval: Some(Retrieval { chunks, ..Retrieval::default() }),
        ..serde_json::from_value(json!({"schema": trace::SCHEMA, "trace_id": "t", "project": "p"})).unwrap()
    }
}

/// Words and marks of several scripts, as evidence has them.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["mill", "River", "the", "of", "it’s", "well-known", "B12", "café", "größer", "naïve", "Ulm,", "end.", "(so", "far)", "“quoted”", "–", "**bold**", "R&D", "l'eau", "e.g.", "U.S.", "…"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["23:10", "2,000", "10.5", "2010", "50%", "-5", "10–15", "3rd", "10²", "½", "٢٠٢٤", "1.", "12"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["東京タワー", "は高い。", "รถไฟ", "الحافلة", "в", "городе", "한국어는", "😀"]).prop_map(str::to_owned),
        1 => "[a-zà-ÿ]{1,9}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        (word(), prop::sample::select(vec![" ", " ", " ", "  ", "\n", "\u{a0}", " \t"])),
        1..40,
    )
    .prop_map(|parts| parts.into_iter().map(|(word, space)| format!("{word}{space}")).collect())
}

/// A text, and the byte range of a stretch of it that begins and ends at white space.
fn text_and_stretch() -> impl Strategy<Value = (String, std::ops::Range<usize>)> {
    (text(), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(text, one, other)| {
        let words: Vec<(usize, usize)> = text
            .split_whitespace()
            .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word.len()))
            .collect();
        let (one, other) = (one.index(words.len()), other.index(words.len()));
        let (first, last) = (words[one.min(other)], words[one.max(other)]);
        let range = first.0..last.0 + last.1;
        (text, range)
    })
}

fn found_text(text: &str, span: Span) -> String {
    text.chars().skip(span.start).take(span.end - span.start).collect()
}

/// What a careful judge may do to a quote without changing its words.
fn typography(quote: &str, which: usize) -> String {
    match which {
        0 => quote.split_whitespace().collect::<Vec<_>>().join(" "),
        1 => quote.replace(' ', "\u{a0}"),
        2 => quote.replace(['“', '”'], "\"").replace('’', "'"),
        3 => quote.replace('–', "-"),
        4 => quote.nfd().collect(),
        5 => quote.to_uppercase(),
        6 => quote.replace("**", ""),
        _ => format!("\"{quote}\""),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_quote_cut_at_spaces_is_found_where_it_stands((text, range) in text_and_stretch()) {
        let quote = &text[range];
        prop_assume!(quote.chars().any(char::is_alphanumeric));
        let trace = trace("", &["Something else.", &text]);
        let found = Corpus::new(&trace).find(quote, Scope::Only(&[1])).unwrap();
        prop_assert_eq!(found.grade, MatchGrade::Exact);
        prop_assert_eq!(found_text(&text, found.span), quote);
    }

    #[test]
    fn typography_does_not_hide_a_quote((text, range) in text_and_stretch(), which in 0_usize..8) {
        let quote = &text[range];
        prop_assume!(quote.chars().any(char::is_alphanumeric));
        let changed = typography(quote, which);
        let trace = trace("", &[&text]);
        let found = Corpus::new(&trace).find(&changed, Scope::Anywhere);
        prop_assert!(found.is_ok(), "{:?} of {:?}", changed, text);
    }

    #[test]
    fn a_quote_with_a_foreign_word_is_never_found((text, range) in text_and_stretch(), at in any::<prop::sample::Index>()) {
        let mut words: Vec<&str> = text[range].split_whitespace().collect();
        let at = at.index(words.len() + 1);
        words.insert(at, "quetzalcoatl");
        let trace = trace("", &[&text]);
        let missing = Corpus::new(&trace).find(&words.join(" "), Scope::Anywhere);
        prop_assert!(matches!(missing, Err(Missing::Nowhere(_))));
    }

    #[test]
    fn a_quote_with_another_digit_is_never_found(number in 10_u32..99_999, other in 10_u32..99_999, (before, _) in text_and_stretch()) {
        prop_assume!(number != other && !before.contains(&other.to_string()));
        let text = format!("{before} exactly {number} items were counted {before}");
        let trace = trace("", &[&text]);
        let quote = format!("exactly {other} items were counted");
        prop_assert!(Corpus::new(&trace).find(&quote, Scope::Anywhere).is_err());
    }

    #[test]
    fn nothing_panics_on_any_reply(content in reply_like(), answer in text(), finish in prop::option::of("length|stop|content_filter")) {
        let trace = trace(&answer, &[&answer]);
        let assessment = assess(Kind::Faithfulness, &trace, &Unit::Whole, &content, finish.as_deref()).unwrap();
        prop_assert_eq!(assessment.outcome == Outcome::Accepted, assessment.problems.is_empty());
    }

    #[test]
    fn nothing_panics_on_any_text(content in "\\PC{0,200}", other in any::<String>()) {
        let _ = reply::extract(&content, None, KEYS);
        let _ = reply::extract(&other, Some("length"), KEYS);
        let trace = trace(&other, &[&content, &other]);
        let reply = json!({
            "faithfulness_score": 0.0, "total_claims": 1, "grounded_claims": 0, "hallucinated_claims": 1, "omitted_facts": 1,
            "claim_analysis": [{"claim_text": content, "classification": "hallucinated", "supporting_evidence": other,
                "contradicting_evidence": content, "explanation": "", "severity": "minor", "source_id": other}],
            "omission_flags": [{"omitted_fact": content, "source_passage": other, "relevance": ""}], "overall_assessment": ""
        });
        let _ = assess(Kind::Faithfulness, &trace, &Unit::Section(Span { start: 3, end: 9 }), &reply.to_string(), None);
    }

    #[test]
    fn spans_are_in_order_and_within_the_text(text in prop_oneof![text(), any::<String>(), "(\\PC|\n| |[0-9.,:]){0,80}"]) {
        let length = text.chars().count();
        let mut last = 0;
        for sentence in sentences(&text) {
            prop_assert!(last <= sentence.span.start && sentence.span.start < sentence.span.end && sentence.span.end <= length);
            last = sentence.span.end;
        }
        let mut last = 0;
        for number in text::numbers(&text) {
            prop_assert!(last <= number.span.start && number.span.start < number.span.end && number.span.end <= length);
            prop_assert_eq!(found_text(&text, number.span), number.text);
            last = number.span.end;
        }
    }

    #[test]
    fn composed_and_decomposed_texts_are_judged_alike((evidence, range) in text_and_stretch(), answer in text(), ways in 0_u8..8) {
        let quote = evidence[range].to_owned();
        let outcome = |ways: u8| {
            let form = |text: &str, way: u8| if ways & way == 0 { text.nfc().collect::<String>() } else { text.nfd().collect() };
            let reply = json!({
                "faithfulness_score": 1.0, "total_claims": 1, "grounded_claims": 1, "hallucinated_claims": 0, "omitted_facts": 0,
                "claim_analysis": [{"claim_text": form(&answer, 2), "classification": "grounded", "supporting_evidence": form(&quote, 2),
                    "contradicting_evidence": null, "explanation": "", "severity": null, "source_id": "s0"}],
                "omission_flags": [], "overall_assessment": ""
            });
            let trace = trace(&form(&answer, 1), &[&form(&evidence, 4)]);
            let assessment = assess(Kind::Faithfulness, &trace, &Unit::Whole, &reply.to_string(), None).unwrap();
            let report = assessment.report.unwrap_or_default();
            let codes: Vec<_> = assessment.problems.into_iter().map(|problem| (problem.code, problem.path)).collect();
            let doubts: Vec<_> = report.doubts.into_iter().map(|doubt| doubt.code).collect();
            (assessment.outcome, codes, doubts, report.coverage.map(|coverage| (coverage * 1e6).round()))
        };
        prop_assert_eq!(outcome(0), outcome(ways));
    }
}

/// Texts that look a little like replies.
fn reply_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'",
        ":",
        ",",
        " ",
        "\n",
        "\\",
        "\"faithfulness_score\": 1",
        "\"claim_analysis\": [",
        "null",
        "NaN",
        "1.5",
        "```json\n",
        "```",
        "<think>",
        "</think>",
        "{\"a\": 1}",
        "{\"faithfulness_score\": 0.5}",
        "{\"claim_analysis\": [{}]}",
        "text",
        "é",
        "\u{feff}",
        "\\ud83d",
        "◁think▷",
        "◁/think▷",
        "</THINKING>",
        "[{",
        "I'm sorry, I can't help.",
        "{user}",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}
