//! Many people at the same review items.

use std::time::Duration;

use audit::review::{Closing, FinalDecision, List};
use store::review::{Assignee, Closed, Ending, Hold, QueueFilter, QueueItem, Taken};

use crate::fixture::in_database;
use crate::review::{LEASE, failed};

/// Fifty clients that take whatever is free and decide it: each item is decided once.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_clients_decide_a_thousand_items_each_once() {
    const ITEMS: i64 = 1_000;
    in_database(|database, store| async move {
        let endings: Vec<_> = (0..ITEMS).map(|number| failed(&format!("t{number}"))).collect();
        let finishing = endings.iter().map(|ending| store.finish(ending));
        futures_util::future::try_join_all(finishing).await.unwrap();
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

/// A search reads no more than its time allows, says where it stopped, and goes on there without leaving anything out.
#[tokio::test]
async fn a_search_stops_in_time_and_goes_on_where_it_was() {
    /// Four windows and a bit.
    const ITEMS: i64 = 2_100;
    in_database(|database, store| async move {
        store.finish(&failed("one")).await.unwrap();
        // More of the same, without the detour: only the order and the texts matter here.
        for statement in [
            "insert into groundcrew.trace_rows (id, project, trace_id, content_hash, origin, intent, risk, value, query,
                    answer, chunk_count, received_at, payload_bytes)
                select md5('trace' || n)::uuid, 'shop', 't-' || n, sha256(n::text::bytea), 'sample', 'factual', 'standard',
                    'normal', 'Where?', case when n % 1000 = 5 then '駅の掲示板にあります。' else 'Here.' end, 1, now(), 0
                from generate_series(1, $1) as n",
            "insert into groundcrew.audits (id, trace_row, project, trace_id, content_hash, kind, generation, repeat,
                    disposition, decision, prompt_version, prompt_hash, judge, nonce, opened_at, ended_at)
                select md5('audit' || n)::uuid, md5('trace' || n)::uuid, 'shop', 't-' || n, sha256(n::text::bytea),
                    'faithfulness', 0, 0, 'unreadable', 'hold', 'f-1', 'x', 'j', 'n', now(), now()
                from generate_series(1, $1) as n",
            "insert into groundcrew.review_items (id, audit_id, project, trace_id, kind, reasons, urgent, blind, created_at,
                    evidence)
                select md5('item' || n)::uuid, md5('audit' || n)::uuid, 'shop', 't-' || n, 'faithfulness',
                    jsonb_build_array(jsonb_build_object('code', 'unreadable')), false, false,
                    now() + n * interval '1 second', '{}'
                from generate_series(1, $1) as n",
        ] {
            sqlx::query(statement).bind(ITEMS).execute(&database.pool).await.unwrap();
        }
        let listed = store.review_queue(List::Failed, &QueueFilter::default(), None, 5000).await.unwrap();
        let filter = QueueFilter { text: Some("掲示".into()), ..QueueFilter::default() };
        let (mut found, mut after, mut steps, mut looked_at) = (Vec::new(), None, 0, 0);
        loop {
            let searched =
                store.review_search(Some(List::Failed), &filter, after, 50, Duration::ZERO).await.unwrap();
            assert!(searched.looked_at <= 500, "without time it reads one window");
            (looked_at, steps) = (looked_at + searched.looked_at, steps + 1);
            found.extend(searched.items.into_iter().map(|item| item.trace_id));
            let Some(until) = searched.until else { break };
            after = Some(until);
        }
        assert_eq!((found.as_slice(), steps), (["t-5", "t-1005", "t-2005"].map(String::from).as_slice(), 5));
        assert_eq!(usize::try_from(looked_at).unwrap(), listed.len(), "every item once");

        let hour = Duration::from_secs(3600);
        let patient =
            async |limit| store.review_search(Some(List::Failed), &filter, None, limit, hour).await.unwrap();
        let all = patient(50).await;
        assert_eq!((all.items.len(), all.until), (3, None), "with time it reads to the end");
        let first = patient(2).await;
        assert_eq!(first.until, first.items.last().map(QueueItem::place), "or until a page is full");
        let by_id = QueueFilter { text: Some("t-2005".into()), ..QueueFilter::default() };
        let at_once = store.review_search(Some(List::Failed), &by_id, None, 50, Duration::ZERO).await.unwrap();
        assert_eq!((at_once.items.len(), at_once.looked_at), (1, 500), "a trace id is found wherever it stands");
        let once = store.review_search(Some(List::Failed), &by_id, None, 50, hour).await.unwrap();
        assert_eq!((once.items.len(), once.until), (1, None), "and once");
        let other = QueueFilter { project: Some("elsewhere".into()), ..filter.clone() };
        let none = store.review_search(Some(List::Failed), &other, None, 50, Duration::ZERO).await.unwrap();
        assert_eq!((none.looked_at, none.until), (0, None), "other projects are not read");

        sqlx::query(
            "update groundcrew.review_items
            set status = 'closed', outcome = 'dismissed', closed_by = 'ann', closed_at = created_at",
        )
        .execute(&database.pool)
        .await
        .unwrap();
        let closed = store.review_search(None, &filter, None, 2, hour).await.unwrap();
        let ids: Vec<&str> = closed.items.iter().map(|item| item.trace_id.as_str()).collect();
        assert_eq!(ids, ["t-2005", "t-1005"], "the last closed first");
        let rest = store.review_search(None, &filter, closed.until, 50, hour).await.unwrap();
        assert_eq!((rest.items.len(), rest.until), (1, None));
    })
    .await;
}
