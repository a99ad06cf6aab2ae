//! The end of an audit: everything that must be true together, many audits per commit.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;
use std::time::Duration;

use audit::record::Ending;
use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool, Row};
use uuid::Uuid;

use crate::error::is_data;
use crate::keep::{OpeningKey, clashing, insert_attempts, insert_traces, lock, unstored};
use crate::rows::{
    AuditRow, ClaimRow, EventRow, GateCallRow, OmissionRow, ReviewRow, StoredAttempt, StoredTrace,
    stored_attempts, stored_trace,
};
use crate::{Error, OutboxRow, Result, Store, usage};

/// What became of an ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// Everything of it is durable.
    Committed,
    /// The audit had ended before; nothing of this ending was written but what its attempts took. Also the answer when
    /// the same ending is written again, which counts nothing.
    AlreadyEnded,
    /// Another worker has opened the audit otherwise or made the same attempt. Nothing was written but what the
    /// attempts took: look it up again, and yield.
    LostRace,
}

/// The largest transaction, in bytes of bodies. A message to the server ends at a gibibyte.
const ROUND_BYTES: usize = 32 << 20;

/// An ending as rows.
#[derive(Debug)]
pub(crate) struct Prepared {
    trace: StoredTrace,
    audit: AuditRow,
    attempts: Vec<StoredAttempt>,
    claims: Vec<ClaimRow>,
    omissions: Vec<OmissionRow>,
    review: Option<ReviewRow>,
    events: Vec<EventRow>,
    gate: Option<GateCallRow>,
    bytes: usize,
}

impl Store {
    /// Ends an audit: trace, audit, claims, omissions, attempts, review item, messages and the call of the gate, in one
    /// transaction with the endings of concurrent callers. Of several endings of one audit exactly
    /// one is [`Finished::Committed`].
    ///
    /// Dropping the future does not undo it. After an error the outcome is unknown, and calling
    /// again is safe.
    ///
    /// # Errors
    /// When it is not known to be durable. [`Error::is_data`]: the database refuses this ending, whatever
    /// is tried; its neighbours in the batch are not affected.
    pub async fn finish(&self, ending: &Ending) -> Result<Finished> {
        // Compression is the caller's work, so that it is spread over all threads.
        self.endings().ask(Prepared::new(ending, None)?).await
    }

    /// Ends an audit as [`Store::finish`] does, and gives its messages to the caller, who publishes them at once and
    /// marks them: nobody else leases them for `lease_for`, counted from the call. None when nothing was committed.
    ///
    /// # Errors
    /// As [`Store::finish`]. What was committed in spite of an error goes out when the lease is over.
    pub async fn finish_in_hand(
        &self,
        ending: &Ending,
        lease_for: Duration,
    ) -> Result<(Finished, Vec<OutboxRow>)> {
        let prepared = Prepared::new(ending, Some(Utc::now() + lease_for))?;
        let messages = prepared.events.iter().map(OutboxRow::from).collect();
        Ok(match self.endings().ask(prepared).await? {
            Finished::Committed => (Finished::Committed, messages),
            other => (other, Vec::new()),
        })
    }
}

impl Prepared {
    fn new(ending: &Ending, leased_until: Option<DateTime<Utc>>) -> Result<Self> {
        let id = ending.key.id();
        let report = ending.report.as_ref();
        let claims = report.map(|report| report.claims.as_slice()).unwrap_or_default();
        let omissions = report.map(|report| report.omissions.as_slice()).unwrap_or_default();
        let trace = stored_trace(&ending.key, &ending.trace)?;
        let attempts = stored_attempts(id, &ending.attempts)?;
        let events: Vec<_> =
            ending.events.iter().map(|event| EventRow::new(ending, event, leased_until)).collect();
        // The answer, the replies' words and the messages repeat what the bodies hold.
        let bytes = trace.body.payload.len()
            + trace.row.answer.as_deref().map_or(0, str::len)
            + events.iter().map(|event| event.body.len()).sum::<usize>()
            + attempts.iter().map(attempt_bytes).sum::<usize>();
        Ok(Self {
            audit: AuditRow::ended(ending),
            claims: claims.iter().enumerate().map(|(at, claim)| ClaimRow::new(id, at, claim)).collect(),
            omissions: omissions
                .iter()
                .enumerate()
                .map(|(at, fact)| OmissionRow::new(id, at, fact))
                .collect(),
            review: ReviewRow::of(ending),
            gate: GateCallRow::of(ending),
            trace,
            attempts,
            events,
            bytes,
        })
    }
}

