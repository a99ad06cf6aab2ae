//! Caps: what is counted, who may still call, and what a worker that is gone leaves behind.

use std::time::Duration;

use audit::spend::{Caps, Limit, Money};
use chrono::NaiveDate;
use serde_json::json;
use store::{Asked, Reserved};

use crate::fixture::{Database, in_database};
use crate::maintain::RETENTION;
use crate::sample::{at, attempt, ending, key, opening, record, trace};

const LONG: Duration = Duration::from_secs(600);

fn day() -> NaiveDate {
    at(0).date_naive()
}

fn asked(caps: Caps, block: u64, taken: u64, valid_for: Duration) -> Asked {
    Asked { project: "shop".into(), day: day(), caps, block, taken, valid_for }
}

fn calls(cap: u64) -> Caps {
    Caps { calls: Some(cap), ..Caps::default() }
}

async fn usage(database: &Database) -> (i64, i64, i64, Option<i64>) {
    sqlx::query_as(
        "select calls, replies, prompt_tokens + completion_tokens, cost_micros from analytics.spend_daily
        where project = 'shop' and currency = 'USD'",
    )
    .fetch_one(&database.pool)
    .await
    .unwrap()
}

#[tokio::test]
async fn an_attempt_that_is_written_twice_is_paid_for_once() {
    in_database(|database, store| async move {
        let trace = trace("a");
        let first = [attempt(1, audit::policy::Class::Format)];
        for _ in 0..2 {
            store.keep(&key(&trace), &opening("n0nce"), &record(&trace), &first).await.unwrap();
        }
        assert_eq!(usage(&database).await, (1, 1, 902, Some(4_200)));
        // Written with the end once more, beside a new one.
        for _ in 0..2 {
            store.finish(&ending(&trace)).await.unwrap();
        }
        assert_eq!(usage(&database).await, (2, 2, 1_804, Some(8_400)));
    })
    .await;
}

#[tokio::test]
async fn an_unknown_price_is_a_row_of_its_own_and_no_zero() {
    in_database(|database, store| async move {
        let mut ending = ending(&trace("a"));
        ending.attempts[1].cost_micros = None;
        ending.attempts[1].currency = None;
        ending.attempts[1].prompt_tokens = None;
        store.finish(&ending).await.unwrap();
        let rows: Vec<(Option<String>, i64, i64, Option<i64>)> = sqlx::query_as(
            "select currency, calls, replies_without_tokens, cost_micros from analytics.spend_daily order by currency",
        )
        .fetch_all(&database.pool)
        .await
        .unwrap();
        assert_eq!(rows, [(Some("USD".into()), 1, 0, Some(4_200)), (None, 1, 1, None)]);
    })
    .await;
}

