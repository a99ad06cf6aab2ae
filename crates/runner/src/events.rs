//! The messages that follow from the end of an audit.

use audit::record::{AuditKey, Ending, Event, derived_id};
use audit::{Claim, Doubt, Report, Role};
use chrono::SecondsFormat;
use serde_json::{Value, json};
use trace::Trace;

/// Routing key of the message that tells people about a new review item.
pub const REVIEW_OPENED: &str = "review.opened";

/// The exchange for results and review messages.
pub const RESULTS_EXCHANGE: &str = "groundcrew.results";

/// The result of an audit: an event for everybody, and the answer to who asked.
pub fn result_event(ending: &Ending, key: &AuditKey) -> Value {
    let routed = &ending.routed;
    let report = ending.report.as_ref();
    let findings: Vec<Value> = report.map(|report| findings(report, &ending.trace.trace)).unwrap_or_default();
    json!({
        "schema": "groundcrew.result/v1",
        "event": format!("audit.{}", routed.disposition.as_str()),
        "audit_id": key.id(),
        "project": key.project,
        "trace_id": key.trace_id,
        "kind": key.kind,
        "generation": key.generation,
        "repeat": key.repeat,
        "disposition": routed.disposition,
        "decision": routed.decision,
        "final": !routed.needs_review() || routed.blind_sample,
        "score": report.and_then(|report| report.score),
        "by_rule": report.is_some_and(|report| report.by_rule),
        "severity": routed.severity,
        "claims": report.map(|report| report.claims.len()),
        "findings": findings,
        "omissions": report.map(|report| &report.omissions),
        "reasons": if routed.blind_sample { Value::Array(Vec::new()) } else { json!(routed.reasons) },
        "trace_problems": ending.trace_problems,
        "prompt_version": ending.opening.prompt_version,
        "judge": ending.opening.judge,
        "practice": ending.practice,
        "uncalibrated": ending.uncalibrated,
        "ended_at": ending.ended_at.to_rfc3339_opts(SecondsFormat::Millis, true),
    })
}

/// What an on-call person needs to see without opening anything else.
fn review_message(ending: &Ending, key: &AuditKey) -> Value {
    let routed = &ending.routed;
    let trace = &ending.trace.trace;
    let blind = routed.blind_sample;
    let flagged = match (&ending.report, blind) {
        (Some(report), false) => flagged(report, trace),
        _ => Vec::new(),
    };
    let last = ending.attempts.iter().rev().find(|attempt| attempt.class.is_reply());
    let failed_output = match ending.report {
        None => last.map(|attempt| json!({ "content": attempt.content, "problems": attempt.problems })),
        Some(_) => None,
    };
    json!({
        "schema": "groundcrew.review/v1",
        "review_item": review_item_id(key),
        "audit_id": key.id(),
        "project": key.project,
        "trace_id": key.trace_id,
        "kind": key.kind,
        "severity": routed.severity,
        "urgent": routed.urgent,
        "blind": blind,
        "disposition": (!blind).then_some(routed.disposition),
        "decision": (!blind).then_some(routed.decision).flatten(),
        "why": routed.reasons.iter().map(|reason| reason.message.as_str()).collect::<Vec<_>>().join("; "),
        "reasons": routed.reasons,
        "query": trace.query,
        "answer": trace.answer,
        "flagged": flagged,
        "failed_output": failed_output,
        "content_owner": trace.content_owner,
        "practice": ending.practice,
        "open_with": format!("groundcrew trace show {}", key.id()),
        "created_at": ending.ended_at.to_rfc3339_opts(SecondsFormat::Millis, true),
    })
}

/// The id of an audit's review item.
pub fn review_item_id(key: &AuditKey) -> uuid::Uuid {
    derived_id(key.id(), "review_item")
}

/// All messages of one end. `reply_to` is the producer's own queue, already checked against the allowed names.
pub(crate) fn all(ending: &Ending, reply_to: Option<(&str, Option<&str>)>) -> Vec<Event> {
    let key = &ending.key;
    let id = key.id();
    let result = result_event(ending, key);
    let mut events = vec![Event {
        id: derived_id(id, "result"),
        exchange: RESULTS_EXCHANGE.to_owned(),
        routing_key: format!("audit.{}", ending.routed.disposition.as_str()),
        correlation_id: None,
        body: result.clone(),
    }];
    if ending.routed.needs_review() {
        events.push(Event {
            id: derived_id(id, "review"),
            exchange: RESULTS_EXCHANGE.to_owned(),
            routing_key: REVIEW_OPENED.to_owned(),
            correlation_id: None,
            body: review_message(ending, key),
        });
    }
    if let Some((queue, correlation_id)) = reply_to {
        events.push(Event {
            id: derived_id(id, "reply"),
            exchange: String::new(),
            routing_key: queue.to_owned(),
            correlation_id: correlation_id.map(str::to_owned),
            body: result,
        });
    }
    events
}

fn findings(report: &Report, trace: &Trace) -> Vec<Value> {
    report.findings().map(|(at, claim)| finding(at, claim, trace)).collect()
}

/// Findings, and grounded claims with a doubt that sends them to people.
fn flagged(report: &Report, trace: &Trace) -> Vec<Value> {
    let doubted = |at: usize| report.doubts.iter().any(|doubt: &Doubt| doubt.claim == Some(at));
    report
        .claims
        .iter()
        .enumerate()
        .filter(|(at, claim)| claim.is_finding() || doubted(*at))
        .map(|(at, claim)| {
            let mut flagged = finding(at, claim, trace);
            flagged["doubts"] = report
                .doubts
                .iter()
                .filter(|doubt| doubt.claim == Some(at))
                .map(|doubt| json!(doubt))
                .collect();
            flagged
        })
        .collect()
}

fn finding(at: usize, claim: &Claim, trace: &Trace) -> Value {
    let sentence = claim.answer_span.zip(trace.answer.as_deref()).map(|(span, answer)| {
        answer.chars().skip(span.start).take(span.end.saturating_sub(span.start)).collect::<String>()
    });
    let evidence: Vec<Value> = claim
        .evidence
        .iter()
        .map(|evidence| {
            let chunk = trace.chunks().get(evidence.chunk);
            json!({
                "role": evidence.role,
                "source_id": evidence.source_id,
                "quote": evidence.quote,
                "text": chunk.and_then(|chunk| chunk.text.as_deref()),
                "url": chunk.and_then(|chunk| chunk.url.as_deref()),
            })
        })
        .collect();
    json!({
        "claim": at,
        "text": claim.text,
        "verdict": claim.verdict,
        "judge_verdict": claim.judge_verdict,
        "severity": claim.severity,
        "confidence": claim.confidence,
        "answer_sentence": sentence,
        "gap": gap(claim),
        "evidence": evidence,
        "by_rule": claim.by_rule,
    })
}

/// Why the evidence does not carry the claim.
fn gap(claim: &Claim) -> String {
    if !claim.explanation.trim().is_empty() {
        return claim.explanation.clone();
    }
    let contradicts = claim.evidence.iter().any(|evidence| evidence.role == Role::Contradicting);
    if contradicts { "the evidence says something else" } else { "no passage of the evidence supports this" }
        .to_owned()
}
