//! Attempts that are durable before the next call, and races for them.

use audit::policy::Class;
use audit::record::{Attempt, Known};
use futures_util::future::join_all;
use sqlx::Row;
use store::{Finished, Kept};

use crate::fixture::in_database;
use crate::sample::{at, attempt, ending, key, opening, record, trace};

#[tokio::test]
async fn an_interrupted_audit_is_found_as_it_was() {
    in_database(|_, store| async move {
        let trace = trace("a");
        let key = key(&trace);
        assert_eq!(store.lookup(key.clone()).await.unwrap(), Known::New);
        let of_unit = |unit, number| Attempt { unit, ..attempt(number, Class::Content) };
        let stored = [of_unit(0, 1), of_unit(0, 2), of_unit(1, 1), of_unit(1, 2), of_unit(1, 10)];
        // Out of order, and in several commits.
        for of in [&stored[2..3], &stored[0..2], &stored[4..5], &stored[3..4]] {
            let kept = store.keep(&key, &opening("n"), &record(&trace), of).await.unwrap();
            assert_eq!(kept, Kept::Committed);
        }
        let found = store.lookup(key).await.unwrap();
        let expected = Known::Open { opening: opening("n"), attempts: stored.to_vec() };
        assert_eq!(found, expected, "in order, with every byte");
    })
    .await;
}

#[tokio::test]
async fn keeping_the_same_attempt_again_changes_nothing() {
    in_database(|database, store| async move {
        let trace = trace("a");
        let key = key(&trace);
        let one = [attempt(1, Class::Format)];
        for _ in 0..2 {
            let kept = store.keep(&key, &opening("n"), &record(&trace), &one).await.unwrap();
            assert_eq!(kept, Kept::Committed);
        }
        assert_eq!(database.count("select count(*) from groundcrew.attempts").await, 1);
        assert_eq!(database.count("select attempts_total::int8 from groundcrew.audits").await, 1);
        // What was read back is still the same attempt.
        let Known::Open { attempts, .. } = store.lookup(key.clone()).await.unwrap() else { panic!() };
        let kept = store.keep(&key, &opening("n"), &record(&trace), &attempts).await.unwrap();
        assert_eq!(kept, Kept::Committed);
    })
    .await;
}

#[tokio::test]
async fn who_loses_the_race_for_an_attempt_is_told_and_writes_nothing() {
    in_database(|database, store| async move {
        let trace = trace("a");
        let key = key(&trace);
        let first = attempt(1, Class::Format);
        store.keep(&key, &opening("n"), &record(&trace), std::slice::from_ref(&first)).await.unwrap();

        let other = Attempt { raw_reply: Some(b"another reply".to_vec()), ..first.clone() };
        let both = [other.clone(), attempt(2, Class::Accepted)];
        assert_eq!(store.keep(&key, &opening("n"), &record(&trace), &both).await.unwrap(), Kept::LostRace);
        let as_other = store.keep(&key, &opening("other"), &record(&trace), &both[1..]).await.unwrap();
        assert_eq!(as_other, Kept::LostRace, "another worker has opened it");

        let mut end = ending(&trace);
        end.opening = opening("n");
        end.attempts = both.to_vec();
        assert_eq!(store.finish(&end).await.unwrap(), Finished::LostRace);
        end.attempts = vec![attempt(2, Class::Accepted)];
        end.opening = opening("other");
        assert_eq!(store.finish(&end).await.unwrap(), Finished::LostRace);
        assert_eq!(database.count("select count(*) from groundcrew.attempts").await, 1);
        assert_eq!(database.count("select count(*) from groundcrew.outbox").await, 0);

        end.opening = opening("n");
        assert_eq!(store.finish(&end).await.unwrap(), Finished::Committed);
        let row = sqlx::query("select * from groundcrew.audits").fetch_one(&database.pool).await.unwrap();
        assert_eq!((row.get::<i32, _>("attempts_total"), row.get::<i32, _>("replies_total")), (2, 2));
        assert_eq!(row.get::<&str, _>("model_answered"), "judge-large-2025");
        assert_eq!(row.get::<&str, _>("disposition"), "escalated");
        assert_eq!(row.get::<i64, _>("duplicates"), 0);

        let late =
            store.keep(&key, &opening("n"), &record(&trace), &[attempt(3, Class::Format)]).await.unwrap();
        assert_eq!(late, Kept::LostRace, "it has ended");
        assert_eq!(database.count("select count(*) from groundcrew.attempts").await, 2);
    })
    .await;
}

