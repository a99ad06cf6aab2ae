//! Bringing the database to this program's version, and telling whether it is.

use std::collections::HashMap;

use sqlx::migrate::{Migration, Migrator};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Row};

use crate::error::is_schema;
use crate::{Error, Result, Settings, Store};

static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// What [`migrate`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// Migrations that were not there before, such as `0002_findings`.
    pub applied: Vec<String>,
    /// Whether the role `groundcrew_analyst` exists and may read the views. False when this user may
    /// not create roles; the server's notice says what an administrator can run.
    pub analysts: bool,
    /// Which of the roles `groundcrew_worker` and `groundcrew_desk` are missing, for the same reason.
    pub missing_roles: Vec<String>,
}

/// How the database stands to this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Exactly its version.
    Current,
    /// Newer, which is allowed: migrations only add what the version before does not need.
    Newer {
        /// Number of the database's last migration.
        version: i64,
    },
}

/// Applies the migrations that are missing. Several may run at once, each migration is applied once.
///
/// # Errors
/// [`Error::Migrate`] when one fails; those before it stay applied.
pub async fn migrate(settings: &Settings) -> Result<Migrated> {
    // Without the store's time-outs: a large table takes long, and so does waiting for another
    // migration. A pool, since the future of a migration over a plain connection cannot be spawned.
    let pool = PgPoolOptions::new().max_connections(1).connect_with(settings.address()?).await;
    let pool = pool.map_err(Error::cannot("connect for the migration"))?;
    let migrated = run(&pool).await;
    pool.close().await;
    migrated
}

async fn run(pool: &PgPool) -> Result<Migrated> {
    let before = applied(pool).await.map_err(Error::cannot("read the list of migrations"))?;
    let mut migrator = sqlx::migrate!("../../migrations");
    // Not in the first schema of the search path, where sqlx would put it: that is `public`, which
    // need not be ours to write to, until a user named like our schema makes another one the first.
    migrator.dangerous_set_table_name("groundcrew._sqlx_migrations");
    if before.is_empty() {
        migrator.create_schema("groundcrew");
    }
    // An older program that runs beside a newer one finds migrations that it does not know.
    migrator.set_ignore_missing(true);
    migrator.run(pool).await.map_err(|error| Error::Migrate(error.into()))?;
    // One at a time: of two grants on one schema at the same moment the server refuses the second.
    let analysts = sqlx::query_scalar(
        "select groundcrew.grant_analyst()
        from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_analyst', 0))",
    )
    .fetch_one(pool)
    .await
    .map_err(Error::cannot("grant the views to analysts"))?;
    let missing_roles = sqlx::query_scalar(
        "select groundcrew.grant_roles()
        from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_roles', 0))",
    )
    .fetch_one(pool)
    .await
    .map_err(Error::cannot("grant the tables to workers and the desk"))?;
    sqlx::query("select groundcrew.make_partitions()")
        .execute(pool)
        .await
        .map_err(Error::cannot("make partitions"))?;
    let is_new = |migration: &&Migration| !before.contains_key(&migration.version);
    Ok(Migrated { applied: ups().filter(is_new).map(name).collect(), analysts, missing_roles })
}

impl Store {
    /// Whether the database has the tables that this program needs.
    ///
    /// # Errors
    /// One whose [`Error::is_schema`] is true and whose text says what to run, when it has not.
    pub async fn check_schema(&self) -> Result<Schema> {
        let applied = applied(self.pool()).await.map_err(Error::cannot("read the list of migrations"))?;
        if applied.is_empty() {
            return Err(Error::Unmigrated);
        }
        for migration in ups() {
            match applied.get(&migration.version) {
                None => return Err(Error::Outdated { missing: name(migration) }),
                Some(checksum) if *checksum != *migration.checksum => {
                    return Err(Error::Altered { migration: name(migration) });
                }
                Some(_) => {}
            }
        }
        let ours = ups().map(|migration| migration.version).max().unwrap_or_default();
        match applied.keys().copied().max().unwrap_or_default() {
            version if version > ours => Ok(Schema::Newer { version }),
            _ => Ok(Schema::Current),
        }
    }
}

fn ups() -> impl Iterator<Item = &'static Migration> {
    MIGRATOR.iter().filter(|migration| migration.migration_type.is_up_migration())
}

/// The file's name, without its ending.
fn name(migration: &Migration) -> String {
    format!("{:04}_{}", migration.version, migration.description.replace(' ', "_"))
}

/// Checksums of the migrations that the database has, by number; empty when it never had one.
async fn applied(pool: &PgPool) -> Result<HashMap<i64, Vec<u8>>, sqlx::Error> {
    let rows = sqlx::query("select version, checksum from groundcrew._sqlx_migrations where success")
        .fetch_all(pool)
        .await;
    match rows {
        Ok(rows) => rows.iter().map(|row| Ok((row.try_get("version")?, row.try_get("checksum")?))).collect(),
        Err(error) if is_schema(&error) => Ok(HashMap::new()),
        Err(error) => Err(error),
    }
}
