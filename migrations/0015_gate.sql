-- Who may use the desk without a person behind it, and what was asked of the gate.

create table groundcrew.api_tokens (
    id uuid not null,
    name text not null,
    hash bytea not null,
    role text not null,
    projects text[],
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    last_used_at timestamptz,
    constraint api_tokens_pkey primary key (id),
    -- A token is looked up by its hash with each request.
    constraint api_tokens_hash unique (hash),
    constraint api_tokens_hash_is_sha256 check (octet_length(hash) = 32),
    constraint api_tokens_name_not_blank check (btrim(name) <> ''),
    constraint api_tokens_role_known check (role in ('viewer', 'reviewer', 'admin', 'gate')),
    -- An empty list would be a token for nothing; no list is a token for every project.
    constraint api_tokens_projects_not_empty check (cardinality(projects) > 0)
);
-- A name says whose token it is, so that only one of a name is in force.
create unique index api_tokens_name on groundcrew.api_tokens (name) where revoked_at is null;

comment on table groundcrew.api_tokens is 'Named tokens for the desk''s API. The token itself is stored nowhere.';
comment on column groundcrew.api_tokens.id is 'Made when the token was.';
comment on column groundcrew.api_tokens.name is 'Who or what uses it, in an operator''s words.';
comment on column groundcrew.api_tokens.hash is
    'SHA-256 of the token. A token is 256 random bits: nobody can try them, so that a slow hash would only cost time.';
comment on column groundcrew.api_tokens.role is 'What it may do: viewer, reviewer, admin or gate.';
comment on column groundcrew.api_tokens.projects is 'The projects it may see; null for all.';
comment on column groundcrew.api_tokens.created_at is 'When it was made.';
comment on column groundcrew.api_tokens.revoked_at is 'When it was revoked; null while it is in force.';
comment on column groundcrew.api_tokens.last_used_at is 'When it was last used, to the hour.';

create table groundcrew.gate_calls (
    id uuid not null,
    project text not null,
    trace_id text not null,
    kind text not null,
    channel text not null,
    caller text,
    session text,
    regenerations integer not null default 0,
    generation bigint not null default 0,
    idempotency_key text,
    body_hash bytea,
    audit_id uuid,
    outcome text,
    verdict text,
    action text,
    deadline_ms bigint,
    judge_us bigint,
    total_us bigint,
    response text,
    received_at timestamptz not null,
    expires_at timestamptz,
    ended_at timestamptz,
    constraint gate_calls_pkey primary key (id),
    -- Two calls with one key are one call: this is where concurrent copies are judged once.
    constraint gate_calls_key unique (project, idempotency_key),
    constraint gate_calls_kind_known check (kind in ('gate', 'evidence_check')),
    constraint gate_calls_channel_known check (channel in ('http', 'queue')),
    constraint gate_calls_outcome_known
        check (outcome in ('judged', 'unusable', 'deadline', 'client_gone', 'judge_unavailable', 'over_budget', 'cut_off')),
    constraint gate_calls_verdict_known check (verdict in ('grounded', 'ungrounded', 'unknown')),
    constraint gate_calls_action_known check (action in ('deliver', 'redact', 'regenerate', 'escalate', 'block')),
    constraint gate_calls_numbers_positive
        check (regenerations >= 0 and generation >= 0 and deadline_ms >= 0 and judge_us >= 0 and total_us >= 0),
    -- What has ended says how; what is open has an end in sight.
    constraint gate_calls_ended_with_outcome check ((ended_at is null) = (outcome is null)),
    constraint gate_calls_open_expires check (ended_at is not null or expires_at is not null)
);
-- The calls of one session, and the calls about one trace.
create index gate_calls_by_session on groundcrew.gate_calls (project, session) where session is not null;
create index gate_calls_by_trace on groundcrew.gate_calls (project, trace_id);
-- What a process that was killed left open: few rows, looked at every minute.
create index gate_calls_open on groundcrew.gate_calls (expires_at) where ended_at is null;
-- The figures of a day.
create index gate_calls_by_time on groundcrew.gate_calls using brin (received_at);