fn attempt_bytes(attempt: &StoredAttempt) -> usize {
    let body = &attempt.body;
    body.request.len()
        + body.raw_reply.as_deref().map_or(0, <[u8]>::len)
        + body.content.as_deref().map_or(0, str::len)
}

/// Writes what waits, in as few transactions as may be.
pub(crate) async fn all(pool: PgPool, worker: Uuid, endings: Vec<Prepared>) -> Vec<Result<Finished>> {
    let mut answers: Vec<_> = endings.iter().map(|_| Err(Error::Closed)).collect();
    for round in rounds(endings.iter().map(|ending| (ending.audit.id, ending.bytes))) {
        let batch: Vec<&Prepared> = round.iter().map(|at| &endings[*at]).collect();
        match commit(&pool, worker, &batch).await {
            Ok(done) => round.iter().zip(done).for_each(|(at, done)| answers[*at] = Ok(done)),
            // One of them may be to blame: each alone, so that it fails alone.
            Err(error) if batch.len() > 1 && is_data(&error) => {
                for at in round {
                    answers[at] = alone(&pool, worker, &endings[at]).await;
                }
            }
            Err(error) => {
                let error = Error::cannot("finish audits")(error);
                round.iter().for_each(|at| answers[*at] = Err(error.clone()));
            }
        }
    }
    answers
}

/// Places of endings, each given as its audit and its size in bytes, by transaction.
///
/// Each audit occurs once in a transaction, in the order of ids, which is the order of locks; a second
/// ending of the same audit comes in a later one and finds it ended.
fn rounds(endings: impl Iterator<Item = (Uuid, usize)>) -> Vec<Vec<usize>> {
    let mut rounds: Vec<(usize, BTreeMap<Uuid, usize>)> = Vec::new();
    for (at, (id, size)) in endings.enumerate() {
        // After the last round that has this audit, so that endings of one audit keep their order.
        let from = rounds.iter().rposition(|(_, round)| round.contains_key(&id)).map_or(0, |last| last + 1);
        let fits = |bytes: usize| bytes.saturating_add(size) <= ROUND_BYTES;
        match rounds.iter_mut().skip(from).find(|(bytes, _)| fits(*bytes)) {
            Some((bytes, round)) => {
                *bytes += size;
                round.insert(id, at);
            }
            None => rounds.push((size, BTreeMap::from([(id, at)]))),
        }
    }
    rounds.into_iter().map(|(_, round)| round.into_values().collect()).collect()
}

async fn alone(pool: &PgPool, worker: Uuid, ending: &Prepared) -> Result<Finished> {
    let done = commit(pool, worker, &[ending]).await.map_err(Error::cannot("finish an audit"))?;
    Ok(done.first().copied().unwrap_or(Finished::LostRace))
}

/// Writes endings of different audits, sorted by id, in one transaction.
async fn commit(pool: &PgPool, worker: Uuid, endings: &[&Prepared]) -> Result<Vec<Finished>, sqlx::Error> {
    let mut transaction = pool.begin().await?;
    let traces: BTreeMap<Uuid, &StoredTrace> =
        endings.iter().map(|ending| (ending.trace.row.id, &ending.trace)).collect();
    insert_traces(&mut transaction, traces.into_values().collect()).await?;
    let new = insert_new(&mut transaction, endings).await?;
    let (new, known): (Vec<&Prepared>, Vec<&Prepared>) =
        endings.iter().partition(|ending| new.contains(&ending.audit.id));
    let outcomes = settle(&mut transaction, &known).await?;
    let outcome = |ending: &Prepared| outcomes.get(&ending.audit.id).copied().unwrap_or(Finished::Committed);
    let open: Vec<&Prepared> =
        known.into_iter().filter(|ending| outcome(ending) == Finished::Committed).collect();
    let committed: Vec<&Prepared> = new.into_iter().chain(open.iter().copied()).collect();
    let projects: HashMap<Uuid, &str> =
        endings.iter().map(|ending| (ending.audit.id, ending.audit.project.as_str())).collect();
    let project = |audit| projects.get(&audit).copied().unwrap_or_default();
    let attempts: Vec<&StoredAttempt> = committed.iter().flat_map(|ending| &ending.attempts).collect();
    let mut used = insert_attempts(&mut transaction, &attempts, project).await?;
    let lost = endings.iter().filter(|ending| outcome(ending) != Finished::Committed);
    let lost: Vec<&StoredAttempt> = lost.flat_map(|ending| &ending.attempts).collect();
    used.extend(unstored(&mut transaction, &lost, project).await?);
    end_open(&mut transaction, &open).await?;
    insert_findings(&mut transaction, &committed).await?;
    usage::add(&mut transaction, worker, used).await?;
    transaction.commit().await?;
    Ok(endings.iter().map(|ending| outcome(ending)).collect())
}

