//! A worker needs no more than its role.

use audit::spend::Caps;
use practice::CannedReply;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection};
use testkit::material::{WRONG_FARE, trace, wrong_fare};
use testkit::{PATIENCE, System};

/// A user who may do what a role may do.
async fn user(system: &System, role: &str) -> String {
    let name = format!("{role}_{}", uuid::Uuid::now_v7().simple());
    let sql = format!("create role {name} login password 'p' in role {role}");
    sqlx::query(AssertSqlSafe(sql)).execute(&system.database.pool).await.unwrap();
    name
}

async fn code_of(session: &mut PgConnection, sql: &'static str) -> Option<String> {
    let outcome = sqlx::query(sql).execute(session).await;
    outcome.err().and_then(|error| error.as_database_error()?.code().map(std::borrow::Cow::into_owned))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_does_all_its_work_as_the_worker_role_and_can_do_nothing_else() {
    let system = System::builder()
        .replies("wrong", [CannedReply::content("not JSON"), CannedReply::content(wrong_fare("critical"))])
        .tuned(|tuning| tuning.caps = Caps { calls: Some(1000), ..Caps::default() })
        .start()
        .await;
    let name = user(&system, "groundcrew_worker").await;
    let url = system.database.url_as(&name, "p", Some(system.to_database.address()));
    let worker = system.worker_on(url, |_| {}).await;

    system.publish(&trace("right")).await;
    assert_eq!(system.ended("right").await["disposition"], "passed");
    // A retry keeps an attempt; a finding makes a review item and messages.
    system.publish(&trace("wrong").saying(WRONG_FARE)).await;
    assert_eq!(system.ended("wrong").await["disposition"], "escalated");
    assert_eq!(system.review_items("wrong").await.len(), 1);
    system.publish(&trace("lacking").without("/retrieval/retrieved_at")).await;
    assert_eq!(system.ended("lacking").await["disposition"], "incomplete");
    system.publish_bytes("no trace").await;
    assert_eq!(system.dead_letters("undecodable", 1).await.len(), 1);
    // A duplicate that brings a label.
    let label = serde_json::json!({ "labeler": "ann", "faithful": true });
    system.publish(&trace("right").set("/human_label", label)).await;
    testkit::wait_for("the label", PATIENCE, async || {
        let labelled = "select id::text from groundcrew.traces where human_labeler = 'ann'";
        let labelled = system.strings(labelled).await;
        (labelled.len() == 1).then_some(())
    })
    .await;
    system.outbox_empty().await;
    // It could not be seen by operators: reporting itself wanted a right to delete.
    let seen = "select id::text from groundcrew.workers where seen_at > now() - interval '1 minute'";
    assert_eq!(system.strings(seen).await.len(), 1);
    worker.stop(PATIENCE).await;
    assert!(system.strings(seen).await.is_empty(), "one that has ended says so");

    let options: PgConnectOptions = system.database.url_as(&name, "p", None).parse().unwrap();
    let mut session = options.connect().await.unwrap();
    for refused in [
        "delete from groundcrew.audits",
        "delete from groundcrew.trace_rows",
        "truncate groundcrew.outbox",
        "drop table groundcrew.dead_letters",
        "select payload from groundcrew.trace_bodies",
        "update groundcrew.attempt_bodies set raw_reply = null",
        "insert into groundcrew.body_removals values ('trace_bodies', now(), now() + interval '1 day', now())",
        "update groundcrew._sqlx_migrations set success = false",
        "select * from analytics.audits",
        "select groundcrew.grant_roles()",
        "create table groundcrew.mine (n int)",
    ] {
        assert_eq!(code_of(&mut session, refused).await.as_deref(), Some("42501"), "{refused}");
    }
    drop(session);
    sqlx::query(AssertSqlSafe(format!("drop role {name}"))).execute(&system.database.pool).await.unwrap();
}
