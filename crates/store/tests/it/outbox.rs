//! Messages on their way to the broker.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use store::{Finished, OutboxRow, Outcome, Store};

use crate::fixture::{Database, in_database};
use crate::sample::{passed, trace};

const LONG: Duration = Duration::from_secs(600);

async fn fill(store: &Store, messages: usize) {
    let endings: Vec<_> = (0..messages).map(|id| passed(&trace(&format!("t{id}")))).collect();
    for outcome in join_all(endings.iter().map(|ending| store.finish(ending))).await {
        outcome.unwrap();
    }
}

async fn expire_leases(database: &Database) {
    database.execute("update groundcrew.outbox set leased_until = now() - interval '1 second'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn relays_lease_different_messages() {
    in_database(|database, store| async move {
        fill(&store, 200).await;
        let other = database.store();
        let leases = (0..20).map(|relay| {
            let store = if relay % 2 == 0 { &store } else { &other };
            store.lease(15, LONG)
        });
        let mut seen = HashSet::new();
        let mut total = 0;
        for lease in join_all(leases).await {
            for row in lease.unwrap() {
                total += 1;
                assert!(seen.insert(row.id), "leased twice");
                assert_eq!(row.attempts, 1);
            }
        }
        // A relay skips what another one is just leasing, so that some may get less than they asked for.
        while total < 200 {
            let rest = store.lease(50, LONG).await.unwrap();
            assert!(!rest.is_empty(), "{total} of 200 were leased");
            total += rest.len();
            assert!(rest.iter().all(|row| seen.insert(row.id)));
        }
        assert!(store.lease(50, LONG).await.unwrap().is_empty());
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_a_writer_keeps_in_hand_is_nobody_elses_until_its_lease_is_over() {
    in_database(|database, store| async move {
        let ending = passed(&trace("t"));
        let (finished, mine) = store.finish_in_hand(&ending, LONG).await.unwrap();
        assert_eq!((finished, mine.len()), (Finished::Committed, ending.events.len()));
        assert!(store.lease(10, LONG).await.unwrap().is_empty());
        assert_eq!(store.outbox_depth().await.unwrap().unsent, 1);
        // Whoever ends it again gets nothing to publish.
        let again = store.finish_in_hand(&ending, LONG).await.unwrap();
        assert_eq!(again, (Finished::AlreadyEnded, Vec::new()));

        // A writer that dies leaves its messages to others, as they were.
        expire_leases(&database).await;
        let left = store.lease(10, LONG).await.unwrap();
        let as_mine =
            |row: &OutboxRow| OutboxRow { attempts: 1, created_at: mine[0].created_at, ..row.clone() };
        assert_eq!(left.iter().map(as_mine).collect::<Vec<_>>(), mine);
        assert_eq!(left[0].attempts, 2);
        store.mark_sent(&[(mine[0].id, Outcome::Confirmed)]).await.unwrap();
        assert_eq!(store.outbox_depth().await.unwrap().unsent, 0);
    })
    .await;
}

#[tokio::test]
async fn a_message_is_leased_until_it_is_marked() {
    in_database(|database, store| async move {
        fill(&store, 3).await;
        let depth = store.outbox_depth().await.unwrap();
        assert_eq!(depth.unsent, 3);
        assert!(depth.oldest.is_some());

        let first = store.lease(10, LONG).await.unwrap();
        assert_eq!(first.len(), 3);
        assert_eq!(first[0].correlation_id.as_deref(), Some("their-id"));
        assert!(serde_json::from_slice::<serde_json::Value>(&first[0].body).unwrap().is_object());
        assert!(store.lease(10, LONG).await.unwrap().is_empty());

        // The relay died: its lease runs out.
        expire_leases(&database).await;
        let second = store.lease(10, LONG).await.unwrap();
        assert!(second.iter().all(|row| row.attempts == 2));
        store
            .mark_sent(&[(second[0].id, Outcome::Confirmed), (second[1].id, Outcome::Returned)])
            .await
            .unwrap();
        store.mark_sent(&[(second[0].id, Outcome::Returned)]).await.unwrap();
        let confirmed =
            "select count(*) from groundcrew.outbox where outcome = 'confirmed' and sent_at is not null";
        assert_eq!(database.count(confirmed).await, 1, "the first word counts");

        expire_leases(&database).await;
        let third = store.lease(10, LONG).await.unwrap();
        assert_eq!(third.iter().map(|row| row.id).collect::<Vec<_>>(), [second[2].id]);
        store.release(&[third[0].id], LONG).await.unwrap();
        assert!(store.lease(10, LONG).await.unwrap().is_empty(), "it waits for its delay");
        store.release(&[third[0].id], Duration::ZERO).await.unwrap();
        assert_eq!(store.lease(10, LONG).await.unwrap().len(), 1);
        store.mark_sent(&[(third[0].id, Outcome::Confirmed)]).await.unwrap();
        let depth = store.outbox_depth().await.unwrap();
        assert_eq!((depth.unsent, depth.oldest), (0, None));
    })
    .await;
}
