//! Lists of items, as they are asked for and shown.

use std::time::Duration;

use audit::review::List;
use chrono::{DateTime, Datelike as _, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::review::{Assignee, QueueFilter, QueueItem, QueuePlace};

use super::Due;
use crate::access::Principal;
use crate::problem::{Problem, Refusal};
use crate::state::Desk;

/// Items on a page, unless it is asked for others.
const PAGE: u32 = 50;

/// How long a search reads before it gives what it has; the statement that it is at then ends first.
const SEARCH_BUDGET: Duration = Duration::from_millis(70);

/// The years of times that a page can end at; the database knows no times that are far from them.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;

/// At most so many.
const LARGEST_PAGE: u32 = 500;

/// What is asked for. What is empty is not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Query {
    /// `findings` (also when it is left out), `failed`, `sample` or `closed`.
    pub list: String,
    /// Only of this project.
    pub project: String,
    /// Only of this severity.
    pub severity: String,
    /// Only with this reason.
    pub reason: String,
    /// Only of this kind.
    pub kind: String,
    /// `nobody`, `me`, or a reviewer's name.
    pub assignee: String,
    /// Only where trace id, question or answer contain this.
    pub text: String,
    /// Where the page before ended: its `next`.
    pub after: String,
    /// How many, 1 to 500.
    pub limit: String,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The items.
    pub items: Vec<ItemLine>,
    /// Where the next page begins; none when there is none.
    pub next: Option<String>,
    /// Of a search by `text`: how many items were looked at. Where there is a `next`, it goes on from there, also when
    /// nothing was found so far.
    pub searched: Option<u64>,
}

/// An item in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ItemLine {
    /// The review item.
    pub review_item: String,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind.
    pub kind: String,
    /// The list it stands on.
    pub list: String,
    /// The gravest finding; none in the blind sample.
    pub severity: Option<String>,
    /// Whether somebody is paged.
    pub urgent: bool,
    /// Why people have to see it, as codes; empty in the blind sample.
    pub reasons: Vec<String>,
    /// The beginning of the question.
    pub query: String,
    /// `open`, `claimed` or `closed`.
    pub status: String,
    /// Who has it.
    pub held_by: Option<String>,
    /// The asker has given an opinion on it.
    pub opinion_given: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Until when it should be decided.
    pub due_at: DateTime<Utc>,
    /// Whether that is over.
    pub overdue: bool,
    /// When it was closed.
    pub closed_at: Option<DateTime<Utc>>,
    /// How.
    pub outcome: Option<String>,
    /// It was the practice judge.
    pub practice: bool,
}

impl ItemLine {
    fn of(item: QueueItem, asker: &str, due: Due, now: DateTime<Utc>) -> Self {
        let due_at = due.at(item.rank, item.created_at);
        let closed = item.closed_at.is_some();
        let blind = item.blind && !closed;
        Self {
            review_item: item.id.to_string(),
            project: item.project,
            trace_id: item.trace_id,
            kind: item.kind,
            list: item.list,
            severity: item.severity.filter(|_| !blind),
            urgent: item.urgent,
            reasons: if blind { Vec::new() } else { item.reason_codes },
            query: item.query.unwrap_or_default(),
            status: item.status.to_string(),
            held_by: item.claimed_by,
            opinion_given: item.opinions.iter().any(|reviewer| reviewer == asker),
            created_at: item.created_at,
            due_at,
            overdue: !closed && due_at < now,
            closed_at: item.closed_at,
            outcome: item.outcome,
            practice: item.practice,
        }
    }
}

impl Query {
    /// The list that is meant; none for closed items.
    ///
    /// # Errors
    /// When there is no such list.
    fn list(&self) -> Result<Option<List>, Refusal> {
        match self.list.as_str() {
            "" => Ok(Some(List::Findings)),
            "closed" => Ok(None),
            word => List::parse(word).map(Some).ok_or_else(|| {
                let message = format!("`{word}` is not one of: findings, failed, sample, closed");
                Refusal::unprocessable(vec![Problem::new("list", message)])
            }),
        }
    }

