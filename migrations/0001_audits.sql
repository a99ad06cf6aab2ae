-- What came in, what was asked of the judge, and how it ended.

-- It is there when `groundcrew migrate` runs this: the list of migrations lives in it.
create schema if not exists groundcrew;
comment on schema groundcrew is 'The audit fleet''s own tables. Analysts read the schema analytics.';
-- Traces hold users' questions. Nobody gets in without a grant that somebody decided on.
revoke all on schema groundcrew from public;

create table groundcrew.traces (
    id uuid not null,
    project text not null,
    trace_id text not null,
    content_hash bytea not null,
    occurred_at timestamptz,
    origin text not null,
    intent text not null,
    risk text not null,
    value text not null,
    domain text,
    query text,
    answer text,
    generator_model text,
    generator_prompt_version text,
    content_owner text,
    chunk_count integer not null,
    human_faithful boolean,
    human_score double precision,
    human_labeler text,
    received_at timestamptz not null,
    payload bytea not null,
    payload_bytes bigint not null,
    constraint traces_pkey primary key (id),
    -- The id is derived from these three; this keeps it so, and finds other contents of a trace id.
    constraint traces_key unique (project, trace_id, content_hash),
    constraint traces_hash_is_sha256 check (octet_length(content_hash) = 32),
    constraint traces_origin_known check (origin in ('sample', 'monitoring', 'user_report')),
    constraint traces_intent_known check (intent in ('factual', 'creative', 'open_domain')),
    constraint traces_risk_known check (risk in ('standard', 'high')),
    constraint traces_value_known check (value in ('normal', 'high')),
    -- A NaN in one row would be the mean of all of them.
    constraint traces_human_score_finite check (human_score > '-infinity' and human_score < 'infinity'),
    constraint traces_sizes_positive check (chunk_count >= 0 and payload_bytes >= 0)
);
-- Support asks by trace id alone and does not know the project.
create index traces_by_trace_id on groundcrew.traces (trace_id);
-- The payload is compressed already; a second attempt by the server would only cost time.
alter table groundcrew.traces alter column payload set storage external;

comment on table groundcrew.traces is
    'What a producer published, once per content: the same trace id with another answer is another row.';
comment on column groundcrew.traces.id is 'Derived from project, trace id and content hash.';
comment on column groundcrew.traces.project is 'The producer''s project.';
comment on column groundcrew.traces.trace_id is 'The producer''s own id, unique within the project by its promise.';
comment on column groundcrew.traces.content_hash is
    'SHA-256 of what a verdict depends on: query, answer, chunks, reference, intent, risk.';
comment on column groundcrew.traces.occurred_at is 'When the answer was given, as the producer says.';
comment on column groundcrew.traces.origin is 'Why the trace was sent: sample, monitoring or user_report.';
comment on column groundcrew.traces.intent is 'What the answer was meant to be; only factual answers are judged.';
comment on column groundcrew.traces.risk is 'How much harm a wrong answer can do: standard or high.';
comment on column groundcrew.traces.value is 'What a wrongly blocked answer costs: normal or high.';
comment on column groundcrew.traces.domain is 'Subject area, in the producer''s words.';
comment on column groundcrew.traces.query is 'The user''s question; NUL characters are shown as U+2400.';
comment on column groundcrew.traces.answer is 'The answer under audit; NUL characters are shown as U+2400.';
comment on column groundcrew.traces.generator_model is 'The model that wrote the answer.';
comment on column groundcrew.traces.generator_prompt_version is 'The producer''s name of its prompt''s version.';
comment on column groundcrew.traces.content_owner is 'Who is told about a critical finding.';
comment on column groundcrew.traces.chunk_count is 'How many chunks were retrieved.';
comment on column groundcrew.traces.human_faithful is
    'What a person said before about the whole answer; null when nobody did, or could not say.';
