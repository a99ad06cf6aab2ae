-- What one of two reviewers said alone is no ground truth: who left a claim as it was agrees with the judge, and a claim
-- that the judge missed must be named by everybody.

create or replace view analytics.ground_truth_claims as
with decided as (
    select ruling.*,
        coalesce(ruling.claim_index::text, 'added ' || lower(btrim(ruling.text))) as which,
        (
            select count(*) from groundcrew.review_opinions as opinion
            where opinion.review_item = ruling.review_item
        ) as asked
    from analytics.rulings as ruling
    where ruling.ruling in ('confirm', 'override', 'add') and ruling.omission_index is null
),
agreed as (
    select
        audit_id,
        which,
        count(distinct to_verdict) = 1
            and (count(distinct reviewer) >= max(asked) or min(claim_index) is not null and min(to_verdict) = min(from_verdict))
            as verdicts_agree,
        count(distinct coalesce(to_severity, '')) = 1 as severities_agree
    from decided
    group by audit_id, which
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
    case when bool_and(agreed.verdicts_agree) then min(decided.to_verdict) end as verdict,
    case when bool_and(agreed.verdicts_agree and agreed.severities_agree) then min(decided.to_severity) end as severity,
    not bool_and(agreed.verdicts_agree) as disputed,
    count(*) as opinions,
    array_agg(decided.reviewer order by decided.opinion) as reviewers,
    min(coalesce(decided.answer_start, claim.answer_start)) as answer_start,
    min(coalesce(decided.answer_end, claim.answer_end)) as answer_end,
    min(decided.closed_at) as closed_at
from decided
join agreed on agreed.audit_id = decided.audit_id and agreed.which = decided.which
join groundcrew.audits as audit on audit.id = decided.audit_id
left join groundcrew.claims as claim on claim.audit_id = decided.audit_id and claim.index = decided.claim_index
group by decided.audit_id, decided.which;

comment on column analytics.ground_truth_claims.verdict is
    'What people decided; null when they differ, or when only some of them said what the judge did not.';
comment on column analytics.ground_truth_claims.disputed is
    'Opinions differ, or only some said what the judge did not.';