fn rows_of<Row: Clone>(endings: &[&Prepared], rows: impl Fn(&Prepared) -> &[Row]) -> Vec<Row> {
    endings.iter().flat_map(|ending| rows(ending)).cloned().collect()
}

/// Whether the trace id had come with other content.
const OTHER_CONTENT: (&str, &str) = (
    "other_content",
    "exists (select from groundcrew.traces as other where other.project = row.project
        and other.trace_id = row.trace_id and other.content_hash <> row.content_hash)",
);

/// The usual case: an audit that nobody has opened is written as ended at once. Gives their ids.
async fn insert_new(
    connection: &mut PgConnection,
    endings: &[&Prepared],
) -> Result<HashSet<Uuid>, sqlx::Error> {
    static NEW: LazyLock<String> =
        LazyLock::new(|| AuditRow::insert(&[OTHER_CONTENT], "on conflict (id) do nothing returning id"));
    let rows = endings.iter().map(|ending| ending.audit.clone());
    let new = AuditRow::bind(&NEW, rows).fetch_all(connection).await?;
    new.iter().map(|row| row.try_get("id")).collect()
}

/// Locks audits that are there already, and decides which of these endings count.
async fn settle(
    connection: &mut PgConnection,
    known: &[&Prepared],
) -> Result<HashMap<Uuid, Finished>, sqlx::Error> {
    if known.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = known.iter().map(|ending| ending.audit.id).collect();
    let states = lock(connection, &ids).await?;
    let clashing =
        clashing(connection, known.iter().flat_map(|ending| &ending.attempts).map(|attempt| &attempt.row))
            .await?;
    let decide = |ending: &&Prepared| {
        let id = ending.audit.id;
        let outcome = match states.get(&id) {
            Some(state) if state.has_ended => Finished::AlreadyEnded,
            Some(state) if state.is_open_as(&OpeningKey::of(&ending.audit)) && !clashing.contains(&id) => {
                Finished::Committed
            }
            _ => Finished::LostRace,
        };
        (id, outcome)
    };
    Ok(known.iter().map(decide).collect())
}

/// What an end adds to an open audit. Key and opening stay; the attempts are counted separately.
const RESULT: &[&str] = &[
    "disposition",
    "decision",
    "severity",
    "score",
    "score_by_rule",
    "claims_total",
    "claims_grounded",
    "claims_contradicted",
    "claims_unsupported",
    "claims_insufficient",
    "omissions_total",
    "coverage",
    "doubts",
    "discrepancies",
    "notes",
    "overall_assessment",
    "human_agreement",
    "discrepancy_notes",
    "reasons",
    "trace_problems",
    "provenance",
    "uncalibrated",
    "practice",
    "urgent",
    "other_content",
    "ended_at",
    "final",
];

