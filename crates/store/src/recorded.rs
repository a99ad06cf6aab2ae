//! Audits that have ended, with all that is needed to judge them again.

use audit::record::Attempt;
use audit::units::Cut;
use chrono::{DateTime, Utc};
use serde::Serialize;
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
    /// Only the first run of the last generation of each.
    pub is_latest: bool,
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
    /// Its generation.
    pub generation: u32,
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
    generation: i64,
    cut: Option<String>,
    ended_at: DateTime<Utc>,
    payload: Option<Vec<u8>>,
    payload_bytes: i64,
    body_removed_at: Option<DateTime<Utc>>,
}

/// An audit that was made again, beside the generation before it.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct Generations {
    /// The audit.
    pub audit_id: Uuid,
    /// The earlier one.
    pub earlier_audit_id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind.
    pub kind: String,
    /// The generation of the earlier audit.
    pub earlier_generation: i64,
    /// The generation.
    pub generation: i64,
    /// The earlier version of the prompt.
    pub earlier_prompt_version: String,
    /// The version of the prompt.
    pub prompt_version: String,
    /// The earlier judge profile.
    pub earlier_judge: String,
    /// The judge profile.
    pub judge: String,
    /// How the earlier audit ended.
    pub earlier_disposition: String,
    /// How it ended.
    pub disposition: String,
    /// What the producer should have done.
    pub earlier_decision: Option<String>,
    /// What the producer should do.
    pub decision: Option<String>,
    /// The earlier score.
    pub earlier_score: Option<f64>,
    /// The score.
    pub score: Option<f64>,
    /// Disposition and decision are the same.
    pub is_same: bool,
    /// A practice judge was among the two.
    pub practice: bool,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
}

const ACTION: &str = "read ended audits";

impl Store {
    /// A page of audits that a judge was asked about, those that ended last first; `after` is where the page
    /// before ended. Changes nothing.
    pub async fn recorded(&self, filter: &Filter, after: Option<Place>, limit: u32) -> Result<Vec<Recorded>> {
        let rows: Vec<Row> = sqlx::query_as(
            "select audit.id, audit.project, audit.trace_id, audit.kind, audit.cut, audit.ended_at,
                audit.generation, trace.payload, trace.payload_bytes,
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
                and (not $8 or audit.repeat = 0 and not exists (
                    select from groundcrew.audits as later
                    where later.project = audit.project and later.trace_id = audit.trace_id
                        and later.content_hash = audit.content_hash and later.kind = audit.kind
                        and later.repeat = audit.repeat and later.generation > audit.generation
                ))
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
        .bind(filter.is_latest)
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
                    generation: u32::try_from(row.generation).unwrap_or(u32::MAX),
                    cut: row.cut.as_deref().and_then(Cut::parse),
                    ended_at: row.ended_at,
                    payload: payload.map_err(Error::cannot_pack("decompress a stored body"))?,
                    attempts,
                    body_removed_at: row.body_removed_at,
                })
            })
            .collect()
    }

    /// Audits that were made again and have ended, the last first.
    pub async fn generations(&self, filter: &Filter, limit: u32) -> Result<Vec<Generations>> {
        sqlx::query_as(
            "select * from analytics.generations
            where ($1::text is null or project = $1) and ($2::text is null or kind = $2)
                and ($3::timestamptz is null or ended_at >= $3) and ($4::timestamptz is null or ended_at < $4)
            order by ended_at desc, audit_id
            limit $5",
        )
        .persistent(false)
        .bind(clean_some(filter.project.as_deref()))
        .bind(filter.kind.map(Kind::as_str))
        .bind(filter.since)
        .bind(filter.until)
        .bind(i64::from(limit))
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("compare generations"))
    }
}
