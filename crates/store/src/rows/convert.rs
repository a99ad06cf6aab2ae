//! From the records of an audit to rows: sanitised, compressed, counted.

use audit::policy::Class;
use audit::record::{Attempt, AuditKey, Ending, Event, Opening, TraceRecord, derived_id};
use audit::{Claim, Omission, Report, Verdict};
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    AttemptBodyRow, AttemptRow, AuditRow, ClaimRow, EventRow, GateCallRow, OmissionRow, ReviewRow,
    StoredAttempt, StoredTrace, TraceBodyRow, TraceRow,
};
use crate::text::{clean, clean_some, compress, finite, json};
use crate::{Error, Result};

/// What a review message's routing key begins with; its body is the review item's evidence.
const REVIEW: &str = "review.";

/// Numbers of ours that a 32-bit column holds; one beyond it would be a mistake elsewhere, not worth
/// a failed write.
fn int(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// The same for 64 bits.
fn big(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Project and trace id as they are stored.
fn text_ids(key: &AuditKey) -> (String, String) {
    (clean(&key.project), clean(&key.trace_id))
}

/// A trace, its payload compressed.
pub(crate) fn stored_trace(key: &AuditKey, record: &TraceRecord) -> Result<StoredTrace> {
    let payload = compress(&record.payload).map_err(Error::cannot_pack("compress a payload"))?;
    let body = TraceBodyRow { trace_row: key.trace_row_id(), payload };
    Ok(StoredTrace { row: trace_row(key, record), body })
}

fn trace_row(key: &AuditKey, record: &TraceRecord) -> TraceRow {
    let trace = &record.trace;
    let label = trace.human_label.as_ref();
    let generator = trace.generator.as_ref();
    let (project, trace_id) = text_ids(key);
    TraceRow {
        id: key.trace_row_id(),
        project,
        trace_id,
        content_hash: key.content_hash.0.to_vec(),
        occurred_at: trace.occurred_at.map(|time| time.0),
        origin: trace.origin.as_str(),
        intent: trace.intent.as_str(),
        risk: trace.risk.as_str(),
        value: trace.value.as_str(),
        domain: clean_some(trace.domain.as_deref()),
        query: clean_some(trace.query.as_deref()),
        answer: clean_some(trace.answer.as_deref()),
        generator_model: clean_some(generator.and_then(|generator| generator.model.as_deref())),
        generator_prompt_version: clean_some(
            generator.and_then(|generator| generator.prompt_version.as_deref()),
        ),
        content_owner: clean_some(trace.content_owner.as_deref()),
        chunk_count: int(trace.chunks().len()),
        human_faithful: label.and_then(|label| label.faithful),
        human_score: finite(label.and_then(|label| label.score)),
        human_labeler: clean_some(label.and_then(|label| label.labeler.as_deref())),
        received_at: record.received_at,
        payload_bytes: big(record.payload.len()),
    }
}

/// Attempts, their requests compressed.
pub(crate) fn stored_attempts(audit: Uuid, attempts: &[Attempt]) -> Result<Vec<StoredAttempt>> {
    let stored = |attempt: &Attempt| {
        Ok(StoredAttempt { row: attempt_row(audit, attempt), body: attempt_body(audit, attempt)? })
    };
    attempts.iter().map(stored).collect()
}

fn attempt_body(audit: Uuid, attempt: &Attempt) -> Result<AttemptBodyRow> {
    let content = clean_some(attempt.content.as_deref());
    let is_changed = content.as_deref() != attempt.content.as_deref();
    Ok(AttemptBodyRow {
        audit_id: audit,
        unit: int(attempt.unit),
        number: int(attempt.number),
        request: compress(&attempt.request).map_err(Error::cannot_pack("compress a request"))?,
        raw_reply: attempt.raw_reply.clone(),
        content_raw: attempt
            .content
            .as_ref()
            .filter(|_| is_changed)
            .map(|content| content.clone().into_bytes()),
        content,
    })
}

fn attempt_row(audit: Uuid, attempt: &Attempt) -> AttemptRow {
    AttemptRow {
        audit_id: audit,
        unit: int(attempt.unit),
        number: int(attempt.number),
        fingerprint: fingerprint(audit, attempt),
        started_at: attempt.started_at,
        latency_us: big(attempt.latency.as_micros()),
        judge: clean(&attempt.judge),
        model: clean(&attempt.model),
        model_answered: clean_some(attempt.model_answered.as_deref()),
        prompt_version: clean(&attempt.prompt_version),
        prompt_hash: clean(&attempt.prompt_hash),
        request_bytes: big(attempt.request.len()),
        finish_reason: clean_some(attempt.finish_reason.as_deref()),
        http_status: attempt.http_status.map(i32::from),
        prompt_tokens: attempt.prompt_tokens.map(big),
        completion_tokens: attempt.completion_tokens.map(big),
        cost_micros: attempt.cost_micros,
        currency: clean_some(attempt.currency.as_deref()),
        class: attempt.class.as_str(),
        problems: json(&attempt.problems),
        remedy: attempt.remedy.map(|remedy| remedy.as_str()),
    }
}

/// Two attempts with the same place and fingerprint are one call. Times count in microseconds, as
/// they are stored, so that an attempt that was read back is still itself.
fn fingerprint(audit: Uuid, attempt: &Attempt) -> Uuid {
    let mut name = attempt.started_at.timestamp_micros().to_be_bytes().to_vec();
    name.extend(attempt.class.as_str().as_bytes());
    name.push(u8::from(attempt.raw_reply.is_some()));
    name.extend(attempt.raw_reply.as_deref().unwrap_or_default());
    Uuid::new_v5(&audit, &name)
}

impl GateCallRow {
    /// The call of the gate that an audit was, if it was one.
    pub(crate) fn of(ending: &Ending) -> Option<Self> {
        let gate = ending.gate.as_ref()?;
        let call = &gate.call;
        let (project, trace_id) = text_ids(&ending.key);
        Some(Self {
            id: call.id,
            project,
            trace_id,
            kind: ending.key.kind.as_str(),
            channel: call.channel.as_str(),
            caller: clean_some(call.caller.as_deref()),
            session: clean_some(call.session.as_deref()),
            regenerations: int(call.regenerations),
            generation: big(ending.key.generation),
            idempotency_key: clean_some(call.idempotency_key.as_deref()),
            body_hash: call.body_hash.map(|hash| hash.to_vec()),
            audit_id: ending.key.id(),
            outcome: gate.outcome.as_str(),
            verdict: gate.resolution.verdict.as_str(),
            action: gate.resolution.action.as_str(),
            deadline_ms: call.deadline.map(|deadline| big(deadline.as_millis())),
            judge_us: big(gate.judged_for.as_micros()),
            total_us: gate.total.map(|total| big(total.as_micros())),
            response: clean_some(gate.response.as_deref()),
            received_at: call.received_at,
            ended_at: ending.ended_at,
        })
    }
}

impl AuditRow {
    /// An audit that has begun.
    pub(crate) fn open(key: &AuditKey, opening: &Opening) -> Self {
        let (project, trace_id) = text_ids(key);
        Self {
            id: key.id(),
            trace_row: key.trace_row_id(),
            project,
            trace_id,
            content_hash: key.content_hash.0.to_vec(),
            kind: key.kind.as_str(),
            generation: i64::from(key.generation),
            repeat: i64::from(key.repeat),
            disposition: None,
            decision: None,
            severity: None,
            score: None,
            score_by_rule: false,
            prompt_version: clean(&opening.prompt_version),
            prompt_hash: clean(&opening.prompt_hash),
            judge: clean(&opening.judge),
            nonce: clean(&opening.nonce),
            cut: opening.cut.map(|cut| cut.to_string()),
            model_answered: None,
            claims_total: None,
            claims_grounded: None,
            claims_contradicted: None,
            claims_unsupported: None,
            claims_insufficient: None,
            omissions_total: None,
            coverage: None,
            doubts: "[]".to_owned(),
            discrepancies: "[]".to_owned(),
            notes: "[]".to_owned(),
            overall_assessment: None,
            human_agreement: None,
            discrepancy_notes: None,
            reasons: "[]".to_owned(),
            trace_problems: "[]".to_owned(),
            provenance: "{}".to_owned(),
            uncalibrated: false,
            practice: false,
            urgent: false,
            attempts_total: 0,
            replies_total: 0,
            opened_at: opening.opened_at,
            ended_at: None,
            r#final: false,
        }
    }

    /// An audit at its end.
    pub(crate) fn ended(ending: &Ending) -> Self {
        let routed = &ending.routed;
        let comparison = ending.comparison.as_ref();
        let accepted = ending.attempts.iter().rev().find(|attempt| attempt.class == Class::Accepted);
        let replies = ending.attempts.iter().filter(|attempt| attempt.class.is_reply()).count();
        Self {
            disposition: Some(routed.disposition.as_str()),
            decision: routed.decision.map(|decision| decision.as_str()),
            severity: routed.severity.map(|severity| severity.as_str()),
            model_answered: clean_some(accepted.and_then(|attempt| attempt.model_answered.as_deref())),
            human_agreement: comparison.and_then(|comparison| comparison.agreement),
            discrepancy_notes: clean_some(comparison.map(|comparison| comparison.discrepancy_notes.as_str())),
            reasons: json(&routed.reasons),
            trace_problems: json(&ending.trace_problems),
            provenance: json(&ending.provenance),
            uncalibrated: ending.uncalibrated,
            practice: ending.practice,
            urgent: routed.urgent,
            attempts_total: int(ending.attempts.len()),
            replies_total: int(replies),
            ended_at: Some(ending.ended_at),
            // The blind sample looks at what is settled already.
            r#final: ending.is_final(),
            ..Self::open(&ending.key, &ending.opening).with_report(ending.report.as_ref())
        }
    }

    fn with_report(self, report: Option<&Report>) -> Self {
        let Some(report) = report else { return self };
        let count = |verdict| Some(int(report.count(verdict)));
        Self {
            score: finite(report.score),
            score_by_rule: report.by_rule,
            claims_total: Some(int(report.claims.len())),
            claims_grounded: count(Verdict::Grounded),
            claims_contradicted: count(Verdict::Contradicted),
            claims_unsupported: count(Verdict::Unsupported),
            claims_insufficient: count(Verdict::InsufficientEvidence),
            omissions_total: Some(int(report.omissions.len())),
            coverage: finite(report.coverage),
            doubts: json(&report.doubts),
            discrepancies: json(&report.discrepancies),
            notes: json(&report.notes),
            overall_assessment: Some(clean(&report.overall_assessment)),
            ..self
        }
    }
}

impl ClaimRow {
    pub(crate) fn new(audit: Uuid, index: usize, claim: &Claim) -> Self {
        Self {
            audit_id: audit,
            index: int(index),
            text: clean(&claim.text),
            verdict: claim.verdict.as_str(),
            judge_verdict: clean_some(claim.judge_verdict.as_deref()),
            severity: claim.severity.map(|severity| severity.as_str()),
            confidence: claim.confidence.map(|confidence| confidence.as_str()),
            explanation: clean(&claim.explanation),
            by_rule: claim.by_rule,
            answer_start: claim.answer_span.map(|span| big(span.start)),
            answer_end: claim.answer_span.map(|span| big(span.end)),
            source_id: clean_some(claim.evidence.first().map(|evidence| evidence.source_id.as_str())),
            evidence: json(&claim.evidence),
            claim_id: clean_some(claim.id.as_deref()),
            fabrication: claim.fabrication.map(|fabrication| fabrication.as_str()),
        }
    }
}

impl OmissionRow {
    pub(crate) fn new(audit: Uuid, index: usize, omission: &Omission) -> Self {
        Self {
            audit_id: audit,
            index: int(index),
            missing_fact: clean(&omission.missing_fact),
            available_evidence: clean(&omission.available_evidence),
            impact: clean(&omission.impact),
            source_id: clean(&omission.source_id),
            chunk: int(omission.chunk),
            chunk_start: big(omission.span.start),
            chunk_end: big(omission.span.end),
            grade: omission.grade.as_str(),
        }
    }
}

impl ReviewRow {
    /// The review item of an ending, if people have to see it.
    pub(crate) fn of(ending: &Ending) -> Option<Self> {
        let routed = &ending.routed;
        if !ending.asks_people() {
            return None;
        }
        let message = ending.events.iter().find(|event| event.routing_key.starts_with(REVIEW));
        let (project, trace_id) = text_ids(&ending.key);
        let audit_id = ending.key.id();
        Some(Self {
            id: derived_id(audit_id, "review_item"),
            audit_id,
            project,
            trace_id,
            kind: ending.key.kind.as_str(),
            reasons: json(&routed.reasons),
            severity: routed.severity.map(|severity| severity.as_str()),
            urgent: routed.urgent,
            blind: routed.blind_sample,
            created_at: ending.ended_at,
            evidence: message.map_or_else(|| "{}".to_owned(), |message| json(&message.body)),
        })
    }
}

impl EventRow {
    /// A message that waits for a relay or, when there is a lease, that its writer sends itself.
    pub(crate) fn new(ending: &Ending, event: &Event, leased_until: Option<DateTime<Utc>>) -> Self {
        Self {
            leased_until,
            attempts: i32::from(leased_until.is_some()),
            id: event.id,
            audit_id: Some(ending.key.id()),
            exchange: clean(&event.exchange),
            routing_key: clean(&event.routing_key),
            correlation_id: clean_some(event.correlation_id.as_deref()),
            body: event.body.to_string().into_bytes(),
            created_at: ending.ended_at,
            available_at: ending.ended_at,
        }
    }
}
