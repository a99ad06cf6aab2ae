//! What analysts may see, and what the catalogue says about it.

use std::str::FromStr;

use audit::routing::Disposition;
use chrono::Utc;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, Row};
use store::SampledOut;
use uuid::Uuid;

use crate::fixture::{Database, in_database};
use crate::sample::{ending, gated, passed, trace, trace_with, unjudged};

async fn relations(database: &Database, schema: &str) -> Vec<String> {
    sqlx::query_scalar(
        "select relname::text from pg_class where relnamespace = $1::regnamespace
            and relkind in ('r', 'p', 'v') and not relispartition",
    )
    .bind(schema)
    .fetch_all(&database.pool)
    .await
    .unwrap()
}

/// Somebody who may do what the role for analysts may do. Gives the connection and the role's name.
async fn analyst(database: &Database) -> (PgConnection, String) {
    let name = format!("analyst_{}", Uuid::now_v7().simple());
    database.execute(format!("create role {name} login password 'p' in role groundcrew_analyst")).await;
    let options = PgConnectOptions::from_str(&database.url).unwrap().username(&name).password("p");
    (options.connect().await.unwrap(), name)
}

#[tokio::test]
async fn an_analyst_reads_the_views_and_nothing_else() {
    in_database(|database, store| async move {
        store.finish(&ending(&trace("a"))).await.unwrap();
        // A second run of the same audit.
        let mut again = ending(&trace("a"));
        again.key.repeat = 1;
        for event in &mut again.events {
            event.id = audit::record::derived_id(again.key.id(), &event.routing_key);
        }
        store.finish(&again).await.unwrap();
        let left_out = SampledOut { project: "p".into(), day: Utc::now().date_naive(), traces: 1 };
        store.count_sampled_out(vec![left_out]).await.unwrap();
        store.keep_golden_run(crate::golden::run("a", true)).await.unwrap();
        // And another generation.
        let mut later = unjudged(&trace("a"), Disposition::Refused);
        later.key.generation = 1;
        store.finish(&later).await.unwrap();
        store.finish(&gated(&trace("g"))).await.unwrap();
        // And a review that has ended.
        crate::review::ruled(&database, &store, "b").await;
        let (mut analyst, role) = analyst(&database).await;
        let views = relations(&database, "analytics").await;
        assert_eq!(views.len(), 17);
        for view in views {
            let sql = AssertSqlSafe(format!("select count(*) from analytics.{view}"));
            let rows: i64 = sqlx::query_scalar(sql).fetch_one(&mut analyst).await.unwrap();
            assert!(rows > 0, "analytics.{view}");
        }
        let tables = relations(&database, "groundcrew").await;
        assert_eq!(tables.len(), 32, "the list of migrations is one of them");
        for table in tables {
            let sql = AssertSqlSafe(format!("select count(*) from groundcrew.{table}"));
            let error = sqlx::query(sql).execute(&mut analyst).await.unwrap_err();
            let code = error.as_database_error().unwrap().code().unwrap().into_owned();
            assert_eq!(code, "42501", "groundcrew.{table}");
        }
        let refused = [
            "delete from analytics.audits",
            "select groundcrew.grant_analyst()",
            "create view analytics.x as select 1",
        ];
        for sql in refused {
            let error = sqlx::query(sql).execute(&mut analyst).await.unwrap_err();
            assert!(error.as_database_error().is_some(), "{sql}");
        }
        analyst.close().await.unwrap();
        database.execute(format!("drop role {role}")).await;
    })
    .await;
}

#[tokio::test]
async fn every_table_view_and_column_is_explained() {
    in_database(|database, _| async move {
        let unexplained: Vec<String> = sqlx::query_scalar(
            "select relation.oid::regclass::text || coalesce('.' || attribute.attname, '')
            from pg_class as relation
            left join lateral (
                select 0::int2 as attnum, null::name as attname
                union all
                select attnum, attname from pg_attribute
                where attrelid = relation.oid and attnum > 0 and not attisdropped
            ) as attribute on true
            where relation.relnamespace in ('groundcrew'::regnamespace, 'analytics'::regnamespace)
                and relation.relkind in ('r', 'p', 'v') and relation.relname <> '_sqlx_migrations'
                and not exists (
                    select from pg_description
                    where classoid = 'pg_class'::regclass and objoid = relation.oid
                        and objsubid = attribute.attnum
                )",
        )
        .fetch_all(&database.pool)
        .await
        .unwrap();
        assert!(unexplained.is_empty(), "without a comment: {unexplained:?}");
    })
    .await;
}

/// Errors are told apart by constraint names, so none may have been left to the server to name.
#[tokio::test]
async fn public_has_no_rights_and_constraints_have_names() {
    in_database(|database, _| async move {
        let open = "select count(*) from pg_namespace
            where nspname in ('groundcrew', 'analytics') and has_schema_privilege('public', oid, 'usage')";
        assert_eq!(database.count(open).await, 0);
        let unnamed = "select count(*) from pg_constraint
            where connamespace = 'groundcrew'::regnamespace and conname ~ '_(check|fkey|key1)$'";
        assert_eq!(database.count(unnamed).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_mean_says_what_it_covers() {
    in_database(|database, store| async move {
        store.finish(&ending(&trace("a"))).await.unwrap();
        store.finish(&passed(&trace("b"))).await.unwrap();
        store.finish(&unjudged(&trace("c"), Disposition::Unreadable)).await.unwrap();
        let mut by_rule = passed(&trace("d"));
        by_rule.report.as_mut().unwrap().by_rule = true;
        by_rule.report.as_mut().unwrap().score = Some(0.0);
        store.finish(&by_rule).await.unwrap();
        let reported = trace_with(serde_json::json!({ "trace_id": "e", "origin": "user_report" }));
        store.finish(&ending(&reported)).await.unwrap();
        let mut practice = passed(&trace("f"));
        practice.practice = true;
        store.finish(&practice).await.unwrap();

        let rows = sqlx::query("select * from analytics.coverage_daily order by origin, practice")
            .fetch_all(&database.pool)
            .await
            .unwrap();
        assert_eq!(rows.len(), 3, "practice and reported traces are kept apart");
        let sample = &rows[0];
        let number = |column: &str| sample.get::<i64, _>(column);
        assert_eq!(["audits", "scored", "scored_by_rule", "not_scored"].map(number), [4, 2, 1, 1]);
        assert_eq!(["passed", "escalated", "unreadable", "open"].map(number), [2, 1, 1, 0]);
        assert_eq!(sample.get::<f64, _>("mean_score").to_bits(), 0.75_f64.to_bits());

        let dispositions: i64 = Disposition::ALL.iter().map(|word| number(word.as_str())).sum();
        assert_eq!(dispositions + number("open"), number("audits"), "every disposition has its column");
        let kinds: Vec<_> = trace::Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        let known: bool = sqlx::query_scalar(
            "select bool_and(pg_get_constraintdef(oid) like '%''' || kind || '''%')
            from pg_constraint, unnest($1::text[]) as kind
            where conname = 'audits_kind_known'",
        )
        .bind(&kinds)
        .fetch_one(&database.pool)
        .await
        .unwrap();
        assert!(known, "every kind may be stored");
    })
    .await;
}
