//! Looking for a text in a list.
//!
//! No index of every Postgres finds parts of words in any language: a `tsvector` knows whole words, and none of
//! Japanese; trigrams are an extension that some installations lack, and see nothing of other scripts under the locale
//! `C`. Either would be paid for by every answer that is stored, read or not. So a search reads the list in its order,
//! in short statements, stops in time, says where, and goes on there.

use std::time::{Duration, Instant};

use audit::review::List;
use chrono::{DateTime, Utc};
use sqlx::Arguments as _;
use uuid::Uuid;

use super::{QueueFilter, QueueItem, QueuePlace, Searched, listed, page};
use crate::text::{clean, clean_some};
use crate::{Error, Result, Store};

/// Items of a list that one statement looks at: about ten milliseconds.
const WINDOW: u32 = 500;

/// Where a window of a list ends, and how many items are in it: those of the inner query of [`window`].
macro_rules! window_end {
    ($which:literal, $at:literal, $order:literal) => {
        concat!(
            "select rank, ",
            $at,
            " as at, id, number from (
                select rank, ",
            $at,
            ", id, row_number() over (order by ",
            $order,
            ") as number
                from groundcrew.review_items as item
                where ",
            $which,
            " and ($1::text[] is null or project = any($1)) and ($2::text is null or project = $2)
                order by ",
            $order,
            " limit $6
            ) as numbered order by number desc limit 1"
        )
    };
}

/// Those of an inner query whose texts fit. Each text is looked up by its key: the planner would rather read all audits.
macro_rules! fitting {
    ($which:literal, $order:literal) => {
        listed!(
            concat!(
                "(
                    select looked.* from (
                        select * from groundcrew.review_items as item
                        where ",
                $which,
                " and ($1::text[] is null or item.project = any($1)) and ($2::text is null or item.project = $2)
                        order by ",
                $order,
                " limit $14
                    ) as looked
                    cross join lateral (
                        select audit.trace_row from groundcrew.audits as audit where audit.id = looked.audit_id limit 1
                    ) as audit
                    cross join lateral (
                        select from groundcrew.trace_rows as trace
                        where trace.id = audit.trace_row
                            and (looked.trace_id ilike $8 or trace.query ilike $8 or trace.answer ilike $8)
                        limit 1
                    ) as fits
                )"
            ),
            "true",
            concat!("order by ", $order, " limit $12")
        )
    };
}

/// One window of a list: those of its items that fit.
const fn window(list: Option<List>) -> &'static str {
    if list.is_some() {
        fitting!(
            "item.status <> 'closed' and item.list = $13
                and ($9::int2 is null or (item.rank, item.created_at, item.id) > ($9, $10, $11))",
            "item.rank, item.created_at, item.id"
        )
    } else {
        fitting!(
            "item.status = 'closed' and $13::text is null
                and ($9::int2 is null or item.closed_at < $10 or item.closed_at = $10 and item.id > $11)",
            "item.closed_at desc, item.id"
        )
    }
}

/// The items whose trace has exactly this id, wherever in the list they stand.
const fn of_trace(list: Option<List>) -> &'static str {
    if list.is_some() {
        listed!(
            "item.status <> 'closed' and item.list = $13 and $9::int2 is null and $10::timestamptz is null
                and $11::uuid is null and item.trace_id = $14",
            "order by item.rank, item.created_at, item.id limit $12"
        )
    } else {
        listed!(
            "item.status = 'closed' and $13::text is null and $9::int2 is null and $10::timestamptz is null
                and $11::uuid is null and item.trace_id = $14",
            "order by item.closed_at desc, item.id limit $12"
        )
    }
}

