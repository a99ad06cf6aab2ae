//! What people see of review items, and what they do with them.
//!
//! [`show`] decides what one person may see of an item, and is the only place that does; the API and the pages both
//! show what it gives. [`act`] turns what the store answers into answers of HTTP.

pub(crate) mod act;
pub(crate) mod api;
pub(crate) mod body;
mod dead;
mod due;
mod list;
mod parts;
mod show;

use std::time::Duration;

pub(crate) use dead::{DeadQuery, letter, letters, send_again, throw_away};
pub use due::Due;
pub(crate) use list::{ItemLine, Listed, Query};
pub(crate) use parts::{AttemptPart, ClaimPart, EvidencePart, OmissionPart, OtherAudit, RulingPart};
pub(crate) use show::{EndPart, ItemView, LabelPart, show};

use crate::routes::Route;

/// How reviews work, for all projects.
#[derive(Debug, Clone, Copy)]
pub struct ReviewSettings {
    /// How long an item stays with who has taken it and does nothing.
    pub lease: Duration,
    /// When items are due.
    pub due: Due,
    /// How long a browser stays logged in.
    pub session: Duration,
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self { lease: Duration::from_secs(900), due: Due::default(), session: Duration::from_secs(12 * 3600) }
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = api::routes();
    routes.extend(dead::routes());
    routes
}
