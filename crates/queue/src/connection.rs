use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use lapin::{ConnectionProperties, Event};
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::delay::Delay;
use crate::error::Error;
use crate::settings::Settings;
use crate::{socket, topology};

/// What lasted this long was good: the next outage starts with short pauses again. A connection or a
/// subscription that dies at once, over and over, is tried at the longest pause.
pub(crate) const STEADY: Duration = Duration::from_secs(10);

/// The client library reports some ends of a connection only through its status.
const LOOK: Duration = Duration::from_millis(500);

/// A connection to the broker that comes back by itself. Clones share it; the last one to go closes it.
#[derive(Clone)]
pub struct Connection {
    shared: Arc<Shared>,
}

/// What a connection is for. Each purpose gets its own, see the crate's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Deliveries and their acks.
    Consume,
    /// Publishing.
    Publish,
}

impl Purpose {
    const fn word(self) -> &'static str {
        match self {
            Self::Consume => "consume",
            Self::Publish => "publish",
        }
    }
}

/// How a connection is, for readiness and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Connected.
    Up,
    /// Connected, and the broker takes nothing from it, with the broker's reason (memory or disk).
    Blocked(String),
    /// Not connected, with the reason of the last failure; it is being tried.
    Down(String),
    /// Closed by this process.
    Closed,
}

struct Shared {
    settings: Settings,
    purpose: Purpose,
    status: watch::Receiver<Status>,
    suspicion: Arc<Notify>,
    keep_topology: Arc<AtomicBool>,
    restoring: Mutex<()>,
    stop: CancellationToken,
    done: CancellationToken,
    _stop_on_drop: DropGuard,
}

#[derive(Clone)]
enum Status {
    Up(Live),
    Down(String),
    Closed,
}

/// One connection of the client library, for as long as it lasts.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) connection: Arc<lapin::Connection>,
    blocked: Option<String>,
    since: Instant,
    /// Set when a publish or a look got no answer on it: see [`Connection::distrust`].
    distrusted: Arc<AtomicBool>,
    /// Closes the socket with the last clone, should the library not have done so.
    _socket: Arc<DropGuard>,
}

impl Connection {
    /// Connects, in one attempt.
    ///
    /// # Errors
    /// [`Error::Connect`] or [`Error::Timeout`]. [`Error::is_configuration`] tells wrong credentials or a wrong
    /// virtual host from a broker that is not there yet.
    pub async fn open(settings: &Settings, purpose: Purpose) -> Result<Self, Error> {
        let live = connect(settings, purpose).await?;
        tracing::info!(broker = settings.broker(), purpose = purpose.word(), "connected to the broker");
        Ok(Self::supervise(live, settings, purpose))
    }

