//! Calls of the gate that have begun: claimed under their key, counted within their session, given up for lost.

use std::time::Duration;

use audit::gate::Regenerations;
use audit::record::{AuditKey, GateCall, Opening, TraceRecord, derived_id};
use chrono::{DateTime, Utc};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::again;
use crate::keep::{Kept, open};
use crate::review::{Outgoing, RESULTS, send};
use crate::rows::{AuditRow, stored_trace};
use crate::text::{clean, clean_some};
use crate::{Error, Result, Store};

/// What is claimed: a call before anything is asked.
#[derive(Debug, Clone)]
pub struct GateClaim {
    /// The call. Its `regenerations` are not looked at: they are counted.
    pub call: GateCall,
    /// The audit that it will be; the generation is not looked at, the next free one is found.
    pub key: AuditKey,
    /// After this time without an end the call is taken for cut off.
    pub expires_in: Duration,
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateClaimed {
    /// The call is this caller's.
    New {
        /// How often the session had been told to regenerate before.
        regenerations: u32,
        /// Calls of the session that are still open: each may yet be told to.
        earlier: Vec<Uuid>,
        /// The generation of the audit that is to be made.
        generation: u32,
    },
    /// The same call was answered before.
    Answered {
        /// The answer as it was given; none when it was removed by age, or nobody was there to be given one.
        response: Option<String>,
    },
    /// The same call is being answered.
    InWork,
    /// The key was used for another body.
    OtherBody,
}

/// A call whose process has gone.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct LostGateCall {
    /// The call.
    pub id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The trace id.
    pub trace_id: String,
    /// When it came.
    pub received_at: DateTime<Utc>,
    /// The audit that ended with it; none when it was cut off before there was one.
    pub audit_id: Option<Uuid>,
}

impl Store {
    /// Claims a call under its idempotency key, in its session and for its trace. Of several copies of one call
    /// exactly one is [`GateClaimed::New`].
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn claim_gate_call(&self, claim: GateClaim) -> Result<GateClaimed> {
        self.run(move |pool| async move {
            let claiming = async {
                let mut transaction = pool.begin().await?;
                let claimed = claim_call(&mut transaction, &claim).await?;
                transaction.commit().await?;
                Ok(claimed)
            };
            claiming.await.map_err(Error::cannot("claim a call of the gate"))
        })
        .await
    }

    /// What became of the call under an idempotency key; none when there is no such call.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn gate_call_under(
        &self,
        project: &str,
        key: &str,
        body_hash: [u8; 32],
    ) -> Result<Option<GateClaimed>> {
        let row = sqlx::query(
            "select body_hash, ended_at is not null as has_ended, response from groundcrew.gate_calls
            where project = $1 and idempotency_key = $2",
        )
        .bind(clean(project))
        .bind(clean(key))
        .fetch_optional(self.pool())
        .await
        .map_err(Error::cannot("look up a call of the gate"))?;
        row.map(|row| known(&row, body_hash)).transpose().map_err(Error::cannot("look up a call of the gate"))
    }

    /// Opens the audit of a call, and writes the call itself where it was not claimed: from here on it is known that
    /// there was one, whatever becomes of this process.
    ///
    /// # Errors
    /// When it is not known to be durable.
    pub async fn open_gate_audit(
        &self,
        claim: Option<&GateClaim>,
        key: &AuditKey,
        opening: &Opening,
        trace: &TraceRecord,
    ) -> Result<Kept> {
        let (trace, audit) = (stored_trace(key, trace)?, AuditRow::open(key, opening));
        let (claim, key) = (claim.cloned(), key.clone());
        self.run(move |pool| async move {
            let opening = async {
                let mut transaction = pool.begin().await?;
                // It outlives this process at once, which is what it is for; the end is what must outlive the server's.
                sqlx::query("set local synchronous_commit = off").execute(&mut *transaction).await?;
                let kept = open(&mut transaction, &trace, audit).await?;
                if let Some(claim) = claim.filter(|_| kept == Kept::Committed) {
                    insert_call(&mut transaction, &claim, 0, key.generation.into(), key.id()).await?;
                }
                if kept == Kept::Committed {
                    transaction.commit().await?;
                }
                Ok(kept)
            };
            opening.await.map_err(Error::cannot("open the audit of a call"))
        })
        .await
    }

    /// What calls of a session have used of its regenerations: told to, and those of `earlier` that are still open.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn session_regenerations(
        &self,
        project: &str,
        session: &str,
        earlier: &[Uuid],
    ) -> Result<Regenerations> {
        let (told, open): (i64, i64) = sqlx::query_as(
            "select count(*) filter (where action = 'regenerate'),
                count(*) filter (where ended_at is null and id = any($3))
            from groundcrew.gate_calls where project = $1 and session = $2",
        )
        .bind(clean(project))
        .bind(clean(session))
        .bind(earlier)
        .fetch_one(self.pool())
        .await
        .map_err(Error::cannot("count the regenerations of a session"))?;
        let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Regenerations { told: number(told), open: number(open) })
    }

    /// Ends calls that were open for longer than they may be, and the audits that they had opened: those end
    /// `judge_unavailable`, with the message that says so, and no worker goes on with them. Gives the calls.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn end_lost_gate_calls(&self) -> Result<Vec<LostGateCall>> {
        self.run(|pool| async move {
            let ending = async {
                let mut transaction = pool.begin().await?;
                let lost = end_lost(&mut transaction).await?;
                for audit in lost.iter().filter_map(|call| call.audit_id) {
                    tell(&mut transaction, audit).await?;
                }
                transaction.commit().await?;
                Ok(lost)
            };
            ending.await.map_err(Error::cannot("end calls of the gate that were cut off"))
        })
        .await
    }
}

