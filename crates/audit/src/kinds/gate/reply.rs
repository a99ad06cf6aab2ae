//! What the judge must return: one typed struct, its JSON Schema, and the reader that keeps to it.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::kinds::shape::{self, ConfidenceWord, Word};
use crate::reply::{Fields, Problem};
use crate::report::{Confidence, Verdict};
use crate::verify::Corpus;

/// Result of one gate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Reply {
    /// Every factual claim of the answer.
    pub claims: Vec<Claim>,
    /// "ungrounded" if any claim is, else "grounded".
    #[schemars(with = "VerdictWord")]
    pub overall_verdict: Word<Verdict>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Claim {
    /// The claim in the answer's own words.
    pub claim_text: String,
    /// Verbatim passage of one source that carries the claim, or null.
    pub source_quote: Option<String>,
    /// The source_id of the block that the passage was copied from, or null.
    pub source_id: Option<String>,
    #[schemars(with = "VerdictWord")]
    pub verdict: Word<Verdict>,
    /// How sure you are of the verdict.
    #[schemars(with = "ConfidenceWord")]
    pub confidence: Confidence,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum VerdictWord {
    Grounded,
    Ungrounded,
}

const WORDS: [(&str, Verdict); 2] = [("grounded", Verdict::Grounded), ("ungrounded", Verdict::Unsupported)];

/// The required top-level keys.
pub const KEYS: &[&str] = &["claims", "overall_verdict"];

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
        let overall_verdict = shape::verdict(fields, "overall_verdict", &WORDS);
        let claims = fields.list("claims", |fields| read_claim(fields, corpus));
        Some(Reply { overall_verdict: overall_verdict?, claims: claims? })
    })
}

fn read_claim(fields: &mut Fields<'_>, corpus: &Corpus<'_>) -> Option<Claim> {
    let claim_text = fields.text("claim_text");
    let verdict = shape::verdict(fields, "verdict", &WORDS);
    let source_quote = shape::quote(fields, "source_quote", corpus);
    let source_id = shape::source(fields, "source_id", corpus);
    let confidence = shape::confidence(fields);
    let is_grounded = verdict.as_ref().is_some_and(|word| word.value == Verdict::Grounded);
    let has_quote = is_grounded && matches!(source_quote, Some(Some(_)));
    shape::require_source(fields, "source_id", has_quote, source_id.as_ref());
    Some(Claim {
        claim_text: claim_text?.to_owned(),
        verdict: verdict?,
        source_quote: source_quote?,
        source_id: source_id?,
        confidence: confidence?,
    })
}
