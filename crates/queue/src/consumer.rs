use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use lapin::Channel;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, STEADY, State, chain};
use crate::delay::Delay;
use crate::delivery::{Delivery, Held};
use crate::error::Error;
use crate::names::Source;
use crate::topology;
use crate::watchdog::{Action, Seen, Watchdog};

/// The most that a quorum queue hands out to one consumer before anything is settled.
pub const MOST_PREFETCH: u16 = 2000;

/// Reads one queue, through every loss of the broker, until it is told to stop.
#[derive(Debug)]
pub struct Consumer {
    connection: Connection,
    source: Source,
    prefetch: u16,
    /// A smaller prefetch than the usual one, while it is in force.
    narrowed: Option<u16>,
    subscription: Option<Subscription>,
    /// Deliveries that were taken over from a subscription that has ended.
    buffered: VecDeque<Delivery>,
    paused: bool,
    delay: Delay,
    not_before: Option<Instant>,
    /// An outage was logged and its end was not.
    in_trouble: bool,
    watchdog: Watchdog,
    /// When the last delivery came, or the subscription began.
    received: Instant,
    look_at: Instant,
}

/// How soon the loss of a channel is noticed on which nothing is read any more.
const LOOK: Duration = Duration::from_millis(200);

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
    prefetch: u16,
    /// Deliveries that came by it and are not settled.
    held: Arc<AtomicUsize>,
    /// Cancelled when its channel is lost, and with it every delivery that came by it.
    lost: CancellationToken,
}

/// Cancels the token it gives when the channel is lost. A consumer that reads hears of it by itself; one that pauses,
/// or is gone while its deliveries are still in work, does not.
fn watch(channel: &Channel, held: &Arc<AtomicUsize>) -> CancellationToken {
    let lost = CancellationToken::new();
    // No handle of the channel, which would keep it open; the count lives as long as subscription and deliveries do.
    let (token, status, held) = (lost.clone(), channel.status().clone(), Arc::downgrade(held));
    tokio::spawn(async move {
        while held.strong_count() > 0 {
            tokio::select! {
                () = token.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            if !status.connected() {
                token.cancel();
            }
        }
    });
    lost
}

/// A channel on which a subscription is being made. When that fails, takes too long, or its caller goes on to something
/// else, the broker may have begun to deliver all the same: closing the channel gives back what nobody would settle.
struct Unfinished(Option<Channel>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let (Some(channel), Ok(runtime)) = (self.0.take(), Handle::try_current()) else { return };
        runtime.spawn(async move {
            if let Err(error) = channel.close(200, "the subscription was given up".into()).await {
                tracing::debug!(%error, "the channel of a subscription that was given up is gone already");
            }
        });
    }
}

impl Consumer {
    /// Subscribes to a queue, with the prefetch of the settings.
    ///
    /// # Errors
    /// [`Error::Broker`] if the queue does not exist or may not be read, or the connection was just lost;
    /// [`Error::Timeout`]. Only this first subscription fails: later losses are repaired.
    pub async fn open(connection: &Connection, source: Source) -> Result<Self, Error> {
        Self::open_with(connection, source, connection.settings().prefetch(source)).await
    }

    /// Subscribes to a queue, with at most `prefetch` deliveries that are not settled, 1 to 2000.
    ///
    /// # Errors
    /// As [`Consumer::open`].
    pub async fn open_with(connection: &Connection, source: Source, prefetch: u16) -> Result<Self, Error> {
        let mut consumer = Self {
            connection: connection.clone(),
            source,
            // None would mean no limit to the broker, and a quorum queue refuses to go above 2000.
            prefetch: prefetch.clamp(1, MOST_PREFETCH),
            narrowed: None,
            subscription: None,
            buffered: VecDeque::new(),
            paused: false,
            delay: Delay::new(),
            not_before: None,
            in_trouble: false,
            watchdog: Watchdog::default(),
            received: Instant::now(),
            look_at: Instant::now() + connection.settings().options().watchdog,
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
            let look_at = self.look_at;
            let item = match &mut self.subscription {
                Some(subscription) => tokio::select! {
                    biased;
                    () = stop.cancelled() => continue,
                    item = subscription.stream.next() => item,
                    () = tokio::time::sleep_until(look_at), if !self.paused => {
                        self.look().await;
                        continue;
                    }
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
                    self.received = Instant::now();
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
        self.resume_with(None);
    }

    /// Ends a pause, with a prefetch of this much (or the usual one, if that is smaller) until the next pause.
    pub fn resume_narrowly(&mut self, prefetch: u16) {
        self.resume_with(Some(prefetch.clamp(1, self.prefetch)));
    }

    fn resume_with(&mut self, narrowed: Option<u16>) {
        self.narrowed = narrowed;
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
        let mut unfinished = Unfinished(Some(channel.clone()));
        let prefetch = self.narrowed.unwrap_or(self.prefetch);
        channel
            .basic_qos(prefetch, BasicQosOptions::default())
            .await
            .map_err(|error| Error::broker("set the prefetch", error))?;
        let queue = self.source.queue().into();
        let stream = channel
            .basic_consume(queue, "".into(), BasicConsumeOptions::default(), FieldTable::default())
            .await
            .map_err(|error| Error::broker("consume", error))?;
        unfinished.0 = None;
        let held = Arc::default();
        let lost = watch(&channel, &held);
        Ok(Subscription { channel, stream, since: Instant::now(), prefetch, held, lost })
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
                self.received = Instant::now();
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

    /// Looks whether messages wait that should have come, and begins anew if so.
    async fn look(&mut self) {
        let patience = self.connection.settings().options().watchdog;
        let now = Instant::now();
        self.look_at = now + patience / 2;
        let Some(subscription) = &self.subscription else { return };
        let has_room = subscription.held.load(Ordering::Relaxed) < usize::from(subscription.prefetch);
        let is_due = now.duration_since(self.received) >= patience;
        if !has_room || !is_due || self.connection.state() != State::Up {
            self.watchdog.forget();
            return;
        }
        let wait = self.wait();
        let seen = match timeout(wait, topology::ready(&self.connection, self.source.queue())).await {
            Ok(Ok(ready)) => Seen::Waiting(ready.unwrap_or(0)),
            Ok(Err(_)) | Err(_) => Seen::Nothing,
        };
        match self.watchdog.judge(seen) {
            Action::None => {}
            Action::Resubscribe => {
                metrics::counter!("groundcrew_consumers_rebuilt_total", "queue" => self.source.queue())
                    .increment(1);
                self.unsubscribe().await;
                self.warn_once("messages wait and none of them comes");
            }
            Action::Reconnect => {
                metrics::counter!("groundcrew_consumers_rebuilt_total", "queue" => self.source.queue())
                    .increment(1);
                self.connection.distrust(wait);
            }
        }
    }

    fn failed(&mut self, error: &Error) {
        self.not_before = Some(Instant::now() + self.delay.next_pause());
        self.warn_once(&chain(error));
    }

    fn lost(&mut self, reason: &str) {
        if let Some(subscription) = self.subscription.take() {
            // A queue that was deleted ends the stream and leaves the channel.
            if !subscription.channel.status().connected() {
                subscription.lost.cancel();
            }
            if subscription.since.elapsed() >= STEADY {
                self.delay.reset();
            }
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
        let subscription = self.subscription.as_ref()?;
        let channel = subscription.channel.clone();
        let held = Held::new(&subscription.held);
        let lost = subscription.lost.clone();
        delivery
            .acker
            .usable()
            .then(|| Delivery::new(delivery, self.source, channel, self.wait(), held, lost))
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
