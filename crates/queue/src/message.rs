use std::fmt;

use crate::headers::Envelope;
use crate::names::{Lane, exchange};

/// The names that the broker makes for producers that consume from `amq.rabbitmq.reply-to`.
const DIRECT_REPLY: &str = "amq.rabbitmq.reply-to.";

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(crate) exchange: String,
    pub(crate) routing_key: String,
    pub(crate) mandatory: bool,
}

impl Target {
    /// A trace, into a lane.
    #[must_use]
    pub fn lane(lane: Lane) -> Self {
        Self::new(exchange::TRACES, lane.routing_key(), true)
    }

    /// An event, for instance `audit.passed`. Nobody has to be listening.
    #[must_use]
    pub fn event(name: &str) -> Self {
        Self::new(exchange::RESULTS, name, false)
    }

    /// A message to people, for instance `review.opened`. Somebody must be listening: without a queue it ends as
    /// [`crate::PublishError::Returned`].
    #[must_use]
    pub fn review(name: &str) -> Self {
        Self::new(exchange::RESULTS, name, true)
    }

    /// Whether nobody has to be listening, so that it may be published in a batch.
    #[must_use]
    pub fn is_event(&self) -> bool {
        !self.mandatory
    }

    /// An answer, straight to the queue that the producer named. When it is gone the publish ends as
    /// [`crate::PublishError::Returned`]. Whether that queue may be written to is for the caller to decide.
    ///
    /// For a producer that waits by RabbitMQ's direct reply nobody can tell: the broker hands the answer over if
    /// the producer is there, and would call it unroutable in either case. Such a publish is `Ok` once confirmed.
    #[must_use]
    pub fn reply_to(queue: &str) -> Self {
        Self::new("", queue, !queue.starts_with(DIRECT_REPLY))
    }

    pub(crate) fn new(exchange: &str, routing_key: &str, mandatory: bool) -> Self {
        Self { exchange: exchange.into(), routing_key: routing_key.into(), mandatory }
    }

    /// The exchange, empty for the default exchange.
    #[must_use]
    pub fn exchange(&self) -> &str {
        &self.exchange
    }

    /// The routing key.
    #[must_use]
    pub fn routing_key(&self) -> &str {
        &self.routing_key
    }
}

/// Something to publish. It is always stored to disk by the broker.
#[derive(Clone, PartialEq)]
pub struct Message {
    /// Where it goes.
    pub target: Target,
    /// Its properties and headers. A message that may be published twice needs a message id.
    pub envelope: Envelope,
    /// Its content, as is.
    pub body: Vec<u8>,
}

/// Without the body, which belongs in no log.
impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Message")
            .field("target", &self.target)
            .field("envelope", &self.envelope)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}
