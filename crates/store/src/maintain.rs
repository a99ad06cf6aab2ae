//! Retention: what is removed by age, and the partitions of what is to come.
//!
//! Everything here may run beside workers: locks are waited for shortly and asked for again, rows go in
//! small batches, and a partition is detached without stopping those who write to its neighbours.

use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, PgPool, Postgres};
use uuid::Uuid;

use crate::usage::added;
use crate::{Error, Result, Store};

/// Rows that one statement removes.
const BATCH: i64 = 1_000;

/// How often a lock is asked for.
const TRIES: u32 = 20;

/// How long to wait before a lock is asked for again.
const PAUSE: Duration = Duration::from_millis(500);

/// The partitioned tables, each with the rows that once held its bodies.
const BODIES: [&str; 2] = ["trace_bodies", "attempt_bodies"];

/// How long things are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Payloads, requests and replies. They go by the week in which they were stored.
    pub bodies: Duration,
    /// Messages that were sent.
    pub outbox: Duration,
    /// Dead letters that are settled.
    pub dead_letters: Duration,
    /// Sums of what calls took, and alerts.
    pub usage: Duration,
    /// Who asked the desk for what, and sessions that are over.
    pub access_log: Duration,
    /// Pages of which all items are closed, with what was told about them.
    pub notifications: Duration,
}

/// Something that is over its age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expired {
    /// A partition of bodies, such as `attempt_bodies_20260105`.
    Partition(String),
    /// Rows of a table.
    Rows {
        /// Which.
        table: &'static str,
        /// How many.
        count: u64,
    },
}

/// Rows that are removed in batches: what they are called, which rows they are, and what is done to them.
struct Sweep {
    table: &'static str,
    count: &'static str,
    remove: &'static str,
}

const TRACE_ROWS: Sweep = Sweep {
    table: "traces (payload in the row)",
    count: "select count(*) from groundcrew.trace_rows where payload is not null and received_at < $1",
    remove: "update groundcrew.trace_rows set payload = null, body_removed_at = now()
        where id in (
            select id from groundcrew.trace_rows where payload is not null and received_at < $1
            order by received_at limit $2 for update skip locked
        )",
};

const ATTEMPT_ROWS: Sweep = Sweep {
    table: "attempts (bodies in the row)",
    count: "select count(*) from groundcrew.attempt_rows where request is not null and started_at < $1",
    remove: "update groundcrew.attempt_rows as stored
        set request = null, raw_reply = null, content = null, content_raw = null, body_removed_at = now()
        from (
            select audit_id, unit, number from groundcrew.attempt_rows
            where request is not null and started_at < $1
            order by started_at limit $2 for update skip locked
        ) as old
        where (stored.audit_id, stored.unit, stored.number) = (old.audit_id, old.unit, old.number)",
};

const GATE_RESPONSES: Sweep = Sweep {
    table: "gate_calls (responses)",
    count: "select count(*) from groundcrew.gate_calls where response is not null and received_at < $1",
    remove: "update groundcrew.gate_calls set response = null where id in (
            select id from groundcrew.gate_calls where response is not null and received_at < $1
            limit $2 for update skip locked
        )",
};

const OUTBOX: Sweep = Sweep {
    table: "outbox",
    count: "select count(*) from groundcrew.outbox where sent_at is not null and created_at < $1 and sent_at < $1",
    remove: "delete from groundcrew.outbox where id in (
            select id from groundcrew.outbox
            where sent_at is not null and created_at < $1 and sent_at < $1
            limit $2 for update skip locked
        )",
};

const DEAD_LETTERS: Sweep = Sweep {
    table: "dead_letters",
    count: "select count(*) from groundcrew.dead_letters where status <> 'open' and settled_at < $1",
    remove: "delete from groundcrew.dead_letters where id in (
            select id from groundcrew.dead_letters where status <> 'open' and settled_at < $1
            limit $2 for update skip locked
        )",
};

const RESERVATIONS: Sweep = Sweep {
    table: "reservations",
    count: "select count(*) from groundcrew.reservations where expires_at < $1",
    remove: "delete from groundcrew.reservations where (project, day, worker) in (
            select project, day, worker from groundcrew.reservations where expires_at < $1
            limit $2 for update skip locked
        )",
};

