//! Later deliveries of audits that have ended.

use std::collections::BTreeMap;

use sqlx::PgPool;
use uuid::Uuid;

use crate::{Error, Result, Store};

impl Store {
    /// Counts one more delivery of an audit; nothing happens when there is no such audit.
    pub async fn count_duplicate(&self, audit: Uuid) -> Result<()> {
        self.duplicates().ask(audit).await
    }
}

/// Counts what waits in one statement. The same trace published a thousand times is one update of one row.
pub(crate) async fn all(pool: PgPool, audits: Vec<Uuid>) -> Vec<Result<()>> {
    let mut counts = BTreeMap::new();
    for audit in &audits {
        *counts.entry(*audit).or_insert(0_i64) += 1;
    }
    let (ids, counts): (Vec<Uuid>, Vec<i64>) = counts.into_iter().unzip();
    let counted = sqlx::query(
        "update groundcrew.audits set duplicates = duplicates + asked.count
        from unnest($1::uuid[], $2::int8[]) as asked (id, count) where audits.id = asked.id",
    )
    // Planned each time, see `crate::keep::lock`.
    .persistent(false)
    .bind(ids)
    .bind(counts)
    .execute(&pool)
    .await;
    let counted = counted.map(drop).map_err(Error::cannot("count duplicates"));
    audits.iter().map(|_| counted.clone()).collect()
}
