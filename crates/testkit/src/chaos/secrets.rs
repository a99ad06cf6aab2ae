//! Secrets that no log may hold, whatever falls over.

use crate::process::Command;
use crate::{Process, System};

/// A key that nothing else contains.
const KEY: &str = "sk-planted-4f1c9e7b2d";

/// What is secret in a run, and which workers told it.
#[derive(Debug)]
pub(super) struct Secrets {
    words: Vec<String>,
    told: Vec<String>,
}

impl Secrets {
    /// The planted key of the judge, and the passwords of broker and database.
    pub fn of(system: &System) -> Self {
        let passwords = system.environment().into_iter().filter_map(|(_, value)| password(&value));
        Self { words: passwords.chain([KEY.to_owned()]).collect(), told: Vec::new() }
    }

    /// Gives a worker the key.
    pub fn plant(&self, worker: Command) -> Command {
        worker.set("GROUNDCREW_JUDGE__API_KEY", KEY).set("GROUNDCREW_LOG__LEVEL", "debug")
    }

    /// Looks through all that a worker has printed.
    pub fn look_for_in(&mut self, worker: &Process) {
        let log = worker.log();
        for word in self.words.iter().filter(|word| log.contains(word.as_str())) {
            // Which one it is must not be printed here either.
            let which = if word == KEY { "the judge's key" } else { "a password" };
            self.told.push(format!("a worker's log holds {which}"));
        }
    }

    /// What was told, in words.
    pub fn told(&self) -> Vec<String> {
        self.told.clone()
    }
}

/// The password in a URL, if it has one that is worth looking for.
fn password(url: &str) -> Option<String> {
    const SHORTEST: usize = 8;
    let (_, rest) = url.split_once("://")?;
    let (user, _) = rest.split_once('@')?;
    let (_, password) = user.split_once(':')?;
    (password.len() >= SHORTEST).then(|| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_looked_for_and_a_placeholder_is_not() {
        assert_eq!(password("amqp://me:0123456789abcdef@127.0.0.1:1/x"), Some("0123456789abcdef".to_owned()));
        assert_eq!(password("amqp://guest:guest@127.0.0.1/x"), None);
        assert_eq!(password("http://127.0.0.1:1/v1"), None);
        assert_eq!(password("20"), None);
    }
}
