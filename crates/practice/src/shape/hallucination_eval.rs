//! The reply for the kind `hallucination_eval`.

use audit::kinds::hallucination_eval::SPEC;
use serde_json::{Value, json};

use super::{Object, Shape, count, members, share, summary};
use crate::honest::{Claim, Verdict};

pub(super) static SHAPE: Shape = Shape {
    spec: Some(&SPEC),
    list: "claims",
    verdict: Some(("classification", "SUPPORTED")),
    quote: Some("source_evidence"),
    source: Some("evidence_source"),
    figure: Some(("/groundedness_score", 480.0)),
    remark: "/overall_assessment",
    claim,
    beside: |_| Object::new(),
    figures,
};

fn claim(claim: &Claim<'_>) -> Value {
    let classification = match claim.verdict {
        Verdict::Grounded => "SUPPORTED",
        Verdict::Contradicted => "CONTRADICTED",
        Verdict::Unsupported => "UNSUPPORTED",
    };
    // A number or name that the evidence has nowhere is what made-up statements are made of.
    let fabrication = if claim.is_foreign { "likely" } else { "plausible" };
    json!({
        "claim_text": claim.text,
        "classification": classification,
        "source_evidence": claim.quote(),
        "evidence_source": claim.source_id(),
        "notes": claim.explanation,
        "confidence": claim.confidence(),
        "fabrication": (claim.verdict == Verdict::Unsupported).then_some(fabrication),
    })
}

fn figures(claims: &[Value], _: &Object) -> Object {
    let counted = |word| count(claims, "classification", word);
    let (total, supported) = (claims.len(), counted("SUPPORTED"));
    members(json!({
        "groundedness_score": share(supported, total).unwrap_or(1.0) * 100.0,
        "total_claims": total,
        "supported_claims": supported,
        "unsupported_claims": counted("UNSUPPORTED"),
        "contradicted_claims": counted("CONTRADICTED"),
        "overall_assessment": summary(supported, total),
    }))
}
