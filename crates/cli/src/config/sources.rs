//! The layers of the configuration: which value each key has, and where it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::error::{ConfigError, Problem};
use super::key::{ENV_PREFIX, Key, RECEIVERS, shout};
use super::known::Known;
use super::text::{entries, has_password, insert, is_kept_out_of_files, is_secret, parse, shown};

/// Every key with its default, and the explanation of each.
pub(crate) const DEFAULTS: &str = include_str!("../../../../config.default.toml");

/// Variables that everyone expects, and the keys that they stand for.
const WELL_KNOWN: [(&str, [&str; 2]); 2] =
    [("DATABASE_URL", ["database", "url"]), ("AMQP_URL", ["queue", "url"])];

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// `config.default.toml`.
    Default,
    /// A project that says nothing of its own.
    ProjectDefaults,
    /// A file, at a line.
    File { path: PathBuf, line: usize },
    /// An environment variable.
    Environment(String),
}

impl Origin {
    /// The word for it: `default`, `file` or `environment`.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Default | Self::ProjectDefaults => "default",
            Self::File { .. } => "file",
            Self::Environment(_) => "environment",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::ProjectDefaults => formatter.write_str("project_defaults"),
            Self::File { path, line } => write!(formatter, "file {}:{line}", path.display()),
            Self::Environment(name) => write!(formatter, "environment {name}"),
        }
    }
}

/// One key's value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// All layers, merged.
#[derive(Debug)]
pub(crate) struct Sources {
    known: Known,
    defaults: BTreeMap<Key, Entry>,
    /// The projects that the file names, and the judges that it or `judge.fallback` names: section and name.
    named: BTreeSet<(String, String)>,
    pub(crate) entries: BTreeMap<Key, Entry>,
    pub(crate) problems: Vec<Problem>,
    /// Variables that look like keys and are none.
    pub(crate) warnings: Vec<String>,
}