    /// Connects, for as long as it takes.
    ///
    /// # Errors
    /// Those of [`Connection::open`] that are configuration, at once; [`Error::Closed`] when `stop` is cancelled.
    pub async fn open_when_ready(
        settings: &Settings,
        purpose: Purpose,
        stop: &CancellationToken,
    ) -> Result<Self, Error> {
        let mut delay = Delay::new();
        let mut told = false;
        loop {
            let attempt = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Error::Closed),
                attempt = Self::open(settings, purpose) => attempt,
            };
            match attempt {
                Err(error) if !error.is_configuration() => {
                    if !told {
                        tracing::warn!(error = chain(&error), "waiting for the broker");
                        told = true;
                    }
                }
                outcome => return outcome,
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Error::Closed),
                () = tokio::time::sleep(delay.next_pause()) => {}
            }
        }
    }

    /// How the connection is now.
    #[must_use]
    pub fn state(&self) -> State {
        match &*self.shared.status.borrow() {
            Status::Up(Live { blocked: Some(reason), .. }) => State::Blocked(reason.clone()),
            Status::Up(live) if live.is_connected() => State::Up,
            Status::Up(_) => State::Down("the connection was lost".into()),
            Status::Down(reason) => State::Down(reason.clone()),
            Status::Closed => State::Closed,
        }
    }

    /// The settings it was opened with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Closes the connection for all its clones. Deliveries that are not settled go back to their queues.
    pub async fn close(&self) {
        self.shared.stop.cancel();
        self.shared.done.cancelled().await;
    }

    /// The connection as soon as there is one. Waits for ever while the broker is away.
    pub(crate) async fn live(&self) -> Result<Live, Error> {
        let mut status = self.shared.status.clone();
        loop {
            match &*status.borrow_and_update() {
                Status::Up(live) if live.is_connected() => return Ok(live.clone()),
                Status::Up(_) => self.shared.suspicion.notify_one(),
                Status::Down(_) => {}
                Status::Closed => return Err(Error::Closed),
            }
            status.changed().await.map_err(|_| Error::Closed)?;
        }
    }

    /// Replaces the connection after a publish or a look that got no answer for `wait`.
    ///
    /// After a broker was killed and came back, a connection that was made while it started has been seen to
    /// answer heartbeats and no publish, for as long as it was kept. A connection younger than `wait` is spared,
    /// since the time-out was about its predecessor, and so is one that the broker blocks for want of resources.
    pub(crate) fn distrust(&self, wait: Duration) {
        if let Status::Up(live) = &*self.shared.status.borrow()
            && live.blocked.is_none()
            && live.since.elapsed() >= wait
        {
            live.distrusted.store(true, Ordering::Relaxed);
            self.shared.suspicion.notify_one();
        }
    }

    /// From now on the topology is declared again after each reconnect.
    pub(crate) fn keep_topology(&self) {
        self.shared.keep_topology.store(true, Ordering::Relaxed);
    }

    /// Declares what is missing, for a consumer whose queue vanished. Returns whether it did: a connection that
    /// was not asked to keep the topology leaves it alone.
    pub(crate) async fn restore_topology(&self, live: &Live) -> Result<bool, Error> {
        if !self.shared.keep_topology.load(Ordering::Relaxed) {
            return Ok(false);
        }
        // Several consumers may have lost their queues at once; the first one restores them all.
        let _one_at_a_time = self.shared.restoring.lock().await;
        report_vanished(&topology::restore_on(&live.connection, &self.shared.settings).await?);
        Ok(true)
    }

    fn supervise(live: Live, settings: &Settings, purpose: Purpose) -> Self {
        let stop = CancellationToken::new();
        let done = CancellationToken::new();
        let suspicion = Arc::new(Notify::new());
        let keep_topology = Arc::new(AtomicBool::new(false));
        let (sender, status) = watch::channel(Status::Up(live.clone()));
        let supervisor = Supervisor {
            settings: settings.clone(),
            purpose,
            status: sender,
            suspicion: suspicion.clone(),
            keep_topology: keep_topology.clone(),
            stop: stop.clone(),
        };
        let finished = done.clone().drop_guard();
        tokio::spawn(async move {
            supervisor.run(live).await;
            drop(finished);
        });
        let shared = Shared {
            settings: settings.clone(),
            purpose,
            status,
            suspicion,
            keep_topology,
            restoring: Mutex::new(()),
            _stop_on_drop: stop.clone().drop_guard(),
            stop,
            done,
        };
        Self { shared: Arc::new(shared) }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("broker", &self.shared.settings.broker())
            .field("purpose", &self.shared.purpose)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Live {
    fn is_connected(&self) -> bool {
        self.connection.status().connected()
    }
}

/// The task that watches one connection and replaces it. It holds no [`Connection`], so that dropping the last
/// one ends it.
struct Supervisor {
    settings: Settings,
    purpose: Purpose,
    status: watch::Sender<Status>,
    suspicion: Arc<Notify>,
    keep_topology: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl Supervisor {
    async fn run(self, mut live: Live) {
        let mut delay = Delay::new();
        loop {
            let since = Instant::now();
            let Some(reason) = self.watch(&live).await else {
                self.status.send_replace(Status::Closed);
                self.hang_up(&live.connection).await;
                return;
            };
            if since.elapsed() >= STEADY {
                delay.reset();
            }
            tracing::warn!(
                broker = self.settings.broker(),
                purpose = self.purpose.word(),
                reason,
                "lost the connection to the broker, reconnecting"
            );
            self.status.send_replace(Status::Down(reason));
            drop(live);
            let Some(next) = self.reconnect(&mut delay).await else {
                self.status.send_replace(Status::Closed);
                return;
            };
            live = next;
        }
    }

    /// Returns why the connection ended, or nothing if it shall be closed.
    async fn watch(&self, live: &Live) -> Option<String> {
        let mut events = std::pin::pin!(live.connection.events_listener());
        let mut reason = None;
        let mut blocked = None;
        loop {
            if !live.is_connected() {
                return Some(reason.unwrap_or_else(|| "the connection was closed".into()));
            }
            if live.distrusted.load(Ordering::Relaxed) {
                return Some("the broker did not answer in time".into());
            }
            // It was about a channel.
            reason = None;
            // The events may have begun before anybody listened.
            if live.connection.status().blocked() != blocked.is_some() {
                blocked = live
                    .connection
                    .status()
                    .blocked()
                    .then(|| blocked.unwrap_or_else(|| "resource alarm".into()));
                self.tell_blocked(live, blocked.clone());
            }
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                event = next_event(&mut events) => match event {
                    Event::Error(error) => reason = Some(error.to_string()),
                    Event::ConnectionBlocked(why) => {
                        blocked = Some(why);
                        self.tell_blocked(live, blocked.clone());
                    }
                    Event::ConnectionUnblocked => {
                        blocked = None;
                        self.tell_blocked(live, None);
                    }
                    _ => {}
                },
                () = self.suspicion.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn reconnect(&self, delay: &mut Delay) -> Option<Live> {
        let since = Instant::now();
        let mut attempts = 0_u32;
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(delay.next_pause()) => {}
            }
            attempts = attempts.saturating_add(1);
            let attempt = tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                attempt = connect(&self.settings, self.purpose) => attempt,
            };
            let live = match attempt {
                Ok(live) => live,
                Err(error) => {
                    let reason = chain(&error);
                    tracing::debug!(reason, attempts, "the broker is still away");
                    self.status.send_replace(Status::Down(reason));
                    continue;
                }
            };
            if self.keep_topology.load(Ordering::Relaxed) {
                tokio::select! {
                    biased;
                    () = self.stop.cancelled() => return None,
                    () = self.restore(&live.connection) => {}
                }
            }
            tracing::info!(
                broker = self.settings.broker(),
                purpose = self.purpose.word(),
                attempts,
                outage_ms = since.elapsed().as_millis(),
                "connected to the broker again"
            );
            self.status.send_replace(Status::Up(live.clone()));
            return Some(live);
        }
    }

    /// A failure does not keep the connection from being used: what does exist is worth consuming.
    async fn restore(&self, connection: &lapin::Connection) {
        match topology::restore_on(connection, &self.settings).await {
            Ok(vanished) => report_vanished(&vanished),
            Err(error) => {
                tracing::error!(error = chain(&error), "could not check the topology after reconnecting")
            }
        }
    }

    fn tell_blocked(&self, live: &Live, blocked: Option<String>) {
        match &blocked {
            Some(reason) => {
                tracing::warn!(
                    purpose = self.purpose.word(),
                    reason,
                    "the broker is short of resources and takes nothing"
                );
            }
            None => tracing::info!(purpose = self.purpose.word(), "the broker takes messages again"),
        }
        self.status.send_replace(Status::Up(Live { blocked, ..live.clone() }));
    }

    async fn hang_up(&self, connection: &lapin::Connection) {
        // While the broker blocks the connection it reads nothing, not even the request to close.
        let wait = self.settings.options().settle_timeout;
        match timeout(wait, connection.close(200, "OK".into())).await {
            Ok(Ok(())) => {
                tracing::info!(purpose = self.purpose.word(), "closed the connection to the broker")
            }
            Ok(Err(error)) => {
                tracing::debug!(error = chain(&error), "the connection was gone before it was closed")
            }
            Err(_) => tracing::warn!(
                purpose = self.purpose.word(),
                "the broker did not answer the request to close"
            ),
        }
    }
}

/// The stream of events may end before the status says that the connection is dead.
async fn next_event(events: &mut (impl Stream<Item = Event> + Unpin)) -> Event {
    match events.next().await {
        Some(event) => event,
        None => std::future::pending().await,
    }
}

async fn connect(settings: &Settings, purpose: Purpose) -> Result<Live, Error> {
    let options = settings.options();
    let name = format!("{} ({})", options.name, purpose.word());
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let hang_up = CancellationToken::new();
    let socket = Arc::new(hang_up.clone().drop_guard());
    let after = options.connect_timeout;
    match timeout(after, socket::connect(settings.uri(), properties, options.authorities.clone(), hang_up))
        .await
    {
        Ok(Ok(connection)) => Ok(Live {
            connection: Arc::new(connection),
            blocked: None,
            since: Instant::now(),
            distrusted: Arc::default(),
            _socket: socket,
        }),
        Ok(Err(source)) => Err(Error::Connect { broker: settings.broker(), source: Box::new(source) }),
        Err(_) => Err(Error::Timeout { operation: "connect", after }),
    }
}

fn report_vanished(queues: &[String]) {
    for queue in queues {
        tracing::error!(queue, "a queue had vanished and was declared again; the messages it held are lost");
    }
}

/// The error and everything behind it, on one line. The client library repeats its sources in its own text.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
