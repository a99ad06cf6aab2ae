//! How many audits ended how.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::text::clean;
use crate::{Error, Result, Store};

/// Which audits a [`Summary`] counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Those of these traces, in every project.
    Traces(Vec<String>),
    /// Those that were opened at or after this time.
    Since(DateTime<Utc>),
    /// All.
    Everything,
}

/// How many audits ended how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// All audits.
    pub audits: i64,
    /// Those of them that have not ended.
    pub open: i64,
    /// How many ended how, by disposition; those that did not occur are left out.
    pub dispositions: BTreeMap<String, i64>,
    /// Review items made.
    pub review_items: i64,
    /// Those of them whose review has not ended.
    pub review_items_open: i64,
    /// Calls of the judge.
    pub attempts: i64,
    /// Later deliveries of ended audits.
    pub duplicates: i64,
    /// Of the same traces, dead letters that wait; of a time or of everything, all that wait.
    pub dead_letters_open: i64,
}

#[derive(sqlx::FromRow)]
struct Line {
    disposition: Option<String>,
    audits: i64,
    review_items: i64,
    review_items_open: i64,
    attempts: i64,
    duplicates: i64,
}

impl Store {
    /// Counts audits by how they ended.
    pub async fn summary(&self, scope: &Scope) -> Result<Summary> {
        let cannot = Error::cannot("count audits");
        let (traces, since) = match scope {
            Scope::Traces(ids) => (Some(ids.iter().map(|id| clean(id)).collect::<Vec<_>>()), None),
            Scope::Since(time) => (None, Some(*time)),
            Scope::Everything => (None, None),
        };
        let lines: Vec<Line> = sqlx::query_as(
            "select audit.disposition, count(*) as audits, count(item.id) as review_items,
                count(item.id) filter (where item.status <> 'closed') as review_items_open,
                sum(audit.attempts_total)::int8 as attempts, sum(audit.duplicates)::int8 as duplicates
            from groundcrew.audits as audit
            left join groundcrew.review_items as item on item.audit_id = audit.id
            where ($1::text[] is null
                    or audit.trace_row in (select id from groundcrew.traces where trace_id = any($1)))
                and ($2::timestamptz is null or audit.opened_at >= $2)
            group by audit.disposition",
        )
        .bind(&traces)
        .bind(since)
        .fetch_all(self.pool())
        .await
        .map_err(&cannot)?;
        let dead_letters_open = sqlx::query_scalar(
            "select count(*) from groundcrew.dead_letters
            where status = 'open' and ($1::text[] is null or trace_id = any($1))",
        )
        .bind(&traces)
        .fetch_one(self.pool())
        .await
        .map_err(&cannot)?;
        let empty = Summary { dead_letters_open, ..Summary::default() };
        Ok(lines.into_iter().fold(empty, add))
    }
}

fn add(mut summary: Summary, line: Line) -> Summary {
    summary.audits += line.audits;
    summary.review_items += line.review_items;
    summary.review_items_open += line.review_items_open;
    summary.attempts += line.attempts;
    summary.duplicates += line.duplicates;
    match line.disposition {
        Some(disposition) => *summary.dispositions.entry(disposition).or_default() += line.audits,
        None => summary.open += line.audits,
    }
    summary
}
