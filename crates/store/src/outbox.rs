//! Messages that were committed with what caused them, on their way to the broker.
//!
//! The messages are durable; who has them in hand, and that they were sent, need not wait for the disk. What a crash of
//! the server takes of that makes a message go out once more under the same id, which it may.

use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::rows::EventRow;
use crate::{Error, Outcome, Result, Store};

/// A message to publish.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct OutboxRow {
    /// The message id: publishing it again is the same message.
    pub id: Uuid,
    /// The audit that caused it, if one did.
    pub audit_id: Option<Uuid>,
    /// Exchange; empty for a reply to the producer's own queue.
    pub exchange: String,
    /// Routing key, or the queue's name for a reply.
    pub routing_key: String,
    /// The producer's correlation id, for a reply.
    pub correlation_id: Option<String>,
    /// JSON, as it goes out.
    pub body: Vec<u8>,
    /// Of a trace that is asked for again: `kinds`, `generation` and what else goes along with it. None for messages
    /// to others.
    pub headers: Option<serde_json::Value>,
    /// When it was caused.
    pub created_at: DateTime<Utc>,
    /// How often it was leased, this time included.
    pub attempts: i32,
}

impl From<&EventRow> for OutboxRow {
    fn from(row: &EventRow) -> Self {
        Self {
            id: row.id,
            audit_id: row.audit_id,
            exchange: row.exchange.clone(),
            routing_key: row.routing_key.clone(),
            correlation_id: row.correlation_id.clone(),
            body: row.body.clone(),
            headers: None,
            created_at: row.created_at,
            attempts: row.attempts,
        }
    }
}

/// What waits in the outbox.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutboxDepth {
    /// Messages that are not sent, leased ones included.
    pub unsent: i64,
    /// Age of the oldest of them; none when nothing waits.
    pub oldest: Option<Duration>,
}

impl Store {
    /// Takes up to `limit` messages in hand, oldest first. Nobody else gets them for `lease_for`; whoever has
    /// not marked them by then must expect that they are sent once more.
    pub async fn lease(&self, limit: u32, lease_for: Duration) -> Result<Vec<OutboxRow>> {
        self.run(|pool| async move {
            // Rows that another relay is just leasing are skipped, not waited for.
            let mut rows: Vec<OutboxRow> = sqlx::query_as(
                "update groundcrew.outbox set leased_until = now() + $2, attempts = outbox.attempts + 1
                from (select set_config('synchronous_commit', 'off', true)) as unhurried, (
                    select id from groundcrew.outbox
                    where sent_at is null and available_at <= now()
                        and (leased_until is null or leased_until <= now())
                    order by available_at, id
                    limit $1
                    for update skip locked
                ) as due
                where outbox.id = due.id
                returning outbox.id, audit_id, exchange, routing_key, correlation_id, body, headers,
                    created_at, attempts",
            )
            .bind(i64::from(limit))
            .bind(lease_for)
            .fetch_all(&pool)
            .await
            .map_err(Error::cannot("lease outbox messages"))?;
            rows.sort_by_key(|row| (row.created_at, row.id));
            Ok(rows)
        })
        .await
    }

    /// Notes what became of messages. Those that are marked already stay as they are.
    pub async fn mark_sent(&self, sent: &[(Uuid, Outcome)]) -> Result<()> {
        let mut sent = sent.to_vec();
        sent.sort_unstable_by_key(|(id, _)| *id);
        let (ids, words): (Vec<Uuid>, Vec<&str>) =
            sent.into_iter().map(|(id, outcome)| (id, outcome.as_str())).unzip();
        self.run(|pool| async move {
            sqlx::query(
                "update groundcrew.outbox set sent_at = now(), outcome = sent.outcome, leased_until = null
                from (select set_config('synchronous_commit', 'off', true)) as unhurried,
                    unnest($1::uuid[], $2::text[]) as sent (id, outcome)
                where outbox.id = sent.id and sent_at is null",
            )
            // A plan that was made while the outbox was empty reads all that waits, each time.
            .persistent(false)
            .bind(ids)
            .bind(words)
            .execute(&pool)
            .await
            .map_err(Error::cannot("mark outbox messages as sent"))?;
            Ok(())
        })
        .await
    }

    /// Gives messages back that could not be sent; they may be leased again after `delay`.
    pub async fn release(&self, ids: &[Uuid], delay: Duration) -> Result<()> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        self.run(|pool| async move {
            sqlx::query(
                "update groundcrew.outbox set leased_until = null, available_at = now() + $2
                where id = any($1) and sent_at is null",
            )
            .persistent(false)
            .bind(ids)
            .bind(delay)
            .execute(&pool)
            .await
            .map_err(Error::cannot("release outbox messages"))?;
            Ok(())
        })
        .await
    }

    /// How much waits, and for how long.
    pub async fn outbox_depth(&self) -> Result<OutboxDepth> {
        let (unsent, oldest): (i64, Option<f64>) = sqlx::query_as(
            "select count(*), extract(epoch from now() - min(created_at))::float8
            from groundcrew.outbox where sent_at is null",
        )
        .fetch_one(self.pool())
        .await
        .map_err(Error::cannot("read the outbox's depth"))?;
        // The database's clock may be behind the one that wrote the rows.
        let oldest = oldest.map(|seconds| Duration::from_secs_f64(seconds.max(0.0)));
        Ok(OutboxDepth { unsent, oldest })
    }
}
