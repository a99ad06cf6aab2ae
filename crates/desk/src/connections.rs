//! Connections: how many there may be, and how long nothing may happen on one.
//!
//! A connection without a request in work is idle: nothing was sent on it yet, half a request was, or the next one has
//! not begun. An idle connection costs a file, of which a process has few, so that it is closed after a while, and soon
//! where few places are left. A request in work is never cut off for taking long.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Places beside those for calls of the gate. Together they stay below the 1,024 files that a process often has.
const PLACES: usize = 600;

/// What connections may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// So many at once; further ones wait to be accepted.
    pub(crate) places: usize,
    /// How long one may be idle. Longer than proxies usually keep theirs, so that they close first.
    pub(crate) idle: Duration,
    /// How long where less than a quarter of the places is left.
    pub(crate) crowded: Duration,
    /// How long one that is closing may go on without a request in work: time to read the last answer.
    pub(crate) closing: Duration,
    /// How often it is looked.
    pub(crate) look: Duration,
}

impl Limits {
    /// Those of a desk that takes so many calls of the gate at once.
    pub(crate) fn of(gate_calls: usize) -> Self {
        Self {
            places: PLACES.saturating_add(gate_calls).min(Semaphore::MAX_PERMITS),
            idle: Duration::from_secs(75),
            crowded: Duration::from_secs(5),
            closing: Duration::from_secs(5),
            look: Duration::from_secs(1),
        }
    }
}

/// How many requests of a connection are in work, and since when there is none.
#[derive(Debug, Clone)]
struct Work(Arc<Mutex<(usize, Instant)>>);

/// A request in work, until it is dropped.
struct InWork(Work);

impl Work {
    fn begin(&self) -> InWork {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
        InWork(self.clone())
    }

    /// For how long there is none.
    fn idle(&self) -> Duration {
        let work = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if work.0 == 0 { work.1.elapsed() } else { Duration::ZERO }
    }
}

impl Drop for InWork {
    fn drop(&mut self) {
        let mut work = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        *work = (work.0.saturating_sub(1), Instant::now());
    }
}

/// Serves until `stop`, and then until every connection has ended: requests in work are taken to their end. What is
/// left at `cut` is cut off.
pub(crate) async fn serve(
    mut listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
    cut: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.places));
    let (connections, service) = (TaskTracker::new(), TowerToHyperService::new(router));
    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await.ok()?;
            // Waits a moment by itself where accepting fails.
            Some((place, Listener::accept(&mut listener).await))
        };
        let (place, (stream, peer)) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accepted => match accepted {
                Some(accepted) => accepted,
                None => break,
            },
        };
        let connection = Connection {
            limits,
            places: places.clone(),
            _place: place,
            stop: stop.clone(),
            cut: cut.clone(),
        };
        connections.spawn(connection.serve(stream, peer, service.clone()));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// One of them.
struct Connection {
    limits: Limits,
    places: Arc<Semaphore>,
    _place: OwnedSemaphorePermit,
    stop: CancellationToken,
    cut: CancellationToken,
}

impl Connection {
    async fn serve(self, stream: TcpStream, peer: SocketAddr, router: TowerToHyperService<Router>) {
        let work = Work(Arc::new(Mutex::new((0, Instant::now()))));
        let begun = work.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            let (in_work, answer) = (begun.begin(), router.call(request));
            async move {
                let answer = answer.await;
                drop(in_work);
                answer
            }
        });
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(self.limits.idle);
        builder.http2().timer(TokioTimer::new());
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut looks = interval(self.limits.look);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_closing = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%peer, error = %durable::chain(error.as_ref()), "a connection broke");
                    }
                    return;
                }
                () = self.cut.cancelled() => return,
                () = self.stop.cancelled(), if !is_closing => {
                    is_closing = true;
                    connection.as_mut().graceful_shutdown();
                }
                _ = looks.tick() => {
                    let idle = work.idle();
                    if is_closing && idle >= self.limits.closing {
                        return;
                    }
                    if !is_closing && idle >= self.patience() {
                        is_closing = true;
                        connection.as_mut().graceful_shutdown();
                    }
                }
            }
        }
    }

    /// How long it may be idle now.
    fn patience(&self) -> Duration {
        let is_crowded = self.places.available_permits() < self.limits.places / 4;
        if is_crowded { self.limits.crowded } else { self.limits.idle }
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::mpsc;
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    struct Served {
        address: SocketAddr,
        stop: CancellationToken,
        task: JoinHandle<()>,
    }

    fn limits() -> Limits {
        let ms = Duration::from_millis;
        Limits { places: 8, idle: ms(300), crowded: ms(50), closing: ms(50), look: ms(10) }
    }

    async fn served(router: Router, limits: Limits) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let task = tokio::spawn(serve(listener, router, limits, stop.clone(), CancellationToken::new()));
        Served { address, stop, task }
    }

    async fn sent(served: &Served, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// What comes until the other side closes.
    async fn rest(stream: &mut TcpStream) -> String {
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("it is not closed");
        // Closed with something unread is a reset.
        let _ = read;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    const WHOLE: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

    #[tokio::test(flavor = "multi_thread")]
    async fn idle_sockets_without_a_login_do_not_take_the_desk_down() {
        // Idle for ever, if nothing is in the way of others.
        let patient = Limits { idle: Duration::from_secs(3600), ..limits() };
        let served = served(Router::new().route("/", get(async || "here")), patient).await;
        let mut idle = Vec::new();
        for text in ["GET /que", "", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"].iter().cycle().take(40) {
            idle.push(sent(&served, text).await);
        }
        let answer = rest(&mut sent(&served, WHOLE).await).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("here"), "{answer}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn idle_connections_are_closed_whatever_was_sent_on_them() {
        let served = served(Router::new().route("/", get(async || "here")), limits()).await;
        let kept = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
        for text in ["", "GET /que", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", kept] {
            let answer = rest(&mut sent(&served, text).await).await;
            assert_eq!(answer.contains("here"), text == kept, "{text:?}: {answer}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_request_in_work_outlives_the_idle_time_and_the_stop() {
        let (began, mut begins) = mpsc::unbounded_channel();
        let slow = get(async move || {
            let _ = began.send(());
            tokio::time::sleep(limits().idle * 3).await;
            "at last"
        });
        let served = served(Router::new().route("/", slow), limits()).await;
        let mut long = sent(&served, WHOLE).await;
        begins.recv().await.unwrap();
        let answer = rest(&mut long).await;
        assert!(answer.ends_with("at last"), "{answer}");
        let (mut long, mut half) = (sent(&served, WHOLE).await, sent(&served, "GET /que").await);
        begins.recv().await.unwrap();
        served.stop.cancel();
        assert!(rest(&mut long).await.ends_with("at last"));
        assert_eq!(rest(&mut half).await, "");
        timeout(PATIENCE, served.task).await.expect("it does not end").unwrap();
        assert!(TcpStream::connect(served.address).await.is_err(), "nothing is accepted any more");
    }
}
