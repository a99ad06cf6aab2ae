//! What the judge must return: one typed struct, its JSON Schema, and the reader that keeps to it.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::kinds::shape::{self, SeverityWord, Word};
use crate::reply::{Fields, Problem};
use crate::report::Severity;
use crate::verify::Corpus;

/// Result of one batch of claims.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Reply {
    /// One entry for each claim of the list.
    pub analysis: Vec<Claim>,
    /// The counts of the entries.
    pub summary: Summary,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Claim {
    /// The id that the claim has in the list.
    pub claim_id: String,
    /// The claim, as the list has it.
    pub claim_text: String,
    /// Verbatim passage of the reference that states the claim, or that contradicts it; or null.
    pub reference_evidence: Option<String>,
    /// Why.
    pub explanation: String,
    #[schemars(with = "Category")]
    pub category: Word<Category>,
    /// How grave a hallucinated or unsupported claim is; null for a grounded one.
    #[schemars(with = "Option<SeverityWord>")]
    pub severity: Option<Severity>,
}

/// The counts of the entries.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Summary {
    /// Number of claims.
    pub total_claims: u64,
    /// Number of grounded claims.
    pub grounded_count: u64,
    /// Number of hallucinated claims.
    pub hallucinated_count: u64,
    /// Number of unsupported claims.
    pub unsupported_count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    Grounded,
    Hallucinated,
    Unsupported,
}

const WORDS: [(&str, Category); 3] = [
    ("grounded", Category::Grounded),
    ("hallucinated", Category::Hallucinated),
    ("unsupported", Category::Unsupported),
];

/// The required top-level keys.
pub const KEYS: &[&str] = &["analysis", "summary"];

/// The JSON Schema of a reply.
pub fn schema() -> Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(shape::schema_of::<Reply>);
    SCHEMA.clone()
}

/// Reads a reply. What looks like words for nothing may be a passage of the evidence.
///
/// # Errors
/// Everything that is not as the schema and its rules want it.
pub fn read(object: &Map<String, Value>, corpus: &Corpus<'_>) -> Result<(Reply, Vec<String>), Vec<Problem>> {
    shape::read(object, |fields| {
        let analysis = fields.list("analysis", |fields| read_claim(fields, corpus));
        let summary = fields.object("summary", read_summary);
        Some(Reply { analysis: analysis?, summary: summary? })
    })
}

fn read_summary(fields: &mut Fields<'_>) -> Option<Summary> {
    let total_claims = fields.count("total_claims");
    let grounded_count = fields.count("grounded_count");
    let hallucinated_count = fields.count("hallucinated_count");
    let unsupported_count = fields.count("unsupported_count");
    Some(Summary {
        total_claims: total_claims?,
        grounded_count: grounded_count?,
        hallucinated_count: hallucinated_count?,
        unsupported_count: unsupported_count?,
    })
}

fn read_claim(fields: &mut Fields<'_>, corpus: &Corpus<'_>) -> Option<Claim> {
    let claim_id = fields.identifier("claim_id");
    let claim_text = fields.text("claim_text");
    let category = shape::verdict(fields, "category", &WORDS);
    let is_finding = category.as_ref().map(|word| word.value != Category::Grounded);
    let severity = shape::severity(fields, is_finding);
    let reference_evidence = shape::quote(fields, "reference_evidence", corpus);
    let explanation = fields.text_or_empty("explanation");
    Some(Claim {
        claim_id: claim_id?,
        claim_text: claim_text?.to_owned(),
        category: category?,
        severity: severity?,
        reference_evidence: reference_evidence?,
        explanation: explanation?.to_owned(),
    })
}
