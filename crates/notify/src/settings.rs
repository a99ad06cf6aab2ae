//! How notifications work.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Receiver, Rules};

/// Checked settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who is told what.
    pub rules: Rules,
    /// The receivers, by name. Every name in the rules is one of them.
    pub receivers: BTreeMap<String, Receiver>,
    /// How long the first item of a page waits for others of its kind.
    pub gather: Duration,
    /// How long items of its kind join a page after its first.
    pub window: Duration,
    /// Tries of one notification at most.
    pub max_tries: u32,
    /// The pause after the first try that failed, before jitter; each further one is twice as long.
    pub first_pause: Duration,
    /// The longest pause between two tries, also where a receiver asks for a longer one.
    pub longest_pause: Duration,
    /// How often pages are looked at when nothing hurries it.
    pub poll: Duration,
    /// Where people find the desk, without a slash at the end; none without.
    pub desk_url: Option<String>,
    /// Whether question and answer go along.
    pub include_content: bool,
}

impl Settings {
    /// Whether anybody can be told anything.
    pub fn is_configured(&self) -> bool {
        !self.receivers.is_empty() && !self.rules.is_empty()
    }
}
