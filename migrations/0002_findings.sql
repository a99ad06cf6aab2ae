-- What was found, and what people said about it.

create table groundcrew.claims (
    audit_id uuid not null,
    index integer not null,
    text text not null,
    verdict text not null,
    judge_verdict text,
    severity text,
    confidence text,
    explanation text not null,
    by_rule boolean not null,
    answer_start bigint,
    answer_end bigint,
    source_id text,
    evidence jsonb not null,
    constraint claims_key primary key (audit_id, index),
    constraint claims_audit_exists foreign key (audit_id) references groundcrew.audits (id),
    constraint claims_index_positive check (index >= 0),
    constraint claims_verdict_known
        check (verdict in ('grounded', 'contradicted', 'unsupported', 'insufficient_evidence')),
    constraint claims_severity_known check (severity in ('minor', 'major', 'critical')),
    constraint claims_confidence_known check (confidence in ('LOW', 'MEDIUM', 'HIGH')),
    -- A span has both ends or none, or a page would mark the wrong words.
    constraint claims_span_whole check (
        (answer_start is null) = (answer_end is null) and answer_start >= 0 and answer_end >= answer_start
    )
);

comment on table groundcrew.claims is 'The checkable statements of an answer and what was decided about each.';
comment on column groundcrew.claims.audit_id is 'The audit it belongs to.';
comment on column groundcrew.claims.index is 'Place in the report, from 0.';
comment on column groundcrew.claims.text is 'The claim, in the judge''s words or, by rule, the answer''s.';
comment on column groundcrew.claims.verdict is 'What was decided.';
comment on column groundcrew.claims.judge_verdict is 'The judge''s own word; null where a rule decided.';
comment on column groundcrew.claims.severity is 'How grave a finding is; null for grounded claims and kinds without severities.';
comment on column groundcrew.claims.confidence is 'How sure the judge said it was; null for kinds that do not ask.';
comment on column groundcrew.claims.explanation is 'The reasoning; for a finding, the gap in the evidence.';
comment on column groundcrew.claims.by_rule is 'A rule decided and no judge was asked.';
comment on column groundcrew.claims.answer_start is 'Where it stands in the answer: first Unicode scalar value, from 0.';
comment on column groundcrew.claims.answer_end is 'One past its last Unicode scalar value.';
comment on column groundcrew.claims.source_id is 'The source of its first quote; null without a quote.';
comment on column groundcrew.claims.evidence is 'Quotes that were found: role, source_id, chunk, quote, span, grade.';

create table groundcrew.omissions (
    audit_id uuid not null,
    index integer not null,
    missing_fact text not null,
    available_evidence text not null,
    impact text not null,
    source_id text not null,
    chunk integer not null,
    chunk_start bigint not null,
    chunk_end bigint not null,
    grade text not null,
    constraint omissions_key primary key (audit_id, index),
    constraint omissions_audit_exists foreign key (audit_id) references groundcrew.audits (id),
    constraint omissions_grade_known check (grade in ('exact', 'normalised', 'case_folded', 'elided')),
    constraint omissions_places_positive
        check (index >= 0 and chunk >= 0 and chunk_start >= 0 and chunk_end >= chunk_start)
);

comment on table groundcrew.omissions is 'What the evidence says and the answer should have said.';
comment on column groundcrew.omissions.audit_id is 'The audit it belongs to.';
comment on column groundcrew.omissions.index is 'Place in the report, from 0.';
comment on column groundcrew.omissions.missing_fact is 'The fact that the answer leaves out.';
comment on column groundcrew.omissions.available_evidence is 'The passage that holds it, as the judge quoted it.';
comment on column groundcrew.omissions.impact is 'Why it matters.';
comment on column groundcrew.omissions.source_id is 'The chunk''s source id.';
comment on column groundcrew.omissions.chunk is 'The chunk''s index in the trace, from 0.';
comment on column groundcrew.omissions.chunk_start is 'Where it stands in the chunk: first Unicode scalar value, from 0.';
comment on column groundcrew.omissions.chunk_end is 'One past its last Unicode scalar value.';
comment on column groundcrew.omissions.grade is 'The rule by which the passage was found.';

create table groundcrew.review_items (
    id uuid not null,
    audit_id uuid not null,
    project text not null,
    trace_id text not null,
    kind text not null,
    reasons jsonb not null,
    severity text,
    urgent boolean not null,
    blind boolean not null,
    status text not null default 'open',
    created_at timestamptz not null,
    evidence jsonb not null,
    constraint review_items_pkey primary key (id),
    -- One audit puts one item on somebody's desk, however often it is delivered.
    constraint review_items_one_per_audit unique (audit_id),
    constraint review_items_audit_exists foreign key (audit_id) references groundcrew.audits (id),
    constraint review_items_severity_known check (severity in ('minor', 'major', 'critical')),
    constraint review_items_status_known check (status in ('open', 'claimed', 'closed'))
);
-- The desk: what waits, urgent first, oldest first.
create index review_items_waiting on groundcrew.review_items (urgent desc, created_at, id) where status <> 'closed';

comment on table groundcrew.review_items is 'Audits that people have to see, one item each.';
comment on column groundcrew.review_items.id is 'Derived from the audit; the id of the message that announces it, when there is one.';
comment on column groundcrew.review_items.audit_id is 'The audit.';
comment on column groundcrew.review_items.project is 'The producer''s project.';
comment on column groundcrew.review_items.trace_id is 'The producer''s id of the trace.';
comment on column groundcrew.review_items.kind is 'The audit kind.';
comment on column groundcrew.review_items.reasons is 'Why people have to see it: code, message, claims.';
comment on column groundcrew.review_items.severity is 'The gravest finding.';
comment on column groundcrew.review_items.urgent is 'Somebody is paged.';
comment on column groundcrew.review_items.blind is 'A passed audit of the random sample: shown without the verdict.';
comment on column groundcrew.review_items.status is 'open, claimed by a reviewer, or closed.';
comment on column groundcrew.review_items.created_at is 'When the audit ended.';
comment on column groundcrew.review_items.evidence is 'What the announcing message says: all that a reviewer needs.';

create table groundcrew.rulings (
    id uuid not null,
    review_item uuid not null,
    claim_index integer,
    omission_index integer,
    reviewer text not null,
    ruling text not null,
    note text,
    created_at timestamptz not null default now(),
    constraint rulings_pkey primary key (id),
    constraint rulings_item_exists foreign key (review_item) references groundcrew.review_items (id),
    constraint rulings_ruling_known check (ruling in ('confirm', 'override', 'annotate')),
    -- A ruling is about one flag, or about the whole item.
    constraint rulings_one_flag check (claim_index is null or omission_index is null),
    constraint rulings_places_positive check (claim_index >= 0 and omission_index >= 0)
);
-- All that was said about one item, in order.
create index rulings_by_item on groundcrew.rulings (review_item, created_at);

comment on table groundcrew.rulings is 'What reviewers said, flag by flag. Rows are added and never changed.';
comment on column groundcrew.rulings.id is 'The ruling''s own id.';
comment on column groundcrew.rulings.review_item is 'The review item.';
comment on column groundcrew.rulings.claim_index is 'The claim it is about; null when it is about something else.';
comment on column groundcrew.rulings.omission_index is 'The omission it is about; null when it is about something else.';
comment on column groundcrew.rulings.reviewer is 'Who ruled.';
comment on column groundcrew.rulings.ruling is 'confirm, override or annotate.';
comment on column groundcrew.rulings.note is 'The reviewer''s words.';
comment on column groundcrew.rulings.created_at is 'When it was said.';
