//! Browsers that have logged in with a token. Only hashes of their cookies are here.

use std::time::Duration;

use crate::{Error, Result, Store};

/// Who a session belongs to: the token's name, its role, and its projects, none for all.
pub type SessionOf = (String, String, Option<Vec<String>>);

impl Store {
    /// Begins a session of the token with this SHA-256, under the SHA-256 of its cookie. None when there is no such
    /// token in force.
    pub async fn begin_session(
        &self,
        token: [u8; 32],
        cookie: [u8; 32],
        lasts: Duration,
    ) -> Result<Option<SessionOf>> {
        self.run(move |pool| async move {
            sqlx::query_as(
                "with known as (
                    update groundcrew.api_tokens set last_used_at = now()
                    where hash = $1 and revoked_at is null
                    returning id, name, role, projects
                ), begun as (
                    insert into groundcrew.desk_sessions (hash, token, expires_at)
                    select $2, id, now() + $3 from known
                )
                select name, role, projects from known",
            )
            .bind(token.to_vec())
            .bind(cookie.to_vec())
            .bind(lasts)
            .fetch_optional(&pool)
            .await
            .map_err(Error::cannot("begin a session"))
        })
        .await
    }

    /// Whose session this is; none when it is over, was ended, or its token was revoked.
    pub async fn find_session(&self, cookie: [u8; 32]) -> Result<Option<SessionOf>> {
        sqlx::query_as(
            "select token.name, token.role, token.projects
            from groundcrew.desk_sessions as session
            join groundcrew.api_tokens as token on token.id = session.token
            where session.hash = $1 and session.ended_at is null and session.expires_at > now()
                and token.revoked_at is null",
        )
        .bind(cookie.to_vec())
        .fetch_optional(self.pool())
        .await
        .map_err(Error::cannot("look up a session"))
    }

    /// Ends a session.
    pub async fn end_session(&self, cookie: [u8; 32]) -> Result<()> {
        self.run(move |pool| async move {
            sqlx::query(
                "update groundcrew.desk_sessions set ended_at = now() where hash = $1 and ended_at is null",
            )
            .bind(cookie.to_vec())
            .execute(&pool)
            .await
            .map_err(Error::cannot("end a session"))?;
            Ok(())
        })
        .await
    }
}
