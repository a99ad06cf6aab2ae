//! Which keys exist, and how one that does not is met.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::key::{Key, NAMED_SECTIONS, RECEIVERS, nearest};
use super::sources::{DEFAULTS, Origin};
use super::text;

/// The keys that exist, with a value of the right type for each.
#[derive(Debug)]
pub(crate) struct Known(BTreeMap<Key, Value>);

impl Known {
    /// All keys of the default file, those without a default included.
    pub(crate) fn new() -> Result<Self, toml::de::Error> {
        let examples: Vec<&str> = DEFAULTS
            .lines()
            .map(|line| line.strip_prefix('#').filter(|rest| is_example(rest)).unwrap_or(line))
            .collect();
        let entries = text::entries(&examples.join("\n"), |_| Origin::Default)?;
        Ok(Self(entries.into_iter().map(|(key, entry)| (key, entry.value)).collect()))
    }

    /// Every key.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.keys()
    }

    /// A value of the type that the key has; none for a key that does not exist.
    pub(crate) fn example(&self, key: &Key) -> Option<&Value> {
        self.0.get(key.template().as_ref().unwrap_or(key))
    }

    /// Why there is no such key, naming the nearest one; none when there is.
    pub(crate) fn unknown(&self, key: &Key, value: &Value) -> Option<String> {
        if self.example(key).is_some() {
            return None;
        }
        let is_section = self.0.keys().any(|known| known.starts_with(&key.0));
        let names = matches!(key.0.as_slice(), [section] if NAMED_SECTIONS.contains(&section.as_str()));
        if is_section || names || key.to_string() == RECEIVERS {
            let empty = value.as_table().is_some_and(Table::is_empty);
            return (!empty).then(|| "is a section, not a key: its keys go below it".into());
        }
        if let Some((section, name)) = key.named_section() {
            let depth = section.split('.').count() + 1;
            if key.0.len() == depth {
                return (!value.is_table()).then(|| "is a section, not a key: its keys go below it".into());
            }
            let template = match section {
                "projects" => "project_defaults",
                RECEIVERS => "notify.receiver_defaults",
                _ => "judge",
            };
            let template_parts: Vec<String> = template.split('.').map(str::to_owned).collect();
            let alike = Key([&template_parts, &key.0[depth..]].concat());
            let nearest = self.nearest(&alike.to_string());
            let own = Key(key.0[..depth].to_vec()).to_string();
            let nearest = nearest.replacen(template, &own, 1);
            return Some(match alike.0.last().filter(|_| section == "judges").map(String::as_str) {
                Some("name") => format!("is not a key: this judge is called {name}"),
                Some("fallback") => "is not a key: only the first judge names those that stand in".into(),
                _ => format!("is not a key; the nearest one is {nearest}"),
            });
        }
        Some(format!("is not a key; the nearest one is {}", self.nearest(&key.to_string())))
    }

    pub(crate) fn unknown_variable(&self, name: &str) -> String {
        if name.starts_with("GROUNDCREW_PROJECTS__") {
            return "names no key of a project that the configuration file names".into();
        }
        if name.starts_with("GROUNDCREW_JUDGES__") {
            return "names no key of a judge that the configuration file or judge.fallback names".into();
        }
        if name.starts_with("GROUNDCREW_NOTIFY__RECEIVERS__") {
            return "names no key of a receiver that the configuration file names".into();
        }
        let variables: Vec<String> = self.0.keys().map(Key::variable).collect();
        let nearest = nearest(name, variables.iter().map(String::as_str)).unwrap_or_default();
        format!("names no key; the nearest one is {nearest}")
    }

    fn nearest(&self, key: &str) -> String {
        let keys: Vec<String> = self.0.keys().map(Key::to_string).collect();
        nearest(key, keys.iter().map(String::as_str)).unwrap_or_default().to_owned()
    }

    /// The key whose variable has this name, were it not for the double underscores.
    pub(crate) fn by_flat_variable(&self, name: &str) -> Option<&Key> {
        self.0.keys().find(|key| key.variable().replace("__", "_") == name)
    }
}

/// Whether what stands behind a `#` is a key with an example value.
fn is_example(rest: &str) -> bool {
    let key = rest.split(" = ").next().unwrap_or_default();
    rest.contains(" = ") && key.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '.'))
}
