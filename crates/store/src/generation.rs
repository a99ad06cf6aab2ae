//! Generations that are promised to who asks for an audit again.

use sqlx::PgConnection;

use crate::text::clean;
use crate::{Error, Result, Store};

impl Store {
    /// Promises a generation of a trace that no audit has and nobody else was promised, at least `not_below`. Whoever
    /// asks again for the same purpose gets the same one.
    pub async fn reserve_generation(
        &self,
        project: &str,
        trace_id: &str,
        purpose: &str,
        not_below: u32,
    ) -> Result<u32> {
        let (project, trace_id, purpose) = (clean(project), clean(trace_id), clean(purpose));
        self.run(move |pool| async move {
            let cannot = Error::cannot("reserve a generation");
            let mut connection = pool.acquire().await.map_err(&cannot)?;
            let reserved = reserve(&mut connection, &project, &trace_id, &purpose, not_below.into()).await;
            Ok(u32::try_from(reserved.map_err(&cannot)?).unwrap_or(u32::MAX))
        })
        .await
    }
}

/// The same within a transaction; `project` and `trace_id` as they are stored.
pub(crate) async fn reserve(
    connection: &mut PgConnection,
    project: &str,
    trace_id: &str,
    purpose: &str,
    not_below: i64,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("select groundcrew.reserve_generation($1, $2, $3, $4)")
        .bind(project)
        .bind(trace_id)
        .bind(purpose)
        .bind(not_below)
        .fetch_one(connection)
        .await
}
