//! What several keys must mean together.

use std::time::Duration;

use audit::kinds;

use super::key::Key;
use super::raw::{Judge, Policy, Project, Raw};
use super::sources::Sources;

/// RabbitMQ closes the channel of a consumer that keeps a delivery for longer than this (its
/// `consumer_timeout`, unless somebody changed it).
const BROKER_PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Notes every contradiction.
pub(super) fn check(raw: &Raw, sources: &mut Sources) {
    times(raw, sources);
    tiers(raw, sources);
    let worker = &raw.worker;
    if worker.concurrency_urgent.get() + worker.concurrency_normal.get() + worker.concurrency_bulk.get() == 0
    {
        let message = "every lane is 0: a worker must read at least one lane".into();
        sources.note(&Key::new(&["worker", "concurrency_normal"]), message);
    }
    for prefix in &worker.reply_to_prefixes {
        if prefix.trim().is_empty() {
            let message =
                "an empty prefix would allow every queue; name the beginning of the queues' names".into();
            sources.note(&Key::new(&["worker", "reply_to_prefixes"]), message);
        }
    }
    money(raw, sources);
    for (kind, policy) in &raw.audits {
        retries(kind.as_str(), policy, sources);
    }
    project(&Key::new(&["project_defaults"]), &raw.project_defaults, sources);
    for (name, named) in &raw.projects {
        let key = Key::new(&["projects", name]);
        if name.trim().is_empty() || name.chars().count() > trace::contract::MAX_ID_CHARS {
            sources.note(
                &key,
                format!("expected a name of 1 to {} characters, not blank", trace::contract::MAX_ID_CHARS),
            );
        }
        project(&key, named, sources);
    }
}

/// A cap on money needs to know what every call costs: a price that is not known is not 0.
fn money(raw: &Raw, sources: &mut Sources) {
    let defaults = (Key::new(&["project_defaults"]), &raw.project_defaults);
    let named = raw.projects.iter().map(|(name, project)| (Key::new(&["projects", name]), project));
    let Some((section, _)) =
        std::iter::once(defaults).chain(named).find(|(_, project)| project.cap_money_per_day.0 > 0.0)
    else {
        return;
    };
    let cap = section.child("cap_money_per_day");
    let standing_in = raw.judge.fallback.iter().filter_map(|name| Some((name, raw.judges.get(name)?)));
    let standing_in = standing_in.map(|(name, judge)| (Key::new(&["judges", name]), judge));
    for (section, judge) in std::iter::once((Key::new(&["judge"]), &raw.judge)).chain(standing_in) {
        if judge.model.trim().is_empty() {
            continue;
        }
        let only = judge.price_input_per_million.is_some() && judge.price_output_per_million.is_some();
        if !only && !judge.prices.contains_key(judge.model.trim()) {
            sources.note(
                &cap,
                format!(
                    "cannot be held: the price of {} is not known; set {} and {}",
                    judge.model.trim(),
                    section.child("price_input_per_million"),
                    section.child("price_output_per_million"),
                ),
            );
        }
        let mut currencies =
            judge.prices.values().filter_map(|price| price.currency.as_ref()).chain([&judge.currency]);
        if let Some(other) = currencies.find(|currency| **currency != raw.judge.currency) {
            sources.note(
                &cap,
                format!(
                    "cannot be held: {section} has prices in {other}, the cap is in {}",
                    raw.judge.currency
                ),
            );
        }
    }
}

/// Each time-out must leave room for the ones inside it.
fn times(raw: &Raw, sources: &mut Sources) {
    let (queue, database) = (&raw.queue, &raw.database);
    at_most(
        sources,
        &Key::new(&["database", "lock_timeout_s"]),
        database.lock_timeout_s.get(),
        &Key::new(&["database", "statement_timeout_s"]),
        database.statement_timeout_s.get(),
    );
    judge_times(&Key::new(&["judge"]), &raw.judge, raw, sources);
    for (name, judge) in &raw.judges {
        judge_times(&Key::new(&["judges", name]), judge, raw, sources);
    }
    if raw.relay.lease_s.get() < queue.publish_timeout_s.get() * 2 {
        sources.note(
            &Key::new(&["relay", "lease_s"]),
            format!(
                "must be at least twice queue.publish_timeout_s, which is {}: two processes would publish the same messages",
                queue.publish_timeout_s.get().as_secs_f64()
            ),
        );
    }
    patience(raw, sources);
    work(raw, sources);
}

