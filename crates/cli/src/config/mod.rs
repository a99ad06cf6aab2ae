//! The configuration: read from its layers ([`sources`]), typed ([`raw`]), checked ([`settings`]).

mod bounded;
mod checks;
mod desk;
mod error;
mod judges;
mod key;
mod known;
mod notify;
mod prompts;
mod raw;
mod settings;
mod sources;
mod text;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) use error::{ConfigError, Problem};
pub(crate) use raw::LogFormat;
pub(crate) use settings::{Judge, Log, Settings};
pub(crate) use sources::Origin;

use raw::Raw;
use sources::Sources;

/// The file that is read when it exists and no other is named.
const DEFAULT_FILE: &str = "groundcrew.toml";

/// A configuration that may be used, and how it came about.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) settings: Settings,
    /// Every key, for people.
    pub(crate) lines: Vec<Line>,
    /// What is not wrong and worth a word.
    pub(crate) warnings: Vec<String>,
}

/// One effective key, as it may be printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) key: String,
    /// None when it has no value.
    pub(crate) value: Option<String>,
    pub(crate) origin: Origin,
}

/// Reads the configuration as the worker does.
///
/// # Errors
/// [`ConfigError`], with everything that is wrong at once.
pub(crate) fn load(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Config, ConfigError> {
    let default_file = PathBuf::from(DEFAULT_FILE);
    let file = file.or_else(|| default_file.exists().then_some(default_file.as_path()));
    let mut sources = Sources::read(file, environment)?;
    let raw = typed(&mut sources);
    let settings = raw.and_then(|raw| settings::check(raw, &mut sources));
    match settings {
        Some(settings) if sources.problems.is_empty() => {
            Ok(Config { settings, lines: lines(&sources), warnings: sources.warnings })
        }
        _ => Err(ConfigError::Keys(sources.problems)),
    }
}

/// Gives every key its type. A value that is refused is noted and replaced by its default, so that
/// the next one is found as well.
fn typed(sources: &mut Sources) -> Option<Raw> {
    // Each turn repairs one key, so there can be no more turns than keys.
    for _ in 0..=sources.entries.len() {
        let error = match serde_path_to_error::deserialize::<_, Raw>(sources.document()) {
            Ok(raw) => return Some(raw),
            Err(error) => error,
        };
        let parts: Vec<String> = error
            .path()
            .iter()
            .map(|part| match part {
                serde_path_to_error::Segment::Seq { index } => index.to_string(),
                serde_path_to_error::Segment::Map { key } => key.clone(),
                serde_path_to_error::Segment::Enum { variant } => variant.clone(),
                serde_path_to_error::Segment::Unknown => String::new(),
            })
            .collect();
        let key = sources.key_at(&parts)?;
        sources.reject(&key, expectation(error.inner().message()));
    }
    None
}

/// What is allowed, out of a message that may repeat the value.
fn expectation(message: &str) -> String {
    match message.split_once(", expected ") {
        Some((_, expected)) => format!("expected {}", expected.replace('`', "").trim_end()),
        None => message.to_owned(),
    }
}

fn lines(sources: &Sources) -> Vec<Line> {
    let mut lines: Vec<Line> = sources
        .entries
        .iter()
        .filter(|(_, entry)| entry.origin != Origin::ProjectDefaults)
        .map(|(key, entry)| Line {
            key: key.to_string(),
            value: Some(text::shown(key, &entry.value)),
            origin: entry.origin.clone(),
        })
        .collect();
    lines.extend(sources.unset().map(|key| Line {
        key: key.to_string(),
        value: None,
        origin: Origin::Default,
    }));
    lines.sort_by(|left, right| left.key.cmp(&right.key));
    lines
}

#[cfg(test)]
mod tests;
