//! What is critical reaches people.
//!
//! - [`Notice`] is what a message of `groundcrew.review` says about a review item.
//! - [`Rules`] decide who is told, by project, kind, severity, reason and hour; pure.
//! - [`Kindred`] says which items make one page; pure.
//! - [`message`] words a page for each kind of receiver, [`sign`] signs it; pure.
//! - [`retry`] decides what follows a try; pure.
//! - [`Notifier`] carries it out: it reads the queue, keeps pages in Postgres, and sends what is due.
//! - [`Health`] serves liveness, readiness and metrics where nothing else does.
//!
//! A message is acked only after its pages are committed; a page is sent under an id that stays the same over all its
//! tries, so that a receiver can drop what it has already.

mod error;
mod group;
mod health;
mod hours;
pub mod message;
mod notice;
mod notifier;
mod plan;
mod receiver;
pub mod retry;
mod rules;
mod settings;
pub mod sign;

pub use error::NotifyError;
pub use group::Kindred;
pub use health::Health;
pub use hours::{BadHours, BadOffset, BadZone, Hours, Zone};
pub use notice::{Content, Incoming, Notice, Unreadable};
pub use notifier::Notifier;
pub use plan::Planned;
pub use receiver::{Receiver, Target};
pub use rules::{Owners, REASONS, Rule, Rules};
pub use settings::Settings;
