//! The reply for the kind `gate`. A passage is never put together from several sources, so none has to be refused here.

use audit::kinds::gate::SPEC;
use serde_json::{Value, json};

use super::{Object, Shape, count, members};
use crate::honest::{Claim, Verdict};

pub(super) static SHAPE: Shape = Shape {
    spec: Some(&SPEC),
    list: "claims",
    verdict: Some(("verdict", "grounded")),
    quote: Some("source_quote"),
    source: Some("source_id"),
    figure: None,
    remark: "/claims/0/claim_text",
    claim,
    beside: |_| Object::new(),
    figures,
};

fn claim(claim: &Claim<'_>) -> Value {
    let is_grounded = claim.verdict == Verdict::Grounded;
    json!({
        "claim_text": claim.text,
        "verdict": word(is_grounded),
        "source_quote": claim.quote_if(Verdict::Grounded),
        "source_id": claim.source_id().filter(|_| is_grounded),
        "confidence": claim.confidence(),
    })
}

fn figures(claims: &[Value], _: &Object) -> Object {
    let all_grounded = count(claims, "verdict", "grounded") == claims.len();
    members(json!({ "overall_verdict": word(all_grounded) }))
}

fn word(is_grounded: bool) -> &'static str {
    if is_grounded { "grounded" } else { "ungrounded" }
}