comment on column groundcrew.traces.human_score is 'The score that person gave, on the label''s own scale.';
comment on column groundcrew.traces.human_labeler is 'Who that person is.';
comment on column groundcrew.traces.received_at is 'When this content was first received.';
comment on column groundcrew.traces.payload is 'The message byte for byte, zstd-compressed.';
comment on column groundcrew.traces.payload_bytes is 'Length of the message before compression, in bytes.';

create table groundcrew.audits (
    id uuid not null,
    trace_row uuid not null,
    project text not null,
    trace_id text not null,
    content_hash bytea not null,
    kind text not null,
    generation bigint not null,
    repeat bigint not null,
    disposition text,
    decision text,
    severity text,
    score double precision,
    score_by_rule boolean not null default false,
    prompt_version text not null,
    prompt_hash text not null,
    judge text not null,
    nonce text not null,
    model_answered text,
    claims_total integer,
    claims_grounded integer,
    claims_contradicted integer,
    claims_unsupported integer,
    claims_insufficient integer,
    omissions_total integer,
    coverage double precision,
    doubts jsonb not null default '[]',
    discrepancies jsonb not null default '[]',
    notes jsonb not null default '[]',
    overall_assessment text,
    human_agreement boolean,
    discrepancy_notes text,
    reasons jsonb not null default '[]',
    trace_problems jsonb not null default '[]',
    provenance jsonb not null default '{}',
    uncalibrated boolean not null default false,
    practice boolean not null default false,
    urgent boolean not null default false,
    attempts_total integer not null default 0,
    replies_total integer not null default 0,
    duplicates bigint not null default 0,
    other_content boolean not null default false,
    opened_at timestamptz not null,
    ended_at timestamptz,
    final boolean not null default false,
    constraint audits_pkey primary key (id),
    -- Whatever is delivered twice ends in one row: this is where "judged once" is true.
    constraint audits_key unique (project, trace_id, content_hash, kind, generation, repeat),
    -- Every verdict can be checked against the text it is about.
    constraint audits_trace_exists foreign key (trace_row) references groundcrew.traces (id),
    constraint audits_kind_known
        check (kind in ('hallucination_eval', 'faithfulness', 'reference', 'evidence_check', 'gate')),
    constraint audits_numbers_positive
        check (generation >= 0 and repeat >= 0 and attempts_total >= 0 and replies_total >= 0 and duplicates >= 0),
    constraint audits_disposition_known check (disposition in (
        'passed', 'flagged', 'escalated', 'no_claims', 'incomplete', 'not_applicable', 'unreadable', 'inconsistent',
        'refused', 'judge_unavailable', 'over_budget'
    )),
    constraint audits_decision_known check (decision in ('deliver', 'hold', 'block')),
    constraint audits_severity_known check (severity in ('minor', 'major', 'critical')),
    -- An open audit has no end and no result; an ended one has its end.
    constraint audits_ended_with_disposition check ((disposition is null) = (ended_at is null)),
    constraint audits_open_has_no_result
        check (disposition is not null or (decision is null and score is null and not final)),
    -- Excludes NaN too, which PostgreSQL sorts above every number.
    constraint audits_score_in_range
        check (score >= 0 and score <= case kind when 'faithfulness' then 1 when 'evidence_check' then 1 else 100 end),
    constraint audits_coverage_in_range check (coverage >= 0 and coverage <= 1),
    -- A total that its parts do not add up to would be a score that no row explains.
    constraint audits_claims_add_up check (
        claims_total
        = claims_grounded + claims_contradicted + claims_unsupported + claims_insufficient
    )
);
-- A referenced row is looked up here when a trace ages out, and by the page of one trace.
create index audits_by_trace_row on groundcrew.audits (trace_row);
-- The newest results, for whoever watches, and the daily figures.
create index audits_by_end on groundcrew.audits (ended_at, id);
-- What has begun and not ended: few rows, looked at often.
create index audits_open on groundcrew.audits (opened_at) where disposition is null;