fn judge_times(section: &Key, judge: &Judge, raw: &Raw, sources: &mut Sources) {
    let key = |name: &str| section.child(name);
    let total = judge.total_timeout_s.get();
    at_most(
        sources,
        &key("connect_timeout_s"),
        judge.connect_timeout_s.get(),
        &key("total_timeout_s"),
        total,
    );
    at_most(
        sources,
        &key("connect_timeout_s"),
        judge.connect_timeout_s.get(),
        &key("read_timeout_s"),
        judge.read_timeout_s.get(),
    );
    at_most(sources, &key("read_timeout_s"), judge.read_timeout_s.get(), &key("total_timeout_s"), total);
    if judge.limit_share.0 < judge::LEAST_SHARE {
        sources.note(
            &key("limit_share"),
            "must be at least 0.0001: a process without a share could ask nothing".into(),
        );
    }
    at_most(
        sources,
        &key("retry_after_min_s"),
        judge.retry_after_min_s.get(),
        &key("retry_after_max_s"),
        judge.retry_after_max_s.get(),
    );
    if raw.spend.reservation_s.get() <= total {
        sources.note(
            &Key::new(&["spend", "reservation_s"]),
            format!(
                "must be longer than {}, which is {}: a call that is being made would be granted twice",
                key("total_timeout_s"),
                total.as_secs_f64()
            ),
        );
    }
    if raw.worker.drain_deadline_s.get() <= total {
        sources.note(
            &Key::new(&["worker", "drain_deadline_s"]),
            format!(
                "must be longer than {}, which is {}: a call that is paid for shall end",
                key("total_timeout_s"),
                total.as_secs_f64()
            ),
        );
    }
}

fn at_most(sources: &mut Sources, key: &Key, value: Duration, limit_key: &Key, limit: Duration) {
    if value > limit {
        sources.note(key, format!("must not be longer than {limit_key}, which is {}", limit.as_secs_f64()));
    }
}

/// All tries of all judges of one delivery must end before the broker takes it back.
fn patience(raw: &Raw, sources: &mut Sources) {
    let tries = raw.worker.quick_tries;
    let standing_in = raw.judge.fallback.iter().filter_map(|name| raw.judges.get(name));
    let total: Duration =
        std::iter::once(&raw.judge).chain(standing_in).map(|judge| judge.total_timeout_s.get()).sum();
    if total * tries.small() >= BROKER_PATIENCE {
        let whose = if raw.judge.fallback.is_empty() {
            "judge.total_timeout_s"
        } else {
            "judge.total_timeout_s, with that of each judge in judge.fallback,"
        };
        sources.note(
            &Key::new(&["worker", "quick_tries"]),
            format!(
                "{} tries of {whose} ({}) take longer than the {} s after which the broker takes a delivery back",
                tries.get(),
                total.as_secs_f64(),
                BROKER_PATIENCE.as_secs()
            ),
        );
    }
}

/// What is in work ends, with the longest call that may begin in its last moment, before the broker takes it back.
fn work(raw: &Raw, sources: &mut Sources) {
    let calls = std::iter::once(("judge.total_timeout_s".to_owned(), &raw.judge))
        .chain(
            raw.judges
                .iter()
                .map(|(name, judge)| (Key::new(&["judges", name, "total_timeout_s"]).to_string(), judge)),
        )
        .map(|(key, judge)| (judge.total_timeout_s.get(), key))
        .max();
    let Some((longest, key)) = calls else { return };
    let most = raw.worker.max_work_s.get() + judge::TURN_PATIENCE + longest;
    if most >= BROKER_PATIENCE {
        sources.note(
            &Key::new(&["worker", "max_work_s"]),
            format!(
                "with {key} ({}) and the {} s that a call waits for its turn at most, that is longer than the {} s after which the broker takes a delivery back",
                longest.as_secs_f64(),
                judge::TURN_PATIENCE.as_secs(),
                BROKER_PATIENCE.as_secs()
            ),
        );
    }
}

fn tiers(raw: &Raw, sources: &mut Sources) {
    let key = Key::new(&["queue", "retry_tiers_s"]);
    let tiers: Vec<Duration> = raw.queue.retry_tiers_s.iter().map(|tier| tier.get()).collect();
    if tiers.is_empty() || tiers.len() > 16 {
        sources.note(&key, "expected 1 to 16 delays".into());
    }
    if tiers.windows(2).any(|pair| pair[0] >= pair[1]) {
        sources.note(&key, "expected delays that ascend, each once".into());
    }
    let max_age = Duration::from_secs(raw.worker.max_age_h.get() * 3600);
    if tiers.last().is_some_and(|last| *last >= max_age) {
        sources
            .note(&key, format!("must stay below worker.max_age_h, which is {}", raw.worker.max_age_h.get()));
    }
}

fn retries(kind: &str, policy: &Policy, sources: &mut Sources) {
    if policy.max_replies.get() <= policy.together.get() {
        sources.note(
            &Key::new(&["audits", kind, "max_replies"]),
            format!(
                "must be more than together, which is {}: the first reply counts as well",
                policy.together.get()
            ),
        );
    }
}

fn project(key: &Key, project: &Project, sources: &mut Sources) {
    let audits = key.child("audits");
    if project.audits.is_empty() {
        sources.note(&audits, format!("expected at least one of {}", available()));
    }
    for kind in &project.audits {
        if kinds::find(*kind).is_err() {
            sources.note(&audits, format!("this version cannot run {kind}; it can run {}", available()));
        }
    }
}

fn available() -> String {
    kinds::ALL.iter().map(|spec| spec.kind.as_str()).collect::<Vec<_>>().join(", ")
}
