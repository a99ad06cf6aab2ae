//! Pages: which receiver is told about which review items, and what became of it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::text::{clean, clean_some, json};
use crate::words::{PageEvent, TryOutcome};
use crate::{Error, Result, Store};

mod settle;

/// An item that receivers are to be told about.
#[derive(Debug, Clone, PartialEq)]
pub struct PageItem {
    /// The review item.
    pub review_item: Uuid,
    /// The names of the receivers.
    pub receivers: Vec<String>,
    /// Items that agree in this and the next four make one page.
    pub project: String,
    /// The audit kind.
    pub kind: String,
    /// The gravest finding.
    pub severity: Option<String>,
    /// Whether it is urgent.
    pub urgent: bool,
    /// The codes of the reasons, joined.
    pub reason: String,
    /// Whether the practice judge decided it.
    pub practice: bool,
    /// What may be shown of the trace.
    pub content: Option<Value>,
}

/// Something to tell a receiver now.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct DueNotification {
    /// Its id, the same over all tries.
    pub id: Uuid,
    /// What happened.
    #[sqlx(try_from = "String")]
    pub event: PageEvent,
    /// The number of this try, from 1.
    pub tries: i32,
    /// Whether an earlier try may have arrived: nothing is known of how it ended.
    pub may_have_arrived: bool,
    /// How many items the receiver is told of.
    pub items: i64,
    /// The page, the same over all events.
    pub page_id: Uuid,
    /// Who is told.
    pub receiver: String,
    /// The producer's project.
    pub project: String,
    /// The audit kind.
    pub kind: String,
    /// The gravest finding.
    pub severity: Option<String>,
    /// Whether it is urgent.
    pub urgent: bool,
    /// The codes of the reasons, joined.
    pub reason: String,
    /// Whether the practice judge decided its first item.
    pub practice: bool,
    /// What may be shown of the first item's trace.
    pub content: Option<Value>,
    /// When the first item came.
    pub opened_at: DateTime<Utc>,
    /// The first item.
    pub review_item: Uuid,
    /// The producer's id of its trace.
    pub trace_id: String,
}

/// How a try ended, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The notification.
    pub id: Uuid,
    /// The number of the try.
    pub number: i32,
    /// How it ended.
    pub outcome: TryOutcome,
    /// The HTTP status.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
    /// How long it took.
    pub latency: Duration,
    /// When to try again; none when it is settled.
    pub again_after: Option<Duration>,
}

/// A review item that waits for somebody, as rules see it.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct OpenItem {
    /// The review item.
    pub id: Uuid,
    /// Its audit.
    pub audit_id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind.
    pub kind: String,
    /// The gravest finding.
    pub severity: Option<String>,
    /// Whether it is urgent.
    pub urgent: bool,
    /// Whether it is of the blind sample.
    pub blind: bool,
    /// Whether the practice judge decided it.
    pub practice: bool,
    /// The codes of the reasons.
    pub reason_codes: Vec<String>,
    /// Who answers for the content.
    pub content_owner: Option<String>,
}

impl Store {
    /// Puts an item into a page of each receiver: into the open one of its kind, or into a new one, which is sent after
    /// `gather` and is joined by others until `window` has passed. A page that was given up takes no more of them. What
    /// is in a page already stays there; closed items are left out. Gives the receivers for which a page was opened.
    pub async fn page(&self, item: PageItem, gather: Duration, window: Duration) -> Result<Vec<String>> {
        self.run(move |pool| async move {
            page(&pool, item, gather, window).await.map_err(Error::cannot("page people"))
        })
        .await
    }

    /// Notes which pages have an item that was taken, are closed as a whole, or have grown since they were sent, and
    /// what their receivers are to be told. True when there may be more.
    pub async fn settle_pages(&self) -> Result<bool> {
        self.run(|pool| async move { settle::settle(&pool).await.map_err(Error::cannot("look at pages")) })
            .await
    }

    /// Takes up to `limit` notifications in hand that are due. Each begins a try, which is on record from here on.
    /// Nobody else gets them for `lease_for`; then they are due again.
    pub async fn lease_notifications(&self, limit: u32, lease_for: Duration) -> Result<Vec<DueNotification>> {
        self.run(move |pool| async move {
            let mut due: Vec<DueNotification> = sqlx::query_as(LEASE)
                .bind(i64::from(limit))
                .bind(lease_for)
                .fetch_all(&pool)
                .await
                .map_err(Error::cannot("lease notifications"))?;
            due.sort_by_key(|due| due.opened_at);
            Ok(due)
        })
        .await
    }

