//! The lists of what waits.

mod search;

use audit::review::List;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::Arguments as _;
use sqlx::postgres::PgArguments;
use uuid::Uuid;

use crate::text::{clean, clean_some};
use crate::{Error, Result, ReviewStatus, Store};

/// Whose items are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignee {
    /// Nobody's: they can be taken.
    Nobody,
    /// This reviewer's.
    Named(String),
}

/// Which items are meant; what is none is not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueFilter {
    /// Only of these projects: what the asker may see.
    pub scope: Option<Vec<String>>,
    /// Only of this project.
    pub project: Option<String>,
    /// Only of this severity.
    pub severity: Option<String>,
    /// Only with this reason's code.
    pub reason: Option<String>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only of this reviewer, or nobody's.
    pub assignee: Option<Assignee>,
    /// Only where trace id, question or answer contain this, without regard to case.
    pub text: Option<String>,
}

/// What a search has found so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// The items that fit, in the order of their list.
    pub items: Vec<QueueItem>,
    /// How many items of the list were looked at.
    pub looked_at: u64,
    /// Where it has stopped; none at the end of the list.
    pub until: Option<QueuePlace>,
}

/// Where a page ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlace {
    /// Rank of its last item; of no meaning among closed items.
    pub rank: i16,
    /// When that was made, or closed.
    pub at: DateTime<Utc>,
    /// Its id.
    pub id: Uuid,
}

/// An item in a list.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct QueueItem {
    /// Its id.
    pub id: Uuid,
    /// The audit.
    pub audit_id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind.
    pub kind: String,
    /// On which list it stands.
    pub list: String,
    /// The gravest finding.
    pub severity: Option<String>,
    /// Whether somebody is paged.
    pub urgent: bool,
    /// Whether it is shown without the verdict.
    pub blind: bool,
    /// Order of urgency, 0 first.
    pub rank: i16,
    /// The codes of the reasons.
    pub reason_codes: Vec<String>,
    /// The beginning of the question.
    pub query: Option<String>,
    /// Where it stands; an item whose lease is over is open.
    #[sqlx(try_from = "String")]
    pub status: ReviewStatus,
    /// Who has it.
    pub claimed_by: Option<String>,
    /// Until when.
    pub leased_until: Option<DateTime<Utc>>,
    /// Who has given an opinion on it; the review goes on.
    pub opinions: Vec<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was closed.
    pub closed_at: Option<DateTime<Utc>>,
    /// How it ended.
    pub outcome: Option<String>,
    /// Whether the judge was the practice judge.
    pub practice: bool,
}

/// How many wait, by list and reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct ReasonCount {
    /// The list.
    pub list: String,
    /// The reason's code; none for all items of the list.
    pub reason: Option<String>,
    /// How many.
    pub items: i64,
}

/// A query over the items of a [`QueueFilter`], all or those of an inner query, whose parameters are those of [`QueueFilter::arguments`].
macro_rules! listed {
    ($which:literal, $tail:literal) => {
        listed!("groundcrew.review_items", $which, $tail)
    };
    ($items:expr, $which:literal, $tail:expr) => {
        concat!(
            "select item.id, item.audit_id, item.project, item.trace_id, item.kind, item.list, item.severity, item.urgent,
                item.blind, item.rank, item.reason_codes, left(trace.query, 400) as query,
                case when item.status = 'claimed' and item.leased_until <= now() then 'open' else item.status end as status,
                case when item.leased_until > now() then item.claimed_by end as claimed_by,
                case when item.leased_until > now() then item.leased_until end as leased_until,
                array(
                    select opinion.reviewer from groundcrew.review_opinions as opinion
                    where opinion.review_item = item.id order by opinion.number
                ) as opinions,
                item.created_at, item.closed_at, item.outcome, audit.practice
            from ", $items, " as item
            join groundcrew.audits as audit on audit.id = item.audit_id
            join groundcrew.trace_rows as trace on trace.id = audit.trace_row
            where ", $which, "
                and ($1::text[] is null or item.project = any($1)) and ($2::text is null or item.project = $2)
                and ($3::text is null or item.severity = $3) and ($4::text is null or $4 = any(item.reason_codes))
                and ($5::text is null or item.kind = $5)
                and ($6::text is null or item.claimed_by = $6 and item.leased_until > now() or item.closed_by = $6)
                and (not $7::boolean or item.claimed_by is null or item.leased_until <= now())
                and ($8::text is null or item.trace_id ilike $8 or trace.query ilike $8 or trace.answer ilike $8) ",
            $tail
        )
    };
}

impl QueueItem {
    /// Where a page that ends with it ends.
    pub fn place(&self) -> QueuePlace {
        QueuePlace { rank: self.rank, at: self.closed_at.unwrap_or(self.created_at), id: self.id }
    }
}

impl QueueFilter {
    /// Whether a text is looked for.
    pub fn has_text(&self) -> bool {
        self.text.as_deref().is_some_and(|text| !text.trim().is_empty())
    }

