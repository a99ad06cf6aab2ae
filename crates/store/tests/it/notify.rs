//! Pages: what receivers are told of items, and what not.

use std::time::Duration;

use store::review::{Closed, Ending};
use store::{DueNotification, PageEvent, PageItem, Store, Tried, TryOutcome};
use uuid::Uuid;

use crate::fixture::{Database, in_database};
use crate::review::{item, take};
use crate::sample::{ending, trace};

const LEASE: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_secs(300);

/// An item that is waiting, and that the receiver `oncall` is to be told of. True when it made a page.
async fn paged(database: &Database, store: &Store, trace_id: &str) -> (Uuid, bool) {
    store.finish(&ending(&trace(trace_id))).await.unwrap();
    let review_item = item(database, trace_id).await;
    let page = PageItem {
        review_item,
        receivers: vec!["oncall".to_owned()],
        project: "shop".to_owned(),
        kind: "faithfulness".to_owned(),
        severity: Some("critical".to_owned()),
        urgent: true,
        reason: "critical_finding".to_owned(),
        practice: false,
        content: None,
    };
    let opened = store.page(page, Duration::ZERO, WINDOW).await.unwrap();
    (review_item, !opened.is_empty())
}

/// What is to be told now, as the notifier asks for it.
async fn due(store: &Store) -> Vec<DueNotification> {
    while store.settle_pages().await.unwrap() {}
    store.lease_notifications(10, LEASE).await.unwrap()
}

/// The one thing that is to be told now.
async fn one(store: &Store, event: PageEvent) -> DueNotification {
    let mut due = due(store).await;
    assert_eq!(due.iter().map(|due| due.event).collect::<Vec<_>>(), [event]);
    due.remove(0)
}

/// A try ends; it is made again at once, or never.
async fn tried(store: &Store, due: &DueNotification, outcome: TryOutcome, again: bool) {
    let tried = Tried {
        id: due.id,
        number: due.tries,
        outcome,
        status: None,
        error: None,
        latency: Duration::ZERO,
        again_after: again.then_some(Duration::ZERO),
    };
    store.notification_tried(tried).await.unwrap();
}

async fn dismiss(store: &Store, item: Uuid) {
    let hold = take(store, item, "ann").await;
    let closed = store.review_close(&hold, &Ending::Dismissed, None).await.unwrap();
    assert!(matches!(closed, Closed::Ended { .. }), "{closed:?}");
}

async fn lease_is_over(database: &Database) {
    database
        .execute("update groundcrew.review_items set leased_until = now() - interval '1 second' where status = 'claimed'")
        .await;
}

#[tokio::test]
async fn a_page_whose_trigger_was_given_up_takes_no_more_items() {
    for (outcome, trace_id) in [(TryOutcome::Refused, "refused"), (TryOutcome::Unavailable, "given-up")] {
        in_database(move |database, store| async move {
            assert!(paged(&database, &store, trace_id).await.1);
            let trigger = one(&store, PageEvent::Trigger).await;
            // While it may still be told, others join.
            assert!(!paged(&database, &store, "joins").await.1);
            tried(&store, &trigger, outcome, false).await;
            assert!(paged(&database, &store, "later").await.1, "it joined a page that nobody was told of");
            let next = one(&store, PageEvent::Trigger).await;
            assert_ne!(next.page_id, trigger.page_id);
            assert_eq!((next.trace_id.as_str(), next.items), ("later", 1));
            tried(&store, &next, TryOutcome::Delivered, false).await;
            // The page that was told is joined as ever.
            assert!(!paged(&database, &store, "last").await.1);
        })
        .await;
    }
}

#[tokio::test]
async fn a_lease_that_has_run_out_acknowledges_no_page() {
    in_database(|database, store| async move {
        let (first, _) = paged(&database, &store, "first").await;
        take(&store, first, "ann").await;
        lease_is_over(&database).await;
        let trigger = one(&store, PageEvent::Trigger).await;
        tried(&store, &trigger, TryOutcome::Delivered, false).await;
        assert_eq!(due(&store).await, [], "nobody has it");
        take(&store, first, "bob").await;
        one(&store, PageEvent::Acknowledge).await;
    })
    .await;
}

