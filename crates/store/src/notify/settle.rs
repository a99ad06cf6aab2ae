//! What follows for pages from what becomes of their items.

use sqlx::PgPool;
use uuid::Uuid;

/// Pages that are looked at in one transaction, of either sort.
const AT_ONCE: usize = 200;

/// Pages of which something may have to be told. A lease that has run out holds no item: nobody has it.
const RESTLESS: &str = "select page.id from groundcrew.notification_pages as page
    where page.resolved_at is null and (
        exists (
            select from groundcrew.notification_items as member
            join groundcrew.review_items as item on item.id = member.review_item
            where member.page_id = page.id
                and (
                    page.acknowledged_at is null and item.status = 'claimed' and item.leased_until > now()
                    or item.status = 'closed'
                )
                and (
                    page.acknowledged_at is null
                    or not exists (
                        select from groundcrew.notification_items as other
                        join groundcrew.review_items as rest on rest.id = other.review_item
                        where other.page_id = page.id and rest.status <> 'closed'
                    )
                )
        )
        or page.updated_at is null and page.closes_at <= now() and exists (
            select from groundcrew.notifications as sent
            where sent.page_id = page.id and sent.event = 'trigger' and sent.state = 'delivered'
                and sent.items < (select count(*) from groundcrew.notification_items where page_id = page.id)
        )
    )
    order by page.opened_at
    limit $1
    for update of page skip locked";

/// Pages that have ended while a try was on its way, which has come to nothing since.
const LATE: &str = "select page.id from groundcrew.notification_pages as page
    where page.resolved_at is not null and page.id in (
        select page_id from groundcrew.notifications
        where state = 'pending' and event <> 'resolve' and (leased_until is null or leased_until <= now())
    )
    order by page.opened_at
    limit $1
    for update of page skip locked";

/// All items are closed.
const END: &str = "update groundcrew.notification_pages as page set resolved_at = now()
    where id = any($1) and resolved_at is null and not exists (
        select from groundcrew.notification_items as member
        join groundcrew.review_items as item on item.id = member.review_item
        where member.page_id = page.id and item.status <> 'closed'
    )";

/// Nobody rings for what is closed: of a page that has ended nothing is tried again but to tell its end. What is on its
/// way is waited for.
const DROP: &str = "update groundcrew.notifications set state = 'skipped', settled_at = now()
    where page_id = any($1) and state = 'pending' and event <> 'resolve'
        and (leased_until is null or leased_until <= now())
        and page_id in (select id from groundcrew.notification_pages where resolved_at is not null)";

/// The end of a page of which a receiver may know.
const RESOLVE: &str = "insert into groundcrew.notifications (id, page_id, event, due_at)
    select gen_random_uuid(), page_id, 'resolve', now()
    from groundcrew.notifications
    where page_id = any($1) and event = 'trigger' and tries > 0
        and page_id in (select id from groundcrew.notification_pages where resolved_at is not null)
    on conflict (page_id, event) do nothing";

const ACKNOWLEDGE: &str = "with taken as (
        update groundcrew.notification_pages as page set acknowledged_at = now()
        where id = any($1) and acknowledged_at is null and resolved_at is null and exists (
            select from groundcrew.notification_items as member
            join groundcrew.review_items as item on item.id = member.review_item
            where member.page_id = page.id
                and (item.status = 'closed' or item.status = 'claimed' and item.leased_until > now())
        )
        returning id
    )
    insert into groundcrew.notifications (id, page_id, event, due_at)
    select gen_random_uuid(), id, 'acknowledge', now() from taken
    on conflict (page_id, event) do nothing";

const UPDATE: &str = "with grown as (
        update groundcrew.notification_pages as page set updated_at = now()
        where id = any($1) and updated_at is null and resolved_at is null and closes_at <= now() and exists (
            select from groundcrew.notifications as sent
            where sent.page_id = page.id and sent.event = 'trigger' and sent.state = 'delivered'
                and sent.items < (select count(*) from groundcrew.notification_items where page_id = page.id)
        )
        returning id
    )
    insert into groundcrew.notifications (id, page_id, event, due_at)
    select gen_random_uuid(), id, 'update', now() from grown
    on conflict (page_id, event) do nothing";

/// Whoever was never told that it began is not told how it goes on. A try of which nothing is known may have arrived.
pub(super) const SKIP_UNTOLD: &str = "update groundcrew.notifications as rest set state = 'skipped', settled_at = now()
    where page_id = any($1) and state = 'pending' and event <> 'trigger' and exists (
        select from groundcrew.notifications as began
        where began.page_id = rest.page_id and began.event = 'trigger' and began.state in ('failed', 'skipped')
            and not exists (
                select from groundcrew.notification_tries as try
                where try.notification_id = began.id
                    and (try.outcome is null or try.outcome in ('timeout', 'delivered'))
            )
    )";

/// True when there may be more.
pub(super) async fn settle(pool: &PgPool) -> Result<bool, sqlx::Error> {
    let limit = i64::try_from(AT_ONCE).unwrap_or(i64::MAX);
    let mut transaction = pool.begin().await?;
    let mut pages: Vec<Uuid> = sqlx::query_scalar(RESTLESS).bind(limit).fetch_all(&mut *transaction).await?;
    let late: Vec<Uuid> = sqlx::query_scalar(LATE).bind(limit).fetch_all(&mut *transaction).await?;
    let may_be_more = pages.len().max(late.len()) == AT_ONCE;
    pages.extend(late);
    // Statements of their own: with the pages locked they see every item that has joined, and each sees what the one
    // before has left to be tried.
    for statement in [END, DROP, RESOLVE, ACKNOWLEDGE, UPDATE, SKIP_UNTOLD] {
        if !pages.is_empty() {
            sqlx::query(statement).bind(&pages).execute(&mut *transaction).await?;
        }
    }
    transaction.commit().await?;
    Ok(may_be_more)
}