comment on table groundcrew.audits is 'One audit kind run on one trace under one prompt version by one judge profile.';
comment on column groundcrew.audits.id is 'Derived from the key, so that racing workers write the same row.';
comment on column groundcrew.audits.trace_row is 'The stored trace.';
comment on column groundcrew.audits.project is 'The producer''s project.';
comment on column groundcrew.audits.trace_id is 'The producer''s id of the trace.';
comment on column groundcrew.audits.content_hash is 'The content that was judged.';
comment on column groundcrew.audits.kind is 'The audit kind.';
comment on column groundcrew.audits.generation is
    'From 0; rises when the audit is asked for again, and when a complete copy follows an incomplete one.';
comment on column groundcrew.audits.repeat is 'Which of several repeated runs, from 0.';
comment on column groundcrew.audits.disposition is 'How it ended; null while it is open.';
comment on column groundcrew.audits.decision is 'What the producer should do; null where nothing was judged.';
comment on column groundcrew.audits.severity is 'The gravest finding; null without findings or in kinds without severities.';
comment on column groundcrew.audits.score is
    'The number that the kind yields: percent for hallucination_eval, 0 to 1 for faithfulness and evidence_check.';
comment on column groundcrew.audits.score_by_rule is 'A rule fixed the score and no judge; such scores stay out of means.';
comment on column groundcrew.audits.prompt_version is 'Version of the prompt, fixed when the audit was opened.';
comment on column groundcrew.audits.prompt_hash is 'SHA-256 of the prompt''s text, in hex.';
comment on column groundcrew.audits.judge is 'Name of the judge profile, fixed when the audit was opened.';
comment on column groundcrew.audits.nonce is 'The random word in the delimiters of untrusted text.';
comment on column groundcrew.audits.model_answered is 'The model of the last accepted reply, as it named itself.';
comment on column groundcrew.audits.claims_total is 'Claims in the report; null when nothing was judged.';
comment on column groundcrew.audits.claims_grounded is 'Claims that the evidence states or implies.';
comment on column groundcrew.audits.claims_contradicted is 'Claims that the evidence contradicts.';
comment on column groundcrew.audits.claims_unsupported is 'Claims that the evidence does not state.';
comment on column groundcrew.audits.claims_insufficient is 'Claims for which the evidence is too thin to tell.';
comment on column groundcrew.audits.omissions_total is 'Facts that the answer should have stated and did not.';
comment on column groundcrew.audits.coverage is 'Share of the answer''s content words that the claims hold, 0 to 1.';
comment on column groundcrew.audits.doubts is 'What verification noticed and was no failure: code, path, message, claim.';
comment on column groundcrew.audits.discrepancies is 'Figures of the judge that differ from ours: path, judge, ours.';
comment on column groundcrew.audits.notes is 'Oddities of the replies that were tolerated.';
comment on column groundcrew.audits.overall_assessment is 'The judge''s summary, or the rule''s.';
comment on column groundcrew.audits.human_agreement is 'Whether an earlier human label says the same; null when one of them says nothing.';
comment on column groundcrew.audits.discrepancy_notes is 'What differs from the human label, in words.';
comment on column groundcrew.audits.reasons is 'Why a person has to see it: code, message, claims.';
comment on column groundcrew.audits.trace_problems is 'Why the trace was incomplete or not applicable: path, message.';
comment on column groundcrew.audits.provenance is 'Where times, ranks and source ids came from, by field.';
comment on column groundcrew.audits.uncalibrated is 'No golden run exists for this kind, prompt version and judge.';
comment on column groundcrew.audits.practice is 'The judge was the practice judge: a word matcher, no model.';
comment on column groundcrew.audits.urgent is 'The review item is urgent.';
comment on column groundcrew.audits.attempts_total is 'Calls of the judge that are stored.';
comment on column groundcrew.audits.replies_total is 'Those of them that brought a reply in full.';
comment on column groundcrew.audits.duplicates is 'Later deliveries of the same audit.';
comment on column groundcrew.audits.other_content is 'The same trace id had come with other content when this ended.';
comment on column groundcrew.audits.opened_at is 'When the audit was opened.';
comment on column groundcrew.audits.ended_at is 'When it ended; null while it is open.';
comment on column groundcrew.audits.final is 'Nothing will change it: it has ended and no review item holds it open.';

