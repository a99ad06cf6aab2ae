//! What is left of answers of many shapes and languages.

use proptest::prelude::*;

use super::*;
use crate::report::Verdict;

/// One claim for each statement; those that hold one of the words are not grounded.
fn claims(answer: &str, failed: &[&str]) -> Vec<Claim> {
    text::sentences(answer)
        .into_iter()
        .filter(Sentence::is_statement)
        .map(|sentence| {
            let fails = failed.iter().any(|word| sentence.text.contains(word));
            let verdict = if fails { Verdict::Unsupported } else { Verdict::Grounded };
            Claim { answer_span: Some(sentence.span), ..Claim::new(sentence.text, verdict) }
        })
        .collect()
}

fn without(answer: &str, failed: &[&str]) -> Option<String> {
    redact(answer, &claims(answer, failed))
}

#[test]
fn whole_sentences_go_and_the_rest_stays_as_it_was() {
    for (answer, failed, left) in [
        ("The mill is old. It has 3 wheels. It still turns.", "wheels", "The mill is old. It still turns."),
        ("The mill is old. It has 3 wheels.", "wheels", "The mill is old."),
        ("It has 3 wheels. The mill  is old.", "wheels", "The mill  is old."),
        (
            "The mill is old [1]. It has 3 wheels [2][3]. It still turns [1].",
            "wheels",
            "The mill is old [1]. It still turns [1].",
        ),
        ("It is **old**. **It has 3 wheels.** It turns.", "wheels", "It is **old**. It turns."),
        ("The mill is old (it has 3 wheels).\nIt turns daily.", "wheels", "It turns daily."),
        (
            "He said: \"The mill is old. It has 3 wheels.\" We agree with him.",
            "wheels",
            "He said: \"The mill is old.\" We agree with him.",
        ),
    ] {
        assert_eq!(without(answer, &[failed]).as_deref(), Some(left), "{answer}");
    }
}

#[test]
fn list_items_go_with_their_marks_and_a_lead_in_with_its_list() {
    let answer = "The town has:\n\n- A mill from 1820.\n- A bell of 900 kg.\n\nBoth can be seen.";
    assert_eq!(
        without(answer, &["bell"]).as_deref(),
        Some("The town has:\n\n- A mill from 1820.\n\nBoth can be seen.")
    );
    assert_eq!(without(answer, &["bell", "mill"]).as_deref(), Some("Both can be seen."));
    let numbered = "Do this:\n1. Switch it off.\n2) Wait for 10 minutes.\n3. Open the lid.";
    assert_eq!(
        without(numbered, &["minutes"]).as_deref(),
        Some("Do this:\n1. Switch it off.\n3. Open the lid.")
    );
    let nested =
        "# Sights\n* The mill is old. It has 3 wheels.\n  * It was built in 1820.\n* The bell weighs 900 kg.";
    assert_eq!(
        without(nested, &["wheels", "1820"]).as_deref(),
        Some("# Sights\n* The mill is old.\n* The bell weighs 900 kg.")
    );
    let inline = "Here are two facts: The mill is old. The bell is new.\nCome and see them.";
    assert_eq!(without(inline, &["mill", "bell"]).as_deref(), Some("Come and see them."));
}

#[test]
fn languages_without_spaces_or_full_stops() {
    for (answer, failed, left) in [
        (
            "東京タワーは高い。高さは333メートルです。夜は光ります。",
            "333",
            "東京タワーは高い。夜は光ります。",
        ),
        ("「塔は高い。高さは333メートルです。」と彼は言った。", "333", "「塔は高い。」と彼は言った。"),
        ("这座塔很高。高度是333米。晚上会亮。", "333", "这座塔很高。晚上会亮。"),
        ("الحافلة تعمل حتى ٢. القطار سريع جدا. المحطة قريبة.", "سريع", "الحافلة تعمل حتى ٢. المحطة قريبة."),
        ("รถบัสวิ่งถึงตีสอง\nรถไฟเร็วมาก\nสถานีอยู่ใกล้", "เร็ว", "รถบัสวิ่งถึงตีสอง\nสถานีอยู่ใกล้"),
        ("मिल पुरानी है। इसमें 3 पहिए हैं। यह चलती है।", "पहिए", "मिल पुरानी है। यह चलती है।"),
    ] {
        assert_eq!(without(answer, &[failed]).as_deref(), Some(left), "{answer}");
    }
}