/// A worker that kept an attempt, lost the answer, and ends the audit with the same attempt in hand.
#[tokio::test]
async fn an_attempt_that_is_stored_already_counts_once_at_the_end() {
    in_database(|database, store| async move {
        let trace = trace("a");
        let first = attempt(1, Class::Format);
        store.keep(&key(&trace), &opening("n0nce"), &record(&trace), &[first]).await.unwrap();
        assert_eq!(store.finish(&ending(&trace)).await.unwrap(), Finished::Committed);
        assert_eq!(database.count("select attempts_total::int8 from groundcrew.audits").await, 2);
        assert_eq!(database.count("select count(*) from groundcrew.attempts").await, 2);
    })
    .await;
}

/// Two workers with a copy each, for many audits at once: no deadlock, one story per audit.
#[tokio::test(flavor = "multi_thread")]
async fn racing_workers_write_one_story_per_audit() {
    in_database(|database, store| async move {
        let other = database.store();
        let copies = (0..60_i64).map(|copy| {
            let store = if copy % 2 == 0 { store.clone() } else { other.clone() };
            async move {
                let trace = trace(&format!("t{}", copy / 2));
                let worker = if copy % 2 == 0 { "even" } else { "odd" };
                let first = Attempt { started_at: at(copy), ..attempt(1, Class::Format) };
                let kept =
                    store.keep(&key(&trace), &opening(worker), &record(&trace), &[first]).await.unwrap();
                let mut end = ending(&trace);
                end.opening = opening(worker);
                end.attempts = vec![attempt(2, Class::Accepted)];
                (kept, store.finish(&end).await.unwrap())
            }
        });
        let outcomes = join_all(copies).await;
        for pair in outcomes.chunks(2) {
            let winners =
                pair.iter().filter(|outcome| **outcome == (Kept::Committed, Finished::Committed)).count();
            assert_eq!(winners, 1, "{pair:?}");
        }
        assert_eq!(database.count("select count(*) from groundcrew.attempts").await, 60);
        assert_eq!(database.count("select count(*) from groundcrew.review_items").await, 30);
        other.close().await;
    })
    .await;
}

/// launchbadge/sqlx#4385: a connection whose `begin` was dropped goes back to the pool with the
/// transaction open, and what the next user writes is lost without an error.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_callers_lose_nothing_of_others() {
    in_database(|database, store| async move {
        for id in 0..100 {
            let trace = trace(&format!("dropped{id}"));
            let (key, opening, record) = (key(&trace), opening("n"), record(&trace));
            let attempts = [attempt(1, Class::Format)];
            let mut keep = Box::pin(store.keep(&key, &opening, &record, &attempts));
            assert!(futures_util::poll!(&mut keep).is_pending());
            // Dropped at different points of its way.
            tokio::time::sleep(std::time::Duration::from_micros(id * 50)).await;
            drop(keep);
        }
        for id in 0..20 {
            store.finish(&ending(&trace(&format!("after{id}")))).await.unwrap();
        }
        store.close().await;
        let after = "select count(*) from groundcrew.audits where trace_id like 'after%'";
        assert_eq!(database.count(after).await, 20);
        let dropped = "select count(*) from groundcrew.attempts as attempt
            join groundcrew.audits as audit on audit.id = attempt.audit_id where trace_id like 'dropped%'";
        assert_eq!(database.count(dropped).await, 100, "what was begun is carried out");
    })
    .await;
}
