-- The views that are a promise to analysts. They run with their owner's rights, so that an analyst
-- needs none on the tables behind them.

create schema analytics;
comment on schema analytics is 'What analysts may build on. Columns are added, never renamed or dropped.';
revoke all on schema analytics from public;

create view analytics.audits as
select
    audit.id as audit_id,
    audit.project,
    audit.trace_id,
    encode(audit.content_hash, 'hex') as content_hash,
    audit.kind,
    audit.generation,
    audit.repeat,
    not exists (
        select from groundcrew.audits as later
        where later.project = audit.project and later.trace_id = audit.trace_id
            and later.content_hash = audit.content_hash and later.kind = audit.kind
            and later.repeat = audit.repeat and later.generation > audit.generation
    ) as is_latest,
    audit.disposition,
    audit.decision,
    audit.final,
    audit.severity,
    audit.score,
    audit.score_by_rule,
    audit.prompt_version,
    audit.judge,
    audit.model_answered,
    audit.uncalibrated,
    audit.practice,
    audit.claims_total,
    audit.claims_grounded,
    audit.claims_contradicted,
    audit.claims_unsupported,
    audit.claims_insufficient,
    audit.omissions_total,
    audit.coverage,
    jsonb_array_length(audit.doubts) as doubts_total,
    audit.overall_assessment,
    audit.human_agreement,
    audit.discrepancy_notes,
    audit.reasons,
    audit.trace_problems,
    audit.provenance,
    audit.urgent,
    audit.attempts_total,
    audit.replies_total,
    audit.duplicates,
    audit.other_content,
    audit.opened_at,
    audit.ended_at,
    trace.occurred_at,
    trace.origin,
    trace.intent,
    trace.risk,
    trace.value,
    trace.domain,
    trace.query,
    trace.answer,
    trace.chunk_count,
    trace.generator_model,
    trace.generator_prompt_version,
    trace.human_faithful,
    trace.human_score,
    trace.human_labeler
from groundcrew.audits as audit
join groundcrew.traces as trace on trace.id = audit.trace_row;

comment on view analytics.audits is 'Every audit, open ones too, with the trace it is about.';
comment on column analytics.audits.audit_id is 'Id of the audit.';
comment on column analytics.audits.project is 'The producer''s project.';
comment on column analytics.audits.trace_id is 'The producer''s id of the trace.';
comment on column analytics.audits.content_hash is 'SHA-256, in hex, of what the verdict depends on.';
comment on column analytics.audits.kind is 'The audit kind.';
comment on column analytics.audits.generation is 'From 0; rises when the audit is asked for again.';
comment on column analytics.audits.repeat is 'Which of several repeated runs, from 0.';
comment on column analytics.audits.is_latest is 'No later generation of this audit exists. Filter by it to count each answer once.';
comment on column analytics.audits.disposition is 'How it ended; null while it is open.';
comment on column analytics.audits.decision is 'What the producer should do; null where nothing was judged.';
comment on column analytics.audits.final is 'Nothing will change it: it has ended and no review item holds it open.';
comment on column analytics.audits.severity is 'The gravest finding; null without findings or in kinds without severities.';
comment on column analytics.audits.score is
    'Percent for hallucination_eval, 0 to 1 for faithfulness and evidence_check; null when nothing was scored.';
