//! The exchanges, queues and bindings that the fleet needs, as data, and what is done with them.
//!
//! All queues are quorum queues that dead-letter at least once, which RabbitMQ only honours together with
//! `x-overflow: reject-publish`; with any other overflow it silently falls back to at most once. Only arguments
//! that mean the same from RabbitMQ 3.10 to 4.x are used, and a delivery limit is always set and positive: the
//! default differs between the two, and -1 is "unlimited" on one and "at the first return" on the other.

use std::time::Duration;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::{Error, Mismatch, broker_words, is_access_refused, is_channel_refusal, is_not_found};
use crate::names::{Lane, exchange, queue, tier_name};
use crate::settings::Settings;

/// Nothing lies behind the dead queue, so what goes over its limit is gone. The limit cannot be left out either.
const DEAD_DELIVERY_LIMIT: u32 = 1_000_000;

/// How long the whole topology may take to declare or to look at.
const PATIENCE: Duration = Duration::from_secs(30);

/// Declares everything, and asks the connection to do so again whenever it had to reconnect.
///
/// # Errors
/// [`Error::Topology`] with everything that exists with other properties or may not be declared: nothing of
/// those was changed, the rest is in place. [`Error::Broker`] and [`Error::Timeout`] when the connection fails.
pub async fn declare(connection: &Connection) -> Result<(), Error> {
    let live = connection.live().await?;
    bounded("declare the topology", declare_on(&live.connection, connection.settings())).await?;
    connection.keep_topology();
    Ok(())
}

/// What exists, without creating anything.
///
/// Bindings cannot be asked for over AMQP and are left out.
///
/// # Errors
/// [`Error::Broker`] and [`Error::Timeout`] when the connection fails.
pub async fn verify(connection: &Connection) -> Result<Vec<Finding>, Error> {
    let live = connection.live().await?;
    bounded("look at the topology", verify_on(&live.connection, connection.settings())).await
}

/// How many messages wait in each of our queues.
///
/// # Errors
/// [`Error::Broker`] and [`Error::Timeout`] when the connection fails.
pub async fn depths(connection: &Connection) -> Result<Vec<Depth>, Error> {
    let live = connection.live().await?;
    bounded("count the messages", depths_on(&live.connection, connection.settings())).await
}

/// How many messages are ready in one queue; none when it does not exist.
///
/// # Errors
/// As [`depths`].
pub async fn ready(connection: &Connection, queue: &str) -> Result<Option<u32>, Error> {
    let live = connection.live().await?;
    let mut scratch = Scratch::new(&live.connection);
    let options = QueueDeclareOptions { durable: true, passive: true, ..Default::default() };
    let channel = scratch.channel().await?;
    match channel.queue_declare(queue.into(), options, FieldTable::default()).await {
        Ok(queue) => Ok(Some(queue.message_count())),
        Err(error) if is_not_found(&error) => Ok(None),
        Err(error) => Err(Error::broker("count the messages of a queue", error)),
    }
}

/// One exchange or queue, as [`verify`] found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `exchange` or `queue`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: Presence,
}

/// How an exchange or a queue is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// As it must be.
    Right,
    /// Not there.
    Missing,
    /// There, and different.
    Wrong(Mismatch),
}

/// The counts of one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Depth {
    /// The queue's name.
    pub queue: String,
    /// Messages ready to be delivered and consumers; none if the queue does not exist. What is delivered and
    /// not settled yet is not counted.
    pub counts: Option<Counts>,
}

/// See [`Depth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Messages ready to be delivered.
    pub ready: u32,
    /// Consumers of all processes.
    pub consumers: u32,
}

struct Plan {
    exchanges: Vec<Exchange>,
    queues: Vec<Queue>,
}

struct Exchange {
    name: String,
    kind: ExchangeKind,
    arguments: FieldTable,
}

