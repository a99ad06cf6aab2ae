-- What could not be audited, and what has to be told.

create table groundcrew.dead_letters (
    id uuid not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null,
    seen bigint not null default 1,
    source text not null,
    reason text not null,
    problems jsonb not null,
    body bytea not null,
    body_bytes bigint not null,
    headers jsonb not null,
    lane text,
    project text,
    trace_id text,
    kinds text[] not null,
    status text not null default 'open',
    note text,
    replays integer not null default 0,
    settled_at timestamptz,
    constraint dead_letters_pkey primary key (id),
    constraint dead_letters_source_known
        check (source in ('undecodable', 'oversized', 'delivery_limit', 'unroutable', 'unsupported_kind', 'failed')),
    constraint dead_letters_status_known check (status in ('open', 'replayed', 'discarded')),
    constraint dead_letters_settled_with_status check ((status = 'open') = (settled_at is null)),
    constraint dead_letters_numbers_positive check (seen >= 1 and body_bytes >= 0 and replays >= 0)
);
-- The operator's list: what waits, newest first.
create index dead_letters_by_status on groundcrew.dead_letters (status, last_seen_at desc, id);
-- "Where is my trace?" must find it here too.
create index dead_letters_by_trace_id on groundcrew.dead_letters (trace_id) where trace_id is not null;

comment on table groundcrew.dead_letters is 'Messages that were taken off a queue and could not be audited.';
comment on column groundcrew.dead_letters.id is 'Derived from source, body and generation: the same message is one row.';
comment on column groundcrew.dead_letters.first_seen_at is 'When it came first.';
comment on column groundcrew.dead_letters.last_seen_at is 'When it came last.';
comment on column groundcrew.dead_letters.seen is 'How often it came.';
comment on column groundcrew.dead_letters.source is
    'Where it came from: undecodable, oversized, delivery_limit, unroutable, unsupported_kind or failed.';
comment on column groundcrew.dead_letters.reason is 'Why, in one sentence.';
comment on column groundcrew.dead_letters.problems is 'What was wrong, by place in the message.';
comment on column groundcrew.dead_letters.body is 'The message byte for byte, as far as it was kept.';
comment on column groundcrew.dead_letters.body_bytes is 'Length of the message as it came, in bytes.';
comment on column groundcrew.dead_letters.headers is 'Headers and properties of its last delivery.';
comment on column groundcrew.dead_letters.lane is 'The lane it came from, where known.';
comment on column groundcrew.dead_letters.project is 'The producer''s project, where readable.';
comment on column groundcrew.dead_letters.trace_id is 'The producer''s id of the trace, where readable.';
comment on column groundcrew.dead_letters.kinds is 'The audit kinds that remain; empty means those that the trace asks for.';
comment on column groundcrew.dead_letters.status is 'open, replayed or discarded.';
comment on column groundcrew.dead_letters.note is 'What the operator said when settling it.';
comment on column groundcrew.dead_letters.replays is 'How often it was published again.';
comment on column groundcrew.dead_letters.settled_at is 'When it was replayed or discarded; null while it is open.';

create table groundcrew.outbox (
    id uuid not null,
    audit_id uuid,
    exchange text not null,
    routing_key text not null,
    correlation_id text,
    body bytea not null,
    created_at timestamptz not null,
    available_at timestamptz not null,
    leased_until timestamptz,
    attempts integer not null default 0,
    sent_at timestamptz,
    outcome text,
    constraint outbox_pkey primary key (id),
    constraint outbox_audit_exists foreign key (audit_id) references groundcrew.audits (id),
    constraint outbox_outcome_known check (outcome in ('confirmed', 'returned')),
    constraint outbox_sent_with_outcome check ((sent_at is null) = (outcome is null)),
    constraint outbox_attempts_positive check (attempts >= 0)
);
-- The relay looks for the next messages all the time. Sent ones, the great majority, are not in here.
create index outbox_unsent on groundcrew.outbox (available_at, id) where sent_at is null;
-- What an audit caused to be told.
create index outbox_by_audit on groundcrew.outbox (audit_id);

comment on table groundcrew.outbox is
    'Messages that must be published. They are committed with what caused them and sent afterwards.';
comment on column groundcrew.outbox.id is 'The message id: publishing it again is the same message.';
comment on column groundcrew.outbox.audit_id is 'The audit that caused it, if one did.';
comment on column groundcrew.outbox.exchange is 'Exchange; empty for a reply to the producer''s own queue.';
comment on column groundcrew.outbox.routing_key is 'Routing key, or the queue''s name for a reply.';
comment on column groundcrew.outbox.correlation_id is 'The producer''s correlation id, for a reply.';
comment on column groundcrew.outbox.body is 'JSON, as it goes out.';
comment on column groundcrew.outbox.created_at is 'When it was caused.';
comment on column groundcrew.outbox.available_at is 'When it may be sent.';
comment on column groundcrew.outbox.leased_until is 'A relay has it in hand until then.';
comment on column groundcrew.outbox.attempts is 'How often it was taken in hand.';
comment on column groundcrew.outbox.sent_at is 'When it was sent; null until then.';
comment on column groundcrew.outbox.outcome is 'confirmed by the broker, or returned because nobody listens.';
