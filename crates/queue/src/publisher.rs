use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::Utc;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Channel, Confirmation, PublisherConfirm};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use crate::connection::Connection;
use crate::delivery::Delivery;
use crate::error::{Error, PublishError, is_channel_refusal};
use crate::headers::{Envelope, short};
use crate::message::{Message, Target};
use crate::names::{Lane, tier_name};

/// Publishes with confirms. Clones share one pool of channels; use it from as many tasks as you like.
///
/// Each channel carries one publish at a time. With several in flight the client library hands a returned message
/// to whichever confirm comes next, so that a lost message can look published.
#[derive(Clone, Debug)]
pub struct Publisher {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    connection: Connection,
    slots: Semaphore,
    idle: Mutex<Vec<Channel>>,
}

impl Publisher {
    /// A publisher on a connection that nothing consumes from.
    #[must_use]
    pub fn new(connection: &Connection) -> Self {
        let slots = connection.settings().options().publish_channels;
        let inner = Inner {
            connection: connection.clone(),
            slots: Semaphore::new(slots),
            idle: Mutex::new(Vec::with_capacity(slots)),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The connection it publishes on.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.inner.connection
    }

    /// Publishes one message and waits until the broker has it on a majority of its nodes.
    ///
    /// Takes at most the publish time-out of the settings, reconnecting included.
    ///
    /// # Errors
    /// See [`PublishError`]; `Ok` is the only outcome after which the caller may forget the message.
    pub async fn publish(&self, message: &Message) -> Result<(), PublishError> {
        self.publish_parts(&message.target, &message.envelope, &message.body).await
    }

    /// Publishes a copy of a delivery to a retry tier, from where it comes back to its lane.
    ///
    /// `tier` is the index of the delay, an index beyond the last one means the last one. `envelope` is the
    /// delivery's own with what the caller changed; its first-seen time is set if it had none. Ack the delivery
    /// after this returned `Ok`: a crash between the two makes a duplicate, never a loss.
    ///
    /// # Errors
    /// See [`PublishError`].
    pub async fn park(
        &self,
        delivery: &Delivery,
        tier: usize,
        envelope: &Envelope,
    ) -> Result<(), PublishError> {
        let delay = self.inner.connection.settings().retry_tier(tier);
        let lane = delivery.lane().unwrap_or(Lane::Normal);
        let target = Target::new(&tier_name(delay), lane.routing_key(), true);
        let mut envelope = envelope.clone();
        envelope.first_seen.get_or_insert_with(Utc::now);
        self.publish_parts(&target, &envelope, &delivery.body).await
    }

    /// The longest retry tier that is over within this time; the first when none is.
    #[must_use]
    pub fn tier_within(&self, time: Duration) -> usize {
        let tiers = &self.inner.connection.settings().options().retry_tiers;
        tiers.iter().rposition(|tier| *tier <= time).unwrap_or(0)
    }

    /// Publishes many messages over one channel and waits for all confirms; the outcomes are in the order of the
    /// messages. They are not published as mandatory, so none can be returned: use it for events, and
    /// [`Publisher::publish`] for what somebody must receive.
    ///
    /// The publish time-out covers the batch as a whole.
    pub async fn publish_many(&self, messages: &[Message]) -> Vec<Result<(), PublishError>> {
        let wait = self.wait();
        let deadline = Instant::now() + wait;
        let late = || PublishError::Unknown(Error::Timeout { operation: "publish", after: wait });
        let mut outcomes = Vec::with_capacity(messages.len());

        let Ok(slot) = timeout_at(deadline, self.slot()).await else {
            self.inner.connection.distrust(wait);
            outcomes.resize_with(messages.len(), || Err(late()));
            return outcomes;
        };
        let slot = match slot {
            Ok(slot) => slot,
            Err(error) => {
                outcomes.resize(messages.len(), Err(PublishError::Unknown(error)));
                return outcomes;
            }
        };

        let mut pending = Vec::with_capacity(messages.len());
        for message in messages {
            pending.push(match prepare(&message.target, &message.envelope, slot.frame_max) {
                Ok(parts) => match timeout_at(deadline, send(&slot.channel, parts, false, &message.body))
                    .await
                {
                    Ok(sent) => sent.map_err(|error| PublishError::Unknown(Error::broker("publish", error))),
                    Err(_) => Err(late()),
                },
                Err(error) => Err(PublishError::Refused(error)),
            });
        }
        let mut intact = true;
        for confirm in pending {
            let outcome = match confirm {
                Ok(confirm) => match timeout_at(deadline, confirm).await {
                    Ok(Ok(confirmation)) => judge(confirmation),
                    Ok(Err(error)) => Err(PublishError::Unknown(Error::broker("publish", error))),
                    Err(_) => Err(late()),
                },
                Err(error) => Err(error),
            };
            intact &= !matches!(outcome, Err(PublishError::Unknown(_)));
            if matches!(outcome, Err(PublishError::Unknown(Error::Timeout { .. }))) {
                self.inner.connection.distrust(wait);
            }
            outcomes.push(outcome);
        }
        if intact {
            slot.put_back();
        }
        outcomes
    }

    async fn publish_parts(
        &self,
        target: &Target,
        envelope: &Envelope,
        body: &[u8],
    ) -> Result<(), PublishError> {
        let wait = self.wait();
        let attempt = async {
            let slot = self.slot().await.map_err(PublishError::Unknown)?;
            let parts = match prepare(target, envelope, slot.frame_max) {
                Ok(parts) => parts,
                Err(error) => {
                    slot.put_back();
                    return Err(PublishError::Refused(error));
                }
            };
            let confirmation =
                async { send(&slot.channel, parts, target.mandatory, body).await?.await }.await;
            match confirmation {
                Ok(confirmation) => {
                    slot.put_back();
                    judge(confirmation)
                }
                Err(error) if is_channel_refusal(&error) => {
                    Err(PublishError::Refused(Error::broker("publish", error)))
                }
                Err(error) => Err(PublishError::Unknown(Error::broker("publish", error))),
            }
        };
        // When this runs out the channel is dropped with the attempt: a late confirm or return would otherwise be
        // taken for the answer to the next publish.
        match timeout(wait, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.inner.connection.distrust(wait);
                Err(PublishError::Unknown(Error::Timeout { operation: "publish", after: wait }))
            }
        }
    }