const WORKERS: Sweep = Sweep {
    table: "workers",
    count: "select count(*) from groundcrew.workers where seen_at < $1",
    remove: "delete from groundcrew.workers where id in (
            select id from groundcrew.workers where seen_at < $1 limit $2 for update skip locked
        )",
};

const ALERTS: Sweep = Sweep {
    table: "alerts",
    count: "select count(*) from groundcrew.alerts where raised_at < $1",
    remove: "delete from groundcrew.alerts where id in (
            select id from groundcrew.alerts where raised_at < $1 limit $2 for update skip locked
        )",
};

const USAGE: Sweep = Sweep {
    table: "usage",
    count: "select count(*) from groundcrew.usage where day < $1::date",
    remove: "delete from groundcrew.usage where ctid in (
            select ctid from groundcrew.usage where day < $1::date limit $2 for update skip locked
        )",
};

// The numbers rise with time, so the oldest are found without reading all.
const ACCESS_LOG: Sweep = Sweep {
    table: "access_log",
    count: "select count(*) from groundcrew.access_log where at < $1",
    remove: "delete from groundcrew.access_log where id in (
            select id from groundcrew.access_log where at < $1 order by id limit $2 for update skip locked
        )",
};

const SESSIONS: Sweep = Sweep {
    table: "desk_sessions",
    count: "select count(*) from groundcrew.desk_sessions where expires_at < $1",
    remove: "delete from groundcrew.desk_sessions where hash in (
            select hash from groundcrew.desk_sessions where expires_at < $1 limit $2 for update skip locked
        )",
};

// A page goes with all that belongs to it. It stays while something about it is to be told, or one of its items waits,
// so that nobody is told twice.
const NOTIFICATIONS: Sweep = Sweep {
    table: "notification_pages",
    count: "select count(*) from groundcrew.notification_pages as page
        where page.resolved_at < $1 and not exists (
            select from groundcrew.notifications as told
            where told.page_id = page.id and (told.state = 'pending' or told.settled_at >= $1)
        )",
    remove: "with gone as (
            select page.id from groundcrew.notification_pages as page
            where page.resolved_at < $1 and not exists (
                select from groundcrew.notifications as told
                where told.page_id = page.id and (told.state = 'pending' or told.settled_at >= $1)
            )
            limit $2 for update skip locked
        ), tries as (
            delete from groundcrew.notification_tries where notification_id in (
                select told.id from groundcrew.notifications as told join gone on gone.id = told.page_id
            )
        ), told as (
            delete from groundcrew.notifications where page_id in (select id from gone)
        ), items as (
            delete from groundcrew.notification_items where page_id in (select id from gone)
        )
        delete from groundcrew.notification_pages where id in (select id from gone)",
};

impl Store {
    /// Makes the partitions of this week and of the weeks to come. Gives how many were missing.
    pub async fn make_partitions(&self) -> Result<i32> {
        self.run(|pool| async move {
            sqlx::query_scalar("select groundcrew.make_partitions()")
                .fetch_one(&pool)
                .await
                .map_err(Error::cannot("make partitions"))
        })
        .await
    }

    /// What [`Store::maintain`] would remove. Changes nothing.
    pub async fn expired(&self, retention: Retention, now: DateTime<Utc>) -> Result<Vec<Expired>> {
        let cannot = Error::cannot("look for what is over its age");
        let mut expired = Vec::new();
        for parent in BODIES {
            let old =
                old_partitions(self.pool(), parent, before(now, retention.bodies)).await.map_err(&cannot)?;
            expired.extend(old.into_iter().map(|partition| Expired::Partition(partition.name)));
        }
        for (sweep, cutoff) in sweeps(retention, now) {
            let count: i64 =
                sqlx::query_scalar(sweep.count).bind(cutoff).fetch_one(self.pool()).await.map_err(&cannot)?;
            expired
                .push(Expired::Rows { table: sweep.table, count: u64::try_from(count).unwrap_or_default() });
        }
        expired.retain(|expired| !matches!(expired, Expired::Rows { count: 0, .. }));
        Ok(expired)
    }

