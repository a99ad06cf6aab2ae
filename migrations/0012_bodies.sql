-- Large bodies in tables of their own, one partition a week, so that they age out by dropping a partition
-- while results stay. `groundcrew.traces` and `groundcrew.attempts` become views that show them together.
-- Bodies that are there already stay where they are; `groundcrew maintain` removes those row by row.
--
-- Workers of the version before cannot write to a view's bodies: stop them before this, as said in
-- docs/operations.md, "Upgrading".

set local lock_timeout = '5s';

alter table groundcrew.traces rename to trace_rows;
alter table groundcrew.trace_rows
    alter column payload drop not null,
    add column stored_at timestamptz,
    add column body_removed_at timestamptz;
-- The server's time, which no clock of a worker can move out of the partitions that exist.
alter table groundcrew.trace_rows alter column stored_at set default now();
-- What `maintain` still has to remove row by row. New rows are never in it.
create index trace_rows_with_body on groundcrew.trace_rows (received_at) where payload is not null;

comment on table groundcrew.trace_rows is 'What groundcrew.traces shows, without the payload.';
comment on column groundcrew.trace_rows.payload is
    'The payload of traces that were stored before it had a table of its own; null since.';
comment on column groundcrew.trace_rows.stored_at is
    'When the row was written: says in which partition its body is. Null for traces that have it in the row.';
comment on column groundcrew.trace_rows.body_removed_at is 'When the payload was taken out of the row.';

alter table groundcrew.attempts rename to attempt_rows;
alter table groundcrew.attempt_rows
    alter column request drop not null,
    add column stored_at timestamptz,
    add column body_removed_at timestamptz;
alter table groundcrew.attempt_rows alter column stored_at set default now();
create index attempt_rows_with_body on groundcrew.attempt_rows (started_at) where request is not null;

comment on table groundcrew.attempt_rows is 'What groundcrew.attempts shows, without the bodies.';
comment on column groundcrew.attempt_rows.request is 'As groundcrew.attempts shows it, for attempts that were stored before it had a table of its own.';
comment on column groundcrew.attempt_rows.raw_reply is 'As groundcrew.attempts shows it, for attempts that were stored before it had a table of its own.';
comment on column groundcrew.attempt_rows.content is 'As groundcrew.attempts shows it, for attempts that were stored before it had a table of its own.';
comment on column groundcrew.attempt_rows.content_raw is 'As groundcrew.attempts shows it, for attempts that were stored before it had a table of its own.';
comment on column groundcrew.attempt_rows.stored_at is
    'When the row was written: says in which partition its bodies are. Null for attempts that have them in the row.';
comment on column groundcrew.attempt_rows.body_removed_at is 'When the bodies were taken out of the row.';

-- No foreign keys: a body is written in the transaction of its row, and goes before it.
create table groundcrew.trace_bodies (
    trace_row uuid not null,
    stored_at timestamptz not null,
    payload bytea not null,
    constraint trace_bodies_pkey primary key (trace_row, stored_at)
) partition by range (stored_at);
alter table groundcrew.trace_bodies alter column payload set storage external;

comment on table groundcrew.trace_bodies is 'Payloads of traces, one partition for each week in which they were stored.';
comment on column groundcrew.trace_bodies.trace_row is 'The trace.';
comment on column groundcrew.trace_bodies.stored_at is 'When it was stored, as in its row.';
comment on column groundcrew.trace_bodies.payload is 'The message byte for byte, zstd-compressed.';

create table groundcrew.attempt_bodies (
    audit_id uuid not null,
    unit integer not null,
    number integer not null,
    stored_at timestamptz not null,
    request bytea not null,
    raw_reply bytea,
    content text,
    content_raw bytea,
    constraint attempt_bodies_pkey primary key (audit_id, unit, number, stored_at)
) partition by range (stored_at);
alter table groundcrew.attempt_bodies alter column request set storage external;
do $$
begin
    alter table groundcrew.attempt_bodies
        alter column raw_reply set compression lz4,
        alter column content set compression lz4;
exception
    when feature_not_supported then null;
end
$$;

