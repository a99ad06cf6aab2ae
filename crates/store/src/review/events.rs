//! The messages that follow from what people do. They are committed with what caused them.

use audit::record::derived_id;
use audit::review::Conclusion;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::text::json as text_of;

/// The exchange for results and review messages.
pub(crate) const RESULTS: &str = "groundcrew.results";

/// The exchange for traces.
pub(crate) const TRACES: &str = "groundcrew.traces";

/// A message for the outbox.
pub(crate) struct Outgoing {
    pub id: Uuid,
    pub audit_id: Option<Uuid>,
    pub exchange: &'static str,
    pub routing_key: String,
    pub correlation_id: Option<String>,
    pub body: Vec<u8>,
    pub headers: Option<Value>,
}

/// Writes a message into the outbox; one that is there already stays.
pub(crate) async fn send(connection: &mut PgConnection, message: Outgoing) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into groundcrew.outbox
            (id, audit_id, exchange, routing_key, correlation_id, body, headers, created_at, available_at)
        values ($1, $2, $3, $4, $5, $6, $7::jsonb, now(), now())
        on conflict (id) do nothing",
    )
    .bind(message.id)
    .bind(message.audit_id)
    .bind(message.exchange)
    .bind(message.routing_key)
    .bind(message.correlation_id)
    .bind(message.body)
    .bind(message.headers.map(|headers| text_of(&headers)))
    .execute(connection)
    .await?;
    Ok(())
}

fn time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Somebody has taken an item: who was paged for it may stop ringing.
pub(super) async fn taken(
    connection: &mut PgConnection,
    item: Uuid,
    reviewer: &str,
    fence: i64,
    row: &PgRow,
) -> Result<(), sqlx::Error> {
    let audit_id: Uuid = row.try_get("audit_id")?;
    let body = json!({
        "schema": "groundcrew.review/v1",
        "event": "review.taken",
        "review_item": item,
        "audit_id": audit_id,
        "project": row.try_get::<String, _>("project")?,
        "trace_id": row.try_get::<String, _>("trace_id")?,
        "reviewer": reviewer,
        "leased_until": time(row.try_get("leased_until")?),
    });
    let message = Outgoing {
        id: derived_id(item, &format!("taken {fence}")),
        audit_id: Some(audit_id),
        exchange: RESULTS,
        routing_key: "review.taken".to_owned(),
        correlation_id: None,
        body: body.to_string().into_bytes(),
        headers: None,
    };
    send(connection, message).await
}

/// The end of a review.
pub(super) struct End<'a> {
    pub item: Uuid,
    pub audit_id: Uuid,
    pub project: String,
    pub trace_id: String,
    pub kind: String,
    pub generation: i64,
    pub disposition: Option<String>,
    pub decision: Option<String>,
    pub practice: bool,
    pub outcome: &'static str,
    pub reviewers: Vec<String>,
    pub conclusion: Conclusion,
    /// Whether the result was open until now.
    pub was_open: bool,
    pub rulings: &'a Value,
    pub closed_at: DateTime<Utc>,
}

impl End<'_> {
    fn body(&self, schema: &str, event: &str) -> Value {
        json!({
            "schema": schema,
            "event": event,
            "review_item": self.item,
            "audit_id": self.audit_id,
            "project": self.project,
            "trace_id": self.trace_id,
            "kind": self.kind,
            "generation": self.generation,
            "disposition": self.disposition,
            "decision": self.decision,
            "final": true,
            "final_decision": self.conclusion.decision,
            "outcome": self.outcome,
            "faithful": self.conclusion.faithful,
            "reviewers": self.reviewers,
            "practice": self.practice,
            "closed_at": time(self.closed_at),
        })
    }

    fn message(&self, name: &str, body: &Value) -> Outgoing {
        Outgoing {
            id: derived_id(self.item, name),
            audit_id: Some(self.audit_id),
            exchange: RESULTS,
            routing_key: name.to_owned(),
            correlation_id: None,
            body: body.to_string().into_bytes(),
            headers: None,
        }
    }
}

/// `review.closed` for who was paged; `audit.finalised` for who waits for the result; `audit.released` for the producer
/// of an answer that was held back and goes out. Who asked by `reply_to` gets the last two there too.
pub(super) async fn ended(connection: &mut PgConnection, end: &End<'_>) -> Result<(), sqlx::Error> {
    let body = end.body("groundcrew.review/v1", "review.closed");
    send(connection, end.message("review.closed", &body)).await?;
    let mut told = Vec::new();
    if end.was_open {
        let mut body = end.body("groundcrew.result/v1", "audit.finalised");
        body["rulings"] = end.rulings.clone();
        told.push(("audit.finalised", body));
    }
    if end.conclusion.releases {
        told.push(("audit.released", end.body("groundcrew.result/v1", "audit.released")));
    }
    let askers = askers(connection, end.audit_id).await?;
    for (name, body) in told {
        send(connection, end.message(name, &body)).await?;
        for (at, (queue, correlation_id)) in askers.iter().enumerate() {
            let asker = if at == 0 { String::new() } else { format!(" {at}") };
            let message = Outgoing {
                id: derived_id(end.item, &format!("{name} reply{asker}")),
                exchange: "",
                routing_key: queue.clone(),
                correlation_id: correlation_id.clone(),
                ..end.message(name, &body)
            };
            send(connection, message).await?;
        }
    }
    Ok(())
}

/// The queues of those who asked for the audit, as long as the answers to them are kept; the first one first.
async fn askers(
    connection: &mut PgConnection,
    audit: Uuid,
) -> Result<Vec<(String, Option<String>)>, sqlx::Error> {
    sqlx::query_as(
        "select routing_key, correlation_id from groundcrew.outbox
        where audit_id = $1 and exchange = ''
        group by routing_key, correlation_id order by min(created_at), routing_key, correlation_id",
    )
    .bind(audit)
    .fetch_all(connection)
    .await
}
