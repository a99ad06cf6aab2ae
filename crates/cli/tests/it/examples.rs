//! The sample traces that a newcomer sees first.

use std::collections::BTreeMap;

use audit::kinds::faithfulness;
use audit::{Outcome, Unit, assess};
use serde_json::Value;
use trace::{Kind, Readiness, Requirements, Trace, completeness};

use super::repository;

fn lines(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository("examples").join(name)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn traces() -> (BTreeMap<String, Trace>, usize) {
    let decoded: Vec<_> = lines("traces.jsonl").iter().map(|line| trace::decode(line.as_bytes())).collect();
    let undecodable = decoded.iter().filter(|trace| trace.is_err()).count();
    (decoded.into_iter().flatten().map(|trace| (trace.trace_id.clone(), trace)).collect(), undecodable)
}

#[test]
fn exactly_one_line_is_no_trace() {
    let (traces, undecodable) = traces();
    assert_eq!(undecodable, 1);
    assert!(traces.values().any(|trace| !trace.unknown.is_empty()) || traces.len() >= 20);
}

#[test]
fn every_canned_reply_belongs_to_a_trace_and_every_written_one_is_accepted() {
    let (traces, _) = traces();
    practice::Canned::parse(&lines("canned.jsonl").join("\n")).unwrap();
    for line in lines("canned.jsonl") {
        let canned: Value = serde_json::from_str(&line).unwrap();
        let trace_id = canned["trace_id"].as_str().unwrap();
        let trace = traces.get(trace_id).unwrap_or_else(|| panic!("{trace_id} is no sample trace"));
        for reply in canned["replies"].as_array().unwrap() {
            let Some(content) = reply.get("content") else { continue };
            let assessed =
                assess(Kind::Faithfulness, trace, &Unit::Whole, &content.to_string(), Some("stop")).unwrap();
            assert_eq!(assessed.outcome, Outcome::Accepted, "{trace_id}: {:?}", assessed.problems);
            assert!(assessed.report.unwrap().discrepancies.is_empty(), "{trace_id}");
        }
    }
}

#[test]
fn traces_without_a_canned_reply_are_those_that_no_judge_is_asked_about() {
    let (traces, _) = traces();
    let canned: Vec<Value> =
        lines("canned.jsonl").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (trace_id, trace) in traces {
        let has_reply = canned.iter().any(|line| line["trace_id"] == trace_id.as_str());
        let asks = match completeness::check(&trace, Kind::Faithfulness, &Requirements::default()) {
            Readiness::Complete(prepared) => (faithfulness::SPEC.decide_by_rule)(&prepared.trace).is_none(),
            Readiness::Incomplete(_) | Readiness::NotApplicable(_) => false,
        };
        assert_eq!(has_reply, asks, "{trace_id}");
    }
}
