//! `golden run`: labelled cases in, agreement out; and the cases that ship with the project.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use trace::{Kind, Readiness, Requirements, Trace, completeness};

use super::{Call, Run, repository};

fn cases() -> Vec<Trace> {
    let text = std::fs::read_to_string(repository("golden/cases.jsonl")).unwrap();
    text.lines().map(|line| trace::decode(line.as_bytes()).unwrap()).collect()
}

fn shipped() -> Call {
    Call::new().file("cases.jsonl", std::fs::read(repository("golden/cases.jsonl")).unwrap())
}

fn answer(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.shown()))
}

fn word<'a>(trace: &'a Trace, key: &str) -> &'a str {
    trace.metadata.as_ref().unwrap()[key].as_str().unwrap()
}

#[test]
fn the_shipped_cases_are_complete_labelled_and_of_every_sort() {
    let cases = cases();
    assert!(cases.len() >= 80, "{}", cases.len());
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.trace_id.as_str()).collect();
    assert_eq!(ids.len(), cases.len(), "each id once");
    let mut categories: BTreeMap<&str, usize> = BTreeMap::new();
    let mut languages = BTreeSet::new();
    for case in &cases {
        let ready = completeness::check(case, Kind::Faithfulness, &Requirements::default());
        assert!(matches!(ready, Readiness::Complete(_)), "{}: {ready:?}", case.trace_id);
        let label = case.human_label.as_ref().unwrap();
        let claims = label.claims.as_ref().unwrap();
        let all_faithful = claims.iter().all(|claim| claim.faithful == Some(true));
        assert_eq!(label.faithful, Some(all_faithful), "{}", case.trace_id);
        for claim in claims {
            let text = claim.text.as_deref().unwrap();
            assert!(case.answer.as_deref().unwrap().contains(text), "{}: {text}", case.trace_id);
        }
        *categories.entry(word(case, "category")).or_default() += 1;
        languages.insert(word(case, "language"));
    }
    for category in [
        "grounded",
        "paraphrased",
        "contradicted",
        "fabricated_number",
        "fabricated_name",
        "fabricated_quote",
        "partial_support",
        "combined_sources",
        "negation",
        "unit_change",
        "time_zone",
    ] {
        assert!(categories.get(category).is_some_and(|count| *count >= 3), "{category}: {categories:?}");
    }
    for language in ["en", "de", "fr", "es", "ja", "th", "ar"] {
        assert!(languages.contains(language), "{language}");
    }
    let faithful =
        cases.iter().filter(|case| case.human_label.as_ref().unwrap().faithful == Some(true)).count();
    assert!((0.4..0.6).contains(&(faithful as f64 / cases.len() as f64)), "{faithful} of {}", cases.len());
}

/// A set that comparing words solves, or solves when turned round, proves nothing.
#[test]
fn word_overlap_does_badly_on_the_shipped_cases() {
    let run = shipped().run("golden run cases.jsonl --judge practice --json --repeat 2 --sweep 0.6");
    assert_eq!(run.code, 0, "{}", run.shown());
    let answer = answer(&run);
    let kind = &answer["kinds"][0];
    let figures = &kind["figures"];
    let auc = figures["overlap"]["auc"].as_f64().unwrap();
    assert!((0.4..0.6).contains(&auc), "{auc}");
    assert!(figures["overlap"]["best"]["balanced_accuracy"].as_f64().unwrap() < 0.65);
    assert_eq!(figures["coverage"], 1.0);
    assert_eq!(figures["stability"]["unanimous"], 1.0, "the practice judge always says the same");
    assert_eq!(figures["claims"]["unmatched"], 0);
    assert!(figures["paraphrase_missed"]["by_category"].as_bool().unwrap());
    assert!(kind["sweep"]["points"].as_array().unwrap().len() > 1);
    assert_eq!((&kind["practice"], &kind["calibrates"]), (&json!(true), &json!(false)));
    assert_eq!(answer["stored"], false);
}

fn few() -> Call {
    let text = std::fs::read_to_string(repository("golden/cases.jsonl")).unwrap();
    let few: Vec<&str> = text.lines().take(8).collect();
    Call::new().file("few.jsonl", few.join("\n") + "\n")
}

