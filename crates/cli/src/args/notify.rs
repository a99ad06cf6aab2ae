//! Telling people.

use clap::{Args, Subcommand};

use super::Json;

/// Tell people what is critical: PagerDuty, Slack, webhooks.
///
/// Reads groundcrew.review and sends what [[notify.rules]] say to [notify.receivers.<name>], until SIGTERM or Ctrl-C. A
/// page is acknowledged when somebody takes one of its items at the desk and resolved when all are closed. Needs Postgres
/// and RabbitMQ. Several may run at once.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Notify {
    #[command(subcommand)]
    pub(crate) send: Option<Send>,
    /// Print what would be sent for the open review items if they came now, and end. Nothing is sent or written.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait this many seconds for Postgres and RabbitMQ before giving up.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait_for: u64,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Send {
    Test(NotifyTest),
}

/// Send a receiver a test and say what it answered. PagerDuty is told at once that it is over.
///
/// Exits with 0 when the receiver took it, with 1 when it did not.
#[derive(Debug, Args)]
pub(crate) struct NotifyTest {
    /// The receiver, as in [notify.receivers.<name>].
    #[arg(value_name = "RECEIVER")]
    pub(crate) receiver: String,
}
