//! New rows, each once.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use store::{AuditLine, Bodies, DeadFilter, DeadLetterView, DeadStatus, Store, TraceView};
use uuid::Uuid;

use crate::commands::dead::{dead_reason, first_problem};
use crate::commands::review::reasons;
use crate::failure::Failure;
use crate::{services, terminal};

/// How far back is looked each time: a transaction that took long shows its row late, under an earlier time.
const OVERLAP: TimeDelta = TimeDelta::seconds(10);

/// Rows per look.
const PAGE: u32 = 500;

/// Columns for project and trace id; longer names push the rest to the right.
const NAME: usize = 32;

/// Something that ended.
#[derive(Debug)]
pub(super) enum Item {
    /// An audit, and why it ended so.
    Audit { line: Box<AuditLine>, reason: String },
    /// A message that was put aside.
    Dead(Box<DeadLetterView>),
}

impl Item {
    pub(super) fn dead(letter: DeadLetterView) -> Self {
        Self::Dead(Box::new(letter))
    }

    /// The ended audits of a stored trace.
    pub(super) fn ended(trace: &TraceView) -> Vec<Self> {
        let item = |audit: &store::AuditView| {
            let line = AuditLine {
                id: audit.id,
                project: trace.project.clone(),
                trace_id: trace.trace_id.clone(),
                kind: audit.kind.clone(),
                generation: audit.generation,
                disposition: audit.disposition.clone()?,
                decision: audit.decision.clone(),
                severity: audit.severity.clone(),
                score: audit.score,
                claims_total: audit.claims_total,
                claims_grounded: audit.claims_grounded,
                judge: audit.judge.clone(),
                practice: audit.practice,
                urgent: audit.urgent,
                ended_at: audit.ended_at?,
            };
            Some(Self::Audit { reason: reason(audit, &line), line: Box::new(line) })
        };
        trace.audits.iter().filter_map(item).collect()
    }

    pub(super) fn time(&self) -> DateTime<Utc> {
        match self {
            Self::Audit { line, .. } => line.ended_at,
            Self::Dead(letter) => letter.last_seen_at,
        }
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Audit { line, reason } => {
                let name = terminal::line(&format!("{}/{}", line.project, line.trace_id));
                let score = line.score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}"));
                let decision = line.decision.as_deref().unwrap_or("-");
                let urgent = if line.urgent { "urgent: " } else { "" };
                format!(
                    "{:<17} {} {:<12} {score:>5} {decision:<7} {urgent}{}",
                    line.disposition,
                    terminal::pad(&name, NAME),
                    line.kind,
                    terminal::line(reason)
                )
            }
            Self::Dead(letter) => {
                let name = match (&letter.project, &letter.trace_id) {
                    (None, None) => "(unnamed)".to_owned(),
                    (project, trace_id) => {
                        format!(
                            "{}/{}",
                            project.as_deref().unwrap_or("?"),
                            trace_id.as_deref().unwrap_or("?")
                        )
                    }
                };
                let name = terminal::pad(&terminal::line(&name), NAME);
                format!(
                    "{:<17} {name} {}: {}",
                    "dead letter",
                    letter.source,
                    terminal::line(&dead_reason(letter))
                )
            }
        }
    }

    /// The same for machines.
    pub(super) fn json(&self) -> Value {
        let mut value = match self {
            Self::Audit { line, .. } => json!(line),
            Self::Dead(letter) => json!(letter),
        };
        match self {
            Self::Audit { reason, .. } => {
                value["event"] = "result".into();
                value["reason"] = reason.as_str().into();
            }
            Self::Dead(_) => value["event"] = "dead_letter".into(),
        }
        value
    }
}

/// Why an audit ended as it did, in words.
fn reason(audit: &store::AuditView, line: &AuditLine) -> String {
    let why = reasons(&audit.reasons);
    if !why.is_empty() {
        return why;
    }
    let problems = audit.trace_problems.as_array().map(Vec::as_slice).unwrap_or_default();
    first_problem(problems).unwrap_or_else(|| counts(line))
}

/// What the claims add up to.
fn counts(line: &AuditLine) -> String {
    match (line.claims_grounded, line.claims_total) {
        (_, Some(0)) => "no claims".into(),
        (Some(grounded), Some(total)) => format!("{grounded} of {total} claims grounded"),
        _ => String::new(),
    }
}

/// Follows the tables.
#[derive(Debug)]
pub(super) struct Feed {
    /// Nothing before this is shown.
    since: DateTime<Utc>,
    /// The latest end that was seen.
    latest: DateTime<Utc>,
    /// What was shown, with its time: a dead letter that comes again is news.
    seen: HashMap<Uuid, DateTime<Utc>>,
}

impl Feed {
    pub(super) fn new(now: DateTime<Utc>) -> Self {
        // The clocks of worker and watcher may differ a little.
        let since = now - OVERLAP;
        Self { since, latest: since, seen: HashMap::new() }
    }

    /// Whether an item was not shown yet; it counts as shown from now on.
    pub(super) fn is_new(&mut self, item: &Item) -> bool {
        let id = match item {
            Item::Audit { line, .. } => line.id,
            Item::Dead(letter) => letter.id,
        };
        self.seen.insert(id, item.time()) != Some(item.time())
    }

    /// What has come since the last look, oldest first.
    pub(super) async fn next(&mut self, store: &Store) -> Result<Vec<Item>, Failure> {
        let mut items = self.audits(store).await?;
        let open = DeadFilter { status: Some(DeadStatus::Open), ..DeadFilter::default() };
        let dead = store.dead_list(&open, PAGE).await.map_err(services::database)?;
        items.extend(dead.into_iter().filter(|letter| self.since <= letter.last_seen_at).map(Item::dead));
        items.retain(|item| self.is_new(item));
        items.sort_by_key(Item::time);
        self.latest = items.iter().map(Item::time).fold(self.latest, DateTime::max);
        let horizon = self.latest - OVERLAP * 2;
        self.seen.retain(|_, time| horizon <= *time || self.since <= *time);
        for item in &mut items {
            explain(store, item).await?;
        }
        Ok(items)
    }

    async fn audits(&self, store: &Store) -> Result<Vec<Item>, Failure> {
        let mut items = Vec::new();
        let mut after = (self.since.max(self.latest - OVERLAP), Uuid::nil());
        loop {
            let page = store.recent_audits(Some(after), PAGE).await.map_err(services::database)?;
            let is_last = page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
            if let Some(last) = page.last() {
                after = (last.ended_at, last.id);
            }
            items.extend(
                page.into_iter().map(|line| Item::Audit { reason: counts(&line), line: Box::new(line) }),
            );
            if is_last {
                return Ok(items);
            }
        }
    }
}

/// Looks up why, where the counts of the line do not say it.
async fn explain(store: &Store, item: &mut Item) -> Result<(), Failure> {
    let Item::Audit { line, reason: why } = item else { return Ok(()) };
    if matches!(line.disposition.as_str(), "passed" | "flagged" | "no_claims") {
        return Ok(());
    }
    let traces =
        store.trace_show(&line.id.to_string(), None, Bodies::Without).await.map_err(services::database)?;
    let found = traces.iter().flat_map(|trace| &trace.audits).find(|audit| audit.id == line.id);
    if let Some(audit) = found {
        *why = reason(audit, line);
    }
    Ok(())
}
