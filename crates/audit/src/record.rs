//! What is written down about an audit. The store puts these into tables; the runner makes them.

use std::sync::Arc;
use std::time::Duration;

use crate::compare::Comparison;
use crate::gate::Resolution;
use crate::policy::{Class, Remedy};
use crate::report::Report;
use crate::routing::{Disposition, Routed};
use crate::units::Cut;
use chrono::{DateTime, Utc};
use serde_json::Value;
use trace::{ContentHash, Kind, Problem, Trace};
use uuid::Uuid;

/// The namespace of every id that Groundcrew derives from content.
const NAMESPACE: Uuid = Uuid::from_u128(0x8f1d_5f0a_6a1e_5d0c_9a57_67c0_7e11_0001);

/// Which audit this is. Two deliveries with the same key are the same audit (unique in Postgres).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AuditKey {
    /// The producer's project.
    pub project: String,
    /// The producer's trace id.
    pub trace_id: String,
    /// Hash of what the verdict depends on.
    pub content_hash: ContentHash,
    /// The audit kind.
    pub kind: Kind,
    /// Rises when somebody asks for the audit again.
    pub generation: u32,
    /// Which of several repeated runs, from 0.
    pub repeat: u32,
}

impl AuditKey {
    /// The audit's id: derived from the key, so that two workers that race for one audit write the same rows.
    pub fn id(&self) -> Uuid {
        let name = serde_json::json!([
            self.project,
            self.trace_id,
            self.content_hash.to_string(),
            self.kind.as_str(),
            self.generation,
            self.repeat
        ]);
        Uuid::new_v5(&NAMESPACE, name.to_string().as_bytes())
    }

    /// Whether its kind is one that a caller may wait for, to be told what to do with an answer.
    pub const fn is_gate(&self) -> bool {
        matches!(self.kind, Kind::Gate | Kind::EvidenceCheck)
    }

    /// The id of the stored trace, the same for every kind and generation.
    pub fn trace_row_id(&self) -> Uuid {
        let name = serde_json::json!([self.project, self.trace_id, self.content_hash.to_string()]);
        Uuid::new_v5(&NAMESPACE, name.to_string().as_bytes())
    }
}

/// The id of something that belongs to `owner` and occurs once under `name`.
pub fn derived_id(owner: Uuid, name: &str) -> Uuid {
    Uuid::new_v5(&owner, name.as_bytes())
}

/// What is fixed when an audit is opened, across deploys and crashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Version of the prompt.
    pub prompt_version: String,
    /// SHA-256 of the prompt's text, in hex.
    pub prompt_hash: String,
    /// Name of the judge profile.
    pub judge: String,
    /// The random word in the delimiters of untrusted text.
    pub nonce: String,
    /// How the answer is cut into units, so that the numbers of stored attempts keep their meaning; none for an
    /// audit that was opened before this was kept.
    pub cut: Option<Cut>,
    /// When the audit was opened.
    pub opened_at: DateTime<Utc>,
}

/// The trace as it is stored, once per content.
#[derive(Debug, Clone)]
pub struct TraceRecord {
    /// The decoded trace (for the columns).
    pub trace: Trace,
    /// The message as it came.
    pub payload: Vec<u8>,
    /// When it was first received.
    pub received_at: DateTime<Utc>,
}

/// Everything about one call of the judge, also when it failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Which unit of the audit, from 0.
    pub unit: u32,
    /// Which attempt at this unit, from 1, without gaps.
    pub number: u32,
    /// When the call began.
    pub started_at: DateTime<Utc>,
    /// How long it took.
    pub latency: Duration,
    /// Name of the judge profile that was asked.
    pub judge: String,
    /// The model that was asked for.
    pub model: String,
    /// The model that answered, as it said itself.
    pub model_answered: Option<String>,
    /// Version of the prompt.
    pub prompt_version: String,
    /// SHA-256 of the prompt's text, in hex.
    pub prompt_hash: String,
    /// The body that was sent, with all parameters. JSON.
    pub request: Vec<u8>,
    /// The body that came back, byte for byte; none when nothing came.
    pub raw_reply: Option<Vec<u8>>,
    /// The judge's words in it; none when there were none to read.
    pub content: Option<String>,
    /// Why the judge stopped, as it said itself.
    pub finish_reason: Option<String>,
    /// HTTP status, when there was one.
    pub http_status: Option<u16>,
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the reply.
    pub completion_tokens: Option<u64>,
    /// Price of the call in millionths of `currency`; none when it is not known, never 0 for that.
    pub cost_micros: Option<i64>,
    /// Currency of the price, such as `USD`.
    pub currency: Option<String>,
    /// How the call ended.
    pub class: Class,
    /// What was wrong: a JSON list of objects with `code`, `path` and `message`.
    pub problems: Value,
    /// How the next call differs; none when none follows.
    pub remedy: Option<Remedy>,
}

