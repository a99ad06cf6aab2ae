//! The store over a real Postgres, each test in a database of its own.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test a panic is how things fail"
)]

mod analyst;
mod dead;
mod finish;
mod fixture;
mod fleet;
mod golden;
mod keep;
mod lookup;
mod maintain;
mod migrations;
mod notify;
mod nul;
mod outbox;
mod reads;
mod review;
mod review_many;
mod sample;
mod spend;