    /// Records how a try ended. A delivery counts also when somebody else has it in hand by now.
    pub async fn notification_tried(&self, tried: Tried) -> Result<()> {
        self.run(
            |pool| async move { record(&pool, tried).await.map_err(Error::cannot("record a notification")) },
        )
        .await
    }

    /// Review items that nobody has in hand, without those of the blind sample, the most urgent first. Whoever let the
    /// lease run out does not have the item any more.
    pub async fn open_items(&self, limit: u32) -> Result<Vec<OpenItem>> {
        sqlx::query_as(
            "select item.id, item.audit_id, item.project, item.trace_id, item.kind, item.severity, item.urgent, item.blind,
                audit.practice, item.reason_codes, trace.content_owner
            from groundcrew.review_items as item
            join groundcrew.audits as audit on audit.id = item.audit_id
            left join groundcrew.trace_rows as trace on trace.id = audit.trace_row
            where (item.status = 'open' or item.status = 'claimed' and item.leased_until <= now()) and not item.blind
            order by item.rank, item.created_at, item.id
            limit $1",
        )
        .bind(i64::from(limit))
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("list open review items"))
    }
}

async fn page(
    pool: &PgPool,
    item: PageItem,
    gather: Duration,
    window: Duration,
) -> Result<Vec<String>, sqlx::Error> {
    let mut receivers = item.receivers.clone();
    // In one order, so that two processes never wait for each other.
    receivers.sort_unstable();
    receivers.dedup();
    let mut opened = Vec::new();
    let mut transaction = pool.begin().await?;
    let is_open: Option<bool> =
        sqlx::query_scalar("select status <> 'closed' from groundcrew.review_items where id = $1")
            .bind(item.review_item)
            .fetch_optional(&mut *transaction)
            .await?;
    if is_open != Some(true) {
        return Ok(opened);
    }
    for receiver in receivers {
        if join(&mut transaction, &receiver, &item, gather, window).await? {
            opened.push(receiver);
        }
    }
    transaction.commit().await?;
    Ok(opened)
}

/// True when a page was opened.
async fn join(
    connection: &mut PgConnection,
    receiver: &str,
    item: &PageItem,
    gather: Duration,
    window: Duration,
) -> Result<bool, sqlx::Error> {
    let receiver = clean(receiver);
    let (project, kind, reason) = (clean(&item.project), clean(&item.kind), clean(&item.reason));
    // Whoever opens a page of this kind does it alone.
    sqlx::query(
        "select pg_advisory_xact_lock(hashtextextended(concat_ws(E'\\x1f', $1, $2, $3, $4, $5, $6), 19))",
    )
    .bind(&receiver)
    .bind(&project)
    .bind(&kind)
    .bind(&item.severity)
    .bind(item.urgent)
    .bind(&reason)
    .execute(&mut *connection)
    .await?;
    let is_known: bool = sqlx::query_scalar(
        "select exists (select from groundcrew.notification_items where receiver = $1 and review_item = $2)",
    )
    .bind(&receiver)
    .bind(item.review_item)
    .fetch_one(&mut *connection)
    .await?;
    if is_known {
        return Ok(false);
    }
    let open: Option<Uuid> = sqlx::query_scalar(
        "select id from groundcrew.notification_pages
        where receiver = $1 and project = $2 and kind = $3 and severity is not distinct from $4 and urgent = $5
            and reason = $6 and closes_at > now() and resolved_at is null
        order by opened_at desc
        limit 1
        for update",
    )
    .bind(&receiver)
    .bind(&project)
    .bind(&kind)
    .bind(&item.severity)
    .bind(item.urgent)
    .bind(&reason)
    .fetch_optional(&mut *connection)
    .await?;
    let open = match open {
        Some(page) if is_given_up(connection, page).await? => None,
        open => open,
    };
    let page = open.unwrap_or_else(Uuid::now_v7);
    if open.is_none() {
        sqlx::query(
            "with page as (
                insert into groundcrew.notification_pages
                    (id, receiver, project, kind, severity, urgent, reason, practice, content, closes_at)
                values ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, now() + $10)
                returning id
            )
            insert into groundcrew.notifications (id, page_id, event, due_at)
            select $11, id, 'trigger', now() + $12 from page",
        )
        .bind(page)
        .bind(&receiver)
        .bind(&project)
        .bind(&kind)
        .bind(&item.severity)
        .bind(item.urgent)
        .bind(&reason)
        .bind(item.practice)
        .bind(item.content.as_ref().map(json))
        .bind(window.max(gather))
        .bind(Uuid::now_v7())
        .bind(gather)
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query(
        "insert into groundcrew.notification_items (receiver, review_item, page_id) values ($1, $2, $3)",
    )
    .bind(&receiver)
    .bind(item.review_item)
    .bind(page)
    .execute(connection)
    .await?;
    Ok(open.is_none())
}

