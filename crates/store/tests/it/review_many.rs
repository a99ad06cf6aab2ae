//! Many people at the same review items.

use audit::review::{Closing, FinalDecision, List};
use store::review::{Assignee, Closed, Ending, Hold, QueueFilter, Taken};

use crate::fixture::in_database;
use crate::review::{LEASE, failed};

/// Fifty clients that take whatever is free and decide it: each item is decided once.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_clients_decide_a_thousand_items_each_once() {
    const ITEMS: i64 = 1_000;
    in_database(|database, store| async move {
        let endings = (0..ITEMS).map(|number| store.finish(failed(&format!("t{number}"))));
        futures_util::future::try_join_all(endings).await.unwrap();
        let clients = (0..50).map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let (name, mut decided) = (format!("client-{number}"), 0_i64);
                loop {
                    let free = QueueFilter { assignee: Some(Assignee::Nobody), ..QueueFilter::default() };
                    // All look at the same few items, so that they are after the same ones.
                    let items = store.review_queue(List::Failed, &free, None, 5).await.unwrap();
                    if items.is_empty() {
                        return decided;
                    }
                    for item in items {
                        let taken = store.review_take(item.id, &name, LEASE).await.unwrap();
                        let Taken::Held { fence, .. } = taken else { continue };
                        let hold = Hold { item: item.id, reviewer: name.clone(), fence };
                        let ending = Ending::Ruled {
                            closing: Closing {
                                faithful: Some(Some(true)),
                                decision: Some(FinalDecision::Block),
                            },
                            opinions: 1,
                        };
                        let closed = store.review_close(&hold, &ending, None).await.unwrap();
                        assert!(matches!(closed, Closed::Ended { .. }), "{closed:?}");
                        decided += 1;
                    }
                }
            })
        });
        let decided: i64 =
            futures_util::future::join_all(clients).await.into_iter().map(Result::unwrap).sum();
        assert_eq!(decided, ITEMS);
        assert_eq!(
            database.count("select count(*) from groundcrew.review_items where status = 'closed'").await,
            ITEMS
        );
        assert_eq!(database.count("select count(*) from groundcrew.review_opinions").await, ITEMS);
        assert_eq!(
            database
                .count("select count(*) from groundcrew.outbox where routing_key = 'review.closed'")
                .await,
            ITEMS
        );
        assert_eq!(
            database.count("select max(fence) from groundcrew.review_items").await,
            1,
            "each was taken once"
        );
    })
    .await;
}
