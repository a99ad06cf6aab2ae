//! Messages that cannot be audited: kept whole, listed, settled by an operator.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments as _, PgConnection, PgPool};
use uuid::Uuid;

use crate::review::{Outgoing, TRACES, send};
use crate::text::{clean, clean_some, json};
use crate::views::lossy;
use crate::{DeadSource, DeadStatus, Error, Result, Store, generation};

/// The namespace of dead letters' ids.
const NAMESPACE: Uuid = Uuid::from_u128(0x0d3a_d1e7_7e25_5b5c_8c1f_42d0_9e6b_7a11);

/// A message to bury.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetter {
    /// Why it was given up on.
    pub source: DeadSource,
    /// The same in one sentence.
    pub reason: String,
    /// What was wrong, by place in the message: a JSON list.
    pub problems: Value,
    /// The message byte for byte, or as much of it as was kept.
    pub body: Vec<u8>,
    /// Length of the message as it came, in bytes.
    pub body_bytes: u64,
    /// Its headers and properties: a JSON object.
    pub headers: Value,
    /// The generation that its headers ask for.
    pub generation: u32,
    /// The lane it came from, where known.
    pub lane: Option<String>,
    /// The producer's project, where readable.
    pub project: Option<String>,
    /// The producer's id of the trace, where readable.
    pub trace_id: Option<String>,
    /// The audit kinds that remain; empty means those that the trace asks for.
    pub kinds: Vec<String>,
    /// When it was received.
    pub received_at: DateTime<Utc>,
}

impl DeadLetter {
    /// The same message, given up on for the same reason, is the same row.
    pub fn id(&self) -> Uuid {
        let body = Uuid::new_v5(&NAMESPACE, &self.body);
        let name = format!("{} {} {}", self.source, self.generation, self.body_bytes);
        Uuid::new_v5(&body, name.as_bytes())
    }
}

/// A stored dead letter.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct DeadLetterView {
    /// Its id.
    pub id: Uuid,
    /// When it came first.
    pub first_seen_at: DateTime<Utc>,
    /// When it came last.
    pub last_seen_at: DateTime<Utc>,
    /// How often it came.
    pub seen: i64,
    /// Why it was given up on.
    #[sqlx(try_from = "String")]
    pub source: DeadSource,
    /// The same in one sentence.
    pub reason: String,
    /// What was wrong, by place in the message.
    pub problems: Value,
    /// The message; none in lists. Written as text, with a picture for each byte that is no UTF-8.
    #[serde(serialize_with = "lossy", skip_serializing_if = "Option::is_none")]
    pub body: Option<Vec<u8>>,
    /// Length of the message as it came, in bytes.
    pub body_bytes: i64,
    /// Headers and properties of its last delivery.
    pub headers: Value,
    /// The lane it came from.
    pub lane: Option<String>,
    /// The producer's project.
    pub project: Option<String>,
    /// The producer's id of the trace.
    pub trace_id: Option<String>,
    /// The audit kinds that remain; empty means those that the trace asks for.
    pub kinds: Vec<String>,
    /// What became of it.
    #[sqlx(try_from = "String")]
    pub status: DeadStatus,
    /// What the operator said.
    pub note: Option<String>,
    /// How often it was published again.
    pub replays: i32,
    /// When it was settled; none while it is open.
    pub settled_at: Option<DateTime<Utc>>,
}

/// Which dead letters; what is none is not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadFilter {
    /// What became of them.
    pub status: Option<DeadStatus>,
    /// Why they were given up on.
    pub source: Option<DeadSource>,
    /// What their reason contains; numbers in it stand for any number.
    pub reason: Option<String>,
    /// Whose they are.
    pub project: Option<String>,
}

