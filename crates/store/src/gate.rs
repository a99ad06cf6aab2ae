//! Calls of the gate that have begun: claimed under their key, counted within their session, given up for lost.

use std::time::Duration;

use audit::record::{AuditKey, GateCall};
use chrono::{DateTime, Utc};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

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

    /// Ends calls that were open for longer than they may be, and the audits that they had opened: those end
    /// `judge_unavailable`, and no worker goes on with them. Gives the calls.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn end_lost_gate_calls(&self) -> Result<Vec<LostGateCall>> {
        self.run(|pool| async move {
            // One statement, and so one commit. Skips what another desk is ending at this moment.
            sqlx::query_as(
                "with lost as (
                    select id, audit_id from groundcrew.gate_calls
                    -- What came over the queue is delivered again, and goes on.
                    where ended_at is null and expires_at < now() and channel = 'http'
                    order by expires_at limit 100 for update skip locked
                ), audit as (
                    update groundcrew.audits set disposition = 'judge_unavailable', ended_at = now(), final = true
                    where id in (select audit_id from lost) and disposition is null
                )
                update groundcrew.gate_calls as call
                set outcome = 'cut_off', verdict = 'unknown', action = 'block', ended_at = now(), expires_at = null,
                    idempotency_key = null
                from lost where call.id = lost.id
                returning call.id, call.project, call.trace_id, call.received_at",
            )
            .fetch_all(&pool)
            .await
            .map_err(Error::cannot("end calls of the gate that were cut off"))
        })
        .await
    }
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
    let GateClaim { call, key, expires_in } = claim;
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
    let regenerations: i64 = match &session {
        // One that is still open may yet be told to regenerate.
        Some(session) => {
            sqlx::query_scalar(
                "select count(*) from groundcrew.gate_calls
                where project = $1 and session = $2 and (action = 'regenerate' or ended_at is null)",
            )
            .bind(&project)
            .bind(session)
            .fetch_one(&mut *connection)
            .await?
        }
        None => 0,
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
    let regenerations = u32::try_from(regenerations).unwrap_or(u32::MAX);
    let audit = AuditKey { generation, ..key.clone() }.id();
    let claimed = sqlx::query(
        "insert into groundcrew.gate_calls (id, project, trace_id, kind, channel, caller, session, regenerations,
            generation, idempotency_key, body_hash, audit_id, deadline_ms, received_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now() + $15::interval)
        on conflict do nothing",
    )
    .bind(call.id)
    .bind(&project)
    .bind(&trace_id)
    .bind(key.kind.as_str())
    .bind(call.channel.as_str())
    .bind(clean_some(call.caller.as_deref()))
    .bind(&session)
    .bind(i32::try_from(regenerations).unwrap_or(i32::MAX))
    .bind(i64::from(generation))
    .bind(clean_some(call.idempotency_key.as_deref()))
    .bind(call.body_hash.map(|hash| hash.to_vec()))
    .bind(audit)
    .bind(call.deadline.map(|deadline| i64::try_from(deadline.as_millis()).unwrap_or(i64::MAX)))
    .bind(call.received_at)
    .bind(*expires_in)
    .execute(&mut *connection)
    .await?;
    if claimed.rows_affected() > 0 {
        return Ok(GateClaimed::New { regenerations, generation });
    }
    let row = sqlx::query(
        "select id, regenerations, body_hash, ended_at is not null as has_ended, response
        from groundcrew.gate_calls where id = $1 or (project = $2 and idempotency_key = $3)",
    )
    .bind(call.id)
    .bind(&project)
    .bind(clean_some(call.idempotency_key.as_deref()))
    .fetch_one(&mut *connection)
    .await?;
    // The same call again, as after a crash of who had claimed it: what was counted then holds.
    if row.try_get::<Uuid, _>("id")? == call.id {
        let regenerations: i32 = row.try_get("regenerations")?;
        return Ok(GateClaimed::New {
            regenerations: u32::try_from(regenerations).unwrap_or_default(),
            generation: key.generation,
        });
    }
    known(&row, call.body_hash.unwrap_or_default())
}
