-- The roles that a worker and the desk need, and no more. Give them to users by
-- "grant groundcrew_worker to somebody".

-- A function, and called by every `groundcrew migrate`: a role that an administrator makes later, and a table
-- that a later migration adds, get their grants without a migration of their own.
create function groundcrew.grant_roles() returns text[]
language plpgsql
set search_path = pg_catalog
as $$
declare
    wanted text;
    relation record;
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
            execute format('revoke all on groundcrew.%I from %I', relation.name, wanted);
            execute format(
                'grant %s on groundcrew.%I to %I',
                case
                    -- Written by migrations and by `groundcrew maintain` alone.
                    when relation.name in ('_sqlx_migrations', 'body_removals') then 'select'
                    -- Read through groundcrew.traces and groundcrew.attempts.
                    when relation.name in ('trace_bodies', 'attempt_bodies') then 'insert'
                    when relation.name = 'attempts' then 'select'
                    -- What people say is the desk's.
                    when relation.name = 'rulings' and wanted = 'groundcrew_worker' then 'select'
                    -- Nothing is ever deleted but by `groundcrew maintain`.
                    else 'select, insert, update'
                end,
                relation.name, wanted
            );
        end loop;
    end loop;
    return missing;
end
$$;
comment on function groundcrew.grant_roles() is
    'Makes the roles for workers and for the desk if it can, and grants them what they need. Gives the roles that are missing.';
revoke all on function groundcrew.grant_roles() from public;

select groundcrew.grant_roles()
from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_roles', 0));
