use super::*;
use serde_json::json;

fn trace(chunks: &[(&str, &str)]) -> Trace {
    let chunks: Vec<_> = chunks.iter().map(|(id, text)| json!({"source_id": id, "text": text})).collect();
    serde_json::from_value(
        json!({"schema": trace::SCHEMA, "trace_id": "t", "project": "p", "retrieval": {"chunks": chunks}}),
    )
    .unwrap()
}

fn find(text: &str, quote: &str) -> Option<(MatchGrade, String)> {
    let trace = trace(&[("a", text)]);
    let found = Corpus::new(&trace).find(quote, Scope::Anywhere).ok()?;
    Some((found.grade, crate::text::slice(text, found.span).to_owned()))
}

#[test]
fn the_place_is_that_of_the_original() {
    let text = "Ⅻ 😀: The “old  mill” — built 1907 — turns\u{a0}slowly…";
    let found = |quote| find(text, quote).unwrap();
    assert_eq!(found("built 1907"), (MatchGrade::Exact, "built 1907".into()));
    assert_eq!(found("the \"old mill\" - built"), (MatchGrade::CaseFolded, "The “old  mill” — built".into()));
    assert_eq!(found("The 'old mill'"), (MatchGrade::Normalised, "The “old  mill".into()));
    assert_eq!(
        found("old mill ... turns slowly"),
        (MatchGrade::Elided, "old  mill” — built 1907 — turns\u{a0}slowly".into())
    );
    assert_eq!(found("...built 1907 [...]"), (MatchGrade::Elided, "built 1907".into()));
    assert_eq!(find(text, "old ... turns slowly"), None, "one word is no piece");
    assert_eq!(find(text, "built 190"), None);
    assert_eq!(find(text, "mills"), None);
}

#[test]
fn a_comma_between_words_may_be_missing_or_added() {
    let text = "Several minerals have a green color, including the emerald. No, parking is free. It costs 1,500 euro.";
    let comma = "several minerals have a green color including the emerald";
    assert_eq!(find(text, comma).unwrap().0, MatchGrade::CaseFolded);
    assert_eq!(find(text, comma).unwrap().1, "Several minerals have a green color, including the emerald");
    assert_eq!(find("the mill turns slowly", "the mill, turns slowly").unwrap().0, MatchGrade::CaseFolded);
    assert_eq!(find(text, "No parking is free"), None, "the comma decides what is denied");
    assert_eq!(find(text, "It costs 1500 euro today"), None);
}

#[test]
fn the_blanks_of_json_make_no_difference() {
    let minified = "[{\"id\":7,\"name\":\"Smith\",\"age\":45},{\"id\":8}]";
    let spaced = "[ { \"id\": 7, \"name\": \"Smith\", \"age\": 45 } ]";
    for (text, quote) in [
        (minified, "\"name\": \"Smith\", \"age\": 45"),
        (spaced, "\"name\":\"Smith\",\"age\":45"),
        (spaced, "{\"id\": 7,\n\"name\": \"Smith\""),
    ] {
        assert!(find(text, quote).is_some(), "{quote}");
    }
    assert_eq!(find(minified, "\"name\": \"Smith\", \"age\": 4"), None);
}

#[test]
fn no_quote_ends_inside_of_a_character() {
    for (text, quote) in [
        ("พิพิธภัณฑ์เปิดทุกวัน", "ภัณฑ์เป ... วัน"),
        ("a bag of  5 ㎏ of salt", "BAG of 5 k"),
        ("a bag of  5 ㎏ of salt", "G of salt"),
        ("in x\u{30c}y  or x", "IN x"),
    ] {
        assert_eq!(find(text, quote), None, "{quote} in {text}");
    }
    assert_eq!(find("Wait… what", "WAIT.").unwrap().1, "Wait…");
}

#[test]
fn pieces_may_be_parted_by_lines_and_quotation_marks() {
    let text = "Fares are low. Trains run hourly. Buses stop at midnight. Bikes travel free.";
    for quote in [
        "Fares are low.\nBuses stop at midnight.",
        "\"Fares are low.\", \"Buses stop at midnight.\"",
        "“Fares are low” and “Buses stop at midnight”",
    ] {
        assert_eq!(find(text, quote).unwrap().0, MatchGrade::Elided, "{quote}");
    }
    assert_eq!(find(text, "Buses stop at midnight.\nFares are low."), None);
}

#[test]
fn ids_end_at_a_comma_a_blank_or_a_number_sign() {
    let trace = trace(&[("rule", ""), ("rule#2", ""), ("rule", ""), ("rule 3", "")]);
    let corpus = Corpus::new(&trace);
    let ids = |id| corpus.resolve(id).map(|(id, chunks)| (id, chunks.to_vec()));
    assert_eq!(ids("rule"), Some(("rule", vec![0, 2])));
    assert_eq!(ids(" rule#2 "), Some(("rule#2", vec![1])));
    assert_eq!(ids("rule#2, page 4"), Some(("rule#2", vec![1])));
    assert_eq!(ids("rule#9"), Some(("rule", vec![0, 2])));
    assert_eq!(ids("rule 3 b"), Some(("rule 3", vec![3])));
    assert_eq!(ids("rules"), None);
    assert_eq!(ids("rule-2"), None);
    assert_eq!(ids(""), None);
}

#[test]
fn a_text_made_to_cost_time_costs_little() {
    let text = "a".repeat(200_000);
    let quote = "a".repeat(100_000);
    assert_eq!(find(&text, &quote), None);
    assert_eq!(
        find(&"ab ".repeat(60_000), &"… ab ab ".repeat(40)).map(|found| found.0),
        Some(MatchGrade::Elided)
    );
}
