//! From delivery to ack: the part of Groundcrew that runs for ever.
//!
//! - [`Worker`] has the parts, starts and drains them.
//! - `flow` decides whether deliveries are taken, `lane` takes them.
//! - `handle` takes one delivery to its end: decode, run each audit kind, settle.
//! - `audit` runs one kind and commits it.
//! - `gate` sees who waits for what to do with an answer.
//! - `fleet` hears from operators and reports the worker, `health` serves liveness, readiness and metrics.
//! - `relay` publishes what the commits put into the outbox.
//! - `dead` moves what the broker gave up on into the dead letters.
//!
//! Nothing is acked before what it caused is durable, and no database future is ever dropped:
//! shutdown stops the judge's calls, not the commits.

mod audit;
mod dead;
mod fleet;
mod flow;
mod gate;
mod handle;
mod health;
mod lane;
mod rates;
mod relay;
mod replay;
mod settings;
mod vitals;
mod worker;

pub use durable::{Project, SpendSettings};
pub use fleet::SILENCE;
pub use replay::{Again, AgainError, Replayer, WhatCame};
pub use settings::{Lanes, RelaySettings, Settings};
pub use worker::{Worker, WorkerError};