#[tokio::test]
async fn a_dry_run_sees_items_whose_lease_has_run_out() {
    in_database(|database, store| async move {
        let (first, _) = paged(&database, &store, "first").await;
        take(&store, first, "ann").await;
        assert_eq!(store.open_items(10).await.unwrap(), []);
        lease_is_over(&database).await;
        let open = store.open_items(10).await.unwrap();
        assert_eq!(open.iter().map(|open| open.id).collect::<Vec<_>>(), [first]);
    })
    .await;
}

#[tokio::test]
async fn a_trigger_that_ended_in_time_outs_is_resolved() {
    in_database(|database, store| async move {
        let (first, _) = paged(&database, &store, "first").await;
        let trigger = one(&store, PageEvent::Trigger).await;
        tried(&store, &trigger, TryOutcome::Timeout, true).await;
        let trigger = one(&store, PageEvent::Trigger).await;
        assert!(trigger.may_have_arrived);
        tried(&store, &trigger, TryOutcome::Unavailable, false).await;
        let hold = take(&store, first, "ann").await;
        let taken = one(&store, PageEvent::Acknowledge).await;
        assert_eq!(taken.page_id, trigger.page_id);
        tried(&store, &taken, TryOutcome::Delivered, false).await;
        store.review_close(&hold, &Ending::Dismissed, None).await.unwrap();
        assert_eq!(one(&store, PageEvent::Resolve).await.page_id, trigger.page_id);
    })
    .await;
}

#[tokio::test]
async fn nobody_is_rung_for_items_that_were_closed_during_the_tries() {
    in_database(|database, store| async move {
        let (first, _) = paged(&database, &store, "first").await;
        for _ in 0..2 {
            let trigger = one(&store, PageEvent::Trigger).await;
            assert!(!trigger.may_have_arrived, "after an answer of 500 nothing has");
            tried(&store, &trigger, TryOutcome::Unavailable, true).await;
        }
        dismiss(&store, first).await;
        assert_eq!(due(&store).await, [], "it was dropped, and there is no end to tell");
        assert!(paged(&database, &store, "next").await.1);
    })
    .await;
}

#[tokio::test]
async fn a_try_on_its_way_while_items_are_closed_is_not_made_again() {
    for (outcome, told) in [
        (TryOutcome::Unavailable, &[][..]),
        (TryOutcome::Throttled, &[]),
        (TryOutcome::Timeout, &[PageEvent::Resolve]),
        (TryOutcome::Delivered, &[PageEvent::Resolve]),
    ] {
        in_database(move |database, store| async move {
            let (first, _) = paged(&database, &store, "first").await;
            let trigger = one(&store, PageEvent::Trigger).await;
            dismiss(&store, first).await;
            assert_eq!(due(&store).await, [], "how the try ends is waited for");
            tried(&store, &trigger, outcome, true).await;
            let events: Vec<PageEvent> = due(&store).await.iter().map(|due| due.event).collect();
            assert_eq!(events, told, "after {outcome}");
            let rest = "select count(*) from groundcrew.notifications where state = 'pending' and event <> 'resolve'";
            assert_eq!(database.count(rest).await, 0);
        })
        .await;
    }
}

#[tokio::test]
async fn a_try_of_a_process_that_died_may_have_arrived() {
    in_database(|database, store| async move {
        let (first, _) = paged(&database, &store, "first").await;
        let trigger = one(&store, PageEvent::Trigger).await;
        dismiss(&store, first).await;
        assert_eq!(due(&store).await, []);
        database.execute("update groundcrew.notifications set leased_until = now()").await;
        assert_eq!(one(&store, PageEvent::Resolve).await.page_id, trigger.page_id);
    })
    .await;
}
