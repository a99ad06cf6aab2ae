//! How a command ends when it does not end well.

use std::error::Error;
use std::process::ExitCode;

use crate::config::ConfigError;
use crate::{output, terminal};

/// Why a command ends with another code than 0, and what can be done about it.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    /// None when everything there is to say is on standard output already.
    error: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
}

/// The exit codes of `groundcrew --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NotFine = 1,
    Usage = 2,
    Unreachable = 3,
}

/// What a command returns.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    /// What was asked about is not fine, and has been printed.
    pub(crate) const fn not_fine() -> Self {
        Self { kind: Kind::NotFine, error: None, hint: None }
    }

    /// Something could not be audited, and has been printed.
    pub(crate) const fn not_made() -> Self {
        Self { kind: Kind::Unreachable, error: None, hint: None }
    }

    /// The work failed.
    pub(crate) fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: Kind::NotFine, error: Some(error.into()), hint: None }
    }

    /// The command cannot be carried out as it was given.
    pub(crate) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: Kind::Usage, error: Some(error.into()), hint: None }
    }

    /// A service does not answer.
    pub(crate) fn unreachable(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: Kind::Unreachable, error: Some(error.into()), hint: None }
    }

    /// Adds what can be done about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Whether it may go away by itself: a service starts, or somebody else migrates the database.
    pub(crate) fn may_pass(&self) -> bool {
        let is_schema = |error: &(dyn Error + 'static)| {
            error.downcast_ref::<store::Error>().is_some_and(store::Error::is_schema)
        };
        self.kind == Kind::Unreachable || self.error.as_deref().is_some_and(|error| is_schema(error))
    }

    /// The whole chain of causes on one line.
    pub(crate) fn message(&self) -> String {
        self.error.as_deref().map(|error| chain(error)).unwrap_or_default()
    }

    /// What can be done about it.
    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Prints the error once and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if self.error.is_some() {
            output::note(format!("error: {}", terminal::block(&self.message())));
        }
        if let Some(hint) = &self.hint {
            output::note(format!("hint: {}", terminal::block(hint)));
        }
        ExitCode::from(self.kind as u8)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let is_keys = matches!(error, ConfigError::Keys(_));
        let failure = Self::usage(error);
        if is_keys {
            failure.hint("config.default.toml explains every key; `groundcrew check config` shows them")
        } else {
            failure
        }
    }
}

/// An error and its causes, each once: some libraries repeat their cause in their own text.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