/// Dead letters with one reason.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct DeadReason {
    /// Why they were given up on.
    #[sqlx(try_from = "String")]
    pub source: DeadSource,
    /// The reason and the first problem, with `#` for each number.
    pub reason: String,
    /// How many.
    pub letters: i64,
    /// When the first came.
    pub first_seen_at: DateTime<Utc>,
    /// When the last came.
    pub last_seen_at: DateTime<Utc>,
    /// One of them: the one that was seen last.
    pub example: Uuid,
}

/// A query over the dead letters of a [`DeadFilter`]: its parameters are those of [`DeadFilter::arguments`].
macro_rules! filtered {
    ($select:literal, $tail:literal) => {
        concat!(
            "select ",
            $select,
            " from groundcrew.dead_letters
            where ($1::text is null or status = $1) and ($2::text is null or source = $2)
                and ($3::text is null or position($3 in groundcrew.dead_reason(reason, problems)) > 0)
                and ($4::text is null or project = $4) ",
            $tail,
            " limit $5"
        )
    };
}

impl DeadFilter {
    /// Of a `filtered!` query. `limit`: how many rows at most; all when none.
    fn arguments(&self, limit: Option<u32>) -> Result<PgArguments, sqlx::Error> {
        let mut arguments = PgArguments::default();
        let mut add = |text: Option<&str>| arguments.add(text);
        add(self.status.map(DeadStatus::as_str)).map_err(sqlx::Error::Encode)?;
        add(self.source.map(DeadSource::as_str)).map_err(sqlx::Error::Encode)?;
        add(self.reason().as_deref()).map_err(sqlx::Error::Encode)?;
        add(clean_some(self.project.as_deref()).as_deref()).map_err(sqlx::Error::Encode)?;
        arguments.add(limit.map(i64::from)).map_err(sqlx::Error::Encode)?;
        Ok(arguments)
    }

    fn reason(&self) -> Option<String> {
        let text = clean_some(self.reason.as_deref())?;
        let mut shape = String::with_capacity(text.len());
        for letter in text.chars() {
            if !letter.is_ascii_digit() {
                shape.push(letter);
            } else if !shape.ends_with('#') {
                shape.push('#');
            }
        }
        Some(shape)
    }
}

impl Store {
    /// Keeps a message that cannot be audited, and gives its id. One that is there already is counted;
    /// if it had been settled, it is open again.
    pub async fn bury(&self, letter: DeadLetter) -> Result<Uuid> {
        self.run(|pool| bury(pool, letter)).await
    }

    /// Dead letters without their bodies, the last seen first.
    pub async fn dead_list(&self, filter: &DeadFilter, limit: u32) -> Result<Vec<DeadLetterView>> {
        let sql = filtered!(
            "id, first_seen_at, last_seen_at, seen, source, reason, problems, null::bytea as body,
                body_bytes, headers, lane, project, trace_id, kinds, status, note, replays, settled_at",
            "order by last_seen_at desc, id"
        );
        let cannot = Error::cannot("list dead letters");
        let arguments = filter.arguments(Some(limit)).map_err(&cannot)?;
        sqlx::query_as_with(sql, arguments).fetch_all(self.pool()).await.map_err(&cannot)
    }

    /// The ids of dead letters, the first seen first.
    pub async fn dead_ids(&self, filter: &DeadFilter, limit: Option<u32>) -> Result<Vec<Uuid>> {
        let sql = filtered!("id", "order by first_seen_at, id");
        let cannot = Error::cannot("list dead letters");
        let arguments = filter.arguments(limit).map_err(&cannot)?;
        sqlx::query_scalar_with(sql, arguments).fetch_all(self.pool()).await.map_err(&cannot)
    }

    /// Dead letters counted by source and reason, the most frequent first.
    pub async fn dead_reasons(&self, filter: &DeadFilter, limit: u32) -> Result<Vec<DeadReason>> {
        let sql = filtered!(
            "source, groundcrew.dead_reason(reason, problems) as reason, count(*) as letters,
                min(first_seen_at) as first_seen_at, max(last_seen_at) as last_seen_at,
                (array_agg(id order by last_seen_at desc, id))[1] as example",
            "group by 1, 2 order by letters desc, source, 2"
        );
        let cannot = Error::cannot("count dead letters");
        let arguments = filter.arguments(Some(limit)).map_err(&cannot)?;
        sqlx::query_as_with(sql, arguments).fetch_all(self.pool()).await.map_err(&cannot)
    }

