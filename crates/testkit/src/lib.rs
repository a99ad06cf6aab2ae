//! What the system tests share: a virtual host and a database per test, a TCP relay that fails on demand, the
//! whole system in one value, and the checker that counts what went in and what came out.
//!
//! - [`System`] is where a test begins: services of its own, a practice judge, relays, producers and workers.
//! - [`material`] makes traces and the judge's replies to them.
//! - [`Desk`] is an HTTP server with a database and a judge of its own.
//! - [`TcpRelay`] stands before the broker, the database and the judge.
//! - [`chaos`] lets everything fall over while traces flow.
//! - [`bench`] measures the product beside two floors.
//! - [`Checker`] proves that nothing was lost and nothing was doubled.
//! - [`wait_for`] is the only place that sleeps.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this crate is linked into tests only: what fails here has to fail the test, with a word about why"
)]

mod ask;
pub mod bench;
mod broker;
mod browser;
pub mod chaos;
mod checker;
mod database;
pub mod environment;
pub mod material;
mod process;
mod relay;
mod seed;
pub mod served;
mod system;
mod tls;
mod tuning;
mod wait;

pub use ask::ask;
pub use broker::{Seen, Vhost};
pub use browser::{Browser, Driver, Look};
pub use checker::{Checker, Fate, Findings};
pub use database::Database;
pub use process::{Command, Process};
pub use relay::{Direction, TcpRelay};
pub use seed::Seed;
pub use served::Desk;
pub use system::{Inside, System, SystemBuilder, TAP};
pub use tls::{Authority, Speaks, TlsRelay};
pub use tuning::Tuning;
pub use wait::{PATIENCE, wait_for, wait_until_equal};

/// A name that no other test has, now or later, with the time of its making in it.
fn unique(prefix: &str) -> String {
    format!("{prefix}-{}", uuid::Uuid::now_v7().simple())
}

/// Runs a future to its end from a `drop`, whichever runtime is around it, or none.
fn from_drop(work: impl Future<Output = ()> + Send + 'static) {
    let thread = std::thread::spawn(move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(async {
                // Clearing up must not keep a test from ending.
                let _ = tokio::time::timeout(std::time::Duration::from_secs(20), work).await;
            });
        }
    });
    // A panic in there has been printed and changes nothing about the test's outcome.
    let _ = thread.join();
}

/// Reads how many of something there shall be, for the programs of this crate.
///
/// # Errors
/// When it is no number, or none at all.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a number, at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}
