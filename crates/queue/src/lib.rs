//! RabbitMQ: topology, consuming, publishing with confirms.
//!
//! A process opens two [`Connection`]s, one to consume and one to publish: when the broker runs short of memory
//! or disk it stops reading from a connection that publishes, and acks sent over it would be stuck as well.
//! Each connection supervises itself. After an outage it comes back with a jittered delay, for ever, and checks
//! the topology again if [`topology::declare`] was called on it.
//!
//! - [`Consumer::next`] hands out one [`Delivery`] at a time and survives every loss of the broker.
//! - [`Delivery::ack`] and [`Delivery::requeue`] tell whether the broker still listened.
//! - [`Publisher::publish`] returns `Ok` only for what the broker confirmed.
//!
//! ```no_run
//! use queue::{Connection, Consumer, Lane, Next, Options, Publisher, Purpose, Settings, Source, topology};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let stop = CancellationToken::new();
//! let settings = Settings::new("amqp://localhost", Options::default())?;
//! let consuming = Connection::open_when_ready(&settings, Purpose::Consume, &stop).await?;
//! topology::declare(&consuming).await?;
//! let publishing = Connection::open_when_ready(&settings, Purpose::Publish, &stop).await?;
//! let publisher = Publisher::new(&publishing);
//!
//! let mut consumer = Consumer::open(&consuming, Source::Lane(Lane::Normal)).await?;
//! while let Next::Delivery(delivery) = consumer.next(&stop).await {
//!     // The judge is away: come back in two minutes.
//!     publisher.park(&delivery, 1, &delivery.envelope).await?;
//!     let _settled = delivery.ack().await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The client library logs under `lapin`; at `warn` it prints whole messages. What matters is logged here, so
//! filter it with `lapin=off`.
//!
//! The automatic recovery of the client library is not used: with it a consumer never learns that it was cut
//! off, and hands out deliveries that can no longer be acked.

mod connection;
mod consumer;
mod delay;
mod delivery;
mod error;
mod frames;
mod headers;
mod message;
mod names;
mod others;
mod publisher;
mod settings;
mod socket;
pub mod topology;
mod watchdog;

pub use connection::{Connection, Purpose, State};
pub use consumer::{Consumer, MOST_PREFETCH, Next};
pub use delay::Delay;
pub use delivery::{Death, Delivery, Settled};
pub use error::{Error, Mismatch, PublishError};
pub use headers::{Envelope, header};
pub use message::{Message, Target};
pub use names::{Lane, Source, UnknownLane, exchange, queue, tier_name};
pub use others::OtherHeaders;
pub use publisher::Publisher;
pub use settings::{Options, Prefetch, Settings};