comment on table groundcrew.attempt_bodies is
    'What was sent to judges and what came back, one partition for each week in which it was stored.';
comment on column groundcrew.attempt_bodies.audit_id is 'The audit.';
comment on column groundcrew.attempt_bodies.unit is 'Which unit of the audit, from 0.';
comment on column groundcrew.attempt_bodies.number is 'Which attempt at this unit, from 1.';
comment on column groundcrew.attempt_bodies.stored_at is 'When it was stored, as in its row.';
comment on column groundcrew.attempt_bodies.request is 'The body that was sent, zstd-compressed JSON.';
comment on column groundcrew.attempt_bodies.raw_reply is 'The body that came back, byte for byte; null when nothing came.';
comment on column groundcrew.attempt_bodies.content is 'The judge''s words in it; NUL characters are shown as U+2400.';
comment on column groundcrew.attempt_bodies.content_raw is 'The words as they were; only where content had to differ.';

create table groundcrew.body_removals (
    body text not null,
    stored_from timestamptz not null,
    stored_until timestamptz not null,
    removed_at timestamptz not null,
    constraint body_removals_pkey primary key (body, stored_from),
    constraint body_removals_body_known check (body in ('trace_bodies', 'attempt_bodies')),
    constraint body_removals_in_order check (stored_from < stored_until)
);

comment on table groundcrew.body_removals is 'Partitions of bodies that were dropped.';
comment on column groundcrew.body_removals.body is 'The table it belonged to.';
comment on column groundcrew.body_removals.stored_from is 'The first moment that it was for.';
comment on column groundcrew.body_removals.stored_until is 'The first moment that it was not for any more.';
comment on column groundcrew.body_removals.removed_at is 'When it was dropped.';

-- Scalar subqueries and no joins: who does not ask for a body pays nothing for it, and the view can be
-- written to but for the bodies.
create view groundcrew.traces as
select
    stored.id, stored.project, stored.trace_id, stored.content_hash, stored.occurred_at, stored.origin, stored.intent,
    stored.risk, stored.value, stored.domain, stored.query, stored.answer, stored.generator_model,
    stored.generator_prompt_version, stored.content_owner, stored.chunk_count, stored.human_faithful,
    stored.human_score, stored.human_labeler, stored.received_at,
    coalesce(stored.payload, (
        select body.payload from groundcrew.trace_bodies as body
        where body.trace_row = stored.id and body.stored_at = stored.stored_at
    )) as payload,
    stored.payload_bytes,
    coalesce(stored.body_removed_at, (
        select removal.removed_at from groundcrew.body_removals as removal
        where removal.body = 'trace_bodies'
            and stored.stored_at >= removal.stored_from and stored.stored_at < removal.stored_until
    )) as body_removed_at
from groundcrew.trace_rows as stored;

comment on view groundcrew.traces is
    'What a producer published, once per content: the same trace id with another answer is another row.';
comment on column groundcrew.traces.payload is
    'The message byte for byte, zstd-compressed; null once it was removed, see body_removed_at.';
comment on column groundcrew.traces.body_removed_at is 'When the payload was removed by age; null while it is there.';

create view groundcrew.attempts as
select
    stored.audit_id, stored.unit, stored.number, stored.fingerprint, stored.started_at, stored.latency_us,
    stored.judge, stored.model, stored.model_answered, stored.prompt_version, stored.prompt_hash,
    coalesce(stored.request, (
        select body.request from groundcrew.attempt_bodies as body
        where body.audit_id = stored.audit_id and body.unit = stored.unit and body.number = stored.number
            and body.stored_at = stored.stored_at
    )) as request,
    stored.request_bytes,
    coalesce(stored.raw_reply, (
        select body.raw_reply from groundcrew.attempt_bodies as body
        where body.audit_id = stored.audit_id and body.unit = stored.unit and body.number = stored.number
            and body.stored_at = stored.stored_at
    )) as raw_reply,
    coalesce(stored.content, (
        select body.content from groundcrew.attempt_bodies as body
        where body.audit_id = stored.audit_id and body.unit = stored.unit and body.number = stored.number
            and body.stored_at = stored.stored_at
    )) as content,
    coalesce(stored.content_raw, (
        select body.content_raw from groundcrew.attempt_bodies as body
        where body.audit_id = stored.audit_id and body.unit = stored.unit and body.number = stored.number
            and body.stored_at = stored.stored_at
    )) as content_raw,
    stored.finish_reason, stored.http_status, stored.prompt_tokens, stored.completion_tokens, stored.cost_micros,
    stored.currency, stored.class, stored.problems, stored.remedy,
    coalesce(stored.body_removed_at, (
        select removal.removed_at from groundcrew.body_removals as removal
        where removal.body = 'attempt_bodies'
            and stored.stored_at >= removal.stored_from and stored.stored_at < removal.stored_until
    )) as body_removed_at