impl Sources {
    /// Reads the layers. What is wrong with single keys is collected in `problems`.
    ///
    /// # Errors
    /// When the file cannot be read, or is no TOML.
    pub(crate) fn read(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let defaults = entries(DEFAULTS, |_| Origin::Default)
            .map_err(|error| ConfigError::toml("config.default.toml", DEFAULTS, &error))?;
        let known =
            Known::new().map_err(|error| ConfigError::toml("config.default.toml", DEFAULTS, &error))?;
        let mut sources = Self {
            known,
            entries: defaults.clone(),
            defaults,
            named: BTreeSet::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        };
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .map_err(|source| ConfigError::File { path: path.to_owned(), source })?;
            let origin = |line| Origin::File { path: path.to_owned(), line };
            let layer = entries(&text, origin)
                .map_err(|error| ConfigError::toml(&path.display().to_string(), &text, &error))?;
            for (key, entry) in layer {
                sources.set_from_file(key, entry);
            }
        }
        let mut variables: Vec<(OsString, OsString)> = environment.into_iter().collect();
        // The variables that everyone expects come first, so that the ones with our own names win over them.
        variables.sort_by_key(|(name, _)| (name.to_string_lossy().starts_with(ENV_PREFIX), name.clone()));
        sources.name_judges(&variables);
        for (name, value) in variables {
            sources.set_from_environment(&name.to_string_lossy(), value);
        }
        sources.inherit_project_defaults();
        sources.inherit_judge_defaults();
        sources.inherit_receiver_defaults();
        Ok(sources)
    }

    /// The merged document.
    pub(crate) fn document(&self) -> Value {
        let mut root = Table::new();
        for (key, entry) in &self.entries {
            insert(&mut root, &key.0, entry.value.clone());
        }
        Value::Table(root)
    }

    /// Notes what is wrong with a key's value, and puts the default back so that reading can go on.
    pub(crate) fn reject(&mut self, key: &Key, message: String) {
        self.note(key, message);
        match self.defaults.get(key).or_else(|| self.defaults.get(&key.template()?)) {
            Some(default) => self.entries.insert(key.clone(), default.clone()),
            None => self.entries.remove(key),
        };
    }

    /// Notes what is wrong with a key; its value stays.
    pub(crate) fn note(&mut self, key: &Key, message: String) {
        // What a project inherits is said once, where it stands.
        if self.entries.get(key).is_none_or(|entry| entry.origin != Origin::ProjectDefaults) {
            let problem = self.problem(key, message);
            self.problems.push(problem);
        }
    }

    /// The keys that have no value.
    pub(crate) fn unset(&self) -> impl Iterator<Item = &Key> {
        self.known.keys().filter(|key| !self.entries.contains_key(key))
    }

    /// What is wrong with a key, with its value and where that comes from.
    fn problem(&self, key: &Key, message: String) -> Problem {
        let entry = self.entries.get(key);
        Problem {
            key: key.to_string(),
            value: entry.map(|entry| shown(key, &entry.value)),
            origin: entry.map(|entry| entry.origin.clone()),
            message,
        }
    }

    /// The key of an entry at or above the place that `parts` names.
    pub(crate) fn key_at(&self, parts: &[String]) -> Option<Key> {
        let exact = self.entries.keys().find(|key| parts.starts_with(&key.0));
        exact.or_else(|| self.entries.keys().find(|key| key.starts_with(parts))).cloned()
    }

    fn set_from_file(&mut self, key: Key, entry: Entry) {
        if let Some(message) = self.refusal(&key, &entry) {
            // The value of a misspelt key may be a secret.
            let is_known = self.known.example(&key).is_some();
            let value = (is_known && !is_secret(&key)).then(|| shown(&key, &entry.value));
            self.problems.push(Problem { key: key.to_string(), value, origin: Some(entry.origin), message });
            return;
        }
        if let Some((section, name)) = key.named_section() {
            self.named.insert((section.to_owned(), name.to_owned()));
        }
        // A section without keys says nothing.
        if self.known.example(&key).is_some() {
            self.entries.insert(key, entry);
        }
    }

    /// Why a key may not stand in a file.
    fn refusal(&self, key: &Key, entry: &Entry) -> Option<String> {
        let text = entry.value.as_str().unwrap_or_default();
        match key.to_string().as_str() {
            name if is_kept_out_of_files(key) && entry.value.as_str() != Some("") => Some(format!(
                "a secret must not stand in a configuration file: set {}, or name a file that holds it in {name}_file",
                key.variable()
            )),
            name @ ("database.url" | "queue.url") if has_password(text) => Some(format!(
                "a URL with a password must not stand in a configuration file: set {}, or name a file that holds it in \
                 {name}_file",
                if name == "database.url" { "DATABASE_URL" } else { "AMQP_URL" }
            )),
            _ => self.known.unknown(key, &entry.value),
        }
    }

    fn set_from_environment(&mut self, name: &str, value: OsString) {
        let well_known = WELL_KNOWN.iter().find(|(known, _)| *known == name).map(|(_, key)| Key::new(key));
        let Some(key) = well_known.or_else(|| self.key_of_variable(name)) else { return };
        let origin = Origin::Environment(name.to_owned());
        let is_named = key
            .named_section()
            .is_none_or(|(section, name)| self.named.contains(&(section.to_owned(), name.to_owned())));
        let Some(example) = self.known.example(&key).filter(|_| is_named) else {
            let message = self.known.unknown_variable(name);
            self.problems.push(Problem { key: name.to_owned(), value: None, origin: None, message });
            return;
        };
        let Some(text) = value.to_str() else {
            let message = "is not UTF-8".into();
            self.problems.push(Problem { key: key.to_string(), value: None, origin: Some(origin), message });
            return;
        };
        // An empty variable is how deployment tools say that they have nothing to say.
        if !text.is_empty() {
            self.entries.insert(key, Entry { value: parse(text, example), origin });
        }
    }

    /// The key that a variable of ours means; none when it is not meant for the configuration.
    fn key_of_variable(&mut self, name: &str) -> Option<Key> {
        let Some(rest) = name.strip_prefix(ENV_PREFIX) else {
            let loud = name.to_ascii_uppercase();
            // Variables are told apart by their case, and ours have only one.
            if loud.starts_with(ENV_PREFIX) && loud.contains("__") {
                self.warnings.push(format!("{name} is not read; did you mean {loud}?"));
            }
            return None;
        };
        if !rest.contains("__") {
            if let Some(key) = self.known.by_flat_variable(name) {
                self.warnings.push(format!("{name} is not read; did you mean {}?", key.variable()));
            }
            return None;
        }
        let mut parts: Vec<String> = rest.split("__").map(str::to_ascii_lowercase).collect();
        let section = if parts.starts_with(&["notify".to_owned(), "receivers".to_owned()]) {
            RECEIVERS.to_owned()
        } else {
            parts.first().cloned().unwrap_or_default()
        };
        let depth = section.split('.').count();
        if let Some(name) = parts.get_mut(depth) {
            let alike = |named: &&(String, String)| named.0 == section && shout(&named.1) == shout(name);
            if let Some((_, named)) = self.named.iter().find(alike) {
                *name = named.clone();
            }
        }
        Some(Key(parts))
    }

    /// Notes which judges stand in, wherever that is said: their variables are known by it.
    fn name_judges(&mut self, variables: &[(OsString, OsString)]) {
        let key = Key::new(&["judge", "fallback"]);
        let value = |text: &OsString| parse(text.to_str().unwrap_or_default(), &Value::Array(Vec::new()));
        let variable = variables.iter().find(|(name, text)| *name == *key.variable() && !text.is_empty());
        let value =
            variable.map(|(_, text)| value(text)).or_else(|| Some(self.entries.get(&key)?.value.clone()));
        let names = value.and_then(|value| value.as_array().cloned()).unwrap_or_default();
        for name in names.iter().filter_map(Value::as_str) {
            self.named.insert(("judges".to_owned(), name.to_owned()));
        }
    }

    fn names_in(&self, section: &str) -> Vec<String> {
        self.named.iter().filter(|(known, _)| known == section).map(|(_, name)| name.clone()).collect()
    }

    /// Gives each named project what the defaults of all projects say.
    fn inherit_project_defaults(&mut self) {
        let defaults: Vec<(Key, Value)> = self
            .entries
            .iter()
            .filter(|(key, _)| key.0[0] == "project_defaults")
            .map(|(key, entry)| (key.clone(), entry.value.clone()))
            .collect();
        for name in self.names_in("projects") {
            for (key, value) in &defaults {
                let mut parts = vec!["projects".to_owned(), name.clone()];
                parts.extend_from_slice(&key.0[1..]);
                let entry = Entry { value: value.clone(), origin: Origin::ProjectDefaults };
                self.entries.entry(Key(parts)).or_insert(entry);
            }
        }
    }

    /// Gives each judge that stands in the built-in defaults, and nothing that was said about the first one: its
    /// address and its key are nobody else's business.
    fn inherit_judge_defaults(&mut self) {
        for name in self.names_in("judges") {
            for (key, default) in &self.defaults {
                let mut parts = vec!["judges".to_owned(), name.clone()];
                parts.extend_from_slice(&key.0[1..]);
                let own = Key(parts);
                if key.0[0] == "judge" && own.template().is_some() {
                    self.entries.entry(own).or_insert_with(|| default.clone());
                }
            }
        }
    }

    /// Gives each receiver what the defaults of all receivers say.
    fn inherit_receiver_defaults(&mut self) {
        let template = ["notify".to_owned(), "receiver_defaults".to_owned()];
        let defaults: Vec<(Key, Value)> = self
            .entries
            .iter()
            .filter(|(key, _)| key.starts_with(&template))
            .map(|(key, entry)| (key.clone(), entry.value.clone()))
            .collect();
        for name in self.names_in(RECEIVERS) {
            for (key, value) in &defaults {
                let mut parts = vec!["notify".to_owned(), "receivers".to_owned(), name.clone()];
                parts.extend_from_slice(&key.0[2..]);
                let entry = Entry { value: value.clone(), origin: Origin::ProjectDefaults };
                self.entries.entry(Key(parts)).or_insert(entry);
            }
        }
    }
}
