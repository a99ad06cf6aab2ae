//! The configuration as it is used: the types of the other crates, checked.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use audit::policy::{Budget, Policy};
use audit::spend;
use audit::units::Cut;
use judge::{Limits, Profile, Secret};
use outcomes::{Projects, Rule};
use trace::{Kind, Provenance, Requirements};
use worker::{Lanes, Project, RelaySettings, SpendSettings};

use super::key::Key;
use super::prompts;
use super::raw::{self, IdFrom, LogFormat, RankFrom, Raw, TimeFrom};
use super::sources::Sources;
use super::{checks, desk, judges, notify};

/// A configuration without contradictions. What is not needed by every command may be missing.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) database: Database,
    pub(crate) queue: Queue,
    /// None when no judge is named.
    pub(crate) judge: Option<Judge>,
    /// The judges that stand in for it, in their order.
    pub(crate) fallback: Vec<Judge>,
    /// The key of the first judge, also where no judge is named: the command line may name one.
    pub(crate) judge_key: Option<Secret>,
    /// When an audit of files fails, by project.
    pub(crate) fail_on: Vec<Rule>,
    pub(crate) worker: worker::Settings,
    pub(crate) desk: ::desk::Settings,
    pub(crate) notify: notify::Paging,
    pub(crate) runner: runner::Settings,
    pub(crate) retention: store::Retention,
    pub(crate) log: Log,
}

/// How to reach Postgres.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) url: Option<Secret>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) max_connections: u32,
    pub(crate) acquire_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) lock_timeout: Duration,
}

/// How to reach RabbitMQ.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    /// None without a URL.
    pub(crate) settings: Option<queue::Settings>,
}

/// Which judge is asked, and how hard.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    pub(crate) profile: Profile,
    pub(crate) limits: Limits,
}

/// How the long-running commands log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    pub(crate) level: raw::Level,
}

/// Turns keys into settings. None when a part cannot be made; why is then among the problems of `sources`.
pub(super) fn check(raw: Raw, sources: &mut Sources) -> Option<Settings> {
    checks::check(&raw, sources);
    let database_url = database_url(&raw.database, sources);
    let queue = queue_settings(&raw, sources);
    let (judge, fallback) = judges::judges(&raw, sources);
    let judge_key = match &judge {
        Some(judge) => judge.profile.settings().api_key.clone(),
        None => secret(
            &raw.judge.api_key,
            &raw.judge.api_key_file,
            &Key::new(&["judge", "api_key_file"]),
            sources,
        ),
    };
    let max_age = Duration::from_secs(raw.worker.max_age_h.get() * 3600);
    let policies = raw.audits.iter().map(|(kind, policy)| (*kind, policy_of(policy))).collect();
    let repeats = raw.audits.iter().map(|(kind, policy)| (*kind, policy.repeat.small())).collect();
    let prompts = prompts::library(&raw.prompts.dir, &raw.prompts.examples_dir, sources)?;
    let projects: HashMap<String, Project> = raw
        .projects
        .iter()
        .map(|(name, project)| (name.clone(), project_of(project, &raw.judge.currency)))
        .collect();
    let database = Database {
        url: database_url,
        ca_file: authorities(&raw.database.ca_file, &Key::new(&["database", "ca_file"]), sources)
            .map(|_| PathBuf::from(&raw.database.ca_file)),
        max_connections: raw.database.max_connections.small(),
        acquire_timeout: raw.database.acquire_timeout_s.get(),
        statement_timeout: raw.database.statement_timeout_s.get(),
        lock_timeout: raw.database.lock_timeout_s.get(),
    };
    let worker = worker::Settings {
        drain_deadline: raw.worker.drain_deadline_s.get(),
        max_message_bytes: raw.worker.max_message_bytes.count(),
        max_age,
        reply_to_prefixes: raw.worker.reply_to_prefixes.clone(),
        lanes: Lanes {
            urgent: raw.worker.concurrency_urgent.small(),
            normal: raw.worker.concurrency_normal.small(),
            bulk: raw.worker.concurrency_bulk.small(),
        },
        max_work: raw.worker.max_work_s.get(),
        health_listen: health_listen(
            &raw.worker.health_listen,
            Key::new(&["worker", "health_listen"]),
            sources,
        ),
        relay: RelaySettings {
            batch: raw.relay.batch.small(),
            lease: raw.relay.lease_s.get(),
            poll: Duration::from_millis(raw.relay.poll_ms.get()),
        },
        spend: SpendSettings {
            block_calls: raw.spend.block_calls.get(),
            reservation: raw.spend.reservation_s.get(),
        },
        policies,
        repeats,
        projects,
        default_project: project_of(&raw.project_defaults, &raw.judge.currency),
    };
    let desk = desk_settings(&raw, &worker, sources);
    let notify = notify::settings(&raw.notify, sources);
    let runner = runner::Settings {
        cut: Cut {
            max_chars: raw.worker.max_unit_chars.count(),
            claims_per_call: raw.worker.claims_per_call.count(),
            extraction: raw.worker.claim_extraction,
        },
        prompts,
        quick_tries: raw.worker.quick_tries.small(),
        delays: judge::delay::DelaySettings::default(),
        max_age,
    };
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let retention = store::Retention {
        bodies: days(raw.retention.bodies_days.get()),
        outbox: days(raw.retention.outbox_days.get()),
        dead_letters: days(raw.retention.dead_letters_days.get()),
        usage: days(raw.retention.usage_days.get()),
        access_log: days(raw.retention.access_log_days.get()),
        notifications: days(raw.retention.notifications_days.get()),
    };
    let log = Log { format: raw.log.format, level: raw.log.level };
    let fail_on = fail_on(&raw);
    sources.problems.is_empty().then_some(Settings {
        database,
        queue,
        judge,
        fallback,
        judge_key,
        fail_on,
        worker,
        desk,
        notify,
        runner,
        retention,
        log,
    })
}

