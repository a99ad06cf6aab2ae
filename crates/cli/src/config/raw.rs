//! The configuration as it is written: every key of `config.default.toml`, with its type and range.
//!
//! What follows from several keys together is checked when these become [`super::settings::Settings`].

use std::collections::BTreeMap;

use audit::gate::{WhenExhausted, WhenUngrounded, WhenUnknown};
use audit::kinds::gate::Threshold;
use audit::policy::Remedy;
use audit::spend::OverCap;
use audit::units::Extraction;
use judge::{HttpVersion, MaxTokensKey, ModelRule, Provider, Secret, StructuredOutput};
use serde::Deserialize;
use serde_json::Map;
use trace::Kind;

use super::bounded::{Money, OrProvider, Seconds, Share, Temperature, Whole};

/// A time-out: at most ten minutes.
type Timeout = Seconds<1, 600_000>;

/// A longer time: at most a day.
type Span = Seconds<1, 86_400_000>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Raw {
    pub(crate) database: Database,
    pub(crate) queue: Queue,
    pub(crate) judge: Judge,
    #[serde(default)]
    pub(crate) judges: BTreeMap<String, Judge>,
    pub(crate) worker: Worker,
    pub(crate) desk: super::desk::Desk,
    pub(crate) gate: super::desk::Gate,
    pub(crate) review: super::desk::Review,
    pub(crate) notify: super::notify::Notify,
    pub(crate) relay: Relay,
    pub(crate) spend: Spend,
    pub(crate) retention: Retention,
    pub(crate) prompts: Prompts,
    pub(crate) audits: BTreeMap<Kind, Policy>,
    pub(crate) project_defaults: Project,
    #[serde(default)]
    pub(crate) projects: BTreeMap<String, Project>,
    pub(crate) log: Log,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Database {
    pub(crate) url: Secret,
    pub(crate) url_file: String,
    pub(crate) ca_file: String,
    pub(crate) max_connections: Whole<4, 1000>,
    pub(crate) acquire_timeout_s: Timeout,
    pub(crate) statement_timeout_s: Timeout,
    pub(crate) lock_timeout_s: Timeout,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queue {
    pub(crate) url: Secret,
    pub(crate) url_file: String,
    pub(crate) ca_file: String,
    pub(crate) heartbeat_s: Whole<1, 600>,
    pub(crate) connect_timeout_s: Timeout,
    pub(crate) publish_timeout_s: Timeout,
    pub(crate) settle_timeout_s: Timeout,
    pub(crate) publish_channels: Whole<1, 64>,
    pub(crate) retry_tiers_s: Vec<Span>,
    pub(crate) delivery_limit: Whole<1, 1_000_000>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Judge {
    /// Empty for a judge that stands in: it is called what its section is called.
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) provider: Provider,
    pub(crate) base_url: String,
    pub(crate) model: String,
    pub(crate) api_key: Secret,
    pub(crate) api_key_file: String,
    pub(crate) api_key_header: String,
    pub(crate) api_version: String,
    pub(crate) ca_file: String,
    pub(crate) http_version: HttpVersion,
    #[serde(default)]
    pub(crate) fallback: Vec<String>,
    pub(crate) structured_output: StructuredOutput,
    pub(crate) temperature: OrProvider<Temperature>,
    pub(crate) max_tokens: OrProvider<Whole<1, 1_000_000>>,
    pub(crate) max_tokens_base: Whole<1, 1_000_000>,
    pub(crate) max_tokens_factor: Whole<0, 1000>,
    pub(crate) reasoning_tokens: Whole<0, 1_000_000>,
    pub(crate) max_tokens_key: MaxTokensKey,
    pub(crate) extra_params: Map<String, serde_json::Value>,
    pub(crate) model_map: BTreeMap<String, ModelRule>,
    pub(crate) connect_timeout_s: Timeout,
    pub(crate) read_timeout_s: Timeout,
    pub(crate) total_timeout_s: Timeout,
    pub(crate) max_reply_bytes: Whole<1024, 67_108_864>,
    pub(crate) max_concurrency: Whole<1, 10_000>,
    pub(crate) start_concurrency: Whole<1, 10_000>,
    pub(crate) recover_after: Whole<1, 1_000_000>,
    pub(crate) requests_per_minute: Whole<0, 100_000_000>,
    pub(crate) tokens_per_minute: Whole<0, 4_000_000_000>,
    pub(crate) limit_share: Share,
    pub(crate) breaker_failures: Whole<1, 1_000_000>,
    pub(crate) breaker_open_s: Span,
    pub(crate) breaker_permanent_open_s: Span,
    pub(crate) retry_after_min_s: Span,
    pub(crate) retry_after_max_s: Span,
    pub(crate) price_input_per_million: Option<Money>,
    pub(crate) price_output_per_million: Option<Money>,
    pub(crate) price_cached_input_per_million: Option<Money>,
    pub(crate) currency: String,
    pub(crate) prices: BTreeMap<String, Price>,
    pub(crate) practice: Option<bool>,
}

/// What a million tokens of one model cost.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Price {
    pub(crate) input_per_million: Money,
    pub(crate) output_per_million: Money,
    pub(crate) cached_input_per_million: Option<Money>,
    /// None: the judge's own currency.
    pub(crate) currency: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Worker {
    pub(crate) concurrency_urgent: Whole<0, 20_000>,
    pub(crate) concurrency_normal: Whole<0, 20_000>,
    pub(crate) concurrency_bulk: Whole<0, 20_000>,
    pub(crate) drain_deadline_s: Span,
    pub(crate) max_work_s: Span,
    pub(crate) watchdog_s: Span,
    pub(crate) health_listen: String,
    pub(crate) max_message_bytes: Whole<1024, 134_217_728>,
    pub(crate) max_age_h: Whole<1, 720>,
    pub(crate) quick_tries: Whole<1, 20>,
    pub(crate) max_unit_chars: Whole<200, 1_000_000>,
    pub(crate) claims_per_call: Whole<1, 100>,
    pub(crate) claim_extraction: Extraction,
    pub(crate) reply_to_prefixes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Relay {
    pub(crate) batch: Whole<1, 10_000>,
    pub(crate) lease_s: Span,
    pub(crate) poll_ms: Whole<10, 60_000>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spend {
    pub(crate) block_calls: Whole<1, 10_000>,
    pub(crate) reservation_s: Span,
}

/// An age, in days.
type Days = Whole<1, 36_500>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retention {
    pub(crate) bodies_days: Days,
    pub(crate) outbox_days: Days,
    pub(crate) dead_letters_days: Days,
    pub(crate) usage_days: Days,
    pub(crate) access_log_days: Days,
    pub(crate) notifications_days: Days,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    pub(crate) format: Budget,
    pub(crate) content: Budget,
    pub(crate) together: Whole<0, 20>,
    pub(crate) max_replies: Whole<1, 1000>,
    pub(crate) repeat: Whole<1, 20>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prompts {
    pub(crate) dir: String,
    pub(crate) examples_dir: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    pub(crate) retries: Whole<0, 10>,
    pub(crate) remedy: Remedy,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Project {
    pub(crate) audits: Vec<Kind>,
    pub(crate) requirements: Requirements,
    pub(crate) review_below: Share,
    pub(crate) max_contradicted: Whole<0, 10_000>,
    pub(crate) max_unsupported: Whole<0, 10_000>,
    pub(crate) max_hallucination_ratio: Share,
    pub(crate) evidence_threshold: Threshold,
    pub(crate) gate: ProjectGate,
    pub(crate) opinions: Whole<1, 2>,
    pub(crate) high_risk_domains: Vec<String>,
    pub(crate) sample_passed: Share,
    pub(crate) sample_passed_high_risk: Share,
    pub(crate) sample_rate: Share,
    pub(crate) rate_per_minute: Whole<0, 1_000_000_000>,
    pub(crate) fail_on: Vec<FailOn>,
    pub(crate) cap_calls_per_day: Whole<0, 1_000_000_000_000>,
    pub(crate) cap_tokens_per_day: Whole<0, 1_000_000_000_000_000>,
    pub(crate) cap_money_per_day: Money,
    pub(crate) over_cap: OverCap,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectGate {
    pub(crate) ungrounded: WhenUngrounded,
    pub(crate) exhausted: WhenExhausted,
    pub(crate) unknown: WhenUnknown,
    pub(crate) max_regenerations: Whole<0, 2>,
    pub(crate) redact_at_most: Share,
    pub(crate) per_claim: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requirements {
    pub(crate) retrieved_at: TimeFrom,
    pub(crate) rank: RankFrom,
    pub(crate) source_id: IdFrom,
}

/// A threshold as it is written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct FailOn(pub(crate) outcomes::Threshold);

impl TryFrom<String> for FailOn {
    type Error = outcomes::condition::ConditionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// Where the time of a retrieval may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TimeFrom {
    Explicit,
    FromSpan,
}

/// Where the rank of a chunk may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RankFrom {
    Explicit,
    ListOrder,
}

/// Where the source id of a chunk may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IdFrom {
    Explicit,
    Synthetic,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    pub(crate) level: Level,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// The least level that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}
