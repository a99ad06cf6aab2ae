-- A call of the gate over the queue may end before anything is judged, and is stored all the same.

set local lock_timeout = '5s';

alter table groundcrew.gate_calls drop constraint gate_calls_outcome_known;
-- Words are added, none is taken away, so that every stored row is right.
alter table groundcrew.gate_calls add constraint gate_calls_outcome_known check (outcome in (
    'judged', 'unusable', 'deadline', 'client_gone', 'judge_unavailable', 'over_budget', 'cut_off', 'incomplete',
    'not_applicable'
)) not valid;

comment on column groundcrew.gate_calls.outcome is
    'judged; unusable (the judge''s replies); deadline, client_gone, cut_off (its process ended): nobody waited; judge_unavailable; over_budget; incomplete and not_applicable (over the queue): nothing was judged. Null while it is open.';
comment on column groundcrew.gate_calls.audit_id is 'The audit, once it is open; null when the call was cut off before there was one.';
