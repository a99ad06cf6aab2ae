-- What people decided, for analysts: rulings that count, ground truth by claim and by trace, and how good the judge was.

-- The interval of a share, E. B. Wilson (1927); the 97.5 % point of the normal distribution makes 95 %.
create function analytics.wilson_low(part bigint, whole bigint) returns double precision
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    select case
        when whole <= 0 then null
        when part = 0 then 0
        else greatest(0, (
            part::float8 / whole + 1.9207294 / whole
            - 1.959963984540054 * sqrt(part::float8 * (whole - part) / whole / whole / whole + 0.9603647 / whole / whole)
        ) / (1 + 3.8414588 / whole))
    end
$$;
comment on function analytics.wilson_low(bigint, bigint) is
    'The lower bound of Wilson''s 95 % interval of a share; null of nothing.';

create function analytics.wilson_high(part bigint, whole bigint) returns double precision
language sql immutable parallel safe
set search_path = pg_catalog
as $$ select 1 - analytics.wilson_low(whole - part, whole) $$;
comment on function analytics.wilson_high(bigint, bigint) is
    'The upper bound of Wilson''s 95 % interval of a share; null of nothing.';

-- Two raters of which one, the judge, is known for every answer, and the other only for samples of the two sides.
create function analytics.stratified_kappa(flagged_share double precision, found double precision, missed double precision)
returns double precision
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    select (agreement - chance) / nullif(1 - chance, 0)
    from (
        select flagged_share * found + (1 - flagged_share) * (1 - missed) as agreement,
            flagged_share * unfaithful + (1 - flagged_share) * (1 - unfaithful) as chance
        from (select flagged_share * found + (1 - flagged_share) * missed as unfaithful) as rates
    ) as table_of_both
$$;
comment on function analytics.stratified_kappa(double precision, double precision, double precision) is
    'Cohen''s kappa from the share of answers that the judge flagged, the share of unfaithful ones among them, and the '
    'share of unfaithful ones among those that it passed.';

create function analytics.stratified_kappa_error(
    flagged_share double precision, found_part bigint, found_whole bigint, missed_part bigint, missed_whole bigint
) returns double precision
language sql immutable parallel safe
set search_path = pg_catalog
as $$
    -- The delta method over the two independent samples. With two more cases on each side in the variance, a sample in
    -- which all agree does not make it vanish.
    select sqrt(
        power((analytics.stratified_kappa(flagged_share, found + step, missed)
            - analytics.stratified_kappa(flagged_share, found - step, missed)) / (2 * step), 2)
            * (found_part + 1.0) / (found_whole + 2) * (1 - (found_part + 1.0) / (found_whole + 2)) / found_whole
        + power((analytics.stratified_kappa(flagged_share, found, missed + step)
            - analytics.stratified_kappa(flagged_share, found, missed - step)) / (2 * step), 2)
            * (missed_part + 1.0) / (missed_whole + 2) * (1 - (missed_part + 1.0) / (missed_whole + 2)) / missed_whole
    )
    from (
        select 1e-4::float8 as step, found_part::float8 / nullif(found_whole, 0) as found,
            missed_part::float8 / nullif(missed_whole, 0) as missed
    ) as rates
$$;
comment on function analytics.stratified_kappa_error(double precision, bigint, bigint, bigint, bigint) is
    'The standard error of analytics.stratified_kappa for samples of these sizes; null where one is empty.';

create view analytics.review_items as
select
    item.id as review_item,
    item.audit_id,
    item.project,
    item.trace_id,
    item.kind,
    audit.prompt_version,
    audit.judge,
    audit.practice,
    item.list,
    item.reason_codes,
    item.severity,
    item.urgent,
    case when item.status = 'claimed' and item.leased_until <= now() then 'open' else item.status end as status,
    audit.disposition,
    audit.decision,
    item.created_at,
    item.closed_at,
    item.closed_by,
    item.outcome,
    item.faithful,
    item.final_decision,
    (
        select count(*) from groundcrew.review_opinions as opinion where opinion.review_item = item.id
    ) as opinions,
    extract(epoch from item.closed_at - item.created_at)::float8 / 60 as minutes_to_close
from groundcrew.review_items as item
join groundcrew.audits as audit on audit.id = item.audit_id;

comment on view analytics.review_items is
    'Audits that people have to see, or have seen. One row each.';
