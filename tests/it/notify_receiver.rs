//! A receiver of notifications that listens on this machine and does what a test says.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use testkit::{PATIENCE, wait_for};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What it does with a request, once it has it.
#[derive(Debug, Clone, Copy)]
pub enum Does {
    /// Answers with this status.
    Status(u16),
    /// Answers 429 and wants to be left alone for this many seconds.
    Throttle(u64),
    /// Never answers.
    Nothing,
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct Got {
    pub path: String,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
    pub body: Value,
    pub at: Instant,
}

impl Got {
    /// The value of a header; empty without one.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct Inner {
    plan: VecDeque<Does>,
    got: Vec<Got>,
}

/// Listens until it is dropped. What is not planned is answered with 202.
#[derive(Debug)]
pub struct Receiver {
    pub address: SocketAddr,
    inner: Arc<Mutex<Inner>>,
    task: JoinHandle<()>,
}

impl Receiver {
    pub async fn start(plan: impl IntoIterator<Item = Does>) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), plan).await
    }

    pub async fn start_at(address: SocketAddr, plan: impl IntoIterator<Item = Does>) -> Self {
        let inner = Arc::new(Mutex::new(Inner { plan: plan.into_iter().collect(), got: Vec::new() }));
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(take).with_state(Arc::clone(&inner));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, inner, task }
    }

    /// Its address, with a path that is a secret.
    pub fn url(&self) -> String {
        format!("http://{}/s3cret-path", self.address)
    }

    /// All that came.
    pub fn got(&self) -> Vec<Got> {
        self.inner.lock().unwrap().got.clone()
    }

    /// Waits until this many requests have come, and gives them.
    pub async fn wait(&self, count: usize) -> Vec<Got> {
        wait_for(&format!("{count} notifications"), PATIENCE, async || {
            Some(self.got()).filter(|got| got.len() >= count)
        })
        .await
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(
    State(inner): State<Arc<Mutex<Inner>>>,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let does = {
        let mut inner = inner.lock().unwrap();
        let body = serde_json::from_slice(&bytes).unwrap();
        let path = uri.path().to_owned();
        inner.got.push(Got { path, headers, bytes: bytes.to_vec(), body, at: Instant::now() });
        inner.plan.pop_front().unwrap_or(Does::Status(202))
    };
    match does {
        Does::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Does::Throttle(seconds) => {
            (StatusCode::TOO_MANY_REQUESTS, [("retry-after", seconds.to_string())]).into_response()
        }
        Does::Nothing => std::future::pending().await,
    }
}
