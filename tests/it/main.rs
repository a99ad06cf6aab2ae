//! The whole system over real RabbitMQ and Postgres, seen from outside: what a producer publishes, what the tables
//! and the exchanges hold afterwards, and what happens when anything in between fails.
//!
//! Each test has a virtual host, a database and a judge of its own. `./dev test` starts the services.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of tests are tests: what is not as expected has to fail"
)]

mod analyst;
mod crash;
mod dead_letters;
mod desk;
mod desk_access;
mod desk_pages;
mod desk_refusals;
mod documents;
mod duplicates;
mod examples;
mod faults;
mod fleet;
mod gate;
mod gate_limits;
mod gate_queue;
mod golden;
mod hostile;
mod kinds;
mod lanes;
mod notify;
mod notify_receiver;
mod outages;
mod path;
mod replay;
mod retries;
mod roles;
mod shutdown;
mod spend;
mod tls;
mod transport;
