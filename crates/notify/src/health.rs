//! Liveness, readiness and figures of a process that does nothing but notify.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use durable::chain;
use figures::{Endpoint, Figures};
use queue::Connection;
use store::Store;
use tokio_util::sync::CancellationToken;

/// How often the event loop says that it lives.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// How often the database is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_secs(2);

/// A socket that waits for its server.
#[derive(Debug)]
pub struct Health(Endpoint);

/// What is known of the process.
struct Served {
    connection: Connection,
    figures: Figures,
    stop: CancellationToken,
    begun: Instant,
    /// Milliseconds from `begun` to the last beat.
    beat: AtomicU64,
    /// What the database answered last; none before the first answer.
    database: Mutex<Option<Result<(), String>>>,
}

impl Health {
    /// Listens. Nothing is answered before [`Health::serve`].
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn bind(address: SocketAddr) -> std::io::Result<Self> {
        Endpoint::bind(address).map(Self)
    }

    /// Answers until `end`; from `stop` on the process is not ready. Ends with `end`.
    pub async fn serve(
        self,
        store: Store,
        connection: Connection,
        stop: CancellationToken,
        end: CancellationToken,
    ) {
        let served = Arc::new(Served {
            connection,
            figures: Figures::install(),
            stop,
            begun: Instant::now(),
            beat: AtomicU64::new(0),
            database: Mutex::new(None),
        });
        self.0.serve(router(Arc::clone(&served)), end.clone());
        tokio::join!(served.beats(&end), served.asks(&store, &end));
    }
}

fn router(state: Arc<Served>) -> Router {
    Router::new()
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(state)
}

async fn live(State(served): State<Arc<Served>>) -> Response {
    let beat = Duration::from_millis(served.beat.load(Ordering::Relaxed));
    figures::live(served.begun.elapsed().saturating_sub(beat))
}

async fn ready(State(served): State<Arc<Served>>) -> Response {
    figures::ready(&served.reasons())
}

async fn metrics(State(served): State<Arc<Served>>) -> Response {
    let reasons = served.reasons();
    let is = |is: bool| f64::from(u8::from(is));
    metrics::gauge!("groundcrew_ready").set(is(reasons.is_empty()));
    for service in ["broker_consuming", "database"] {
        let up = reasons.iter().all(|(what, _)| *what != service);
        metrics::gauge!("groundcrew_up", "service" => service).set(is(up));
    }
    served.figures.response()
}

impl Served {
    async fn beats(&self, end: &CancellationToken) {
        while !end.is_cancelled() {
            let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.beat.store(now, Ordering::Relaxed);
            tokio::select! {
                () = end.cancelled() => {}
                () = tokio::time::sleep(BEAT_EVERY) => {}
            }
        }
    }

    async fn asks(&self, store: &Store, end: &CancellationToken) {
        while !end.is_cancelled() {
            // Not raced with the end: a read that is cancelled takes its connection with it.
            let answer = store.ping().await.map_err(|error| chain(&error));
            *self.database.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            tokio::select! {
                () = end.cancelled() => {}
                () = tokio::time::sleep(ASK_EVERY) => {}
            }
        }
    }

    /// Why nobody is told anything now; empty when people are.
    fn reasons(&self) -> Vec<(&'static str, String)> {
        let mut reasons = Vec::new();
        if self.stop.is_cancelled() {
            reasons.push(("stopping", "the process was told to stop".to_owned()));
        }
        match self.connection.state() {
            queue::State::Up => {}
            queue::State::Blocked(why) => {
                reasons.push(("broker_consuming", format!("the broker takes nothing: {why}")));
            }
            queue::State::Down(why) => reasons.push(("broker_consuming", why)),
            queue::State::Closed => {
                reasons.push(("broker_consuming", "closed by this process".to_owned()));
            }
        }
        match &*self.database.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(())) => {}
            Some(Err(why)) => reasons.push(("database", why.clone())),
            None => reasons.push(("database", "was not asked yet".to_owned())),
        }
        reasons
    }
}
