//! The HTTP server.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt,
};
use futures_util::stream::{self, StreamExt};
use serde_json::json;
use thiserror::Error;
use tokio::{net::TcpListener, task::JoinHandle, time::sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    MODEL,
    counts::{Calls, Counts},
    plan::{Delivery, Plan, plan},
    settings::Settings,
};

const TRACE_ID: HeaderName = HeaderName::from_static("groundcrew-trace-id");
const FAULT: HeaderName = HeaderName::from_static("groundcrew-practice-fault");

/// Larger than any prompt; a request beyond it is refused with 413.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

const DRIP_PAUSE: Duration = Duration::from_millis(100);

/// How long replies under way may still take once the server is stopped.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// A running practice judge. It stops when it is dropped, without waiting.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    counts: Arc<Counts>,
    serving: JoinHandle<()>,
    stop: DropGuard,
}

/// Why the server could not be started.
#[derive(Debug, Error)]
#[error("practice judge could not listen on {addr}")]
pub struct StartError {
    /// The address that was asked for.
    pub addr: SocketAddr,
    /// Why not.
    #[source]
    pub source: io::Error,
}

#[derive(Clone)]
struct Shared {
    settings: Arc<Settings>,
    counts: Arc<Counts>,
    stop: CancellationToken,
}

impl Server {
    /// Starts serving on `addr`; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(addr: SocketAddr, settings: Settings) -> Result<Server, StartError> {
        let at_addr = |source| StartError { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(at_addr)?;
        let local_addr = listener.local_addr().map_err(at_addr)?;
        // Replies are small and complete: waiting for more to send would only add latency.
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "no TCP_NODELAY");
            }
        });
        let stop = CancellationToken::new();
        let shared =
            Shared { settings: Arc::new(settings), counts: Arc::new(Counts::new()), stop: stop.clone() };
        let counts = Arc::clone(&shared.counts);
        let stopped = stop.clone();
        let serving = tokio::spawn(async move {
            let server = axum::serve(listener, router(shared))
                .with_graceful_shutdown(async move { stopped.cancelled().await });
            if let Err(error) = server.await {
                tracing::error!(%error, "practice judge ended");
            }
        });
        tracing::info!(%local_addr, "practice judge listens");
        Ok(Server { local_addr, counts, serving, stop: stop.drop_guard() })
    }

    /// The address it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The `base_url` for a judge profile.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.local_addr)
    }

    /// The calls for one trace.
    pub fn calls(&self, trace_id: &str) -> Calls {
        self.counts.of(trace_id)
    }

    /// The calls for all traces together, those without a trace id included.
    pub fn total_calls(&self) -> Calls {
        self.counts.total()
    }

    /// Stops: no new connections, calls that hang are dropped, and other replies get five seconds to end.
    pub async fn stop(self) {
        let Server { serving, stop, .. } = self;
        drop(stop);
        if tokio::time::timeout(STOP_PATIENCE, serving).await.is_err() {
            tracing::warn!("practice judge stopped with replies under way");
        }
    }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/models", get(models))
        .route("/health", get(async || Json(json!({ "status": "ok" }))))
        .route("/calls", get(async |State(shared): State<Shared>| Json(shared.counts.overview())))
        .route(
            "/calls/{trace_id}",
            get(async |State(shared): State<Shared>, Path(trace_id): Path<String>| {
                Json(shared.counts.of(&trace_id))
            }),
        )
        .route("/reset", post(async |State(shared): State<Shared>| shared.counts.reset()))
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .with_state(shared)
}

async fn models() -> Json<serde_json::Value> {
    Json(json!({ "object": "list", "data": [{ "id": MODEL, "object": "model", "owned_by": "groundcrew" }] }))
}

async fn complete(State(shared): State<Shared>, headers: HeaderMap, request: Bytes) -> Response {
    let trace_id = headers.get(TRACE_ID).map(|id| percent_decode(id.as_bytes())).unwrap_or_default();
    let nth = shared.counts.received(&trace_id);
    let plan = plan(&shared.settings, &request, &trace_id, nth);
    // The question may be large, and a slow reply should not hold on to it.
    drop(request);
    let waiting = async {
        if !plan.delay.is_zero() {
            sleep(plan.delay).await;
        }
        if plan.delivery == Delivery::Hang {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = waiting => respond(plan, trace_id, shared),
        () = shared.stop.cancelled() => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

fn respond(plan: Plan, trace_id: String, shared: Shared) -> Response {
    let is_answer = plan.is_answer();
    let length = plan.body.len();
    let counts = Arc::clone(&shared.counts);
    let handed_over = move || {
        if is_answer {
            counts.answered(&trace_id);
        }
    };
    // The closures run when the connection takes the last piece, which is when the reply counts as sent.
    let body = match plan.delivery {
        Delivery::Whole | Delivery::Hang => Body::from_stream(stream::once(async move {
            handed_over();
            Ok::<_, Infallible>(plan.body)
        })),
        Delivery::Drip => Body::from_stream(drip(plan.body, handed_over, shared.stop)),
        Delivery::Cut => {
            let half = plan.body.slice(..length / 2);
            // The pause lets the first half out before the error ends the connection.
            let cut = stream::once(async {
                sleep(Duration::from_millis(20)).await;
                Err(io::Error::other("cut on purpose"))
            });
            Body::from_stream(stream::iter([Ok(half)]).chain(cut))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(plan.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = if plan.html { "text/html" } else { "application/json" };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if let Some(seconds) = plan.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(fault) = plan.fault {
        headers.insert(FAULT, HeaderValue::from_static(fault.as_str()));
    }
    response
}

/// The body byte by byte. A stopped server breaks it off.
fn drip(
    body: Bytes,
    handed_over: impl FnOnce() + Send + 'static,
    stop: CancellationToken,
) -> impl stream::Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold((body, Some(handed_over)), move |(mut rest, mut handed_over)| {
        let stop = stop.clone();
        async move {
            if rest.is_empty() {
                return None;
            }
            tokio::select! {
                () = sleep(DRIP_PAUSE) => {}
                () = stop.cancelled() => {
                    return Some((Err(io::Error::other("stopped")), (Bytes::new(), None)));
                }
            }
            let byte = rest.split_to(1);
            if rest.is_empty()
                && let Some(handed_over) = handed_over.take()
            {
                handed_over();
            }
            Some((Ok(byte), (rest, handed_over)))
        }
    })
}

/// Undoes percent-encoding; what is not properly encoded stays as it is.
fn percent_decode(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|hex| first == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        let code = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_ids_are_decoded() {
        for (encoded, decoded) in [
            ("a-1", "a-1"),
            ("a%20b%2F%C3%BC", "a b/ü"),
            ("100%", "100%"),
            ("%zz", "%zz"),
            ("%+1", "%+1"),
            ("%FF", "\u{fffd}"),
        ] {
            assert_eq!(percent_decode(encoded.as_bytes()), decoded);
        }
    }
}