/// The desk, with the projects and the retry policies that workers have.
fn desk_settings(raw: &Raw, worker: &worker::Settings, sources: &mut Sources) -> ::desk::Settings {
    let (listen, logins) = desk::listen_and_logins(&raw.desk, sources);
    ::desk::Settings {
        listen,
        logins,
        max_body_bytes: raw.desk.max_body_bytes.count(),
        drain_deadline: raw.desk.drain_deadline_s.get(),
        gate: desk::gate(&raw.gate, sources),
        review: desk::review(&raw.review, sources),
        spend: worker.spend,
        policies: worker.policies.clone(),
        projects: worker.projects.clone(),
        default_project: worker.default_project.clone(),
    }
}

fn database_url(raw: &raw::Database, sources: &mut Sources) -> Option<Secret> {
    let url = secret(&raw.url, &raw.url_file, &Key::new(&["database", "url_file"]), sources)?;
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.expose().starts_with(scheme)) {
        let message = "expected postgres://user:password@host:port/name".into();
        sources.note(&Key::new(&["database", "url"]), message);
    }
    Some(url)
}

fn queue_settings(raw: &Raw, sources: &mut Sources) -> Queue {
    let options = queue::Options {
        name: "groundcrew".into(),
        heartbeat_s: raw.queue.heartbeat_s.tiny(),
        connect_timeout: raw.queue.connect_timeout_s.get(),
        publish_timeout: raw.queue.publish_timeout_s.get(),
        settle_timeout: raw.queue.settle_timeout_s.get(),
        retry_tiers: raw.queue.retry_tiers_s.iter().map(|tier| tier.get()).collect(),
        delivery_limit: raw.queue.delivery_limit.small(),
        // Workers say themselves how much each of their consumers may hold.
        prefetch: queue::Prefetch::default(),
        publish_channels: raw.queue.publish_channels.count(),
        watchdog: raw.worker.watchdog_s.get(),
        authorities: authorities(&raw.queue.ca_file, &Key::new(&["queue", "ca_file"]), sources),
    };
    let url_file = Key::new(&["queue", "url_file"]);
    let Some(url) = secret(&raw.queue.url, &raw.queue.url_file, &url_file, sources) else {
        return Queue { settings: None };
    };
    match queue::Settings::new(url.expose(), options) {
        Ok(settings) => Queue { settings: Some(settings) },
        Err(error @ queue::Error::Setting { name: "retry_tiers", .. }) => {
            sources.note(&Key::new(&["queue", "retry_tiers_s"]), error.to_string());
            Queue { settings: None }
        }
        Err(error) => {
            sources.note(&Key::new(&["queue", "url"]), error.to_string());
            Queue { settings: None }
        }
    }
}

pub(super) fn health_listen(text: &str, key: Key, sources: &mut Sources) -> Option<SocketAddr> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let address = text.parse();
    if address.is_err() {
        let message = "expected an address and a port, such as 127.0.0.1:9090, or nothing".into();
        sources.note(&key, message);
    }
    address.ok()
}

