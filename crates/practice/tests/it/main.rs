//! The practice judge over real sockets: every fault is looked at as bytes on the wire.

#![expect(clippy::unwrap_used, clippy::panic, reason = "in a test a panic is how things fail")]

mod canned;
mod client;
mod counts;
mod faults;
mod honest;
mod questions;
mod traces;
mod verified;
