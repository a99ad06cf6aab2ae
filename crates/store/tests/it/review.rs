//! People at review items: leases, fences, rulings, the end.

use std::time::Duration;

use audit::review::{Closing, FinalDecision, List, Said, Target};
use audit::routing::{Decision, Disposition, Reason, Routed};
use audit::{Severity, Verdict};
use serde_json::Value;
use store::review::{Assignee, Closed, Ending, Hold, Lost, QueueFilter, QueuePlace, Ruled, Taken, Unkept};
use store::{ReviewStatus, Store};
use uuid::Uuid;

use crate::fixture::{Database, in_database};
use crate::sample::{ending, passed, trace, trace_with, unjudged};

pub const LEASE: Duration = Duration::from_secs(900);

/// The item of a trace's audit.
pub async fn item(database: &Database, trace_id: &str) -> Uuid {
    sqlx::query_scalar("select id from groundcrew.review_items where trace_id = $1")
        .bind(trace_id)
        .fetch_one(&database.pool)
        .await
        .unwrap()
}

/// An item that is waiting.
async fn waiting(database: &Database, store: &Store, trace_id: &str) -> Uuid {
    store.finish(ending(&trace(trace_id))).await.unwrap();
    item(database, trace_id).await
}

pub async fn take(store: &Store, item: Uuid, reviewer: &str) -> Hold {
    match store.review_take(item, reviewer, LEASE).await.unwrap() {
        Taken::Held { fence, .. } => Hold { item, reviewer: reviewer.to_owned(), fence },
        Taken::Refused(lost) => panic!("{reviewer} did not get it: {lost:?}"),
    }
}

async fn version(store: &Store, item: Uuid) -> String {
    store.review_detail(item).await.unwrap().unwrap().report_version
}

pub async fn say(store: &Store, hold: &Hold, said: Said) -> Ruled {
    let version = version(store, hold.item).await;
    store.review_rule(hold, LEASE, Uuid::now_v7(), &version, &said, None).await.unwrap()
}

/// Confirms the finding and the omission of the sample's report, which are its only flags but for the doubt.
async fn confirm_all(store: &Store, hold: &Hold) {
    for target in [Target::Claim(0), Target::Claim(1), Target::Omission(0)] {
        assert!(matches!(say(store, hold, Said::Confirm(target)).await, Ruled::Kept { .. }));
    }
}

pub fn opinion(decision: FinalDecision) -> Ending {
    Ending::Ruled { closing: Closing { faithful: None, decision: Some(decision) }, opinions: 1 }
}

/// A review that has ended: a finding was confirmed.
pub async fn ruled(database: &Database, store: &Store, trace_id: &str) {
    let item = waiting(database, store, trace_id).await;
    let ann = take(store, item, "ann").await;
    confirm_all(store, &ann).await;
    let closed = store.review_close(&ann, &opinion(FinalDecision::Block), None).await.unwrap();
    assert!(matches!(closed, Closed::Ended { .. }), "{closed:?}");
}

fn lost(ruled: Ruled) -> Lost {
    match ruled {
        Ruled::Not(Unkept::Lost(lost)) => lost,
        other => panic!("{other:?}"),
    }
}

async fn lease_is_over(database: &Database) {
    database
        .execute("update groundcrew.review_items set leased_until = now() - interval '1 second' where status = 'claimed'")
        .await;
}

