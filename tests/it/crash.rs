//! `kill -9` of a worker at every step of an audit. Whatever the step: one terminal row, one review item, attempts
//! without gaps, and not one reply more than the budget and the interruption allow.

use practice::{CannedReply, Fault};
use queue::Lane;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection};
use testkit::material::{TraceBuilder, WRONG_FARE, trace, wrong_fare};
use testkit::{Checker, Direction, Fate, PATIENCE, System, wait_for, wait_until_equal};

const ID: &str = "t";

/// A trace that ends with a review item.
fn dangerous() -> TraceBuilder {
    trace(ID).saying(WRONG_FARE)
}

fn finds_it() -> CannedReply {
    CannedReply::content(wrong_fare("critical"))
}

/// A session that holds a table until it is dropped.
async fn hold(system: &System, table: &str) -> PgConnection {
    let mut session = system.database.session().await;
    sqlx::query("begin").execute(&mut session).await.unwrap();
    let lock = AssertSqlSafe(format!("lock table groundcrew.{table} in access exclusive mode"));
    sqlx::query(lock).execute(&mut session).await.unwrap();
    session
}

/// Waits until somebody waits for that table.
async fn blocked(system: &System, table: &str) {
    wait_for(&format!("a worker that waits for {table}"), PATIENCE, async || {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_locks l join pg_class c on c.oid = l.relation
             where not l.granted and c.relname = $1
               and l.database = (select oid from pg_database where datname = current_database())",
        )
        .bind(table)
        .fetch_one(&system.database.pool)
        .await
        .unwrap();
        (waiting > 0).then_some(())
    })
    .await;
}

async fn let_go(mut session: PgConnection) {
    sqlx::query("rollback").execute(&mut session).await.unwrap();
}

async fn judge_asked(system: &System, times: u64) {
    let what = format!("call {times} of the judge");
    wait_for(&what, PATIENCE, async || (system.judge.calls(ID).received >= times).then_some(())).await;
}

/// Lets workers do all that is to be done. Each is stopped again: what it has not acked is back in its queue then, so
/// that empty queues prove that all was acked.
async fn finish_everything(system: &System) {
    wait_until_equal("queues that stay empty", PATIENCE * 2, Vec::<String>::new(), async || {
        // The broker has to know first that the one before is gone.
        system.consumers(0).await;
        let mut worker = system.worker_process();
        system.consumers(1).await;
        system.taken(Lane::Normal).await;
        system.outbox_empty().await;
        worker.terminate();
        assert_eq!(worker.ended(PATIENCE).await.code(), Some(0), "{}", worker.log());
        system.consumers(0).await;
        system.waiting().await
    })
    .await;
}