comment on column analytics.review_items.review_item is 'Id of the item.';
comment on column analytics.review_items.audit_id is 'The audit.';
comment on column analytics.review_items.project is 'The producer''s project.';
comment on column analytics.review_items.trace_id is 'The producer''s id of the trace.';
comment on column analytics.review_items.kind is 'The audit kind.';
comment on column analytics.review_items.prompt_version is 'Version of the prompt.';
comment on column analytics.review_items.judge is 'The judge profile.';
comment on column analytics.review_items.practice is 'The judge was the practice judge, a word matcher: no statement about a model.';
comment on column analytics.review_items.list is 'Why it is there: findings, failed (the judge''s replies could not be used) or sample (blind).';
comment on column analytics.review_items.reason_codes is 'The codes of the reasons.';
comment on column analytics.review_items.severity is 'The gravest finding.';
comment on column analytics.review_items.urgent is 'Somebody was paged.';
comment on column analytics.review_items.status is 'open, claimed by a reviewer, or closed.';
comment on column analytics.review_items.disposition is 'How the audit ended.';
comment on column analytics.review_items.decision is 'What the producer should do until the review ends.';
comment on column analytics.review_items.created_at is 'When the audit ended.';
comment on column analytics.review_items.closed_at is 'When the review ended; null while it goes on.';
comment on column analytics.review_items.closed_by is 'Who closed it.';
comment on column analytics.review_items.outcome is 'ruled, retried or dismissed.';
comment on column analytics.review_items.faithful is 'Whether the whole answer is faithful; null when nobody could say, or opinions differ.';
comment on column analytics.review_items.final_decision is 'What the producer should do after the review.';
comment on column analytics.review_items.opinions is 'How many people have given an opinion.';
comment on column analytics.review_items.minutes_to_close is 'Minutes from the end of the audit to the end of the review.';

create view analytics.rulings as
select
    ruling.id as ruling_id,
    ruling.review_item,
    item.audit_id,
    item.project,
    item.trace_id,
    item.kind,
    audit.prompt_version,
    audit.judge,
    audit.practice,
    item.list,
    ruling.reviewer,
    opinion.number as opinion,
    ruling.ruling,
    ruling.claim_index,
    ruling.omission_index,
    coalesce(ruling.claim_text, claim.text, omission.missing_fact) as text,
    ruling.from_verdict,
    ruling.from_severity,
    ruling.to_verdict,
    ruling.to_severity,
    ruling.answer_start,
    ruling.answer_end,
    ruling.faithful,
    ruling.blind,
    ruling.note,
    ruling.report_version,
    ruling.created_at as ruled_at,
    item.closed_at
from groundcrew.rulings as ruling
join groundcrew.review_items as item on item.id = ruling.review_item
join groundcrew.review_opinions as opinion
    on opinion.review_item = ruling.review_item and opinion.reviewer = ruling.reviewer
join groundcrew.audits as audit on audit.id = item.audit_id
left join groundcrew.claims as claim on claim.audit_id = item.audit_id and claim.index = ruling.claim_index
left join groundcrew.omissions as omission
    on omission.audit_id = item.audit_id and omission.index = ruling.omission_index
where item.outcome = 'ruled' and ruling.ruling <> 'withdraw'
    and not exists (select from groundcrew.rulings as undo where undo.withdraws = ruling.id)
    and not exists (
        select from groundcrew.rulings as later
        where later.review_item = ruling.review_item and later.reviewer = ruling.reviewer
            and later.seq > ruling.seq
            and not exists (select from groundcrew.rulings as undo where undo.withdraws = later.id)
            and (
                ruling.ruling in ('confirm', 'override') and later.ruling in ('confirm', 'override')
                    and later.claim_index is not distinct from ruling.claim_index
                    and later.omission_index is not distinct from ruling.omission_index
                or ruling.ruling = 'overall' and later.ruling = 'overall' and not ruling.blind
            )
    );

comment on view analytics.rulings is
    'Rulings that count: of people whose opinion ended a review, the last of each on each flag, and none that was withdrawn.';