async fn outbox(database: &Database, routing_key: &str) -> Vec<Value> {
    let bodies: Vec<Vec<u8>> =
        sqlx::query_scalar("select body from groundcrew.outbox where routing_key = $1 order by created_at")
            .bind(routing_key)
            .fetch_all(&database.pool)
            .await
            .unwrap();
    bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_take_an_item_at_once_one_gets_it() {
    in_database(|database, store| async move {
        let item = waiting(&database, &store, "a").await;
        let takers = (0..8).map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.review_take(item, &format!("r{number}"), LEASE).await.unwrap() })
        });
        let taken = futures_util::future::join_all(takers).await;
        let held = taken.iter().filter(|taken| matches!(taken.as_ref().unwrap(), Taken::Held { fence: 1, .. }));
        assert_eq!(held.count(), 1);
        let refused = taken.iter().filter(|taken| {
            matches!(taken.as_ref().unwrap(), Taken::Refused(Lost::TakenBy { reviewer, .. }) if reviewer.starts_with('r'))
        });
        assert_eq!(refused.count(), 7);
        assert_eq!(outbox(&database, "review.taken").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_lease_ends_by_time_and_what_its_holder_says_then_is_refused() {
    in_database(|database, store| async move {
        let item = waiting(&database, &store, "a").await;
        let ann = take(&store, item, "ann").await;
        assert!(matches!(say(&store, &ann, Said::Confirm(Target::Claim(1))).await, Ruled::Kept { .. }));
        lease_is_over(&database).await;
        assert_eq!(lost(say(&store, &ann, Said::Confirm(Target::Claim(0))).await), Lost::Expired);
        let listed = store.review_queue(List::Findings, &QueueFilter::default(), None, 10).await.unwrap();
        assert_eq!((listed[0].status, listed[0].claimed_by.clone()), (ReviewStatus::Open, None));

        let bob = take(&store, item, "bob").await;
        assert_eq!(bob.fence, 2);
        let refused = lost(say(&store, &ann, Said::Confirm(Target::Claim(0))).await);
        assert!(matches!(refused, Lost::TakenBy { reviewer, .. } if reviewer == "bob"));
        assert!(!store.review_give_back(&ann).await.unwrap());
        assert!(matches!(
            store.review_close(&ann, &opinion(FinalDecision::Block), None).await.unwrap(),
            Closed::Not(Unkept::Lost(Lost::TakenBy { .. }))
        ));
        assert_eq!(database.count("select count(*) from groundcrew.rulings").await, 1);
        assert!(store.review_give_back(&bob).await.unwrap());
        assert_eq!(take(&store, item, "ann").await.fence, 3);
    })
    .await;
}

#[tokio::test]
async fn what_a_reviewer_does_extends_the_lease_and_a_second_window_ends_the_first() {
    in_database(|database, store| async move {
        let item = waiting(&database, &store, "a").await;
        let first = take(&store, item, "ann").await;
        let short = "update groundcrew.review_items set leased_until = now() + interval '1 minute'";
        database.execute(short).await;
        let minutes =
            "select (extract(epoch from leased_until - now()) / 60)::int8 from groundcrew.review_items";
        assert_eq!(database.count(minutes).await, 1);
        say(&store, &first, Said::Confirm(Target::Claim(1))).await;
        assert_eq!(database.count(minutes).await, 15);
        database.execute(short).await;
        store.review_extend(&first, LEASE).await.unwrap().unwrap();
        assert_eq!(database.count(minutes).await, 15);

        let second = take(&store, item, "ann").await;
        assert_eq!(lost(say(&store, &first, Said::Confirm(Target::Claim(1))).await), Lost::TakenAgain);
        assert_eq!(store.review_extend(&first, LEASE).await.unwrap(), Err(Lost::TakenAgain));
        assert!(matches!(say(&store, &second, Said::Confirm(Target::Claim(1))).await, Ruled::Kept { .. }));
    })
    .await;
}

#[tokio::test]
async fn rulings_are_only_ever_added() {
    in_database(|database, store| async move {
        let item = waiting(&database, &store, "a").await;
        let ann = take(&store, item, "ann").await;
        say(&store, &ann, Said::Confirm(Target::Claim(1))).await;
        for change in ["update groundcrew.rulings set note = 'x'", "delete from groundcrew.rulings"] {
            let error = sqlx::query(change).execute(&database.pool).await.unwrap_err();
            assert_eq!(error.as_database_error().unwrap().code().unwrap(), "23000", "{change}");
        }
        // Said twice under one id is said once.
        let (id, version) = (Uuid::now_v7(), version(&store, item).await);
        for _ in 0..2 {
            let said = Said::Annotate(Some(Target::Claim(0)));
            let ruled = store.review_rule(&ann, LEASE, id, &version, &said, Some("look")).await.unwrap();
            assert!(matches!(ruled, Ruled::Kept { .. }));
        }
        assert_eq!(database.count("select count(*) from groundcrew.rulings").await, 2);
        let other =
            store.review_rule(&ann, LEASE, Uuid::now_v7(), "0000", &Said::Confirm(Target::Claim(0)), None);
        assert_eq!(other.await.unwrap(), Ruled::Not(Unkept::OtherReport));
    })
    .await;
}

#[tokio::test]
async fn an_undone_ruling_stays_on_record_and_counts_no_more() {
    in_database(|database, store| async move {
        let item = waiting(&database, &store, "a").await;
        let ann = take(&store, item, "ann").await;
        confirm_all(&store, &ann).await;
        let wrong = Uuid::now_v7();
        let version = version(&store, item).await;
        let grounded =
            Said::Override { target: Target::Claim(1), verdict: Some(Verdict::Grounded), severity: None };
        store.review_rule(&ann, LEASE, wrong, &version, &grounded, Some("a slip")).await.unwrap();
        say(&store, &ann, Said::Withdraw(wrong)).await;
        let again = say(&store, &ann, Said::Withdraw(wrong)).await;
        assert!(matches!(again, Ruled::Not(Unkept::Objections(_))));
        store.review_close(&ann, &opinion(FinalDecision::Block), None).await.unwrap();
        assert_eq!(database.count("select count(*) from groundcrew.rulings").await, 5);
        let verdict: String =
            sqlx::query_scalar("select verdict from analytics.ground_truth_claims where claim_index = 1")
                .fetch_one(&database.pool)
                .await
                .unwrap();
        assert_eq!(verdict, "contradicted");
        // After the end nothing can be undone.
        assert_eq!(lost(say(&store, &ann, Said::Withdraw(wrong)).await), Lost::Closed);
    })
    .await;
}

#[tokio::test]
async fn a_review_ends_once_and_tells_who_waits() {
    in_database(|database, store| async move {
        let mut asked = ending(&trace("a"));
        let reply = audit::record::Event {
            id: audit::record::derived_id(asked.key.id(), "reply"),
            exchange: String::new(),
            routing_key: "amq.gen-them".into(),
            ..asked.events[0].clone()
        };
        asked.events.push(reply);
        store.finish(asked).await.unwrap();
        let item = item(&database, "a").await;
        let ann = take(&store, item, "ann").await;
        let early = store.review_close(&ann, &opinion(FinalDecision::Deliver), None).await.unwrap();
        assert!(matches!(early, Closed::Not(Unkept::Objections(_))), "nothing is decided yet");
        assert_eq!(database.count("select count(*) from groundcrew.audits where final").await, 0);
        confirm_all(&store, &ann).await;
        let severe = Said::Override {
            target: Target::Claim(1),
            verdict: Some(Verdict::Unsupported),
            severity: Some(Severity::Minor),
        };
        say(&store, &ann, severe).await;
        let closed =
            store.review_close(&ann, &opinion(FinalDecision::Deliver), Some("harmless")).await.unwrap();
        let Closed::Ended { conclusion, retry: None } = closed else { panic!("{closed:?}") };
        assert!(conclusion.releases && conclusion.faithful == Some(false));
        let twice = store.review_close(&ann, &opinion(FinalDecision::Deliver), None).await.unwrap();
        assert_eq!(twice, Closed::Not(Unkept::Lost(Lost::Closed)));
        assert!(matches!(store.review_take(item, "bob", LEASE).await.unwrap(), Taken::Refused(Lost::Closed)));

        assert_eq!(database.count("select count(*) from groundcrew.audits where final").await, 1);
        let finalised = outbox(&database, "audit.finalised").await;
        assert_eq!(finalised.len(), 1);
        let told = &finalised[0];
        assert_eq!(
            [
                &told["final"],
                &told["decision"],
                &told["final_decision"],
                &told["faithful"],
                &told["reviewers"]
            ]
            .map(ToString::to_string),
            ["true", "\"block\"", "\"deliver\"", "false", "[\"ann\"]"]
        );
        let ruling = told["rulings"].as_array().unwrap().iter().find(|it| it["claim"] == 1).unwrap();
        assert_eq!(
            (&ruling["from_verdict"], &ruling["to_verdict"]),
            (&"contradicted".into(), &"unsupported".into())
        );
        assert_eq!(outbox(&database, "audit.released").await.len(), 1);
        assert_eq!(outbox(&database, "review.closed").await.len(), 1);
        // And to the queue of who asked.
        let events: Vec<Value> = outbox(&database, "amq.gen-them").await;
        let names: Vec<_> = events.iter().filter_map(|event| event["event"].as_str()).collect();
        assert!(names.contains(&"audit.finalised") && names.contains(&"audit.released"), "{names:?}");
    })
    .await;
}

#[tokio::test]
async fn with_two_opinions_the_first_does_not_end_the_review_and_the_same_person_gives_no_second() {
    in_database(|database, store| async move {
        let item = waiting(&database, &store, "a").await;
        let two = Ending::Ruled {
            closing: Closing { faithful: None, decision: Some(FinalDecision::Deliver) },
            opinions: 2,
        };
        let ann = take(&store, item, "ann").await;
        confirm_all(&store, &ann).await;
        let first = store.review_close(&ann, &two, None).await.unwrap();
        assert_eq!(first, Closed::MoreOpinions { given: 1, wanted: 2 });
        assert!(outbox(&database, "audit.finalised").await.is_empty());
        assert_eq!(store.review_take(item, "ann", LEASE).await.unwrap(), Taken::Refused(Lost::OpinionGiven));
        let bob = take(&store, item, "bob").await;
        // The first one's rulings are not the second one's.
        assert!(matches!(
            store.review_close(&bob, &two, None).await.unwrap(),
            Closed::Not(Unkept::Objections(_))
        ));
        confirm_all(&store, &bob).await;
        let grounded =
            Said::Override { target: Target::Claim(1), verdict: Some(Verdict::Grounded), severity: None };
        say(&store, &bob, grounded).await;
        let Closed::Ended { conclusion, .. } = store.review_close(&bob, &two, None).await.unwrap() else {
            panic!("the second opinion ends it");
        };
        assert_eq!((conclusion.faithful, conclusion.releases), (None, true), "they differ on the answer");
        let disputed: (Option<String>, bool, i64) = sqlx::query_as(
            "select verdict, disputed, opinions from analytics.ground_truth_claims where claim_index = 1",
        )
        .fetch_one(&database.pool)
        .await
        .unwrap();
        assert_eq!(disputed, (None, true, 2));
    })
    .await;
}

/// An audit of the blind sample.
fn sampled(id: &str) -> audit::record::Ending {
    let mut ending = passed(&trace(id));
    ending.routed.blind_sample = true;
    ending.routed.reasons =
        vec![Reason { decision: Decision::Deliver, ..Reason::hold("blind_sample", "a random passed audit") }];
    ending
}

#[tokio::test]
async fn what_is_said_before_the_verdict_is_shown_is_marked_and_counts_for_the_judge() {
    in_database(|database, store| async move {
        for id in ["s1", "s2"] {
            store.finish(sampled(id)).await.unwrap();
        }
        for (id, faithful) in [("s1", true), ("s2", false)] {
            let hold = take(&store, item(&database, id).await, "ann").await;
            let early = store.review_close(&hold, &opinion(FinalDecision::Deliver), None).await.unwrap();
            assert!(matches!(early, Closed::Not(Unkept::Objections(_))), "not ruled yet");
            say(&store, &hold, Said::Overall { faithful: Some(faithful) }).await;
            // Changed after the verdict was shown: the first word is the blind one.
            say(&store, &hold, Said::Overall { faithful: Some(true) }).await;
            let closed = store.review_close(&hold, &opinion(FinalDecision::Deliver), None).await.unwrap();
            assert!(matches!(closed, Closed::Ended { .. }));
        }
        assert_eq!(database.count("select count(*) from groundcrew.rulings where blind").await, 2);
        assert!(outbox(&database, "audit.finalised").await.is_empty(), "it was final all the time");
        let quality: (i64, i64, i64, f64) = sqlx::query_as(
            "select passed, passed_ruled, passed_unfaithful, missed_rate from analytics.judge_quality",
        )
        .fetch_one(&database.pool)
        .await
        .unwrap();
        assert_eq!(quality, (2, 2, 1, 0.5));
        let blind = store.review_queue(List::Sample, &QueueFilter::default(), None, 10).await.unwrap();
        assert!(blind.is_empty());
    })
    .await;
}

/// An audit whose replies could not be used.
pub fn failed(id: &str) -> audit::record::Ending {
    audit::record::Ending {
        routed: Routed {
            decision: Some(Decision::Hold),
            reasons: vec![Reason::hold("unreadable", "not JSON")],
            ..Routed::unjudged(Disposition::Unreadable)
        },
        ..unjudged(&trace(id), Disposition::Unreadable)
    }
}

#[tokio::test]
async fn a_failed_audit_is_labelled_asked_for_again_or_dismissed() {
    in_database(|database, store| async move {
        for id in ["label", "retry", "dismiss"] {
            store.finish(failed(id)).await.unwrap();
        }
        let hold = take(&store, item(&database, "label").await, "ann").await;
        let labelled = Ending::Ruled {
            closing: Closing { faithful: Some(Some(true)), decision: Some(FinalDecision::Deliver) },
            opinions: 1,
        };
        assert!(matches!(store.review_close(&hold, &labelled, None).await.unwrap(), Closed::Ended { .. }));

        let hold = take(&store, item(&database, "retry").await, "ann").await;
        let closed = store.review_close(&hold, &Ending::Retried, None).await.unwrap();
        let Closed::Ended { retry: Some(retry), .. } = closed else { panic!("{closed:?}") };
        assert_eq!(retry.generation, 1);
        let (exchange, headers): (String, Value) =
            sqlx::query_as("select exchange, headers from groundcrew.outbox where routing_key = 'urgent'")
                .fetch_one(&database.pool)
                .await
                .unwrap();
        assert_eq!(exchange, "groundcrew.traces");
        assert_eq!(headers, serde_json::json!({ "kinds": ["faithfulness"], "generation": 1 }));
        assert_eq!(outbox(&database, "urgent").await[0]["trace_id"], "retry");

        let hold = take(&store, item(&database, "dismiss").await, "ann").await;
        let closed = store.review_close(&hold, &Ending::Dismissed, Some("a test")).await.unwrap();
        assert!(matches!(closed, Closed::Ended { conclusion, .. } if conclusion.faithful.is_none()));

        let truth: Vec<(String, bool)> =
            sqlx::query_as("select trace_id, faithful from analytics.ground_truth")
                .fetch_all(&database.pool)
                .await
                .unwrap();
        assert_eq!(truth, [("label".to_owned(), true)]);
        let exported = store.reviewed(None, None, true, None, 10).await.unwrap();
        assert_eq!(exported.len(), 1);
        assert!(exported[0].payload.is_some() && exported[0].faithful);
    })
    .await;
}

#[tokio::test]
async fn lists_are_in_order_of_urgency_and_age_and_pages_join() {
    in_database(|database, store| async move {
        let with = |id: &str, severity: Option<Severity>, urgent: bool, age: i64| {
            let mut ending = ending(&trace_with(serde_json::json!({
                "trace_id": id, "query": format!("where is 100% {id}?"), "project": if age > 2 { "old" } else { "shop" },
            })));
            ending.routed.severity = severity;
            ending.routed.urgent = urgent;
            ending.ended_at = crate::sample::at(100 - age);
            ending
        };
        for ending in [
            with("minor", Some(Severity::Minor), false, 4),
            with("young", Some(Severity::Major), false, 1),
            with("aged", Some(Severity::Major), false, 3),
            with("urgent", Some(Severity::Critical), true, 0),
        ] {
            store.finish(ending).await.unwrap();
        }
        store.finish(failed("failed")).await.unwrap();
        store.finish(sampled("sampled")).await.unwrap();
        let ids = async |filter: QueueFilter, after: Option<QueuePlace>, limit: u32| {
            let items = store.review_queue(List::Findings, &filter, after, limit).await.unwrap();
            let place = items.last().map(|it| QueuePlace { rank: it.rank, at: it.created_at, id: it.id });
            (items.into_iter().map(|it| it.trace_id).collect::<Vec<_>>(), place)
        };
        let all = QueueFilter::default;
        assert_eq!(ids(all(), None, 10).await.0, ["urgent", "aged", "young", "minor"]);
        let (first, place) = ids(all(), None, 3).await;
        assert_eq!(first, ["urgent", "aged", "young"]);
        assert_eq!(ids(all(), place, 3).await.0, ["minor"]);
        let text = |text: &str| QueueFilter { text: Some(text.into()), ..all() };
        assert_eq!(ids(text("100% AGED"), None, 10).await.0, ["aged"]);
        assert!(ids(text("1_0% aged"), None, 10).await.0.is_empty());
        let scope = QueueFilter { scope: Some(vec!["old".into()]), ..all() };
        assert_eq!(ids(scope, None, 10).await.0, ["aged", "minor"]);
        let major = QueueFilter { severity: Some("major".into()), ..all() };
        assert_eq!(ids(major, None, 10).await.0, ["aged", "young"]);
        take(&store, item(&database, "aged").await, "ann").await;
        let of = |assignee| QueueFilter { assignee: Some(assignee), ..all() };
        assert_eq!(ids(of(Assignee::Named("ann".into())), None, 10).await.0, ["aged"]);
        assert_eq!(ids(of(Assignee::Nobody), None, 10).await.0, ["urgent", "young", "minor"]);

        let counts = store.review_counts(None).await.unwrap();
        let count = |list: &str, reason: Option<&str>| {
            counts.iter().find(|it| it.list == list && it.reason.as_deref() == reason).map(|it| it.items)
        };
        assert_eq!(count("findings", None), Some(4));
        assert_eq!(count("findings", Some("critical_finding")), Some(4));
        assert_eq!(count("failed", Some("unreadable")), Some(1));
        assert_eq!((count("sample", None), count("sample", Some("blind_sample"))), (Some(1), None));
        assert_eq!(store.review_projects(None).await.unwrap(), ["old", "shop"]);
    })
    .await;
}