/// Claims about one sentence.
fn parts(answer: &str, claims: &[(&str, Verdict)]) -> Option<String> {
    let [first, second] = &text::sentences(answer)[..] else { panic!("two sentences: {answer}") };
    let claim = |(text, verdict): &(&str, Verdict)| Claim {
        answer_span: Some(first.span),
        ..Claim::new(*text, *verdict)
    };
    let mut claims: Vec<Claim> = claims.iter().map(claim).collect();
    claims.push(Claim { answer_span: Some(second.span), ..Claim::new(&*second.text, Verdict::Grounded) });
    redact(answer, &claims)
}

#[test]
fn a_last_clause_goes_alone_when_the_rest_of_its_sentence_is_grounded() {
    use Verdict::{Contradicted, Grounded, Unsupported};
    let last = parts(
        "The mill opened in 1820, and it has three huge wheels of oak. It turns.",
        &[("The mill opened in 1820.", Grounded), ("The mill has three huge wheels of oak.", Unsupported)],
    );
    assert_eq!(last.as_deref(), Some("The mill opened in 1820. It turns."));
    let dashed = parts(
        "The mill opened in 1820 — its owner then was Anna Roth [2]. It turns.",
        &[("The mill opened in 1820.", Grounded), ("The owner was Anna Roth.", Contradicted)],
    );
    assert_eq!(dashed.as_deref(), Some("The mill opened in 1820. It turns."));
    // The first clause cannot go alone, an item of a list neither; and with what is mixed something grounded would go.
    for (answer, claims) in [
        (
            "The mill opened in 1820, and it has three huge wheels. It turns.",
            [("The mill opened in 1820.", Unsupported), ("The mill has three huge wheels.", Grounded)],
        ),
        (
            "It is red, green, and blue. It turns.",
            [("It is red and green.", Grounded), ("It is blue.", Unsupported)],
        ),
        (
            "The old mill of 1820 has huge wheels. It turns.",
            [("The mill is of 1820.", Grounded), ("The mill has huge wheels.", Unsupported)],
        ),
    ] {
        assert_eq!(parts(answer, &claims), None, "{answer}");
    }
}

#[test]
fn what_is_left_of_a_clause_is_a_whole_sentence_that_means_the_same() {
    use Verdict::{Grounded, Unsupported};
    for (answer, claims) in [
        (
            "If the mill opened in 1820, then the duke was its owner. It turns.",
            [("The mill opened in 1820.", Grounded), ("The duke was its owner.", Unsupported)],
        ),
        (
            "The mill not only opened in 1820, but also had a rich duke. It turns.",
            [("The mill opened in 1820.", Grounded), ("The mill had a rich duke.", Unsupported)],
        ),
        (
            "The mill is safe for all visitors, except for small noisy children. It turns.",
            [
                ("The mill is safe for visitors.", Grounded),
                ("Small noisy children are in danger.", Unsupported),
            ],
        ),
        (
            "水車は1820年に開業し、公爵がそれを建てた。毎日回る。",
            [("水車は1820年に開業した。", Grounded), ("公爵が建てた。", Unsupported)],
        ),
    ] {
        assert_eq!(parts(answer, &claims), None, "{answer}");
    }
}

/// Claims placed as the verification places them; those with a `!` are not grounded.
fn judged(answer: &str, said: &[&str]) -> Option<String> {
    let texts: Vec<&str> = said.iter().map(|text| text.trim_start_matches('!')).collect();
    let listed: Vec<crate::verify::Listed> =
        texts.iter().map(|text| crate::verify::Listed::new(text, "$".into())).collect();
    let trace: trace::Trace = serde_json::from_value(serde_json::json!({
        "schema": trace::SCHEMA, "trace_id": "t", "project": "p", "query": "What is it like?", "answer": answer,
    }))
    .unwrap();
    let checked =
        crate::verify::Answer::new(&trace, None).check(&listed, "$", &crate::verify::Corpus::of(&[]));
    let claims = said.iter().zip(texts).zip(checked.spans).map(|((said, text), span)| {
        let verdict = if said.starts_with('!') { Verdict::Unsupported } else { Verdict::Grounded };
        Claim { answer_span: span, ..Claim::new(text, verdict) }
    });
    redact(answer, &claims.collect::<Vec<_>>())
}

