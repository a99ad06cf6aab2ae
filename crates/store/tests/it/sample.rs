//! Records as the runner makes them.

use std::time::Duration;

use audit::gate::{Action, Answer, Resolution};
use audit::policy::{Class, Remedy};
use audit::record::{
    Attempt, AuditKey, Ending, Event, GateCall, GateChannel, GateEnd, GateOutcome, Opening, TraceRecord,
    derived_id,
};
use audit::routing::{Decision, Disposition, Reason, Routed};
use audit::{
    Claim, Confidence, Discrepancy, Doubt, Evidence, Fabrication, MatchGrade, Omission, Report, Role,
    Severity, Span, Verdict,
};
use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Value, json};
use trace::{Kind, Problem, Trace, content_hash};

/// A fixed moment, `seconds` after the start of the samples' time.
pub fn at(seconds: i64) -> DateTime<Utc> {
    Utc.timestamp_opt(1_750_000_000 + seconds, 123_456_000).unwrap()
}

/// A trace of this id.
pub fn trace(id: &str) -> Trace {
    trace_with(json!({ "trace_id": id }))
}

/// A trace whose message has these fields too.
pub fn trace_with(fields: Value) -> Trace {
    let mut message = json!({
        "schema": trace::SCHEMA,
        "trace_id": "t",
        "project": "shop",
        "occurred_at": "2025-06-15T10:00:00Z",
        "query": "How long may I return it?",
        "answer": "Returns are free for 90 days.",
        "retrieval": {
            "retrieved_at": "2025-06-15T10:00:00Z",
            "chunks": [{ "source_id": "faq", "rank": 1, "text": "Returns are free for 30 days." }],
        },
        "generator": { "model": "writer-1", "prompt_version": "7" },
    });
    for (key, value) in fields.as_object().unwrap() {
        message[key] = value.clone();
    }
    serde_json::from_value(message).unwrap()
}

/// The key of a trace's first faithfulness audit.
pub fn key(trace: &Trace) -> AuditKey {
    AuditKey {
        project: trace.project.clone(),
        trace_id: trace.trace_id.clone(),
        content_hash: content_hash(trace),
        kind: Kind::Faithfulness,
        generation: 0,
        repeat: 0,
    }
}

/// A trace as it was received.
pub fn record(trace: &Trace) -> TraceRecord {
    TraceRecord { trace: trace.clone(), payload: serde_json::to_vec(trace).unwrap(), received_at: at(0) }
}

/// An opening; openings of different nonces are of different workers.
pub fn opening(nonce: &str) -> Opening {
    Opening {
        prompt_version: "faithfulness/3".into(),
        prompt_hash: "ab".repeat(32),
        judge: "primary".into(),
        nonce: nonce.into(),
        cut: None,
        opened_at: at(0),
    }
}

