//! The reply for the kind `faithfulness`.

use audit::kinds::faithfulness::SPEC;
use serde_json::{Value, json};

use super::{Object, Shape, count, members, share, summary};
use crate::honest::{Analysis, Claim, Omission, Verdict};

pub(super) static SHAPE: Shape = Shape {
    spec: Some(&SPEC),
    list: "claim_analysis",
    verdict: Some(("classification", "grounded")),
    quote: Some("supporting_evidence"),
    source: Some("source_id"),
    figure: Some(("/faithfulness_score", 98.6)),
    remark: "/overall_assessment",
    claim,
    beside,
    figures,
};

fn claim(claim: &Claim<'_>) -> Value {
    let is_grounded = claim.verdict == Verdict::Grounded;
    json!({
        "claim_text": claim.text,
        "classification": if is_grounded { "grounded" } else { "hallucinated" },
        "supporting_evidence": claim.quote_if(Verdict::Grounded),
        "contradicting_evidence": claim.quote_if(Verdict::Contradicted),
        "explanation": claim.explanation,
        "severity": claim.severity,
        "source_id": claim.source_id(),
    })
}

fn beside(analysis: &Analysis<'_>) -> Object {
    let omissions: Vec<Value> = analysis.omissions.iter().map(omission).collect();
    members(json!({ "omission_flags": omissions }))
}

fn omission(omission: &Omission<'_>) -> Value {
    json!({
        "omitted_fact": omission.passage,
        "source_passage": omission.passage,
        "relevance": "The passage shares most words with the question and few with the answer.",
    })
}

fn figures(claims: &[Value], reply: &Object) -> Object {
    let (total, grounded) = (claims.len(), count(claims, "classification", "grounded"));
    members(json!({
        // An answer without claims has nothing that is grounded; what to make of that is for others to say.
        "faithfulness_score": share(grounded, total).unwrap_or(0.0),
        "total_claims": total,
        "grounded_claims": grounded,
        "hallucinated_claims": total - grounded,
        "omitted_facts": reply.get("omission_flags").and_then(Value::as_array).map_or(0, Vec::len),
        "overall_assessment": summary(grounded, total),
    }))
}