/// Whether nobody will be told of what joins a page. Asked once the page is locked: its last try may have ended while
/// that was waited for.
async fn is_given_up(connection: &mut PgConnection, page: Uuid) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "select exists (
            select from groundcrew.notifications where page_id = $1 and event = 'trigger' and state = 'failed'
        )",
    )
    .bind(page)
    .fetch_one(connection)
    .await
}

/// What is due, unless an earlier event of its page is still to be told. Of a page whose items are all closed nobody is
/// told anything but that.
const LEASE: &str = "with due as (
        update groundcrew.notifications as taken set
            leased_until = now() + $2,
            tries = taken.tries + 1,
            items = coalesce(
                taken.items,
                (select count(*) from groundcrew.notification_items where page_id = taken.page_id)
            )
        from (
            select id from groundcrew.notifications as waiting
            where state = 'pending' and due_at <= now() and (leased_until is null or leased_until <= now())
                and not exists (
                    select from groundcrew.notifications as before
                    where before.page_id = waiting.page_id and before.seq < waiting.seq and before.state = 'pending'
                )
                and (event = 'resolve' or not exists (
                    select from groundcrew.notification_pages as page
                    where page.id = waiting.page_id and page.resolved_at is not null
                ))
            order by due_at, seq
            limit $1
            for update skip locked
        ) as next
        where taken.id = next.id
        returning taken.id, taken.event, taken.tries, taken.items, taken.page_id
    ), begun as (
        insert into groundcrew.notification_tries (notification_id, number) select id, tries from due
    )
    select due.id, due.event, due.tries, exists (
            select from groundcrew.notification_tries as try
            where try.notification_id = due.id and try.number < due.tries
                and (try.outcome is null or try.outcome = 'timeout')
        ) as may_have_arrived,
        due.items, due.page_id, page.receiver, page.project, page.kind, page.severity, page.urgent,
        page.reason, page.practice, page.content, page.opened_at, first.review_item, first.trace_id
    from due
    join groundcrew.notification_pages as page on page.id = due.page_id
    cross join lateral (
        select member.review_item, item.trace_id
        from groundcrew.notification_items as member
        join groundcrew.review_items as item on item.id = member.review_item
        where member.page_id = due.page_id
        order by member.joined_at, member.review_item
        limit 1
    ) as first";

async fn record(pool: &PgPool, tried: Tried) -> Result<(), sqlx::Error> {
    let mut transaction = pool.begin().await?;
    // Nothing joins the page, and nobody looks at it, until it is known how the try ended.
    sqlx::query(
        "select from groundcrew.notification_pages
        where id = (select page_id from groundcrew.notifications where id = $1)
        for update",
    )
    .bind(tried.id)
    .execute(&mut *transaction)
    .await?;
    sqlx::query(
        "update groundcrew.notification_tries set outcome = $3, status = $4, error = $5, latency_ms = $6
        where notification_id = $1 and number = $2",
    )
    .bind(tried.id)
    .bind(tried.number)
    .bind(tried.outcome.as_str())
    .bind(tried.status.map(i32::from))
    .bind(clean_some(tried.error.as_deref()))
    .bind(i64::try_from(tried.latency.as_millis()).unwrap_or(i64::MAX))
    .execute(&mut *transaction)
    .await?;
    let is_delivered = tried.outcome == TryOutcome::Delivered;
    let state = match tried.again_after {
        _ if is_delivered => "delivered",
        Some(_) => "pending",
        None => "failed",
    };
    let page: Option<Uuid> = sqlx::query_scalar(
        "update groundcrew.notifications set
            state = $3,
            due_at = coalesce(now() + $4, due_at),
            settled_at = case when $3 = 'pending' then null else now() end,
            leased_until = null
        where id = $1 and state in ('pending', 'failed') and (tries = $2 or $3 = 'delivered')
        returning page_id",
    )
    .bind(tried.id)
    .bind(tried.number)
    .bind(state)
    .bind(tried.again_after)
    .fetch_optional(&mut *transaction)
    .await?;
    if let (Some(page), "failed") = (page, state) {
        sqlx::query(settle::SKIP_UNTOLD).bind([page].as_slice()).execute(&mut *transaction).await?;
    }
    transaction.commit().await
}
