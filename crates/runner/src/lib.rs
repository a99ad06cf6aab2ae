//! One audit from trace to report: ask, read, verify, decide.
//!
//! [`Runner::run`] is the shell around the pure functions of `audit`: it calls the judge, keeps
//! every attempt in a [`Sink`] before the next call, and builds the one [`audit::record::Ending`]
//! that is committed at the end. What comes next is derived from the attempts alone
//! ([`progress`]), so an audit that was interrupted goes on exactly where it was.

mod ask;
mod calibration;
mod events;
pub mod memory;
mod progress;
mod run;

pub use calibration::Calibration;
pub use events::{REVIEW_OPENED, result_event};
pub use run::{Delivery, Run, RunError, Runner, Settings, Terms};

use audit::record::{Attempt, AuditKey, Opening, TraceRecord};

/// Where attempts go that must be durable before the next call.
pub trait Sink: Sync {
    /// Commits attempts with their open audit.
    ///
    /// # Errors
    /// [`SinkError`] when they are not durable; no further call may follow then.
    fn keep(
        &self,
        key: &AuditKey,
        opening: &Opening,
        trace: &TraceRecord,
        attempts: &[Attempt],
    ) -> impl Future<Output = Result<Kept, SinkError>> + Send;
}

/// What became of attempts that were to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// They are durable.
    Committed,
    /// Another worker has written the same attempt, or ended the audit: yield to it.
    LostRace,
}

/// Attempts could not be made durable.
#[derive(Debug, thiserror::Error)]
#[error("attempts could not be kept")]
pub struct SinkError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
