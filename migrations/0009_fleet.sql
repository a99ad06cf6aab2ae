-- What operators say to all workers, what workers say of themselves, and what sampling left out.

create table groundcrew.fleet (
    single boolean not null default true,
    paused boolean not null default false,
    reason text,
    changed_by text,
    changed_at timestamptz not null default now(),
    constraint fleet_pkey primary key (single),
    -- One row: what holds for the fleet holds for all of it.
    constraint fleet_is_one check (single)
);
insert into groundcrew.fleet default values;

comment on table groundcrew.fleet is 'What operators say to all workers. One row.';
comment on column groundcrew.fleet.single is 'Always true: there is one fleet.';
comment on column groundcrew.fleet.paused is 'While true, workers take no deliveries; they finish what they have in work.';
comment on column groundcrew.fleet.reason is 'Why it was paused or resumed, as the operator said.';
comment on column groundcrew.fleet.changed_by is 'Who paused or resumed it: the account and host of the command.';
comment on column groundcrew.fleet.changed_at is 'When it was paused or resumed last.';

create table groundcrew.workers (
    id uuid not null,
    host text not null,
    process_id bigint not null,
    version text not null,
    started_at timestamptz not null,
    seen_at timestamptz not null,
    flow text not null,
    in_work_urgent bigint not null,
    in_work_normal bigint not null,
    in_work_bulk bigint not null,
    taken_urgent timestamptz,
    taken_normal timestamptz,
    taken_bulk timestamptz,
    constraint workers_pkey primary key (id),
    constraint workers_flow_known check (flow in ('full', 'probe', 'judge_unavailable', 'paused', 'stopping')),
    constraint workers_in_work_positive
        check (in_work_urgent >= 0 and in_work_normal >= 0 and in_work_bulk >= 0)
);
-- Rows of workers that ended without a word are removed by age.
create index workers_by_seen_at on groundcrew.workers (seen_at);

comment on table groundcrew.workers is
    'Workers that run, as they report themselves every few seconds. Nothing depends on it but what operators see.';
comment on column groundcrew.workers.id is 'New with each start.';
comment on column groundcrew.workers.host is 'The host''s name.';
comment on column groundcrew.workers.process_id is 'The process id on that host.';
comment on column groundcrew.workers.version is 'Version of the program.';
comment on column groundcrew.workers.started_at is 'When it started.';
comment on column groundcrew.workers.seen_at is 'When it reported last.';
comment on column groundcrew.workers.flow is
    'Whether it takes deliveries: full, probe (one per lane, to find out about the judge), judge_unavailable, paused or stopping.';
comment on column groundcrew.workers.in_work_urgent is 'Deliveries of the urgent lane that it has in work.';
comment on column groundcrew.workers.in_work_normal is 'Deliveries of the normal lane that it has in work.';
comment on column groundcrew.workers.in_work_bulk is 'Deliveries of the bulk lane that it has in work.';
comment on column groundcrew.workers.taken_urgent is
    'When the last message that it took from the urgent lane was published; what waits there is not older.';
comment on column groundcrew.workers.taken_normal is 'The same for the normal lane.';
comment on column groundcrew.workers.taken_bulk is 'The same for the bulk lane.';

create table groundcrew.sampled_out (
    project text not null,
    day date not null,
    traces bigint not null,
    constraint sampled_out_pkey primary key (project, day),
    constraint sampled_out_traces_positive check (traces >= 1)
);

comment on table groundcrew.sampled_out is
    'Traces that workers acked without an audit because of a sample rate. Counted, not kept.';
comment on column groundcrew.sampled_out.project is 'The producer''s project.';
comment on column groundcrew.sampled_out.day is 'The day in UTC on which they were received.';
comment on column groundcrew.sampled_out.traces is 'How many.';

create view analytics.sampled_out_daily as
select project, day, traces from groundcrew.sampled_out;

comment on view analytics.sampled_out_daily is
    'Traces that were left out by sampling in the workers. They have no audits and are in no other view.';
comment on column analytics.sampled_out_daily.project is 'The producer''s project.';
comment on column analytics.sampled_out_daily.day is 'The day in UTC on which they were received.';
comment on column analytics.sampled_out_daily.traces is 'How many.';

-- Many dead letters have one cause, and their reasons differ in a number only.
create function groundcrew.dead_reason(reason text, problems jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    select regexp_replace(
        reason || coalesce(': ' || (problems -> 0 ->> 'path') || ': ' || (problems -> 0 ->> 'message'), ''),
        '[0-9]+', '#', 'g')
$$;
revoke all on function groundcrew.dead_reason(text, jsonb) from public;
comment on function groundcrew.dead_reason(text, jsonb) is
    'The reason of a dead letter with its first problem, and # for each number: what dead letters are grouped by.';
