//! The end of an audit: all of it or nothing, once.

use std::time::Duration;

use audit::routing::Disposition;
use futures_util::future::join_all;
use sqlx::Row;
use store::Finished;

use crate::fixture::{Database, in_database};
use crate::sample::{at, ending, key, passed, trace, trace_with, unjudged};

async fn rows(database: &Database) -> Vec<(String, i64)> {
    sqlx::query_as(
        "select 'traces', count(*) from groundcrew.traces union all
        select 'audits', count(*) from groundcrew.audits union all
        select 'attempts', count(*) from groundcrew.attempts union all
        select 'claims', count(*) from groundcrew.claims union all
        select 'omissions', count(*) from groundcrew.omissions union all
        select 'review_items', count(*) from groundcrew.review_items union all
        select 'outbox', count(*) from groundcrew.outbox",
    )
    .fetch_all(&database.pool)
    .await
    .unwrap()
}

fn counts(of: [i64; 7]) -> Vec<(String, i64)> {
    let tables = ["traces", "audits", "attempts", "claims", "omissions", "review_items", "outbox"];
    tables.iter().map(|name| (*name).to_owned()).zip(of).collect()
}

#[tokio::test]
async fn an_ending_is_written_whole_and_once() {
    in_database(|database, store| async move {
        let ending = ending(&trace("a"));
        assert_eq!(store.finish(&ending).await.unwrap(), Finished::Committed);
        assert_eq!(store.finish(&ending).await.unwrap(), Finished::AlreadyEnded);
        assert_eq!(rows(&database).await, counts([1, 1, 2, 2, 1, 1, 2]));

        let row = sqlx::query("select * from groundcrew.audits").fetch_one(&database.pool).await.unwrap();
        assert_eq!(row.get::<&str, _>("disposition"), "escalated");
        assert_eq!(row.get::<&str, _>("decision"), "block");
        assert_eq!(row.get::<&str, _>("model_answered"), "judge-large-2025");
        assert_eq!(row.get::<f64, _>("score").to_bits(), 0.5_f64.to_bits());
        assert_eq!((row.get::<i32, _>("attempts_total"), row.get::<i32, _>("replies_total")), (2, 2));
        assert_eq!((row.get::<i32, _>("claims_total"), row.get::<i32, _>("claims_contradicted")), (2, 1));
        assert!(!row.get::<bool, _>("final"), "a review item is open on it");
        let item =
            sqlx::query("select * from groundcrew.review_items").fetch_one(&database.pool).await.unwrap();
        assert_eq!(item.get::<serde_json::Value, _>("evidence"), ending.events[1].body);
    })
    .await;
}

#[tokio::test]
async fn what_was_not_judged_has_no_numbers() {
    in_database(|database, store| async move {
        store.finish(&unjudged(&trace("a"), Disposition::Incomplete)).await.unwrap();
        let row = sqlx::query("select * from groundcrew.audits").fetch_one(&database.pool).await.unwrap();
        assert_eq!(row.get::<Option<f64>, _>("score"), None);
        assert_eq!(row.get::<Option<i32>, _>("claims_total"), None);
        assert!(row.get::<bool, _>("final"));
        assert_eq!(row.get::<serde_json::Value, _>("trace_problems")[0]["path"], "$.answer");
    })
    .await;
}

