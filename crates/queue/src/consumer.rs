use std::collections::VecDeque;
use std::time::Duration;

use futures_util::StreamExt as _;
use lapin::Channel;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, STEADY, chain};
use crate::delay::Delay;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::names::Source;

/// Reads one queue, through every loss of the broker, until it is told to stop.
#[derive(Debug)]
pub struct Consumer {
    connection: Connection,
    source: Source,
    subscription: Option<Subscription>,
    /// Deliveries that were taken over from a subscription that has ended.
    buffered: VecDeque<Delivery>,
    paused: bool,
    delay: Delay,
    not_before: Option<Instant>,
    /// An outage was logged and its end was not.
    in_trouble: bool,
}

/// What [`Consumer::next`] has to say.
#[derive(Debug)]
pub enum Next {
    /// A message to work on.
    Delivery(Delivery),
    /// A message that was prefetched before the stop: requeue it, unless there is still time for it.
    Leftover(Delivery),
    /// Stopped, or the connection was closed by this process. There will be nothing more.
    Stopped,
}

struct Subscription {
    channel: Channel,
    stream: lapin::Consumer,
    since: Instant,
}

impl Consumer {
    /// Subscribes to a queue, with the prefetch of the settings.
    ///
    /// # Errors
    /// [`Error::Broker`] if the queue does not exist or may not be read, or the connection was just lost;
    /// [`Error::Timeout`]. Only this first subscription fails: later losses are repaired.
    pub async fn open(connection: &Connection, source: Source) -> Result<Self, Error> {
        let mut consumer = Self {
            connection: connection.clone(),
            source,
            subscription: None,
            buffered: VecDeque::new(),
            paused: false,
            delay: Delay::new(),
            not_before: None,
            in_trouble: false,
        };
        let wait = consumer.wait();
        consumer.subscription = match timeout(wait, consumer.subscribe()).await {
            Ok(subscription) => Some(subscription?),
            Err(_) => return Err(Error::Timeout { operation: "consume", after: wait }),
        };
        Ok(consumer)
    }

    /// The queue it reads.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// Whether [`Consumer::pause`] is in force.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The next delivery. Waits while there is none, while the broker is away, and while paused.
    ///
    /// After `stop` it first gives out what was prefetched, then [`Next::Stopped`], again and again.
    /// It may be dropped at any await and called again without losing a delivery.
    pub async fn next(&mut self, stop: &CancellationToken) -> Next {
        loop {
            if stop.is_cancelled() {
                return self.leftover().await;
            }
            if let Some(delivery) = self.take_buffered() {
                return Next::Delivery(delivery);
            }
            let item = match &mut self.subscription {
                Some(subscription) => tokio::select! {
                    biased;
                    () = stop.cancelled() => continue,
                    item = subscription.stream.next() => item,
                },
                None if self.paused => {
                    stop.cancelled().await;
                    continue;
                }
                None => {
                    let outcome = tokio::select! {
                        biased;
                        () = stop.cancelled() => continue,
                        outcome = self.resubscribe() => outcome,
                    };
                    match outcome {
                        Ok(()) => continue,
                        Err(Error::Closed) => return Next::Stopped,
                        Err(error) => {
                            self.failed(&error);
                            continue;
                        }
                    }
                }
            };
            match item {
                Some(Ok(delivery)) => {
                    if let Some(delivery) = self.adopt(delivery) {
                        return Next::Delivery(delivery);
                    }
                }
                // The stream ends when the broker cancels the consumer (its queue was deleted), when the channel
                // or the connection is lost, and after our own cancel. Only the last is as it should be.
                Some(Err(_)) | None if self.paused => self.subscription = None,
                Some(Err(error)) => self.lost(&error.to_string()),
                None => self.lost("the broker ended the subscription"),
            }
        }
    }

    /// Stops the flow of deliveries. What was prefetched is still handed out; then [`Consumer::next`] waits for
    /// [`Consumer::resume`] or the stop.
    pub async fn pause(&mut self) {
        self.paused = true;
        self.unsubscribe().await;
    }

    /// Ends a pause. The next call of [`Consumer::next`] subscribes again.
    pub fn resume(&mut self) {
        if !std::mem::take(&mut self.paused) {
            return;
        }
        // A pause that was cut short, or that the broker did not answer, left a subscription of unknown state.
        self.drain_now();
        self.subscription = None;
    }

