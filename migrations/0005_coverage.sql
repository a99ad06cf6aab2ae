-- Means never stand alone: beside each stands how many audits it covers and how many it does not.

create view analytics.coverage_daily as
select
    (coalesce(audit.ended_at, audit.opened_at) at time zone 'UTC')::date as day,
    audit.project,
    audit.kind,
    audit.judge,
    audit.prompt_version,
    trace.origin,
    audit.practice,
    count(*) as audits,
    count(*) filter (where audit.disposition is null) as open,
    count(*) filter (where audit.disposition = 'passed') as passed,
    count(*) filter (where audit.disposition = 'flagged') as flagged,
    count(*) filter (where audit.disposition = 'escalated') as escalated,
    count(*) filter (where audit.disposition = 'no_claims') as no_claims,
    count(*) filter (where audit.disposition = 'incomplete') as incomplete,
    count(*) filter (where audit.disposition = 'not_applicable') as not_applicable,
    count(*) filter (where audit.disposition = 'unreadable') as unreadable,
    count(*) filter (where audit.disposition = 'inconsistent') as inconsistent,
    count(*) filter (where audit.disposition = 'refused') as refused,
    count(*) filter (where audit.disposition = 'judge_unavailable') as judge_unavailable,
    count(*) filter (where audit.disposition = 'over_budget') as over_budget,
    count(*) filter (where audit.score is not null and not audit.score_by_rule) as scored,
    count(*) filter (where audit.score is not null and audit.score_by_rule) as scored_by_rule,
    count(*) filter (where audit.score is null) as not_scored,
    avg(audit.score) filter (where not audit.score_by_rule) as mean_score
from groundcrew.audits as audit
join groundcrew.traces as trace on trace.id = audit.trace_row
group by 1, 2, 3, 4, 5, 6, 7;

comment on view analytics.coverage_daily is
    'Per day: how audits ended, the mean score, and how many audits that mean covers. '
    'audits = scored + scored_by_rule + not_scored = open + the eleven dispositions.';
comment on column analytics.coverage_daily.day is 'UTC day on which the audit ended, or was opened while it is open.';
comment on column analytics.coverage_daily.project is 'The producer''s project.';
comment on column analytics.coverage_daily.kind is 'The audit kind; the unit of the score depends on it.';
comment on column analytics.coverage_daily.judge is 'The judge profile.';
comment on column analytics.coverage_daily.prompt_version is 'Version of the prompt.';
comment on column analytics.coverage_daily.origin is 'Why the traces were sent: only the means of sample speak for all answers.';
comment on column analytics.coverage_daily.practice is 'The judge was the practice judge: no statement about a model.';
comment on column analytics.coverage_daily.audits is 'All audits, of every generation.';
comment on column analytics.coverage_daily.open is 'Begun and not ended.';
comment on column analytics.coverage_daily.passed is 'No finding.';
comment on column analytics.coverage_daily.flagged is 'Findings, none that a person must see.';
comment on column analytics.coverage_daily.escalated is 'A person must see it.';
comment on column analytics.coverage_daily.no_claims is 'The answer makes no checkable claim.';
comment on column analytics.coverage_daily.incomplete is 'The trace was not complete enough to be judged.';
comment on column analytics.coverage_daily.not_applicable is 'The kind makes no sense for the trace.';
comment on column analytics.coverage_daily.unreadable is 'The judge''s replies could not be read.';
comment on column analytics.coverage_daily.inconsistent is 'The judge''s replies contradicted the trace or themselves.';
comment on column analytics.coverage_daily.refused is 'The judge declined.';
comment on column analytics.coverage_daily.judge_unavailable is 'The judge could not be reached in time.';
comment on column analytics.coverage_daily.over_budget is 'A spending cap was reached.';
comment on column analytics.coverage_daily.scored is 'How many audits mean_score covers.';
comment on column analytics.coverage_daily.scored_by_rule is 'Audits whose score a rule fixed; not in mean_score.';
comment on column analytics.coverage_daily.not_scored is 'Audits without a score; not in mean_score.';
comment on column analytics.coverage_daily.mean_score is 'Mean of the scores that a judge''s verdicts gave; null when there are none.';
