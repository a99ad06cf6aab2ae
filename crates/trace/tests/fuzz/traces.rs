//! The fuzz target for reading traces: nothing panics, every refusal says why, and what was read
//! is the same after it was written and read again.

use serde_json::Value;
use trace::{Kind, Provenance, Readiness, Requirements, Trace, completeness, content_hash, decode};

/// One input of the fuzzer: the body of a message. Returns whether it is a trace.
pub fn check(body: &[u8]) -> bool {
    match decode(body) {
        Err(undecodable) => {
            assert!((1..=50).contains(&undecodable.problems.len()), "{undecodable:?}");
            undecodable.problems.iter().for_each(is_sound_problem);
            false
        }
        Ok(trace) => {
            is_sound(&trace);
            is_judged_soundly(&trace);
            true
        }
    }
}

fn is_sound_problem(problem: &trace::Problem) {
    assert!(problem.path.starts_with('$'), "{problem:?}");
    assert!(!problem.message.is_empty(), "{problem:?}");
}

fn is_sound(trace: &Trace) {
    assert_eq!(trace.schema, trace::SCHEMA);
    for id in [&trace.trace_id, &trace.project] {
        assert!(!id.trim().is_empty() && id.chars().count() <= 256 && !id.contains('\0'), "{id:?}");
    }
    let written = serde_json::to_vec(trace).unwrap();
    let read = decode(&written).unwrap();
    assert_eq!(content_hash(&read), content_hash(trace));
    assert!(
        is_same(&serde_json::to_value(&read).unwrap(), &serde_json::to_value(trace).unwrap()),
        "{trace:?}"
    );
}

/// Equality, but for the last bit of a fraction: it may be lost in reading, and nothing depends on it.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= one.abs() * 1e-15
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| is_same(one, other)))
        }
        (one, other) => one == other,
    }
}

/// The completeness under every kind, for a strict project and for one that relaxes what it can.
fn is_judged_soundly(trace: &Trace) {
    let relaxed = Requirements {
        retrieved_at: Some(Provenance::FromSpan),
        rank: Some(Provenance::ListOrder),
        source_id: Some(Provenance::Synthetic),
    };
    for kind in Kind::ALL {
        let strict = completeness::check(trace, *kind, &Requirements::default());
        let lenient = completeness::check(trace, *kind, &relaxed);
        if let Readiness::Incomplete(problems) = &strict {
            assert!(!problems.is_empty());
            problems.iter().for_each(is_sound_problem);
        }
        // What a strict project takes, a lenient one takes as well.
        assert!(!matches!((&strict, &lenient), (Readiness::Complete(_), Readiness::Incomplete(_))));
        if let Readiness::Complete(prepared) = &lenient {
            is_filled_in(&prepared.trace, *kind);
        }
    }
}

fn is_filled_in(trace: &Trace, kind: Kind) {
    assert!(trace.query.as_deref().is_some_and(|query| !query.trim().is_empty()));
    assert!(trace.answer.is_some());
    if kind != Kind::Reference {
        for chunk in trace.chunks() {
            assert!(chunk.source_id.as_deref().is_some_and(|id| !id.trim().is_empty()), "{chunk:?}");
            assert!(chunk.rank.is_some() && chunk.text.is_some(), "{chunk:?}");
        }
    }
}
