//! From delivery to ack: the part of Groundcrew that runs for ever.
//!
//! - [`Worker`] consumes the lanes and pauses while the judge cannot be asked.
//! - `handle` takes one delivery to its end: decode, run each audit kind, settle.
//! - `audit` runs one kind and commits it.
//! - `relay` publishes what the commits put into the outbox.
//! - `spend` holds the calls that are reserved for projects with a cap.
//! - `dead` moves what the broker gave up on into the dead letters.
//!
//! Nothing is acked before what it caused is durable, and no database future is ever dropped:
//! shutdown stops the judge's calls, not the commits.

mod audit;
mod dead;
mod handle;
mod patience;
mod relay;
mod replay;
mod settings;
mod spend;
mod worker;

pub use replay::{Again, AgainError, Replayer, WhatCame};
pub use settings::{Lanes, Project, RelaySettings, Settings, SpendSettings};
pub use worker::{Worker, WorkerError};
