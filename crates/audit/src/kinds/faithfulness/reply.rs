//! What the judge must return: one typed struct, its JSON Schema, and the reader that keeps to it.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Severity;
use crate::kinds::shape::{self, SeverityWord, Word};
use crate::reply::{Fields, Problem};
use crate::verify::Corpus;

/// Result of one audit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Reply {
    /// Every factual claim of the answer.
    pub claim_analysis: Vec<Claim>,
    /// What the evidence offers on the question and the answer leaves out.
    pub omission_flags: Vec<Omission>,
    /// Number of claims.
    pub total_claims: u64,
    /// Number of grounded claims.
    pub grounded_claims: u64,
    /// Number of hallucinated claims.
    pub hallucinated_claims: u64,
    /// Number of omission flags.
    pub omitted_facts: u64,
    /// grounded_claims divided by total_claims, from 0 to 1.
    pub faithfulness_score: f64,
    /// A short summary.
    pub overall_assessment: String,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Claim {
    /// The claim in the answer's own words.
    pub claim_text: String,
    /// Verbatim passage that carries the claim, or null.
    pub supporting_evidence: Option<String>,
    /// Verbatim passage that says something else, or null.
    pub contradicting_evidence: Option<String>,
    /// The source_id of the block that the passage was copied from, or null.
    pub source_id: Option<String>,
    /// Why; for a hallucinated claim, what the evidence lacks.
    pub explanation: String,
    #[schemars(with = "Classification")]
    pub classification: Word<Classification>,
    /// How grave a hallucinated claim is; null for a grounded one.
    #[schemars(with = "Option<SeverityWord>")]
    pub severity: Option<Severity>,
}

/// One omission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Omission {
    /// The fact that the answer leaves out.
    pub omitted_fact: String,
    /// Verbatim passage that holds it.
    pub source_passage: String,
    /// Why it matters for the question.
    pub relevance: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Classification {
    Grounded,
    Hallucinated,
}

/// The required top-level keys.
pub const KEYS: &[&str] = &[
    "claim_analysis",
    "omission_flags",
    "total_claims",
    "grounded_claims",
    "hallucinated_claims",
    "omitted_facts",
    "faithfulness_score",
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
    let faithfulness_score = fields.number("faithfulness_score", 0.0..=1.0);
    let total_claims = fields.count("total_claims");
    let grounded_claims = fields.count("grounded_claims");
    let hallucinated_claims = fields.count("hallucinated_claims");
    let omitted_facts = fields.count("omitted_facts");
    let claim_analysis = fields.list("claim_analysis", |fields| read_claim(fields, corpus));
    let omission_flags = fields.list("omission_flags", read_omission);
    let overall_assessment = fields.text_or_empty("overall_assessment");
    Some(Reply {
        faithfulness_score: faithfulness_score?,
        total_claims: total_claims?,
        grounded_claims: grounded_claims?,
        hallucinated_claims: hallucinated_claims?,
        omitted_facts: omitted_facts?,
        claim_analysis: claim_analysis?,
        omission_flags: omission_flags?,
        overall_assessment: overall_assessment?.to_owned(),
    })
}

fn read_claim(fields: &mut Fields<'_>, corpus: &Corpus<'_>) -> Option<Claim> {
    use Classification::{Grounded, Hallucinated};
    let claim_text = fields.text("claim_text");
    let classification =
        shape::verdict(fields, "classification", &[("grounded", Grounded), ("hallucinated", Hallucinated)]);
    let supporting_evidence = shape::quote(fields, "supporting_evidence", corpus);
    let contradicting_evidence = shape::quote(fields, "contradicting_evidence", corpus);
    let explanation = fields.text_or_empty("explanation");
    let is_grounded = classification.as_ref().map(|word| word.value == Grounded);
    let severity = shape::severity(fields, is_grounded.map(|is_grounded| !is_grounded));
    let source_id = shape::source(fields, "source_id", corpus);
    let has_quote = is_grounded == Some(true) && matches!(supporting_evidence, Some(Some(_)));
    shape::require_source(fields, "source_id", has_quote, source_id.as_ref());
    Some(Claim {
        claim_text: claim_text?.to_owned(),
        classification: classification?,
        supporting_evidence: supporting_evidence?,
        contradicting_evidence: contradicting_evidence?,
        explanation: explanation?.to_owned(),
        severity: severity?,
        source_id: source_id?,
    })
}

