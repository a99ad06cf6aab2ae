//! How a worker of a test is set, once for both ways of running it.

use std::collections::HashMap;
use std::time::Duration;

use ::audit::policy::Policy;
use ::audit::prompt::Library;
use ::audit::routing;
use ::audit::spend::{Caps, OverCap};
use ::audit::units::{Cut, Extraction};
use judge::{Limits, ProfileSettings};
use trace::Kind;
use worker::{Lanes, Project, RelaySettings, SpendSettings};

/// How a worker is set. The defaults are the product's, with short times.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// The delays of the retry tiers.
    pub retry_tiers: Vec<Duration>,
    /// How often the broker delivers a message again.
    pub delivery_limit: u32,
    /// Deliveries in work per lane, and calls of the judge in flight.
    pub concurrency: u16,
    /// Calls per delivery before a transport failure is parked.
    pub quick_tries: u32,
    /// After this age an audit ends without a judge. A worker process counts whole hours.
    pub max_age: Duration,
    /// Longer messages become dead letters.
    pub max_message_bytes: usize,
    /// Longest unit of an answer, in scalar values.
    pub max_unit_chars: usize,
    /// Who lists the claims of a kind whose list is ours.
    pub extraction: Extraction,
    /// Claims in one call of such a kind.
    pub claims_per_call: usize,
    /// How often every audit is run.
    pub repeat: u32,
    /// How long a delivery may be in work.
    pub max_work: Duration,
    /// After this time without a delivery a consumer looks whether messages wait.
    pub watchdog: Duration,
    /// How long a worker may go on after it was asked to stop.
    pub drain_deadline: Duration,
    /// Queues that may be answered to, besides `amq.*`.
    pub reply_to_prefixes: Vec<String>,
    /// The longest silence of the judge.
    pub judge_read_timeout: Duration,
    /// How long one call of the judge may take.
    pub judge_total_timeout: Duration,
    /// How the judge may be used.
    pub limits: Limits,
    /// Share of passed audits that people see as well.
    pub sample_passed: f64,
    /// What a million tokens cost: prompt, reply, currency.
    pub price: Option<(f64, f64, String)>,
    /// How long a publish may take.
    pub publish_timeout: Duration,
    /// After about two of these, in seconds, the broker gives up on a worker that is silent.
    pub heartbeat_s: u16,
    /// The outbox relay.
    pub relay: RelaySettings,
    /// What every project may spend in one UTC day.
    pub caps: Caps,
    /// What becomes of audits beyond that.
    pub over_cap: OverCap,
    /// How calls are reserved under a cap.
    pub spend: SpendSettings,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            retry_tiers: vec![Duration::from_secs(1), Duration::from_secs(2)],
            delivery_limit: 50,
            concurrency: 8,
            quick_tries: 3,
            max_age: Duration::from_secs(24 * 3600),
            max_message_bytes: 16 << 20,
            max_unit_chars: 6000,
            extraction: Extraction::Sentences,
            claims_per_call: 8,
            repeat: 1,
            max_work: Duration::from_secs(600),
            watchdog: Duration::from_secs(60),
            drain_deadline: Duration::from_secs(20),
            reply_to_prefixes: Vec::new(),
            judge_read_timeout: Duration::from_secs(12),
            judge_total_timeout: Duration::from_secs(12),
            limits: Limits {
                breaker_open_ms: 1_000,
                breaker_permanent_open_ms: 2_000,
                retry_after_min_ms: 100,
                retry_after_max_ms: 2_000,
                ..Limits::default()
            },
            sample_passed: 0.0,
            price: None,
            publish_timeout: Duration::from_secs(2),
            heartbeat_s: 10,
            relay: RelaySettings {
                batch: 64,
                lease: Duration::from_secs(4),
                poll: Duration::from_millis(100),
            },
            caps: Caps::default(),
            over_cap: OverCap::default(),
            spend: SpendSettings::default(),
        }
    }
}

impl Tuning {
    pub(crate) fn queue(&self, name: &str) -> queue::Options {
        let prefetch = self.concurrency;
        queue::Options {
            name: name.to_owned(),
            heartbeat_s: self.heartbeat_s,
            publish_timeout: self.publish_timeout,
            retry_tiers: self.retry_tiers.clone(),
            delivery_limit: self.delivery_limit,
            watchdog: self.watchdog,
            prefetch: queue::Prefetch { urgent: prefetch, normal: prefetch, bulk: prefetch, other: 16 },
            ..queue::Options::default()
        }
    }