    /// One dead letter with its body.
    pub async fn dead_show(&self, id: Uuid) -> Result<Option<DeadLetterView>> {
        sqlx::query_as("select * from groundcrew.dead_letters where id = $1")
            .bind(id)
            .fetch_optional(self.pool())
            .await
            .map_err(Error::cannot("show a dead letter"))
    }

    /// Settles a dead letter, or opens it again; each time it is marked as replayed counts. False
    /// when there is none of this id.
    pub async fn dead_mark(&self, id: Uuid, status: DeadStatus, note: Option<&str>) -> Result<bool> {
        let note = clean_some(note);
        self.run(move |pool| async move {
            let done = sqlx::query(
                "update groundcrew.dead_letters set
                    status = $2,
                    note = coalesce($3, note),
                    replays = replays + case when $2 = 'replayed' then 1 else 0 end,
                    settled_at = case when $2 = 'open' then null else now() end
                where id = $1",
            )
            .bind(id)
            .bind(status.as_str())
            .bind(note)
            .execute(&pool)
            .await
            .map_err(Error::cannot("settle a dead letter"))?;
            Ok(done.rows_affected() > 0)
        })
        .await
    }
}

/// What came of replaying a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// It is on its way, in this generation.
    Sent {
        /// The generation that it asks for.
        generation: i64,
    },
    /// There is none of this id.
    Missing,
    /// It is settled already.
    Settled,
    /// Only its beginning was kept: its producer must send it again.
    Cut,
}

impl Store {
    /// Sends an open dead letter to its queue again, by way of the outbox, and marks it as replayed, in one commit.
    pub async fn dead_replay(&self, id: Uuid, note: Option<&str>) -> Result<Replayed> {
        let note = clean_some(note);
        self.run(move |pool| async move {
            let cannot = Error::cannot("replay a dead letter");
            let mut transaction = pool.begin().await.map_err(&cannot)?;
            let letter: Option<DeadLetterView> =
                sqlx::query_as("select * from groundcrew.dead_letters where id = $1 for update")
                    .bind(id)
                    .fetch_optional(&mut *transaction)
                    .await
                    .map_err(&cannot)?;
            let Some(letter) = letter else { return Ok(Replayed::Missing) };
            if letter.status != DeadStatus::Open {
                return Ok(Replayed::Settled);
            }
            let Some(message) = again(letter) else { return Ok(Replayed::Cut) };
            let generation = generation_of(&mut transaction, &message).await.map_err(&cannot)?;
            let message = message.asking_for(generation);
            send(&mut transaction, message).await.map_err(&cannot)?;
            sqlx::query(
                "update groundcrew.dead_letters
                set status = 'replayed', note = coalesce($2, note), replays = replays + 1, settled_at = now()
                where id = $1",
            )
            .bind(id)
            .bind(note)
            .execute(&mut *transaction)
            .await
            .map_err(&cannot)?;
            transaction.commit().await.map_err(&cannot)?;
            Ok(Replayed::Sent { generation })
        })
        .await
    }

    /// Throws an open dead letter away on purpose. False when there is no open one of this id.
    pub async fn dead_discard(&self, id: Uuid, note: &str) -> Result<bool> {
        let note = clean(note);
        self.run(move |pool| async move {
            let done = sqlx::query(
                "update groundcrew.dead_letters set status = 'discarded', note = $2, settled_at = now()
                where id = $1 and status = 'open'",
            )
            .bind(id)
            .bind(note)
            .execute(&pool)
            .await
            .map_err(Error::cannot("discard a dead letter"))?;
            Ok(done.rows_affected() > 0)
        })
        .await
    }
}

