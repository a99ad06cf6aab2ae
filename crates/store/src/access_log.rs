//! Who asked the desk for what.

use crate::text::{clean, clean_some};
use crate::{Error, Result, Store};

/// The longest path that is kept, in Unicode scalar values.
const PATH_CHARS: usize = 500;

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who asked; empty when nobody was known.
    pub principal: String,
    /// Their role.
    pub role: Option<&'static str>,
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// Where it came from.
    pub address: Option<String>,
}

impl Store {
    /// Keeps who asked for what, in the order given.
    pub async fn keep_access(&self, entries: Vec<Access>) -> Result<()> {
        self.run(move |pool| async move {
            let each = |text: fn(&Access) -> String| entries.iter().map(text).collect::<Vec<String>>();
            sqlx::query(
                "insert into groundcrew.access_log (principal, role, method, path, status, address)
                select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int4[], $6::text[])",
            )
            .bind(each(|entry| clean(&entry.principal)))
            .bind(entries.iter().map(|entry| entry.role).collect::<Vec<_>>())
            .bind(each(|entry| entry.method.clone()))
            .bind(each(|entry| clean(&entry.path).chars().take(PATH_CHARS).collect()))
            .bind(entries.iter().map(|entry| i32::from(entry.status)).collect::<Vec<_>>())
            .bind(entries.iter().map(|entry| clean_some(entry.address.as_deref())).collect::<Vec<_>>())
            .execute(&pool)
            .await
            .map_err(Error::cannot("keep the access log"))?;
            Ok(())
        })
        .await
    }
}
