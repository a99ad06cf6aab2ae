-- What the further audit kinds say about a claim, and how often repeated audits disagree.

alter table groundcrew.claims
    add column claim_id text,
    add column fabrication text,
    add constraint claims_fabrication_known check (fabrication in ('plausible', 'likely')),
    -- Only what the evidence does not bear out can be made up.
    add constraint claims_fabrication_of_unsupported check (fabrication is null or verdict = 'unsupported');

comment on column groundcrew.claims.claim_id is
    'The id in the list that was sent to the judge; null where the judge listed the claims itself.';
comment on column groundcrew.claims.fabrication is
    'Whether an unsupported claim may be true (plausible) or is likely made up (likely); null for kinds that do not ask.';

-- The numbers of an audit's units mean something only together with how its answer was cut, and the settings for
-- that may change while it is open.
alter table groundcrew.audits
    add column cut text;
comment on column groundcrew.audits.cut is
    'How the answer is cut into units: characters of a section, claims of a batch, who lists the claims; '
    'null for audits from before this was kept.';

-- New columns come last, so that what analysts wrote against the view goes on.
create or replace view analytics.claims as
select
    claim.audit_id,
    claim.index,
    audit.project,
    audit.trace_id,
    audit.kind,
    audit.generation,
    audit.repeat,
    audit.judge,
    audit.prompt_version,
    audit.practice,
    audit.ended_at,
    trace.origin,
    claim.text,
    claim.verdict,
    claim.judge_verdict,
    claim.severity,
    claim.confidence,
    claim.explanation,
    claim.by_rule,
    claim.source_id,
    claim.evidence,
    claim.answer_start,
    claim.answer_end,
    claim.claim_id,
    claim.fabrication
from groundcrew.claims as claim
join groundcrew.audits as audit on audit.id = claim.audit_id
join groundcrew.traces as trace on trace.id = audit.trace_row;

comment on column analytics.claims.claim_id is
    'The id in the list that was sent to the judge; null where the judge listed the claims itself.';
comment on column analytics.claims.fabrication is
    'plausible or likely (made up), for unsupported claims of kinds that ask.';

comment on column analytics.audits.score is
    'Percent for hallucination_eval, 0 to 1 for faithfulness and evidence_check (where lower is better), '
    '1 (grounded) or 0 for gate, null for reference and when nothing was scored.';

-- A verdict of one judge on one day is one throw of the dice; this says how often the dice agree.
create view analytics.stability as
with runs as (
    select
        audit.project,
        audit.trace_id,
        encode(audit.content_hash, 'hex') as content_hash,
        audit.kind,
        audit.generation,
        audit.prompt_version,
        audit.judge,
        audit.disposition,
        audit.score,
        audit.claims_total,
        audit.claims_total is not null as judged,
        coalesce(audit.claims_grounded = audit.claims_total, false) as clean
    from groundcrew.audits as audit
    where audit.ended_at is not null and not audit.score_by_rule
)
select
    project,
    trace_id,
    content_hash,
    kind,
    generation,
    prompt_version,
    judge,
    count(*) as runs,
    count(*) filter (where judged) as judged_runs,
    count(*) filter (where judged and clean) as clean_runs,
    -- The rarer verdict over all: 0 when all agree, 0.5 when half say otherwise.
    case
        when count(*) filter (where judged) > 0 then
            least(count(*) filter (where judged and clean), count(*) filter (where judged and not clean))::float8
            / count(*) filter (where judged)
    end as flip_rate,
    count(distinct disposition) as dispositions,
    min(score) as lowest_score,
    max(score) as highest_score,
    stddev_samp(score) as score_deviation
from runs
group by project, trace_id, content_hash, kind, generation, prompt_version, judge
having count(*) > 1;

comment on view analytics.stability is
    'How far the runs of one repeated audit agree. One row for each audit that ran more than once.';
comment on column analytics.stability.project is 'The producer''s project.';
comment on column analytics.stability.trace_id is 'The producer''s id of the trace.';
comment on column analytics.stability.content_hash is 'SHA-256 of what a verdict depends on, in hex.';
comment on column analytics.stability.kind is 'The audit kind.';
comment on column analytics.stability.generation is 'Generation of the audit.';
comment on column analytics.stability.prompt_version is 'Version of the prompt.';
comment on column analytics.stability.judge is 'The judge profile.';
comment on column analytics.stability.runs is 'Runs that have ended.';
comment on column analytics.stability.judged_runs is 'Runs in which verdicts were given.';
comment on column analytics.stability.clean_runs is 'Judged runs in which every claim was grounded.';
comment on column analytics.stability.flip_rate is
    'Share of the judged runs that give the rarer of the two verdicts, clean or not: 0 to 0.5; null when none was judged.';
comment on column analytics.stability.dispositions is 'How many different ends the runs had.';
comment on column analytics.stability.lowest_score is 'The lowest score of a run.';
comment on column analytics.stability.highest_score is 'The highest score of a run.';
comment on column analytics.stability.score_deviation is
    'Sample standard deviation of the scores; null for fewer than two scores.';