#[test]
fn a_pronoun_that_the_judge_resolved_does_not_have_the_grounded_sentence_cut() {
    for (answer, claims, left) in [
        (
            "Le moulin a ouvert en 1820. Il est hanté. La roue est en chêne.",
            ["Le moulin a ouvert en 1820.", "!Le moulin est hanté.", "La roue est en chêne."],
            "Le moulin a ouvert en 1820. La roue est en chêne.",
        ),
        (
            "Die Mühle wurde 1820 eröffnet. Sie ist verflucht. Das Rad ist aus Eiche.",
            ["Die Mühle wurde 1820 eröffnet.", "!Die Mühle ist verflucht.", "Das Rad ist aus Eiche."],
            "Die Mühle wurde 1820 eröffnet. Das Rad ist aus Eiche.",
        ),
        (
            "El molino abrió en 1820. Está embrujado. La rueda es de roble.",
            ["El molino abrió en 1820.", "!El molino está embrujado.", "La rueda es de roble."],
            "El molino abrió en 1820. La rueda es de roble.",
        ),
        (
            "水車は1820年に開業した。呪われている。車輪は樫でできている。",
            ["水車は1820年に開業した。", "!水車は呪われている。", "車輪は樫でできている。"],
            "水車は1820年に開業した。車輪は樫でできている。",
        ),
        (
            "The ferry leaves pier 2. It is unsafe. Meals are served.",
            ["The ferry leaves pier 2.", "!The ferry is unsafe.", "Meals are served."],
            "The ferry leaves pier 2. Meals are served.",
        ),
        (
            "## Ferry\nThe ferry leaves pier 2. It never sinks. Meals are served.",
            ["The ferry leaves pier 2.", "!The ferry never sinks.", "Meals are served."],
            "## Ferry\nThe ferry leaves pier 2. Meals are served.",
        ),
        (
            "The mill opened in 1820. It closed soon after. Meals are served.",
            ["The mill opened in 1820.", "!The mill closed soon after 1820.", "Meals are served."],
            "The mill opened in 1820. Meals are served.",
        ),
    ] {
        assert_eq!(judged(answer, &claims).as_deref(), Some(left), "{answer}");
    }
}

#[test]
fn a_claim_whose_place_is_not_certain_is_not_redacted() {
    for (answer, claims) in [
        // Worded anew: a word of the claim is nowhere.
        (
            "The owner lives in Ghent. He broke the law. The mill turns.",
            &["!The owner is a criminal.", "The mill turns."][..],
        ),
        // Every word is in grounded claims too.
        ("The mill turns. It never turns.", &["The mill turns.", "!The mill never turns."]),
        // What is said of it stands in a sentence of its own.
        (
            "Dogs bark. They are allowed on Sunday. The mill turns.",
            &[
                "!Dogs are allowed on Sunday.",
                "!Dogs bark.",
                "Cats are allowed.",
                "The mill turns on Sunday.",
            ],
        ),
        // A sentence that nobody has called grounded would stay.
        ("The mill turns. It has wheels. It is haunted by a duke.", &["The mill turns.", "!It has wheels."]),
    ] {
        assert_eq!(judged(answer, claims), None, "{answer}");
    }
}

#[test]
fn a_claim_that_is_said_again_goes_wherever_it_stands() {
    let claims = ["The mill opened in 1820.", "!The mill has three wheels."];
    for (answer, left) in [
        ("It has three wheels. The mill opened in 1820. It has three wheels.", "The mill opened in 1820."),
        (
            "# The mill has three wheels\n\nThe mill opened in 1820. It has three wheels.",
            "The mill opened in 1820.",
        ),
        (
            "Did you know it has three wheels? The mill opened in 1820. It has three wheels.",
            "The mill opened in 1820.",
        ),
        ("It has three wheels. The mill opened in 1820. IT HAS THREE WHEELS!", "The mill opened in 1820."),
        (
            "The mill opened in 1820. It has three wheels.\n\nIn short: three wheels.",
            "The mill opened in 1820.",
        ),
        ("The mill opened in 1820. It has three wheels. It has 3 wheels.", "The mill opened in 1820."),
        ("The mill opened in 1820. It has three wheels.\n\n| Wheels | three |", "The mill opened in 1820."),
    ] {
        assert_eq!(judged(answer, &claims).as_deref(), Some(left), "{answer}");
    }
}