    fn wait(&self) -> Duration {
        self.connection.settings().options().settle_timeout
    }

    async fn subscribe(&self) -> Result<Subscription, Error> {
        let live = self.connection.live().await?;
        let channel =
            live.connection.create_channel().await.map_err(|error| Error::broker("open a channel", error))?;
        let prefetch = self.connection.settings().prefetch(self.source);
        channel
            .basic_qos(prefetch, BasicQosOptions::default())
            .await
            .map_err(|error| Error::broker("set the prefetch", error))?;
        let queue = self.source.queue().into();
        let stream = channel
            .basic_consume(queue, "".into(), BasicConsumeOptions::default(), FieldTable::default())
            .await
            .map_err(|error| Error::broker("consume", error))?;
        Ok(Subscription { channel, stream, since: Instant::now() })
    }

    async fn resubscribe(&mut self) -> Result<(), Error> {
        if let Some(not_before) = self.not_before {
            tokio::time::sleep_until(not_before).await;
            self.not_before = None;
        }
        // Waiting for the connection has no limit, everything on it has.
        let live = self.connection.live().await?;
        let wait = self.wait();
        let attempt = match timeout(wait, self.subscribe()).await {
            Ok(attempt) => attempt,
            Err(_) => Err(Error::Timeout { operation: "consume", after: wait }),
        };
        match attempt {
            Ok(subscription) => {
                self.subscription = Some(subscription);
                if std::mem::take(&mut self.in_trouble) {
                    tracing::info!(queue = self.source.queue(), "consuming again");
                }
                Ok(())
            }
            Err(error) => {
                if error.is_not_found() && !self.connection.restore_topology(&live).await? {
                    tracing::error!(
                        queue = self.source.queue(),
                        "the queue does not exist; declare the topology"
                    );
                }
                Err(error)
            }
        }
    }

    fn failed(&mut self, error: &Error) {
        self.not_before = Some(Instant::now() + self.delay.next_pause());
        self.warn_once(&chain(error));
    }

    fn lost(&mut self, reason: &str) {
        if self.subscription.take().is_some_and(|subscription| subscription.since.elapsed() >= STEADY) {
            self.delay.reset();
        }
        self.not_before = Some(Instant::now() + self.delay.next_pause());
        self.warn_once(reason);
    }

    fn warn_once(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.in_trouble, true) {
            tracing::warn!(queue = self.source.queue(), reason, "stopped receiving, subscribing again");
        }
    }

    /// A delivery of a lost channel cannot be acked: the broker has given it to somebody else.
    fn adopt(&self, delivery: lapin::message::Delivery) -> Option<Delivery> {
        let channel = self.subscription.as_ref()?.channel.clone();
        delivery.acker.usable().then(|| Delivery::new(delivery, self.source, channel, self.wait()))
    }

    fn take_buffered(&mut self) -> Option<Delivery> {
        std::iter::from_fn(|| self.buffered.pop_front()).find(Delivery::is_held)
    }

    async fn leftover(&mut self) -> Next {
        if self.subscription.is_some() {
            self.unsubscribe().await;
        }
        self.take_buffered().map_or(Next::Stopped, Next::Leftover)
    }

    /// Cancels the subscription and takes over what it still holds.
    async fn unsubscribe(&mut self) {
        let wait = self.wait();
        let Some(subscription) = &self.subscription else { return };
        let cancel =
            subscription.channel.basic_cancel(subscription.stream.tag(), BasicCancelOptions::default());
        match timeout(wait, cancel).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, queue = self.source.queue(), "the subscription had ended before")
            }
            Err(_) => {
                tracing::warn!(
                    queue = self.source.queue(),
                    "the broker did not answer the request to stop delivering"
                )
            }
        }
        self.drain_now();
        self.subscription = None;
    }

    /// Everything that arrived before the answer to the cancel is in the stream by then.
    fn drain_now(&mut self) {
        while let Some(subscription) = &mut self.subscription {
            let Some(Some(Ok(delivery))) = futures_util::FutureExt::now_or_never(subscription.stream.next())
            else {
                return;
            };
            let delivery = self.adopt(delivery);
            self.buffered.extend(delivery);
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Subscription").field("tag", &self.stream.tag()).finish_non_exhaustive()
    }
}
