//! The reply for the kind `reference`.

use audit::kinds::reference::SPEC;
use serde_json::{Value, json};

use super::{Object, Shape, count, members};
use crate::honest::{Claim, Verdict};

pub(super) static SHAPE: Shape = Shape {
    spec: Some(&SPEC),
    list: "analysis",
    verdict: Some(("category", "grounded")),
    quote: Some("reference_evidence"),
    source: None,
    figure: Some(("/summary/total_claims", -1.0)),
    remark: "/analysis/0/explanation",
    claim,
    beside: |_| Object::new(),
    figures,
};

fn claim(claim: &Claim<'_>) -> Value {
    let category = match claim.verdict {
        Verdict::Grounded => "grounded",
        Verdict::Contradicted => "hallucinated",
        Verdict::Unsupported => "unsupported",
    };
    json!({
        "claim_id": claim.id,
        "claim_text": claim.text,
        "category": category,
        "severity": claim.severity,
        "reference_evidence": claim.quote(),
        "explanation": claim.explanation,
    })
}

fn figures(claims: &[Value], _: &Object) -> Object {
    let counted = |word| count(claims, "category", word);
    members(json!({
        "summary": {
            "total_claims": claims.len(),
            "grounded_count": counted("grounded"),
            "hallucinated_count": counted("hallucinated"),
            "unsupported_count": counted("unsupported"),
        },
    }))
}