comment on table groundcrew.gate_calls is 'What was asked of the gate, and the answer. Each call is an audit as well.';
comment on column groundcrew.gate_calls.id is 'The call''s id; for a call over the queue derived from the audit.';
comment on column groundcrew.gate_calls.project is 'The producer''s project.';
comment on column groundcrew.gate_calls.trace_id is 'The trace id of the audit: the caller''s, or one that the gate made.';
comment on column groundcrew.gate_calls.kind is 'The audit kind: gate or evidence_check.';
comment on column groundcrew.gate_calls.channel is 'How it came: http, or queue with a reply_to.';
comment on column groundcrew.gate_calls.caller is 'Name of the token or the user that asked; null over the queue.';
comment on column groundcrew.gate_calls.session is 'What ties an answer and its regenerations together, in the caller''s words.';
comment on column groundcrew.gate_calls.regenerations is 'How often the session had been told to regenerate before this call.';
comment on column groundcrew.gate_calls.generation is 'The generation of its audit.';
comment on column groundcrew.gate_calls.idempotency_key is 'The caller''s key: the same key again gets the same answer.';
comment on column groundcrew.gate_calls.body_hash is 'SHA-256 of the body, so that another question under the same key is refused.';
comment on column groundcrew.gate_calls.audit_id is 'The audit; null while the call is open, or when it was cut off before there was one.';
comment on column groundcrew.gate_calls.outcome is
    'judged; unusable (the judge''s replies); deadline, client_gone, cut_off (its process ended): nobody waited; judge_unavailable; over_budget. Null while it is open.';
comment on column groundcrew.gate_calls.verdict is 'grounded, ungrounded or unknown; null while it is open.';
comment on column groundcrew.gate_calls.action is 'What the caller was told to do; null while it is open.';
comment on column groundcrew.gate_calls.deadline_ms is 'How long the caller would wait, in milliseconds; null over the queue.';
comment on column groundcrew.gate_calls.judge_us is 'Time that calls of the judge took, the longest of those that ran at once, in microseconds.';
comment on column groundcrew.gate_calls.total_us is 'Time from the request to the commit, in microseconds.';
comment on column groundcrew.gate_calls.response is 'The answer, where a key may ask for it again; removed with the bodies.';
comment on column groundcrew.gate_calls.received_at is 'When the call came.';
comment on column groundcrew.gate_calls.expires_at is 'When an open call is taken for cut off; null once it has ended.';
comment on column groundcrew.gate_calls.ended_at is 'When it was answered; null while it is open.';

create view analytics.gate_daily as
select
    project,
    kind,
    channel,
    (received_at at time zone 'UTC')::date as day,
    count(*) as calls,
    count(*) filter (where verdict = 'grounded') as grounded,
    count(*) filter (where verdict = 'ungrounded') as ungrounded,
    count(*) filter (where verdict = 'unknown') as unknown,
    count(*) filter (where action = 'deliver') as delivered,
    count(*) filter (where action = 'redact') as redacted,
    count(*) filter (where action = 'regenerate') as regenerated,
    count(*) filter (where action = 'escalate') as escalated,
    count(*) filter (where action = 'block') as blocked,
    count(*) filter (where outcome = 'deadline') as deadlines_missed,
    count(*) filter (where ended_at is null) as open,
    percentile_cont(0.5) within group (order by (total_us - judge_us) / 1000.0) as added_ms_median,
    percentile_cont(0.99) within group (order by (total_us - judge_us) / 1000.0) as added_ms_p99
from groundcrew.gate_calls
group by project, kind, channel, (received_at at time zone 'UTC')::date;

comment on view analytics.gate_daily is 'Calls of the gate by project, kind, channel and day: verdicts, actions, missed deadlines, added time.';
comment on column analytics.gate_daily.project is 'The producer''s project.';
comment on column analytics.gate_daily.kind is 'The audit kind.';
comment on column analytics.gate_daily.channel is 'http, or queue for calls with a reply_to.';
comment on column analytics.gate_daily.day is 'The day in UTC on which the calls came.';
comment on column analytics.gate_daily.calls is 'All calls.';
comment on column analytics.gate_daily.grounded is 'Calls whose answer was found grounded.';
comment on column analytics.gate_daily.ungrounded is 'Calls whose answer was found ungrounded.';
comment on column analytics.gate_daily.unknown is 'Calls that were answered without a verdict.';
comment on column analytics.gate_daily.delivered is 'Calls answered with deliver.';
comment on column analytics.gate_daily.redacted is 'Calls answered with redact.';
comment on column analytics.gate_daily.regenerated is 'Calls answered with regenerate.';
comment on column analytics.gate_daily.escalated is 'Calls answered with escalate.';
comment on column analytics.gate_daily.blocked is 'Calls answered with block.';
comment on column analytics.gate_daily.deadlines_missed is 'Calls whose deadline passed before there was a verdict.';
comment on column analytics.gate_daily.open is 'Calls that have no answer yet.';
comment on column analytics.gate_daily.added_ms_median is 'Median of the time beyond the judge''s own, in milliseconds; null over calls without one.';
comment on column analytics.gate_daily.added_ms_p99 is 'The same, 99th percentile.';

-- Nobody has a right to the new tables yet: 0017 says who gets which.
select groundcrew.grant_analyst()
from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_analyst', 0));
