//! A small HTTP server beside a process's own work, for health and figures.
//!
//! It has a thread and an event loop of its own, so that it can say that the process's event loop is stuck.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{CONTENT_TYPE, Figures};

/// An event loop that has not moved for this long is stuck. No step of a process takes a tenth of it.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// What `/livez` says of an event loop that moved last so long ago.
pub fn live(silent: Duration) -> Response {
    let alive = silent < STUCK_AFTER;
    let status = if alive { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "alive": alive, "event_loop_silent_s": silent.as_secs() }))).into_response()
}

/// What `/readyz` says: ready without reasons against it. Each has a word and an explanation.
pub fn ready(reasons: &[(&'static str, String)]) -> Response {
    let ready = reasons.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let reasons: Vec<_> = reasons.iter().map(|(what, why)| json!({ "what": what, "why": why })).collect();
    (status, Json(json!({ "ready": ready, "reasons": reasons }))).into_response()
}

/// A socket that waits for its server.
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

impl Endpoint {
    /// Listens. Nothing is answered before [`Endpoint::serve`].
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `end`.
    pub fn serve(self, router: Router, end: CancellationToken) {
        let address = self.address;
        let serve = move || -> std::io::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(self.listener)?;
                // Whoever keeps a connection open must not keep the process from ending.
                tokio::select! {
                    served = async { axum::serve(listener, router).await } => served,
                    () = end.cancelled() => Ok(()),
                }
            })
        };
        let spawned = std::thread::Builder::new().name("health".into()).spawn(move || {
            if let Err(error) = serve() {
                tracing::error!(%error, "the health endpoints are gone");
            }
        });
        match spawned {
            Ok(_) => tracing::info!(%address, "health endpoints: /livez, /readyz, /metrics"),
            Err(error) => tracing::error!(%error, "the health endpoints could not be started"),
        }
    }
}

impl Figures {
    /// All figures as a response.
    pub fn response(&self) -> Response {
        match self.text() {
            Some(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        }
    }
}
