-- People decide: leases on review items, rulings that are only ever added, the end of a review, and who looked at what.

set local lock_timeout = '5s';

-- Review items are few beside audits, so that writing them anew for the computed columns takes seconds.
create function groundcrew.reason_codes(reasons jsonb) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    select coalesce(array_agg(distinct reason ->> 'code' order by reason ->> 'code'), '{}')
    from jsonb_array_elements(case jsonb_typeof(reasons) when 'array' then reasons else '[]' end) as reason
    where reason ->> 'code' is not null
$$;
comment on function groundcrew.reason_codes(jsonb) is 'The codes of reasons, each once, in alphabetical order.';

create function groundcrew.review_list(blind boolean, reasons jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    select case
        when blind then 'sample'
        when groundcrew.reason_codes(reasons) && array['unreadable', 'inconsistent', 'refused'] then 'failed'
        else 'findings'
    end
$$;
comment on function groundcrew.review_list(boolean, jsonb) is 'On which list of the desk an item stands.';

alter table groundcrew.review_items
    add column fence bigint not null default 0,
    add column claimed_by text,
    add column claimed_at timestamptz,
    add column leased_until timestamptz,
    add column closed_by text,
    add column closed_at timestamptz,
    add column outcome text,
    add column faithful boolean,
    add column final_decision text,
    add column reason_codes text[] generated always as (groundcrew.reason_codes(reasons)) stored,
    add column list text generated always as (groundcrew.review_list(blind, reasons)) stored,
    add column rank smallint generated always as (
        case
            when urgent then 0
            when severity = 'critical' then 1
            when severity = 'major' or groundcrew.review_list(blind, reasons) = 'failed' then 2
            else 3
        end
    ) stored,
    add constraint review_items_fence_positive check (fence >= 0),
    -- Who has an item, and until when, is known together or not at all.
    add constraint review_items_claimed_whole check (
        (status = 'claimed') = (claimed_by is not null)
        and (claimed_by is null) = (leased_until is null) and (claimed_by is null) = (claimed_at is null)
    ),
    add constraint review_items_outcome_known check (outcome in ('ruled', 'retried', 'dismissed')),
    add constraint review_items_closed_whole check (
        (status = 'closed') = (closed_at is not null)
        and (closed_at is null) = (closed_by is null) and (closed_at is null) = (outcome is null)
    ),
    add constraint review_items_final_decision_known check (final_decision in ('deliver', 'block')),
    -- Only a ruling says anything about the answer.
    add constraint review_items_faithful_when_ruled check (faithful is null or outcome = 'ruled');

comment on column groundcrew.review_items.fence is
    'Rises with every taking; what is written under an older one is refused.';
comment on column groundcrew.review_items.claimed_by is 'Who has taken it; null when nobody has.';
comment on column groundcrew.review_items.claimed_at is 'When it was taken.';
comment on column groundcrew.review_items.leased_until is 'Until when it is that reviewer''s; extended by what the reviewer does.';
comment on column groundcrew.review_items.closed_by is 'Who closed it; with several opinions, who gave the last.';
comment on column groundcrew.review_items.closed_at is 'When the review ended.';
comment on column groundcrew.review_items.outcome is
    'How it ended: ruled, retried (another generation was asked for) or dismissed (nothing was said about the answer).';
comment on column groundcrew.review_items.faithful is
    'Whether the whole answer is faithful, as ruled; null when nobody could say, or opinions differ.';
comment on column groundcrew.review_items.final_decision is 'What the producer should do after the review: deliver or block.';
comment on column groundcrew.review_items.reason_codes is 'The codes of the reasons, each once.';
comment on column groundcrew.review_items.list is
    'On which list of the desk it stands: findings, failed (the judge''s replies could not be used) or sample (blind).';
comment on column groundcrew.review_items.rank is
    'Order of urgency: 0 urgent, 1 critical, 2 major or failed, 3 the rest.';

-- The desk's lists: what waits, by urgency, then age; a page begins where the one before ended.
create index review_items_queue on groundcrew.review_items (list, rank, created_at, id) where status <> 'closed';
create index review_items_project_queue on groundcrew.review_items (project, list, rank, created_at, id)
    where status <> 'closed';
-- How many wait for which reason, without reading the items.
create index review_items_counts on groundcrew.review_items (list, project, reason_codes) where status <> 'closed';
-- What was closed last, for the desk, for exports and for views by week.
create index review_items_closed on groundcrew.review_items (closed_at desc, id) where status = 'closed';
-- It was in another order of urgency.
drop index groundcrew.review_items_waiting;

create table groundcrew.review_opinions (
    review_item uuid not null,
    number smallint not null,
    reviewer text not null,
    fence bigint not null,
    faithful boolean,
    decision text,
    note text,
    given_at timestamptz not null default now(),
    constraint review_opinions_pkey primary key (review_item, number),
    -- Two opinions are two people's.
    constraint review_opinions_one_each unique (review_item, reviewer),
    constraint review_opinions_item_exists foreign key (review_item) references groundcrew.review_items (id),
    constraint review_opinions_number_positive check (number >= 1),
    constraint review_opinions_decision_known check (decision in ('deliver', 'block'))
);
comment on table groundcrew.review_opinions is
    'Who has decided a review item as a whole. One row ends the review, unless the project asks for two opinions.';
comment on column groundcrew.review_opinions.review_item is 'The review item.';
comment on column groundcrew.review_opinions.number is 'The first opinion is 1.';
comment on column groundcrew.review_opinions.reviewer is 'Who gave it.';
comment on column groundcrew.review_opinions.fence is 'The fence under which it was given.';
comment on column groundcrew.review_opinions.faithful is 'Whether the whole answer is faithful; null when the reviewer could not say.';
comment on column groundcrew.review_opinions.decision is 'What the producer should do: deliver or block; null when nothing is held.';
comment on column groundcrew.review_opinions.note is 'The reviewer''s words.';
comment on column groundcrew.review_opinions.given_at is 'When it was given.';

alter table groundcrew.rulings
    add column seq bigint generated always as identity,
    add column fence bigint not null,
    add column report_version text not null,
    add column blind boolean not null default false,
    add column from_verdict text,
    add column from_severity text,
    add column to_verdict text,
    add column to_severity text,
    add column claim_text text,
    add column answer_start bigint,
    add column answer_end bigint,
    add column faithful boolean,
    add column withdraws uuid,
    drop constraint rulings_ruling_known,
    add constraint rulings_ruling_known
        check (ruling in ('confirm', 'override', 'annotate', 'add', 'overall', 'withdraw')),
    add constraint rulings_verdicts_known check (
        from_verdict in ('grounded', 'contradicted', 'unsupported', 'insufficient_evidence')
        and to_verdict in ('grounded', 'contradicted', 'unsupported', 'insufficient_evidence')
    ),
    add constraint rulings_severities_known check (
        from_severity in ('minor', 'major', 'critical') and to_severity in ('minor', 'major', 'critical')
    ),
    -- Each kind of ruling says what it has to say, and nothing else.
    add constraint rulings_say_what_they_are check (
        case ruling
            when 'confirm' then claim_index is not null or omission_index is not null
            when 'override' then claim_index is not null and to_verdict is not null or omission_index is not null
            when 'annotate' then note is not null
            when 'add' then claim_text is not null and to_verdict is not null
            when 'withdraw' then withdraws is not null
            else true
        end
        and (ruling = 'withdraw') = (withdraws is not null)
        and (ruling = 'add') = (claim_text is not null)
        and (faithful is null or ruling = 'overall')
    ),
    add constraint rulings_span_whole check (
        (answer_start is null) = (answer_end is null) and answer_start >= 0 and answer_end >= answer_start
    ),
    -- Undone once is undone.
    add constraint rulings_withdrawn_once unique (withdraws),
    add constraint rulings_withdraws_exists foreign key (withdraws) references groundcrew.rulings (id);
drop index groundcrew.rulings_by_item;
-- All that was said about one item, in order.
create index rulings_by_item on groundcrew.rulings (review_item, seq);

comment on column groundcrew.rulings.ruling is
    'confirm, override or annotate a flag; add a claim that the judge missed; overall, about the whole answer; '
    'withdraw an earlier ruling.';
comment on column groundcrew.rulings.seq is 'Rises with each ruling; the order in which they were said.';
comment on column groundcrew.rulings.fence is 'The fence of the item under which it was said.';
comment on column groundcrew.rulings.report_version is 'What the reviewer saw: groundcrew.report_version() of the audit.';
comment on column groundcrew.rulings.blind is 'Said before the reviewer had seen the judge''s verdict.';
comment on column groundcrew.rulings.from_verdict is 'The verdict of the report; null for omissions and added claims.';
comment on column groundcrew.rulings.from_severity is 'The severity of the report.';
comment on column groundcrew.rulings.to_verdict is 'The verdict of the reviewer.';
comment on column groundcrew.rulings.to_severity is 'The severity of the reviewer.';
comment on column groundcrew.rulings.claim_text is 'The claim that the judge missed; null for other rulings.';
comment on column groundcrew.rulings.answer_start is 'Where an added claim stands in the answer: first Unicode scalar value, from 0.';
comment on column groundcrew.rulings.answer_end is 'One past its last Unicode scalar value.';
comment on column groundcrew.rulings.faithful is 'Of an overall ruling: whether the whole answer is faithful; null when the reviewer could not say.';
comment on column groundcrew.rulings.withdraws is 'The ruling that this one takes back.';

-- Also for the owner of the tables: what was said stays said.
create function groundcrew.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog
as $$
begin
    raise exception 'rows of %.% are never changed or deleted', tg_table_schema, tg_table_name
        using errcode = 'integrity_constraint_violation';
end
$$;
comment on function groundcrew.refuse_change() is 'Makes a table one that is only added to.';
create trigger rulings_are_only_added before update or delete on groundcrew.rulings
    for each row execute function groundcrew.refuse_change();

create function groundcrew.report_version(audit uuid) returns text
language sql stable parallel safe
set search_path = pg_catalog
as $$
    select left(encode(sha256(convert_to(concat(
        (
            select string_agg(
                concat_ws(E'\x1f', index, text, verdict, severity, confidence, explanation, answer_start, answer_end, evidence),
                E'\x1e' order by index
            ) from groundcrew.claims where audit_id = audit
        ),
        E'\x1d',
        (
            select string_agg(
                concat_ws(E'\x1f', index, missing_fact, available_evidence, chunk, chunk_start, chunk_end),
                E'\x1e' order by index
            ) from groundcrew.omissions where audit_id = audit
        )
    ), 'UTF8')), 'hex'), 16)
$$;
comment on function groundcrew.report_version(uuid) is
    'Names what a report says: the first 16 hex digits of SHA-256 over its claims and omissions.';

-- Asking again is a message like any other, with headers.
alter table groundcrew.outbox add column headers jsonb;
comment on column groundcrew.outbox.headers is
    'For a trace that is asked for again: kinds, generation and the dead letter that it was. Null for messages to others.';

create table groundcrew.access_log (
    id bigint generated always as identity,
    at timestamptz not null default now(),
    principal text not null,
    role text,
    method text not null,
    path text not null,
    status integer not null,
    address text,
    constraint access_log_pkey primary key (id),
    constraint access_log_status_in_range check (status between 100 and 599)
);
-- Old rows go, and questions are about a time. Rows come in its order.
create index access_log_by_time on groundcrew.access_log using brin (at);

comment on table groundcrew.access_log is
    'Who asked the desk for what: every change, every look at a trace, every refused login.';
comment on column groundcrew.access_log.id is 'Rises with time.';
comment on column groundcrew.access_log.at is 'When it was answered.';
comment on column groundcrew.access_log.principal is 'Who asked; empty when nobody was known.';
comment on column groundcrew.access_log.role is 'The role of who asked.';
comment on column groundcrew.access_log.method is 'The method of the request.';
comment on column groundcrew.access_log.path is 'The path, without the query.';
comment on column groundcrew.access_log.status is 'The status of the answer.';
comment on column groundcrew.access_log.address is 'The address that the request came from.';

create table groundcrew.desk_sessions (
    hash bytea not null,
    token uuid not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    ended_at timestamptz,
    constraint desk_sessions_pkey primary key (hash),
    constraint desk_sessions_hash_is_sha256 check (octet_length(hash) = 32),
    constraint desk_sessions_token_exists foreign key (token) references groundcrew.api_tokens (id)
);
-- Sessions that are over are removed by age.
create index desk_sessions_by_expiry on groundcrew.desk_sessions (expires_at);

comment on table groundcrew.desk_sessions is 'Browsers that have logged in with a token. A session ends with its token.';
comment on column groundcrew.desk_sessions.hash is 'SHA-256 of what the cookie holds, which is 256 random bits.';
comment on column groundcrew.desk_sessions.token is
    'The token that it was begun with; it says who it is, and what they may do.';
comment on column groundcrew.desk_sessions.created_at is 'When it began.';
comment on column groundcrew.desk_sessions.expires_at is 'When it ends by itself.';
comment on column groundcrew.desk_sessions.ended_at is 'When it was ended before that; null otherwise.';

-- What people say is only added to, and workers have no business with who they are.
create or replace function groundcrew.grant_roles() returns text[]
language plpgsql
set search_path = pg_catalog
as $$
declare
    wanted text;
    relation record;
    privileges text;
    missing text[] := '{}';
begin
    foreach wanted in array array['groundcrew_worker', 'groundcrew_desk'] loop
        if not exists (select from pg_roles where rolname = wanted) then
            begin
                execute format('create role %I nologin', wanted);
            exception
                -- Roles belong to the whole cluster: a migration of another database may have been faster.
                when duplicate_object or unique_violation then null;
                when insufficient_privilege then
                    raise notice 'the role % is missing and may not be created by %', wanted, current_user
                        using hint = format('An administrator can run: create role %I nologin; ', wanted)
                            || 'run "groundcrew migrate" again afterwards.';
                    missing := missing || wanted;
                    continue;
            end;
        end if;
        execute format('grant usage on schema groundcrew to %I', wanted);
        execute format('grant execute on function groundcrew.make_partitions(integer) to %I', wanted);
        for relation in
            select class.relname as name
            from pg_class as class
            where class.relnamespace = 'groundcrew'::regnamespace and class.relkind in ('r', 'p', 'v')
                and not class.relispartition
        loop
            privileges := case
                -- Written by migrations and by `groundcrew maintain` alone.
                when relation.name in ('_sqlx_migrations', 'body_removals') then 'select'
                -- Read through groundcrew.traces and groundcrew.attempts.
                when relation.name in ('trace_bodies', 'attempt_bodies') then 'insert'
                when relation.name = 'attempts' then 'select'
                -- Who people are, and what they looked at, is the desk's.
                when relation.name in ('api_tokens', 'desk_sessions', 'access_log') and wanted = 'groundcrew_worker'
                    then null
                when relation.name in ('rulings', 'review_opinions') and wanted = 'groundcrew_worker' then 'select'
                when relation.name in ('rulings', 'review_opinions', 'access_log') then 'select, insert'
                -- Nothing is ever deleted but by `groundcrew maintain`.
                else 'select, insert, update'
            end;
            execute format('revoke all on groundcrew.%I from %I', relation.name, wanted);
            if privileges is not null then
                execute format('grant %s on groundcrew.%I to %I', privileges, relation.name, wanted);
            end if;
        end loop;
    end loop;
    return missing;
end
$$;

select groundcrew.grant_roles()
from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_roles', 0));
