//! Closed reviews with the traces that they are about, for golden cases.

use std::collections::HashMap;

use audit::review::Ruling;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::seen;
use crate::text::{clean_some, decompress};
use crate::{Error, Result, Store};

/// A claim of a report: text, verdict, place in the answer.
pub type ReportClaim = (String, String, Option<i64>, Option<i64>);

/// Where a page ends: when its last review was closed, and its item.
pub type ReviewedPlace = (DateTime<Utc>, Uuid);

/// A closed review that says whether the answer is faithful.
#[derive(Debug, Clone, PartialEq)]
pub struct Reviewed {
    /// The review item.
    pub item: Uuid,
    /// The audit.
    pub audit_id: Uuid,
    /// The audit kind.
    pub kind: String,
    /// Whether the answer is faithful.
    pub faithful: bool,
    /// When it was closed.
    pub closed_at: DateTime<Utc>,
    /// Who has given an opinion, in their order.
    pub reviewers: Vec<String>,
    /// The message as it came; none once it was removed by age.
    pub payload: Option<Vec<u8>>,
    /// The claims of the report, in order.
    pub claims: Vec<ReportClaim>,
    /// Everything that was said, in order.
    pub rulings: Vec<Ruling>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    audit_id: Uuid,
    kind: String,
    faithful: bool,
    closed_at: DateTime<Utc>,
    reviewers: Vec<String>,
    payload: Option<Vec<u8>>,
    payload_bytes: i64,
}

#[derive(sqlx::FromRow)]
struct ClaimOf {
    audit_id: Uuid,
    text: String,
    verdict: String,
    answer_start: Option<i64>,
    answer_end: Option<i64>,
}

impl Store {
    /// A page of closed reviews that say whether the answer is faithful, the first closed first; `after` is where the
    /// page before ended. `practice` also gives those of the practice judge.
    pub async fn reviewed(
        &self,
        project: Option<&str>,
        since: Option<DateTime<Utc>>,
        practice: bool,
        after: Option<ReviewedPlace>,
        limit: u32,
    ) -> Result<Vec<Reviewed>> {
        let cannot = Error::cannot("read closed reviews");
        let rows: Vec<Row> = sqlx::query_as(
            "select item.id, item.audit_id, item.kind, item.faithful, item.closed_at,
                array(
                    select opinion.reviewer from groundcrew.review_opinions as opinion
                    where opinion.review_item = item.id order by opinion.number
                ) as reviewers,
                trace.payload, trace.payload_bytes
            from groundcrew.review_items as item
            join groundcrew.audits as audit on audit.id = item.audit_id
            join groundcrew.traces as trace on trace.id = audit.trace_row
            where item.status = 'closed' and item.outcome = 'ruled' and item.faithful is not null
                and ($1::text is null or item.project = $1) and ($2::timestamptz is null or item.closed_at >= $2)
                and ($3 or not audit.practice)
                and ($4::timestamptz is null or (item.closed_at, item.id) > ($4, $5))
            order by item.closed_at, item.id limit $6",
        )
        .persistent(false)
        .bind(clean_some(project))
        .bind(since)
        .bind(practice)
        .bind(after.map(|place| place.0))
        .bind(after.map(|place| place.1))
        .bind(i64::from(limit))
        .fetch_all(self.pool())
        .await
        .map_err(&cannot)?;
        let mut claims = self.claims_of(&rows).await?;
        let mut reviewed = Vec::with_capacity(rows.len());
        for row in rows {
            let payload = row.payload.map(|payload| decompress(&payload, row.payload_bytes)).transpose();
            let mut connection = self.pool().acquire().await.map_err(&cannot)?;
            reviewed.push(Reviewed {
                rulings: seen::rulings(&mut connection, row.id).await?,
                claims: claims.remove(&row.audit_id).unwrap_or_default(),
                item: row.id,
                audit_id: row.audit_id,
                kind: row.kind,
                faithful: row.faithful,
                closed_at: row.closed_at,
                reviewers: row.reviewers,
                payload: payload.map_err(Error::cannot_pack("decompress a stored body"))?,
            });
        }
        Ok(reviewed)
    }

    async fn claims_of(&self, rows: &[Row]) -> Result<HashMap<Uuid, Vec<ReportClaim>>> {
        let audits: Vec<Uuid> = rows.iter().map(|row| row.audit_id).collect();
        let found: Vec<ClaimOf> = sqlx::query_as(
            "select audit_id, text, verdict, answer_start, answer_end from groundcrew.claims
            where audit_id = any($1) order by audit_id, index",
        )
        .persistent(false)
        .bind(audits)
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("read claims"))?;
        let mut claims: HashMap<Uuid, Vec<ReportClaim>> = HashMap::new();
        for claim in found {
            let (start, end) = (claim.answer_start, claim.answer_end);
            claims.entry(claim.audit_id).or_default().push((claim.text, claim.verdict, start, end));
        }
        Ok(claims)
    }
}
