//! Liveness, readiness and figures. They need no login and show no trace.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use durable::chain;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::routes::{Least, Route};
use crate::state::Desk;

/// How often the database is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_secs(2);

pub(crate) fn routes() -> Vec<Route> {
    let public = |path, about, handler| Route::new(Method::GET, path, Least::Public, about, handler);
    vec![
        public("/healthz", "whether the process lives", get(live)),
        public("/readyz", "whether it can answer, and why not", get(ready)),
        public("/metrics", "figures for Prometheus", get(metrics)),
    ]
}

async fn live() -> Json<serde_json::Value> {
    Json(json!({ "alive": true }))
}

async fn ready(State(desk): State<Desk>) -> Response {
    let mut reasons = Vec::new();
    if desk.abort().is_cancelled() || desk.tasks().is_closed() {
        reasons.push(json!({ "what": "stopping", "why": "the desk was told to stop" }));
    }
    if let Err(why) = &*desk.database().borrow() {
        reasons.push(json!({ "what": "database", "why": why }));
    }
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ready": reasons.is_empty(), "reasons": reasons }))).into_response()
}

async fn metrics(State(desk): State<Desk>) -> Response {
    let free = desk.calls().available_permits();
    #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
    let in_work = desk.settings().gate.max_calls.saturating_sub(free) as f64;
    metrics::gauge!("groundcrew_gate_calls_in_work").set(in_work);
    desk.figures().response()
}

/// Asks the database until `stop`.
pub(crate) async fn watch(desk: &Desk, stop: &CancellationToken) {
    loop {
        // Not raced with the stop: a read that is cancelled takes its connection with it.
        let answer = desk.store().ping().await.map_err(|error| chain(&error));
        desk.database().send_if_modified(|known| {
            let is_new = *known != answer;
            known.clone_from(&answer);
            is_new
        });
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(ASK_EVERY) => {}
        }
    }
}
