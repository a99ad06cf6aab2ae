//! Attempts that must be durable before the next call of the judge.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use audit::record::{Attempt, AuditKey, Opening, TraceRecord};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::rows::{
    AttemptBodyRow, AttemptRow, AuditRow, Place, STORED_AT, StoredAttempt, StoredTrace, TraceBodyRow,
    TraceRow, stored_attempts, stored_trace,
};
use crate::usage::{self, Used};
use crate::{Error, Result, Store};

/// What became of attempts that were to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// They are durable.
    Committed,
    /// Another worker has opened the audit otherwise, made the same attempt, or ended the audit.
    /// Nothing was written but what the attempts took: look it up again, and yield.
    LostRace,
}

impl Store {
    /// Commits attempts, with the trace and the open audit where they are not there yet.
    ///
    /// Repeating the call with the same attempts changes nothing.
    ///
    /// # Errors
    /// When it is not known to be durable; no further call of the judge may follow then.
    pub async fn keep(
        &self,
        key: &AuditKey,
        opening: &Opening,
        trace: &TraceRecord,
        attempts: &[Attempt],
    ) -> Result<Kept> {
        let trace = stored_trace(key, trace)?;
        let audit = AuditRow::open(key, opening);
        let attempts = stored_attempts(audit.id, attempts)?;
        let worker = self.instance();
        self.run(move |pool| async move {
            let cannot = Error::cannot("keep attempts");
            let mut transaction = pool.begin().await.map_err(&cannot)?;
            let project = audit.project.clone();
            let kept = keep(&mut transaction, worker, trace, audit, &attempts).await.map_err(&cannot)?;
            if kept == Kept::LostRace {
                transaction.rollback().await.map_err(&cannot)?;
                transaction = pool.begin().await.map_err(&cannot)?;
                let attempts: Vec<&StoredAttempt> = attempts.iter().collect();
                let used = unstored(&mut transaction, &attempts, |_| &project).await.map_err(&cannot)?;
                usage::add(&mut transaction, worker, used).await.map_err(&cannot)?;
            }
            transaction.commit().await.map_err(&cannot)?;
            Ok(kept)
        })
        .await
    }
}

/// Locks are taken in one order everywhere, traces before audits, each by id: writers that meet wait
/// for each other and never in a circle.
async fn keep(
    connection: &mut PgConnection,
    worker: Uuid,
    trace: StoredTrace,
    audit: AuditRow,
    attempts: &[StoredAttempt],
) -> Result<Kept, sqlx::Error> {
    let (id, project) = (audit.id, audit.project.clone());
    if open(connection, &trace, audit).await? == Kept::LostRace {
        return Ok(Kept::LostRace);
    }
    if !clashing(connection, attempts.iter().map(|attempt| &attempt.row)).await?.is_empty() {
        return Ok(Kept::LostRace);
    }
    let attempts: Vec<&StoredAttempt> = attempts.iter().collect();
    let used = insert_attempts(connection, &attempts, |_| &project).await?;
    // Counted anew: some of them may have been there.
    sqlx::query(
        "update groundcrew.audits set
            attempts_total = (select count(*) from groundcrew.attempts where audit_id = $1),
            replies_total = (
                select count(*) from groundcrew.attempts
                where audit_id = $1 and class in ('accepted', 'format', 'content', 'refusal')
            )
        where id = $1",
    )
    .bind(id)
    .execute(&mut *connection)
    .await?;
    usage::add(connection, worker, used).await?;
    Ok(Kept::Committed)
}

/// Writes the trace and the open audit where they are not there yet, and locks the audit.
pub(crate) async fn open(
    connection: &mut PgConnection,
    trace: &StoredTrace,
    audit: AuditRow,
) -> Result<Kept, sqlx::Error> {
    static OPEN: LazyLock<String> = LazyLock::new(|| AuditRow::insert(&[], "on conflict (id) do nothing"));
    let opening = OpeningKey::of(&audit);
    let id = audit.id;
    insert_traces(connection, vec![trace]).await?;
    let is_new = AuditRow::bind(&OPEN, [audit]).execute(&mut *connection).await?.rows_affected() > 0;
    if is_new {
        return Ok(Kept::Committed);
    }
    let states = lock(connection, &[id]).await?;
    let is_ours = states.get(&id).is_some_and(|state| state.is_open_as(&opening));
    Ok(if is_ours { Kept::Committed } else { Kept::LostRace })
}