from groundcrew.attempt_rows as stored;

comment on view groundcrew.attempts is 'Every call of the judge, kept whole, whatever came back.';
comment on column groundcrew.attempts.request is
    'The body that was sent, zstd-compressed JSON; null once it was removed, see body_removed_at.';
comment on column groundcrew.attempts.raw_reply is
    'The body that came back, byte for byte; null when nothing came, or once it was removed.';
comment on column groundcrew.attempts.content is
    'The judge''s words in it; NUL characters are shown as U+2400; null once they were removed.';
comment on column groundcrew.attempts.content_raw is 'The words as they were; only where content had to differ.';
comment on column groundcrew.attempts.body_removed_at is
    'When request, raw reply and content were removed by age; null while they are there.';
-- The other columns say what those of the rows say.
do $$
declare
    described record;
begin
    for described in
        select names.view, shown.attname, col_description(names.rows, kept.attnum) as text
        from (values
            ('groundcrew.traces'::regclass, 'groundcrew.trace_rows'::regclass),
            ('groundcrew.attempts'::regclass, 'groundcrew.attempt_rows'::regclass)
        ) as names (view, rows)
        join pg_attribute as shown on shown.attrelid = names.view and shown.attnum > 0
        join pg_attribute as kept on kept.attrelid = names.rows and kept.attname = shown.attname
        where col_description(names.view, shown.attnum) is null
    loop
        execute format('comment on column %s.%I is %L', described.view, described.attname, described.text);
    end loop;
end
$$;

-- Made by whoever needs them: `groundcrew migrate`, `groundcrew maintain`, and every worker, which may call this
-- without owning the tables. Attaching takes no lock that a writer waits for.
create function groundcrew.make_partitions(weeks integer default 8) returns integer
language plpgsql
security definer
set search_path = pg_catalog
as $$
declare
    parent text;
    starts timestamp;
    name text;
    made integer := 0;
begin
    perform pg_advisory_xact_lock(hashtextextended('groundcrew.make_partitions', 0));
    foreach parent in array array['trace_bodies', 'attempt_bodies'] loop
        for week in 0..least(greatest(weeks, 1), 520) loop
            starts := date_trunc('week', now() at time zone 'UTC') + week * interval '7 days';
            name := format('%s_%s', parent, to_char(starts, 'YYYYMMDD'));
            if to_regclass(format('groundcrew.%I', name)) is null then
                execute format(
                    'create table groundcrew.%I (like groundcrew.%I including comments including storage including compression)', name, parent
                );
                execute format(
                    'alter table groundcrew.%I attach partition groundcrew.%I for values from (%L) to (%L)',
                    parent, name, starts at time zone 'UTC', (starts + interval '7 days') at time zone 'UTC'
                );
                execute format('comment on table groundcrew.%I is %L', name, 'One week of ' || parent || '.');
                made := made + 1;
            end if;
        end loop;
    end loop;
    return made;
end
$$;
comment on function groundcrew.make_partitions(integer) is
    'Makes the partitions of bodies for this week and the weeks to come. Gives how many it made.';
revoke all on function groundcrew.make_partitions(integer) from public;

select groundcrew.make_partitions();

-- Sent messages are removed by age. Rows come in order of time, so a few pages of index do.
create index outbox_by_creation on groundcrew.outbox using brin (created_at);
