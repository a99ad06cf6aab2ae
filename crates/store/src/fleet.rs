//! What operators say to all workers, what workers say of themselves, and what sampling left out.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use uuid::Uuid;

use crate::text::{clean, clean_some};
use crate::{Error, Result, Store};

/// What holds for the whole fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct Fleet {
    /// Whether workers shall take no deliveries.
    pub paused: bool,
    /// Why, as the operator said.
    pub reason: Option<String>,
    /// Who said so.
    pub changed_by: Option<String>,
    /// When.
    pub changed_at: DateTime<Utc>,
}

/// A worker, as it reports itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct WorkerReport {
    /// New with each start.
    pub id: Uuid,
    /// The host's name.
    pub host: String,
    /// Its process id there.
    pub process_id: i64,
    /// Version of the program.
    pub version: String,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// Whether it takes deliveries: `full`, `probe`, `judge_unavailable`, `paused` or `stopping`.
    pub flow: String,
    /// Deliveries of the urgent lane in work.
    pub in_work_urgent: i64,
    /// Of the normal lane.
    pub in_work_normal: i64,
    /// Of the bulk lane.
    pub in_work_bulk: i64,
    /// When the last message that it took from the urgent lane was published.
    pub taken_urgent: Option<DateTime<Utc>>,
    /// From the normal lane.
    pub taken_normal: Option<DateTime<Utc>>,
    /// From the bulk lane.
    pub taken_bulk: Option<DateTime<Utc>>,
}

/// Traces of one project and day that were left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledOut {
    /// The producer's project.
    pub project: String,
    /// The day in UTC.
    pub day: NaiveDate,
    /// How many more.
    pub traces: u64,
}

impl Store {
    /// What holds for the fleet now.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn fleet(&self) -> Result<Fleet> {
        sqlx::query_as("select paused, reason, changed_by, changed_at from groundcrew.fleet")
            .fetch_one(self.pool())
            .await
            .map_err(Error::cannot("read the state of the fleet"))
    }

    /// Pauses or resumes the fleet. Returns whether that changed anything.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn set_paused(&self, paused: bool, reason: Option<&str>, by: &str) -> Result<bool> {
        let (reason, by) = (clean_some(reason), clean(by));
        self.run(move |pool| async move {
            let changed = sqlx::query(
                "update groundcrew.fleet set paused = $1, reason = $2, changed_by = $3, changed_at = now()
                where paused <> $1",
            )
            .bind(paused)
            .bind(reason)
            .bind(by)
            .execute(&pool)
            .await
            .map_err(Error::cannot("pause or resume the fleet"))?;
            Ok(changed.rows_affected() > 0)
        })
        .await
    }

    /// Says that a worker runs. Those that were silent for long are removed by [`Store::maintain`].
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn report_worker(&self, report: WorkerReport) -> Result<()> {
        self.run(move |pool| async move {
            sqlx::query(
                "insert into groundcrew.workers (id, host, process_id, version, started_at, seen_at, flow,
                    in_work_urgent, in_work_normal, in_work_bulk, taken_urgent, taken_normal, taken_bulk)
                values ($1, $2, $3, $4, $5, now(), $6, $7, $8, $9, $10, $11, $12)
                on conflict (id) do update set seen_at = excluded.seen_at, flow = excluded.flow,
                    in_work_urgent = excluded.in_work_urgent, in_work_normal = excluded.in_work_normal,
                    in_work_bulk = excluded.in_work_bulk, taken_urgent = excluded.taken_urgent,
                    taken_normal = excluded.taken_normal, taken_bulk = excluded.taken_bulk",
            )
            .bind(report.id)
            .bind(clean(&report.host))
            .bind(report.process_id)
            .bind(report.version)
            .bind(report.started_at)
            .bind(report.flow)
            .bind(report.in_work_urgent)
            .bind(report.in_work_normal)
            .bind(report.in_work_bulk)
            .bind(report.taken_urgent)
            .bind(report.taken_normal)
            .bind(report.taken_bulk)
            .execute(&pool)
            .await
            .map_err(Error::cannot("report a worker"))?;
            Ok(())
        })
        .await
    }

    /// Says that a worker has ended. A worker's role removes nothing, so the row stays until it is swept.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn forget_worker(&self, id: Uuid) -> Result<()> {
        self.run(move |pool| async move {
            sqlx::query("update groundcrew.workers set seen_at = '-infinity' where id = $1")
                .bind(id)
                .execute(&pool)
                .await
                .map_err(Error::cannot("forget a worker"))?;
            Ok(())
        })
        .await
    }

    /// Workers that reported within `silence`, the longest running first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn workers(&self, silence: Duration) -> Result<Vec<WorkerReport>> {
        sqlx::query_as(
            "select id, host, process_id, version, started_at, flow, in_work_urgent, in_work_normal,
                in_work_bulk, taken_urgent, taken_normal, taken_bulk
            from groundcrew.workers where seen_at >= now() - $1::interval order by started_at, id",
        )
        .bind(silence)
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("list the workers"))
    }

    /// Adds to what sampling left out.
    ///
    /// # Errors
    /// When the database does not answer; nothing was added then.
    pub async fn count_sampled_out(&self, counts: Vec<SampledOut>) -> Result<()> {
        if counts.is_empty() {
            return Ok(());
        }
        self.run(move |pool| async move {
            let projects: Vec<String> = counts.iter().map(|count| clean(&count.project)).collect();
            let days: Vec<NaiveDate> = counts.iter().map(|count| count.day).collect();
            let traces: Vec<i64> =
                counts.iter().map(|count| i64::try_from(count.traces).unwrap_or(i64::MAX)).collect();
            // Two names that differ only in what a text cannot hold are one here; sorted, against deadlocks.
            sqlx::query(
                "insert into groundcrew.sampled_out as kept (project, day, traces)
                select project, day, sum(traces)::bigint from unnest($1::text[], $2::date[], $3::bigint[])
                    as new (project, day, traces)
                group by project, day order by project, day
                on conflict (project, day) do update set traces = kept.traces + excluded.traces",
            )
            .bind(projects)
            .bind(days)
            .bind(traces)
            .execute(&pool)
            .await
            .map_err(Error::cannot("count what sampling left out"))?;
            Ok(())
        })
        .await
    }
}