#[test]
fn a_golden_run_is_printed_so_that_a_person_can_read_it() {
    let run =
        few().run("golden run few.jsonl --judge practice --require kappa>=-1 --require recall>=2 --sweep");
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn requirements_decide_the_exit_code() {
    for (requirement, code) in [
        ("kappa>=-1", 0),
        ("kappa>=0.9", 1),
        ("coverage>=1", 0),
        ("stability>=0.9", 1),
        ("cappa>=0.6", 2),
        ("kappa", 2),
        ("kappa>=x", 2),
    ] {
        let run = few().run(&format!("golden run few.jsonl --judge practice --require {requirement}"));
        assert_eq!(run.code, code, "{requirement}: {}", run.shown());
    }
}

#[test]
fn limits_that_were_given_and_lines_that_are_no_cases_did_not_count() {
    let text = std::fs::read_to_string(repository("golden/cases.jsonl")).unwrap();
    let few: Vec<&str> = text.lines().take(8).collect();
    let mut other: Value = serde_json::from_str(few[0]).unwrap();
    other["human_label"]["faithful"] = json!(!other["human_label"]["faithful"].as_bool().unwrap());
    let call = Call::new()
        .file("broken.jsonl", few.join("\n") + "\n{\"schema\": \n")
        .file("both.jsonl", few.join("\n") + &format!("\n{other}\n"))
        .file("twice.jsonl", few.join("\n") + &format!("\n{}\n", few[0]));
    for (options, code, said) in [
        ("broken.jsonl", 3, "broken.jsonl:9: is no trace"),
        ("both.jsonl", 3, "is the other one than in both.jsonl line 1"),
        ("twice.jsonl --repeat 2", 0, "\n1 cases came before"),
        ("twice.jsonl --max-paraphrase-missed 0 --max-fabrication-passed 0", 1, "NOT kept"),
        ("twice.jsonl --max-paraphrase-missed 1 --max-fabrication-passed 1", 0, "kept"),
        ("broken.jsonl --require recall>=2", 1, "NOT met"),
    ] {
        let run = call.run(&format!("golden run {options} --judge practice"));
        assert_eq!(run.code, code, "{options}: {}", run.shown());
        assert!(run.shown().contains(said), "{options}: {}", run.shown());
    }
}

/// One case that went wrong lifted the mark from all results of a judge.
#[test]
fn a_golden_run_of_one_case_calibrated_a_judge() {
    let run = few().run("golden run few.jsonl --judge practice --json --require kappa>=0.99");
    let shortfalls = answer(&run)["kinds"][0]["shortfalls"].to_string();
    for why in ["no model", "fewer than 20 cases", "kappa>=0.99 is not met"] {
        assert!(shortfalls.contains(why), "{shortfalls}");
    }
}

#[test]
fn a_database_that_is_down_is_noticed_before_anybody_pays() {
    let call = few().variable("DATABASE_URL", "postgres://nobody:s3cret@127.0.0.1:1/x");
    let run = call.run("golden run few.jsonl --judge practice");
    assert!(run.code == 3 && run.stderr.contains("--no-store"), "{}", run.shown());
    assert!(!run.stderr.contains("s3cret"), "{}", run.shown());
    assert_eq!(call.run("golden run few.jsonl --judge practice --no-store").code, 0);
}

#[test]
fn a_file_without_labels_is_no_golden_set() {
    let samples = std::fs::read_to_string(repository("examples/traces.jsonl")).unwrap();
    let first = samples.lines().next().unwrap();
    let call = Call::new().file("t.jsonl", first).file("empty.jsonl", "\n");
    let run = call.run("golden run t.jsonl --judge practice");
    assert!(run.code == 2 && run.stderr.contains("human_label.faithful"), "{}", run.shown());
    assert_eq!(call.run("golden run empty.jsonl --judge practice").code, 2);
    assert_eq!(call.run("golden run t.jsonl").code, 2, "and without a judge neither");
}

#[test]
fn cases_that_could_not_be_judged_are_wrong_and_said() {
    let run = few().run("golden run few.jsonl --judge-url http://127.0.0.1:1/v1 --judge-model m --json");
    assert_eq!(run.code, 3, "{}", run.shown());
    let figures = &answer(&run)["kinds"][0]["figures"];
    assert_eq!((&figures["coverage"], &figures["all"]["accuracy"]), (&json!(0.0), &json!(0.0)));
    assert_eq!(figures["wrong"].as_array().unwrap().len(), 8);
    let run = few().run(
        "golden run few.jsonl --judge-url http://127.0.0.1:1/v1 --judge-model m --require coverage>=0.5 --kind gate",
    );
    assert_eq!(run.code, 3, "{}", run.shown());
}
