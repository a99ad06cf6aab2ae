//! Audits that have ended, with all that is needed to judge them again.

use audit::record::Attempt;
use audit::units::Cut;
use chrono::{DateTime, Utc};
use trace::Kind;
use uuid::Uuid;

use crate::lookup::attempts_of;
use crate::text::{clean_some, decompress};
use crate::{Error, Result, Store};

/// Which ended audits are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only of this project.
    pub project: Option<String>,
    /// Only of this kind.
    pub kind: Option<Kind>,
    /// Only those that ended at or after this.
    pub since: Option<DateTime<Utc>>,
    /// Only those that ended before this.
    pub until: Option<DateTime<Utc>>,
}

/// Where a page ends: the end and the id of its last audit.
pub type Place = (DateTime<Utc>, Uuid);

/// An audit that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its id.
    pub id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind, in the table's word.
    pub kind: String,
    /// The highest generation of it that there is.
    pub latest_generation: i64,
    /// How it was cut into units; none for audits from before this was kept.
    pub cut: Option<Cut>,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// The message as it came; none once it was removed by age.
    pub payload: Option<Vec<u8>>,
    /// Its attempts, by unit and number. The words of those that were removed by age are none.
    pub attempts: Vec<Attempt>,
    /// When the words of its attempts were removed; none while they are kept.
    pub body_removed_at: Option<DateTime<Utc>>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    project: String,
    trace_id: String,
    kind: String,
    latest_generation: i64,
    cut: Option<String>,
    ended_at: DateTime<Utc>,
    payload: Option<Vec<u8>>,
    payload_bytes: i64,
    body_removed_at: Option<DateTime<Utc>>,
}

const ACTION: &str = "read ended audits";

impl Store {
    /// A page of audits that a judge was asked about, those that ended last first; `after` is where the page
    /// before ended. Changes nothing.
    pub async fn recorded(&self, filter: &Filter, after: Option<Place>, limit: u32) -> Result<Vec<Recorded>> {
        let rows: Vec<Row> = sqlx::query_as(
            "select audit.id, audit.project, audit.trace_id, audit.kind, audit.cut, audit.ended_at,
                trace.payload, trace.payload_bytes,
                (
                    select max(later.generation) from groundcrew.audits as later
                    where later.project = audit.project and later.trace_id = audit.trace_id
                        and later.content_hash = audit.content_hash and later.kind = audit.kind
                ) as latest_generation,
                (
                    select max(attempt.body_removed_at) from groundcrew.attempts as attempt
                    where attempt.audit_id = audit.id
                ) as body_removed_at
            from groundcrew.audits as audit
            join groundcrew.traces as trace on trace.id = audit.trace_row
            where audit.disposition is not null and audit.attempts_total > 0
                and ($1::text is null or audit.project = $1) and ($2::text is null or audit.kind = $2)
                and ($3::timestamptz is null or audit.ended_at >= $3)
                and ($4::timestamptz is null or audit.ended_at < $4)
                and ($5::timestamptz is null or (audit.ended_at, audit.id) < ($5, $6))
            order by audit.ended_at desc, audit.id desc
            limit $7",
        )
        // Planned each time: most of the conditions are not meant.
        .persistent(false)
        .bind(clean_some(filter.project.as_deref()))
        .bind(filter.kind.map(Kind::as_str))
        .bind(filter.since)
        .bind(filter.until)
        .bind(after.map(|(ended_at, _)| ended_at))
        .bind(after.map(|(_, id)| id))
        .bind(i64::from(limit))
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot(ACTION))?;
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        let mut attempts = attempts_of(self.pool(), &ids).await?;
        rows.into_iter()
            .map(|row| {
                let attempts = attempts.remove(&row.id).unwrap_or_else(|| Ok(Vec::new()))?;
                let payload = row.payload.map(|payload| decompress(&payload, row.payload_bytes)).transpose();
                Ok(Recorded {
                    id: row.id,
                    project: row.project,
                    trace_id: row.trace_id,
                    kind: row.kind,
                    latest_generation: row.latest_generation,
                    cut: row.cut.as_deref().and_then(Cut::parse),
                    ended_at: row.ended_at,
                    payload: payload.map_err(Error::cannot_pack("decompress a stored body"))?,
                    attempts,
                    body_removed_at: row.body_removed_at,
                })
            })
            .collect()
    }
}