#[test]
fn what_would_be_left_with_half_its_markup_is_not_redacted() {
    let claims = ["The mill opened in 1820.", "!It has three wheels."];
    for answer in [
        "<p>The mill opened in 1820.</p><p>It has three wheels.</p>",
        "*[The mill opened in 1820. It has three wheels.](http://x.example)*",
        "The mill opened in 1820.\n```\nIt has three wheels.\n```",
    ] {
        assert_eq!(judged(answer, &claims), None, "{answer}");
    }
}

#[test]
fn what_cannot_be_placed_or_leaves_nothing_is_not_redacted() {
    assert_eq!(without("It has 3 wheels.", &["wheels"]), None);
    let greeted = "Hello!\nHere it is:\n- It has 3 wheels.";
    let failed: Vec<Claim> = claims(greeted, &["wheels"]).into_iter().filter(Claim::is_finding).collect();
    assert_eq!(redact(greeted, &failed), None, "a greeting is no answer");
    let unplaced = [Claim::new("It has 3 wheels.", Verdict::Unsupported)];
    assert_eq!(redact("It has 3 wheels. It turns.", &unplaced), None);
    let beyond = Claim { answer_span: Some(Span { start: 900, end: 910 }), ..unplaced[0].clone() };
    assert_eq!(redact("It has 3 wheels. It turns.", &[beyond]), None);
    assert_eq!(without("All is grounded here.", &[]).as_deref(), Some("All is grounded here."));
}

/// Sentences, marks and gaps in any order.
fn answers() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("The mill is old. "),
        Just("It has BAD wheels [2]. "),
        Just("東京は大きい。"),
        Just("BADは高い。"),
        Just("(A BAD bell rings.) "),
        Just("\n- An item of the list."),
        Just("\n2. A BAD item of it."),
        Just("\n\n"),
        Just("\nIt has these parts:\n"),
        Just("\"BAD words are quoted. Good words too.\" "),
        Just("**BAD is bold.** "),
        Just("| a | BAD cell is here | c |\n"),
        Just("👩‍👩‍👧 wave. "),
    ];
    proptest::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn nothing_ungrounded_is_left_and_nothing_is_added(answer in answers()) {
        let Some(text) = without(&answer, &["BAD"]) else { return Ok(()) };
        let claims = claims(&answer, &["BAD"]);
        if claims.iter().any(Claim::is_finding) {
            prop_assert!(!text::sentences(&text).iter().any(|it| it.is_statement() && it.text.contains("BAD")), "{text}");
            for line in text.lines() {
                let bare = line.trim().trim_start_matches(|c: char| is_mark(c) || c.is_ascii_digit() || c == '.');
                prop_assert!(line.trim().is_empty() || !bare.trim().is_empty(), "a mark alone: {line:?} in {text:?}");
            }
        }
        // What is left stands in the answer, in this order.
        let mut rest = answer.chars();
        for c in text.chars() {
            prop_assert!(rest.any(|other| other == c), "{c:?} was added to {text:?}");
        }
        prop_assert!(!text.contains("  ") || answer.contains("  "), "a doubled space: {text:?}");
    }

    #[test]
    fn no_text_and_no_spans_make_it_fail(answer in "\\PC{0,80}|[ -~\n]{0,80}", spans in proptest::collection::vec((0usize..90, 0usize..90), 0..6)) {
        let claims: Vec<Claim> = spans.iter().map(|(start, end)| Claim {
            answer_span: Some(Span { start: *start, end: *end }),
            ..Claim::new("x", if start % 2 == 0 { Verdict::Unsupported } else { Verdict::Grounded })
        }).collect();
        let _ = redact(&answer, &claims);
    }
}