    /// Makes partitions, and removes what is over its age. `done` is told of each thing that was removed.
    ///
    /// May be interrupted and repeated: it goes on where it was.
    ///
    /// # Errors
    /// The first thing that could not be done, after it was tried for a while.
    pub async fn maintain(
        &self,
        retention: Retention,
        now: DateTime<Utc>,
        mut done: impl FnMut(Expired),
    ) -> Result<()> {
        self.make_partitions().await?;
        for parent in BODIES {
            let cutoff = before(now, retention.bodies);
            let old = old_partitions(self.pool(), parent, cutoff)
                .await
                .map_err(Error::cannot("list partitions"))?;
            for partition in old {
                let name = partition.name.clone();
                self.run(move |pool| async move { drop_partition(&pool, parent, &partition).await }).await?;
                done(Expired::Partition(name));
            }
        }
        for (sweep, cutoff) in sweeps(retention, now) {
            let mut count = 0;
            loop {
                let remove = sweep.remove;
                let removed =
                    self.run(move |pool| async move { remove_batch(&pool, remove, cutoff).await }).await?;
                count += removed;
                // A row that somebody holds is left for the next time.
                if removed == 0 {
                    break;
                }
            }
            if count > 0 {
                done(Expired::Rows { table: sweep.table, count });
            }
        }
        self.add_up_usage(now).await
    }

    /// Sums of days that are over become one row each: nobody writes to them any more.
    async fn add_up_usage(&self, now: DateTime<Utc>) -> Result<()> {
        let before = now.date_naive().checked_sub_days(Days::new(2)).unwrap_or_default();
        self.run(move |pool| async move {
            sqlx::query(concat!(
                "with old as (
                        delete from groundcrew.usage where day < $1 and worker <> $2 returning *
                    )
                    insert into groundcrew.usage (project, day, currency, worker, slot, calls, replies,
                        prompt_tokens, completion_tokens, replies_without_tokens, cost_micros)
                    select project, day, currency, $2, 0, sum(calls), sum(replies),
                        least(sum(prompt_tokens), 9223372036854775807),
                        least(sum(completion_tokens), 9223372036854775807),
                        sum(replies_without_tokens),
                        case when sum(cost_micros) > 9223372036854775807 then 9223372036854775807
                            else sum(cost_micros) end
                    from old group by project, day, currency
                    on conflict on constraint usage_pkey do update set ",
                added!()
            ))
            .bind(before)
            .bind(Uuid::nil())
            .execute(&pool)
            .await
            .map_err(Error::cannot("add up usage"))?;
            Ok(())
        })
        .await
    }
}

/// What is removed row by row, with the moment before which it is.
fn sweeps(retention: Retention, now: DateTime<Utc>) -> [(&'static Sweep, DateTime<Utc>); 12] {
    let bodies = before(now, retention.bodies);
    let usage = before(now, retention.usage);
    [
        (&TRACE_ROWS, bodies),
        (&ATTEMPT_ROWS, bodies),
        (&GATE_RESPONSES, bodies),
        (&OUTBOX, before(now, retention.outbox)),
        (&DEAD_LETTERS, before(now, retention.dead_letters)),
        (&RESERVATIONS, before(now, Duration::from_secs(3 * 86_400))),
        (&WORKERS, before(now, Duration::from_secs(3600))),
        (&ALERTS, usage),
        (&USAGE, usage),
        (&ACCESS_LOG, before(now, retention.access_log)),
        (&SESSIONS, before(now, retention.access_log)),
        (&NOTIFICATIONS, before(now, retention.notifications)),
    ]
}

fn before(now: DateTime<Utc>, age: Duration) -> DateTime<Utc> {
    chrono::Duration::from_std(age)
        .ok()
        .and_then(|age| now.checked_sub_signed(age))
        .unwrap_or(DateTime::UNIX_EPOCH)
}

async fn remove_batch(pool: &PgPool, sql: &'static str, cutoff: DateTime<Utc>) -> Result<u64> {
    let done = sqlx::query(sql)
        .bind(cutoff)
        .bind(BATCH)
        .execute(pool)
        .await
        .map_err(Error::cannot("remove what is over its age"))?;
    Ok(done.rows_affected())
}

/// A week of bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Partition {
    name: String,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Attached,
    /// Somebody was interrupted while detaching it.
    Detaching,
    /// A table of its own, to be dropped.
    Detached,
}

