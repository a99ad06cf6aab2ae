-- The role for analysts. It reads the views and nothing else; give it to people by
-- "grant groundcrew_analyst to somebody".

-- A function, and called by every `groundcrew migrate`: a role that an administrator makes later,
-- and a view that a later migration adds, get their grants without a migration of their own.
create function groundcrew.grant_analyst() returns boolean
language plpgsql
set search_path = pg_catalog
as $$
begin
    if not exists (select from pg_roles where rolname = 'groundcrew_analyst') then
        begin
            create role groundcrew_analyst nologin;
        exception
            -- Roles belong to the whole cluster, and a lock of one database does not hold in another:
            -- a migration of another database may have been faster by a moment.
            when duplicate_object or unique_violation then null;
            when insufficient_privilege then
                raise notice 'the role groundcrew_analyst is missing and may not be created by %', current_user
                    using hint = 'An administrator can run: create role groundcrew_analyst nologin; '
                        'run "groundcrew migrate" again afterwards.';
                return false;
        end;
    end if;
    grant usage on schema analytics to groundcrew_analyst;
    grant select on all tables in schema analytics to groundcrew_analyst;
    return true;
end
$$;
comment on function groundcrew.grant_analyst() is
    'Makes the role for analysts if it can, and grants it the views. False when there is no such role.';
revoke all on function groundcrew.grant_analyst() from public;

select groundcrew.grant_analyst();
