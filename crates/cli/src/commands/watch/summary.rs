//! What a watch adds up to, and what to look at next.

use std::collections::BTreeMap;

use queue::{Connection, Lane, Purpose, topology};
use serde_json::{Value, json};
use store::{Bodies, Store};

use crate::config::Settings;
use crate::failure::Failure;
use crate::{services, terminal};

use super::expected::{Expected, Name};
use super::feed::Item;

/// Names of unfinished traces that are printed at most; the rest is counted.
const MOST_NAMES: usize = 20;

/// Counts of what was shown.
#[derive(Debug, Default)]
pub(super) struct Tally {
    dispositions: BTreeMap<String, usize>,
    dead_letters: usize,
    review_items: usize,
    urgent: usize,
    practice: bool,
    /// The audit that most deserves a look, with its rank.
    first: Option<(u8, String)>,
}

impl Tally {
    pub(super) fn add(&mut self, item: &Item) {
        let line = match item {
            Item::Dead(_) => {
                self.dead_letters += 1;
                return;
            }
            Item::Audit { line, .. } => line,
        };
        *self.dispositions.entry(line.disposition.clone()).or_default() += 1;
        let needs_people =
            matches!(line.disposition.as_str(), "escalated" | "unreadable" | "inconsistent" | "refused");
        self.review_items += usize::from(needs_people);
        self.urgent += usize::from(line.urgent);
        self.practice |= line.practice;
        let rank = match line.disposition.as_str() {
            "escalated" if line.urgent => 5,
            "escalated" => 4,
            "inconsistent" | "unreadable" | "refused" => 3,
            "judge_unavailable" | "over_budget" => 2,
            "flagged" | "incomplete" => 1,
            _ => 0,
        };
        if self.first.as_ref().is_none_or(|(best, _)| *best < rank) {
            self.first = Some((rank, line.id.to_string()));
        }
    }

    /// The summary for people.
    pub(super) fn lines(&self, unfinished: &[String]) -> Vec<String> {
        let mut lines = vec![String::new()];
        let audits: usize = self.dispositions.values().sum();
        lines.push(format!("{}: {}", many(audits, "audit"), counts(&self.dispositions)));
        let dead_letters = many(self.dead_letters, "dead letter");
        lines.push(format!(
            "{} for people, {} of them urgent; {dead_letters}",
            self.review_items, self.urgent
        ));
        if self.practice {
            lines.push("the practice judge has no model: its verdicts prove nothing".into());
        }
        if !unfinished.is_empty() {
            lines.push("not finished:".into());
            lines.extend(unfinished.iter().map(|line| format!("  {}", terminal::line(line))));
        }
        lines.push("look next at:".into());
        if let Some((_, id)) = &self.first {
            lines.push(format!("  groundcrew trace show {id}"));
        }
        if self.review_items > 0 {
            lines.push("  groundcrew review list".into());
        }
        if self.dead_letters > 0 {
            lines.push("  groundcrew queue dead list".into());
        }
        if !unfinished.is_empty() || audits + self.dead_letters == 0 {
            lines.push("  groundcrew queue status".into());
        }
        lines
    }

    /// The summary for machines.
    pub(super) fn json(&self, unfinished: &[String]) -> Value {
        json!({
            "event": "summary",
            "audits": self.dispositions.values().sum::<usize>(),
            "dispositions": self.dispositions,
            "review_items": self.review_items,
            "urgent": self.urgent,
            "dead_letters": self.dead_letters,
            "practice": self.practice,
            "unfinished": unfinished,
        })
    }
}

fn many(number: usize, one: &str) -> String {
    terminal::count(i64::try_from(number).unwrap_or(i64::MAX), one)
}

fn counts(dispositions: &BTreeMap<String, usize>) -> String {
    let words: Vec<String> = dispositions.iter().map(|(word, count)| format!("{count} {word}")).collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

/// Says of every trace without a result where it may be.
pub(super) async fn unfinished(
    store: &Store,
    settings: &Settings,
    expected: &Expected,
) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    let waiting: Vec<_> = expected.waiting().collect();
    for (name, kinds) in waiting.iter().take(MOST_NAMES) {
        lines.push(format!(
            "{}/{}: {}",
            name.project,
            name.trace_id,
            whereabouts(store, name, kinds.iter()).await?
        ));
    }
    if waiting.len() > MOST_NAMES {
        lines.push(format!("and {} more traces", waiting.len() - MOST_NAMES));
    }
    lines.extend(
        expected.missing_lines().map(|line| format!("line {line}, which is no trace: not a dead letter yet")),
    );
    lines.extend(queued(settings).await);
    Ok(lines)
}

async fn whereabouts(
    store: &Store,
    name: &Name,
    kinds: impl Iterator<Item = &String>,
) -> Result<String, Failure> {
    let traces = store
        .trace_show(&name.trace_id, Some(&name.project), Bodies::Without)
        .await
        .map_err(services::database)?;
    let audits: Vec<_> = traces.iter().flat_map(|trace| &trace.audits).collect();
    let words: Vec<String> = kinds
        .map(|kind| match audits.iter().rfind(|audit| audit.kind == *kind && audit.disposition.is_none()) {
            Some(audit) => {
                let last = audit.attempts.last().map(|attempt| format!(", the last one {}", attempt.class));
                format!("{kind} parked after {} attempts{}", audit.attempts_total, last.unwrap_or_default())
            }
            None => format!("{kind} not begun: still in a queue, or parked before its first call"),
        })
        .collect();
    Ok(words.join("; "))
}

/// What waits in the queues, if the broker can be asked; the watch itself does not need it.
async fn queued(settings: &Settings) -> Option<String> {
    let connection = Connection::open(settings.queue.settings.as_ref()?, Purpose::Consume).await.ok()?;
    let depths = topology::depths(&connection).await.ok()?;
    connection.close().await;
    let count = |is_meant: fn(&str) -> bool| -> u32 {
        let meant = depths.iter().filter(|depth| is_meant(&depth.queue));
        meant.filter_map(|depth| depth.counts).map(|counts| counts.ready).sum()
    };
    let waiting = count(|queue| Lane::of_queue(queue).is_some());
    let parked = count(|queue| queue.starts_with(queue::exchange::RETRY_PREFIX));
    Some(format!("in the queues: {waiting} wait for a worker, {parked} are parked in a delay"))
}
