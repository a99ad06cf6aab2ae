//! What is wrong with a configuration, key by key.

use std::fmt;
use std::path::PathBuf;

use super::sources::Origin;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    /// The key, or the variable that names none.
    pub(crate) key: String,
    /// The value as it may be printed; none where it may not, or where there is none.
    pub(crate) value: Option<String>,
    /// Where the value comes from.
    pub(crate) origin: Option<Origin>,
    /// What is wrong with it and what is allowed.
    pub(crate) message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.key)?;
        if let Some(value) = &self.value {
            write!(formatter, " = {value}")?;
        }
        match &self.origin {
            None | Some(Origin::Default) => {}
            Some(origin) => write!(formatter, " ({origin})")?,
        }
        write!(formatter, ": {}", self.message)
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("{file} is not TOML: {message} (line {line}, column {column})")]
    Syntax { file: String, line: usize, column: usize, message: String },
    /// Keys or values are wrong.
    #[error("the configuration cannot be used{}", list(.0))]
    Keys(Vec<Problem>),
}

impl ConfigError {
    /// Says where a text is no TOML, without repeating the text: it may hold a secret.
    pub(super) fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self::Syntax {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column,
            message: error.message().replace('\n', "; "),
        }
    }
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}
