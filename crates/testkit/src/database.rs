//! A database per test.

use std::net::SocketAddr;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool};

use crate::{environment, from_drop, unique};

/// A migrated database of its own, dropped at the end of the test.
#[derive(Debug)]
pub struct Database {
    name: String,
    /// For looking at what the program wrote.
    pub pool: PgPool,
}

impl Database {
    /// Makes one and migrates it.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn create() -> Self {
        let database = Self::create_empty().await;
        let settings = store::Settings::new(database.url(None));
        store::migrate(&settings).await.unwrap_or_else(|error| panic!("the migration failed: {error:?}"));
        database
    }

    /// Makes one without any schema.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn create_empty() -> Self {
        let name = unique("gc_test").replace('-', "_");
        let mut server = PgConnection::connect(&environment::database_url())
            .await
            .unwrap_or_else(|error| panic!("the database server does not answer: {error}"));
        sqlx::query(AssertSqlSafe(format!("create database {name}"))).execute(&mut server).await.unwrap();
        server.close().await.unwrap();
        let options: PgConnectOptions = environment::database_url().parse().unwrap();
        let pool = PgPoolOptions::new().max_connections(4).connect_lazy_with(options.database(&name));
        Self { name, pool }
    }

    /// Makes the server's log as it is on one that has run for a while: segments of before are used again, and no
    /// commit waits for a new one. What is measured right after a server's birth is mostly that.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn recycle_wal(&self) {
        const MEGABYTES: i64 = 480;
        let fill = "select count(pg_logical_emit_message(false, 'bench', repeat('x', 1048576)))
            from generate_series(1, $1)";
        sqlx::query(fill).bind(MEGABYTES).execute(&self.pool).await.expect("the database answers");
        sqlx::query("checkpoint").execute(&self.pool).await.expect("the database answers");
    }

    /// The URL that programs connect to; `address` replaces the server's own, to lead through a relay.
    pub fn url(&self, address: Option<SocketAddr>) -> String {
        let mut url = reqwest::Url::parse(&environment::database_url()).expect("DATABASE_URL is a URL");
        url.set_path(&self.name);
        if let Some(address) = address {
            url.set_ip_host(address.ip()).expect("the URL has a host");
            url.set_port(Some(address.port())).expect("the URL has a host");
        }
        url.to_string()
    }

    /// The same for another user.
    ///
    /// # Panics
    /// When the name cannot stand in a URL.
    pub fn url_as(&self, user: &str, password: &str, address: Option<SocketAddr>) -> String {
        let mut url = reqwest::Url::parse(&self.url(address)).expect("it is a URL");
        url.set_username(user).expect("a user can be set");
        url.set_password(Some(password)).expect("a password can be set");
        url.to_string()
    }

    /// Host and port of the server.
    pub fn address() -> String {
        let url = reqwest::Url::parse(&environment::database_url()).expect("DATABASE_URL is a URL");
        format!("{}:{}", url.host_str().unwrap_or("127.0.0.1"), url.port().unwrap_or(5432))
    }

    /// Ends every session on this database but the one that asks.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn terminate_backends(&self) {
        let end = "select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()";
        sqlx::query(end).execute(&mut self.session().await).await.unwrap();
    }

    /// A connection of its own, for a session that holds locks or takes another role.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn session(&self) -> PgConnection {
        PgConnection::connect(&self.url(None)).await.unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let name = self.name.clone();
        from_drop(async move {
            // A database that stays behind disturbs nobody, so a failure here hides none of the test.
            let Ok(mut server) = PgConnection::connect(&environment::database_url()).await else { return };
            let drop = AssertSqlSafe(format!("drop database if exists {name} with (force)"));
            let _ = sqlx::query(drop).execute(&mut server).await;
        });
    }
}
