//! What a caller of the gate is answered. Pure.

use audit::record::Ending;
use audit::{Claim, Evidence};
use serde_json::{Map, Value, json};

use super::request::SCHEMA;

/// The answer that follows from an audit's end. The same bytes are stored, where a key may ask for them again.
pub(crate) fn body(ending: &Ending) -> String {
    let key = &ending.key;
    let report = ending.report.as_ref();
    let routed = &ending.routed;
    let claims: Vec<Value> = report
        .iter()
        .flat_map(|report| &report.claims)
        .enumerate()
        .map(|(at, claim)| shown(at, claim))
        .collect();
    let mut body = Map::new();
    body.insert("schema".to_owned(), json!(SCHEMA));
    if let Some(gate) = &ending.gate {
        body.extend(runner::gate_fields(gate));
    }
    let rest = json!({
        "decision": routed.decision,
        "disposition": routed.disposition,
        "claims": claims,
        "score": report.and_then(|report| report.score),
        // Who draws a random sample of passed answers does not say which.
        "reasons": if routed.blind_sample { json!([]) } else { json!(routed.reasons) },
        "review_item": (ending.asks_people() && !routed.blind_sample).then(|| runner::review_item_id(key)),
        "project": key.project,
        "trace_id": key.trace_id,
        "kind": key.kind,
        "audit_id": key.id(),
        "generation": key.generation,
        "prompt_version": ending.opening.prompt_version,
        "judge": ending.opening.judge,
        "practice": ending.practice,
        "uncalibrated": ending.uncalibrated,
    });
    if let Value::Object(rest) = rest {
        body.extend(rest);
    }
    Value::Object(body).to_string()
}

fn shown(at: usize, claim: &Claim) -> Value {
    json!({
        "claim": at,
        "text": claim.text,
        "verdict": claim.verdict,
        "judge_verdict": claim.judge_verdict,
        "confidence": claim.confidence,
        "explanation": claim.explanation,
        "answer_span": claim.answer_span,
        "evidence": claim.evidence.iter().map(quoted).collect::<Vec<_>>(),
        "by_rule": claim.by_rule,
    })
}

fn quoted(evidence: &Evidence) -> Value {
    json!({
        "role": evidence.role,
        "source_id": evidence.source_id,
        "chunk": evidence.chunk,
        "quote": evidence.quote,
        "span": evidence.span,
        "match": evidence.grade,
    })
}

/// The answer when nothing could be stored: what to do, and no verdict.
pub(crate) fn not_stored(resolution: &audit::gate::Resolution, message: &str) -> String {
    json!({
        "schema": SCHEMA,
        "verdict": resolution.verdict,
        "action": resolution.action,
        "action_reason": resolution.why,
        "outcome": "not_stored",
        "claims": [],
        "error": { "code": "unavailable", "message": message },
    })
    .to_string()
}

/// The answer when the deadline of a copy passed while the call itself is still in work.
pub(crate) fn in_work(resolution: &audit::gate::Resolution, project: &str) -> String {
    json!({
        "schema": SCHEMA,
        "verdict": resolution.verdict,
        "action": resolution.action,
        "action_reason": resolution.why,
        "outcome": "deadline",
        "claims": [],
        "project": project,
    })
    .to_string()
}