impl Store {
    /// Looks for a filter's text, in the order of the list, until there are `limit` items, the list is over, or
    /// `budget` has passed; at least one window is looked at. `list` is none for closed items; `after` is where the
    /// search before has stopped. What has the text as its trace id comes first, and at once.
    pub async fn review_search(
        &self,
        list: Option<List>,
        filter: &QueueFilter,
        mut after: Option<QueuePlace>,
        limit: u32,
        budget: Duration,
    ) -> Result<Searched> {
        let began = Instant::now();
        let mut searched = Searched { items: Vec::new(), looked_at: 0, until: None };
        let text = filter.text.as_deref().map(str::trim).unwrap_or_default();
        if after.is_none() {
            searched.items = self.of_trace(list, filter, text, limit.saturating_sub(1)).await?;
        }
        let of_trace: Vec<Uuid> = searched.items.iter().map(|item| item.id).collect();
        while let Some((end, count)) = self.window_end(list, filter, after).await? {
            let missing =
                limit.saturating_sub(u32::try_from(searched.items.len()).unwrap_or(u32::MAX)).max(1);
            let found = self.window(list, filter, after, missing).await?;
            // Full when the statement's limit was: a place after its last item is where to go on.
            let stopped_at = found.last().map(QueueItem::place).filter(|_| reaches(found.len(), missing));
            // They came first.
            searched.items.extend(found.into_iter().filter(|item| !of_trace.contains(&item.id)));
            searched.looked_at += u64::from(count);
            if stopped_at.is_some() {
                searched.until = stopped_at;
                break;
            }
            if count < WINDOW {
                break;
            }
            if began.elapsed() >= budget {
                searched.until = Some(end);
                break;
            }
            after = Some(end);
        }
        Ok(searched)
    }

    async fn of_trace(
        &self,
        list: Option<List>,
        filter: &QueueFilter,
        trace_id: &str,
        limit: u32,
    ) -> Result<Vec<QueueItem>> {
        let cannot = Error::cannot("search review items");
        let mut arguments = page(filter, None, limit, Some(list)).map_err(&cannot)?;
        arguments.add(clean(trace_id)).map_err(sqlx::Error::Encode).map_err(&cannot)?;
        sqlx::query_as_with(of_trace(list), arguments)
            .persistent(false)
            .fetch_all(self.pool())
            .await
            .map_err(&cannot)
    }

    /// The items of the next window that fit.
    async fn window(
        &self,
        list: Option<List>,
        filter: &QueueFilter,
        after: Option<QueuePlace>,
        limit: u32,
    ) -> Result<Vec<QueueItem>> {
        let cannot = Error::cannot("search review items");
        let mut arguments = page(filter, after, limit, Some(list)).map_err(&cannot)?;
        arguments.add(i64::from(WINDOW)).map_err(sqlx::Error::Encode).map_err(&cannot)?;
        sqlx::query_as_with(window(list), arguments)
            .persistent(false)
            .fetch_all(self.pool())
            .await
            .map_err(&cannot)
    }

    /// Where the next window ends, and how many items it has; none where nothing is left.
    async fn window_end(
        &self,
        list: Option<List>,
        filter: &QueueFilter,
        after: Option<QueuePlace>,
    ) -> Result<Option<(QueuePlace, u32)>> {
        let sql = if list.is_some() {
            window_end!(
                "status <> 'closed' and list = $7 and ($3::int2 is null or (rank, created_at, id) > ($3, $4, $5))",
                "created_at",
                "rank, created_at, id"
            )
        } else {
            window_end!(
                "status = 'closed' and $7::text is null
                    and ($3::int2 is null or closed_at < $4 or closed_at = $4 and id > $5)",
                "closed_at",
                "closed_at desc, id"
            )
        };
        let scope: Option<Vec<String>> =
            filter.scope.as_ref().map(|projects| projects.iter().map(|project| clean(project)).collect());
        let end: Option<(i16, DateTime<Utc>, Uuid, i64)> = sqlx::query_as(sql)
            .persistent(false)
            .bind(scope)
            .bind(clean_some(filter.project.as_deref()))
            .bind(after.map(|place| place.rank))
            .bind(after.map(|place| place.at))
            .bind(after.map(|place| place.id))
            .bind(i64::from(WINDOW))
            .bind(list.map(List::as_str))
            .fetch_optional(self.pool())
            .await
            .map_err(Error::cannot("search review items"))?;
        Ok(end.map(|(rank, at, id, count)| (QueuePlace { rank, at, id }, u32::try_from(count).unwrap_or(0))))
    }
}

fn reaches(count: usize, limit: u32) -> bool {
    u32::try_from(count).unwrap_or(u32::MAX) >= limit
}