/// Skips what another desk is ending at this moment.
async fn end_lost(connection: &mut PgConnection) -> Result<Vec<LostGateCall>, sqlx::Error> {
    sqlx::query_as(
        "with lost as (
            select id, audit_id from groundcrew.gate_calls
            -- What came over the queue is delivered again, and goes on.
            where ended_at is null and expires_at < now() and channel = 'http'
            order by expires_at limit 100 for update skip locked
        ), audit as (
            update groundcrew.audits set disposition = 'judge_unavailable', ended_at = now(), final = true
            where id in (select audit_id from lost) and disposition is null
            returning id
        )
        update groundcrew.gate_calls as call
        set outcome = 'cut_off', verdict = 'unknown', action = 'block', ended_at = now(), expires_at = null,
            idempotency_key = null,
            audit_id = (select audits.id from groundcrew.audits where audits.id = call.audit_id)
        from lost left join audit on audit.id = lost.audit_id
        where call.id = lost.id
        returning call.id, call.project, call.trace_id, call.received_at, audit.id as audit_id",
    )
    .fetch_all(connection)
    .await
}

/// The message about the end of an audit, as any other that ends has one.
async fn tell(connection: &mut PgConnection, audit: Uuid) -> Result<(), sqlx::Error> {
    let Some(body) = again::result(&mut *connection, audit).await? else { return Ok(()) };
    let message = Outgoing {
        id: derived_id(audit, "result"),
        audit_id: Some(audit),
        exchange: RESULTS,
        routing_key: "audit.judge_unavailable".to_owned(),
        correlation_id: None,
        body: serde_json::Value::Object(body).to_string().into_bytes(),
        headers: None,
    };
    send(connection, message).await
}

fn known(row: &sqlx::postgres::PgRow, body_hash: [u8; 32]) -> Result<GateClaimed, sqlx::Error> {
    let stored: Option<Vec<u8>> = row.try_get("body_hash")?;
    Ok(if stored.as_deref() != Some(&body_hash[..]) {
        GateClaimed::OtherBody
    } else if row.try_get("has_ended")? {
        GateClaimed::Answered { response: row.try_get("response")? }
    } else {
        GateClaimed::InWork
    })
}

