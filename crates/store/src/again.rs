//! Results that somebody asks for once more: given from what is stored.

use audit::record::{AuditKey, GateOutcome, derived_id};
use audit::routing::Disposition;
use serde_json::{Map, Value, json};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::review::{Outgoing, send};
use crate::text::clean;
use crate::{Error, Result, Store};

/// Who wants the result of an audit that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The queue for the reply, already checked against the allowed names.
    pub queue: String,
    /// The correlation id for the reply.
    pub correlation_id: Option<String>,
    /// The id of the reply, where this is a new question. None for a delivery that comes once more: it is answered only
    /// if this queue has no reply with this correlation id.
    pub again: Option<Uuid>,
}

impl Store {
    /// Writes the result of an ended audit into the outbox, for who asks for it again; with the end of its review where
    /// that has ended. Repeating the call with the same asker changes nothing.
    ///
    /// # Errors
    /// When it is not known to be durable.
    pub async fn answer_again(&self, key: &AuditKey, asker: &Asker) -> Result<()> {
        let (key, asker) = (key.clone(), asker.clone());
        self.run(move |pool| async move {
            let answering = async {
                let mut transaction = pool.begin().await?;
                answer(&mut transaction, &key, &asker).await?;
                transaction.commit().await
            };
            answering.await.map_err(Error::cannot("answer who asks for a result again"))
        })
        .await
    }
}

async fn answer(connection: &mut PgConnection, key: &AuditKey, asker: &Asker) -> Result<(), sqlx::Error> {
    let audit = key.id();
    let name = json!(["reply", asker.queue, asker.correlation_id]).to_string();
    let id = match asker.again {
        Some(id) => id,
        None if is_answered(connection, audit, asker).await? => return Ok(()),
        None => derived_id(audit, &name),
    };
    let stored: Option<Vec<u8>> = sqlx::query_scalar("select body from groundcrew.outbox where id = $1")
        .bind(derived_id(audit, "result"))
        .fetch_optional(&mut *connection)
        .await?;
    let stored = stored.and_then(|body| serde_json::from_slice(&body).ok());
    let mut body = match stored {
        Some(Value::Object(body)) => body,
        // The message itself was removed by age.
        _ => match result(connection, audit).await? {
            Some(body) => body,
            None => return Ok(()),
        },
    };
    if key.is_gate() && !body.contains_key("action") {
        body.extend(told(connection, key).await?);
    }
    let message = |id: Uuid, body: Vec<u8>| Outgoing {
        id,
        audit_id: Some(audit),
        exchange: "",
        routing_key: asker.queue.clone(),
        correlation_id: asker.correlation_id.clone(),
        body,
        headers: None,
    };
    send(connection, message(id, Value::Object(body).to_string().into_bytes())).await?;
    // What people decided since.
    for event in ["audit.finalised", "audit.released"] {
        let ended: Option<Vec<u8>> = sqlx::query_scalar("select body from groundcrew.outbox where id = $1")
            .bind(derived_id(derived_id(audit, "review_item"), event))
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(body) = ended {
            send(connection, message(derived_id(id, event), body)).await?;
        }
    }
    Ok(())
}

async fn is_answered(connection: &mut PgConnection, audit: Uuid, asker: &Asker) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "select exists (
            select from groundcrew.outbox
            where audit_id = $1 and exchange = '' and routing_key = $2 and correlation_id is not distinct from $3
        )",
    )
    .bind(audit)
    .bind(&asker.queue)
    .bind(&asker.correlation_id)
    .fetch_one(connection)
    .await
}