/// Ends audits that are open and locked, after their attempts were written. An upsert, although the
/// rows are there, since it always finds them by the index, whatever the size of the table was when
/// the plan was made.
async fn end_open(connection: &mut PgConnection, endings: &[&Prepared]) -> Result<(), sqlx::Error> {
    static END: LazyLock<String> = LazyLock::new(|| {
        let set: String = RESULT.iter().map(|column| format!("{column} = excluded.{column}, ")).collect();
        let count = "select count(*) from groundcrew.attempts where attempts.audit_id = excluded.id";
        let model = "select attempts.model_answered from groundcrew.attempts
            where attempts.audit_id = excluded.id and attempts.class = 'accepted'
            order by attempts.started_at desc limit 1";
        AuditRow::insert(
            &[OTHER_CONTENT],
            &format!(
                "on conflict (id) do update set {set}
                model_answered = ({model}),
                attempts_total = ({count}),
                replies_total = ({count} and attempts.class in ('accepted', 'format', 'content', 'refusal'))"
            ),
        )
    });
    if endings.is_empty() {
        return Ok(());
    }
    AuditRow::bind(&END, endings.iter().map(|ending| ending.audit.clone())).execute(connection).await?;
    Ok(())
}

/// Writes what belongs to ended audits beside their attempts.
async fn insert_findings(connection: &mut PgConnection, endings: &[&Prepared]) -> Result<(), sqlx::Error> {
    static CLAIMS: LazyLock<String> = LazyLock::new(|| ClaimRow::insert(&[], ""));
    static OMISSIONS: LazyLock<String> = LazyLock::new(|| OmissionRow::insert(&[], ""));
    static REVIEWS: LazyLock<String> = LazyLock::new(|| ReviewRow::insert(&[], ""));
    static EVENTS: LazyLock<String> = LazyLock::new(|| EventRow::insert(&[], ""));
    // A call that was claimed when it came is ended; one that somebody has given up for lost stays so.
    static GATE_CALLS: LazyLock<String> = LazyLock::new(|| {
        GateCallRow::insert(
            &[],
            "on conflict (id) do update set audit_id = excluded.audit_id, outcome = excluded.outcome,
                verdict = excluded.verdict, action = excluded.action, judge_us = excluded.judge_us,
                total_us = excluded.total_us, response = excluded.response, ended_at = excluded.ended_at,
                expires_at = null,
                -- Nobody was there to be answered: the key is free for who asks again.
                idempotency_key =
                    case when excluded.outcome <> 'client_gone' then gate_calls.idempotency_key end
            where gate_calls.ended_at is null",
        )
    });
    let claims = rows_of(endings, |ending| &ending.claims);
    if !claims.is_empty() {
        ClaimRow::bind(&CLAIMS, claims).execute(&mut *connection).await?;
    }
    let omissions = rows_of(endings, |ending| &ending.omissions);
    if !omissions.is_empty() {
        OmissionRow::bind(&OMISSIONS, omissions).execute(&mut *connection).await?;
    }
    let reviews = rows_of(endings, |ending| ending.review.as_slice());
    if !reviews.is_empty() {
        ReviewRow::bind(&REVIEWS, reviews).execute(&mut *connection).await?;
    }
    let events = rows_of(endings, |ending| &ending.events);
    if !events.is_empty() {
        EventRow::bind(&EVENTS, events).execute(&mut *connection).await?;
    }
    let calls = rows_of(endings, |ending| ending.gate.as_slice());
    if !calls.is_empty() {
        GateCallRow::bind(&GATE_CALLS, calls).execute(&mut *connection).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(endings: &[(u128, usize)]) -> Vec<Vec<usize>> {
        rounds(endings.iter().map(|(id, size)| (Uuid::from_u128(*id), *size)))
    }

    #[test]
    fn a_round_is_sorted_by_audit_and_holds_each_once() {
        assert_eq!(of(&[(3, 1), (1, 1), (2, 1)]), [[1, 2, 0]]);
        assert_eq!(of(&[(1, 1), (1, 1), (2, 1), (1, 1)]), [vec![0, 2], vec![1], vec![3]]);
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn a_round_stays_below_the_size_of_a_message() {
        let half = ROUND_BYTES / 2;
        assert_eq!(of(&[(1, half), (2, half), (3, 1), (4, half)]), [vec![0, 1], vec![2, 3]]);
        assert_eq!(of(&[(1, usize::MAX), (2, 1)]), [[0], [1]], "a large one goes alone");
        // The second ending of an audit never comes before the first.
        assert_eq!(of(&[(1, half), (2, ROUND_BYTES), (2, 1)]), [[0], [1], [2]]);
    }
}
