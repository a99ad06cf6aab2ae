//! What is known about an audit when its trace arrives.

use std::collections::HashMap;
use std::time::Duration;

use audit::policy::{Class, Remedy};
use audit::record::{Attempt, AuditKey, Known, Opening};
use audit::routing::Disposition;
use audit::units::Cut;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use crate::text::decompress;
use crate::{Error, Result, Store};

impl Store {
    /// What is known about an audit. Calls at the same moment share one query.
    ///
    /// Exactly the key's generation is looked at. A caller whose copy of the trace is complete and
    /// that finds [`Known::Ended`] with [`Disposition::Incomplete`] asks again for the next one.
    pub async fn lookup(&self, key: AuditKey) -> Result<Known> {
        self.lookups().ask(key).await
    }
}

const ACTION: &str = "look up audits";

/// Answers many lookups with two queries; the second only when one of the audits is open.
pub(crate) async fn all(pool: PgPool, keys: Vec<AuditKey>) -> Vec<Result<Known>> {
    match find(&pool, &keys).await {
        Ok(found) => found,
        Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
    }
}

async fn find(pool: &PgPool, keys: &[AuditKey]) -> Result<Vec<Result<Known>>> {
    let rows = query(pool, keys).await.map_err(Error::cannot(ACTION))?;
    let found: Vec<Result<(Uuid, Known)>> = rows.iter().map(read).collect();
    let open: Vec<Uuid> = found
        .iter()
        .flatten()
        .filter(|(_, known)| matches!(known, Known::Open { .. }))
        .map(|(id, _)| *id)
        .collect();
    let mut attempts = if open.is_empty() { HashMap::new() } else { attempts_of(pool, &open).await? };
    let complete = |found: Result<(Uuid, Known)>| {
        let (id, mut known) = found?;
        if let Known::Open { attempts: stored, .. } = &mut known {
            // Cloned, not taken: the same key may have been asked for twice.
            *stored = attempts.get_mut(&id).map_or_else(|| Ok(Vec::new()), |attempts| attempts.clone())?;
        }
        Ok(known)
    };
    Ok(found.into_iter().map(complete).collect())
}

/// One row per key, in their order. The lateral subquery keeps the server on the index, see `crate::keep::lock`.
async fn query(pool: &PgPool, keys: &[AuditKey]) -> Result<Vec<PgRow>, sqlx::Error> {
    sqlx::query(
        "select asked.id, audit.is_known, audit.disposition, audit.prompt_version, audit.prompt_hash,
            audit.judge, audit.nonce, audit.cut, audit.opened_at
        from unnest($1::uuid[]) with ordinality as asked (id, place)
        left join lateral (
            select true as is_known, * from groundcrew.audits where audits.id = asked.id limit 1
        ) as audit on true
        order by asked.place",
    )
    .bind(keys.iter().map(AuditKey::id).collect::<Vec<_>>())
    .fetch_all(pool)
    .await
}

fn read(row: &PgRow) -> Result<(Uuid, Known)> {
    let cannot = Error::cannot(ACTION);
    let id = row.try_get("id").map_err(&cannot)?;
    Ok((id, known(row)?))
}

/// What the row says, still without attempts.
fn known(row: &PgRow) -> Result<Known> {
    let cannot = Error::cannot(ACTION);
    let is_known: Option<bool> = row.try_get("is_known").map_err(&cannot)?;
    if is_known.is_none() {
        return Ok(Known::New);
    }
    if let Some(word) = row.try_get::<Option<&str>, _>("disposition").map_err(&cannot)? {
        let disposition = Disposition::parse(word).ok_or_else(|| unknown("disposition", word))?;
        return Ok(Known::Ended { disposition });
    }
    let opening = Opening {
        prompt_version: row.try_get("prompt_version").map_err(&cannot)?,
        prompt_hash: row.try_get("prompt_hash").map_err(&cannot)?,
        judge: row.try_get("judge").map_err(&cannot)?,
        nonce: row.try_get("nonce").map_err(&cannot)?,
        cut: row.try_get::<Option<&str>, _>("cut").map_err(&cannot)?.and_then(Cut::parse),
        opened_at: row.try_get("opened_at").map_err(&cannot)?,
    };
    Ok(Known::Open { opening, attempts: Vec::new() })
}

