//! How long the verification of one reply takes.
//!
//! The aim: an answer of 2,000 words, 40 claims and 200 KB of evidence in less than 5 ms on one core.
//!
//! ```sh
//! taskset -c 0 cargo bench -p audit --bench verification
//! ```

#![allow(missing_docs, reason = "a benchmark has no readers of its interface")]
#![allow(clippy::expect_used, reason = "a benchmark of something else than it says is none")]
#![allow(clippy::print_stdout, reason = "what was measured stands beside the figures")]

mod cases;
mod facts;

use std::hint::black_box;
use std::time::Duration;

use audit::{Outcome, Unit, assess};
use criterion::{Criterion, criterion_group, criterion_main};
use trace::Kind;

use crate::cases::{CASES, Case, KINDS};

// The binary's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn verification(criterion: &mut Criterion) {
    for (kind, reply) in KINDS {
        let mut group = criterion.benchmark_group(kind.as_str());
        group.sample_size(100).measurement_time(Duration::from_secs(4));
        for description in CASES {
            let case = Case::new(description);
            let reply = reply(&case);
            demand(*kind, &case, &reply);
            group.bench_function(case.name, |bencher| {
                bencher.iter(|| {
                    assess(*kind, black_box(&case.trace), &Unit::Whole, black_box(&reply), Some("stop"))
                });
            });
        }
        group.finish();
    }
}

/// A case must be what it claims to be, or its figure means nothing.
fn demand(kind: Kind, case: &Case, reply: &str) {
    let assessment = assess(kind, &case.trace, &Unit::Whole, reply, Some("stop")).expect("the kind is there");
    let expected = if case.is_consistent { Outcome::Accepted } else { Outcome::Content };
    assert_eq!(
        assessment.outcome,
        expected,
        "{}: {:#?}",
        case.name,
        assessment.problems.iter().take(3).collect::<Vec<_>>()
    );
    let report = assessment.report.expect("a report");
    let grades = report.claims.iter().flat_map(|claim| &claim.evidence).map(|found| found.grade.as_str());
    let grades = grades.fold(std::collections::BTreeMap::<_, usize>::new(), |mut counts, grade| {
        *counts.entry(grade).or_default() += 1;
        counts
    });
    println!(
        "{}: {} claims, {} bytes of evidence, {} bytes of answer, {} words, quotes {grades:?}, {} problems, {} doubts",
        case.name,
        report.claims.len(),
        case.trace.chunks().iter().filter_map(|chunk| chunk.text.as_deref()).map(str::len).sum::<usize>(),
        case.trace.answer.as_deref().map_or(0, str::len),
        case.trace.answer.as_deref().map_or(0, |answer| audit::text::words(answer).len()),
        assessment.problems.len(),
        report.doubts.len(),
    );
}

criterion_group!(benches, verification);
criterion_main!(benches);
