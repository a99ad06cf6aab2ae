//! The call in which a judge only lists the claims of an answer (docs/audits.md, R-04).

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use trace::Trace;

use super::shape;
use crate::Assessment;
use crate::Outcome;
use crate::assess::failed;
use crate::evidence::Basis;
use crate::reply::{Code, Problem};
use crate::report::Span;
use crate::units::SentClaim;
use crate::verify::{Answer, Corpus, Listed};

/// The claims of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
struct Reply {
    /// Every factual claim, in the answer's order.
    claims: Vec<Claim>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
struct Claim {
    /// The claim in the answer's own words.
    claim_text: String,
}

/// Name of the schema, in the place where other calls name their kind.
pub const SCHEMA_NAME: &str = "claim_extraction";

/// The required top-level keys.
pub const KEYS: &[&str] = &["claims"];

/// The JSON Schema of a reply.
pub fn schema() -> Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(shape::schema_of::<Reply>);
    SCHEMA.clone()
}

/// Reads the list, and holds it against the answer: no claim invented, none twice, no number left out.
pub fn assess(trace: &Trace, section: Option<Span>, value: &Value) -> Assessment {
    let Value::Object(object) = value else {
        return failed(Outcome::Format, vec![Problem::new(Code::WrongType, "$", "expected an object")]);
    };
    let read = shape::read(object, |fields| {
        let claims = fields.list("claims", |fields| {
            fields.text("claim_text").map(|text| Claim { claim_text: text.to_owned() })
        });
        Some(Reply { claims: claims? })
    });
    let reply = match read {
        Ok((reply, _)) => reply,
        Err(problems) => return failed(Outcome::Format, problems),
    };
    let listed: Vec<Listed> = reply
        .claims
        .iter()
        .enumerate()
        .map(|(at, claim)| Listed::new(&claim.claim_text, format!("$.claims[{at}].claim_text")))
        .collect();
    let checked = Answer::new(trace, section).check(
        &listed,
        "$.claims",
        &Corpus::of(&Basis::Reference.passages(trace)),
    );
    if !checked.problems.is_empty() {
        return failed(Outcome::Content, checked.problems);
    }
    let extracted = reply.claims.into_iter().zip(checked.spans).map(|(claim, span)| SentClaim {
        // The number comes when the whole list is known.
        id: String::new(),
        text: claim.claim_text.replace('\0', "\u{fffd}"),
        span,
    });
    Assessment {
        outcome: Outcome::Accepted,
        problems: Vec::new(),
        report: None,
        extracted: extracted.collect(),
    }
}
