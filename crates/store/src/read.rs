//! What people and commands read.

use std::collections::HashMap;
use std::hash::Hash;

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use uuid::Uuid;

use crate::text::{clean, clean_some, decompress};
use crate::views::{
    AttemptView, AuditLine, AuditView, Bodies, ClaimView, OmissionView, ReviewItem, TraceView,
};
use crate::{Error, Result, ReviewStatus, Store};

/// The query for lines about ended audits, with its order and limit.
macro_rules! recent {
    ($tail:literal) => {
        concat!(
            "select id, project, trace_id, kind, generation, disposition, decision, severity, score,
                claims_total, claims_grounded, judge, practice, urgent, ended_at
            from groundcrew.audits where disposition is not null ",
            $tail
        )
    };
}

impl Store {
    /// Everything about a trace, found by the producer's trace id or by the id of one of its audits.
    /// One entry per content and project that has it, the first received first; none when there is none.
    pub async fn trace_show(
        &self,
        id: &str,
        project: Option<&str>,
        bodies: Bodies,
    ) -> Result<Vec<TraceView>> {
        const ACTION: &str = "show a trace";
        let mut traces: Vec<TraceView> = sqlx::query_as(
            "select id, project, trace_id, encode(content_hash, 'hex') as content_hash, occurred_at, origin,
                intent, risk, value, domain, query, answer, generator_model, generator_prompt_version,
                content_owner, chunk_count, human_faithful, human_score, human_labeler, received_at, payload_bytes,
                case when $4 then payload end as payload, body_removed_at
            from groundcrew.traces
            where (trace_id = $1 or id = (select trace_row from groundcrew.audits where id = $2))
                and ($3::text is null or project = $3)
            order by received_at, id",
        )
        .bind(clean(id))
        .bind(id.parse::<Uuid>().ok())
        .bind(clean_some(project))
        .bind(bodies == Bodies::With)
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot(ACTION))?;
        for trace in &mut traces {
            unpack(&mut trace.payload, trace.payload_bytes)?;
        }
        let ids: Vec<Uuid> = traces.iter().map(|trace| trace.id).collect();
        let mut audits = audits_of(self.pool(), &ids, bodies).await.map_err(Error::cannot(ACTION))?;
        for attempt in audits.iter_mut().flat_map(|audit| &mut audit.attempts) {
            unpack(&mut attempt.request, attempt.request_bytes)?;
        }
        let mut audits = by(audits, |audit| audit.trace_row);
        for trace in &mut traces {
            trace.audits = audits.remove(&trace.id).unwrap_or_default();
        }
        Ok(traces)
    }

    /// Review items, urgent ones first, then the oldest.
    pub async fn review_list(
        &self,
        status: Option<ReviewStatus>,
        project: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ReviewItem>> {
        sqlx::query_as(
            "select * from groundcrew.review_items
            where ($1::text is null or status = $1) and ($2::text is null or project = $2)
            order by urgent desc, created_at, id
            limit $3",
        )
        .bind(status.map(ReviewStatus::as_str))
        .bind(clean_some(project))
        .bind(i64::from(limit))
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("list review items"))
    }

    /// Audits that ended after the one named by `after` (its end and id), oldest first; the newest
    /// `limit` when there is none.
    ///
    /// An audit is seen only when its transaction has committed, which may be a moment after a later
    /// end was seen. Who must not miss one asks from a few seconds back and drops what it has seen.
    pub async fn recent_audits(
        &self,
        after: Option<(DateTime<Utc>, Uuid)>,
        limit: u32,
    ) -> Result<Vec<AuditLine>> {
        let cannot = Error::cannot("list recent audits");
        let limit = i64::from(limit);
        let Some((ended_at, id)) = after else {
            let newest: sqlx::Result<Vec<AuditLine>> =
                sqlx::query_as(recent!("order by ended_at desc, id desc limit $1"))
                    .bind(limit)
                    .fetch_all(self.pool())
                    .await;
            let mut lines = newest.map_err(cannot)?;
            lines.reverse();
            return Ok(lines);
        };
        sqlx::query_as(recent!("and (ended_at, id) > ($2, $3) order by ended_at, id limit $1"))
            .bind(limit)
            .bind(ended_at)
            .bind(id)
            .fetch_all(self.pool())
            .await
            .map_err(cannot)
    }
}

/// Restores a compressed body.
fn unpack(body: &mut Option<Vec<u8>>, length: i64) -> Result<()> {
    if let Some(packed) = body {
        *packed = decompress(packed, length).map_err(Error::cannot_pack("decompress a stored body"))?;
    }
    Ok(())
}

fn by<K: Eq + Hash, T>(rows: Vec<T>, key: impl Fn(&T) -> K) -> HashMap<K, Vec<T>> {
    let mut groups: HashMap<K, Vec<T>> = HashMap::new();
    for row in rows {
        groups.entry(key(&row)).or_default().push(row);
    }
    groups
}

/// The audits of traces, with what belongs to them; requests are still compressed.
async fn audits_of(pool: &PgPool, traces: &[Uuid], bodies: Bodies) -> sqlx::Result<Vec<AuditView>> {
    let mut audits: Vec<AuditView> = sqlx::query_as(
        "select * from groundcrew.audits where trace_row = any($1) order by kind, generation, repeat",
    )
    .bind(traces)
    .fetch_all(pool)
    .await?;
    let ids: Vec<Uuid> = audits.iter().map(|audit| audit.id).collect();
    let claims: Vec<ClaimView> =
        sqlx::query_as("select * from groundcrew.claims where audit_id = any($1) order by audit_id, index")
            .bind(&ids)
            .fetch_all(pool)
            .await?;
    let omissions: Vec<OmissionView> = sqlx::query_as(
        "select * from groundcrew.omissions where audit_id = any($1) order by audit_id, index",
    )
    .bind(&ids)
    .fetch_all(pool)
    .await?;
    let items: Vec<ReviewItem> =
        sqlx::query_as("select * from groundcrew.review_items where audit_id = any($1)")
            .bind(&ids)
            .fetch_all(pool)
            .await?;
    let attempts = attempts_of(pool, &ids, bodies).await?;
    let mut claims = by(claims, |claim| claim.audit_id);
    let mut omissions = by(omissions, |omission| omission.audit_id);
    let mut attempts = by(attempts, |attempt| attempt.audit_id);
    let mut items: HashMap<Uuid, ReviewItem> = items.into_iter().map(|item| (item.audit_id, item)).collect();
    for audit in &mut audits {
        audit.claims = claims.remove(&audit.id).unwrap_or_default();
        audit.omissions = omissions.remove(&audit.id).unwrap_or_default();
        audit.attempts = attempts.remove(&audit.id).unwrap_or_default();
        audit.review_item = items.remove(&audit.id);
    }
    Ok(audits)
}

async fn attempts_of(pool: &PgPool, audits: &[Uuid], bodies: Bodies) -> sqlx::Result<Vec<AttemptView>> {
    sqlx::query_as(
        "select audit_id, unit, number, started_at, latency_us, judge, model, model_answered, prompt_version,
            class, problems, remedy, finish_reason, http_status, prompt_tokens, completion_tokens,
            cost_micros, currency, content, request_bytes, case when $2 then request end as request,
            case when $2 then raw_reply end as raw_reply, body_removed_at
        from groundcrew.attempts where audit_id = any($1) order by audit_id, unit, number",
    )
    .bind(audits)
    .bind(bodies == Bodies::With)
    .fetch_all(pool)
    .await
}
