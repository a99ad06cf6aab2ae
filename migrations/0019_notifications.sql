-- Who was told about which review items, and every try of it.

set local lock_timeout = '5s';

create table groundcrew.notification_pages (
    id uuid not null,
    receiver text not null,
    project text not null,
    kind text not null,
    severity text,
    urgent boolean not null,
    reason text not null,
    practice boolean not null,
    content jsonb,
    opened_at timestamptz not null default now(),
    closes_at timestamptz not null,
    acknowledged_at timestamptz,
    updated_at timestamptz,
    resolved_at timestamptz,
    constraint notification_pages_pkey primary key (id),
    constraint notification_pages_severity_known check (severity in ('minor', 'major', 'critical')),
    constraint notification_pages_window_forward check (closes_at >= opened_at)
);
-- The page that an item of the same kind joins.
create index notification_pages_open
    on groundcrew.notification_pages (receiver, project, kind, reason, closes_at) where resolved_at is null;

comment on table groundcrew.notification_pages is
    'What one receiver is told in one piece: review items of one kind that came within one window.';
comment on column groundcrew.notification_pages.id is 'Its id, the same over all tries and events: the dedup key.';
comment on column groundcrew.notification_pages.receiver is 'The name of the receiver in the configuration.';
comment on column groundcrew.notification_pages.project is 'The producer''s project.';
comment on column groundcrew.notification_pages.kind is 'The audit kind.';
comment on column groundcrew.notification_pages.severity is 'The gravest finding of each of its items.';
comment on column groundcrew.notification_pages.urgent is 'Whether its items are urgent.';
comment on column groundcrew.notification_pages.reason is 'The codes of the reasons, joined by commas.';
comment on column groundcrew.notification_pages.practice is 'Whether the practice judge decided its first item.';
comment on column groundcrew.notification_pages.content is
    'Question and answer of its first item, where notify.include_content says so; null otherwise.';
comment on column groundcrew.notification_pages.opened_at is 'When its first item came.';
comment on column groundcrew.notification_pages.closes_at is 'Until when items of its kind join it.';
comment on column groundcrew.notification_pages.acknowledged_at is 'When one of its items was first seen to be taken.';
comment on column groundcrew.notification_pages.updated_at is 'When the receiver was to be told that more items had joined.';
comment on column groundcrew.notification_pages.resolved_at is 'When all of its items were seen to be closed.';

create table groundcrew.notification_items (
    receiver text not null,
    review_item uuid not null,
    page_id uuid not null,
    joined_at timestamptz not null default now(),
    -- A receiver is told about an item once, however often its message comes.
    constraint notification_items_pkey primary key (receiver, review_item),
    constraint notification_items_page_exists foreign key (page_id) references groundcrew.notification_pages (id),
    constraint notification_items_item_exists foreign key (review_item) references groundcrew.review_items (id)
);
create index notification_items_by_page on groundcrew.notification_items (page_id);
create index notification_items_by_item on groundcrew.notification_items (review_item);

comment on table groundcrew.notification_items is 'Which review items are in which page.';
comment on column groundcrew.notification_items.receiver is 'The receiver.';
comment on column groundcrew.notification_items.review_item is 'The review item.';
comment on column groundcrew.notification_items.page_id is 'The page.';
comment on column groundcrew.notification_items.joined_at is 'When it joined.';

create table groundcrew.notifications (
    id uuid not null,
    seq bigint generated always as identity,
    page_id uuid not null,
    event text not null,
    state text not null default 'pending',
    items bigint,
    tries integer not null default 0,
    created_at timestamptz not null default now(),
    due_at timestamptz not null,
    leased_until timestamptz,
    settled_at timestamptz,
    constraint notifications_pkey primary key (id),
    -- Each event of a page is told once.
    constraint notifications_one_per_event unique (page_id, event),
    constraint notifications_page_exists foreign key (page_id) references groundcrew.notification_pages (id),
    constraint notifications_event_known check (event in ('trigger', 'update', 'acknowledge', 'resolve')),
    constraint notifications_state_known check (state in ('pending', 'delivered', 'failed', 'skipped')),
    constraint notifications_settled_whole check ((state = 'pending') = (settled_at is null)),
    constraint notifications_tries_positive check (tries >= 0)
);
create index notifications_due on groundcrew.notifications (due_at, seq) where state = 'pending';

comment on table groundcrew.notifications is 'What a receiver is to be told about a page, and what became of it.';
comment on column groundcrew.notifications.id is 'Its id, the same over all tries: the idempotency key.';
comment on column groundcrew.notifications.seq is 'Rises; events of one page go out in this order.';
comment on column groundcrew.notifications.page_id is 'The page.';
comment on column groundcrew.notifications.event is
    'trigger: there is something; update: more items have joined; acknowledge: somebody has taken one; resolve: all are closed.';
comment on column groundcrew.notifications.state is
    'pending; delivered; failed (refused, or too many tries); skipped (all items were closed before it went out, or the '
    'trigger failed).';
comment on column groundcrew.notifications.items is 'How many items the page had at the first try: what the receiver is told.';
comment on column groundcrew.notifications.tries is 'How many tries have begun.';
comment on column groundcrew.notifications.created_at is 'When it was caused.';
comment on column groundcrew.notifications.due_at is 'When it is tried next.';
comment on column groundcrew.notifications.leased_until is 'Until when a process has it in hand.';
comment on column groundcrew.notifications.settled_at is 'When it was delivered or given up.';

create table groundcrew.notification_tries (
    notification_id uuid not null,
    number integer not null,
    at timestamptz not null default now(),
    outcome text,
    status integer,
    error text,
    latency_ms bigint,
    constraint notification_tries_pkey primary key (notification_id, number),
    constraint notification_tries_notification_exists
        foreign key (notification_id) references groundcrew.notifications (id),
    constraint notification_tries_number_positive check (number >= 1),
    constraint notification_tries_outcome_known
        check (outcome in ('delivered', 'throttled', 'unavailable', 'timeout', 'refused'))
);
comment on table groundcrew.notification_tries is 'Every try to tell a receiver something.';
comment on column groundcrew.notification_tries.notification_id is 'What was to be told.';
comment on column groundcrew.notification_tries.number is 'The first try is 1.';
comment on column groundcrew.notification_tries.at is 'When it began.';
comment on column groundcrew.notification_tries.outcome is
    'delivered; throttled (429); unavailable (no connection, 5xx); timeout (sent perhaps, no answer); refused (another '
    'status: trying again cannot help). Null while it lasts, or when the process died.';
comment on column groundcrew.notification_tries.status is 'The HTTP status; null without an answer.';
comment on column groundcrew.notification_tries.error is 'What went wrong, without the address.';
comment on column groundcrew.notification_tries.latency_ms is 'How long it took, in milliseconds.';

select groundcrew.grant_roles()
from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_roles', 0));
