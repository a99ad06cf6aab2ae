//! What can go wrong, and what a caller should do about it.

use std::io;
use std::sync::Arc;

use sqlx::migrate::MigrateError;

/// Why the store could not do something. Cloned to every caller whose work was in the same batch.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings make no sense; nothing was tried.
    #[error("invalid database settings: {0}")]
    Settings(String),
    /// The database failed or refused; see [`Error::is_transient`].
    #[error("cannot {action}")]
    Database {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: Arc<sqlx::Error>,
    },
    /// A table, column or schema is missing.
    #[error("cannot {action}: the database's tables are not those of this version, run `groundcrew migrate`")]
    Schema {
        /// What was tried.
        action: &'static str,
        /// What is missing.
        source: Arc<sqlx::Error>,
    },
    /// No migration was ever applied.
    #[error("the database has no tables yet, run `groundcrew migrate`")]
    Unmigrated,
    /// The database is older than this program.
    #[error("the database lacks migration {missing}, run `groundcrew migrate`")]
    Outdated {
        /// The first missing one, such as `0002_findings`.
        missing: String,
    },
    /// A migration was applied that has this number and another text.
    #[error("migration {migration} of the database is not the one of this program")]
    Altered {
        /// Which one, such as `0002_findings`.
        migration: String,
    },
    /// A migration failed; the ones before it stay applied.
    #[error("cannot migrate the database")]
    Migrate(#[source] Arc<MigrateError>),
    /// A body could not be compressed or decompressed.
    #[error("cannot {action}")]
    Compression {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: Arc<io::Error>,
    },
    /// A stored row has a value that this program does not know.
    #[error("cannot {action}: the stored {what} is unknown to this version")]
    Unreadable {
        /// What was tried.
        action: &'static str,
        /// Column and value.
        what: String,
    },
    /// The store was closed before it could answer.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// Turns the reason into an error that says what was tried: `.map_err(Error::cannot("finish audits"))`.
    pub(crate) fn cannot(action: &'static str) -> impl Fn(sqlx::Error) -> Self {
        move |error| match error {
            sqlx::Error::PoolClosed => Self::Closed,
            error if is_schema(&error) => Self::Schema { action, source: Arc::new(error) },
            error => Self::Database { action, source: Arc::new(error) },
        }
    }

    /// Like [`Error::cannot`], for bodies.
    pub(crate) fn cannot_pack(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Compression { action, source: Arc::new(error) }
    }

    /// Whether the same call may succeed later without anybody doing anything: the connection was
    /// lost, the server restarts or is busy, a lock or a time-out was hit. The outcome of a write
    /// that failed so is unknown; repeating it is safe.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Database { source, .. } => is_transient(source),
            Self::Migrate(source) => match source.as_ref() {
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                    is_transient(error)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether the database refused the data itself, so that repeating the call is pointless.
    pub fn is_data(&self) -> bool {
        matches!(self, Self::Database { source, .. } if is_data(source))
    }

    /// Whether the tables are missing or of another version: `groundcrew migrate` helps.
    pub fn is_schema(&self) -> bool {
        matches!(self, Self::Schema { .. } | Self::Unmigrated | Self::Outdated { .. } | Self::Altered { .. })
    }
}

fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error()?.code().map(std::borrow::Cow::into_owned)
}

fn is_transient(error: &sqlx::Error) -> bool {
    use sqlx::Error as E;
    match error {
        // Protocol: a cut connection is also seen as a message that makes no sense.
        E::Io(_) | E::Tls(_) | E::Protocol(_) | E::PoolTimedOut | E::WorkerCrashed | E::BeginFailed => true,
        E::Database(_) => code(error).is_some_and(|code| {
            // Classes: 08 connection, 40 serialisation and deadlocks, 53 resources, 57 operator (shutdown,
            // statement time-out), 58 its disk. 55P03: lock time-out. 25P03: idle in transaction.
            // 25006: read-only, an address that points to a standby during a failover.
            ["08", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class))
                || ["55P03", "25P03", "25006"].contains(&code.as_str())
        }),
        _ => false,
    }
}

/// Whether one row may be to blame, so that its neighbours in the batch deserve a try without it.
pub(crate) fn is_data(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Encode(_) => true,
        // Classes: 22 data exception, 23 constraint, 54 too large. XX000: "invalid memory alloc
        // request size", which is how the server says that a value is too large for an array.
        _ => code(error).is_some_and(|code| {
            ["22", "23", "54"].iter().any(|class| code.starts_with(class)) || code == "XX000"
        }),
    }
}

/// 42P01 table, 42703 column, 3F000 schema, 42883 function: each is missing.
pub(crate) fn is_schema(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| ["42P01", "42703", "3F000", "42883"].contains(&code.as_str()))
}
