//! What ages out, what stays, and that nobody has to stop for it.

use std::time::Duration;

use chrono::{DateTime, Days, Utc};
use serde_json::Value;
use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, PgPool};
use store::{Bodies, Expired, Finished, Outcome, Retention, Store};

use crate::fixture::{Database, in_database, in_empty_database};
use crate::sample::{ending, passed, trace};

const DAY: Duration = Duration::from_secs(86_400);
pub const RETENTION: Retention = Retention {
    bodies: DAY.saturating_mul(90),
    outbox: DAY.saturating_mul(7),
    dead_letters: DAY,
    usage: DAY.saturating_mul(30_000),
    access_log: DAY.saturating_mul(400),
    notifications: DAY.saturating_mul(180),
};

/// Late enough that all that was stored just now is over its age.
fn later() -> DateTime<Utc> {
    Utc::now().checked_add_days(Days::new(100)).unwrap()
}

async fn maintain(store: &Store, now: DateTime<Utc>) -> Vec<Expired> {
    let mut done = Vec::new();
    store.maintain(RETENTION, now, |expired| done.push(expired)).await.unwrap();
    done
}

const BODIES: &str = "select count(*) from (
    select payload from groundcrew.traces where payload is not null
    union all select request from groundcrew.attempts where request is not null
    union all select raw_reply from groundcrew.attempts where raw_reply is not null
) as bodies";

#[tokio::test]
async fn bodies_go_by_partition_and_results_stay() {
    in_database(|database, store| async move {
        store.finish(&ending(&trace("a"))).await.unwrap();
        assert_eq!(database.count(BODIES).await, 5);
        assert_eq!(maintain(&store, Utc::now()).await, [], "nothing is old yet");
        assert_eq!(database.count(BODIES).await, 5);

        let expected = store.expired(RETENTION, later()).await.unwrap();
        assert_eq!(database.count(BODIES).await, 5, "looking removes nothing");
        let removed = maintain(&store, later()).await;
        let partitions = |expired: &[Expired]| {
            let is_partition = |expired: &&Expired| matches!(expired, Expired::Partition(_));
            expired.iter().filter(is_partition).cloned().collect::<Vec<_>>()
        };
        assert!(partitions(&removed).len() >= 2, "{removed:?}");
        assert_eq!(partitions(&removed), partitions(&expected));
        assert_eq!(database.count(BODIES).await, 0);

        let shown = store.trace_show("a", None, Bodies::With).await.unwrap();
        assert!(shown[0].payload.is_none() && shown[0].body_removed_at.is_some());
        let audit = &shown[0].audits[0];
        assert_eq!((audit.disposition.as_deref(), audit.claims.len()), (Some("escalated"), 2));
        let attempt = &audit.attempts[0];
        assert!(
            attempt.raw_reply.is_none() && attempt.content.is_none() && attempt.body_removed_at.is_some()
        );
        assert_eq!((attempt.class.as_str(), attempt.prompt_tokens), ("format", Some(812)));
        // Its duplicates bring no body back.
        assert_eq!(store.finish(&ending(&trace("a"))).await.unwrap(), Finished::AlreadyEnded);
        assert_eq!(database.count(BODIES).await, 0);
    })
    .await;
}

#[tokio::test]
async fn sent_messages_and_settled_letters_go_and_what_waits_stays() {
    in_database(|database, store| async move {
        store.finish(&ending(&trace("a"))).await.unwrap();
        let leased = store.lease(1, Duration::from_secs(60)).await.unwrap();
        store.mark_sent(&[(leased[0].id, Outcome::Confirmed)]).await.unwrap();
        let removed = maintain(&store, later()).await;
        assert!(removed.contains(&Expired::Rows { table: "outbox", count: 1 }), "{removed:?}");
        assert_eq!(database.count("select count(*) from groundcrew.outbox where sent_at is null").await, 1);
        assert_eq!(database.count("select count(*) from groundcrew.outbox").await, 1);
    })
    .await;
}

