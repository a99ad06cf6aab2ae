//! What people and commands see of the tables. Written as JSON by the commands' `--json`.

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};
use serde_json::Value;
use uuid::Uuid;

use crate::ReviewStatus;

/// Writes bytes as text for people, with a replacement character for what is no UTF-8.
pub(crate) fn lossy<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    bytes.as_deref().map(String::from_utf8_lossy).serialize(serializer)
}

/// Whether payload, requests and raw replies are read too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bodies {
    /// They are; they can be large.
    With,
    /// They are left out.
    Without,
}

/// A stored trace and everything that is known about it.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct TraceView {
    /// Id of the row: one per content.
    pub id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id.
    pub trace_id: String,
    /// SHA-256 of what a verdict depends on, in hex.
    pub content_hash: String,
    /// When the answer was given.
    pub occurred_at: Option<DateTime<Utc>>,
    /// Why it was sent.
    pub origin: String,
    /// What the answer was meant to be.
    pub intent: String,
    /// How much harm a wrong answer can do.
    pub risk: String,
    /// What a wrongly blocked answer costs.
    pub value: String,
    /// Subject area.
    pub domain: Option<String>,
    /// The question.
    pub query: Option<String>,
    /// The answer.
    pub answer: Option<String>,
    /// The model that wrote the answer.
    pub generator_model: Option<String>,
    /// The producer's prompt version.
    pub generator_prompt_version: Option<String>,
    /// Who is told about a critical finding.
    pub content_owner: Option<String>,
    /// How many chunks were retrieved.
    pub chunk_count: i32,
    /// What a person said before.
    pub human_faithful: Option<bool>,
    /// The score that person gave.
    pub human_score: Option<f64>,
    /// Who that person is.
    pub human_labeler: Option<String>,
    /// When this content was first received.
    pub received_at: DateTime<Utc>,
    /// Length of the message, in bytes.
    pub payload_bytes: i64,
    /// The message byte for byte, if asked for.
    #[serde(serialize_with = "lossy", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Vec<u8>>,
    /// When the message was removed by age; none while it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_removed_at: Option<DateTime<Utc>>,
    /// Its audits, by kind, generation and repeat.
    #[sqlx(skip)]
    pub audits: Vec<AuditView>,
}

/// A stored audit with what belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct AuditView {
    /// Its id.
    pub id: Uuid,
    /// The trace's row.
    pub trace_row: Uuid,
    /// The audit kind.
    pub kind: String,
    /// Rises when it is asked for again.
    pub generation: i64,
    /// Which of several repeated runs.
    pub repeat: i64,
    /// How it ended; none while it is open.
    pub disposition: Option<String>,
    /// What the producer should do.
    pub decision: Option<String>,
    /// The gravest finding.
    pub severity: Option<String>,
    /// The number that the kind yields.
    pub score: Option<f64>,
    /// Whether a rule fixed the score.
    pub score_by_rule: bool,
    /// Version of the prompt.
    pub prompt_version: String,
    /// SHA-256 of the prompt's text, in hex.
    pub prompt_hash: String,
    /// The judge profile.
    pub judge: String,
    /// The model of the last accepted reply.
    pub model_answered: Option<String>,
    /// Claims in the report; none when nothing was judged.
    pub claims_total: Option<i32>,
    /// Grounded ones.
    pub claims_grounded: Option<i32>,
    /// Contradicted ones.
    pub claims_contradicted: Option<i32>,
    /// Unsupported ones.
    pub claims_unsupported: Option<i32>,
    /// Those with too little evidence.
    pub claims_insufficient: Option<i32>,
    /// Omissions in the report.
    pub omissions_total: Option<i32>,
    /// Share of the answer that the claims hold.
    pub coverage: Option<f64>,
    /// What verification noticed.
    pub doubts: Value,
    /// Figures of the judge that differ from ours.
    pub discrepancies: Value,
    /// Oddities that were tolerated.
    pub notes: Value,
    /// The summary.
    pub overall_assessment: Option<String>,
    /// Whether an earlier human label agrees.
    pub human_agreement: Option<bool>,
    /// What differs from it.
    pub discrepancy_notes: Option<String>,
    /// Why a person has to see it.
    pub reasons: Value,
    /// Why the trace was incomplete or not applicable.
    pub trace_problems: Value,
    /// Where times, ranks and source ids came from.
    pub provenance: Value,
    /// No golden run exists for this combination.
    pub uncalibrated: bool,
    /// The judge was the practice judge.
    pub practice: bool,
    /// Its review item is urgent.
    pub urgent: bool,
    /// Calls of the judge.
    pub attempts_total: i32,
    /// Those that brought a reply.
    pub replies_total: i32,
    /// Later deliveries.
    pub duplicates: i64,
    /// The trace id had come with other content.
    pub other_content: bool,
    /// When it was opened.
    pub opened_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
    /// Whether nothing will change it any more.
    pub r#final: bool,
    /// Its claims, in order.
    #[sqlx(skip)]
    pub claims: Vec<ClaimView>,
    /// Its omissions, in order.
    #[sqlx(skip)]
    pub omissions: Vec<OmissionView>,
    /// Its attempts, by unit and number.
    #[sqlx(skip)]
    pub attempts: Vec<AttemptView>,
    /// Its review item.
    #[sqlx(skip)]
    pub review_item: Option<ReviewItem>,
}

