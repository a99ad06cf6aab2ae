//! Whole replies against whole traces: what is accepted, and what is refused with which code.
//!
//! The cases are in `tests/cases/<kind>.jsonl`, one per line. More files of the same shape
//! can be tried with `GROUNDCREW_CASES=file.jsonl`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::path::Path;

use audit::{Assessment, Outcome, SentClaim, assess, kinds, units};
use serde::Deserialize;
use trace::{Kind, Trace};

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default = "faithfulness")]
    kind: Kind,
    trace: Trace,
    /// The list that was sent; the default splitter's when not given.
    claims: Option<Vec<SentClaim>>,
    reply: String,
    finish_reason: Option<String>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    outcome: String,
    /// A code that must be among the problems.
    code: Option<String>,
    /// Every code there is, when given.
    codes: Option<BTreeSet<String>>,
    /// Every doubt there is, when given.
    doubts: Option<BTreeSet<String>>,
    /// Every grade of the claims' evidence in order, when given.
    grades: Option<Vec<String>>,
    /// The verdicts in order, when given.
    verdicts: Option<Vec<String>>,
    score: Option<f64>,
    /// How many figures of the judge differ from ours, when given.
    discrepancies: Option<usize>,
    /// A part of some note or problem message, when given.
    says: Option<String>,
}

fn faithfulness() -> Kind {
    Kind::Faithfulness
}

fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("line {}: {error}", at + 1))
        })
        .collect()
}

/// What differs from the expectation, if anything does.
fn differences(case: &Case, assessment: &Assessment) -> Vec<String> {
    let mut out = Vec::new();
    let mut compare = |what: &str, wanted: String, got: String| {
        if wanted != got {
            out.push(format!("{what}: wanted {wanted}, got {got}"));
        }
    };
    let expect = &case.expect;
    let codes: BTreeSet<String> =
        assessment.problems.iter().map(|problem| problem.code.as_str().to_owned()).collect();
    compare("outcome", expect.outcome.clone(), assessment.outcome.as_str().to_owned());
    if let Some(code) = expect.code.as_ref().filter(|code| !codes.contains(*code)) {
        compare("code", code.clone(), format!("{codes:?}"));
    }
    if let Some(wanted) = &expect.codes {
        compare("codes", format!("{wanted:?}"), format!("{codes:?}"));
    }
    let report = assessment.report.clone().unwrap_or_default();
    if let Some(wanted) = &expect.doubts {
        let doubts: BTreeSet<String> = report.doubts.iter().map(|doubt| doubt.code.clone()).collect();
        compare("doubts", format!("{wanted:?}"), format!("{doubts:?}"));
    }
    if let Some(wanted) = &expect.grades {
        let grades: Vec<String> = report
            .claims
            .iter()
            .flat_map(|claim| &claim.evidence)
            .map(|found| found.grade.as_str().to_owned())
            .collect();
        compare("grades", format!("{wanted:?}"), format!("{grades:?}"));
    }
    if let Some(wanted) = &expect.verdicts {
        let verdicts: Vec<String> =
            report.claims.iter().map(|claim| claim.verdict.as_str().to_owned()).collect();
        compare("verdicts", format!("{wanted:?}"), format!("{verdicts:?}"));
    }
    if let Some(wanted) = expect.score {
        compare("score", format!("{:?}", Some(wanted)), format!("{:?}", report.score));
    }
    if let Some(wanted) = expect.discrepancies {
        compare("discrepancies", wanted.to_string(), report.discrepancies.len().to_string());
    }
    if let Some(wanted) = &expect.says {
        let said: Vec<&String> =
            report.notes.iter().chain(assessment.problems.iter().map(|problem| &problem.message)).collect();
        if !said.iter().any(|text| text.contains(wanted.as_str())) {
            compare("says", wanted.clone(), format!("{said:?}"));
        }
    }
    if !out.is_empty() {
        out.extend(assessment.problems.iter().map(|problem| format!("{problem:?}")));
    }
    out
}

fn try_all(path: &Path) -> (usize, Vec<String>) {
    let cases = read(path);
    let mut failures = Vec::new();
    for case in &cases {
        let spec = kinds::find(case.kind).unwrap();
        let unit = units::whole(spec, &case.trace, case.claims.clone());
        let assessment =
            assess(case.kind, &case.trace, &unit, &case.reply, case.finish_reason.as_deref()).unwrap();
        is_consistent(case, &assessment);
        let differences = differences(case, &assessment);
        if !differences.is_empty() {
            failures.push(format!("{}\n    {}", case.name, differences.join("\n    ")));
        }
    }
    (cases.len(), failures)
}

/// What holds for every assessment.
fn is_consistent(case: &Case, assessment: &Assessment) {
    let spec = kinds::find(case.kind).unwrap();
    let passages = spec.basis.passages(&case.trace);
    assert_eq!(assessment.outcome == Outcome::Accepted, assessment.problems.is_empty());
    let Some(report) = &assessment.report else { return };
    for found in report.claims.iter().flat_map(|claim| &claim.evidence) {
        let text = passages[found.chunk].text;
        let there: String =
            text.chars().skip(found.span.start).take(found.span.end - found.span.start).collect();
        assert!(found.span.end <= text.chars().count());
        if found.grade == audit::MatchGrade::Exact {
            assert_eq!(there, found.quote.trim());
        }
    }
    let top = if case.kind == Kind::HallucinationEval { 100.0 } else { 1.0 };
    assert!(report.score.is_none_or(|score| (0.0..=top).contains(&score)));
    assert!(report.coverage.is_none_or(|coverage| (0.0..=1.0).contains(&coverage)));
}

fn must_all_come_out_right(path: &Path) {
    let (count, failures) = try_all(path);
    println!("{}: {} of {count} right", path.display(), count - failures.len());
    assert!(failures.is_empty(), "{} of {count} wrong:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_cases_come_out_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    for spec in kinds::ALL {
        must_all_come_out_right(&folder.join(format!("{}.jsonl", spec.kind)));
    }
}

#[test]
fn further_cases_come_out_right() {
    if let Some(path) = std::env::var_os("GROUNDCREW_CASES") {
        must_all_come_out_right(Path::new(&path));
    }
}
