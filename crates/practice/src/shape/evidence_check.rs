//! The reply for the kind `evidence_check`.

use audit::kinds::evidence_check::SPEC;
use serde_json::{Value, json};

use super::{Object, Shape, count, members, share};
use crate::honest::{Claim, Verdict};

pub(super) static SHAPE: Shape = Shape {
    spec: Some(&SPEC),
    list: "claims",
    verdict: Some(("verdict", "SUPPORTED")),
    quote: Some("supporting_source"),
    source: Some("source_location"),
    figure: Some(("/overall_assessment/hallucination_ratio", 33.3)),
    remark: "/claims/0/answer_span",
    claim,
    beside: |_| Object::new(),
    figures,
};

fn claim(claim: &Claim<'_>) -> Value {
    let verdict = match claim.verdict {
        Verdict::Grounded => "SUPPORTED",
        Verdict::Unsupported if claim.is_in_between() => "INSUFFICIENT_EVIDENCE",
        Verdict::Unsupported | Verdict::Contradicted => "UNSUPPORTED",
    };
    let missing = match claim.verdict {
        Verdict::Grounded => None,
        Verdict::Contradicted => Some(format!("Contradicted: {}", claim.explanation)),
        Verdict::Unsupported => Some(format!("A passage that says this. {}", claim.explanation)),
    };
    json!({
        // Claims that the practice judge lists are numbered from 1.
        "claim_id": claim.id.parse::<u64>().unwrap_or_default(),
        "claim_text": claim.text,
        "answer_span": claim.text,
        "verdict": verdict,
        "supporting_source": claim.quote(),
        "source_location": claim.source_id(),
        "missing_evidence_description": missing,
        "confidence": claim.confidence(),
    })
}

fn figures(claims: &[Value], _: &Object) -> Object {
    let counted = |word| count(claims, "verdict", word);
    let (total, unsupported) = (claims.len(), counted("UNSUPPORTED"));
    members(json!({
        "overall_assessment": {
            "total_claims": total,
            "supported_claims": counted("SUPPORTED"),
            "unsupported_claims": unsupported,
            "insufficient_evidence_claims": counted("INSUFFICIENT_EVIDENCE"),
            "hallucination_ratio": share(unsupported, total).unwrap_or(0.0),
        },
    }))
}