async fn claim_call(connection: &mut PgConnection, claim: &GateClaim) -> Result<GateClaimed, sqlx::Error> {
    let GateClaim { call, key, .. } = claim;
    let (project, trace_id) = (clean(&key.project), clean(&key.trace_id));
    let session = clean_some(call.session.as_deref());
    // One after the other for one session, and for one trace, in this order: two calls at the same moment must not
    // both be the last that may regenerate, or the same generation.
    for (name, value) in [("session", session.as_deref()), ("trace", Some(trace_id.as_str()))] {
        if let Some(value) = value {
            sqlx::query("select pg_advisory_xact_lock(hashtextextended($1, 7))")
                .bind(serde_json::json!(["gate", name, project, value]).to_string())
                .execute(&mut *connection)
                .await?;
        }
    }
    let (told, earlier): (i64, Vec<Uuid>) = match &session {
        // One that is still open may yet be told to regenerate.
        Some(session) => {
            sqlx::query_as(
                "select count(*) filter (where action = 'regenerate'),
                    coalesce(array_agg(id) filter (where ended_at is null), '{}')
                from groundcrew.gate_calls where project = $1 and session = $2 and id <> $3",
            )
            .bind(&project)
            .bind(session)
            .bind(call.id)
            .fetch_one(&mut *connection)
            .await?
        }
        None => (0, Vec::new()),
    };
    // After those, since who reserves a generation holds this one alone.
    sqlx::query(
        "select pg_advisory_xact_lock(hashtextextended('groundcrew.generation/' || $1 || '/' || $2, 0))",
    )
    .bind(&project)
    .bind(&trace_id)
    .execute(&mut *connection)
    .await?;
    let generation: i64 = sqlx::query_scalar(
        "select greatest(
            (select max(generation) + 1 from groundcrew.audits
             where project = $1 and trace_id = $2 and content_hash = $3 and kind = $4 and repeat = $5),
            (select max(generation) + 1 from groundcrew.gate_calls
             where project = $1 and trace_id = $2 and kind = $4),
            (select max(generation) + 1 from groundcrew.reserved_generations
             where project = $1 and trace_id = $2),
            0
        )",
    )
    .bind(&project)
    .bind(&trace_id)
    .bind(key.content_hash.0.to_vec())
    .bind(key.kind.as_str())
    .bind(i64::from(key.repeat))
    .fetch_one(&mut *connection)
    .await?;
    let generation = u32::try_from(generation).unwrap_or(u32::MAX);
    let regenerations = u32::try_from(told).unwrap_or(u32::MAX);
    let audit = AuditKey { generation, ..key.clone() }.id();
    if insert_call(connection, claim, regenerations, generation.into(), audit).await? {
        return Ok(GateClaimed::New { regenerations, earlier, generation });
    }
    let row = sqlx::query(
        "select id, body_hash, ended_at is not null as has_ended, response
        from groundcrew.gate_calls where id = $1 or (project = $2 and idempotency_key = $3)",
    )
    .bind(call.id)
    .bind(&project)
    .bind(clean_some(call.idempotency_key.as_deref()))
    .fetch_one(&mut *connection)
    .await?;
    // The same call again, as after a crash of who had claimed it.
    if row.try_get::<Uuid, _>("id")? == call.id {
        return Ok(GateClaimed::New { regenerations, earlier, generation: key.generation });
    }
    known(&row, call.body_hash.unwrap_or_default())
}

/// Writes an open call; false when there is one of its id or key.
async fn insert_call(
    connection: &mut PgConnection,
    GateClaim { call, key, expires_in }: &GateClaim,
    regenerations: u32,
    generation: i64,
    audit: Uuid,
) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query(
        "insert into groundcrew.gate_calls (id, project, trace_id, kind, channel, caller, session, regenerations,
            generation, idempotency_key, body_hash, audit_id, deadline_ms, received_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now() + $15::interval)
        on conflict do nothing",
    )
    .bind(call.id)
    .bind(clean(&key.project))
    .bind(clean(&key.trace_id))
    .bind(key.kind.as_str())
    .bind(call.channel.as_str())
    .bind(clean_some(call.caller.as_deref()))
    .bind(clean_some(call.session.as_deref()))
    .bind(i32::try_from(regenerations).unwrap_or(i32::MAX))
    .bind(generation)
    .bind(clean_some(call.idempotency_key.as_deref()))
    .bind(call.body_hash.map(|hash| hash.to_vec()))
    .bind(audit)
    .bind(call.deadline.map(|deadline| i64::try_from(deadline.as_millis()).unwrap_or(i64::MAX)))
    .bind(call.received_at)
    .bind(*expires_in)
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() > 0)
}
