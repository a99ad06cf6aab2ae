//! One module per job.

pub(crate) mod audit;
pub(crate) mod check_config;
pub(crate) mod check_reply;
pub(crate) mod check_services;
pub(crate) mod check_trace;
pub(crate) mod dead;
pub(crate) mod desk;
pub(crate) mod fleet;
pub(crate) mod golden;
mod lines;
pub(crate) mod maintain;
pub(crate) mod migrate;
pub(crate) mod notify;
pub(crate) mod practice;
pub(crate) mod prompt;
pub(crate) mod publish;
pub(crate) mod queue_status;
pub(crate) mod replay;
pub(crate) mod review;
pub(crate) mod schema;
pub(crate) mod show;
mod table;
pub(crate) mod token;
pub(crate) mod watch;
pub(crate) mod worker;

use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    match read {
        Ok(()) => Ok(bytes),
        Err(source) => Err(Failure::usage(ReadError { path: path.display().to_string(), source })),
    }
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be read")]
struct ReadError {
    path: String,
    source: std::io::Error,
}
