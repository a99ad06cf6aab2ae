//! Calls of the gate over the queue: a trace that asks for `gate` or `evidence_check` and names a reply queue.

use std::time::Duration;

use ::audit::record::{AuditKey, GateCall, GateChannel, TraceRecord, derived_id};
use durable::{GivenUp, Project, persist};
use runner::GateAsked;
use serde_json::Value;
use store::{GateClaim, GateClaimed};
use tokio_util::sync::CancellationToken;
use trace::Kind;
use trace::contract::MAX_ID_CHARS;

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
    let is_gate = matches!(key.kind, Kind::Gate | Kind::EvidenceCheck);
    if !is_gate || circumstances.reply_to.is_none() || key.repeat > 0 {
        return Ok(None);
    }
    // Derived, so that the same delivery again is the same call.
    let id = derived_id(key.id(), "gate_call");
    let session = session(record);
    let mut call = GateCall {
        id,
        channel: GateChannel::Queue,
        caller: None,
        session: Some(session.clone().unwrap_or_else(|| id.to_string())),
        regenerations: 0,
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
        if let GateClaimed::New { regenerations, .. } = claimed {
            call.regenerations = regenerations;
        }
    }
    Ok(Some(GateAsked { call, policy: project.gate, cut: None }))
}

/// The session that the producer names.
fn session(record: &TraceRecord) -> Option<String> {
    let named = record.trace.metadata.as_ref()?.get(SESSION).and_then(Value::as_str)?;
    let is_id = !named.trim().is_empty() && named.chars().count() <= MAX_ID_CHARS && !named.contains('\0');
    is_id.then(|| named.to_owned())
}