/// The certificates of a file.
pub(super) fn authorities(file: &str, key: &Key, sources: &mut Sources) -> Option<String> {
    if file.is_empty() {
        return None;
    }
    match std::fs::read_to_string(file) {
        Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => Some(text),
        Ok(_) => {
            sources.note(key, "the file holds no certificate in PEM form".into());
            None
        }
        Err(error) => {
            sources.note(key, format!("the file cannot be read: {error}"));
            None
        }
    }
}

/// A secret from its variable, or else from its file.
pub(super) fn secret(value: &Secret, file: &str, file_key: &Key, sources: &mut Sources) -> Option<Secret> {
    if !value.expose().is_empty() {
        return Some(value.clone());
    }
    if file.is_empty() {
        return None;
    }
    match std::fs::read_to_string(file) {
        Ok(text) if text.trim().is_empty() => {
            sources.note(file_key, "the file is empty".into());
            None
        }
        Ok(text) => Some(Secret::new(text)),
        Err(error) => {
            sources.note(file_key, format!("the file cannot be read: {error}"));
            None
        }
    }
}

/// A project that is named has its own thresholds; the others have those of `project_defaults`.
fn fail_on(raw: &Raw) -> Vec<Rule> {
    let rules = |project: &raw::Project, projects: Projects| {
        let rule = move |fail_on: &raw::FailOn| Rule {
            threshold: fail_on.0.clone(),
            projects: projects.clone(),
            must_apply: false,
        };
        project.fail_on.iter().map(rule).collect::<Vec<_>>()
    };
    let named = raw.projects.keys().cloned().collect();
    let defaults = rules(&raw.project_defaults, Projects::EachBut(named));
    let own = raw.projects.iter().flat_map(|(name, project)| rules(project, Projects::Only(name.clone())));
    defaults.into_iter().chain(own).collect()
}

fn policy_of(raw: &raw::Policy) -> Policy {
    let budget = |budget: &raw::Budget| Budget { retries: budget.retries.small(), remedy: budget.remedy };
    Policy {
        format: budget(&raw.format),
        content: budget(&raw.content),
        together: raw.together.small(),
        max_replies: raw.max_replies.small(),
    }
}

/// A cap; 0 is none.
fn some(cap: u64) -> Option<u64> {
    Some(cap).filter(|cap| *cap > 0)
}

fn project_of(raw: &raw::Project, currency: &str) -> Project {
    let mut audits: Vec<Kind> = raw.audits.clone();
    audits.dedup();
    Project {
        audits,
        requirements: Requirements {
            retrieved_at: (raw.requirements.retrieved_at == TimeFrom::FromSpan)
                .then_some(Provenance::FromSpan),
            rank: (raw.requirements.rank == RankFrom::ListOrder).then_some(Provenance::ListOrder),
            source_id: (raw.requirements.source_id == IdFrom::Synthetic).then_some(Provenance::Synthetic),
        },
        routing: audit::routing::Policy {
            review_below: raw.review_below.0,
            max_contradicted: raw.max_contradicted.count(),
            max_unsupported: raw.max_unsupported.count(),
            max_hallucination_ratio: raw.max_hallucination_ratio.0,
            evidence_threshold: raw.evidence_threshold,
            high_risk_domains: raw.high_risk_domains.clone(),
            sample_passed: raw.sample_passed.0,
            sample_passed_high_risk: raw.sample_passed_high_risk.0,
        },
        gate: audit::gate::Policy {
            ungrounded: raw.gate.ungrounded,
            exhausted: raw.gate.exhausted,
            unknown: raw.gate.unknown,
            max_regenerations: raw.gate.max_regenerations.small(),
            redact_at_most: raw.gate.redact_at_most.0,
            per_claim: raw.gate.per_claim,
        },
        opinions: u16::try_from(raw.opinions.get()).unwrap_or(1),
        sample_rate: raw.sample_rate.0,
        rate_per_minute: raw.rate_per_minute.small(),
        caps: spend::Caps {
            calls: some(raw.cap_calls_per_day.get()),
            tokens: some(raw.cap_tokens_per_day.get()),
            money: some(raw.cap_money_per_day.micros())
                .map(|micros| spend::Money { micros, currency: currency.to_owned() }),
        },
        over_cap: raw.over_cap,
    }
}
