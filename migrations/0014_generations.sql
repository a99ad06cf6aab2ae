-- What a trace was judged again for: the new result beside the one before it.

create view analytics.generations as
select
    audit.project,
    audit.trace_id,
    encode(audit.content_hash, 'hex') as content_hash,
    audit.kind,
    audit.repeat,
    earlier.id as earlier_audit_id,
    audit.id as audit_id,
    earlier.generation as earlier_generation,
    audit.generation,
    earlier.prompt_version as earlier_prompt_version,
    audit.prompt_version,
    earlier.judge as earlier_judge,
    audit.judge,
    earlier.model_answered as earlier_model_answered,
    audit.model_answered,
    earlier.disposition as earlier_disposition,
    audit.disposition,
    earlier.decision as earlier_decision,
    audit.decision,
    earlier.severity as earlier_severity,
    audit.severity,
    earlier.score as earlier_score,
    audit.score,
    audit.score - earlier.score as score_change,
    earlier.claims_total as earlier_claims_total,
    audit.claims_total,
    earlier.claims_grounded as earlier_claims_grounded,
    audit.claims_grounded,
    (earlier.disposition, earlier.decision) is not distinct from (audit.disposition, audit.decision) as is_same,
    earlier.practice or audit.practice as practice,
    earlier.ended_at as earlier_ended_at,
    audit.ended_at
from groundcrew.audits as audit
cross join lateral (
    select * from groundcrew.audits as before
    where before.project = audit.project and before.trace_id = audit.trace_id
        and before.content_hash = audit.content_hash and before.kind = audit.kind
        and before.repeat = audit.repeat and before.generation < audit.generation
        and before.disposition is not null
    order by before.generation desc limit 1
) as earlier
where audit.disposition is not null and audit.generation > 0;

comment on view analytics.generations is
    'Audits that were made again, each beside the generation before it. One row for each later generation that has ended.';
comment on column analytics.generations.project is 'The producer''s project.';
comment on column analytics.generations.trace_id is 'The producer''s id of the trace.';
comment on column analytics.generations.content_hash is 'SHA-256, in hex, of what the verdicts depend on.';
comment on column analytics.generations.kind is 'The audit kind.';
comment on column analytics.generations.repeat is 'Which of several repeated runs, from 0.';
comment on column analytics.generations.earlier_audit_id is 'Id of the earlier audit.';
comment on column analytics.generations.audit_id is 'Id of the audit.';
comment on column analytics.generations.earlier_generation is 'Generation of the earlier audit.';
comment on column analytics.generations.generation is 'Generation of the audit.';
comment on column analytics.generations.earlier_prompt_version is 'Version of the earlier prompt.';
comment on column analytics.generations.prompt_version is 'Version of the prompt.';
comment on column analytics.generations.earlier_judge is 'The earlier judge profile.';
comment on column analytics.generations.judge is 'The judge profile.';
comment on column analytics.generations.earlier_model_answered is 'The model of the earlier accepted reply, as it named itself.';
comment on column analytics.generations.model_answered is 'The model of the last accepted reply, as it named itself.';
comment on column analytics.generations.earlier_disposition is 'How the earlier audit ended.';
comment on column analytics.generations.disposition is 'How it ended.';
comment on column analytics.generations.earlier_decision is 'What the producer should have done; null where nothing was judged.';
comment on column analytics.generations.decision is 'What the producer should do; null where nothing was judged.';
comment on column analytics.generations.earlier_severity is 'The gravest finding of the earlier audit.';
comment on column analytics.generations.severity is 'The gravest finding.';
comment on column analytics.generations.earlier_score is 'Score of the earlier audit.';
comment on column analytics.generations.score is 'Score; its unit is the kind''s.';
comment on column analytics.generations.score_change is 'Score less the earlier one; null where one of them is missing.';
comment on column analytics.generations.earlier_claims_total is 'Claims of the earlier audit.';
comment on column analytics.generations.claims_total is 'Claims of the audit.';
comment on column analytics.generations.earlier_claims_grounded is 'Grounded claims of the earlier audit.';
comment on column analytics.generations.claims_grounded is 'Grounded claims of the audit.';
comment on column analytics.generations.is_same is 'Disposition and decision are those of the earlier audit.';
comment on column analytics.generations.practice is 'One of the two judges was the practice judge, a word matcher.';
comment on column analytics.generations.earlier_ended_at is 'When the earlier audit ended.';
comment on column analytics.generations.ended_at is 'When the audit ended.';