comment on column analytics.rulings.ruling_id is 'Id of the ruling.';
comment on column analytics.rulings.review_item is 'The review item.';
comment on column analytics.rulings.audit_id is 'The audit.';
comment on column analytics.rulings.project is 'The producer''s project.';
comment on column analytics.rulings.trace_id is 'The producer''s id of the trace.';
comment on column analytics.rulings.kind is 'The audit kind.';
comment on column analytics.rulings.prompt_version is 'Version of the prompt.';
comment on column analytics.rulings.judge is 'The judge profile.';
comment on column analytics.rulings.practice is 'The judge was the practice judge, a word matcher: no statement about a model.';
comment on column analytics.rulings.list is 'Why the item was there: findings, failed or sample.';
comment on column analytics.rulings.reviewer is 'Who ruled.';
comment on column analytics.rulings.opinion is 'Whether it is of the first opinion, the second, and so on.';
comment on column analytics.rulings.ruling is 'confirm, override, annotate, add (a claim that the judge missed) or overall.';
comment on column analytics.rulings.claim_index is 'The claim it is about.';
comment on column analytics.rulings.omission_index is 'The omission it is about.';
comment on column analytics.rulings.text is 'The claim or the omitted fact.';
comment on column analytics.rulings.from_verdict is 'The verdict of the report.';
comment on column analytics.rulings.from_severity is 'The severity of the report.';
comment on column analytics.rulings.to_verdict is 'The reviewer''s verdict.';
comment on column analytics.rulings.to_severity is 'The reviewer''s severity.';
comment on column analytics.rulings.answer_start is 'Where an added claim stands in the answer: first Unicode scalar value, from 0.';
comment on column analytics.rulings.answer_end is 'One past its last Unicode scalar value.';
comment on column analytics.rulings.faithful is 'Of an overall ruling: whether the answer is faithful.';
comment on column analytics.rulings.blind is 'Said before the judge''s verdict was shown.';
comment on column analytics.rulings.note is 'The reviewer''s words.';
comment on column analytics.rulings.report_version is 'Names the report that was seen.';
comment on column analytics.rulings.ruled_at is 'When it was said.';
comment on column analytics.rulings.closed_at is 'When the review ended.';

create view analytics.ground_truth_claims as
with decided as (
    select ruling.*,
        coalesce(ruling.claim_index::text, ruling.ruling_id::text) as which
    from analytics.rulings as ruling
    where ruling.ruling in ('confirm', 'override', 'add') and ruling.omission_index is null
)
select
    decided.audit_id,
    min(decided.claim_index) as claim_index,
    min(decided.review_item::text)::uuid as review_item,
    min(decided.project) as project,
    min(decided.trace_id) as trace_id,
    min(encode(audit.content_hash, 'hex')) as content_hash,
    min(decided.kind) as kind,
    min(decided.prompt_version) as prompt_version,
    min(decided.judge) as judge,
    bool_or(decided.practice) as practice,
    min(decided.text) as text,
    min(decided.from_verdict) as judged_verdict,
    min(decided.from_severity) as judged_severity,
    case when count(distinct decided.to_verdict) = 1 then min(decided.to_verdict) end as verdict,
    case
        when count(distinct decided.to_verdict) = 1 and count(distinct coalesce(decided.to_severity, '')) = 1
            then min(decided.to_severity)
    end as severity,
    count(distinct decided.to_verdict) > 1 as disputed,
    count(*) as opinions,
    array_agg(decided.reviewer order by decided.opinion) as reviewers,
    min(coalesce(decided.answer_start, claim.answer_start)) as answer_start,
    min(coalesce(decided.answer_end, claim.answer_end)) as answer_end,
    min(decided.closed_at) as closed_at
from decided
join groundcrew.audits as audit on audit.id = decided.audit_id
left join groundcrew.claims as claim on claim.audit_id = decided.audit_id and claim.index = decided.claim_index
group by decided.audit_id, decided.which;

comment on view analytics.ground_truth_claims is
    'What people decided about single claims, one row for each claim of a closed review that somebody ruled on, and for each that was added.';
