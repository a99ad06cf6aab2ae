//! The crate against a real broker, each test in a virtual host of its own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail as tests do")]

mod support;

mod consuming;
mod outages;
mod publishing;
mod retrying;
mod topology;
mod watchdog;
