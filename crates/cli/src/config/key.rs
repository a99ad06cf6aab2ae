//! The name of a configuration key, in files and in the environment.

use std::fmt;

/// What every variable of ours begins with.
pub(crate) const ENV_PREFIX: &str = "GROUNDCREW_";

/// Sections that hold sections with names of the operator's choice.
pub(crate) const NAMED_SECTIONS: [&str; 2] = ["projects", "judges"];

/// The section of sections for receivers, as it is written.
pub(crate) const RECEIVERS: &str = "notify.receivers";

/// A key such as `judge.model`, part by part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(pub(crate) Vec<String>);

impl Key {
    pub(crate) fn new(parts: &[&str]) -> Self {
        Self(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    /// The key below this one.
    pub(crate) fn child(&self, part: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.to_owned());
        Self(parts)
    }

    /// The key whose type and meaning this one shares: that of `project_defaults` behind one of a project, that of
    /// `judge` behind one of a judge that stands in, that of `notify.receiver_defaults` behind one of a receiver. None
    /// for other keys.
    pub(crate) fn template(&self) -> Option<Self> {
        if let [section, part, _name, rest @ ..] = self.0.as_slice()
            && (section.as_str(), part.as_str()) == ("notify", "receivers")
        {
            let template = ["notify".to_owned(), "receiver_defaults".to_owned()];
            return (!rest.is_empty()).then(|| Self([&template, rest].concat()));
        }
        let [section, _name, rest @ ..] = self.0.as_slice() else { return None };
        let template = match (section.as_str(), rest) {
            (_, []) => return None,
            ("projects", _) => "project_defaults",
            // A judge that stands in is called what its section is called, and nobody stands in for it.
            ("judges", [key]) if ["name", "fallback"].contains(&key.as_str()) => return None,
            ("judges", _) => "judge",
            _ => return None,
        };
        Some(Self([&[template.to_owned()], rest].concat()))
    }

    /// The section and the name, for a key below one of the sections whose names the operator chooses.
    pub(crate) fn named_section(&self) -> Option<(&str, &str)> {
        match self.0.as_slice() {
            [section, part, name, ..] if (section.as_str(), part.as_str()) == ("notify", "receivers") => {
                Some((RECEIVERS, name))
            }
            [section, name, ..] if NAMED_SECTIONS.contains(&section.as_str()) => Some((section, name)),
            _ => None,
        }
    }

    pub(crate) fn starts_with(&self, parts: &[String]) -> bool {
        self.0.starts_with(parts)
    }

    /// The environment variable of this key.
    pub(crate) fn variable(&self) -> String {
        let parts: Vec<String> = self.0.iter().map(|part| shout(part)).collect();
        format!("{ENV_PREFIX}{}", parts.join("__"))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            if at > 0 {
                formatter.write_str(".")?;
            }
            let is_bare =
                part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) && !part.is_empty();
            if is_bare {
                formatter.write_str(part)?
            } else {
                write!(formatter, "{}", serde_json::Value::from(part.as_str()))?
            }
        }
        Ok(())
    }
}

/// A part of a key as it stands in the environment: capitals, and an underscore for every sign that
/// a variable's name cannot hold.
pub(crate) fn shout(part: &str) -> String {
    part.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// The candidate that takes the fewest changes of a letter to become `word`.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates.min_by_key(|candidate| distance(word, candidate))
}

/// How many letters must be put in, taken out or changed (Levenshtein), two rows at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, left) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, letter) in right.iter().enumerate() {
            let changed = diagonal + usize::from(left != *letter);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_the_one_with_the_fewest_changes() {
        let keys = ["judge.model", "judge.name", "queue.heartbeat_s"];
        let nearest = |word| nearest(word, keys.into_iter());
        assert_eq!(nearest("judge.modle"), Some("judge.model"));
        assert_eq!(nearest("jugde.name"), Some("judge.name"));
        assert_eq!(nearest("queue.heartbeat"), Some("queue.heartbeat_s"));
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_key_is_written_as_toml_and_as_a_variable() {
        let key = Key::new(&["projects", "city helpdesk", "review_below"]);
        assert_eq!(key.to_string(), "projects.\"city helpdesk\".review_below");
        assert_eq!(key.variable(), "GROUNDCREW_PROJECTS__CITY_HELPDESK__REVIEW_BELOW");
    }
}