/// Lets the next worker go on, and the checker look at everything.
async fn goes_on(system: &System, disposition: &str, most_calls: u64) -> Value {
    finish_everything(system).await;
    let audit = system.ended(ID).await;
    assert_eq!(audit["disposition"], disposition, "{audit}");
    assert_eq!(audit["duplicates"], json!(0), "a redelivery is no duplicate of the producer");
    assert!(system.judge.calls(ID).received <= most_calls, "{:?}", system.judge.calls(ID));

    let mut checker = Checker::default();
    checker.attempt(ID, Fate::Audit);
    checker.confirm(ID);
    let findings = checker.check(system, 1, 1).await;
    assert_eq!(findings.violations(), Vec::<String>::new(), "\n{findings}");
    assert_eq!((findings.audits, findings.review_items), (1, 1), "\n{findings}");

    // One message id for each message, however often it was sent.
    let announced = system.announced().await;
    for key in [format!("audit.{disposition}"), "review.opened".to_owned()] {
        let mut ids: Vec<_> =
            announced.iter().filter(|seen| seen.routing_key == key).map(|seen| &seen.message_id).collect();
        ids.dedup();
        assert_eq!(ids.len(), 1, "{key}: {ids:?}");
    }
    audit
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_lookup() {
    let system = System::builder().replies(ID, [finds_it()]).start().await;
    let worker = system.worker_process();
    system.consumers(1).await;
    let session = hold(&system, "audits").await;
    system.publish(&dangerous()).await;
    blocked(&system, "audits").await;
    worker.kill();
    let_go(session).await;
    goes_on(&system, "escalated", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_during_the_call() {
    let system = System::builder().replies(ID, [CannedReply::fault(Fault::Hang), finds_it()]).start().await;
    let worker = system.worker_process();
    system.publish(&dangerous()).await;
    judge_asked(&system, 1).await;
    worker.kill();
    assert!(system.audits(ID).await.is_empty(), "a first call leaves no row");
    goes_on(&system, "escalated", 2).await;
    let attempts = system.attempts(ID).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["number"], json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_during_the_second_call_goes_on_with_the_second_attempt() {
    let nonsense = || CannedReply::content("nonsense");
    let system = System::builder()
        .replies(ID, [nonsense(), CannedReply::fault(Fault::Hang), nonsense(), finds_it()])
        .start()
        .await;
    let worker = system.worker_process();
    system.publish(&dangerous()).await;
    judge_asked(&system, 2).await;
    let open = system.audits(ID).await;
    assert_eq!(open.len(), 1, "the audit was opened before the second call");
    assert_eq!((&open[0]["disposition"], &open[0]["replies_total"]), (&Value::Null, &json!(1)));
    worker.kill();

    // The second reply is unreadable too: were the budget given back, the third would be asked for.
    let audit = goes_on(&system, "unreadable", 3).await;
    for fixed in ["nonce", "prompt_version", "judge", "opened_at"] {
        assert_eq!(audit[fixed], open[0][fixed], "{fixed} is fixed when the audit is opened");
    }
    let attempts = system.attempts(ID).await;
    let told: Vec<_> = attempts.iter().map(|attempt| (&attempt["number"], &attempt["class"])).collect();
    assert_eq!(told, [(&json!(1), &json!("format")), (&json!(2), &json!("format"))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_last_commit() {
    let system = System::builder().replies(ID, [finds_it()]).start().await;
    let worker = system.worker_process();
    system.consumers(1).await;
    let session = hold(&system, "claims").await;
    system.publish(&dangerous()).await;
    blocked(&system, "claims").await;
    worker.kill();
    let_go(session).await;
    goes_on(&system, "escalated", 2).await;
    assert_eq!(system.claims(ID).await.len(), 6);
}

/// A session that holds up every commit of an audit at its last moment, until it is dropped: the server waits inside
/// of the commit itself, after all statements.
async fn hold_commits(system: &System) -> PgConnection {
    const KEY: &str = "4711";
    let mut session = system.database.session().await;
    for statement in [
        format!(
            "create function groundcrew.test_wait() returns trigger language plpgsql as
             $$ begin perform pg_advisory_xact_lock_shared({KEY}); return null; end $$"
        ),
        "create constraint trigger test_wait after insert or update on groundcrew.audits
         deferrable initially deferred for each row execute function groundcrew.test_wait()"
            .to_owned(),
        "begin".to_owned(),
        format!("select pg_advisory_xact_lock({KEY})"),
    ] {
        sqlx::query(AssertSqlSafe(statement)).execute(&mut session).await.unwrap();
    }
    session
}

async fn committing(system: &System) {
    wait_for("a commit that is held up", PATIENCE, async || {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_locks where locktype = 'advisory' and not granted
               and database = (select oid from pg_database where datname = current_database())",
        )
        .fetch_one(&system.database.pool)
        .await
        .unwrap();
        (waiting > 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_the_server_commits() {
    let system = System::builder().replies(ID, [finds_it()]).start().await;
    let worker = system.worker_process();
    system.consumers(1).await;
    let session = hold_commits(&system).await;
    system.publish(&dangerous()).await;
    committing(&system).await;
    worker.kill();
    let_go(session).await;
    // The server finishes what nobody waits for any more.
    let committed = system.ended(ID).await;
    let audit = goes_on(&system, "escalated", 1).await;
    assert_eq!(audit["ended_at"], committed["ended_at"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_was_lost_is_repeated_and_counts_once() {
    let system = System::builder().replies(ID, [finds_it()]).start().await;
    let worker = system.worker().await;
    let session = hold_commits(&system).await;
    system.publish(&dangerous()).await;
    committing(&system).await;
    system.to_database.blackhole(Direction::ToClient);
    let_go(session).await;
    let committed = system.ended(ID).await;
    // The worker learns that its connection is gone, and not what became of its commit.
    system.to_database.cut();
    system.to_database.heal();

    system.outbox_empty().await;
    worker.stop(PATIENCE).await;
    assert_eq!(system.waiting().await, Vec::<String>::new(), "it was acked");
    let audit = system.ended(ID).await;
    assert_eq!(audit["ended_at"], committed["ended_at"]);
    assert_eq!(audit["duplicates"], json!(0), "the worker's own second try is no duplicate of the producer");
    assert_eq!(system.judge.calls(ID).received, 1);
    let mut checker = Checker::default();
    checker.attempt(ID, Fate::Audit);
    checker.confirm(ID);
    let findings = checker.check(&system, 0, 0).await;
    assert_eq!(findings.violations(), Vec::<String>::new(), "\n{findings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_commit_and_before_the_ack() {
    let system = System::builder().replies(ID, [finds_it()]).start().await;
    let worker = system.worker_process();
    system.consumers(1).await;
    system.to_judge.blackhole(Direction::ToClient);
    system.publish(&dangerous()).await;
    judge_asked(&system, 1).await;
    // From now on the broker hears nothing of this worker.
    system.to_broker.blackhole(Direction::ToServer);
    system.to_judge.heal();
    let committed = system.ended(ID).await;
    worker.kill();
    system.to_broker.cut();
    system.to_broker.heal();

    let audit = goes_on(&system, "escalated", 1).await;
    assert_eq!(audit["ended_at"], committed["ended_at"], "the redelivery changed nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_publishing_and_before_the_confirm() {
    let system = System::builder().replies(ID, [finds_it()]).replies("warm", [finds_it()]).start().await;
    let worker = system.worker_process();
    // So that a channel is open to publish on: opening one would need an answer.
    system.publish(&trace("warm").saying(WRONG_FARE)).await;
    system.ended("warm").await;
    system.outbox_empty().await;
    system.to_judge.blackhole(Direction::ToClient);
    system.publish(&dangerous()).await;
    judge_asked(&system, 1).await;
    // From now on the worker hears nothing of the broker.
    system.to_broker.blackhole(Direction::ToClient);
    system.to_judge.heal();
    let published = async || {
        let announced = system.announced().await;
        announced
            .iter()
            .filter(|seen| seen.routing_key == "audit.escalated" && seen.body["trace_id"] == ID)
            .count()
    };
    wait_until_equal("the event at the broker", PATIENCE, true, async || published().await >= 1).await;
    let unsent = system.strings("select routing_key from groundcrew.outbox where sent_at is null").await;
    assert!(unsent.contains(&"audit.escalated".to_owned()), "nobody has confirmed it: {unsent:?}");
    worker.kill();
    system.to_broker.cut();
    system.to_broker.heal();

    finish_everything(&system).await;
    assert!(published().await >= 2, "it was published again");
    let announced = system.announced().await;
    let of_trace = |key: &str| -> Vec<_> {
        let mut ids: Vec<_> = announced
            .iter()
            .filter(|seen| seen.routing_key == key && seen.body["trace_id"] == ID)
            .map(|seen| seen.message_id.clone())
            .collect();
        ids.dedup();
        ids
    };
    assert_eq!(of_trace("audit.escalated").len(), 1, "the same message id each time");
    assert_eq!(of_trace("review.opened").len(), 1);
    let mut checker = Checker::default();
    for id in [ID, "warm"] {
        checker.attempt(id, Fate::Audit);
        checker.confirm(id);
    }
    let findings = checker.check(&system, 0, 0).await;
    assert_eq!(findings.violations(), Vec::<String>::new(), "\n{findings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_a_trace_is_parked_it_comes_back_to_the_next_worker() {
    let broken = || CannedReply::fault(Fault::Status500);
    let system = System::builder()
        .replies(ID, [broken(), broken(), broken(), finds_it()])
        .tuned(|tuning| tuning.retry_tiers = vec![std::time::Duration::from_millis(1500)])
        .start()
        .await;
    let worker = system.worker_process();
    system.publish(&dangerous()).await;
    wait_until_equal("three attempts", PATIENCE, 3, async || system.attempts(ID).await.len()).await;
    wait_until_equal("the parked trace", PATIENCE, Some(1), async || {
        let tier = queue::tier_name(system.tuning.retry_tiers[0]);
        system.counts(&tier).await.map(|counts| counts.ready)
    })
    .await;
    worker.kill();
    goes_on(&system, "escalated", 4).await;
    let numbers: Vec<_> =
        system.attempts(ID).await.iter().filter_map(|attempt| attempt["number"].as_i64()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
}