fn read_omission(fields: &mut Fields<'_>) -> Option<Omission> {
    let omitted_fact = fields.text("omitted_fact");
    let source_passage = fields.text("source_passage");
    let relevance = fields.text_or_empty("relevance");
    Some(Omission {
        omitted_fact: omitted_fact?.to_owned(),
        source_passage: source_passage?.to_owned(),
        relevance: relevance?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Code;
    use serde_json::json;

    fn full() -> Value {
        json!({
            "faithfulness_score": 0.5, "total_claims": 2, "grounded_claims": 1, "hallucinated_claims": 1, "omitted_facts": 1,
            "claim_analysis": [
                {"claim_text": "a", "classification": "grounded", "supporting_evidence": "b", "contradicting_evidence": null,
                 "explanation": "", "severity": null, "source_id": "s"},
                {"claim_text": "c", "classification": "hallucinated", "supporting_evidence": null, "contradicting_evidence": null,
                 "explanation": "d", "severity": "minor", "source_id": null},
            ],
            "omission_flags": [{"omitted_fact": "e", "source_passage": "f", "relevance": "g"}],
            "overall_assessment": ""
        })
    }

    fn read_value(value: &Value) -> Result<(Reply, Vec<String>), Vec<Problem>> {
        read(value.as_object().unwrap(), &Corpus::of(&[]))
    }

    /// Every object of the schema: its pointer in a full reply, and its keys.
    fn objects() -> Vec<(&'static str, Vec<String>)> {
        let schema = schema();
        [
            ("", "/required"),
            ("/claim_analysis/0", "/properties/claim_analysis/items/required"),
            ("/omission_flags/0", "/properties/omission_flags/items/required"),
        ]
        .into_iter()
        .map(|(place, required)| {
            let keys = schema.pointer(required).unwrap().as_array().unwrap();
            (place, keys.iter().map(|key| key.as_str().unwrap().to_owned()).collect())
        })
        .collect()
    }

    #[test]
    fn reader_and_schema_want_the_same_keys() {
        assert!(read_value(&full()).is_ok());
        for (place, keys) in objects() {
            let whole = full();
            let object = whole.pointer(place).unwrap().as_object().unwrap();
            assert_eq!(object.len(), keys.len(), "{place}");
            for key in keys {
                let mut reply = full();
                reply.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(&key).unwrap();
                let problems = read_value(&reply).unwrap_err();
                assert_eq!(problems[0].code, Code::MissingKey, "{place} {key}: {problems:?}");
                assert!(problems[0].path.ends_with(&format!(".{key}")), "{problems:?}");
            }
        }
        let top: Vec<&str> = KEYS.to_vec();
        assert_eq!(objects()[0].1, top);
    }

    #[test]
    fn what_was_read_is_what_was_sent() {
        assert_eq!(serde_json::to_value(read_value(&full()).unwrap().0).unwrap(), full());
    }

    #[test]
    fn the_schema_is_plain_enough_for_structured_output() {
        let schema = schema();
        let text = schema.to_string();
        for word in ["$ref", "$defs", "\"format\"", "oneOf", "minimum", "allOf"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
        assert_eq!(text.matches("\"additionalProperties\":false").count(), 3, "{text}");
        let claim = schema.pointer("/properties/claim_analysis/items/properties").unwrap();
        assert_eq!(claim["classification"]["enum"], json!(["grounded", "hallucinated"]));
        assert_eq!(claim["supporting_evidence"]["type"], json!(["string", "null"]));
        assert_eq!(claim["severity"]["enum"], json!(["critical", "major", "minor", null]));
    }

    #[test]
    fn every_problem_is_found_at_once() {
        let mut reply = full();
        reply["faithfulness_score"] = json!("0.5");
        reply["total_claims"] = json!(1.5);
        reply["claim_analysis"][0]["classification"] = json!("grounded.");
        reply["claim_analysis"][1]["severity"] = json!(null);
        reply["omission_flags"] = json!({});
        let codes: Vec<Code> =
            read_value(&reply).unwrap_err().into_iter().map(|problem| problem.code).collect();
        use Code::{BadEnum, MissingKey, WrongType};
        assert_eq!(codes, [WrongType, WrongType, BadEnum, MissingKey, WrongType]);
    }

    #[test]
    fn a_passage_needs_its_source() {
        let mut reply = full();
        reply["claim_analysis"][0]["source_id"] = json!("none");
        let problems = read_value(&reply).unwrap_err();
        assert_eq!(
            (problems[0].code, problems[0].path.as_str()),
            (Code::MissingKey, "$.claim_analysis[0].source_id")
        );
        // An exact id wins over a phrase.
        let named_none = crate::evidence::Passage {
            source_id: "none",
            text: "b",
            url: None,
            title: None,
            rank: None,
            score: None,
            metadata: None,
        };
        assert!(read(reply.as_object().unwrap(), &Corpus::of(&[named_none])).is_ok());
    }
}