comment on column analytics.audits.score_by_rule is 'A rule fixed the score and no judge: keep such scores out of means.';
comment on column analytics.audits.prompt_version is 'Version of the prompt.';
comment on column analytics.audits.judge is 'The judge profile.';
comment on column analytics.audits.model_answered is 'The model of the last accepted reply, as it named itself.';
comment on column analytics.audits.uncalibrated is 'No golden run exists for this kind, prompt version and judge.';
comment on column analytics.audits.practice is 'The judge was the practice judge, a word matcher: no statement about a model.';
comment on column analytics.audits.claims_total is 'Claims in the report; null when nothing was judged.';
comment on column analytics.audits.claims_grounded is 'Claims that the evidence states or implies.';
comment on column analytics.audits.claims_contradicted is 'Claims that the evidence contradicts.';
comment on column analytics.audits.claims_unsupported is 'Claims that the evidence does not state.';
comment on column analytics.audits.claims_insufficient is 'Claims for which the evidence is too thin to tell.';
comment on column analytics.audits.omissions_total is 'Facts that the answer should have stated and did not.';
comment on column analytics.audits.coverage is 'Share of the answer''s content words that the claims hold, 0 to 1.';
comment on column analytics.audits.doubts_total is 'How many doubts verification noted.';
comment on column analytics.audits.overall_assessment is 'The judge''s summary, or the rule''s.';
comment on column analytics.audits.human_agreement is 'Whether an earlier human label says the same; null when one of them says nothing.';
comment on column analytics.audits.discrepancy_notes is 'What differs from the human label, in words.';
comment on column analytics.audits.reasons is 'Why a person has to see it: code, message, claims.';
comment on column analytics.audits.trace_problems is 'Why the trace was incomplete or not applicable: path, message.';
comment on column analytics.audits.provenance is 'Where times, ranks and source ids came from, by field.';
comment on column analytics.audits.urgent is 'Somebody was paged.';
comment on column analytics.audits.attempts_total is 'Calls of the judge.';
comment on column analytics.audits.replies_total is 'Those of them that brought a reply in full.';
comment on column analytics.audits.duplicates is 'Later deliveries of the same audit.';
comment on column analytics.audits.other_content is 'The same trace id had come with other content.';
comment on column analytics.audits.opened_at is 'When the audit was opened.';
comment on column analytics.audits.ended_at is 'When it ended; null while it is open.';
comment on column analytics.audits.occurred_at is 'When the answer was given, as the producer says.';
comment on column analytics.audits.origin is 'sample is random; monitoring and user_report are picked, so keep them out of its means.';
comment on column analytics.audits.intent is 'What the answer was meant to be.';
comment on column analytics.audits.risk is 'How much harm a wrong answer can do.';
comment on column analytics.audits.value is 'What a wrongly blocked answer costs.';
comment on column analytics.audits.domain is 'Subject area, in the producer''s words.';
comment on column analytics.audits.query is 'The user''s question.';
comment on column analytics.audits.answer is 'The answer under audit.';
comment on column analytics.audits.chunk_count is 'How many chunks were retrieved.';
comment on column analytics.audits.generator_model is 'The model that wrote the answer.';
comment on column analytics.audits.generator_prompt_version is 'The producer''s name of its prompt''s version.';
comment on column analytics.audits.human_faithful is 'What a person said before about the whole answer.';
comment on column analytics.audits.human_score is 'The score that person gave, on the label''s own scale.';
comment on column analytics.audits.human_labeler is 'Who that person is.';

create view analytics.claims as
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
    claim.answer_end
from groundcrew.claims as claim
join groundcrew.audits as audit on audit.id = claim.audit_id
join groundcrew.traces as trace on trace.id = audit.trace_row;

comment on view analytics.claims is 'Every claim of every judged audit.';
comment on column analytics.claims.audit_id is 'The audit it belongs to.';
comment on column analytics.claims.index is 'Place in the report, from 0.';
comment on column analytics.claims.project is 'The producer''s project.';
comment on column analytics.claims.trace_id is 'The producer''s id of the trace.';
comment on column analytics.claims.kind is 'The audit kind.';
comment on column analytics.claims.generation is 'Generation of the audit.';
comment on column analytics.claims.repeat is 'Repeated run of the audit.';
comment on column analytics.claims.judge is 'The judge profile.';
comment on column analytics.claims.prompt_version is 'Version of the prompt.';
comment on column analytics.claims.practice is 'The judge was the practice judge, a word matcher.';
comment on column analytics.claims.ended_at is 'When the audit ended.';
comment on column analytics.claims.origin is 'Why the trace was sent.';
comment on column analytics.claims.text is 'The claim.';
comment on column analytics.claims.verdict is 'grounded, contradicted, unsupported or insufficient_evidence.';
comment on column analytics.claims.judge_verdict is 'The judge''s own word; null where a rule decided.';
comment on column analytics.claims.severity is 'How grave a finding is.';
comment on column analytics.claims.confidence is 'How sure the judge said it was: LOW, MEDIUM or HIGH.';
comment on column analytics.claims.explanation is 'The reasoning; for a finding, the gap in the evidence.';
comment on column analytics.claims.by_rule is 'A rule decided and no judge was asked.';
comment on column analytics.claims.source_id is 'The source of its first quote; null without a quote.';
comment on column analytics.claims.evidence is 'Quotes that were found: role, source_id, chunk, quote, span, grade.';
comment on column analytics.claims.answer_start is 'Where it stands in the answer: first Unicode scalar value, from 0.';
comment on column analytics.claims.answer_end is 'One past its last Unicode scalar value.';

