//! One audit from trace to report: ask, read, verify, decide.
//!
//! [`Runner::run`] is the shell around the pure functions of `audit`: it calls the judge, keeps
//! every attempt in a [`Sink`] before the next call, and builds the one [`audit::record::Ending`]
//! that is committed at the end. What comes next is derived from the attempts alone
//! ([`progress`]), so an audit that was interrupted goes on exactly where it was.

mod ask;
mod calibration;
mod end;
mod events;
pub mod memory;
mod progress;
mod replay;
mod run;
mod session;

pub use calibration::Calibration;
pub use events::{REVIEW_OPENED, gate_fields, result_event, review_item_id};
pub use replay::{Replayed, replay};
pub use run::{Delivery, GateAsked, Run, RunError, Runner, Settings, Terms};

use audit::gate::Regenerations;
use audit::record::{Attempt, AuditKey, GateCall, Opening, TraceRecord};

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

    /// Makes the open audit durable beside its first call of the judge, for who has to find it when this process is
    /// gone. The end waits for it. Most audits are opened with their first attempt, and nothing is done.
    ///
    /// # Errors
    /// [`SinkError`] when it is not durable.
    fn opened(
        &self,
        _key: &AuditKey,
        _opening: &Opening,
        _trace: &TraceRecord,
    ) -> impl Future<Output = Result<Kept, SinkError>> + Send {
        async { Ok(Kept::Committed) }
    }

    /// What the other calls of a call's session have used of its regenerations by now.
    ///
    /// # Errors
    /// [`SinkError`] when that cannot be told.
    fn regenerations(
        &self,
        _key: &AuditKey,
        call: &GateCall,
    ) -> impl Future<Output = Result<Regenerations, SinkError>> + Send {
        let known = Regenerations::from(call.regenerations);
        async move { Ok(known) }
    }

    /// Whether the audit's project may pay for one more call of the judge. Without a cap it may.
    ///
    /// # Errors
    /// [`SinkError`] when that cannot be told; no call may follow then.
    fn allow(&self, _key: &AuditKey) -> impl Future<Output = Result<Allowance, SinkError>> + Send {
        async { Ok(Allowance::Granted) }
    }

    /// Takes note that a call which was allowed was not made, or left nothing to store.
    fn not_asked(&self, _key: &AuditKey) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Whether one more call of the judge may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowance {
    /// It may.
    Granted,
    /// A cap is reached, and the audit ends `over_budget`.
    OverBudget {
        /// Which cap, in words.
        reason: String,
    },
    /// A cap is reached, and the audit is parked.
    Deferred {
        /// Which cap, in words.
        reason: String,
    },
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