    fn arguments(&self) -> Result<PgArguments, sqlx::Error> {
        let mut arguments = PgArguments::default();
        let scope: Option<Vec<String>> =
            self.scope.as_ref().map(|projects| projects.iter().map(|project| clean(project)).collect());
        arguments.add(scope).map_err(sqlx::Error::Encode)?;
        let (named, nobody) = match &self.assignee {
            Some(Assignee::Named(name)) => (Some(name.as_str()), false),
            Some(Assignee::Nobody) => (None, true),
            None => (None, false),
        };
        let mut add = |text: Option<&str>| arguments.add(clean_some(text)).map_err(sqlx::Error::Encode);
        add(self.project.as_deref())?;
        add(self.severity.as_deref())?;
        add(self.reason.as_deref())?;
        add(self.kind.as_deref())?;
        add(named)?;
        arguments.add(nobody).map_err(sqlx::Error::Encode)?;
        let text = self.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        arguments.add(clean_some(text).map(|text| pattern(&text))).map_err(sqlx::Error::Encode)?;
        Ok(arguments)
    }
}

/// What `ilike` finds the words anywhere with.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

impl Store {
    /// A page of a list, the most urgent first, then the oldest; `after` is where the page before ended.
    pub async fn review_queue(
        &self,
        list: List,
        filter: &QueueFilter,
        after: Option<QueuePlace>,
        limit: u32,
    ) -> Result<Vec<QueueItem>> {
        let cannot = Error::cannot("list review items");
        let arguments = page(filter, after, limit, Some(Some(list))).map_err(&cannot)?;
        sqlx::query_as_with(
            listed!(
                "item.status <> 'closed' and item.list = $13",
                "and ($9::int2 is null or (item.rank, item.created_at, item.id) > ($9, $10, $11))
                order by item.rank, item.created_at, item.id limit $12"
            ),
            arguments,
        )
        // Planned each time: most of the conditions are not meant.
        .persistent(false)
        .fetch_all(self.pool())
        .await
        .map_err(&cannot)
    }

    /// A page of closed items, the last closed first.
    pub async fn review_closed(
        &self,
        filter: &QueueFilter,
        after: Option<QueuePlace>,
        limit: u32,
    ) -> Result<Vec<QueueItem>> {
        let cannot = Error::cannot("list closed review items");
        let arguments = page(filter, after, limit, None).map_err(&cannot)?;
        sqlx::query_as_with(
            listed!(
                "item.status = 'closed'",
                "and ($9::int2 is null or item.closed_at < $10 or item.closed_at = $10 and item.id > $11)
                order by item.closed_at desc, item.id limit $12"
            ),
            arguments,
        )
        .persistent(false)
        .fetch_all(self.pool())
        .await
        .map_err(&cannot)
    }

    /// How many items wait, by list and reason. Blind items are counted without a reason.
    pub async fn review_counts(&self, scope: Option<&[String]>) -> Result<Vec<ReasonCount>> {
        let scope: Option<Vec<String>> =
            scope.map(|projects| projects.iter().map(|project| clean(project)).collect());
        sqlx::query_as(
            "select list, reason, sum(items)::int8 as items
            from (
                select list, reason_codes, count(*) as items from groundcrew.review_items
                where status <> 'closed' and ($1::text[] is null or project = any($1))
                group by list, reason_codes
            ) as counted
            cross join lateral (
                select null as reason
                union all
                select unnest(reason_codes) where list <> 'sample'
            ) as reasons
            group by list, reason order by list, items desc, reason",
        )
        .persistent(false)
        .bind(scope)
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("count review items"))
    }

    /// The projects that have items waiting, and that the asker may see.
    pub async fn review_projects(&self, scope: Option<&[String]>) -> Result<Vec<String>> {
        let scope: Option<Vec<String>> =
            scope.map(|projects| projects.iter().map(|project| clean(project)).collect());
        // From one project to the next by the index, instead of reading all that waits.
        sqlx::query_scalar(
            "with recursive each as (
                (
                    select project from groundcrew.review_items where status <> 'closed'
                    order by project limit 1
                )
                union all
                select (
                    select next.project from groundcrew.review_items as next
                    where next.status <> 'closed' and next.project > each.project
                    order by next.project limit 1
                ) from each where each.project is not null
            )
            select project from each
            where project is not null and ($1::text[] is null or project = any($1)) limit 500",
        )
        .persistent(false)
        .bind(scope)
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("list projects with review items"))
    }
}

fn page(
    filter: &QueueFilter,
    after: Option<QueuePlace>,
    limit: u32,
    list: Option<Option<List>>,
) -> Result<PgArguments, sqlx::Error> {
    let mut arguments = filter.arguments()?;
    arguments.add(after.map(|place| place.rank)).map_err(sqlx::Error::Encode)?;
    arguments.add(after.map(|place| place.at)).map_err(sqlx::Error::Encode)?;
    arguments.add(after.map(|place| place.id)).map_err(sqlx::Error::Encode)?;
    arguments.add(i64::from(limit)).map_err(sqlx::Error::Encode)?;
    if let Some(list) = list {
        arguments.add(list.map(List::as_str)).map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

use listed;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_patterns_stand_for_themselves() {
        assert_eq!(pattern(r"50%_\"), r"%50\%\_\\%");
    }
}