comment on column analytics.ground_truth_claims.audit_id is 'The audit.';
comment on column analytics.ground_truth_claims.claim_index is 'Place in the report, from 0; null for a claim that the judge missed.';
comment on column analytics.ground_truth_claims.review_item is 'The review item.';
comment on column analytics.ground_truth_claims.project is 'The producer''s project.';
comment on column analytics.ground_truth_claims.trace_id is 'The producer''s id of the trace.';
comment on column analytics.ground_truth_claims.content_hash is 'SHA-256 of what a verdict depends on, in hex.';
comment on column analytics.ground_truth_claims.kind is 'The audit kind.';
comment on column analytics.ground_truth_claims.prompt_version is 'Version of the prompt.';
comment on column analytics.ground_truth_claims.judge is 'The judge profile.';
comment on column analytics.ground_truth_claims.practice is 'The judge was the practice judge, a word matcher: no statement about a model.';
comment on column analytics.ground_truth_claims.text is 'The claim.';
comment on column analytics.ground_truth_claims.judged_verdict is 'The verdict of the report; null for a claim that the judge missed.';
comment on column analytics.ground_truth_claims.judged_severity is 'The severity of the report.';
comment on column analytics.ground_truth_claims.verdict is 'What people decided; null when they differ.';
comment on column analytics.ground_truth_claims.severity is 'How grave it is, as people say; null when they differ, or for what is grounded.';
comment on column analytics.ground_truth_claims.disputed is 'Opinions differ.';
comment on column analytics.ground_truth_claims.opinions is 'How many people ruled on it.';
comment on column analytics.ground_truth_claims.reviewers is 'Who they are.';
comment on column analytics.ground_truth_claims.answer_start is 'Where it stands in the answer: first Unicode scalar value, from 0.';
comment on column analytics.ground_truth_claims.answer_end is 'One past its last Unicode scalar value.';
comment on column analytics.ground_truth_claims.closed_at is 'When the review ended.';

create view analytics.ground_truth as
select distinct on (project, trace_id, content_hash)
    project, trace_id, content_hash, faithful, source, judged_by, judged_at, review_item, audit_id
from (
    select
        item.project,
        item.trace_id,
        encode(audit.content_hash, 'hex') as content_hash,
        item.faithful,
        'review' as source,
        array(
            select opinion.reviewer from groundcrew.review_opinions as opinion
            where opinion.review_item = item.id order by opinion.number
        ) as judged_by,
        item.closed_at as judged_at,
        item.id as review_item,
        item.audit_id,
        1 as precedence
    from groundcrew.review_items as item
    join groundcrew.audits as audit on audit.id = item.audit_id
    where item.outcome = 'ruled' and item.faithful is not null
    union all
    select
        trace.project,
        trace.trace_id,
        encode(trace.content_hash, 'hex'),
        trace.human_faithful,
        'label',
        case when trace.human_labeler is null then '{}'::text[] else array[trace.human_labeler] end,
        trace.received_at,
        null,
        null,
        2
    from groundcrew.trace_rows as trace
    where trace.human_faithful is not null
) as judged
order by project, trace_id, content_hash, precedence, judged_at desc;

comment on view analytics.ground_truth is
    'What people say about whole answers, one row for each content that somebody has judged: the last closed review, or else the label that came with the trace.';
comment on column analytics.ground_truth.project is 'The producer''s project.';
comment on column analytics.ground_truth.trace_id is 'The producer''s id of the trace.';
comment on column analytics.ground_truth.content_hash is 'SHA-256 of what a verdict depends on, in hex.';
comment on column analytics.ground_truth.faithful is 'Whether every claim of the answer is carried by the evidence.';
comment on column analytics.ground_truth.source is 'review, or label: what came with the trace.';
comment on column analytics.ground_truth.judged_by is 'Who says so.';
comment on column analytics.ground_truth.judged_at is 'When the review ended, or the trace with the label was received.';
comment on column analytics.ground_truth.review_item is 'The review item; null for a label.';
comment on column analytics.ground_truth.audit_id is 'The audit that was reviewed; null for a label.';

create view analytics.flag_precision as
with flags as (
    select
        ruling.project, ruling.kind, ruling.judge, ruling.prompt_version, ruling.practice,
        date_trunc('week', audit.ended_at at time zone 'UTC')::date as week,
        case when ruling.omission_index is not null then 'omission' else ruling.from_verdict end as flag,
        ruling.from_severity as severity,
        case
            when ruling.omission_index is not null then ruling.ruling = 'confirm'
            else ruling.to_verdict <> 'grounded'
        end as stands,
        ruling.ruling = 'confirm' as confirmed,
        ruling.to_severity is distinct from ruling.from_severity as other_severity
    from analytics.rulings as ruling
    join groundcrew.audits as audit on audit.id = ruling.audit_id
    where ruling.ruling in ('confirm', 'override')
        and (ruling.omission_index is not null or ruling.from_verdict <> 'grounded')
)
select
    project, kind, judge, prompt_version, practice, week, flag, severity,
    count(*) as flags,
    count(*) filter (where stands) as upheld,
    count(*) filter (where confirmed) as confirmed,
    count(*) filter (where stands and other_severity) as other_severity,
    count(*) filter (where stands)::float8 / count(*) as precision,
    analytics.wilson_low(count(*) filter (where stands), count(*)) as precision_low,
    analytics.wilson_high(count(*) filter (where stands), count(*)) as precision_high
