//! Traces, and what a judge says about them.

use serde_json::{Value, json};

/// The project of every trace that names no other.
pub const PROJECT: &str = "harbour";

/// Sentences of an answer, each with the passage that carries it and that passage's source.
const FERRY: [(&str, &str, &str); 5] = [
    (
        "The first ferry to Norrey leaves pier 3 at 07:40.",
        "On weekdays the first ferry to Norrey leaves pier 3 at 07:40.",
        "timetable",
    ),
    ("A single ticket costs 9 euro.", "A single ticket costs 9 euro, a return ticket 16 euro.", "fares"),
    ("Children under 6 travel free.", "Children under 6 travel free with an adult.", "fares"),
    ("Dogs must stay on the outer deck.", "Dogs must stay on the outer deck and on a lead.", "rules"),
    ("The crossing takes 35 minutes.", "The crossing takes 35 minutes in calm weather.", "timetable"),
];

/// A trace in the making: what a producer publishes.
#[derive(Debug, Clone)]
pub struct TraceBuilder(Value);

/// A complete trace whose five sentences all stand in its evidence.
pub fn trace(trace_id: &str) -> TraceBuilder {
    let chunk = |rank: i64, source_id: &str| {
        let passages =
            FERRY.iter().filter(|(_, _, source)| *source == source_id).map(|(_, passage, _)| *passage);
        json!({
            "source_id": source_id,
            "rank": rank,
            "score": 0.91,
            "text": passages.collect::<Vec<_>>().join(" "),
            "url": format!("https://harbour.example/{source_id}"),
        })
    };
    TraceBuilder(json!({
        "schema": "groundcrew.trace/v1",
        "trace_id": trace_id,
        "project": PROJECT,
        "query": "How do I get to Norrey, and what does it cost?",
        "answer": FERRY.map(|(sentence, _, _)| sentence).join(" "),
        "retrieval": {
            "retrieved_at": "2026-05-04T09:15:00Z",
            "chunks": [chunk(1, "timetable"), chunk(2, "fares"), chunk(3, "rules")],
        },
    }))
}

impl TraceBuilder {
    /// Sets the value at a JSON pointer; its parent has to exist.
    ///
    /// # Panics
    /// When the parent does not exist.
    #[must_use]
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let (parent, key) = pointer.rsplit_once('/').expect("a JSON pointer begins with a slash");
        let parent = self.0.pointer_mut(parent).expect("the parent exists");
        match parent {
            Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value.into(),
            parent => parent[key] = value.into(),
        }
        self
    }

    /// Takes the value at a JSON pointer out.
    ///
    /// # Panics
    /// When its parent is no object.
    #[must_use]
    pub fn without(mut self, pointer: &str) -> Self {
        let (parent, key) = pointer.rsplit_once('/').expect("a JSON pointer begins with a slash");
        let parent =
            self.0.pointer_mut(parent).and_then(Value::as_object_mut).expect("the parent is an object");
        parent.remove(key);
        self
    }

    /// Appends a sentence to the answer.
    #[must_use]
    pub fn saying(self, sentence: &str) -> Self {
        let answer = format!("{} {sentence}", self.0["answer"].as_str().unwrap_or_default());
        self.set("/answer", answer)
    }

    /// The trace as JSON.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The trace as it is published.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.to_string().into_bytes()
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.0["trace_id"].as_str().unwrap_or_default()
    }
}

/// One claim of a reply that the evidence carries.
pub fn grounded(claim: &str, quote: &str, source_id: &str) -> Value {
    json!({
        "claim_text": claim,
        "classification": "grounded",
        "supporting_evidence": quote,
        "contradicting_evidence": null,
        "explanation": "The source says the same.",
        "severity": null,
        "source_id": source_id,
    })
}

/// One claim of a reply about which the evidence says nothing.
pub fn unsupported(claim: &str, severity: &str) -> Value {
    json!({
        "claim_text": claim,
        "classification": "hallucinated",
        "supporting_evidence": null,
        "contradicting_evidence": null,
        "explanation": "No source speaks of it.",
        "severity": severity,
        "source_id": null,
    })
}

/// One claim of a reply that the evidence contradicts.
pub fn contradicted(claim: &str, quote: &str, source_id: &str, severity: &str) -> Value {
    json!({
        "claim_text": claim,
        "classification": "hallucinated",
        "supporting_evidence": null,
        "contradicting_evidence": quote,
        "explanation": "The source says something else.",
        "severity": severity,
        "source_id": source_id,
    })
}

/// The five grounded claims of [`trace`].
pub fn ferry_claims() -> Vec<Value> {
    FERRY.iter().map(|(sentence, passage, source)| grounded(sentence, passage, source)).collect()
}

/// A whole reply, with totals that fit its claims.
pub fn reply(claims: &[Value]) -> Value {
    let is_grounded = |claim: &&Value| claim["classification"] == json!("grounded");
    let grounded = claims.iter().filter(is_grounded).count();
    #[expect(clippy::cast_precision_loss, reason = "a handful of claims")]
    let score = if claims.is_empty() { 1.0 } else { grounded as f64 / claims.len() as f64 };
    json!({
        "faithfulness_score": score,
        "total_claims": claims.len(),
        "grounded_claims": grounded,
        "hallucinated_claims": claims.len() - grounded,
        "omitted_facts": 0,
        "claim_analysis": claims,
        "omission_flags": [],
        "overall_assessment": "Checked claim by claim.",
    })
}

/// The reply to [`trace`] that finds nothing wrong.
pub fn all_grounded() -> Value {
    reply(&ferry_claims())
}

/// A sentence for [`TraceBuilder::saying`] that the evidence contradicts.
pub const WRONG_FARE: &str = "A return ticket costs 61 euro.";

/// The reply to a trace that says [`WRONG_FARE`] on top.
pub fn wrong_fare(severity: &str) -> Value {
    let mut claims = ferry_claims();
    claims.push(contradicted(WRONG_FARE, "a return ticket 16 euro", "fares", severity));
    reply(&claims)
}

/// A sentence for [`TraceBuilder::saying`] about which the evidence is silent.
pub const TEA: &str = "Tea is served in the saloon.";

/// The reply to a trace that says [`TEA`] on top.
pub fn silent_about_tea(severity: &str) -> Value {
    let mut claims = ferry_claims();
    claims.push(unsupported(TEA, severity));
    reply(&claims)
}

/// A reply that is well-formed and quotes what no source says.
pub fn fabricated_quote() -> Value {
    let mut claims = ferry_claims();
    claims[1] = grounded(FERRY[1].0, "Single tickets are sold on board for 9 euro in cash.", "fares");
    reply(&claims)
}