#[tokio::test]
async fn two_workers_never_reserve_more_than_is_left() {
    in_database(|database, store| async move {
        let other = database.store();
        store.finish(&ending(&trace("a"))).await.unwrap();
        assert_eq!(store.reserve(asked(calls(25), 10, 2, LONG)).await.unwrap(), Reserved::Until(12));
        assert_eq!(other.reserve(asked(calls(25), 10, 0, LONG)).await.unwrap(), Reserved::Until(10));
        assert_eq!(store.reserve(asked(calls(25), 10, 12, LONG)).await.unwrap(), Reserved::Until(15));
        assert_eq!(
            other.reserve(asked(calls(25), 10, 10, LONG)).await.unwrap(),
            Reserved::Refused(Limit::Calls)
        );
        // Renewing takes nothing away.
        assert_eq!(other.reserve(asked(calls(25), 0, 10, LONG)).await.unwrap(), Reserved::Until(10));
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_a_killed_worker_had_reserved_is_free_after_its_time() {
    in_database(|database, store| async move {
        let killed = database.store();
        // Over at the moment when it is made.
        assert_eq!(
            killed.reserve(asked(calls(12), 10, 0, Duration::ZERO)).await.unwrap(),
            Reserved::Until(10)
        );
        assert_eq!(store.reserve(asked(calls(12), 10, 0, LONG)).await.unwrap(), Reserved::Until(10));
        // If it was only asleep, what it had reserved is void; the calls that it is making are not.
        assert_eq!(killed.reserve(asked(calls(12), 10, 1, LONG)).await.unwrap(), Reserved::Until(2));
        killed.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_worker_that_stops_gives_its_calls_back() {
    in_database(|database, store| async move {
        let other = database.store();
        assert_eq!(other.reserve(asked(calls(10), 10, 0, LONG)).await.unwrap(), Reserved::Until(10));
        assert_eq!(
            store.reserve(asked(calls(10), 10, 0, LONG)).await.unwrap(),
            Reserved::Refused(Limit::Calls)
        );
        other.return_reservations().await.unwrap();
        assert_eq!(store.reserve(asked(calls(10), 10, 0, LONG)).await.unwrap(), Reserved::Until(10));
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn money_in_another_currency_is_no_money_of_the_cap() {
    in_database(|_database, store| async move {
        let money = |micros, currency: &str| Caps {
            money: Some(Money { micros, currency: currency.into() }),
            ..Caps::default()
        };
        assert_eq!(store.reserve(asked(money(1, "USD"), 5, 0, LONG)).await.unwrap(), Reserved::Until(5));
        assert_eq!(store.reserve(asked(money(1, "USD"), 5, 5, LONG)).await.unwrap(), Reserved::Wait);
        store.finish(&ending(&trace("a"))).await.unwrap();
        // 8,400 are spent on two calls and 3 more are reserved.
        let left = asked(money(8_400 + 5 * 4_200, "USD"), 5, 5, LONG);
        assert_eq!(store.reserve(left).await.unwrap(), Reserved::Until(7));
        assert_eq!(
            store.reserve(asked(money(1_000_000, "EUR"), 5, 7, LONG)).await.unwrap(),
            Reserved::Refused(Limit::PriceUnknown)
        );
    })
    .await;
}

#[tokio::test]
async fn an_alert_is_raised_once_a_day_however_many_workers_notice() {
    in_database(|database, store| async move {
        let other = database.store();
        let body = json!({ "message": "used up" });
        let raise = |store: &store::Store| {
            let (store, body) = (store.clone(), body.clone());
            async move { store.alert("over_budget", "shop", day(), "used up", body).await.unwrap() }
        };
        assert!(raise(&store).await);
        assert!(!raise(&other).await && !raise(&store).await);
        assert_eq!(database.count("select count(*) from groundcrew.alerts").await, 1);
        let sql = "select count(*) from groundcrew.outbox where routing_key = 'alert.over_budget'";
        assert_eq!(database.count(sql).await, 1);
        other.close().await;
    })
    .await;
}

/// The judge is asked by both writers of a race, and one of them stores nothing.
#[tokio::test]
async fn what_the_loser_of_a_race_asked_the_judge_is_counted() {
    in_database(|database, store| async move {
        let trace = trace("a");
        store.finish(&ending(&trace)).await.unwrap();
        assert_eq!(usage(&database).await, (2, 2, 1_804, Some(8_400)));
        // Another copy of the delivery, which had an answer of its own.
        let mut late = ending(&trace);
        late.attempts[0].started_at += chrono::Duration::seconds(1);
        assert_eq!(store.finish(&late).await.unwrap(), store::Finished::AlreadyEnded);
        assert_eq!(
            usage(&database).await,
            (3, 3, 2_706, Some(12_600)),
            "the attempt that both have counts once"
        );

        let other = crate::sample::trace("b");
        let mut first = [attempt(1, audit::policy::Class::Format)];
        store.keep(&key(&other), &opening("one"), &record(&other), &first).await.unwrap();
        first[0].started_at += chrono::Duration::seconds(1);
        let kept = store.keep(&key(&other), &opening("two"), &record(&other), &first).await.unwrap();
        assert_eq!(kept, store::Kept::LostRace);
        assert_eq!(usage(&database).await, (5, 5, 4_510, Some(21_000)));
    })
    .await;
}

/// One absurd count of tokens made every sum over it fail.
#[tokio::test]
async fn absurd_counts_of_tokens_that_are_stored_break_no_sum() {
    in_database(|database, store| async move {
        for id in ["a", "b"] {
            let mut ending = ending(&trace(id));
            for attempt in &mut ending.attempts {
                attempt.prompt_tokens = Some(i64::MAX.unsigned_abs());
                attempt.completion_tokens = Some(i64::MAX.unsigned_abs());
                attempt.cost_micros = Some(i64::MAX);
            }
            store.finish(&ending).await.unwrap();
        }
        // As another connection would have written.
        database.execute("insert into groundcrew.usage select project, day, currency, worker, slot + 1, calls, replies,
            prompt_tokens, completion_tokens, replies_without_tokens, cost_micros from groundcrew.usage").await;
        let spent: (i64, i64, i64) = sqlx::query_as(
            "select calls, prompt_tokens, cost_micros from analytics.spend_daily where currency = 'USD'",
        )
        .fetch_one(&database.pool)
        .await
        .unwrap();
        assert_eq!(spent, (8, i64::MAX, i64::MAX));
        let tokens = Caps { tokens: Some(1_000), ..Caps::default() };
        assert_eq!(store.reserve(asked(tokens, 10, 0, LONG)).await.unwrap(), Reserved::Refused(Limit::Tokens));
        assert!(matches!(store.reserve(asked(calls(100), 10, 0, LONG)).await.unwrap(), Reserved::Until(_)));
        // After the day is over, and before it is removed.
        let now = at(4 * 86_400);
        for _ in 0..2 {
            store.maintain(RETENTION, now, |_| {}).await.unwrap();
        }
        let rows = database.count("select count(*) from groundcrew.usage").await;
        assert_eq!(rows, 1, "the day is added up");
        assert_eq!(database.count("select prompt_tokens from groundcrew.usage").await, i64::MAX);
    })
    .await;
}
