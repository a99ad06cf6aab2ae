use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use lapin::Acker;
use lapin::Channel;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use lapin::types::{AMQPValue, FieldTable};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::headers::{Envelope, integer, seconds, text};
use crate::names::{Lane, Source};

/// A message that the broker lent to this process until it is settled.
///
/// One that is dropped without being settled, for instance because the task that held it panicked, is requeued:
/// otherwise it would count against the prefetch until the broker closes the channel half an hour later.
pub struct Delivery {
    /// The content as published.
    pub body: Vec<u8>,
    /// Properties and headers, see [`Envelope`].
    pub envelope: Envelope,
    /// When it was published, as its publisher says, to the second.
    pub published_at: Option<DateTime<Utc>>,
    /// The queue it was taken from.
    pub source: Source,
    /// The exchange it was published to; for a dead letter the exchange that took it in.
    pub exchange: String,
    /// The routing key it was published with.
    pub routing_key: String,
    /// The broker handed it out before, to this process or to another.
    pub redelivered: bool,
    /// How often it came back to its queue, as the broker counts (which differs between its versions).
    pub returns: u32,
    /// Why a queue gave up on it. A delivery of [`Source::Dead`] without this was never in a queue: its routing
    /// key is bound to nothing.
    pub death: Option<Death>,
    receipt: Receipt,
    lost: CancellationToken,
}

/// The most recent time that a queue gave up on a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The broker's word: `delivery_limit`, `rejected`, `expired` or `maxlen`.
    pub reason: String,
    /// The queue that gave up.
    pub queue: String,
    /// How often that queue gave up on it for that reason.
    pub count: u32,
    /// The routing keys that it had in that queue.
    pub routing_keys: Vec<String>,
}

/// What became of an ack or a requeue.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was written to a live connection.
    Sent,
    /// The channel it came by is gone. The broker delivers the message again, to whoever is next.
    Lost,
}

impl Delivery {
    /// The lane it belongs to: that of its queue, or of the queue that gave up on it, or of its routing key.
    #[must_use]
    pub fn lane(&self) -> Option<Lane> {
        match self.source {
            Source::Lane(lane) => Some(lane),
            Source::Dead | Source::Review => self
                .death
                .as_ref()
                .and_then(|death| {
                    Lane::of_queue(&death.queue)
                        .or_else(|| death.routing_keys.iter().find_map(|key| key.parse().ok()))
                })
                .or_else(|| self.routing_key.parse().ok()),
        }
    }

    /// Why it lies in the dead queue: the broker's word, or `unroutable`.
    #[must_use]
    pub fn dead_reason(&self) -> &str {
        self.death.as_ref().map_or("unroutable", |death| &death.reason)
    }

    /// Whether the broker still regards it as lent to us. Ask before paying for a judge call: a delivery of a
    /// lost channel is already on its way to somebody else.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.receipt.acker.usable()
    }

    /// Cancelled soon after the broker took the delivery back, by the loss of its channel: somebody else gets it, and
    /// nothing new should begin for it here.
    #[must_use]
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Tells the broker to forget the message. Only call it once everything it caused is durable.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the connection took nothing for the settle time-out: it may still arrive.
    pub async fn ack(self) -> Result<Settled, Error> {
        self.receipt.settle(Verdict::Ack).await
    }

    /// Gives the message back to its queue at once.
    ///
    /// # Errors
    /// As for [`Delivery::ack`].
    pub async fn requeue(self) -> Result<Settled, Error> {
        self.receipt.settle(Verdict::Requeue).await
    }

    pub(crate) fn new(
        delivery: lapin::message::Delivery,
        source: Source,
        channel: Channel,
        wait: Duration,
        held: Held,
        lost: CancellationToken,
    ) -> Self {
        let headers = delivery.properties.headers().as_ref();
        Self {
            published_at: delivery.properties.timestamp().as_ref().and_then(seconds),
            envelope: Envelope::read(&delivery.properties, Utc::now()),
            source,
            exchange: delivery.exchange.to_string(),
            routing_key: delivery.routing_key.to_string(),
            redelivered: delivery.redelivered,
            returns: headers.and_then(|headers| count(headers, "x-delivery-count")).unwrap_or_default(),
            death: headers.and_then(Death::read),
            body: delivery.data,
            receipt: Receipt { acker: delivery.acker, wait, channel, _held: held },
            lost,
        }
    }
}

/// Without the body, which belongs in no log.
impl fmt::Debug for Delivery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Delivery")
            .field("source", &self.source)
            .field("exchange", &self.exchange)
            .field("routing_key", &self.routing_key)
            .field("envelope", &self.envelope)
            .field("body_bytes", &self.body.len())
            .field("redelivered", &self.redelivered)
            .field("returns", &self.returns)
            .field("death", &self.death)
            .field("held", &self.is_held())
            .finish_non_exhaustive()
    }
}

impl Death {
    /// The broker puts the most recent death first.
    fn read(headers: &FieldTable) -> Option<Self> {
        let deaths = headers.inner().get("x-death")?.as_array()?;
        let latest = deaths.as_slice().first()?.as_field_table()?;
        let field = |name: &str| latest.inner().get(name);
        Some(Self {
            reason: text(field("reason")?)?,
            queue: text(field("queue")?)?,
            count: count(latest, "count").unwrap_or(1),
            routing_keys: field("routing-keys")
                .and_then(AMQPValue::as_array)
                .map(|keys| keys.as_slice().iter().filter_map(text).collect())
                .unwrap_or_default(),
        })
    }
}

fn count(table: &FieldTable, name: &str) -> Option<u32> {
    u32::try_from(integer(table.inner().get(name)?)?).ok()
}

/// Counts one delivery of a subscription for as long as it is not settled.
pub(crate) struct Held(Arc<AtomicUsize>);

impl Held {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right to settle one delivery, once.
struct Receipt {
    acker: Acker,
    wait: Duration,
    /// Dropping the last handle closes the channel, and with it every delivery that came by it. A worker may
    /// drop its consumer while it finishes what it holds.
    channel: Channel,
    _held: Held,
}

#[derive(Clone, Copy)]
enum Verdict {
    Ack,
    Requeue,
}

impl Receipt {
    async fn settle(&self, verdict: Verdict) -> Result<Settled, Error> {
        let operation = match verdict {
            Verdict::Ack => "ack",
            Verdict::Requeue => "requeue",
        };
        match timeout(self.wait, send(&self.acker, verdict)).await {
            Ok(Ok(true)) => Ok(Settled::Sent),
            // The library answers false when the channel was lost before, and an error when it is lost meanwhile.
            Ok(Ok(false) | Err(_)) => Ok(Settled::Lost),
            Err(_) => Err(Error::Timeout { operation, after: self.wait }),
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if !self.acker.usable() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        tracing::warn!("a delivery was dropped before it was settled; requeueing it");
        let (acker, wait, channel) = (self.acker.clone(), self.wait, self.channel.clone());
        runtime.spawn(async move {
            // Nobody is left to be told; if this fails the channel's end requeues the message as well.
            let _outcome = timeout(wait, send(&acker, Verdict::Requeue)).await;
            drop(channel);
        });
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that settles, and that looks at the returned bool"
)]
async fn send(acker: &Acker, verdict: Verdict) -> Result<bool, lapin::Error> {
    match verdict {
        Verdict::Ack => acker.ack(BasicAckOptions::default()).await,
        Verdict::Requeue => acker.nack(BasicNackOptions { multiple: false, requeue: true }).await,
    }
}
