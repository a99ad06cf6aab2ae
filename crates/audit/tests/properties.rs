//! What holds for every reply, every quote and every text.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use audit::text::{self, sentences};
use audit::verify::{Alteration, Corpus, Missing, Scope};
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
        2 => prop::sample::select(vec!["東京タワー", "は高い。", "「港」の", "ｶﾅ", "รถไฟ", "ที่น้ำ", "الحافلة", "كِتَاب", "עברית", "हिन्दी", "क्षेत्र", "в", "городе", "Ёлка", "ΣΟΦΟΣ", "한국어는", "\u{1112}\u{1161}\u{11ab}", "မြန်မာ"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["e\u{301}te\u{301}", "a\u{325}\u{302}", "Vie\u{323}\u{302}t", "😀", "👩\u{200d}🚒", "☕\u{fe0f}", "1\u{fe0f}\u{20e3}", "zero\u{200b}width", "soft\u{ad}hyphen", "\u{feff}mark", "\u{202b}אב\u{202c}", "ﬁne", "Ⅻ", "n\u{0}l"]).prop_map(str::to_owned),
        // Letters of which no scale word is made: `3` alone is not what `3 mil` says.
        1 => "[a-gà-ÿ]{1,9}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        (
            word(),
            prop::sample::select(vec![
                " ",
                " ",
                " ",
                "  ",
                "\n",
                "\r\n",
                "\r\n\r\n",
                "\u{a0}",
                " \t",
                "\u{3000}",
                "\u{200b} ",
            ]),
        ),
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