from flags
group by project, kind, judge, prompt_version, practice, week, flag, severity;

comment on view analytics.flag_precision is
    'How often people agree with what the judge flagged, by flag. Precision is the share of the flags that people let stand as findings.';
comment on column analytics.flag_precision.project is 'The producer''s project.';
comment on column analytics.flag_precision.kind is 'The audit kind.';
comment on column analytics.flag_precision.judge is 'The judge profile.';
comment on column analytics.flag_precision.prompt_version is 'Version of the prompt.';
comment on column analytics.flag_precision.practice is 'The judge was the practice judge, a word matcher: no statement about a model.';
comment on column analytics.flag_precision.week is 'Monday of the week, UTC, in which the audits ended.';
comment on column analytics.flag_precision.flag is 'contradicted, unsupported, insufficient_evidence, or omission.';
comment on column analytics.flag_precision.severity is 'The severity that the judge gave.';
comment on column analytics.flag_precision.flags is 'Rulings on such flags; with two opinions each counts.';
comment on column analytics.flag_precision.upheld is 'Those that people let stand as findings, under whatever verdict.';
comment on column analytics.flag_precision.confirmed is 'Those that people confirmed as they were.';
comment on column analytics.flag_precision.other_severity is 'Those that stand under another severity.';
comment on column analytics.flag_precision.precision is 'upheld over flags.';
comment on column analytics.flag_precision.precision_low is 'Lower bound of its 95 % interval (Wilson).';
comment on column analytics.flag_precision.precision_high is 'Upper bound of its 95 % interval (Wilson).';

create view analytics.judge_quality as
with audited as (
    select
        audit.id, audit.project, audit.kind, audit.judge, audit.prompt_version, audit.practice,
        date_trunc('week', audit.ended_at at time zone 'UTC')::date as week,
        audit.disposition
    from groundcrew.audits as audit
    where audit.disposition in ('passed', 'flagged', 'escalated') and audit.repeat = 0 and not audit.score_by_rule
), ruled as (
    select
        item.audit_id,
        -- In the sample, what was said before the verdict was shown.
        coalesce(
            (
                select first.faithful from groundcrew.rulings as first
                where first.review_item = item.id and first.ruling = 'overall' and first.blind
                order by first.seq limit 1
            ),
            item.faithful
        ) as faithful
    from groundcrew.review_items as item
    where item.outcome = 'ruled'
), counted as (
    select
        project, kind, judge, prompt_version, practice, week,
        count(*) filter (where disposition = 'escalated') as flagged,
        count(*) filter (where disposition = 'passed') as passed,
        count(*) filter (where disposition = 'flagged') as not_covered,
        count(*) filter (where disposition = 'escalated' and faithful is not null) as flagged_ruled,
        count(*) filter (where disposition = 'escalated' and not faithful) as flagged_unfaithful,
        count(*) filter (where disposition = 'passed' and faithful is not null) as passed_ruled,
        count(*) filter (where disposition = 'passed' and not faithful) as passed_unfaithful
    from audited
    left join ruled on ruled.audit_id = audited.id
    group by project, kind, judge, prompt_version, practice, week
), rates as (
    select *,
        flagged::float8 / nullif(flagged + passed, 0) as flagged_share,
        flagged_unfaithful::float8 / nullif(flagged_ruled, 0) as found_rate,
        passed_unfaithful::float8 / nullif(passed_ruled, 0) as missed_rate
    from counted
), estimated as (
    select *,
        flagged * found_rate / nullif(flagged * found_rate + passed * missed_rate, 0) as recall,
        analytics.stratified_kappa(flagged_share, found_rate, missed_rate) as kappa,
        analytics.stratified_kappa_error(
            flagged_share, flagged_unfaithful, flagged_ruled, passed_unfaithful, passed_ruled
        ) as kappa_error
    from rates
)
select
    project, kind, judge, prompt_version, practice, week, flagged, passed, not_covered, flagged_ruled,
    flagged_unfaithful, passed_ruled, passed_unfaithful,
    found_rate as precision,
    analytics.wilson_low(flagged_unfaithful, flagged_ruled) as precision_low,
    analytics.wilson_high(flagged_unfaithful, flagged_ruled) as precision_high,
    missed_rate,
    analytics.wilson_low(passed_unfaithful, passed_ruled) as missed_rate_low,
    analytics.wilson_high(passed_unfaithful, passed_ruled) as missed_rate_high,
    recall as estimated_recall,
    flagged * found_rate / nullif(
        flagged * found_rate + passed * analytics.wilson_high(passed_unfaithful, passed_ruled), 0
    ) as estimated_recall_low,
    flagged * found_rate / nullif(
        flagged * found_rate + passed * analytics.wilson_low(passed_unfaithful, passed_ruled), 0
    ) as estimated_recall_high,
    kappa,
    greatest(-1, kappa - 1.959963984540054 * kappa_error) as kappa_low,
    least(1, kappa + 1.959963984540054 * kappa_error) as kappa_high,
    flagged_ruled + passed_ruled as kappa_n
