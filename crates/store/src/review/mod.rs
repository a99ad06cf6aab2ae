//! What people decide: lists of what waits, leases, rulings, the end of a review.
//!
//! Who takes an item gets a fence, a number that rises with every taking. Whatever is written about the item names it,
//! and is refused once somebody else has taken the item, the lease is over, or the review has ended. All of it is
//! decided by the row of the item, in the statement that writes.

mod close;
mod corrected;
mod detail;
mod events;
mod export;
mod lease;
mod queue;
mod rule;
mod seen;

use audit::review::Objection;
use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

pub use close::{Closed, Ending, Retry};
pub use corrected::Corrected;
pub use detail::{OpinionView, ReviewDetail, RulingView};
pub(crate) use events::{Outgoing, RESULTS, TRACES, send};
pub use export::{ReportClaim, Reviewed, ReviewedPlace};
pub use queue::{Assignee, QueueFilter, QueueItem, QueuePlace, ReasonCount, Searched};
pub use rule::Ruled;

/// An item that somebody has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The review item.
    pub item: Uuid,
    /// Who has it.
    pub reviewer: String,
    /// The fence that the taking gave.
    pub fence: i64,
}

/// What came of taking an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is the reviewer's.
    Held {
        /// To be named with everything that is written.
        fence: i64,
        /// Until when, if nothing happens.
        leased_until: DateTime<Utc>,
    },
    /// It is not.
    Refused(Lost),
}

/// Why an item is not the reviewer's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Lost {
    /// There is no such item.
    Missing,
    /// Somebody else has it.
    TakenBy {
        /// Who.
        reviewer: String,
        /// Until when, if nothing happens.
        leased_until: DateTime<Utc>,
    },
    /// The same reviewer has taken it again since, in another window.
    TakenAgain,
    /// Nobody has it: the lease is over, or it was given back.
    Expired,
    /// The review has ended.
    Closed,
    /// The reviewer has given an opinion already; another one is somebody else's.
    OpinionGiven,
}

/// Why something that was said is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unkept {
    /// The item is not the reviewer's.
    Lost(Lost),
    /// The report is another than the one that was seen.
    OtherReport,
    /// It makes no sense.
    Objections(Vec<Objection>),
}