/// The caller learns of it as of a bug; no row ever has it.
#[tokio::test]
async fn a_number_that_is_none_becomes_no_score() {
    in_database(|database, store| async move {
        let mut ending = passed(&trace("a"));
        ending.report.as_mut().unwrap().score = Some(f64::NAN);
        ending.report.as_mut().unwrap().coverage = Some(f64::INFINITY);
        store.finish(&ending).await.unwrap();
        assert_eq!(database.count("select count(*) from groundcrew.audits where score is null").await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_endings_of_one_audit_one_counts() {
    in_database(|database, store| async move {
        let other_worker = database.store();
        let copies = (0..40).map(|copy| {
            let store = if copy % 2 == 0 { store.clone() } else { other_worker.clone() };
            let ending = ending(&trace(&format!("t{}", copy % 4)));
            async move { store.finish(&ending).await.unwrap() }
        });
        let outcomes = join_all(copies).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Finished::Committed).count(), 4);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Finished::AlreadyEnded).count(), 36);
        assert_eq!(rows(&database).await, counts([4, 4, 8, 8, 4, 4, 8]));
        other_worker.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_ending_spoils_only_itself() {
    in_database(|database, store| async move {
        let mut endings: Vec<_> = (0..100).map(|id| ending(&trace(&format!("t{id}")))).collect();
        // The same message id twice violates the outbox's key.
        let event = endings[50].events[0].clone();
        endings[50].events.push(event);
        let outcomes = join_all(endings.iter().map(|ending| store.finish(ending))).await;
        for (at, outcome) in outcomes.iter().enumerate() {
            match outcome {
                Ok(outcome) => assert_eq!(*outcome, Finished::Committed),
                Err(error) => assert!(at == 50 && error.is_data() && !error.is_transient(), "{error:?}"),
            }
        }
        assert!(outcomes[50].is_err());
        assert_eq!(rows(&database).await, counts([99, 99, 198, 198, 99, 99, 198]), "nothing of the bad one");
    })
    .await;
}

#[tokio::test]
async fn a_dropped_caller_changes_nothing_and_close_waits() {
    in_database(|database, store| async move {
        let ending_a = ending(&trace("a"));
        let mut finish = Box::pin(store.finish(&ending_a));
        // One poll hands it over; then the caller goes away, as on a time-out or an abort.
        assert!(futures_util::poll!(&mut finish).is_pending());
        drop(finish);
        store.close().await;
        assert_eq!(rows(&database).await, counts([1, 1, 2, 2, 1, 1, 2]));
        let late = store.finish(&ending(&trace("b"))).await;
        assert!(matches!(late, Err(store::Error::Closed)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_transient_and_the_next_try_succeeds() {
    in_database(|database, store| async move {
        // The lock holds the writer back until its connection is ended.
        let mut holder = database.pool.begin().await.unwrap();
        sqlx::query("lock table groundcrew.traces in exclusive mode").execute(&mut *holder).await.unwrap();
        let waiting = tokio::spawn({
            let store = store.clone();
            async move { store.finish(&ending(&trace("a"))).await }
        });
        let blocked = "select count(*) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'";
        while database.count(blocked).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        database
            .execute(
                "select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock'",
            )
            .await;
        let error = waiting.await.unwrap().unwrap_err();
        assert!(error.is_transient() && !error.is_data(), "{error:?}");
        holder.rollback().await.unwrap();
        assert_eq!(store.finish(&ending(&trace("a"))).await.unwrap(), Finished::Committed);
    })
    .await;
}

#[tokio::test]
async fn a_lock_that_is_held_too_long_is_transient() {
    in_database(|database, _| async move {
        let settings = store::Settings { lock_timeout: Duration::from_millis(50), ..database.settings() };
        let store = store::Store::connect(&settings).unwrap();
        let mut holder = database.pool.begin().await.unwrap();
        sqlx::query("lock table groundcrew.traces in exclusive mode").execute(&mut *holder).await.unwrap();
        let error = store.finish(&ending(&trace("a"))).await.unwrap_err();
        assert!(error.is_transient(), "{error:?}");
        holder.rollback().await.unwrap();
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn other_content_of_a_trace_id_is_noted() {
    in_database(|database, store| async move {
        let second = trace_with(serde_json::json!({ "trace_id": "a", "answer": "Something else." }));
        store.finish(&passed(&trace("a"))).await.unwrap();
        store.finish(&passed(&second)).await.unwrap();
        assert_eq!(database.count("select count(*) from groundcrew.audits where other_content").await, 1);
        assert_eq!(database.count("select count(*) from groundcrew.traces").await, 2);
    })
    .await;
}

#[tokio::test]
async fn kinds_and_generations_share_a_trace_and_a_later_label_is_taken_over() {
    in_database(|database, store| async move {
        store.finish(&passed(&trace("a"))).await.unwrap();
        let labelled = trace_with(serde_json::json!({
            "trace_id": "a", "human_label": { "labeler": "ann", "faithful": false, "score": 0.2 },
        }));
        let mut again = passed(&labelled);
        again.key.generation = 1;
        again.events.clear();
        again.ended_at = at(60);
        assert_eq!(store.finish(&again).await.unwrap(), Finished::Committed);
        assert_eq!(database.count("select count(*) from groundcrew.audits").await, 2);
        let labelled_once =
            "select count(*) from groundcrew.traces where human_labeler = 'ann' and not human_faithful";
        assert_eq!(database.count(labelled_once).await, 1);

        let comparison = store
            .relabel(&key(&trace("a")), labelled.human_label.as_ref().unwrap())
            .await
            .unwrap()
            .expect("the audit has judged");
        assert_eq!(comparison.agreement, Some(false));
        let noted = "select count(*) from groundcrew.audits
            where generation = 0 and not human_agreement and discrepancy_notes <> ''";
        assert_eq!(database.count(noted).await, 1);

        let by_claim = serde_json::from_value(serde_json::json!({ "claims": [
            { "text": "label of a claim", "start": 0, "end": 10_000, "verdict": "contradicted" },
        ] }))
        .unwrap();
        let comparison =
            store.relabel(&key(&trace("a")), &by_claim).await.unwrap().expect("the audit has judged");
        assert!(comparison.discrepancy_notes.contains("labelled claims"), "{comparison:?}");
    })
    .await;
}
