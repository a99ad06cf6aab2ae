-- How far judges agree with people's labels, and which results that says something about.

create table groundcrew.golden_runs (
    id uuid not null,
    kind text not null,
    prompt_version text not null,
    prompt_hash text not null,
    judge text not null,
    practice boolean not null,
    source text not null,
    cases bigint not null,
    judged bigint not null,
    true_positive bigint not null,
    false_positive bigint not null,
    false_negative bigint not null,
    true_negative bigint not null,
    kappa double precision,
    kappa_low double precision,
    kappa_high double precision,
    balanced_accuracy double precision,
    overlap_auc double precision,
    paraphrase_missed double precision,
    fabrication_passed double precision,
    runs bigint not null,
    unanimous double precision,
    figures jsonb not null,
    calibrates boolean not null,
    ended_at timestamptz not null,
    constraint golden_runs_pkey primary key (id),
    constraint golden_runs_kind_known
        check (kind in ('hallucination_eval', 'faithfulness', 'reference', 'evidence_check', 'gate')),
    constraint golden_runs_counts_positive check (
        cases > 0 and judged >= 0 and runs > 0
        and true_positive >= 0 and false_positive >= 0 and false_negative >= 0 and true_negative >= 0
    ),
    -- Every case stands in the table once, what was not judged among the wrong ones.
    constraint golden_runs_every_case_once
        check (true_positive + false_positive + false_negative + true_negative = cases and judged <= cases),
    -- A NaN in one row would be the mean of all of them.
    constraint golden_runs_shares_in_range check (
        kappa between -1 and 1 and kappa_low between -1 and 1 and kappa_high between -1 and 1
        and balanced_accuracy between 0 and 1 and overlap_auc between 0 and 1
        and paraphrase_missed between 0 and 1 and fabrication_passed between 0 and 1 and unanimous between 0 and 1
    ),
    -- What has no model says nothing about one.
    constraint golden_runs_practice_calibrates_nothing check (not (practice and calibrates))
);
-- Workers look for the last run of each kind, prompt and judge.
create index golden_runs_last on groundcrew.golden_runs (kind, prompt_version, judge, ended_at desc);

comment on table groundcrew.golden_runs is
    'Audits of labelled cases (groundcrew golden run), one row for each kind. Positive means not faithful.';
comment on column groundcrew.golden_runs.id is 'Made when the run was kept; rises with time.';
comment on column groundcrew.golden_runs.kind is 'The audit kind.';
comment on column groundcrew.golden_runs.prompt_version is 'Version of the prompt.';
comment on column groundcrew.golden_runs.prompt_hash is 'SHA-256 of the prompt''s text, in hex.';
comment on column groundcrew.golden_runs.judge is 'The judge profile.';
comment on column groundcrew.golden_runs.practice is 'Whether that is the practice judge.';
comment on column groundcrew.golden_runs.source is 'Where the cases come from, as it was given.';
comment on column groundcrew.golden_runs.cases is 'Labelled cases.';
comment on column groundcrew.golden_runs.judged is 'Those that were judged.';
comment on column groundcrew.golden_runs.true_positive is 'Not faithful, and flagged.';
comment on column groundcrew.golden_runs.false_positive is 'Faithful, and flagged or not judged.';
comment on column groundcrew.golden_runs.false_negative is 'Not faithful, and passed or not judged.';
comment on column groundcrew.golden_runs.true_negative is 'Faithful, and passed.';
comment on column groundcrew.golden_runs.kappa is
    'Cohen''s kappa over all cases; null when chance alone explains everything.';
comment on column groundcrew.golden_runs.kappa_low is 'Lower bound of the 95 % interval of kappa.';
comment on column groundcrew.golden_runs.kappa_high is 'Upper bound of the 95 % interval of kappa.';
comment on column groundcrew.golden_runs.balanced_accuracy is
    'Mean of recall and specificity; null when one kind of case is missing.';
comment on column groundcrew.golden_runs.overlap_auc is
    'Area under the ROC curve of word overlap on the same cases: what no judge should stay below.';
comment on column groundcrew.golden_runs.paraphrase_missed is
    'Share of reworded and faithful answers that did not pass; null without such cases.';
comment on column groundcrew.golden_runs.fabrication_passed is
    'Share of made-up answers that were not flagged; null without such cases.';
comment on column groundcrew.golden_runs.runs is 'Runs of each case.';
comment on column groundcrew.golden_runs.unanimous is
    'Share of the cases whose judged runs all say the same; null for single runs.';
comment on column groundcrew.golden_runs.figures is 'All figures, requirements and cost, as the command prints them.';
comment on column groundcrew.golden_runs.calibrates is
    'Whether it lifts the mark uncalibrated: a judge with a model, nine of ten cases judged, every requirement met. '
    'The last run of a kind, prompt and judge counts.';
comment on column groundcrew.golden_runs.ended_at is 'When it ended.';

-- For analysts: how good was the judge that gave a verdict?
create view analytics.golden_runs as
select
    run.kind,
    run.prompt_version,
    run.judge,
    run.practice,
    run.source,
    run.cases,
    run.judged,
    run.true_positive,
    run.false_positive,
    run.false_negative,
    run.true_negative,
    run.kappa,
    run.kappa_low,
    run.kappa_high,
    run.balanced_accuracy,
    run.overlap_auc,
    run.paraphrase_missed,
    run.fabrication_passed,
    run.runs,
    run.unanimous,
    run.calibrates,
    run.ended_at
from groundcrew.golden_runs as run;

comment on view analytics.golden_runs is
    'How far judges agree with people''s labels, one row for each golden run and kind. Positive means not faithful.';
comment on column analytics.golden_runs.kind is 'The audit kind.';
comment on column analytics.golden_runs.prompt_version is 'Version of the prompt.';
comment on column analytics.golden_runs.judge is 'The judge profile.';
comment on column analytics.golden_runs.practice is 'Whether that is the practice judge.';
comment on column analytics.golden_runs.source is 'Where the cases come from, as it was given.';
comment on column analytics.golden_runs.cases is 'Labelled cases.';
comment on column analytics.golden_runs.judged is 'Those that were judged.';
comment on column analytics.golden_runs.true_positive is 'Not faithful, and flagged.';
comment on column analytics.golden_runs.false_positive is 'Faithful, and flagged or not judged.';
comment on column analytics.golden_runs.false_negative is 'Not faithful, and passed or not judged.';
comment on column analytics.golden_runs.true_negative is 'Faithful, and passed.';
comment on column analytics.golden_runs.kappa is 'Cohen''s kappa over all cases; null when chance alone explains everything.';
comment on column analytics.golden_runs.kappa_low is 'Lower bound of the 95 % interval of kappa.';
comment on column analytics.golden_runs.kappa_high is 'Upper bound of the 95 % interval of kappa.';
comment on column analytics.golden_runs.balanced_accuracy is
    'Mean of recall and specificity; null when one kind of case is missing.';
comment on column analytics.golden_runs.overlap_auc is 'Area under the ROC curve of word overlap on the same cases.';
comment on column analytics.golden_runs.paraphrase_missed is
    'Share of reworded and faithful answers that did not pass; null without such cases.';
comment on column analytics.golden_runs.fabrication_passed is
    'Share of made-up answers that were not flagged; null without such cases.';
comment on column analytics.golden_runs.runs is 'Runs of each case.';
comment on column analytics.golden_runs.unanimous is
    'Share of the cases whose judged runs all say the same; null for single runs.';
comment on column analytics.golden_runs.calibrates is 'Whether it lifts the mark uncalibrated from results of its kind.';
comment on column analytics.golden_runs.ended_at is 'When it ended.';