/// What is fixed when an audit is opened. A worker that has other values is about to write another
/// audit's story.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OpeningKey {
    prompt_version: String,
    prompt_hash: String,
    judge: String,
    nonce: String,
}

impl OpeningKey {
    pub(crate) fn of(row: &AuditRow) -> Self {
        Self {
            prompt_version: row.prompt_version.clone(),
            prompt_hash: row.prompt_hash.clone(),
            judge: row.judge.clone(),
            nonce: row.nonce.clone(),
        }
    }
}

/// An audit row that is locked.
#[derive(Debug)]
pub(crate) struct State {
    /// Whether it has ended.
    pub has_ended: bool,
    opening: OpeningKey,
}

impl State {
    /// Whether it may be written to by who opened it so.
    pub(crate) fn is_open_as(&self, opening: &OpeningKey) -> bool {
        !self.has_ended && self.opening == *opening
    }
}

/// Writes traces that are not there; a label that came later is taken over. `traces` are sorted by
/// id, each id once.
pub(crate) async fn insert_traces(
    connection: &mut PgConnection,
    traces: Vec<&StoredTrace>,
) -> Result<(), sqlx::Error> {
    // Only a row of this very transaction has its time: whose body is there already, or was removed by age, gets
    // no other.
    static TRACES: LazyLock<String> = LazyLock::new(|| {
        TraceRow::insert(
            &[],
            "on conflict (id) do update set human_faithful = excluded.human_faithful,
                human_score = excluded.human_score, human_labeler = excluded.human_labeler
            where (excluded.human_faithful, excluded.human_score, excluded.human_labeler)
                    is distinct from (trace_rows.human_faithful, trace_rows.human_score, trace_rows.human_labeler)
                and num_nonnulls(excluded.human_faithful, excluded.human_score, excluded.human_labeler) > 0
            returning id, coalesce(stored_at = now(), false) as is_new",
        )
    });
    static BODIES: LazyLock<String> =
        LazyLock::new(|| TraceBodyRow::insert(&[STORED_AT], "on conflict do nothing"));
    let rows = traces.iter().map(|trace| trace.row.clone());
    let written = TraceRow::bind(&TRACES, rows).fetch_all(&mut *connection).await?;
    let mut new = HashSet::new();
    for row in written {
        if row.try_get("is_new")? {
            new.insert(row.try_get::<Uuid, _>("id")?);
        }
    }
    let bodies: Vec<TraceBodyRow> =
        traces.iter().filter(|trace| new.contains(&trace.row.id)).map(|trace| trace.body.clone()).collect();
    if !bodies.is_empty() {
        TraceBodyRow::bind(&BODIES, bodies).execute(connection).await?;
    }
    Ok(())
}

/// Locks audits and says how they stand. `ids` are sorted.
///
/// The lateral subquery makes the server look up one id after the other, in this order, by the
/// index. A cached plan for `= any` or for a join may have been made while the table was small, and then
/// reads all of it until the server's statistics catch up.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, State>, sqlx::Error> {
    let rows = sqlx::query(
        "select asked.id, audit.disposition is not null as has_ended,
            audit.prompt_version, audit.prompt_hash, audit.judge, audit.nonce
        from unnest($1::uuid[]) as asked (id)
        cross join lateral (
            select * from groundcrew.audits where audits.id = asked.id limit 1 for update
        ) as audit",
    )
    .bind(ids)
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| {
            let opening = OpeningKey {
                prompt_version: row.try_get("prompt_version")?,
                prompt_hash: row.try_get("prompt_hash")?,
                judge: row.try_get("judge")?,
                nonce: row.try_get("nonce")?,
            };
            Ok((row.try_get("id")?, State { has_ended: row.try_get("has_ended")?, opening }))
        })
        .collect()
}