/// A text of a script that writes no spaces, and any stretch of it that does not begin with a mark
/// or end before one.
fn unspaced_and_stretch() -> impl Strategy<Value = (String, std::ops::Range<usize>)> {
    let piece = prop::sample::select(vec![
        "東京",
        "タワー",
        "は",
        "高い",
        "。",
        "市場",
        "に",
        "ある",
        "รถไฟ",
        "สถานี",
        "ที่",
        "น้ำ",
        "ภูเขา",
        "ຕະຫຼາດ",
        "ផ្សារ",
        "🗼",
    ]);
    let text = prop::collection::vec(piece, 1..30).prop_map(|pieces| pieces.concat());
    (text, any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_filter_map(
        "says nothing",
        |(text, one, other)| {
            let is_mark = unicode_normalization::char::is_combining_mark;
            let mut cuts: Vec<usize> =
                text.char_indices().filter(|(_, c)| !is_mark(*c)).map(|(at, _)| at).collect();
            cuts.push(text.len());
            let (one, other) = (cuts[one.index(cuts.len())], cuts[other.index(cuts.len())]);
            let range = one.min(other)..one.max(other);
            text[range.clone()].chars().any(char::is_alphanumeric).then_some((text, range))
        },
    )
}

/// Words that no text of [`text`] has.
fn foreign_word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "quetzalcoatl",
        "Xylophon",
        "хоккей",
        "χάος",
        "القمر",
        "ירח",
        "ไดโนเสาร์",
        "鰻重",
        "ヱビス",
        "호랑이",
        "जिराफ़",
        "x\u{301}y\u{323}",
        "31415",
    ])
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_quote_cut_at_spaces_is_found_where_it_stands((text, range) in text_and_stretch()) {
        let quote = &text[range.clone()];
        prop_assume!(quote.chars().any(char::is_alphanumeric));
        let trace = trace("", &["Something else.", &text]);
        let found = Corpus::new(&trace).find(quote, Scope::Only(&[1])).unwrap();
        prop_assert_eq!(found.grade, MatchGrade::Exact);
        prop_assert_eq!(found_text(&text, found.span), quote);
        // The same words may stand earlier, too.
        let start = text[..range.start].chars().count();
        let is_only = text.find(quote) == text.rfind(quote);
        prop_assert!(found.span.start == start || (!is_only && found.span.start < start));
    }

    #[test]
    fn a_quote_cut_anywhere_is_found_in_scripts_without_spaces((text, range) in unspaced_and_stretch()) {
        let trace = trace("", &[&text]);
        let found = Corpus::new(&trace).find(&text[range.clone()], Scope::Anywhere).unwrap();
        prop_assert_eq!(found.grade, MatchGrade::Exact);
        prop_assert_eq!(found_text(&text, found.span), &text[range]);
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
    fn a_quote_with_a_foreign_word_is_never_found(
        (text, range) in text_and_stretch(), foreign in foreign_word(), at in any::<prop::sample::Index>(),
        between in prop::sample::select(vec![" ", " ... ", "\n", "\" and \"", "\u{a0}", "  "]), which in 0_usize..8,
    ) {
        let mut words: Vec<&str> = text[range].split_whitespace().collect();
        let at = at.index(words.len() + 1);
        words.insert(at, foreign);
        let trace = trace("", &[&text, "Something else."]);
        let quote = typography(&words.join(between), which);
        let missing = Corpus::new(&trace).find(&quote, Scope::Only(&[0]));
        prop_assert!(matches!(missing, Err(Missing::Nowhere(_))), "{:?} in {:?}: {:?}", quote, text, missing);
    }

    #[test]
    fn foreign_characters_are_never_found_in_scripts_without_spaces(
        (text, range) in unspaced_and_stretch(), foreign in prop::sample::select(vec!["鰻", "ฮูก", "ヱビス", "7", "x"]),
        at in any::<prop::sample::Index>(),
    ) {
        let mut chars: Vec<char> = text[range].chars().collect();
        let at = at.index(chars.len() + 1);
        chars.splice(at..at, foreign.chars());
        let trace = trace("", &[&text]);
        let quote: String = chars.into_iter().collect();
        prop_assert!(Corpus::new(&trace).find(&quote, Scope::Anywhere).is_err(), "{:?} in {:?}", quote, text);
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
    fn markup_around_words_does_not_hide_a_quote(
        words in prop::collection::vec("[a-z]{4,9}", 3..12), at in any::<prop::sample::Index>(),
        marked in prop::sample::select(vec![
            "<b>W</b>", "<a href=\"x\">W</a>", "[W](https://x.example/a)", "W[3]", "W<sup>4</sup>", "<i>W</i>&nbsp;", "**W**",
        ]),
    ) {
        let at = at.index(words.len());
        let quote = words.join(" ");
        let mut parts = words.clone();
        parts[at] = marked.replace('W', &words[at]);
        let text = format!("Before it. {} After it.", parts.join(" "));
        let trace = trace("", &[&text]);
        let found = Corpus::new(&trace).find(&quote, Scope::Anywhere);
        prop_assert!(found.is_ok(), "{quote:?} in {text:?}");
        let found = found.unwrap();
        // The same words may stand beside each other without markup, too.
        prop_assert!(found.grade <= MatchGrade::Normalised);
        let shown = found_text(&text, found.span);
        prop_assert!(at == 0 || shown.starts_with(&words[0]), "{shown:?}");
        prop_assert!(at + 1 == words.len() || shown.ends_with(words[words.len() - 1].as_str()), "{shown:?}");
        prop_assert!(found.span.start >= "Before it. ".len());
    }

    #[test]
    fn an_elision_never_hides_a_denial(
        before in prop::collection::vec("[b-z]{5,9}", 2..5), after in prop::collection::vec("[b-z]{5,9}", 2..5),
        denial in prop::sample::select(vec!["not", "never", "nicht", "jamais", "isn't", "unless", "не"]),
        gap in prop::sample::select(vec![" ... ", " […] ", "\n"]),
    ) {
        let (before, after) = (before.join(" "), after.join(" "));
        let text = format!("{before} {denial} {after}");
        let trace = trace("", &[&text]);
        let found = Corpus::new(&trace).find(&format!("{before}{gap}{after}"), Scope::Anywhere);
        // Words of another sense may be found by chance; what is found is never silent about the denial.
        prop_assert!(found.is_err() || found.is_ok_and(|found| found.alterations.contains(&Alteration::DenialElided)));
    }

    #[test]
    fn case_and_dress_of_an_id_do_not_count(id in "[a-z]{2,8}[-_.][a-z0-9]{2,6}", dress in 0_usize..6, upper in any::<bool>()) {
        let mut trace = trace("", &["Dogs are allowed.", "Cats are not."]);
        let chunks = trace.retrieval.as_mut().and_then(|retrieval| retrieval.chunks.as_mut()).unwrap();
        chunks[1].source_id = Some(id.clone());
        let written = if upper { id.to_uppercase() } else { id.clone() };
        let written = match dress {
            0 => written,
            1 => format!("[{written}]"),
            2 => format!("source: {written}"),
            3 => format!("\"{written}\""),
            4 => format!("{written}, page 3"),
            _ => format!("chunk {written}"),
        };
        let corpus = Corpus::new(&trace);
        prop_assert_eq!(corpus.resolve(&written).map(|(found, _)| found), Some(id.as_str()), "{}", written);
        let longer = format!("x{}", id);
        prop_assert_eq!(corpus.resolve(&longer), None);
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
    fn nothing_panics_on_any_bytes(reply in any::<Vec<u8>>(), quote in any::<Vec<u8>>(), evidence in any::<Vec<u8>>()) {
        let (reply, quote) = (String::from_utf8_lossy(&reply), String::from_utf8_lossy(&quote));
        let evidence = String::from_utf8_lossy(&evidence);
        let trace = trace(&quote, &[&evidence, &quote, &format!("{evidence}{quote}{evidence}")]);
        let _ = assess(Kind::Faithfulness, &trace, &Unit::Whole, &reply, None);
        let corpus = Corpus::new(&trace);
        for scope in [Scope::Anywhere, Scope::Only(&[0]), Scope::Only(&[])] {
            let _ = corpus.find(&quote, scope);
        }
        let _ = (corpus.resolve(&quote).is_some(), text::words(&evidence), text::numbers(&evidence));
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
