//! Postgres: migrations, batched writes, reads, the outbox.
//!
//! A worker asks [`Store::lookup`] what is known about an audit, commits attempts that another call
//! follows with [`Store::keep`], and ends the audit with [`Store::finish`], which writes everything
//! that must be true together in one transaction. A relay takes the messages that follow from it by
//! [`Store::lease`]. What cannot be audited goes to [`Store::bury`]. Under a cap, calls of the judge are
//! reserved in blocks by [`Store::reserve`].
//!
//! Two rules hold everywhere in this crate:
//!
//! - No transaction runs in a future that a caller can drop. sqlx 0.9 gives a connection whose
//!   `begin` was dropped back to the pool with the transaction open, and what the next user writes on
//!   it is never committed (launchbadge/sqlx#4385). Writes therefore run in tasks of the store;
//!   the server's own time-outs bound them.
//! - Every write may be repeated. After an error the caller does not know whether the commit
//!   happened, so it calls again; what is there already is recognised by its key.

mod access_log;
mod again;
mod batch;
mod dead;
mod duplicate;
mod error;
mod finish;
mod fleet;
mod gate;
mod generation;
mod golden;
mod keep;
mod label;
mod lookup;
mod maintain;
mod migrate;
mod notify;
mod outbox;
mod read;
mod recorded;
pub mod review;
mod rows;
mod sessions;
mod settings;
mod spend;
mod store;
mod summary;
mod text;
mod tokens;
mod usage;
mod views;
mod words;

pub use access_log::Access;
pub use again::Asker;
pub use dead::{DeadFilter, DeadLetter, DeadLetterView, DeadReason, Replayed};
pub use error::Error;
pub use finish::Finished;
pub use fleet::{Fleet, SampledOut, WorkerReport};
pub use gate::{GateClaim, GateClaimed, LostGateCall};
pub use golden::{Calibrated, GoldenRun};
pub use keep::Kept;
pub use maintain::{Expired, Retention};
pub use migrate::{Migrated, Schema, migrate};
pub use notify::{DueNotification, OpenItem, PageItem, Tried};
pub use outbox::{OutboxDepth, OutboxRow};
pub use recorded::{Filter, Generations, Place, Recorded};
pub use settings::Settings;
pub use spend::{Asked, Reserved};
pub use store::Store;
pub use summary::{Scope, Summary};
pub use text::sanitise;
pub use tokens::ApiToken;
pub use views::{AttemptView, AuditLine, AuditView, Bodies, ClaimView, OmissionView, ReviewItem, TraceView};
pub use words::{DeadSource, DeadStatus, Outcome, PageEvent, ReviewStatus, TryOutcome, UnknownWord};

/// What this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
