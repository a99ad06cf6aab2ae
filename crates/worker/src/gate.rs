//! Calls of the gate over the queue: a trace that asks for `gate` or `evidence_check` and names a reply queue.

use std::time::Duration;

use ::audit::record::{AuditKey, GateCall, GateChannel, TraceRecord, derived_id};
use durable::{GivenUp, Project, persist};
use runner::GateAsked;
use serde_json::Value;
use store::{GateClaim, GateClaimed};
use tokio_util::sync::CancellationToken;
use trace::contract::MAX_ID_CHARS;
use trace::{Kind, Problem, Trace};

use crate::audit::Circumstances;
use crate::worker::Context;

/// The key of the trace's metadata that names the session.
const SESSION: &str = "gate_session";

/// How long after its oldest age a call may still be open; it is delivered until then.
const SLACK: Duration = Duration::from_secs(3600);

/// The call that a delivery is, if it is one. Within a session it is counted before it is judged.
pub(crate) async fn asked(
    context: &Context,
    project: &Project,
    key: &AuditKey,
    record: &TraceRecord,
    circumstances: &Circumstances<'_>,
    abort: &CancellationToken,
) -> Result<Option<GateAsked>, GivenUp> {
    if !is_call(key.kind, circumstances) || key.repeat > 0 {
        return Ok(None);
    }
    // Derived, so that the same delivery again is the same call.
    let id = derived_id(key.id(), "gate_call");
    let (session, problems) = match session(&record.trace) {
        Ok(session) => (session, Vec::new()),
        Err(problem) => (None, vec![problem]),
    };
    let mut call = GateCall {
        id,
        channel: GateChannel::Queue,
        caller: None,
        session: Some(session.clone().unwrap_or_else(|| id.to_string())),
        regenerations: 0,
        earlier: Vec::new(),
        idempotency_key: None,
        body_hash: None,
        deadline: None,
        received_at: circumstances.first_seen,
    };
    if session.is_some() {
        let expires_in = context.settings.max_age + SLACK;
        let claim = GateClaim { call: call.clone(), key: key.clone(), expires_in };
        let claimed =
            persist("counting a session", abort, || context.store.claim_gate_call(claim.clone())).await?;
        if let GateClaimed::New { regenerations, earlier, .. } = claimed {
            call.regenerations = regenerations;
            call.earlier = earlier;
        }
    }
    Ok(Some(GateAsked { call, policy: project.gate, cut: None, problems }))
}

/// Whether a delivery is a call of the gate that cannot be heard as it is.
pub(crate) fn is_wrong(kind: Kind, record: &TraceRecord, circumstances: &Circumstances<'_>) -> bool {
    is_call(kind, circumstances) && session(&record.trace).is_err()
}

/// Whether somebody waits for what to do with an answer.
fn is_call(kind: Kind, circumstances: &Circumstances<'_>) -> bool {
    matches!(kind, Kind::Gate | Kind::EvidenceCheck) && circumstances.reply_to.is_some()
}

/// The session that the producer names.
fn session(trace: &Trace) -> Result<Option<String>, Problem> {
    match trace.metadata.as_ref().and_then(|metadata| metadata.get(SESSION)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(session)) if is_id(session) => Ok(Some(session.clone())),
        Some(_) => {
            let message = format!("expected a text of 1 to {MAX_ID_CHARS} characters, not blank");
            Err(Problem::new(format!("$.metadata.{SESSION}"), message))
        }
    }
}

fn is_id(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MAX_ID_CHARS && !text.contains('\0')
}