struct Queue {
    name: String,
    arguments: FieldTable,
    /// Exchanges and routing keys.
    bindings: Vec<(String, &'static str)>,
}

impl Plan {
    fn new(settings: &Settings) -> Self {
        let limit = settings.options().delivery_limit;
        let mut plan = Self { exchanges: Vec::new(), queues: Vec::new() };

        // What is dead-lettered to must be there before what dead-letters to it.
        plan.exchange(exchange::DEAD, ExchangeKind::Fanout, None);
        plan.exchange(exchange::UNROUTABLE, ExchangeKind::Fanout, None);
        plan.exchange(exchange::TRACES, ExchangeKind::Topic, Some(exchange::UNROUTABLE));
        plan.exchange(exchange::RESULTS, ExchangeKind::Topic, None);

        let bindings = [(exchange::DEAD, ""), (exchange::UNROUTABLE, "")];
        plan.queue(queue::DEAD, DEAD_DELIVERY_LIMIT, None, None, &bindings);
        for lane in Lane::ALL {
            let bindings = [(exchange::TRACES, lane.routing_key())];
            plan.queue(lane.queue(), limit, Some(exchange::DEAD), None, &bindings);
        }
        for delay in &settings.options().retry_tiers {
            let tier = tier_name(*delay);
            plan.exchange(&tier, ExchangeKind::Fanout, None);
            // No dead-letter routing key: the message keeps its own, and so comes back to its lane.
            plan.queue(&tier, limit, Some(exchange::TRACES), Some(*delay), &[(&tier, "")]);
        }
        plan.queue(queue::REVIEW, limit, Some(exchange::DEAD), None, &[(exchange::RESULTS, "review.#")]);
        plan
    }

    fn exchange(&mut self, name: &str, kind: ExchangeKind, alternate: Option<&str>) {
        let mut arguments = FieldTable::default();
        if let Some(alternate) = alternate {
            arguments.insert("alternate-exchange".into(), AMQPValue::LongString(alternate.into()));
        }
        self.exchanges.push(Exchange { name: name.into(), kind, arguments });
    }

    fn queue(
        &mut self,
        name: &str,
        delivery_limit: u32,
        dead_letter_exchange: Option<&str>,
        ttl: Option<Duration>,
        bindings: &[(&str, &'static str)],
    ) {
        let mut arguments = FieldTable::default();
        let mut set = |name: &'static str, value: AMQPValue| {
            arguments.insert(name.into(), value);
        };
        set("x-queue-type", AMQPValue::LongString("quorum".into()));
        set("x-overflow", AMQPValue::LongString("reject-publish".into()));
        set("x-delivery-limit", AMQPValue::LongLongInt(delivery_limit.into()));
        if let Some(exchange) = dead_letter_exchange {
            set("x-dead-letter-exchange", AMQPValue::LongString(exchange.into()));
            set("x-dead-letter-strategy", AMQPValue::LongString("at-least-once".into()));
        }
        if let Some(ttl) = ttl {
            let ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
            set("x-message-ttl", AMQPValue::LongLongInt(ms));
        }
        let bindings = bindings.iter().map(|(exchange, key)| ((*exchange).into(), *key)).collect();
        self.queues.push(Queue { name: name.into(), arguments, bindings });
    }
}

impl Exchange {
    async fn declare(&self, channel: &Channel, passive: bool) -> Result<(), lapin::Error> {
        let options = ExchangeDeclareOptions { durable: true, passive, ..Default::default() };
        // A passive declaration ignores kind and arguments.
        channel
            .exchange_declare(self.name.as_str().into(), self.kind.clone(), options, self.arguments.clone())
            .await
    }
}

impl Queue {
    async fn declare(&self, channel: &Channel, passive: bool) -> Result<Counts, lapin::Error> {
        let options = QueueDeclareOptions { durable: true, passive, ..Default::default() };
        let queue = channel.queue_declare(self.name.as_str().into(), options, self.arguments.clone()).await?;
        Ok(Counts { ready: queue.message_count(), consumers: queue.consumer_count() })
    }

