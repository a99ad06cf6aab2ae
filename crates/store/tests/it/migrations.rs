//! Applying migrations, and telling what is missing.

use store::{Schema, Store};

use crate::fixture::{in_database, in_empty_database};
use crate::sample;

#[tokio::test]
async fn migrating_twice_changes_nothing() {
    in_empty_database(|database| async move {
        let first = store::migrate(&database.settings()).await.unwrap();
        assert_eq!(first.applied.first().map(String::as_str), Some("0001_audits"));
        assert!(first.analysts && first.missing_roles.is_empty());
        let second = store::migrate(&database.settings()).await.unwrap();
        assert!(second.applied.is_empty());
        assert_eq!(database.store().check_schema().await.unwrap(), Schema::Current);
    })
    .await;
}

/// Roles are the cluster's: migrations of different databases make the same one at the same moment.
#[tokio::test(flavor = "multi_thread")]
async fn migrations_of_several_databases_at_once_all_succeed() {
    let databases = (0..4).map(|_| {
        in_empty_database(|database| async move {
            let settings = database.settings();
            let (first, second) = tokio::join!(store::migrate(&settings), store::migrate(&settings));
            assert!(first.unwrap().analysts && second.unwrap().analysts);
            assert_eq!(database.store().check_schema().await.unwrap(), Schema::Current);
        })
    });
    futures_util::future::join_all(databases).await;
}

#[tokio::test]
async fn a_missing_schema_is_said_to_be_missing() {
    in_empty_database(|database| async move {
        let store = database.store();
        let says = |error: store::Error| {
            assert!(error.is_schema() && !error.is_transient() && !error.is_data());
            assert!(error.to_string().contains("groundcrew migrate"), "{error}");
        };
        says(store.check_schema().await.unwrap_err());
        says(store.lookup(sample::key(&sample::trace("a"))).await.unwrap_err());
        says(store.finish(&sample::ending(&sample::trace("a"))).await.unwrap_err());
        says(store.outbox_depth().await.unwrap_err());
    })
    .await;
}

#[tokio::test]
async fn another_version_is_named() {
    in_database(|database, store| async move {
        database
            .execute(
                "insert into groundcrew._sqlx_migrations
                    (version, description, success, checksum, execution_time)
                values (9999, 'later', true, 'x', 0)",
            )
            .await;
        assert_eq!(store.check_schema().await.unwrap(), Schema::Newer { version: 9999 });
        store::migrate(&database.settings()).await.unwrap();

        database.execute("delete from groundcrew._sqlx_migrations where version = 2").await;
        let error = store.check_schema().await.unwrap_err().to_string();
        assert_eq!(error, "the database lacks migration 0002_findings, run `groundcrew migrate`");

        database.execute("update groundcrew._sqlx_migrations set checksum = 'x' where version = 1").await;
        let error = store.check_schema().await.unwrap_err();
        assert!(error.is_schema());
        assert_eq!(error.to_string(), "migration 0001_audits of the database is not the one of this program");
    })
    .await;
}

/// A database that is not there yet is no reason not to start.
#[tokio::test]
async fn connecting_needs_no_database() {
    let settings = store::Settings {
        acquire_timeout: std::time::Duration::from_millis(300),
        ..store::Settings::new("postgres://nobody@127.0.0.1:1/nothing")
    };
    let store = Store::connect(&settings).unwrap();
    let error = store.check_schema().await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(store.finish(&sample::ending(&sample::trace("a"))).await.unwrap_err().is_transient());
    store.close().await;
    assert!(matches!(store.lookup(sample::key(&sample::trace("a"))).await, Err(store::Error::Closed)));
}
