-- Reviewers look for a trace by its id, wherever it stands in a list.

set local lock_timeout = '5s';

create index review_items_trace on groundcrew.review_items (trace_id);
