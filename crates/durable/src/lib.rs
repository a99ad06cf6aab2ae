//! Audits that end in Postgres: what a worker and the desk share about them.
//!
//! - [`Durable`] is the runner's sink: attempts are committed before the next call, projects are held to their caps.
//! - [`Project`] is what a project asks for, [`Purses`] hold the calls that are reserved for it.
//! - [`persist`] waits out an outage of the database without dropping a write.
//! - [`calibration`] follows the golden runs on record.

pub mod calibration;
mod patience;
mod project;
mod sink;
mod spend;

pub use patience::{GivenUp, chain, persist};
pub use project::{Project, SpendSettings};
pub use sink::Durable;
pub use spend::{Permit, Purses, next_day};
