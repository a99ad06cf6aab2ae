//! The worker: lanes, pause, drain.

use std::sync::Arc;
use std::time::Duration;

use queue::{Connection, Consumer, Lane, Next, Publisher, Source, topology};
use runner::Runner;
use store::Store;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;
use crate::spend::Purses;
use crate::{dead, handle, patience::chain, relay};

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
}

/// One stateless worker. Any number may run at the same time, and any of them may be killed.
#[derive(Debug)]
pub struct Worker {
    context: Arc<Context>,
    consuming: Connection,
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
    /// Hurries the relay; it looks at the table by itself as well.
    pub(crate) outbox: Notify,
}

impl Context {
    pub(crate) fn hurry_relay(&self) {
        self.outbox.notify_one();
    }
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
        let purses = Purses::new(settings.spend);
        let context = Arc::new(Context { settings, store, publisher, runner, purses, outbox: Notify::new() });
        Ok(Self { context, consuming })
    }

    /// Works until `stop`, then finishes or hands back what it holds within the drain deadline.
    pub async fn run(self, stop: CancellationToken) {
        // Cancelled at the drain deadline: calls of the judge end, commits do not.
        let abort = CancellationToken::new();
        let relay_stop = CancellationToken::new();
        let mut lanes = JoinSet::new();
        let wanted = self.context.settings.lanes;
        for (lane, is_wanted) in
            [(Lane::Urgent, wanted.urgent), (Lane::Normal, wanted.normal), (Lane::Bulk, wanted.bulk)]
        {
            if is_wanted {
                lanes.spawn(consume(
                    self.context.clone(),
                    self.consuming.clone(),
                    lane,
                    stop.clone(),
                    abort.clone(),
                ));
            }
        }
        let (context, connection, token) = (self.context.clone(), self.consuming.clone(), stop.clone());
        lanes.spawn(async move { dead::drain(&context, &connection, &token).await });
        let (context, token) = (self.context.clone(), stop.clone());
        lanes.spawn(async move { make_partitions(&context, &token).await });
        let (context, token) = (self.context.clone(), relay_stop.clone());
        let relay = tokio::spawn(async move { relay::run(&context, &token).await });

        stop.cancelled().await;
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

/// Consumes one lane until the stop, then waits for what it has in work.
async fn consume(
    context: Arc<Context>,
    connection: Connection,
    lane: Lane,
    stop: CancellationToken,
    abort: CancellationToken,
) {
    let Some(mut consumer) = open_consumer(&connection, Source::Lane(lane), &stop).await else { return };
    let judges = context.runner.judges();
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            next = consumer.next(&stop) => match next {
                Next::Delivery(delivery) => {
                    let (context, abort) = (context.clone(), abort.clone());
                    tasks.spawn(async move { handle::handle(&context, delivery, &abort).await });
                }
                Next::Leftover(delivery) => {
                    if let Err(error) = delivery.requeue().await {
                        tracing::warn!(error = %chain(&error), "a delivery could not be handed back");
                    }
                }
                Next::Stopped => break,
            },
            Some(joined) = tasks.join_next() => log_panic(joined),
            () = judges.wait_until_unusable(), if !consumer.is_paused() => {
                tracing::warn!(lane = lane.routing_key(), "the judge cannot be asked; consuming pauses");
                consumer.pause().await;
            }
            () = judges.wait_until_maybe_usable(&stop), if consumer.is_paused() => {
                tracing::info!(lane = lane.routing_key(), "the judge may be asked again; consuming goes on");
                consumer.resume();
            }
        }
    }
    while let Some(joined) = tasks.join_next().await {
        log_panic(joined);
    }
}

/// Opens a queue, however long the broker takes; none when the stop comes first.
pub(crate) async fn open_consumer(
    connection: &Connection,
    source: Source,
    stop: &CancellationToken,
) -> Option<Consumer> {
    loop {
        match Consumer::open(connection, source).await {
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
fn log_panic(joined: Result<(), tokio::task::JoinError>) {
    if let Err(error) = joined {
        tracing::error!(error = %error, "a task ended by a panic");
    }
}