create table groundcrew.attempts (
    audit_id uuid not null,
    unit integer not null,
    number integer not null,
    fingerprint uuid not null,
    started_at timestamptz not null,
    latency_us bigint not null,
    judge text not null,
    model text not null,
    model_answered text,
    prompt_version text not null,
    prompt_hash text not null,
    request bytea not null,
    request_bytes bigint not null,
    raw_reply bytea,
    content text,
    content_raw bytea,
    finish_reason text,
    http_status integer,
    prompt_tokens bigint,
    completion_tokens bigint,
    cost_micros bigint,
    currency text,
    class text not null,
    problems jsonb not null,
    remedy text,
    -- Two workers that race for one audit cannot both have the same attempt; who loses yields.
    constraint attempts_key primary key (audit_id, unit, number),
    constraint attempts_audit_exists foreign key (audit_id) references groundcrew.audits (id),
    constraint attempts_numbers_in_range check (unit >= 0 and number >= 1 and latency_us >= 0 and request_bytes >= 0),
    constraint attempts_class_known check (class in (
        'accepted', 'format', 'content', 'refusal', 'transport', 'throttle', 'permanent', 'context_too_long'
    )),
    constraint attempts_remedy_known check (remedy in ('same_prompt', 'append_error', 'strengthen')),
    -- A price without a currency cannot be added to anything.
    constraint attempts_cost_has_currency check (cost_micros is null or currency is not null)
);
-- Spending and error rates by hour. Rows come in order of time, so a few pages of index do.
create index attempts_by_start on groundcrew.attempts using brin (started_at);
alter table groundcrew.attempts alter column request set storage external;

comment on table groundcrew.attempts is 'Every call of the judge, kept whole, whatever came back.';
comment on column groundcrew.attempts.audit_id is 'The audit it belongs to.';
comment on column groundcrew.attempts.unit is 'Which unit of the audit, from 0.';
comment on column groundcrew.attempts.number is 'Which attempt at this unit, from 1.';
comment on column groundcrew.attempts.fingerprint is 'Hash of the attempt: tells a repeated write from a lost race.';
comment on column groundcrew.attempts.started_at is 'When the call began.';
comment on column groundcrew.attempts.latency_us is 'How long it took, in microseconds.';
comment on column groundcrew.attempts.judge is 'The judge profile that was asked.';
comment on column groundcrew.attempts.model is 'The model that was asked for.';
comment on column groundcrew.attempts.model_answered is 'The model that answered, as it named itself.';
comment on column groundcrew.attempts.prompt_version is 'Version of the prompt.';
comment on column groundcrew.attempts.prompt_hash is 'SHA-256 of the prompt''s text, in hex.';
comment on column groundcrew.attempts.request is 'The body that was sent, zstd-compressed JSON.';
comment on column groundcrew.attempts.request_bytes is 'Length of that body before compression, in bytes.';
comment on column groundcrew.attempts.raw_reply is 'The body that came back, byte for byte; null when nothing came.';
comment on column groundcrew.attempts.content is 'The judge''s words in it; NUL characters are shown as U+2400.';
comment on column groundcrew.attempts.content_raw is 'The words as they were; only where content had to differ.';
comment on column groundcrew.attempts.finish_reason is 'Why the judge stopped, as it said itself.';
comment on column groundcrew.attempts.http_status is 'HTTP status; null when there was none.';
comment on column groundcrew.attempts.prompt_tokens is 'Tokens of the prompt; null when not reported.';
comment on column groundcrew.attempts.completion_tokens is 'Tokens of the reply; null when not reported.';
comment on column groundcrew.attempts.cost_micros is 'Price in millionths of the currency; null when unknown, which is not free.';
comment on column groundcrew.attempts.currency is 'Currency of the price.';
comment on column groundcrew.attempts.class is 'How the call ended.';
comment on column groundcrew.attempts.problems is 'What was wrong with the reply: code, path, message.';
comment on column groundcrew.attempts.remedy is 'How the next call differs; null when none follows.';
