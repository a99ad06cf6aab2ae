//! What commands show.

use audit::routing::Disposition;
use store::{Bodies, ReviewStatus, Scope};

use crate::fixture::in_database;
use crate::sample::{at, ending, key, passed, trace, trace_with, unjudged};

#[tokio::test]
async fn a_trace_is_found_by_its_id_and_by_its_audits() {
    in_database(|_, store| async move {
        let first = trace("a");
        store.finish(&ending(&first)).await.unwrap();
        let elsewhere = trace_with(serde_json::json!({ "trace_id": "a", "project": "bank" }));
        store.finish(&passed(&elsewhere)).await.unwrap();

        assert_eq!(store.trace_show("a", None, Bodies::Without).await.unwrap().len(), 2);
        assert!(store.trace_show("b", None, Bodies::Without).await.unwrap().is_empty());
        let shown = store.trace_show("a", Some("shop"), Bodies::Without).await.unwrap();
        let by_audit = store.trace_show(&key(&first).id().to_string(), None, Bodies::Without).await.unwrap();
        assert_eq!(shown, by_audit);
        let shown = &shown[0];
        assert_eq!((shown.payload.as_ref(), shown.chunk_count), (None, 1));
        let audit = &shown.audits[0];
        assert_eq!(audit.claims.len(), 2);
        assert_eq!(audit.claims[1].source_id.as_deref(), Some("faq"));
        assert_eq!(audit.omissions[0].missing_fact, "30 days");
        assert_eq!(audit.attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(audit.attempts[0].request, None);
        assert_eq!(audit.review_item.as_ref().unwrap().status, ReviewStatus::Open);

        let whole = store.trace_show("a", Some("shop"), Bodies::With).await.unwrap().remove(0);
        assert_eq!(whole.payload.as_deref(), Some(serde_json::to_vec(&first).unwrap().as_slice()));
        let request = whole.audits[0].attempts[0].request.as_deref();
        assert_eq!(request, Some(br#"{"attempt":1,"messages":[]}"#.as_slice()));
        let json = serde_json::to_value(&whole).unwrap();
        assert_eq!(json["audits"][0]["final"], false);
        assert!(json["audits"][0]["attempts"][0]["raw_reply"].as_str().unwrap().contains("broken"));
    })
    .await;
}

#[tokio::test]
async fn review_items_are_listed_urgent_first() {
    in_database(|database, store| async move {
        for (id, urgent, second) in [("a", false, 1), ("b", true, 3), ("c", true, 2)] {
            let mut end = ending(&trace(id));
            end.routed.urgent = urgent;
            end.ended_at = at(second);
            store.finish(&end).await.unwrap();
        }
        let ids =
            |items: Vec<store::ReviewItem>| items.into_iter().map(|item| item.trace_id).collect::<Vec<_>>();
        assert_eq!(ids(store.review_list(None, None, 10).await.unwrap()), ["c", "b", "a"]);
        assert_eq!(ids(store.review_list(None, Some("bank"), 10).await.unwrap()), [""; 0]);
        database
            .execute(
                "update groundcrew.review_items set status = 'closed', closed_at = now(), closed_by = 'ann',
                    outcome = 'dismissed' where trace_id = 'c'",
            )
            .await;
        assert_eq!(ids(store.review_list(Some(ReviewStatus::Open), Some("shop"), 1).await.unwrap()), ["b"]);
    })
    .await;
}

#[tokio::test]
async fn who_watches_sees_each_audit_in_order() {
    in_database(|_, store| async move {
        for second in 0..6 {
            let mut end = passed(&trace(&format!("t{second}")));
            end.ended_at = at(second);
            store.finish(&end).await.unwrap();
        }
        let ids =
            |lines: &[store::AuditLine]| lines.iter().map(|line| line.trace_id.clone()).collect::<Vec<_>>();
        let newest = store.recent_audits(None, 2).await.unwrap();
        assert_eq!(ids(&newest), ["t4", "t5"]);
        let first = store.recent_audits(Some((at(-1), uuid::Uuid::nil())), 3).await.unwrap();
        assert_eq!(ids(&first), ["t0", "t1", "t2"]);
        let rest = store.recent_audits(Some((first[2].ended_at, first[2].id)), 10).await.unwrap();
        assert_eq!(ids(&rest), ["t3", "t4", "t5"]);
    })
    .await;
}

#[tokio::test]
async fn a_summary_counts_how_audits_ended() {
    in_database(|_, store| async move {
        store.finish(&ending(&trace("a"))).await.unwrap();
        store.finish(&passed(&trace("b"))).await.unwrap();
        store.finish(&unjudged(&trace("c"), Disposition::Incomplete)).await.unwrap();
        let open = trace("d");
        let record = crate::sample::record(&open);
        let attempt = crate::sample::attempt(1, audit::policy::Class::Format);
        store.keep(&key(&open), &crate::sample::opening("n"), &record, &[attempt]).await.unwrap();

        let all = store.summary(&Scope::Everything).await.unwrap();
        assert_eq!((all.audits, all.open, all.review_items, all.review_items_open), (4, 1, 1, 1));
        assert_eq!(all.attempts, 5);
        let words: Vec<_> = all.dispositions.iter().map(|(word, count)| (word.as_str(), *count)).collect();
        assert_eq!(words, [("escalated", 1), ("incomplete", 1), ("passed", 1)]);
        let some = store.summary(&Scope::Traces(vec!["b".into(), "d".into()])).await.unwrap();
        assert_eq!((some.audits, some.open, some.review_items), (2, 1, 0));
        let none = store.summary(&Scope::Since(at(1))).await.unwrap();
        assert_eq!(none.audits, 0);
    })
    .await;
}