    async fn bind(&self, channel: &Channel, exchange: &str, key: &str) -> Result<(), lapin::Error> {
        let options = QueueBindOptions::default();
        channel
            .queue_bind(
                self.name.as_str().into(),
                exchange.into(),
                key.into(),
                options,
                FieldTable::default(),
            )
            .await
    }
}

pub(crate) async fn declare_on(connection: &lapin::Connection, settings: &Settings) -> Result<(), Error> {
    let plan = Plan::new(settings);
    let mut scratch = Scratch::new(connection);
    let mut wrong = Vec::new();
    for exchange in &plan.exchanges {
        let outcome = exchange.declare(scratch.channel().await?, false).await;
        wrong.extend(refusal("exchange", &exchange.name, outcome)?);
    }
    for queue in &plan.queues {
        let outcome = queue.declare(scratch.channel().await?, false).await;
        wrong.extend(refusal("queue", &queue.name, outcome)?);
        // At once: what is published to a queue that is not bound yet ends in the dead queue.
        for (exchange, key) in &queue.bindings {
            let outcome = queue.bind(scratch.channel().await?, exchange, key).await;
            wrong.extend(refusal("binding", &format!("{} to {exchange}", queue.name), outcome)?);
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Error::Topology(wrong)) }
}

/// Declares the topology again and returns the queues that had vanished. Their messages are lost.
pub(crate) async fn restore_on(
    connection: &lapin::Connection,
    settings: &Settings,
) -> Result<Vec<String>, Error> {
    bounded("restore the topology", async {
        let depths = depths_on(connection, settings).await?;
        declare_on(connection, settings).await?;
        Ok(depths.into_iter().filter(|depth| depth.counts.is_none()).map(|depth| depth.queue).collect())
    })
    .await
}

async fn verify_on(connection: &lapin::Connection, settings: &Settings) -> Result<Vec<Finding>, Error> {
    let plan = Plan::new(settings);
    let mut scratch = Scratch::new(connection);
    let mut findings = Vec::new();
    for exchange in &plan.exchanges {
        let state = if found(exchange.declare(scratch.channel().await?, true).await)? {
            // It exists, so that declaring it creates nothing and only compares.
            presence(refusal(
                "exchange",
                &exchange.name,
                exchange.declare(scratch.channel().await?, false).await,
            )?)
        } else {
            Presence::Missing
        };
        findings.push(Finding { kind: "exchange", name: exchange.name.clone(), state });
    }
    for queue in &plan.queues {
        let state = if found(queue.declare(scratch.channel().await?, true).await)? {
            presence(refusal("queue", &queue.name, queue.declare(scratch.channel().await?, false).await)?)
        } else {
            Presence::Missing
        };
        findings.push(Finding { kind: "queue", name: queue.name.clone(), state });
    }
    Ok(findings)
}

async fn depths_on(connection: &lapin::Connection, settings: &Settings) -> Result<Vec<Depth>, Error> {
    let plan = Plan::new(settings);
    let mut scratch = Scratch::new(connection);
    let mut depths = Vec::new();
    for queue in plan.queues {
        let counts = match queue.declare(scratch.channel().await?, true).await {
            Ok(counts) => Some(counts),
            Err(error) if is_not_found(&error) => None,
            Err(error) => return Err(Error::broker("count the messages of a queue", error)),
        };
        depths.push(Depth { queue: queue.name, counts });
    }
    Ok(depths)
}

/// A channel that is replaced after each refusal, since the broker answers a refusal by closing the channel.
struct Scratch<'a> {
    connection: &'a lapin::Connection,
    channel: Option<Channel>,
}

impl<'a> Scratch<'a> {
    const fn new(connection: &'a lapin::Connection) -> Self {
        Self { connection, channel: None }
    }

    async fn channel(&mut self) -> Result<&Channel, Error> {
        let channel = match self.channel.take().filter(|channel| channel.status().connected()) {
            Some(channel) => channel,
            None => self
                .connection
                .create_channel()
                .await
                .map_err(|error| Error::broker("open a channel", error))?,
        };
        Ok(self.channel.insert(channel))
    }
}

fn refusal<T>(
    kind: &'static str,
    name: &str,
    outcome: Result<T, lapin::Error>,
) -> Result<Option<Mismatch>, Error> {
    match outcome {
        Ok(_) => Ok(None),
        Err(error) if is_channel_refusal(&error) => {
            let remedy = if is_access_refused(&error) {
                "grant this user configure, write and read on ^groundcrew\\."
            } else if is_not_found(&error) {
                "it follows from another entry of this list"
            } else {
                "stop the workers, drain it, delete it and start again, or set it as it was declared before"
            };
            Ok(Some(Mismatch { kind, name: name.into(), reason: broker_words(&error), remedy }))
        }
        Err(error) => Err(Error::broker("declare the topology", error)),
    }
}

fn presence(mismatch: Option<Mismatch>) -> Presence {
    mismatch.map_or(Presence::Right, Presence::Wrong)
}

fn found<T>(outcome: Result<T, lapin::Error>) -> Result<bool, Error> {
    match outcome {
        Ok(_) => Ok(true),
        Err(error) if is_not_found(&error) => Ok(false),
        Err(error) => Err(Error::broker("look at the topology", error)),
    }
}

async fn bounded<T>(
    operation: &'static str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match timeout(PATIENCE, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::Timeout { operation, after: PATIENCE }),
    }
}
