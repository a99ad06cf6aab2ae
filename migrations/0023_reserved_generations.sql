-- The view below is in use.
set local lock_timeout = '5s';

-- Who asks for an audit again is promised a number of its own, when it is asked for and not when a worker takes it in
-- hand: two requests that wait in a queue must not be one audit.

create table groundcrew.reserved_generations (
    project text not null,
    trace_id text not null,
    generation bigint not null,
    purpose text not null,
    reserved_at timestamptz not null default now(),
    constraint reserved_generations_pkey primary key (project, trace_id, generation),
    -- The same request asked again gets the same number.
    constraint reserved_generations_purpose_key unique (project, trace_id, purpose),
    -- What a message's header can carry.
    constraint reserved_generations_generation_in_range check (generation between 1 and 4294967295)
);

comment on table groundcrew.reserved_generations is
    'Generations that were promised to requests for an audit again. One that nobody used leaves a gap.';
comment on column groundcrew.reserved_generations.project is 'The producer''s project.';
comment on column groundcrew.reserved_generations.trace_id is 'The producer''s id of the trace.';
comment on column groundcrew.reserved_generations.generation is
    'The number, for all audits of the request: free for every kind and content of the trace when it was promised.';
comment on column groundcrew.reserved_generations.purpose is
    'The request: a replay, a dead letter, a retry of a review, or the complete copy of a trace.';
comment on column groundcrew.reserved_generations.reserved_at is 'When it was asked for.';

-- A function, since everything that asks, in a transaction or outside one, has to go the same way under one lock.
create function groundcrew.reserve_generation(
    for_project text, for_trace_id text, for_purpose text, not_below bigint
) returns bigint
language plpgsql
set search_path = pg_catalog
as $$
declare
    reserved bigint;
begin
    perform pg_advisory_xact_lock(
        hashtextextended('groundcrew.generation/' || for_project || '/' || for_trace_id, 0)
    );
    select generation into reserved from groundcrew.reserved_generations
    where project = for_project and trace_id = for_trace_id and purpose = for_purpose;
    if reserved is not null then
        return reserved;
    end if;
    with taken as (
        select generation from groundcrew.reserved_generations
        where project = for_project and trace_id = for_trace_id
        union
        select generation from groundcrew.audits where project = for_project and trace_id = for_trace_id
        union
        select generation from groundcrew.gate_calls where project = for_project and trace_id = for_trace_id
    ), above as (
        select greatest(coalesce(max(generation), 0) + 1, not_below, 1) as next from taken
    )
    select case
        when above.next <= 4294967295 then above.next
        -- A stranger has asked for the largest number there is: the lowest that is free.
        else (
            select min(candidate.generation)
            from (select 1::bigint as generation union select taken.generation + 1 from taken) as candidate
            where candidate.generation >= 1
                and not exists (select from taken where taken.generation = candidate.generation)
        )
    end into reserved
    from above;
    insert into groundcrew.reserved_generations (project, trace_id, generation, purpose)
    values (for_project, for_trace_id, reserved, for_purpose);
    return reserved;
end
$$;
comment on function groundcrew.reserve_generation(text, text, text, bigint) is
    'Promises a generation of a trace that no audit has and nobody else was promised; the same purpose gets the same one.';

-- A sum of what judges say of themselves may be larger than a bigint. One such row must not keep everybody from
-- reading the others.
create or replace view analytics.spend_daily as
select
    project,
    day,
    nullif(currency, '') as currency,
    least(sum(calls), 9223372036854775807)::int8 as calls,
    least(sum(replies), 9223372036854775807)::int8 as replies,
    least(sum(prompt_tokens), 9223372036854775807)::int8 as prompt_tokens,
    least(sum(completion_tokens), 9223372036854775807)::int8 as completion_tokens,
    least(sum(replies_without_tokens), 9223372036854775807)::int8 as replies_without_tokens,
    -- least() passes over nulls, and a price that is not known stays so.
    case when sum(cost_micros) > 9223372036854775807 then 9223372036854775807
        else sum(cost_micros) end::int8 as cost_micros
from groundcrew.usage
group by project, day, currency;

select groundcrew.grant_roles()
from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_roles', 0));