/// The result of an ended audit from its rows, with the fields that every result has; none when there is no such audit.
pub(crate) async fn result(
    connection: &mut PgConnection,
    audit: Uuid,
) -> Result<Option<Map<String, Value>>, sqlx::Error> {
    let body: Option<String> = sqlx::query_scalar(
        "select jsonb_build_object(
            'schema', 'groundcrew.result/v1', 'event', 'audit.' || a.disposition, 'audit_id', a.id,
            'project', a.project, 'trace_id', a.trace_id, 'kind', a.kind, 'generation', a.generation,
            'repeat', a.repeat, 'disposition', a.disposition, 'decision', a.decision, 'final', a.final,
            'score', a.score, 'by_rule', a.score_by_rule, 'severity', a.severity, 'claims', a.claims_total,
            'findings', coalesce((
                select jsonb_agg(jsonb_build_object(
                    'claim', c.index, 'text', c.text, 'verdict', c.verdict, 'judge_verdict', c.judge_verdict,
                    'severity', c.severity, 'confidence', c.confidence, 'gap', c.explanation,
                    'evidence', c.evidence, 'by_rule', c.by_rule
                ) order by c.index)
                from groundcrew.claims as c where c.audit_id = a.id and c.verdict <> 'grounded'
            ), '[]'::jsonb),
            -- Who draws a random sample of passed answers does not say which.
            'reasons', case when a.disposition = 'passed' then '[]'::jsonb else a.reasons end,
            'trace_problems', a.trace_problems, 'prompt_version', a.prompt_version, 'judge', a.judge,
            'practice', a.practice, 'uncalibrated', a.uncalibrated, 'ended_at', a.ended_at
        )::text
        from groundcrew.audits as a where a.id = $1 and a.disposition is not null",
    )
    .bind(audit)
    .fetch_optional(connection)
    .await?;
    Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
}

/// What a caller of the gate is told about an audit that was no call of it, or whose answer is no longer kept: what
/// its decision says, and nothing that would have to be made anew.
async fn told(connection: &mut PgConnection, key: &AuditKey) -> Result<Map<String, Value>, sqlx::Error> {
    let audit = key.id();
    let row = sqlx::query(
        "select disposition, decision, coalesce(claims_total > claims_grounded, false) as has_findings, ended_at,
            (select id from groundcrew.gate_calls where audit_id = $1 limit 1) as call
        from groundcrew.audits where id = $1",
    )
    .bind(audit)
    .fetch_one(&mut *connection)
    .await?;
    let disposition = Disposition::parse(row.try_get("disposition")?);
    let outcome = disposition.map_or(GateOutcome::CutOff, GateOutcome::of);
    let decision: Option<&str> = row.try_get("decision")?;
    let (action, has_findings) = match decision {
        Some("deliver") => ("deliver", false),
        Some("hold") => ("escalate", row.try_get("has_findings")?),
        _ => ("block", row.try_get("has_findings")?),
    };
    let verdict = match (has_findings, action) {
        (true, _) => "ungrounded",
        (false, "deliver") => "grounded",
        (false, _) => "unknown",
    };
    let known: Option<Uuid> = row.try_get("call")?;
    let call = known.unwrap_or_else(|| derived_id(audit, "gate_call"));
    if known.is_none() {
        sqlx::query(
            "insert into groundcrew.gate_calls (id, project, trace_id, kind, channel, session, generation, audit_id,
                outcome, verdict, action, received_at, ended_at)
            values ($1, $2, $3, $4, 'queue', $5, $6, $7, $8, $9, $10, now(), now())
            on conflict do nothing",
        )
        .bind(call)
        .bind(clean(&key.project))
        .bind(clean(&key.trace_id))
        .bind(key.kind.as_str())
        .bind(call.to_string())
        .bind(i64::from(key.generation))
        .bind(audit)
        .bind(outcome.as_str())
        .bind(verdict)
        .bind(action)
        .execute(connection)
        .await?;
    }
    let fields = json!({
        "verdict": verdict,
        "action": action,
        "action_reason": "the trace was audited before, and this is what its decision says",
        "redacted_answer": null,
        "instruction": null,
        "session": call,
        "regenerations_left": 0,
        "gate_call": call,
        "outcome": outcome.as_str(),
    });
    Ok(match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}