from estimated;

comment on view analytics.judge_quality is
    'How far the judge agrees with people about whole answers, weighted by how many answers each review stands for. flagged means escalated to people; audits with minor findings alone are reviewed by nobody and are not covered.';
comment on column analytics.judge_quality.project is 'The producer''s project.';
comment on column analytics.judge_quality.kind is 'The audit kind.';
comment on column analytics.judge_quality.judge is 'The judge profile.';
comment on column analytics.judge_quality.prompt_version is 'Version of the prompt.';
comment on column analytics.judge_quality.practice is 'The judge was the practice judge, a word matcher: no statement about a model.';
comment on column analytics.judge_quality.week is 'Monday of the week, UTC, in which the audits ended.';
comment on column analytics.judge_quality.flagged is 'Audits that were escalated.';
comment on column analytics.judge_quality.passed is 'Audits that passed.';
comment on column analytics.judge_quality.not_covered is 'Audits with findings that nobody has to see.';
comment on column analytics.judge_quality.flagged_ruled is 'Escalated audits that people ruled on and could decide.';
comment on column analytics.judge_quality.flagged_unfaithful is 'Those of them whose answer is not faithful.';
comment on column analytics.judge_quality.passed_ruled is 'Passed audits of the blind sample that people ruled on and could decide.';
comment on column analytics.judge_quality.passed_unfaithful is 'Those of them whose answer is not faithful: what the judge missed.';
comment on column analytics.judge_quality.precision is 'Share of unfaithful answers among the escalated ones that were ruled on.';
comment on column analytics.judge_quality.precision_low is 'Lower bound of its 95 % interval (Wilson).';
comment on column analytics.judge_quality.precision_high is 'Upper bound of its 95 % interval (Wilson).';
comment on column analytics.judge_quality.missed_rate is 'Share of unfaithful answers in the blind sample.';
comment on column analytics.judge_quality.missed_rate_low is 'Lower bound of its 95 % interval (Wilson).';
comment on column analytics.judge_quality.missed_rate_high is 'Upper bound of its 95 % interval (Wilson).';
comment on column analytics.judge_quality.estimated_recall is 'Share of the unfaithful answers that were escalated, if all are like those that were ruled on; null without a ruled sample of both sides.';
comment on column analytics.judge_quality.estimated_recall_low is 'The same with the upper bound of missed_rate.';
comment on column analytics.judge_quality.estimated_recall_high is 'The same with the lower bound of missed_rate.';
comment on column analytics.judge_quality.kappa is 'Cohen''s kappa of judge and people, each side weighted by its size; null when a side has no rulings.';
comment on column analytics.judge_quality.kappa_low is 'Lower bound of its 95 % interval (delta method over the two samples).';
comment on column analytics.judge_quality.kappa_high is 'Upper bound of its 95 % interval.';
comment on column analytics.judge_quality.kappa_n is 'Rulings that it rests on.';

select groundcrew.grant_roles()
from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_roles', 0));
select groundcrew.grant_analyst()
from pg_advisory_xact_lock(hashtextextended('groundcrew.grant_analyst', 0));
