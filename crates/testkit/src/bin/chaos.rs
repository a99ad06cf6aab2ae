//! `./dev chaos`: lets workers, broker, database, network and judge fall over while traces flow, and counts.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use testkit::Seed;
use testkit::chaos::{self, Blow, Plan};

/// Publish traces while workers, RabbitMQ, PostgreSQL, the network and the judge fail by a seeded schedule; then
/// compare what was confirmed, judged, stored and announced.
///
/// Exits with 0 only when nothing was lost, doubled, unexpected or left unannounced.
#[derive(Debug, Parser)]
#[command(name = "./dev chaos", max_term_width = 100)]
struct Arguments {
    /// Traces to publish.
    #[arg(long, default_value_t = 2000, value_parser = testkit::at_least_one)]
    traces: usize,
    /// Faults that fall meanwhile; every kind comes once in fifteen.
    #[arg(long, default_value_t = 15)]
    faults: usize,
    /// The seed of schedule, traces and replies; without it one is drawn and printed.
    #[arg(long)]
    seed: Option<u64>,
    /// Worker processes.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=16))]
    workers: u8,
    /// Seconds that the rest may take after the last fault.
    #[arg(long, default_value_t = 180)]
    end_patience_s: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut seed = arguments.seed.map_or_else(Seed::new, Seed::of);
    let plan = Plan {
        traces: arguments.traces,
        faults: arguments.faults,
        workers: usize::from(arguments.workers),
        on_the_way: 20 * usize::from(arguments.workers),
        end_patience: Duration::from_secs(arguments.end_patience_s),
    };
    let outcome = chaos::run(plan, &mut seed).await;
    println!("seed {seed}, {} traces, {} faults, {:.0?}:", plan.traces, plan.faults, outcome.took);
    print!("{}", outcome.findings);
    println!("  {:<34} {:>8}", "redeliveries by the broker", outcome.redeliveries);
    println!("  {:<34} {:>8}", "workers started again", outcome.restarts);
    println!("faults: {}", counted(&outcome.blows));
    for violation in &outcome.violations {
        println!("VIOLATION: {violation}");
    }
    if outcome.violations.is_empty() {
        println!("nothing was lost, nothing was doubled");
        ExitCode::SUCCESS
    } else {
        println!(
            "repeat it with: ./dev chaos --traces {} --faults {} --seed {seed}",
            plan.traces, plan.faults
        );
        ExitCode::FAILURE
    }
}

/// How often each kind of fault fell.
fn counted(blows: &[Blow]) -> String {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for blow in blows {
        *counts.entry(format!("{blow:?}")).or_default() += 1;
    }
    counts.into_iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}