create view analytics.omissions as
select
    omission.audit_id,
    omission.index,
    audit.project,
    audit.trace_id,
    audit.kind,
    audit.judge,
    audit.prompt_version,
    audit.practice,
    audit.ended_at,
    trace.origin,
    omission.missing_fact,
    omission.available_evidence,
    omission.impact,
    omission.source_id
from groundcrew.omissions as omission
join groundcrew.audits as audit on audit.id = omission.audit_id
join groundcrew.traces as trace on trace.id = audit.trace_row;

comment on view analytics.omissions is 'Facts of the evidence that an answer should have stated.';
comment on column analytics.omissions.audit_id is 'The audit it belongs to.';
comment on column analytics.omissions.index is 'Place in the report, from 0.';
comment on column analytics.omissions.project is 'The producer''s project.';
comment on column analytics.omissions.trace_id is 'The producer''s id of the trace.';
comment on column analytics.omissions.kind is 'The audit kind.';
comment on column analytics.omissions.judge is 'The judge profile.';
comment on column analytics.omissions.prompt_version is 'Version of the prompt.';
comment on column analytics.omissions.practice is 'The judge was the practice judge, a word matcher.';
comment on column analytics.omissions.ended_at is 'When the audit ended.';
comment on column analytics.omissions.origin is 'Why the trace was sent.';
comment on column analytics.omissions.missing_fact is 'The fact that the answer leaves out.';
comment on column analytics.omissions.available_evidence is 'The passage that holds it.';
comment on column analytics.omissions.impact is 'Why it matters.';
comment on column analytics.omissions.source_id is 'The chunk''s source id.';

create view analytics.attempts as
select
    attempt.audit_id,
    attempt.unit,
    attempt.number,
    audit.project,
    audit.trace_id,
    audit.kind,
    attempt.started_at,
    attempt.latency_us / 1000.0 as latency_ms,
    attempt.judge,
    attempt.model,
    attempt.model_answered,
    attempt.prompt_version,
    attempt.class,
    attempt.class in ('accepted', 'format', 'content', 'refusal') as is_reply,
    attempt.problems,
    attempt.remedy,
    attempt.finish_reason,
    attempt.http_status,
    attempt.prompt_tokens,
    attempt.completion_tokens,
    attempt.cost_micros,
    attempt.currency,
    audit.practice
from groundcrew.attempts as attempt
join groundcrew.audits as audit on audit.id = attempt.audit_id;

comment on view analytics.attempts is 'Every call of a judge, without the bodies.';
comment on column analytics.attempts.audit_id is 'The audit it belongs to.';
comment on column analytics.attempts.unit is 'Which unit of the audit, from 0.';
comment on column analytics.attempts.number is 'Which attempt at this unit, from 1.';
comment on column analytics.attempts.project is 'The producer''s project.';
comment on column analytics.attempts.trace_id is 'The producer''s id of the trace.';
comment on column analytics.attempts.kind is 'The audit kind.';
comment on column analytics.attempts.started_at is 'When the call began.';
comment on column analytics.attempts.latency_ms is 'How long it took, in milliseconds.';
comment on column analytics.attempts.judge is 'The judge profile that was asked.';
comment on column analytics.attempts.model is 'The model that was asked for.';
comment on column analytics.attempts.model_answered is 'The model that answered, as it named itself.';
comment on column analytics.attempts.prompt_version is 'Version of the prompt.';
comment on column analytics.attempts.class is 'How the call ended.';
comment on column analytics.attempts.is_reply is 'A reply was received in full; false for failures of transport and the like.';
comment on column analytics.attempts.problems is 'What was wrong with the reply: code, path, message.';
comment on column analytics.attempts.remedy is 'How the next call differs; null when none follows.';
comment on column analytics.attempts.finish_reason is 'Why the judge stopped, as it said itself.';
comment on column analytics.attempts.http_status is 'HTTP status; null when there was none.';
comment on column analytics.attempts.prompt_tokens is 'Tokens of the prompt; null when not reported.';
comment on column analytics.attempts.completion_tokens is 'Tokens of the reply; null when not reported.';
comment on column analytics.attempts.cost_micros is 'Price in millionths of the currency; null when unknown, which is not free.';
comment on column analytics.attempts.currency is 'Currency of the price.';
comment on column analytics.attempts.practice is 'The judge was the practice judge, a word matcher.';
