//! Taking an item, keeping it, giving it back.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::{Hold, Lost, Taken, events};
use crate::text::clean;
use crate::{Error, Result, Store};

impl Store {
    /// Takes an item for a reviewer, if nobody else has it: of several who try at once one gets it. Who has it already
    /// gets a new fence, and the old one is worth nothing.
    pub async fn review_take(&self, item: Uuid, reviewer: &str, lease: Duration) -> Result<Taken> {
        let reviewer = clean(reviewer);
        self.run(move |pool| async move {
            let cannot = Error::cannot("take a review item");
            let mut transaction = pool.begin().await.map_err(&cannot)?;
            let taken = take(&mut transaction, item, &reviewer, lease).await.map_err(&cannot)?;
            transaction.commit().await.map_err(&cannot)?;
            Ok(taken)
        })
        .await
    }

    /// Keeps an item that was taken. Gives until when; whoever rules keeps it too.
    pub async fn review_extend(&self, hold: &Hold, lease: Duration) -> Result<Result<DateTime<Utc>, Lost>> {
        let hold = hold.clone();
        self.run(move |pool| async move {
            let cannot = Error::cannot("keep a review item");
            let mut connection = pool.acquire().await.map_err(&cannot)?;
            match extend(&mut connection, &hold, lease).await.map_err(&cannot)? {
                Some(held) => Ok(Ok(held.leased_until)),
                None => Ok(Err(lost(&mut connection, &hold).await.map_err(&cannot)?)),
            }
        })
        .await
    }

    /// Gives an item back, so that others may take it at once. False when it was not the reviewer's any more.
    pub async fn review_give_back(&self, hold: &Hold) -> Result<bool> {
        let hold = hold.clone();
        self.run(move |pool| async move {
            let done = sqlx::query(
                "update groundcrew.review_items
                set status = 'open', claimed_by = null, claimed_at = null, leased_until = null
                where id = $1 and fence = $2 and claimed_by = $3 and status = 'claimed'",
            )
            .bind(hold.item)
            .bind(hold.fence)
            .bind(clean(&hold.reviewer))
            .execute(&pool)
            .await
            .map_err(Error::cannot("give a review item back"))?;
            Ok(done.rows_affected() > 0)
        })
        .await
    }
}

async fn take(
    connection: &mut PgConnection,
    item: Uuid,
    reviewer: &str,
    lease: Duration,
) -> Result<Taken, sqlx::Error> {
    // Who waits for the row of another taking sees that taking, and finds the item gone.
    let row = sqlx::query(
        "update groundcrew.review_items as item
        set status = 'claimed', claimed_by = $2, claimed_at = now(), leased_until = now() + $3, fence = fence + 1
        where id = $1 and status <> 'closed'
            and (status = 'open' or leased_until <= now() or claimed_by = $2)
            and not exists (
                select from groundcrew.review_opinions as opinion
                where opinion.review_item = item.id and opinion.reviewer = $2
            )
        returning audit_id, project, trace_id, fence, leased_until",
    )
    .bind(item)
    .bind(reviewer)
    .bind(lease)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else {
        let hold = Hold { item, reviewer: reviewer.to_owned(), fence: 0 };
        return Ok(Taken::Refused(lost(connection, &hold).await?));
    };
    let fence: i64 = row.try_get("fence")?;
    events::taken(connection, item, reviewer, fence, &row).await?;
    Ok(Taken::Held { fence, leased_until: row.try_get("leased_until")? })
}

/// An item that is locked, and held by who asks.
pub(super) struct Held {
    pub audit_id: Uuid,
    pub leased_until: DateTime<Utc>,
}

/// Extends the lease; none when the item is not the reviewer's. Within a transaction the row is locked after it.
pub(super) async fn extend(
    connection: &mut PgConnection,
    hold: &Hold,
    lease: Duration,
) -> Result<Option<Held>, sqlx::Error> {
    let row = sqlx::query(
        "update groundcrew.review_items set leased_until = greatest(leased_until, now() + $4)
        where id = $1 and fence = $2 and claimed_by = $3 and status = 'claimed' and leased_until > now()
        returning audit_id, leased_until",
    )
    .bind(hold.item)
    .bind(hold.fence)
    .bind(clean(&hold.reviewer))
    .bind(lease)
    .fetch_optional(connection)
    .await?;
    row.map(|row| Ok(Held { audit_id: row.try_get("audit_id")?, leased_until: row.try_get("leased_until")? }))
        .transpose()
}

/// Why an item is not the reviewer's.
pub(super) async fn lost(connection: &mut PgConnection, hold: &Hold) -> Result<Lost, sqlx::Error> {
    let row = sqlx::query(
        "select status, claimed_by, leased_until, coalesce(leased_until <= now(), true) as is_over,
            exists (
                select from groundcrew.review_opinions as opinion
                where opinion.review_item = item.id and opinion.reviewer = $2
            ) as has_opinion
        from groundcrew.review_items as item where id = $1",
    )
    .bind(hold.item)
    .bind(clean(&hold.reviewer))
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(Lost::Missing) };
    if row.try_get::<&str, _>("status")? == "closed" {
        return Ok(Lost::Closed);
    }
    if row.try_get("has_opinion")? {
        return Ok(Lost::OpinionGiven);
    }
    let holder: Option<String> = row.try_get("claimed_by")?;
    let leased_until: Option<DateTime<Utc>> = row.try_get("leased_until")?;
    let is_over: bool = row.try_get("is_over")?;
    Ok(match (holder, leased_until) {
        (Some(reviewer), _) if reviewer == clean(&hold.reviewer) && !is_over => Lost::TakenAgain,
        (Some(reviewer), Some(leased_until)) if !is_over => Lost::TakenBy { reviewer, leased_until },
        _ => Lost::Expired,
    })
}