    pub(crate) fn judge(&self, base_url: &str) -> ProfileSettings {
        let price = self.price.as_ref().map(|(input, output, currency)| judge::Price {
            input_per_million: *input,
            output_per_million: *output,
            cached_input_per_million: None,
            currency: currency.clone(),
        });
        ProfileSettings {
            connect_timeout_ms: ms(self.judge_read_timeout).min(5_000),
            read_timeout_ms: ms(self.judge_read_timeout),
            total_timeout_ms: ms(self.judge_total_timeout),
            price,
            practice: true,
            ..ProfileSettings::new("practice", base_url, practice::MODEL)
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        let concurrency = usize::from(self.concurrency);
        Limits { max_concurrency: concurrency, start_concurrency: concurrency, ..self.limits.clone() }
    }

    pub(crate) fn runner(&self) -> runner::Settings {
        runner::Settings {
            cut: Cut {
                max_chars: self.max_unit_chars,
                claims_per_call: self.claims_per_call,
                extraction: self.extraction,
            },
            prompts: Library::embedded().expect("the embedded prompts can be read"),
            quick_tries: self.quick_tries,
            delays: judge::delay::DelaySettings {
                initial: Duration::from_millis(20),
                cap: Duration::from_millis(200),
                ..judge::delay::DelaySettings::default()
            },
            max_age: self.max_age,
        }
    }

    pub(crate) fn worker(&self) -> worker::Settings {
        let routing = routing::Policy {
            sample_passed: self.sample_passed,
            sample_passed_high_risk: self.sample_passed,
            ..routing::Policy::default()
        };
        worker::Settings {
            drain_deadline: self.drain_deadline,
            max_message_bytes: self.max_message_bytes,
            max_age: self.max_age,
            reply_to_prefixes: self.reply_to_prefixes.clone(),
            lanes: Lanes {
                urgent: self.concurrency.into(),
                normal: self.concurrency.into(),
                bulk: self.concurrency.into(),
            },
            max_work: self.max_work,
            health_listen: None,
            relay: self.relay,
            spend: self.spend,
            policies: HashMap::<Kind, Policy>::new(),
            repeats: Kind::ALL.iter().map(|kind| (*kind, self.repeat)).collect(),
            projects: HashMap::new(),
            default_project: Project {
                routing,
                caps: self.caps.clone(),
                over_cap: self.over_cap,
                ..Project::default()
            },
        }
    }

    /// The same as variables for the program.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let seconds = |duration: Duration| format!("{}", duration.as_secs_f64());
        let from_ms = |ms: u64| seconds(Duration::from_millis(ms));
        let tiers: Vec<String> = self.retry_tiers.iter().copied().map(seconds).collect();
        let prefixes = &self.reply_to_prefixes;
        let concurrency = self.concurrency.to_string();
        let mut variables = vec![
            ("QUEUE__RETRY_TIERS_S", tiers.join(",")),
            ("QUEUE__HEARTBEAT_S", self.heartbeat_s.to_string()),
            ("QUEUE__DELIVERY_LIMIT", self.delivery_limit.to_string()),
            ("QUEUE__PUBLISH_TIMEOUT_S", seconds(self.publish_timeout)),
            ("JUDGE__NAME", "practice".into()),
            ("JUDGE__MODEL", practice::MODEL.into()),
            ("JUDGE__PRACTICE", "true".into()),
            ("JUDGE__CONNECT_TIMEOUT_S", seconds(self.judge_read_timeout.min(Duration::from_secs(5)))),
            ("JUDGE__READ_TIMEOUT_S", seconds(self.judge_read_timeout)),
            ("JUDGE__TOTAL_TIMEOUT_S", seconds(self.judge_total_timeout)),
            ("JUDGE__MAX_CONCURRENCY", concurrency.clone()),
            ("JUDGE__START_CONCURRENCY", concurrency.clone()),
            ("JUDGE__RECOVER_AFTER", self.limits.recover_after.to_string()),
            ("JUDGE__BREAKER_FAILURES", self.limits.breaker_failures.to_string()),
            ("JUDGE__BREAKER_OPEN_S", from_ms(self.limits.breaker_open_ms)),
            ("JUDGE__BREAKER_PERMANENT_OPEN_S", from_ms(self.limits.breaker_permanent_open_ms)),
            ("JUDGE__RETRY_AFTER_MIN_S", from_ms(self.limits.retry_after_min_ms)),
            ("JUDGE__RETRY_AFTER_MAX_S", from_ms(self.limits.retry_after_max_ms)),
            ("WORKER__CONCURRENCY_URGENT", concurrency.clone()),
            ("WORKER__CONCURRENCY_NORMAL", concurrency.clone()),
            ("WORKER__CONCURRENCY_BULK", concurrency),
            ("WORKER__DRAIN_DEADLINE_S", seconds(self.drain_deadline)),
            ("WORKER__MAX_WORK_S", seconds(self.max_work)),
            ("WORKER__WATCHDOG_S", seconds(self.watchdog)),
            ("WORKER__MAX_MESSAGE_BYTES", self.max_message_bytes.to_string()),
            ("WORKER__QUICK_TRIES", self.quick_tries.to_string()),
            ("WORKER__MAX_UNIT_CHARS", self.max_unit_chars.to_string()),
            ("WORKER__REPLY_TO_PREFIXES", prefixes.join(",")),
            ("RELAY__BATCH", self.relay.batch.to_string()),
            ("RELAY__LEASE_S", seconds(self.relay.lease)),
            ("RELAY__POLL_MS", ms(self.relay.poll).to_string()),
            ("SPEND__BLOCK_CALLS", self.spend.block_calls.to_string()),
            ("SPEND__RESERVATION_S", seconds(self.spend.reservation)),
            ("PROJECT_DEFAULTS__CAP_CALLS_PER_DAY", self.caps.calls.unwrap_or_default().to_string()),
            ("PROJECT_DEFAULTS__CAP_TOKENS_PER_DAY", self.caps.tokens.unwrap_or_default().to_string()),
            (
                "PROJECT_DEFAULTS__OVER_CAP",
                match self.over_cap {
                    OverCap::OverBudget => "over_budget".into(),
                    OverCap::Defer => "defer".into(),
                },
            ),
            ("PROJECT_DEFAULTS__SAMPLE_PASSED", self.sample_passed.to_string()),
            ("PROJECT_DEFAULTS__SAMPLE_PASSED_HIGH_RISK", self.sample_passed.to_string()),
        ];
        if let Some((input, output, currency)) = &self.price {
            variables.push(("JUDGE__PRICE_INPUT_PER_MILLION", input.to_string()));
            variables.push(("JUDGE__PRICE_OUTPUT_PER_MILLION", output.to_string()));
            variables.push(("JUDGE__CURRENCY", currency.clone()));
        }
        variables.into_iter().map(|(name, value)| (format!("GROUNDCREW_{name}"), value)).collect()
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