/// A dead letter that is whole, on its way again.
struct Again {
    letter: DeadLetterView,
    body: Vec<u8>,
}

/// None when not all of the message was kept.
fn again(mut letter: DeadLetterView) -> Option<Again> {
    let body = letter.body.take().filter(|body| i64::try_from(body.len()) == Ok(letter.body_bytes))?;
    Some(Again { letter, body })
}

/// The generation that a dead letter asks for: above the one it asked for before, and nobody else's.
async fn generation_of(connection: &mut PgConnection, again: &Again) -> Result<i64, sqlx::Error> {
    let letter = &again.letter;
    let before = letter.headers.get("generation").and_then(Value::as_i64).unwrap_or(0);
    let times = i64::from(letter.replays) + 1;
    let next = before.saturating_add(times);
    match (&letter.project, &letter.trace_id) {
        (Some(project), Some(trace_id)) => {
            let purpose = format!("dead letter {}, {times}", letter.id);
            generation::reserve(connection, project, trace_id, &purpose, next).await
        }
        // Nothing can have been audited under names that nobody could read.
        _ => Ok(next),
    }
}

impl Again {
    fn asking_for(self, generation: i64) -> Outgoing {
        let Self { letter, body } = self;
        let header = |name: &str| letter.headers.get(name).and_then(Value::as_str);
        let headers = serde_json::json!({
            "kinds": letter.kinds,
            "generation": generation,
            "reply_to": header("reply_to"),
            "content_type": header("content_type"),
            "content_encoding": header("content_encoding"),
            "prompt_version": header("prompt_version"),
            "others": letter.headers.get("others"),
            "source_dead_letter": letter.id,
        });
        Outgoing {
            id: Uuid::new_v5(&letter.id, format!("replay {generation}").as_bytes()),
            audit_id: None,
            exchange: TRACES,
            routing_key: letter.lane.clone().unwrap_or_else(|| "normal".to_owned()),
            correlation_id: header("correlation_id").map(str::to_owned),
            body,
            headers: Some(headers),
        }
    }
}

async fn bury(pool: PgPool, letter: DeadLetter) -> Result<Uuid> {
    // Kinds add up: the same trace may be given up on for one kind first and for another later. No kind
    // at all means every kind, and stays so.
    sqlx::query_scalar(
        "insert into groundcrew.dead_letters as letter
            (id, first_seen_at, last_seen_at, source, reason, problems, body, body_bytes, headers, lane,
                project, trace_id, kinds)
        values ($1, $2, $2, $3, $4, $5::jsonb, $6, $7, $8::jsonb, $9, $10, $11, $12)
        on conflict (id) do update set
            last_seen_at = greatest(letter.last_seen_at, excluded.last_seen_at),
            seen = letter.seen + 1,
            reason = excluded.reason,
            problems = excluded.problems,
            headers = excluded.headers,
            lane = coalesce(excluded.lane, letter.lane),
            kinds = case
                when letter.status <> 'open' then excluded.kinds
                when cardinality(letter.kinds) = 0 or cardinality(excluded.kinds) = 0 then '{}'
                else array(select distinct unnest(letter.kinds || excluded.kinds) order by 1)
            end,
            status = 'open',
            settled_at = null
        returning id",
    )
    .bind(letter.id())
    .bind(letter.received_at)
    .bind(letter.source.as_str())
    .bind(clean(&letter.reason))
    .bind(json(&letter.problems))
    .bind(&letter.body)
    .bind(i64::try_from(letter.body_bytes).unwrap_or(i64::MAX))
    .bind(json(&letter.headers))
    .bind(clean_some(letter.lane.as_deref()))
    .bind(clean_some(letter.project.as_deref()))
    .bind(clean_some(letter.trace_id.as_deref()))
    .bind(letter.kinds.iter().map(|kind| clean(kind)).collect::<Vec<_>>())
    .fetch_one(&pool)
    .await
    .map_err(Error::cannot("keep a dead letter"))
}