/// An attempt of the first unit. Bodies hold what no text column takes.
pub fn attempt(number: u32, class: Class) -> Attempt {
    Attempt {
        unit: 0,
        number,
        started_at: at(i64::from(number)),
        latency: Duration::from_micros(1_234_567),
        judge: "primary".into(),
        model: "judge-large".into(),
        model_answered: Some("judge-large-2025".into()),
        prompt_version: "faithfulness/3".into(),
        prompt_hash: "ab".repeat(32),
        request: format!(r#"{{"attempt":{number},"messages":[]}}"#).into_bytes(),
        raw_reply: Some([b"\0 broken \xC0\x80 \xFF ".as_slice(), number.to_string().as_bytes()].concat()),
        content: Some(format!("reply {number} with a \0 in it")),
        finish_reason: Some("stop".into()),
        http_status: Some(200),
        prompt_tokens: Some(812),
        completion_tokens: Some(90),
        cost_micros: Some(4_200),
        currency: Some("USD".into()),
        class,
        problems: if class == Class::Accepted {
            json!([])
        } else {
            json!([{ "code": "not_json", "path": "$" }])
        },
        remedy: (class != Class::Accepted).then_some(Remedy::Strengthen),
    }
}

/// A claim with this verdict.
pub fn claim(text: &str, verdict: Verdict) -> Claim {
    let is_finding = verdict != Verdict::Grounded;
    Claim {
        id: is_finding.then(|| "2".into()),
        text: text.into(),
        verdict,
        judge_verdict: Some(if is_finding { "hallucinated" } else { "grounded" }.into()),
        severity: is_finding.then_some(Severity::Critical),
        confidence: Some(Confidence::High),
        fabrication: (verdict == Verdict::Unsupported).then_some(Fabrication::Likely),
        explanation: "the source says 30 days".into(),
        evidence: vec![Evidence {
            role: if is_finding { Role::Contradicting } else { Role::Supporting },
            source_id: "faq".into(),
            chunk: 0,
            quote: "Returns are free for 30 days.".into(),
            span: Span { start: 0, end: 29 },
            grade: MatchGrade::Exact,
        }],
        answer_span: Some(Span { start: 0, end: 29 }),
        by_rule: false,
    }
}

/// A report with a grounded claim, a contradicted one and an omission.
pub fn report() -> Report {
    Report {
        score: Some(0.5),
        by_rule: false,
        claims: vec![
            claim("Returns are free.", Verdict::Grounded),
            claim("It is 90 days.", Verdict::Contradicted),
        ],
        omissions: vec![Omission {
            missing_fact: "30 days".into(),
            available_evidence: "for 30 days".into(),
            impact: "too late".into(),
            source_id: "faq".into(),
            chunk: 0,
            span: Span { start: 17, end: 28 },
            grade: MatchGrade::Exact,
        }],
        doubts: vec![Doubt {
            code: "trivial_quote".into(),
            path: "$".into(),
            message: "short".into(),
            claim: Some(0),
        }],
        discrepancies: vec![Discrepancy { path: "$.score".into(), judge: 0.9, ours: 0.5 }],
        notes: vec!["the reply stood in a code fence".into()],
        coverage: Some(0.75),
        overall_assessment: "one wrong number".into(),
    }
}

/// The end of a trace's audit that people must see, with its messages.
pub fn ending(trace: &Trace) -> Ending {
    let key = key(trace);
    let id = key.id();
    let event = |name: &str, routing_key: &str| Event {
        id: derived_id(id, name),
        exchange: "groundcrew.results".into(),
        routing_key: routing_key.into(),
        correlation_id: Some("their-id".into()),
        body: json!({ "event": routing_key, "audit_id": id, "answer": trace.answer }),
    };
    Ending {
        events: vec![event("result", "audit.escalated"), event("review", "review.opened")],
        gate: None,
        key,
        opening: opening("n0nce"),
        trace: std::sync::Arc::new(record(trace)),
        attempts: vec![attempt(1, Class::Format), attempt(2, Class::Accepted)],
        report: Some(report()),
        comparison: None,
        routed: Routed {
            disposition: Disposition::Escalated,
            decision: Some(Decision::Block),
            severity: Some(Severity::Critical),
            reasons: vec![Reason {
                code: "critical_finding".into(),
                message: "1 critical finding".into(),
                claims: vec![1],
                decision: Decision::Block,
                urgent: true,
            }],
            urgent: true,
            blind_sample: false,
        },
        trace_problems: Vec::new(),
        provenance: json!({ "rank": "explicit" }),
        uncalibrated: true,
        practice: false,
        ended_at: at(10),
    }
}

/// The end of an audit that was a call of the gate.
pub fn gated(trace: &Trace) -> Ending {
    let mut ending = ending(trace);
    ending.key.kind = Kind::Gate;
    let call = GateCall {
        id: derived_id(ending.key.id(), "gate_call"),
        channel: GateChannel::Http,
        caller: Some("a\0b".into()),
        session: Some("s".into()),
        regenerations: 1,
        earlier: Vec::new(),
        idempotency_key: Some("k".into()),
        body_hash: Some([9; 32]),
        deadline: Some(Duration::from_secs(5)),
        received_at: at(0),
    };
    let resolution = Resolution {
        verdict: Answer::Ungrounded,
        action: Action::Block,
        redacted: None,
        instruction: None,
        regenerations_left: 1,
        why: "claims are not grounded".into(),
        exhausted: false,
    };
    let gate = GateEnd {
        call,
        resolution,
        outcome: GateOutcome::Judged,
        judged_for: Duration::from_millis(700),
        total: Some(Duration::from_millis(705)),
        response: Some("{\"action\":\"block\"}".into()),
    };
    Ending { gate: Some(gate), events: Vec::new(), ..ending }
}

/// The end of an audit that was never asked about.
pub fn unjudged(trace: &Trace, disposition: Disposition) -> Ending {
    Ending {
        attempts: Vec::new(),
        report: None,
        routed: Routed::unjudged(disposition),
        trace_problems: vec![Problem::new("$.answer", "missing")],
        events: Vec::new(),
        gate: None,
        ..ending(trace)
    }
}

/// The end of an audit without findings.
pub fn passed(trace: &Trace) -> Ending {
    let mut ending = ending(trace);
    ending.report = Some(Report {
        score: Some(1.0),
        claims: vec![claim("Returns are free.", Verdict::Grounded)],
        ..Report::default()
    });
    ending.routed = Routed { decision: Some(Decision::Deliver), ..Routed::unjudged(Disposition::Passed) };
    ending.events.truncate(1);
    ending
}
