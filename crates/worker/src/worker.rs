//! The worker: its parts, start and drain.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use durable::{Purses, calibration, chain};
use queue::{Connection, Consumer, Lane, Publisher, Source, topology};
use runner::Runner;
use store::Store;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::flow::{self, Flow};
use crate::health::Health;
use crate::rates::Rates;
use crate::relay::Relay;
use crate::settings::Settings;
use crate::vitals::Vitals;
use crate::{dead, fleet, lane, relay};

/// How long to wait before a queue that cannot be opened is tried again.
const REOPEN_PAUSE: Duration = Duration::from_secs(2);

/// How often partitions are looked at; they are made for weeks ahead.
const PARTITIONS_EVERY: Duration = Duration::from_secs(3600);

/// A worker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The broker's exchanges and queues are not as they must be.
    #[error("the topology could not be declared")]
    Topology(#[source] queue::Error),
    /// The database is not ready.
    #[error("the database is not ready")]
    Database(#[source] store::Error),
    /// The health endpoints have no address.
    #[error("worker.health_listen: cannot listen on {address}")]
    Health {
        /// Where they should be.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// One stateless worker. Any number may run at the same time, and any of them may be killed.
#[derive(Debug)]
pub struct Worker {
    context: Arc<Context>,
    consuming: Connection,
    health: Option<Health>,
}

/// What every part of a worker shares.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    pub(crate) publisher: Publisher,
    pub(crate) runner: Runner,
    /// Calls that are reserved for projects with a cap.
    pub(crate) purses: Purses,
    /// Messages that were committed just now, on their way out.
    pub(crate) relay: Relay,
    pub(crate) flow: watch::Sender<Flow>,
    pub(crate) vitals: Vitals,
    pub(crate) rates: Rates,
}

impl Worker {
    /// A worker on two broker connections, one that consumes and one that publishes.
    ///
    /// # Errors
    /// [`WorkerError`] when the schema or the topology is not as it must be.
    pub async fn new(
        settings: Settings,
        store: Store,
        consuming: Connection,
        publisher: Publisher,
        runner: Runner,
    ) -> Result<Self, WorkerError> {
        store.check_schema().await.map_err(WorkerError::Database)?;
        topology::declare(&consuming).await.map_err(WorkerError::Topology)?;
        // Known before the first audit, so that no result is marked for want of a look.
        runner.calibration().replace(store.calibrated().await.map_err(WorkerError::Database)?);
        let health = match settings.health_listen {
            Some(address) => {
                Some(Health::bind(address).map_err(|source| WorkerError::Health { address, source })?)
            }
            None => None,
        };
        let context = Arc::new(Context {
            rates: Rates::new(&settings),
            purses: Purses::new(settings.spend),
            settings,
            store,
            publisher,
            runner,
            relay: Relay::new(),
            // Nothing is taken before it is known whether the fleet is paused.
            flow: watch::Sender::new(Flow::Paused),
            vitals: Vitals::new(),
        });
        Ok(Self { context, consuming, health })
    }

    /// Where its health endpoints are, if it has any.
    pub fn health_address(&self) -> Option<SocketAddr> {
        self.health.as_ref().map(Health::address)
    }

    /// Works until `stop`, then finishes or hands back what it holds within the drain deadline.
    pub async fn run(self, stop: CancellationToken) {
        // Cancelled at the drain deadline: calls of the judge end, commits do not.
        let abort = CancellationToken::new();
        let end = CancellationToken::new();
        if let Some(health) = self.health {
            health.serve(self.context.clone(), self.consuming.clone(), end.clone());
        }
        let (paused, hears) = watch::channel(false);
        fleet::hear(&self.context, &paused).await;
        let mut background = JoinSet::new();
        let (context, token) = (self.context.clone(), end.clone());
        background.spawn(async move { fleet::follow(&context, &paused, &token).await });
        let (context, token) = (self.context.clone(), end.clone());
        background.spawn(async move { fleet::beat(&context, &token).await });
        let (context, token) = (self.context.clone(), stop.clone());
        background.spawn(async move {
            flow::keep(context.runner.judges(), hears, &context.flow, &token).await;
        });
        let relay_stop = CancellationToken::new();
        let mut lanes = JoinSet::new();
        for lane in Lane::ALL {
            for prefetch in lane::shares(self.context.settings.lanes.of(lane)) {
                lanes.spawn(lane::consume(
                    self.context.clone(),
                    self.consuming.clone(),
                    lane,
                    prefetch,
                    stop.clone(),
                    abort.clone(),
                ));
            }
        }
        let (context, connection, token) = (self.context.clone(), self.consuming.clone(), stop.clone());
        lanes.spawn(async move { dead::drain(&context, &connection, &token).await });
        let (context, token) = (self.context.clone(), stop.clone());
        lanes.spawn(async move { calibration::follow(&context.store, &context.runner, &token).await });
        let (context, token) = (self.context.clone(), stop.clone());
        lanes.spawn(async move { make_partitions(&context, &token).await });
        let (context, token) = (self.context.clone(), relay_stop.clone());
        let relay = tokio::spawn(async move { relay::run(&context, &token).await });

        stop.cancelled().await;
        self.context.vitals.stop();
        tracing::info!(
            deadline_ms = self.context.settings.drain_deadline.as_millis(),
            "stopping; finishing what is in work"
        );
        let deadline = tokio::time::sleep(self.context.settings.drain_deadline);
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                joined = lanes.join_next() => match joined {
                    Some(joined) => log_panic(joined),
                    None => break,
                },
                () = &mut deadline, if !abort.is_cancelled() => {
                    tracing::warn!("the drain deadline is over; handing back what is left");
                    abort.cancel();
                }
            }
        }
        relay_stop.cancel();
        log_panic(relay.await);
        end.cancel();
        while let Some(joined) = background.join_next().await {
            log_panic(joined);
        }
        // What is not given back is free for others when it expires.
        if let Err(error) = self.context.store.return_reservations().await {
            tracing::debug!(error = %chain(&error), "reserved calls could not be given back");
        }
        self.context.store.close().await;
        self.context.publisher.connection().close().await;
        self.consuming.close().await;
        tracing::info!("stopped");
    }
}

/// Makes sure that what is written next week has somewhere to go, whether or not anybody runs `groundcrew maintain`.
async fn make_partitions(context: &Context, stop: &CancellationToken) {
    loop {
        match context.store.make_partitions().await {
            Ok(0) => {}
            Ok(made) => tracing::info!(made, "made partitions for bodies"),
            Err(error) => tracing::warn!(error = %chain(&error), "partitions for bodies could not be made"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PARTITIONS_EVERY) => {}
        }
    }
}

/// Opens a queue, however long the broker takes; none when the stop comes first.
pub(crate) async fn open_consumer(
    connection: &Connection,
    source: Source,
    prefetch: u16,
    stop: &CancellationToken,
) -> Option<Consumer> {
    loop {
        match Consumer::open_with(connection, source, prefetch).await {
            Ok(consumer) => return Some(consumer),
            Err(error) => {
                tracing::warn!(queue = source.queue(), error = %chain(&error), "the queue cannot be read yet")
            }
        }
        tokio::select! {
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(REOPEN_PAUSE) => {}
        }
    }
}

/// A panic is a defect of one delivery: it goes back to its queue, its neighbours go on.
pub(crate) fn log_panic(joined: Result<(), tokio::task::JoinError>) {
    if let Err(error) = joined {
        tracing::error!(error = %error, "a task ended by a panic");
    }
}
