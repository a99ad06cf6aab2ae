//! What an analyst may see.

use practice::CannedReply;
use sqlx::{AssertSqlSafe, PgConnection};
use testkit::System;
use testkit::material::{WRONG_FARE, trace, wrong_fare};

async fn code_of(session: &mut PgConnection, sql: String) -> Option<String> {
    let outcome = sqlx::query(AssertSqlSafe(sql)).fetch_all(session).await;
    outcome.err().and_then(|error| error.as_database_error()?.code().map(std::borrow::Cow::into_owned))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analyst_reads_the_views_and_nothing_else() {
    const REFUSED: Option<&str> = Some("42501");
    let system = System::builder().replies("t", [CannedReply::content(wrong_fare("critical"))]).start().await;
    let _worker = system.worker().await;
    system.publish(&trace("t").saying(WRONG_FARE)).await;
    system.ended("t").await;

    let names = |kind: &str| {
        format!(
            "select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where n.nspname = '{kind}' and c.relkind in ('r', 'v', 'm', 'p') order by 1"
        )
    };
    let views: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(names("analytics"))).fetch_all(&system.database.pool).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(AssertSqlSafe(names("groundcrew")))
        .fetch_all(&system.database.pool)
        .await
        .unwrap();
    assert!(!views.is_empty() && tables.len() >= 9, "{views:?} {tables:?}");

    let mut session = system.database.session().await;
    sqlx::query("set role groundcrew_analyst").execute(&mut session).await.unwrap();
    for view in &views {
        let code = code_of(&mut session, format!("select * from analytics.{view}")).await;
        assert_eq!(code, None, "analytics.{view} can be read");
    }
    let audits: i64 = sqlx::query_scalar("select count(*) from analytics.audits where trace_id = 't'")
        .fetch_one(&mut session)
        .await
        .unwrap();
    assert_eq!(audits, 1);
    for table in &tables {
        let code = code_of(&mut session, format!("select 1 from groundcrew.{table}")).await;
        assert_eq!(code.as_deref(), REFUSED, "groundcrew.{table} is closed");
    }
    for statement in [
        "create table analytics.mine (n int)".to_owned(),
        "create view analytics.mine as select 1 as n".to_owned(),
        "select groundcrew.grant_analyst()".to_owned(),
        "create schema mine".to_owned(),
    ] {
        let code = code_of(&mut session, statement.clone()).await;
        assert_eq!(code.as_deref(), REFUSED, "{statement}");
    }
    for view in &views {
        let code = code_of(&mut session, format!("delete from analytics.{view}")).await;
        assert!(code.is_some(), "analytics.{view} cannot be written to");
    }
}
