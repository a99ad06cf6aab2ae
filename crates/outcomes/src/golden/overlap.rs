//! The word-overlap baseline: what comparing words alone would have found.
//!
//! A judge that does no better than this is not worth its price, and a set that this solves proves nothing.

use std::collections::BTreeSet;

use audit::{Basis, kinds};
use trace::{Kind, Trace};

use super::align::words;

/// Share of the answer's distinct words and numbers that the evidence lacks, 0 to 1; none when the answer has none.
pub fn novelty(trace: &Trace, kind: Kind) -> Option<f64> {
    let basis = kinds::find(kind).map_or(Basis::Retrieval, |spec| spec.basis);
    let answer = words(trace.answer.as_deref().unwrap_or_default());
    let evidence: BTreeSet<String> =
        basis.passages(trace).iter().flat_map(|passage| words(passage.text)).collect();
    let missing = answer.difference(&evidence).count();
    (!answer.is_empty()).then(|| crate::measures::count(missing) / crate::measures::count(answer.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(answer: &str, evidence: &str) -> Trace {
        let text = serde_json::json!({
            "schema": trace::SCHEMA, "trace_id": "t", "project": "p", "query": "q", "answer": answer,
            "retrieval": { "chunks": [{ "source_id": "s", "rank": 1, "text": evidence }] },
        });
        trace::decode(text.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn words_that_the_evidence_lacks_are_counted_once() {
        let kind = Kind::Faithfulness;
        assert_eq!(
            novelty(&trace("Pool opens early, pool opens.", "The pool opens at 7."), kind),
            Some(1.0 / 3.0)
        );
        assert_eq!(novelty(&trace("It opens at 8.", "It opens at 7."), kind), Some(0.5));
        assert_eq!(novelty(&trace("", "The pool opens."), kind), None);
    }
}
