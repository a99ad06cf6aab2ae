//! The gate: a caller waits, and is told what to do with an answer before anybody reads it.
//!
//! `request` reads a call into a trace, `call` takes it to its end, `answer` says what came of it. The result is stored
//! before it is given out. What cannot be decided in time is answered `unknown`, never `grounded`.

mod answer;
mod call;
mod claimed;
mod hurried;
mod request;
mod sink;

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use chrono::Utc;
use durable::chain;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::call::{Answered, Call};
pub(crate) use self::hurried::{Waited, identified};
use crate::access::{Principal, Role};
use crate::body::Bounded;
use crate::problem::Refusal;
use crate::routes::{Least, Route};
use crate::state::Desk;

/// The longest idempotency key, in bytes.
const MAX_KEY: usize = 255;

/// How long after its deadline a caller still waits for what is being stored.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// How often calls of processes that have gone are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(15);

pub(crate) fn routes() -> Vec<Route> {
    let about = "asks the gate about an answer, and waits for what to do with it";
    vec![Route::new(Method::POST, "/v1/gate", Least::Role(Role::Gate), about, post(gate))]
}

async fn gate(
    State(desk): State<Desk>,
    principal: Principal,
    waited: Option<Extension<Waited>>,
    headers: HeaderMap,
    Bounded(body): Bounded,
) -> Result<Response, Refusal> {
    let (received_at, id) = (Utc::now(), Uuid::now_v7());
    let waited = waited.map_or(Duration::ZERO, |Extension(Waited(waited))| waited);
    let began = Instant::now().checked_sub(waited).unwrap_or_else(Instant::now);
    is_json(&headers)?;
    let key = idempotency_key(&headers)?;
    let asked = request::read(&body, &format!("gate-{id}"), received_at, &desk.settings().gate)?;
    if !principal.may_see(&asked.trace.project) {
        let message = format!("{} may not ask about the project {}", principal.name, asked.trace.project);
        return Err(Refusal::forbidden(message));
    }
    let Ok(place) = desk.calls().clone().try_acquire_owned() else {
        metrics::counter!("groundcrew_gate_refused_total").increment(1);
        let most = desk.settings().gate.max_calls;
        return Err(Refusal::too_many(format!("{most} calls of the gate are in work (gate.max_calls)"), 1));
    };
    // Dropped with this request: whoever asked has gone away then, and the call ends without a verdict.
    let gone = CancellationToken::new();
    let _waits = gone.clone().drop_guard();
    let answer_by = began + asked.deadline + LAST_WAIT;
    let unknown = call::unknown(&desk, &asked.trace);
    let call = Call {
        id,
        began,
        received_at,
        caller: principal.name,
        body_hash: key.is_some().then(|| Sha256::digest(&body).into()),
        key,
        asked,
        gone,
    };
    let worker = desk.clone();
    let mut work = desk.tasks().spawn(async move {
        let _place = place;
        call.answer(&worker).await
    });
    let answered = tokio::select! {
        biased;
        answered = &mut work => answered,
        () = tokio::time::sleep_until(answer_by) => {
            tracing::error!(call = %id, "the result of a gate call was not stored by its deadline");
            let body = answer::not_stored(&unknown, "the result could not be stored by the deadline; try again");
            Ok(Ok(Answered { body, is_stored: false, is_repeated: false, took: None }))
        }
    };
    match answered {
        Ok(answered) => answered.map(respond),
        Err(error) => {
            tracing::error!(%error, "a call of the gate ended by a panic");
            let failed = StatusCode::INTERNAL_SERVER_ERROR;
            Err(Refusal::new(failed, "defect", "a defect of this program ended the call"))
        }
    }
}

fn respond(answered: Answered) -> Response {
    let status = if answered.is_stored { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], answered.body).into_response();
    if let Some((judge, total)) = answered.took {
        let ms = |took: Duration| took.as_secs_f64() * 1000.0;
        let timing = format!("judge;dur={:.3}, total;dur={:.3}", ms(judge), ms(total));
        if let Ok(value) = HeaderValue::from_str(&timing) {
            response.headers_mut().insert("server-timing", value);
        }
    }
    if answered.is_repeated {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    response
}

/// A form of another site cannot send JSON without asking first.
fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "send JSON, as `Content-Type: application/json`";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str().map(str::trim) {
        Ok(key) if !key.is_empty() && key.len() <= MAX_KEY => Ok(Some(key.to_owned())),
        _ => Err(Refusal::malformed(format!(
            "the header Idempotency-Key must be 1 to {MAX_KEY} visible ASCII characters"
        ))),
    }
}

/// Ends what desks that were killed have left open, until `stop`.
pub(crate) async fn sweep(desk: &Desk, stop: &CancellationToken) {
    loop {
        // Not raced with the stop: it writes.
        match desk.store().end_lost_gate_calls().await {
            Ok(lost) => {
                for call in lost {
                    tracing::warn!(
                        call = %call.id,
                        project = call.project,
                        trace_id = call.trace_id,
                        received_at = %call.received_at,
                        audit_id = call.audit_id.map(tracing::field::display),
                        "a call of the gate was cut off when its process ended; its audit, if it had one by then, ends judge_unavailable"
                    );
                }
            }
            Err(error) => {
                tracing::debug!(error = %chain(&error), "calls that were cut off cannot be ended now")
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(SWEEP_EVERY) => {}
        }
    }
}