    fn filter(&self, asker: &Principal) -> QueueFilter {
        let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        QueueFilter {
            scope: asker.projects.clone(),
            project: some(&self.project),
            severity: some(&self.severity),
            reason: some(&self.reason),
            kind: some(&self.kind),
            assignee: match self.assignee.trim() {
                "" => None,
                "nobody" => Some(Assignee::Nobody),
                "me" => Some(Assignee::Named(asker.name.clone())),
                name => Some(Assignee::Named(name.to_owned())),
            },
            text: some(&self.text),
        }
    }

    fn limit(&self) -> Result<u32, Refusal> {
        match self.limit.trim() {
            "" => Ok(PAGE),
            text => text.parse().ok().filter(|limit| (1..=LARGEST_PAGE).contains(limit)).ok_or_else(|| {
                let message = format!("expected a number from 1 to {LARGEST_PAGE}");
                Refusal::unprocessable(vec![Problem::new("limit", message)])
            }),
        }
    }

    /// A page.
    ///
    /// # Errors
    /// What is wrong with the question; or the database's failure.
    pub(crate) async fn page(&self, desk: &Desk, asker: &Principal) -> Result<Listed, Refusal> {
        let (list, limit, filter) = (self.list()?, self.limit()?, self.filter(asker));
        let after = Some(self.after.trim()).filter(|text| !text.is_empty()).map(place).transpose()?;
        // In the blind sample nothing may be learnt by asking for it.
        let hidden = list == Some(List::Sample);
        let filter = QueueFilter {
            severity: filter.severity.filter(|_| !hidden),
            reason: filter.reason.filter(|_| !hidden),
            ..filter
        };
        let (due, now) = (desk.settings().review.due, Utc::now());
        let line = |item| ItemLine::of(item, &asker.name, due, now);
        if filter.has_text() {
            let searched = desk.store().review_search(list, &filter, after, limit, SEARCH_BUDGET).await?;
            return Ok(Listed {
                items: searched.items.into_iter().map(line).collect(),
                next: searched.until.map(written),
                searched: Some(searched.looked_at),
            });
        }
        let mut items = match list {
            Some(list) => desk.store().review_queue(list, &filter, after, limit + 1).await?,
            None => desk.store().review_closed(&filter, after, limit + 1).await?,
        };
        let more = items.len() > usize::try_from(limit).unwrap_or(usize::MAX);
        items.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let next = items.last().filter(|_| more).map(QueueItem::place).map(written);
        Ok(Listed { items: items.into_iter().map(line).collect(), next, searched: None })
    }
}

fn written(place: QueuePlace) -> String {
    format!("{}.{}.{}", place.rank, place.at.timestamp_micros(), place.id)
}

fn place(text: &str) -> Result<QueuePlace, Refusal> {
    let read = || {
        let mut parts = text.splitn(3, '.');
        let rank = parts.next()?.parse().ok()?;
        let at = DateTime::from_timestamp_micros(parts.next()?.parse().ok()?)?;
        if !YEARS.contains(&at.year()) {
            return None;
        }
        Some(QueuePlace { rank, at, id: parts.next()?.parse().ok()? })
    };
    read().ok_or_else(|| {
        Refusal::unprocessable(vec![Problem::new("after", "expected what `next` of the page before says")])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_the_database_does_not_know_are_refused() {
        let status = |at: &str| {
            let text = format!("0.{at}.00000000-0000-0000-0000-000000000000");
            place(&text).err().map(|refusal| refusal.status().as_u16())
        };
        assert_eq!(status("1780000000000000"), None);
        for at in ["-8000000000000000000", "8000000000000000000", "9223372036854775807", "x", "-1"] {
            assert_eq!(status(at), Some(422), "{at}");
        }
    }
}