/// An audit at its end: everything that one commit writes.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Which audit.
    pub key: AuditKey,
    /// What was fixed when it was opened.
    pub opening: Opening,
    /// The trace it is about. Shared: an audit is long in flight, and a trace can be large.
    pub trace: Arc<TraceRecord>,
    /// Attempts that are not committed yet, in order.
    pub attempts: Vec<Attempt>,
    /// What was found; none when nothing was judged.
    pub report: Option<Report>,
    /// Comparison with the label, if there is one.
    pub comparison: Option<Comparison>,
    /// What routing decided.
    pub routed: Routed,
    /// Why the trace was incomplete or not applicable; empty otherwise.
    pub trace_problems: Vec<Problem>,
    /// Where the provenance fields came from: a JSON object of field to provenance.
    pub provenance: Value,
    /// True when the judge is the practice judge or the prompt has no golden run for it.
    pub uncalibrated: bool,
    /// True when the judge was the practice judge.
    pub practice: bool,
    /// When the audit ended.
    pub ended_at: DateTime<Utc>,
    /// Messages that must follow from this end.
    pub events: Vec<Event>,
    /// The call of the gate that this was, and its answer.
    pub gate: Option<GateEnd>,
}

impl Ending {
    /// Whether a review item is made. Repeated runs show how far the judge agrees with itself; people are asked once.
    pub fn asks_people(&self) -> bool {
        self.routed.needs_review() && self.key.repeat == 0
    }

    /// Whether nothing can change the result any more.
    pub fn is_final(&self) -> bool {
        !self.asks_people() || self.routed.blind_sample
    }
}

/// How a call of the gate came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateChannel {
    /// A request that waits for its response.
    Http,
    /// A trace with a reply queue.
    Queue,
}

impl GateChannel {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Queue => "queue",
        }
    }
}

/// A call of the gate: somebody waits for what to do with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateCall {
    /// Its id.
    pub id: Uuid,
    /// How it came.
    pub channel: GateChannel,
    /// Who asks; none over the queue.
    pub caller: Option<String>,
    /// What ties an answer and its regenerations together.
    pub session: Option<String>,
    /// How often the session had been told to regenerate before.
    pub regenerations: u32,
    /// Calls of the session that were open when this one was claimed: each may yet be told to regenerate.
    pub earlier: Vec<Uuid>,
    /// The caller's key: the same key again gets the same answer.
    pub idempotency_key: Option<String>,
    /// SHA-256 of the body, where there is a key.
    pub body_hash: Option<[u8; 32]>,
    /// How long the caller waits; none over the queue.
    pub deadline: Option<Duration>,
    /// When the call came.
    pub received_at: DateTime<Utc>,
}

/// How a call of the gate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateOutcome {
    /// With a verdict.
    Judged,
    /// The judge's replies could not be used.
    Unusable,
    /// The deadline passed before there was a verdict.
    Deadline,
    /// The caller went away.
    ClientGone,
    /// No judge could be reached.
    JudgeUnavailable,
    /// The project is over its cap.
    OverBudget,
    /// Its process ended.
    CutOff,
    /// The trace lacks what the audit needs, or the call itself is wrong.
    Incomplete,
    /// The trace is not to be judged.
    NotApplicable,
}

impl GateOutcome {
    /// The outcome that follows from how the audit ended.
    pub const fn of(disposition: Disposition) -> Self {
        match disposition {
            Disposition::Passed | Disposition::Flagged | Disposition::Escalated | Disposition::NoClaims => {
                Self::Judged
            }
            Disposition::Unreadable | Disposition::Inconsistent | Disposition::Refused => Self::Unusable,
            Disposition::JudgeUnavailable => Self::JudgeUnavailable,
            Disposition::OverBudget => Self::OverBudget,
            Disposition::Incomplete => Self::Incomplete,
            Disposition::NotApplicable => Self::NotApplicable,
        }
    }

    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Judged => "judged",
            Self::Unusable => "unusable",
            Self::Deadline => "deadline",
            Self::ClientGone => "client_gone",
            Self::JudgeUnavailable => "judge_unavailable",
            Self::OverBudget => "over_budget",
            Self::CutOff => "cut_off",
            Self::Incomplete => "incomplete",
            Self::NotApplicable => "not_applicable",
        }
    }
}

/// A call of the gate at its end, as one commit writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct GateEnd {
    /// The call.
    pub call: GateCall,
    /// What the caller is told.
    pub resolution: Resolution,
    /// How it ended.
    pub outcome: GateOutcome,
    /// How long the judge was waited for.
    pub judged_for: Duration,
    /// From the request to the commit; none over the queue.
    pub total: Option<Duration>,
    /// The answer as it is given, where a key may ask for it again.
    pub response: Option<String>,
}

/// A message for the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its id, derived from the audit: publishing it again is the same message.
    pub id: Uuid,
    /// Exchange; empty for a reply to the producer's own queue.
    pub exchange: String,
    /// Routing key, or the queue's name for a reply.
    pub routing_key: String,
    /// The producer's correlation id, for a reply.
    pub correlation_id: Option<String>,
    /// JSON body.
    pub body: Value,
}

/// What is already known about an audit when its trace arrives.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// Nothing: it is new.
    New,
    /// It has begun, here or in another worker.
    Open {
        /// What was fixed when it was opened.
        opening: Opening,
        /// Committed attempts, by unit and number.
        attempts: Vec<Attempt>,
    },
    /// It has ended.
    Ended {
        /// How.
        disposition: Disposition,
    },
}
