//! What the judge must return: one typed struct, its JSON Schema, and the reader that keeps to it.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::kinds::shape::{self, ConfidenceWord, Word};
use crate::reply::{Code, Fields, Problem};
use crate::report::Confidence;
use crate::verify::{Corpus, says_absent};

/// Result of one audit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Reply {
    /// Every verifiable claim of the answer.
    pub claims: Vec<Claim>,
    /// The counts of the claims.
    pub overall_assessment: Totals,
}

/// The counts of the claims.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Totals {
    /// Number of claims.
    pub total_claims: u64,
    /// Number of SUPPORTED claims.
    pub supported_claims: u64,
    /// Number of UNSUPPORTED claims.
    pub unsupported_claims: u64,
    /// Number of INSUFFICIENT_EVIDENCE claims.
    pub insufficient_evidence_claims: u64,
    /// unsupported_claims divided by total_claims, from 0 to 1; 0 without claims.
    pub hallucination_ratio: f64,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Claim {
    /// 1, 2 and so on.
    pub claim_id: u64,
    /// The claim, word by word as the answer has it.
    pub claim_text: String,
    /// The part of the answer that makes the claim.
    pub answer_span: String,
    /// Verbatim passage of the strongest source, or null.
    pub supporting_source: Option<String>,
    /// The source_id of the block that the passage was copied from, or null.
    pub source_location: Option<String>,
    /// For a claim that is not SUPPORTED what evidence is missing or contradicts it; or null.
    pub missing_evidence_description: Option<String>,
    #[schemars(with = "VerdictWord")]
    pub verdict: Word<Support>,
    /// How sure you are of the verdict.
    #[schemars(with = "ConfidenceWord")]
    pub confidence: Confidence,
}

/// The three verdicts of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Support {
    Supported,
    Unsupported,
    InsufficientEvidence,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(dead_code, reason = "only its schema is used")]
enum VerdictWord {
    Supported,
    Unsupported,
    InsufficientEvidence,
}

const WORDS: [(&str, Support); 3] = [
    ("SUPPORTED", Support::Supported),
    ("UNSUPPORTED", Support::Unsupported),
    ("INSUFFICIENT_EVIDENCE", Support::InsufficientEvidence),
];

/// The required top-level keys.
pub const KEYS: &[&str] = &["claims", "overall_assessment"];

/// The JSON Schema of a reply.
pub fn schema() -> Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(shape::schema_of::<Reply>);
    SCHEMA.clone()
}

/// Reads a reply. What looks like words for nothing may be an id or a passage of the evidence.
///
/// # Errors
/// Everything that is not as the schema and its rules want it.
pub fn read(object: &Map<String, Value>, corpus: &Corpus<'_>) -> Result<(Reply, Vec<String>), Vec<Problem>> {
    shape::read(object, |fields| {
        let overall_assessment = fields.object("overall_assessment", read_totals);
        let claims = fields.list("claims", |fields| read_claim(fields, corpus));
        Some(Reply { overall_assessment: overall_assessment?, claims: claims? })
    })
}

fn read_totals(fields: &mut Fields<'_>) -> Option<Totals> {
    let total_claims = fields.count("total_claims");
    let supported_claims = fields.count("supported_claims");
    let unsupported_claims = fields.count("unsupported_claims");
    let insufficient_evidence_claims = fields.count("insufficient_evidence_claims");
    let hallucination_ratio = fields.number("hallucination_ratio", 0.0..=1.0);
    Some(Totals {
        total_claims: total_claims?,
        supported_claims: supported_claims?,
        unsupported_claims: unsupported_claims?,
        insufficient_evidence_claims: insufficient_evidence_claims?,
        hallucination_ratio: hallucination_ratio?,
    })
}

fn read_claim(fields: &mut Fields<'_>, corpus: &Corpus<'_>) -> Option<Claim> {
    let claim_id = fields.ordinal("claim_id");
    let claim_text = fields.text("claim_text");
    let answer_span = fields.text_or_empty("answer_span");
    let verdict = shape::verdict(fields, "verdict", &WORDS);
    let supporting_source = shape::quote(fields, "supporting_source", corpus);
    let source_location = shape::source(fields, "source_location", corpus);
    let missing = fields.nullable_text("missing_evidence_description");
    let confidence = shape::confidence(fields);
    let word = verdict.as_ref().map(|word| word.value);
    let has_quote = matches!(supporting_source, Some(Some(_)));
    if word == Some(Support::Supported) {
        shape::require_source(fields, "source_location", has_quote, source_location.as_ref());
    }
    let is_blank = matches!(missing, Some(text) if text.is_none_or(|text| text.trim().is_empty()));
    // A remark that stands where the passage belongs says it as well.
    let remark = fields.string("supporting_source").filter(|text| !has_quote && says_absent(text));
    let missing = if is_blank && remark.is_some() { missing.map(|_| remark) } else { missing };
    if word == Some(Support::Unsupported) && is_blank && !has_quote && remark.is_none() {
        fields.refuse(
            Code::MissingKey,
            "missing_evidence_description",
            "null; an UNSUPPORTED claim needs what evidence is missing",
        );
    }
    Some(Claim {
        claim_id: claim_id?,
        claim_text: claim_text?.to_owned(),
        answer_span: answer_span?.to_owned(),
        verdict: verdict?,
        supporting_source: supporting_source?,
        source_location: source_location?,
        missing_evidence_description: missing?.map(str::to_owned),
        confidence: confidence?,
    })
}