    fn wait(&self) -> Duration {
        self.inner.connection.settings().options().publish_timeout
    }

    /// The right to use a channel, and a channel.
    async fn slot(&self) -> Result<Slot<'_>, Error> {
        let permit = self.inner.slots.acquire().await.map_err(|_| Error::Closed)?;
        let live = self.inner.connection.live().await?;
        let channel = match self.inner.take_idle() {
            Some(channel) => channel,
            None => {
                let channel = live
                    .connection
                    .create_channel()
                    .await
                    .map_err(|error| Error::broker("open a channel", error))?;
                channel
                    .confirm_select(ConfirmSelectOptions::default())
                    .await
                    .map_err(|error| Error::broker("ask for confirms", error))?;
                channel
            }
        };
        let frame_max = live.connection.configuration().frame_max();
        Ok(Slot { channel, frame_max, pool: &self.inner, _permit: permit })
    }
}

impl Inner {
    fn take_idle(&self) -> Option<Channel> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // Channels of an earlier connection say so themselves.
        std::iter::from_fn(|| idle.pop()).find(|channel| channel.status().connected())
    }
}

struct Slot<'a> {
    channel: Channel,
    /// The longest frame that was agreed on, in bytes.
    frame_max: u32,
    pool: &'a Inner,
    _permit: SemaphorePermit<'a>,
}

impl Slot<'_> {
    /// Only for a channel on which nothing is outstanding.
    fn put_back(self) {
        self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.channel);
    }
}

type Parts = (lapin::types::ShortString, lapin::types::ShortString, BasicProperties);

fn prepare(target: &Target, envelope: &Envelope, frame_max: u32) -> Result<Parts, Error> {
    let exchange = short(&target.exchange, "exchange")?;
    let routing_key = short(&target.routing_key, "routing key")?;
    Ok((exchange, routing_key, envelope.properties(Utc::now(), frame_max)?))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that publishes: with confirms and bounded by its callers"
)]
async fn send(
    channel: &Channel,
    (exchange, routing_key, properties): Parts,
    mandatory: bool,
    body: &[u8],
) -> Result<PublisherConfirm, lapin::Error> {
    let options = BasicPublishOptions { mandatory, immediate: false };
    channel.basic_publish(exchange, routing_key, options, body, properties).await
}

fn judge(confirmation: Confirmation) -> Result<(), PublishError> {
    match confirmation {
        Confirmation::Ack(None) => Ok(()),
        Confirmation::Ack(Some(returned)) => {
            Err(PublishError::Returned { code: returned.reply_code, text: returned.reply_text.to_string() })
        }
        // Not asked for cannot happen on a channel in confirm mode, and would prove nothing.
        Confirmation::Nack(_) | Confirmation::NotRequested => Err(PublishError::Nacked),
    }
}