#[tokio::test]
async fn sums_of_days_that_are_over_become_one_row_and_stay_the_same() {
    in_database(|database, store| async move {
        let other = database.store();
        // The samples' calls were made long ago.
        store.finish(&ending(&trace("a"))).await.unwrap();
        other.finish(&ending(&trace("b"))).await.unwrap();
        let sums = "select sum(calls)::int8 * 1000000 + sum(cost_micros)::int8 from analytics.spend_daily";
        let before = database.count(sums).await;
        assert_eq!(database.count("select count(*) from groundcrew.usage").await, 2);
        for _ in 0..2 {
            store.maintain(RETENTION, Utc::now(), |_| {}).await.unwrap();
            assert_eq!(database.count("select count(*) from groundcrew.usage").await, 1);
            assert_eq!(database.count(sums).await, before);
        }
        other.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_a_long_transaction_and_writers_do_not_wait_for_it() {
    in_database(|database, store| async move {
        store.finish(&ending(&trace("a"))).await.unwrap();
        let mut holder = database.pool.begin().await.unwrap();
        // A reader that has been at it for a while.
        sqlx::query("select count(*) from groundcrew.trace_bodies").execute(&mut *holder).await.unwrap();
        let maintaining = tokio::spawn({
            let store = store.clone();
            async move { maintain(&store, later()).await }
        });
        let waits = "select count(*) from pg_stat_activity
            where datname = current_database() and query like 'alter table%detach%' and wait_event_type = 'Lock'";
        while database.count(waits).await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Into next week: this week's partition is on its way out.
        let mut writer = database.pool.acquire().await.unwrap();
        let sql = "insert into groundcrew.trace_bodies values (gen_random_uuid(), now() + interval '8 days', 'x')";
        sqlx::query("set lock_timeout = '500ms'").execute(&mut *writer).await.unwrap();
        sqlx::query(sql).execute(&mut *writer).await.unwrap();
        holder.commit().await.unwrap();
        let removed = maintaining.await.unwrap();
        assert!(removed.iter().any(|expired| matches!(expired, Expired::Partition(_))), "{removed:?}");
        assert_eq!(database.count(BODIES).await, 0);
    })
    .await;
}

/// The rows of an audit, as JSON, in the order in which they may be written.
async fn rows(database: &Database) -> Vec<(&'static str, Vec<Value>)> {
    let mut rows = Vec::new();
    for table in ["traces", "audits", "attempts", "claims"] {
        let sql = AssertSqlSafe(format!("select to_jsonb(t) from groundcrew.{table} as t"));
        rows.push((table, sqlx::query_scalar(sql).fetch_all(&database.pool).await.unwrap()));
    }
    rows
}

/// Brings an empty database to the version before bodies had tables of their own.
async fn migrate_to_11(url: &str) {
    let mut migrator: Migrator = sqlx::migrate!("../../migrations");
    migrator.dangerous_set_table_name("groundcrew._sqlx_migrations");
    migrator.create_schema("groundcrew");
    migrator.migrations = migrator.migrations.iter().filter(|one| one.version <= 11).cloned().collect();
    let pool = PgPool::connect(url).await.unwrap();
    migrator.run(&pool).await.unwrap();
    pool.close().await;
}

#[tokio::test]
async fn rows_of_an_older_version_keep_their_bodies_and_age_out_as_well() {
    in_empty_database(|old| async move {
        // The rows are made by today's code in a database of today, and written into an old one.
        let (give, take) = tokio::sync::oneshot::channel();
        in_database(|new, store| async move {
            store.finish(&ending(&trace("a"))).await.unwrap();
            store.finish(&passed(&trace("b"))).await.unwrap();
            let shown = store.trace_show("a", None, Bodies::With).await.unwrap();
            give.send((rows(&new).await, shown)).unwrap();
        })
        .await;
        let (rows, shown) = take.await.unwrap();
        migrate_to_11(&old.url).await;
        for (table, rows) in rows {
            let sql = format!(
                "insert into groundcrew.{table} select * from jsonb_populate_record(null::groundcrew.{table}, $1)"
            );
            for row in rows {
                sqlx::query(AssertSqlSafe(sql.clone())).bind(row).execute(&old.pool).await.unwrap();
            }
        }

        let migrated = store::migrate(&old.settings()).await.unwrap();
        assert_eq!(migrated.applied.first().map(String::as_str), Some("0012_bodies"));
        let store = old.store();
        let mut found = store.trace_show("a", None, Bodies::With).await.unwrap();
        // Review items were not taken along.
        found[0].audits[0].review_item = shown[0].audits[0].review_item.clone();
        found[0].audits[0].omissions = shown[0].audits[0].omissions.clone();
        assert_eq!(found, shown, "an old trace is shown as before, bodies included");
        assert_eq!(store.finish(&ending(&trace("a"))).await.unwrap(), Finished::AlreadyEnded);
        assert_eq!(store.finish(&passed(&trace("c"))).await.unwrap(), Finished::Committed);
        assert_eq!(old.count("select count(*) from groundcrew.trace_bodies").await, 1);

        // The samples were received in 2025.
        let removed = maintain(&store, Utc::now()).await;
        assert!(
            removed.contains(&Expired::Rows { table: "traces (payload in the row)", count: 2 })
                && removed.contains(&Expired::Rows { table: "attempts (bodies in the row)", count: 4 }),
            "{removed:?}"
        );
        assert_eq!(old.count(BODIES).await, 5, "those of the new trace");
        let found = store.trace_show("a", None, Bodies::With).await.unwrap();
        assert!(found[0].payload.is_none() && found[0].body_removed_at.is_some());
        assert_eq!(found[0].audits[0].claims.len(), 2);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn old_access_ended_sessions_and_settled_pages_go_and_the_rest_stays() {
    in_database(|database, store| async move {
        store.finish(&ending(&trace("a"))).await.unwrap();
        for statement in [
            "insert into groundcrew.access_log (at, principal, method, path, status)
                select now() - days * interval '1 day', 'ann', 'GET', '/items/' || days, 200
                from unnest(array[500, 401, 399, 0]) as days",
            "insert into groundcrew.api_tokens (id, name, hash, role)
                values (gen_random_uuid(), 'ann', sha256('t'), 'viewer')",
            "insert into groundcrew.desk_sessions (hash, token, created_at, expires_at)
                select sha256(days::text::bytea), (select id from groundcrew.api_tokens),
                    now() - (days + 1) * interval '1 day', now() - days * interval '1 day'
                from unnest(array[401, 399, -1]) as days",
            // Old and told; old with something left to tell; old with an item that waits; young.
            "insert into groundcrew.notification_pages (id, receiver, project, kind, urgent, reason, practice, opened_at,
                    closes_at, resolved_at)
                select md5(name)::uuid, name, 'p', 'gate', false, 'x', false, at, at, case when name <> 'open' then at end
                from (values ('told', now() - interval '181 days'), ('untold', now() - interval '181 days'),
                    ('open', now() - interval '181 days'), ('young', now() - interval '179 days')) as pages (name, at)",
            "insert into groundcrew.notification_items (receiver, review_item, page_id, joined_at)
                select receiver, (select id from groundcrew.review_items), id, opened_at
                from groundcrew.notification_pages",
            "insert into groundcrew.notifications (id, page_id, event, state, tries, created_at, due_at, settled_at)
                select md5(receiver || event)::uuid, id, event,
                    case when receiver = 'untold' and event = 'resolve' then 'pending' else 'delivered' end, 1, opened_at,
                    opened_at, case when receiver <> 'untold' or event <> 'resolve' then opened_at end
                from groundcrew.notification_pages cross join unnest(array['trigger', 'resolve']) as event",
            "insert into groundcrew.notification_tries (notification_id, number, at, outcome)
                select id, 1, created_at, 'delivered' from groundcrew.notifications",
        ] {
            sqlx::query(statement).execute(&database.pool).await.unwrap();
        }
        let expected = [("access_log", 2), ("desk_sessions", 1), ("notification_pages", 1)];
        let of = |expired: Vec<Expired>| -> Vec<(&'static str, u64)> {
            let rows = expired.into_iter().filter_map(|expired| match expired {
                Expired::Rows { table, count } => Some((table, count)),
                Expired::Partition(_) => None,
            });
            rows.filter(|(table, _)| expected.iter().any(|(name, _)| name == table)).collect()
        };
        assert_eq!(of(store.expired(RETENTION, Utc::now()).await.unwrap()), expected);
        assert_eq!(of(maintain(&store, Utc::now()).await), expected);
        let left: Vec<String> =
            sqlx::query_scalar("select receiver from groundcrew.notification_pages order by receiver")
                .fetch_all(&database.pool)
                .await
                .unwrap();
        assert_eq!(left, ["open", "untold", "young"]);
        for (table, rows) in
            [("notification_items", 3), ("notifications", 6), ("notification_tries", 6), ("access_log", 2)]
        {
            let sql = format!("select count(*) from groundcrew.{table}");
            let count: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&database.pool).await.unwrap();
            assert_eq!(count, rows, "{table}");
        }
        assert_eq!(of(store.expired(RETENTION, Utc::now()).await.unwrap()), []);
    })
    .await;
}
