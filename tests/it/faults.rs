//! Everything at once, by a seed: workers and services fall over while traces flow. At the end the checker counts.

use std::time::Duration;

use testkit::Seed;
use testkit::chaos::{self, Plan};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_is_doubled_whatever_falls_over() {
    let mut seed = Seed::new();
    let plan = Plan {
        traces: 300,
        faults: 12,
        workers: 2,
        // So much is on its way at any time that every blow hits something.
        on_the_way: 40,
        end_patience: Duration::from_secs(90),
    };
    let outcome = chaos::run(plan, &mut seed).await;
    println!("seed {seed}, {} traces, {} faults:\n{}", plan.traces, plan.faults, outcome.findings);
    assert!(
        outcome.violations.is_empty(),
        "seed {seed}, schedule {:?}: {:#?}",
        outcome.blows,
        outcome.violations
    );
}
