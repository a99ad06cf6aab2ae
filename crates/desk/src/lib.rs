//! The desk over HTTP: who may ask, and what they may ask for.
//!
//! - [`Server`] listens, serves and drains.
//! - [`access`] says who asks and what they may do; [`routes`] is the one table of what can be asked for, from which
//!   the router is built.
//! - [`openapi`] describes the API from that table.
//! - `review` says what people see of review items and does what they decide; `pages` shows it to browsers.
//! - `gate` answers whoever waits for what to do with an answer.
//! - `connections` bounds how many connections there are, and how long nothing may happen on one.
//! - `health` serves liveness, readiness and metrics.
//!
//! TLS ends in front of it. Every answer is JSON unless a page is asked for, and every refusal says why.

pub mod access;
mod body;
mod connections;
mod extract;
mod gate;
mod health;
pub mod openapi;
mod pages;
mod problem;
mod review;
pub mod routes;
mod server;
mod settings;
mod state;

pub use body::Bounded;
pub use problem::{Problem, Refusal};
pub use review::{Due, ReviewSettings};
pub use server::{DeskError, Server};
pub use settings::{GateSettings, Settings, WhenUnknown};
pub use state::Desk;