fn unknown(column: &str, word: &str) -> Error {
    Error::Unreadable { action: ACTION, what: format!("{column} `{word}`") }
}

/// Attempts by audit, each list by unit and number. One that cannot be read spoils only its own audit.
pub(crate) async fn attempts_of(
    pool: &PgPool,
    audits: &[Uuid],
) -> Result<HashMap<Uuid, Result<Vec<Attempt>>>> {
    let rows = sqlx::query(
        "select attempt.*
        from unnest($1::uuid[]) as asked (id)
        join groundcrew.attempts as attempt on attempt.audit_id = asked.id
        order by attempt.audit_id, attempt.unit, attempt.number",
    )
    // Planned each time, see `crate::keep::lock`.
    .persistent(false)
    .bind(dedup(audits))
    .fetch_all(pool)
    .await
    .map_err(Error::cannot(ACTION))?;
    let mut attempts: HashMap<Uuid, Result<Vec<Attempt>>> = HashMap::new();
    for row in &rows {
        let audit = row.try_get("audit_id").map_err(Error::cannot(ACTION))?;
        let list = attempts.entry(audit).or_insert_with(|| Ok(Vec::new()));
        match (attempt(row), &mut *list) {
            (Ok(attempt), Ok(list)) => list.push(attempt),
            (Err(error), Ok(_)) => *list = Err(error),
            (_, Err(_)) => {}
        }
    }
    Ok(attempts)
}

fn dedup(ids: &[Uuid]) -> Vec<Uuid> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn attempt(row: &PgRow) -> Result<Attempt> {
    let class: String = row.try_get("class").map_err(Error::cannot(ACTION))?;
    let class = Class::parse(&class).ok_or_else(|| unknown("class", &class))?;
    let remedy: Option<String> = row.try_get("remedy").map_err(Error::cannot(ACTION))?;
    let remedy =
        remedy.map(|word| parse_remedy(&word).ok_or_else(|| unknown("remedy", &word))).transpose()?;
    let request: Option<Vec<u8>> = row.try_get("request").map_err(Error::cannot(ACTION))?;
    let length: i64 = row.try_get("request_bytes").map_err(Error::cannot(ACTION))?;
    // Empty once it was removed by age.
    let request = match request {
        Some(request) => {
            decompress(&request, length).map_err(Error::cannot_pack("decompress a stored request"))?
        }
        None => Vec::new(),
    };
    columns(row, class, remedy, request).map_err(Error::cannot(ACTION))
}

fn parse_remedy(word: &str) -> Option<Remedy> {
    [Remedy::SamePrompt, Remedy::AppendError, Remedy::Strengthen]
        .into_iter()
        .find(|remedy| remedy.as_str() == word)
}

fn columns(
    row: &PgRow,
    class: Class,
    remedy: Option<Remedy>,
    request: Vec<u8>,
) -> Result<Attempt, sqlx::Error> {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or_default();
    let small = |number: i32| u32::try_from(number).unwrap_or_default();
    let status: Option<i32> = row.try_get("http_status")?;
    let raw: Option<Vec<u8>> = row.try_get("content_raw")?;
    let content: Option<String> = row.try_get("content")?;
    Ok(Attempt {
        unit: small(row.try_get("unit")?),
        number: small(row.try_get("number")?),
        started_at: row.try_get("started_at")?,
        latency: Duration::from_micros(unsigned(row.try_get("latency_us")?)),
        judge: row.try_get("judge")?,
        model: row.try_get("model")?,
        model_answered: row.try_get("model_answered")?,
        prompt_version: row.try_get("prompt_version")?,
        prompt_hash: row.try_get("prompt_hash")?,
        request,
        raw_reply: row.try_get("raw_reply")?,
        // What was shown differently is read as it was: the reply is verified again from it.
        content: raw.and_then(|raw| String::from_utf8(raw).ok()).or(content),
        finish_reason: row.try_get("finish_reason")?,
        http_status: status.and_then(|status| u16::try_from(status).ok()),
        prompt_tokens: row.try_get::<Option<i64>, _>("prompt_tokens")?.map(unsigned),
        completion_tokens: row.try_get::<Option<i64>, _>("completion_tokens")?.map(unsigned),
        cost_micros: row.try_get("cost_micros")?,
        currency: row.try_get("currency")?,
        class,
        problems: row.try_get("problems")?,
        remedy,
    })
}
