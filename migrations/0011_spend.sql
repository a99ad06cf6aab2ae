-- What calls of the judge cost, by project and day, and who may make further ones.

-- One row per connection that writes, so that no two writers ever wait for each other; readers add up.
create table groundcrew.usage (
    project text not null,
    day date not null,
    currency text not null,
    worker uuid not null,
    slot integer not null,
    calls bigint not null,
    replies bigint not null,
    prompt_tokens bigint not null,
    completion_tokens bigint not null,
    replies_without_tokens bigint not null,
    cost_micros bigint,
    constraint usage_pkey primary key (project, day, worker, slot, currency),
    constraint usage_numbers_positive check (
        calls >= 0 and replies >= 0 and prompt_tokens >= 0 and completion_tokens >= 0
        and replies_without_tokens >= 0 and replies_without_tokens <= replies and cost_micros >= 0
    ),
    -- A price that is not known is not 0.
    constraint usage_cost_has_currency check ((currency = '') = (cost_micros is null))
) with (fillfactor = 50);

comment on table groundcrew.usage is
    'Stored attempts, added up in the transaction that commits them. Sums over a project''s day are what caps are held to.';
comment on column groundcrew.usage.project is 'The producer''s project.';
comment on column groundcrew.usage.day is 'UTC day on which the calls began.';
comment on column groundcrew.usage.currency is 'Currency of the price; empty for calls whose price is not known.';
comment on column groundcrew.usage.worker is 'The process that made the calls; all zeros once the day is over and added up.';
comment on column groundcrew.usage.slot is 'The server process that wrote the row.';
comment on column groundcrew.usage.calls is 'Attempts, those without a reply included.';
comment on column groundcrew.usage.replies is 'Attempts that brought a reply in full.';
comment on column groundcrew.usage.prompt_tokens is 'Tokens of the prompts, where reported.';
comment on column groundcrew.usage.completion_tokens is 'Tokens of the replies, where reported.';
comment on column groundcrew.usage.replies_without_tokens is 'Replies that do not say how many tokens they took.';
comment on column groundcrew.usage.cost_micros is 'Price in millionths of the currency; null where it is not known.';

create table groundcrew.reservations (
    project text not null,
    day date not null,
    worker uuid not null,
    granted bigint not null,
    expires_at timestamptz not null,
    constraint reservations_pkey primary key (project, day, worker),
    constraint reservations_granted_positive check (granted >= 0)
);

comment on table groundcrew.reservations is
    'Calls of the judge that workers may make without asking again. What is granted and not stored is reserved, until it expires.';
comment on column groundcrew.reservations.project is 'The producer''s project.';
comment on column groundcrew.reservations.day is 'UTC day for which it holds.';
comment on column groundcrew.reservations.worker is 'The process that holds it.';
comment on column groundcrew.reservations.granted is 'All calls that it was granted on this day, made ones included.';
comment on column groundcrew.reservations.expires_at is 'From then on what is not made is free for others: the worker is gone.';

create table groundcrew.alerts (
    id uuid not null,
    name text not null,
    project text not null,
    day date not null,
    message text not null,
    raised_at timestamptz not null,
    constraint alerts_pkey primary key (id),
    -- One alert for the operator, not one for each audit and worker.
    constraint alerts_key unique (name, project, day)
);

comment on table groundcrew.alerts is 'What an operator has to know, once for each project and day.';
comment on column groundcrew.alerts.id is 'Also the id of the message that tells it.';
comment on column groundcrew.alerts.name is 'What it is about: over_budget.';
comment on column groundcrew.alerts.project is 'The producer''s project.';
comment on column groundcrew.alerts.day is 'UTC day.';
comment on column groundcrew.alerts.message is 'What happened, in a sentence.';
comment on column groundcrew.alerts.raised_at is 'When it happened first on that day.';

create view analytics.spend_daily as
select
    project,
    day,
    nullif(currency, '') as currency,
    sum(calls)::int8 as calls,
    sum(replies)::int8 as replies,
    sum(prompt_tokens)::int8 as prompt_tokens,
    sum(completion_tokens)::int8 as completion_tokens,
    sum(replies_without_tokens)::int8 as replies_without_tokens,
    sum(cost_micros)::int8 as cost_micros
from groundcrew.usage
group by project, day, currency;

comment on view analytics.spend_daily is
    'What calls of the judge took, by project, UTC day and currency. Counted from the upgrade that brought this view on.';
comment on column analytics.spend_daily.project is 'The producer''s project.';
comment on column analytics.spend_daily.day is 'UTC day on which the calls began.';
comment on column analytics.spend_daily.currency is 'Currency of the price; null for the calls whose price is not known.';
comment on column analytics.spend_daily.calls is 'Calls, those without a reply included.';
comment on column analytics.spend_daily.replies is 'Calls that brought a reply in full.';
comment on column analytics.spend_daily.prompt_tokens is 'Tokens of the prompts, where reported.';
comment on column analytics.spend_daily.completion_tokens is 'Tokens of the replies, where reported.';
comment on column analytics.spend_daily.replies_without_tokens is 'Replies that the sums of tokens do not cover.';
comment on column analytics.spend_daily.cost_micros is
    'Price in millionths of the currency; null in the row of the calls whose price is not known, which is not free.';