/// A stored claim.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct ClaimView {
    /// The audit.
    #[serde(skip)]
    pub audit_id: Uuid,
    /// Place in the report.
    pub index: i32,
    /// The claim.
    pub text: String,
    /// What was decided.
    pub verdict: String,
    /// The judge's own word.
    pub judge_verdict: Option<String>,
    /// How grave it is.
    pub severity: Option<String>,
    /// How sure the judge was.
    pub confidence: Option<String>,
    /// The reasoning.
    pub explanation: String,
    /// Whether a rule decided.
    pub by_rule: bool,
    /// Place in the answer, in scalar values.
    pub answer_start: Option<i64>,
    /// One past it.
    pub answer_end: Option<i64>,
    /// The source of its first quote.
    pub source_id: Option<String>,
    /// Its quotes.
    pub evidence: Value,
    /// The id in the list that was sent.
    pub claim_id: Option<String>,
    /// Plausible or likely made up.
    pub fabrication: Option<String>,
}

/// A stored omission.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct OmissionView {
    /// The audit.
    #[serde(skip)]
    pub audit_id: Uuid,
    /// Place in the report.
    pub index: i32,
    /// The fact that is missing.
    pub missing_fact: String,
    /// The passage that holds it.
    pub available_evidence: String,
    /// Why it matters.
    pub impact: String,
    /// The chunk's source id.
    pub source_id: String,
    /// The chunk's index in the trace.
    pub chunk: i32,
    /// Place in the chunk, in scalar values.
    pub chunk_start: i64,
    /// One past it.
    pub chunk_end: i64,
    /// The rule by which it was found.
    pub grade: String,
}

/// A stored attempt.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct AttemptView {
    /// The audit.
    #[serde(skip)]
    pub audit_id: Uuid,
    /// Which unit, from 0.
    pub unit: i32,
    /// Which attempt at it, from 1.
    pub number: i32,
    /// When the call began.
    pub started_at: DateTime<Utc>,
    /// How long it took, in microseconds.
    pub latency_us: i64,
    /// The judge profile.
    pub judge: String,
    /// The model that was asked for.
    pub model: String,
    /// The model that answered.
    pub model_answered: Option<String>,
    /// Version of the prompt.
    pub prompt_version: String,
    /// How the call ended.
    pub class: String,
    /// What was wrong.
    pub problems: Value,
    /// How the next call differs.
    pub remedy: Option<String>,
    /// Why the judge stopped.
    pub finish_reason: Option<String>,
    /// HTTP status.
    pub http_status: Option<i32>,
    /// Tokens of the prompt.
    pub prompt_tokens: Option<i64>,
    /// Tokens of the reply.
    pub completion_tokens: Option<i64>,
    /// Price in millionths of the currency; none when unknown.
    pub cost_micros: Option<i64>,
    /// Currency of the price.
    pub currency: Option<String>,
    /// The judge's words.
    pub content: Option<String>,
    /// Length of the request, in bytes.
    pub request_bytes: i64,
    /// The body that was sent, if asked for.
    #[serde(serialize_with = "lossy", skip_serializing_if = "Option::is_none")]
    pub request: Option<Vec<u8>>,
    /// The body that came back, if asked for.
    #[serde(serialize_with = "lossy", skip_serializing_if = "Option::is_none")]
    pub raw_reply: Option<Vec<u8>>,
    /// When request, reply and the judge's words were removed by age; none while they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_removed_at: Option<DateTime<Utc>>,
}

/// A stored review item.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct ReviewItem {
    /// Its id.
    pub id: Uuid,
    /// The audit.
    pub audit_id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind.
    pub kind: String,
    /// Why people have to see it.
    pub reasons: Value,
    /// The gravest finding.
    pub severity: Option<String>,
    /// Whether somebody is paged.
    pub urgent: bool,
    /// Whether it is shown without the verdict.
    pub blind: bool,
    /// Where it stands.
    #[sqlx(try_from = "String")]
    pub status: ReviewStatus,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// What the announcing message says.
    pub evidence: Value,
    /// On which list of the desk it stands: findings, failed or sample.
    pub list: String,
    /// Order of urgency on the desk, 0 first.
    #[serde(skip)]
    pub rank: i16,
    /// Rises with every taking.
    pub fence: i64,
    /// Who has it.
    pub claimed_by: Option<String>,
    /// Until when.
    pub leased_until: Option<DateTime<Utc>>,
    /// Who closed it.
    pub closed_by: Option<String>,
    /// When the review ended.
    pub closed_at: Option<DateTime<Utc>>,
    /// How it ended: ruled, retried or dismissed.
    pub outcome: Option<String>,
    /// Whether the whole answer is faithful, as ruled.
    pub faithful: Option<bool>,
    /// What the producer should do after the review.
    pub final_decision: Option<String>,
}

/// One line about an audit that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct AuditLine {
    /// The audit.
    pub id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind.
    pub kind: String,
    /// Its generation.
    pub generation: i64,
    /// How it ended.
    pub disposition: String,
    /// What the producer should do.
    pub decision: Option<String>,
    /// The gravest finding.
    pub severity: Option<String>,
    /// The number that the kind yields.
    pub score: Option<f64>,
    /// Claims in the report.
    pub claims_total: Option<i32>,
    /// Grounded ones.
    pub claims_grounded: Option<i32>,
    /// The judge profile.
    pub judge: String,
    /// Whether it was the practice judge.
    pub practice: bool,
    /// Whether somebody is paged.
    pub urgent: bool,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
}
