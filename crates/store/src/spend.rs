//! Blocks of calls that a worker reserves under a project's caps.

use std::time::Duration;

use audit::spend::{Amount, Caps, Grant, Limit, Spent, grant};
use chrono::{NaiveDate, Utc};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::text::{clean, json};
use crate::{Error, Result, Store};

/// What a worker asks for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The producer's project.
    pub project: String,
    /// The UTC day.
    pub day: NaiveDate,
    /// What the project may spend on it.
    pub caps: Caps,
    /// How many further calls are wanted at most; 0 only renews.
    pub block: u64,
    /// Calls of this day that the worker has made or is making under earlier grants.
    pub taken: u64,
    /// How long the reservation holds unless it is renewed.
    pub valid_for: Duration,
}

/// What it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It may make this many calls on this day in all, those before included. May be fewer than before:
    /// a reservation that had expired is void.
    Until(u64),
    /// Nothing yet; ask again when replies are stored.
    Wait,
    /// Nothing.
    Refused(Limit),
}

const ACTION: &str = "reserve calls of the judge";

impl Store {
    /// Reserves a block of calls for this process. Reservations of one project are made one after another.
    pub async fn reserve(&self, asked: Asked) -> Result<Reserved> {
        let worker = self.instance();
        self.run(
            move |pool| async move { reserve(&pool, worker, asked).await.map_err(Error::cannot(ACTION)) },
        )
        .await
    }

    /// Gives back what this process has reserved and not used.
    pub async fn return_reservations(&self) -> Result<()> {
        let worker = self.instance();
        self.run(move |pool| async move {
            sqlx::query("update groundcrew.reservations set expires_at = now() where worker = $1 and expires_at > now()")
                .bind(worker)
                .execute(&pool)
                .await
                .map_err(Error::cannot("give back reserved calls"))?;
            Ok(())
        })
        .await
    }

    /// Tells the operator something about a project, once a day. `name` is also the end of the message's routing
    /// key. True when this call was the first.
    pub async fn alert(
        &self,
        name: &str,
        project: &str,
        day: NaiveDate,
        message: &str,
        body: Value,
    ) -> Result<bool> {
        let (name, project, message) = (clean(name), clean(project), clean(message));
        let body = json(&body).into_bytes();
        let id = Uuid::now_v7();
        self.run(move |pool| async move {
            let told = sqlx::query(
                "with raised as (
                    insert into groundcrew.alerts (id, name, project, day, message, raised_at)
                    values ($1, $2, $3, $4, $5, $6)
                    on conflict on constraint alerts_key do nothing
                    returning id
                )
                insert into groundcrew.outbox (id, exchange, routing_key, body, created_at, available_at)
                select id, 'groundcrew.results', 'alert.' || $2, $7, $6, $6 from raised",
            )
            .bind(id)
            .bind(name)
            .bind(project)
            .bind(day)
            .bind(message)
            .bind(Utc::now())
            .bind(body)
            .execute(&pool)
            .await
            .map_err(Error::cannot("raise an alert"))?;
            Ok(told.rows_affected() > 0)
        })
        .await
    }
}

async fn reserve(pool: &PgPool, worker: Uuid, asked: Asked) -> Result<Reserved, sqlx::Error> {
    let project = clean(&asked.project);
    let mut transaction = pool.begin().await?;
    // Two workers that both see the last call of a day must not both get it.
    sqlx::query("select pg_advisory_xact_lock(hashtextextended('groundcrew.reservations/' || $1, 0))")
        .bind(&project)
        .execute(&mut *transaction)
        .await?;
    let (spent, granted) = spent(&mut transaction, worker, &project, &asked).await?;
    let (answer, granted) = match grant(&asked.caps, &spent, asked.block) {
        Grant::Calls(calls) => (None, granted.saturating_add(calls.min(asked.block))),
        Grant::Wait => (Some(Reserved::Wait), granted),
        // What was granted before still holds.
        Grant::Refused(_) if asked.block == 0 => (None, granted),
        Grant::Refused(limit) => (Some(Reserved::Refused(limit)), granted),
    };
    sqlx::query(
        "insert into groundcrew.reservations (project, day, worker, granted, expires_at)
        values ($1, $2, $3, $4, now() + $5)
        on conflict on constraint reservations_pkey do update set
            granted = excluded.granted, expires_at = excluded.expires_at",
    )
    .bind(&project)
    .bind(asked.day)
    .bind(worker)
    .bind(i64::try_from(granted).unwrap_or(i64::MAX))
    .bind(asked.valid_for)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(answer.unwrap_or(Reserved::Until(granted)))
}

#[derive(sqlx::FromRow)]
struct Row {
    calls: i64,
    own_calls: i64,
    replies: i64,
    tokens: i64,
    replies_without_tokens: i64,
    priced_replies: i64,
    cost_micros: i64,
    granted: i64,
    others: i64,
}

/// What is spent and reserved, and what the worker has been granted in all, as far as that still holds.
async fn spent(
    connection: &mut PgConnection,
    worker: Uuid,
    project: &str,
    asked: &Asked,
) -> Result<(Spent, u64), sqlx::Error> {
    let currency = asked.caps.money.as_ref().map(|money| money.currency.clone()).unwrap_or_default();
    let row: Row = sqlx::query_as(
        "with used as (
            select worker, sum(calls)::int8 as calls, sum(replies)::int8 as replies,
                sum(prompt_tokens::numeric + completion_tokens) as tokens,
                sum(replies_without_tokens)::int8 as replies_without_tokens,
                coalesce(sum(replies) filter (where currency = $4 and currency <> ''), 0)::int8 as priced_replies,
                coalesce(sum(cost_micros) filter (where currency = $4), 0) as cost_micros
            from groundcrew.usage where project = $1 and day = $2 group by worker
        )
        select
            coalesce(sum(used.calls), 0)::int8 as calls,
            coalesce(sum(used.calls) filter (where used.worker = $3), 0)::int8 as own_calls,
            coalesce(sum(used.replies), 0)::int8 as replies,
            least(coalesce(sum(used.tokens), 0), 9223372036854775807)::int8 as tokens,
            coalesce(sum(used.replies_without_tokens), 0)::int8 as replies_without_tokens,
            coalesce(sum(used.priced_replies), 0)::int8 as priced_replies,
            least(coalesce(sum(used.cost_micros), 0), 9223372036854775807)::int8 as cost_micros,
            coalesce((
                select granted from groundcrew.reservations
                where project = $1 and day = $2 and worker = $3 and expires_at > now()
            ), 0) as granted,
            coalesce((
                select sum(greatest(reserved.granted - coalesce(made.calls, 0), 0))::int8
                from groundcrew.reservations as reserved
                left join used as made on made.worker = reserved.worker
                where reserved.project = $1 and reserved.day = $2 and reserved.worker <> $3
                    and reserved.expires_at > now()
            ), 0) as others
        from used",
    )
    .bind(project)
    .bind(asked.day)
    .bind(worker)
    .bind(currency)
    .fetch_one(connection)
    .await?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    // After an expiry only what was made, or is being made, is left of it.
    let granted = count(row.granted).max(asked.taken);
    let spent = Spent {
        calls: count(row.calls),
        tokens: Amount {
            sum: count(row.tokens),
            known: count(row.replies - row.replies_without_tokens),
            unknown: count(row.replies_without_tokens),
        },
        money: Amount {
            sum: count(row.cost_micros),
            known: count(row.priced_replies),
            unknown: count(row.replies - row.priced_replies),
        },
        own: granted.saturating_sub(count(row.own_calls)),
        others: count(row.others),
    };
    Ok((spent, granted))
}
