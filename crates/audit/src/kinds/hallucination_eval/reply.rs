//! What the judge must return: one typed struct, its JSON Schema, and the reader that keeps to it.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::kinds::shape::{self, ConfidenceWord, FabricationWord, Word};
use crate::reply::{Fields, Problem};
use crate::report::{Confidence, Fabrication, Verdict};
use crate::verify::Corpus;

/// Result of one audit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Reply {
    /// Every factual claim of the answer.
    pub claims: Vec<Claim>,
    /// Number of claims.
    pub total_claims: u64,
    /// Number of SUPPORTED claims.
    pub supported_claims: u64,
    /// Number of UNSUPPORTED claims.
    pub unsupported_claims: u64,
    /// Number of CONTRADICTED claims.
    pub contradicted_claims: u64,
    /// supported_claims divided by total_claims, in percent; 100 without claims.
    pub groundedness_score: f64,
    /// A short summary.
    pub overall_assessment: String,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Claim {
    /// The claim in the answer's own words.
    pub claim_text: String,
    /// Verbatim passage that supports or contradicts the claim, or null.
    pub source_evidence: Option<String>,
    /// The source_id of the block that the passage was copied from, or null.
    pub evidence_source: Option<String>,
    /// Why.
    pub notes: String,
    #[schemars(with = "Classification")]
    pub classification: Word<Verdict>,
    /// For an UNSUPPORTED claim whether it may be true or is likely made up; null for any other.
    #[schemars(with = "Option<FabricationWord>")]
    pub fabrication: Option<Fabrication>,
    /// How sure you are of the classification.
    #[schemars(with = "ConfidenceWord")]
    pub confidence: Confidence,
}

/// The judge's words for its verdicts.
#[derive(JsonSchema)]
#[schemars(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "only its schema is used")]
enum Classification {
    Supported,
    Unsupported,
    Contradicted,
    Unverifiable,
}

const WORDS: [(&str, Verdict); 4] = [
    ("SUPPORTED", Verdict::Grounded),
    ("UNSUPPORTED", Verdict::Unsupported),
    ("CONTRADICTED", Verdict::Contradicted),
    ("UNVERIFIABLE", Verdict::InsufficientEvidence),
];

/// The required top-level keys.
pub const KEYS: &[&str] = &[
    "claims",
    "total_claims",
    "supported_claims",
    "unsupported_claims",
    "contradicted_claims",
    "groundedness_score",
    "overall_assessment",
];

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
    shape::read(object, |fields| read_reply(fields, corpus))
}

fn read_reply(fields: &mut Fields<'_>, corpus: &Corpus<'_>) -> Option<Reply> {
    // Each field is read before the first missing one ends the reading, so that all problems are found.
    let groundedness_score = fields.number("groundedness_score", 0.0..=100.0);
    let total_claims = fields.count("total_claims");
    let supported_claims = fields.count("supported_claims");
    let unsupported_claims = fields.count("unsupported_claims");
    let contradicted_claims = fields.count("contradicted_claims");
    let claims = fields.list("claims", |fields| read_claim(fields, corpus));
    let overall_assessment = fields.text_or_empty("overall_assessment");
    Some(Reply {
        groundedness_score: groundedness_score?,
        total_claims: total_claims?,
        supported_claims: supported_claims?,
        unsupported_claims: unsupported_claims?,
        contradicted_claims: contradicted_claims?,
        claims: claims?,
        overall_assessment: overall_assessment?.to_owned(),
    })
}

fn read_claim(fields: &mut Fields<'_>, corpus: &Corpus<'_>) -> Option<Claim> {
    let claim_text = fields.text("claim_text");
    let classification = shape::verdict(fields, "classification", &WORDS);
    let source_evidence = shape::quote(fields, "source_evidence", corpus);
    let evidence_source = shape::source(fields, "evidence_source", corpus);
    let notes = fields.text_or_empty("notes");
    let confidence = shape::confidence(fields);
    let verdict = classification.as_ref().map(|word| word.value);
    let fabrication = shape::fabrication(fields, verdict.map(|verdict| verdict == Verdict::Unsupported));
    let has_quote = verdict == Some(Verdict::Grounded) && matches!(source_evidence, Some(Some(_)));
    shape::require_source(fields, "evidence_source", has_quote, evidence_source.as_ref());
    Some(Claim {
        claim_text: claim_text?.to_owned(),
        classification: classification?,
        source_evidence: source_evidence?,
        evidence_source: evidence_source?,
        notes: notes?.to_owned(),
        confidence: confidence?,
        fabrication: fabrication?,
    })
}
