//! A database per test, dropped at its end whether it passes or not.

use std::panic::resume_unwind;
use std::time::Duration;

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool, postgres::PgConnectOptions};
use store::{Settings, Store};
use uuid::Uuid;

/// What a test works with.
#[derive(Clone)]
pub struct Database {
    /// Its address, with the administrator's user.
    pub url: String,
    /// For looking at the tables directly.
    pub pool: PgPool,
}

impl Database {
    /// Settings for this database.
    pub fn settings(&self) -> Settings {
        Settings { acquire_timeout: Duration::from_secs(20), ..Settings::new(&self.url) }
    }

    /// A store over this database.
    pub fn store(&self) -> Store {
        Store::connect(&self.settings()).unwrap()
    }

    /// The number in the first column of the first row.
    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }

    /// Runs a statement.
    pub async fn execute(&self, sql: impl Into<String>) {
        sqlx::query(AssertSqlSafe(sql.into())).execute(&self.pool).await.unwrap();
    }
}

fn admin_url() -> String {
    ["GROUNDCREW_TEST_DATABASE_URL", "DATABASE_URL"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .expect("no database to test with: run ./dev test, or set GROUNDCREW_TEST_DATABASE_URL")
}

async fn admin() -> PgConnection {
    admin_url().parse::<PgConnectOptions>().unwrap().connect().await.unwrap()
}

/// Runs a test in a new database without tables.
pub async fn in_empty_database<F: Future<Output = ()> + Send + 'static>(
    test: impl FnOnce(Database) -> F + Send + 'static,
) {
    let name = format!("store_test_{}", Uuid::now_v7().simple());
    let mut admin = admin().await;
    sqlx::query(AssertSqlSafe(format!("create database {name}"))).execute(&mut admin).await.unwrap();
    let (before, rest) = admin_url().rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let query = rest.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
    let url = format!("{before}/{name}{query}");
    let pool = PgPool::connect(&url).await.unwrap();
    let result = tokio::spawn(test(Database { url, pool: pool.clone() })).await;
    pool.close().await;
    let drop = AssertSqlSafe(format!("drop database {name} with (force)"));
    sqlx::query(drop).execute(&mut admin).await.unwrap();
    admin.close().await.unwrap();
    if let Err(error) = result {
        resume_unwind(error.into_panic());
    }
}

/// Runs a test in a new, migrated database.
pub async fn in_database<F: Future<Output = ()> + Send + 'static>(
    test: impl FnOnce(Database, Store) -> F + Send + 'static,
) {
    in_empty_database(|database| async move {
        store::migrate(&database.settings()).await.unwrap();
        let store = database.store();
        test(database, store.clone()).await;
        store.close().await;
    })
    .await;
}