/// The audits of which another attempt of the same place is stored. Their rows are locked.
pub(crate) async fn clashing<'a>(
    connection: &mut PgConnection,
    attempts: impl Iterator<Item = &'a AttemptRow> + Clone,
) -> Result<HashSet<Uuid>, sqlx::Error> {
    let rows = sqlx::query_scalar(
        "select asked.audit_id
        from unnest($1::uuid[], $2::int4[], $3::int4[], $4::uuid[])
            as asked (audit_id, unit, number, fingerprint)
        cross join lateral (
            select fingerprint from groundcrew.attempts as stored
            where stored.audit_id = asked.audit_id and stored.unit = asked.unit
                and stored.number = asked.number
            limit 1
        ) as stored
        where stored.fingerprint <> asked.fingerprint",
    )
    .bind(attempts.clone().map(|row| row.audit_id).collect::<Vec<_>>())
    .bind(attempts.clone().map(|row| row.unit).collect::<Vec<_>>())
    .bind(attempts.clone().map(|row| row.number).collect::<Vec<_>>())
    .bind(attempts.map(|row| row.fingerprint).collect::<Vec<_>>())
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}

/// What attempts took that are not stored, since another writer was faster: the judge was asked all the same.
///
/// The same attempt written again is stored, and counted with it.
pub(crate) async fn unstored<'a>(
    connection: &mut PgConnection,
    attempts: &[&StoredAttempt],
    project: impl Fn(Uuid) -> &'a str,
) -> Result<Vec<Used>, sqlx::Error> {
    if attempts.is_empty() {
        return Ok(Vec::new());
    }
    let rows = || attempts.iter().map(|attempt| &attempt.row);
    let places: Vec<i64> = sqlx::query_scalar(
        "select asked.place
        from unnest($1::uuid[], $2::int4[], $3::int4[], $4::uuid[])
            with ordinality as asked (audit_id, unit, number, fingerprint, place)
        left join lateral (
            select fingerprint from groundcrew.attempts as stored
            where stored.audit_id = asked.audit_id and stored.unit = asked.unit
                and stored.number = asked.number
            limit 1
        ) as stored on true
        where stored.fingerprint is distinct from asked.fingerprint",
    )
    .bind(rows().map(|row| row.audit_id).collect::<Vec<_>>())
    .bind(rows().map(|row| row.unit).collect::<Vec<_>>())
    .bind(rows().map(|row| row.number).collect::<Vec<_>>())
    .bind(rows().map(|row| row.fingerprint).collect::<Vec<_>>())
    .fetch_all(connection)
    .await?;
    let row = |place: i64| rows().nth(usize::try_from(place - 1).ok()?);
    Ok(places.into_iter().filter_map(row).map(|row| Used::of(project(row.audit_id), row)).collect())
}

/// Writes attempts; those that are there already are the same, see [`clashing`]. Gives what the new ones took:
/// an attempt that is written again is not paid for again. `project` says whose audit it is.
pub(crate) async fn insert_attempts<'a>(
    connection: &mut PgConnection,
    attempts: &[&StoredAttempt],
    project: impl Fn(Uuid) -> &'a str,
) -> Result<Vec<Used>, sqlx::Error> {
    static ATTEMPTS: LazyLock<String> = LazyLock::new(|| {
        AttemptRow::insert(
            &[],
            "on conflict on constraint attempts_key do nothing returning audit_id, unit, number",
        )
    });
    static BODIES: LazyLock<String> = LazyLock::new(|| AttemptBodyRow::insert(&[STORED_AT], ""));
    if attempts.is_empty() {
        return Ok(Vec::new());
    }
    let rows = attempts.iter().map(|attempt| attempt.row.clone());
    let written = AttemptRow::bind(&ATTEMPTS, rows).fetch_all(&mut *connection).await?;
    let mut new: HashSet<Place> = HashSet::new();
    for row in written {
        new.insert((row.try_get("audit_id")?, row.try_get("unit")?, row.try_get("number")?));
    }
    let new: Vec<&StoredAttempt> =
        attempts.iter().copied().filter(|attempt| new.remove(&attempt.row.place())).collect();
    if !new.is_empty() {
        let bodies = new.iter().map(|attempt| attempt.body.clone());
        AttemptBodyRow::bind(&BODIES, bodies).execute(connection).await?;
    }
    Ok(new.iter().map(|attempt| Used::of(project(attempt.row.audit_id), &attempt.row)).collect())
}
