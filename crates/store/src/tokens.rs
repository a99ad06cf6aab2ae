//! Named tokens for the desk's API. Only their hashes are here.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use crate::text::clean;
use crate::{Error, Result, Store};

/// How exactly the last use of a token is known.
const USE_IS_KNOWN_TO: Duration = Duration::from_secs(3600);

/// A token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct ApiToken {
    /// Its id.
    pub id: Uuid,
    /// Who or what uses it.
    pub name: String,
    /// What it may do: `viewer`, `reviewer`, `admin` or `gate`.
    pub role: String,
    /// The projects that it may see; none for all.
    pub projects: Option<Vec<String>>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was revoked; none while it is in force.
    pub revoked_at: Option<DateTime<Utc>>,
    /// When it was last used, to the hour.
    pub last_used_at: Option<DateTime<Utc>>,
}

const COLUMNS: &str = "id, name, role, projects, created_at, revoked_at, last_used_at";

impl Store {
    /// Stores a new token by its SHA-256. False when a token of this name is in force.
    ///
    /// # Errors
    /// When it is not known to be stored, or the role is unknown.
    pub async fn add_token(
        &self,
        name: &str,
        hash: [u8; 32],
        role: &'static str,
        projects: Option<&[String]>,
    ) -> Result<bool> {
        let name = clean(name);
        let projects: Option<Vec<String>> =
            projects.map(|projects| projects.iter().map(|it| clean(it)).collect());
        self.run(move |pool| async move {
            let added = sqlx::query(
                "insert into groundcrew.api_tokens (id, name, hash, role, projects) values ($1, $2, $3, $4, $5)
                on conflict (name) where revoked_at is null do nothing",
            )
            .bind(Uuid::now_v7())
            .bind(name)
            .bind(hash.to_vec())
            .bind(role)
            .bind(projects)
            .execute(&pool)
            .await
            .map_err(Error::cannot("add a token"))?;
            Ok(added.rows_affected() > 0)
        })
        .await
    }

    /// Every token, those that were revoked included, newest first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn tokens(&self) -> Result<Vec<ApiToken>> {
        sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "select {COLUMNS} from groundcrew.api_tokens order by created_at desc, id desc"
        )))
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("list tokens"))
    }

    /// Revokes the token of this name that is in force. False when there is none.
    ///
    /// # Errors
    /// When it is not known to be revoked.
    pub async fn revoke_token(&self, name: &str) -> Result<bool> {
        let name = clean(name);
        self.run(move |pool| async move {
            let revoked = sqlx::query(
                "update groundcrew.api_tokens set revoked_at = now() where name = $1 and revoked_at is null",
            )
            .bind(name)
            .execute(&pool)
            .await
            .map_err(Error::cannot("revoke a token"))?;
            Ok(revoked.rows_affected() > 0)
        })
        .await
    }

    /// The token in force that has this SHA-256.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn find_token(&self, hash: [u8; 32]) -> Result<Option<ApiToken>> {
        sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "select {COLUMNS} from groundcrew.api_tokens where hash = $1 and revoked_at is null"
        )))
        .bind(hash.to_vec())
        .fetch_optional(self.pool())
        .await
        .map_err(Error::cannot("look up a token"))
    }

    /// Notes that a token was used; once an hour is enough.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn note_token_use(&self, id: Uuid) -> Result<()> {
        self.run(move |pool| async move {
            sqlx::query(
                "update groundcrew.api_tokens set last_used_at = now()
                where id = $1 and coalesce(last_used_at < now() - $2::interval, true)",
            )
            .bind(id)
            .bind(USE_IS_KNOWN_TO)
            .execute(&pool)
            .await
            .map_err(Error::cannot("note the use of a token"))?;
            Ok(())
        })
        .await
    }
}
