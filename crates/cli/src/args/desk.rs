//! The desk, and the tokens for it.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use desk::access::Role;

use super::Json;

/// Serve the desk over HTTP: the gate, and what people see.
///
/// Prints where it listens and runs until SIGTERM or Ctrl-C; what has begun then ends first. Needs Postgres and a
/// judge; messages that follow from its audits are published by the workers. RabbitMQ is needed only where `[notify]` is
/// configured: then the desk also does what `groundcrew notify` does. Several may run at once.
#[derive(Debug, Args)]
pub(crate) struct Desk {
    /// Wait this many seconds for Postgres and its tables before giving up.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait_for: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    Add(TokenAdd),
    List(TokenList),
    Revoke(TokenRevoke),
}

/// Make a token and print it. It is shown this once; only its SHA-256 is stored.
///
/// Standard output is the token and nothing else, so that it can go straight into a secret store.
#[derive(Debug, Args)]
pub(crate) struct TokenAdd {
    /// Who or what will use it.
    pub(crate) name: String,
    /// What it may do: look (viewer), decide (reviewer), everything (admin), or ask the gate and nothing else (gate).
    #[arg(long, value_parser = roles())]
    pub(crate) role: Role,
    /// Only for this project; may be given several times. Without it: for every project.
    #[arg(long = "project", value_name = "PROJECT", value_parser = super::replay::filled)]
    pub(crate) projects: Vec<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// List tokens: name, role, projects, last use to the hour.
#[derive(Debug, Args)]
pub(crate) struct TokenList {
    /// Those that were revoked as well.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Revoke a token. Within a few seconds no desk accepts it any more.
#[derive(Debug, Args)]
pub(crate) struct TokenRevoke {
    /// Its name.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str))
        .try_map(|word| Role::parse(&word).ok_or_else(|| "no such role".to_owned()))
}
