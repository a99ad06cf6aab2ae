//! The traces that are published, and the one reply that fits them all.

use std::fmt;

use serde_json::{Value, json};

use crate::material::PROJECT;

/// The size of a trace in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub usize);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes,", self.0)
    }
}

const ANSWER: &str = "The gate opens at 10:00 on weekdays.";

const WORDS: [&str; 16] = [
    "river", "stone", "lamp", "table", "garden", "window", "paper", "silver", "road", "cloud", "winter",
    "music", "bridge", "harbour", "letter", "candle",
];

/// The message of one trace. No two are alike, and each is as large as asked for.
pub(super) fn trace(size: Size, run: &str, at: usize) -> Vec<u8> {
    let build = |filler: &str| {
        let text = format!("The gate opens at 10:00 on weekdays, number {at}. {filler}");
        let chunk = json!({ "source_id": "plan", "rank": 1, "text": text });
        json!({
            "schema": "groundcrew.trace/v1",
            "trace_id": format!("{run}-{at}"),
            "project": PROJECT,
            "query": "When does the gate open?",
            "answer": ANSWER,
            "retrieval": { "retrieved_at": "2026-01-01T00:00:00Z", "chunks": [chunk] },
        })
        .to_string()
        .into_bytes()
    };
    let missing = size.0.saturating_sub(build("").len());
    // Another order of the words for each trace, so that no two compress alike.
    let words = (0..).map(|word: usize| WORDS[(word * 7 + at * 3 + word * word % 5) % WORDS.len()]);
    let mut filler = String::with_capacity(missing + 16);
    for word in words {
        if filler.len() >= missing {
            break;
        }
        filler.push_str(word);
        filler.push(' ');
    }
    filler.truncate(missing);
    build(&filler)
}

/// What the judge says about every one of them: all is well.
pub(super) fn reply() -> Value {
    json!({
        "claim_analysis": [{
            "claim_text": ANSWER,
            "supporting_evidence": "The gate opens at 10:00 on weekdays",
            "contradicting_evidence": null,
            "source_id": "plan",
            "explanation": "The plan says so.",
            "classification": "grounded",
            "severity": null,
        }],
        "omission_flags": [],
        "total_claims": 1,
        "grounded_claims": 1,
        "hallucinated_claims": 0,
        "omitted_facts": 0,
        "faithfulness_score": 1.0,
        "overall_assessment": "Everything is supported.",
    })
}

/// A file with a judge's one reply. It is gone when this goes out of scope.
#[derive(Debug)]
pub(super) struct Reply(std::path::PathBuf);

impl Reply {
    pub fn write(content: &Value) -> Self {
        let path = std::env::temp_dir().join(crate::unique("groundcrew-bench"));
        std::fs::write(&path, content.to_string()).expect("a file can be written");
        Self(path)
    }

    pub fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_the_size_that_was_asked_for_and_is_complete() {
        for size in [Size(2048), Size(8192)] {
            let body = trace(size, "run", 17);
            assert_eq!(body.len(), size.0);
            let trace = ::trace::decode(&body).unwrap();
            assert_eq!(trace.trace_id, "run-17");
        }
        assert_ne!(trace(Size(2048), "run", 1), trace(Size(2048), "run", 2));
    }
}