impl Partition {
    /// The week is in the name: `trace_bodies_20260105`.
    fn read(parent: &str, name: &str, state: State) -> Option<Self> {
        let date = name.strip_prefix(parent)?.strip_prefix('_')?;
        let first = NaiveDate::parse_from_str(date, "%Y%m%d").ok()?;
        let from = first.and_time(NaiveTime::MIN).and_utc();
        let until = from.checked_add_days(Days::new(7))?;
        Some(Self { name: name.to_owned(), from, until, state })
    }
}

/// Partitions of which all is older, the oldest first; those as well that are no longer attached.
async fn old_partitions(
    pool: &PgPool,
    parent: &str,
    cutoff: DateTime<Utc>,
) -> Result<Vec<Partition>, sqlx::Error> {
    let tables: Vec<(String, Option<bool>)> = sqlx::query_as(
        "select relation.relname::text, parts.inhdetachpending
        from pg_class as relation
        left join pg_inherits as parts on parts.inhrelid = relation.oid
        where relation.relnamespace = 'groundcrew'::regnamespace and relation.relkind = 'r'
            and starts_with(relation.relname::text, $1 || '_')
        order by relation.relname",
    )
    .bind(parent)
    .fetch_all(pool)
    .await?;
    let partitions = tables.iter().filter_map(|(name, pending)| {
        let state = match pending {
            None => State::Detached,
            Some(true) => State::Detaching,
            Some(false) => State::Attached,
        };
        Partition::read(parent, name, state)
    });
    Ok(partitions.filter(|partition| partition.until <= cutoff).collect())
}

/// Takes a partition out and drops it, and writes down that it was there.
async fn drop_partition(pool: &PgPool, parent: &'static str, partition: &Partition) -> Result<()> {
    let cannot = Error::cannot("drop a partition");
    let mut connection = pool.acquire().await.map_err(&cannot)?;
    let name = &partition.name;
    // Names come from the catalogue and hold a known word and digits only.
    match partition.state {
        State::Attached => {
            let detach =
                format!("alter table groundcrew.{parent} detach partition groundcrew.{name} concurrently");
            let finish =
                format!("alter table groundcrew.{parent} detach partition groundcrew.{name} finalize");
            if let Err(error) = patiently(&mut connection, &detach).await {
                // Its first half may be done; then only the second can be.
                if patiently(&mut connection, &finish).await.is_err() {
                    return Err(cannot(error));
                }
            }
        }
        State::Detaching => {
            let finish =
                format!("alter table groundcrew.{parent} detach partition groundcrew.{name} finalize");
            patiently(&mut connection, &finish).await.map_err(&cannot)?;
        }
        State::Detached => {}
    }
    sqlx::query(
        "insert into groundcrew.body_removals (body, stored_from, stored_until, removed_at)
        values ($1, $2, $3, now()) on conflict on constraint body_removals_pkey do nothing",
    )
    .bind(parent)
    .bind(partition.from)
    .bind(partition.until)
    .execute(&mut *connection)
    .await
    .map_err(&cannot)?;
    patiently(&mut connection, &format!("drop table groundcrew.{name}")).await.map_err(&cannot)
}

/// Runs a statement that needs a lock, and gives way to others that want it.
async fn patiently(connection: &mut PoolConnection<Postgres>, sql: &str) -> Result<(), sqlx::Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        sqlx::raw_sql("set lock_timeout = '1s'").execute(&mut **connection).await?;
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut **connection).await;
        sqlx::raw_sql("reset lock_timeout").execute(&mut **connection).await?;
        match done {
            Ok(_) => return Ok(()),
            Err(error) if tries < TRIES && is_busy(&error) => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}

/// Whether somebody else holds what is needed.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| ["55P03", "40P01"].contains(&code.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_says_which_week_it_is_for() {
        let read = |name| Partition::read("trace_bodies", name, State::Attached);
        let partition = read("trace_bodies_20260105").unwrap();
        assert_eq!(partition.from.to_rfc3339(), "2026-01-05T00:00:00+00:00");
        assert_eq!(partition.until.to_rfc3339(), "2026-01-12T00:00:00+00:00");
        assert_eq!(read("trace_bodies_pkey"), None);
        assert_eq!(read("attempt_bodies_20260105"), None);
    }

    #[test]
    fn an_age_beyond_all_time_removes_nothing() {
        assert_eq!(before(Utc::now(), Duration::MAX), DateTime::UNIX_EPOCH);
    }
}
