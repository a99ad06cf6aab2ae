//! The messages that follow from the end of an audit.

use audit::record::{AuditKey, Ending, Event, GateEnd, derived_id};
use audit::{Basis, Claim, Doubt, Passage, Report, Role, kinds, text, verify};
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
    let findings: Vec<Value> = report.map(|report| findings(report, ending)).unwrap_or_default();
    let mut event = json!({
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
        "final": ending.is_final(),
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
    });
    if let (Some(gate), Value::Object(event)) = (&ending.gate, &mut event) {
        event.extend(gate_fields(gate));
    }
    event
}

/// What a caller of the gate is told, beside the result (docs/gate.md).
pub fn gate_fields(gate: &GateEnd) -> serde_json::Map<String, Value> {
    let resolution = &gate.resolution;
    [
        ("verdict", json!(resolution.verdict)),
        ("action", json!(resolution.action)),
        ("action_reason", json!(resolution.why)),
        ("redacted_answer", json!(resolution.redacted)),
        ("instruction", json!(resolution.instruction)),
        ("session", json!(gate.call.session)),
        ("regenerations_left", json!(resolution.regenerations_left)),
        ("gate_call", json!(gate.call.id)),
        ("outcome", json!(gate.outcome.as_str())),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// What an on-call person needs to see without opening anything else.
fn review_message(ending: &Ending, key: &AuditKey) -> Value {
    let routed = &ending.routed;
    let trace = &ending.trace.trace;
    let blind = routed.blind_sample;
    let flagged = match (&ending.report, blind) {
        (Some(report), false) => flagged(report, ending),
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
    if ending.asks_people() {
        events.push(Event {
            id: derived_id(id, "review"),
            exchange: RESULTS_EXCHANGE.to_owned(),
            routing_key: REVIEW_OPENED.to_owned(),
            correlation_id: None,
            body: review_message(ending, key),
        });
    }
    // Who asked gets one answer, however often the audit is repeated.
    if let Some((queue, correlation_id)) = reply_to.filter(|_| key.repeat == 0) {
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

/// Claims of one report, shown with what they were held against.
struct Shown<'a> {
    trace: &'a Trace,
    passages: Vec<Passage<'a>>,
}

impl<'a> Shown<'a> {
    fn of(ending: &'a Ending) -> Self {
        let trace = &ending.trace.trace;
        let basis = kinds::find(ending.key.kind).map_or(Basis::Retrieval, |spec| spec.basis);
        Self { trace, passages: basis.passages(trace) }
    }

    fn finding(&self, at: usize, claim: &Claim) -> Value {
        let sentence = claim.answer_span.zip(self.trace.answer.as_deref());
        let sentence = sentence.map(|(span, answer)| text::slice(answer, span));
        let evidence: Vec<Value> = claim
            .evidence
            .iter()
            .map(|evidence| {
                let passage = self.passages.get(evidence.chunk);
                json!({
                    "role": evidence.role,
                    "source_id": evidence.source_id,
                    "quote": evidence.quote,
                    "text": passage.map(|passage| passage.text),
                    "url": passage.and_then(|passage| passage.url),
                })
            })
            .collect();
        json!({
            "claim": at,
            "claim_id": claim.id,
            "text": claim.text,
            "verdict": claim.verdict,
            "judge_verdict": claim.judge_verdict,
            "severity": claim.severity,
            "confidence": claim.confidence,
            "fabrication": claim.fabrication,
            "answer_sentence": sentence,
            "gap": gap(claim),
            "evidence": evidence,
            "by_rule": claim.by_rule,
        })
    }

    /// What comes nearest to a claim that has no quote, so that nobody has to search (docs/audits.md, R-14).
    fn nearest(&self, claim: &Claim) -> Value {
        let found = claim.evidence.is_empty().then(|| verify::nearest(&self.passages, &claim.text)).flatten();
        let Some((at, span)) = found else { return Value::Null };
        let passage = &self.passages[at];
        json!({
            "source_id": passage.source_id,
            "text": text::slice(passage.text, span),
            "url": passage.url,
        })
    }
}

fn findings(report: &Report, ending: &Ending) -> Vec<Value> {
    let shown = Shown::of(ending);
    report.findings().map(|(at, claim)| shown.finding(at, claim)).collect()
}

/// Findings, and claims that a doubt or a reason of routing sends to people.
fn flagged(report: &Report, ending: &Ending) -> Vec<Value> {
    let shown = Shown::of(ending);
    let doubted = |at: usize| report.doubts.iter().any(|doubt: &Doubt| doubt.claim == Some(at));
    let meant = |at: usize| ending.routed.reasons.iter().any(|reason| reason.claims.contains(&at));
    report
        .claims
        .iter()
        .enumerate()
        .filter(|(at, claim)| claim.is_finding() || doubted(*at) || meant(*at))
        .map(|(at, claim)| {
            let mut flagged = shown.finding(at, claim);
            flagged["nearest"] = shown.nearest(claim);
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

/// Why the evidence does not carry the claim.
fn gap(claim: &Claim) -> String {
    if !claim.explanation.trim().is_empty() {
        return claim.explanation.clone();
    }
    let contradicts = claim.evidence.iter().any(|evidence| evidence.role == Role::Contradicting);
    if contradicts { "the evidence says something else" } else { "no passage of the evidence supports this" }
        .to_owned()
}
