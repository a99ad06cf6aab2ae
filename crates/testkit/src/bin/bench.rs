//! `./dev bench`: audits per second beside two floors, memory, latency added by the pipeline.

use clap::{Parser, Subcommand, ValueEnum};
use testkit::bench::{self, Plan, floor::Floor, gate::GatePlan};

/// Measure the worker beside two floors that do less, on this machine.
///
/// Prints audits per second, the ratios to both floors, CPU time and memory; then what a worker holds in flight with
/// a slow judge, what four workers do beside one, and the time that the pipeline adds at half load.
#[derive(Debug, Parser)]
#[command(name = "./dev bench", max_term_width = 100)]
struct Arguments {
    /// Traces of each throughput measurement.
    #[arg(long, default_value_t = 20_000, value_parser = testkit::at_least_one)]
    traces: usize,
    /// Audits in work at once.
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    concurrency: u32,
    /// Audits in flight with a judge of 2 s.
    #[arg(long, default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: u32,
    /// Traces a second while the added time is measured; half of the measured throughput by default.
    #[arg(long)]
    per_second: Option<f64>,
    /// Only this measurement.
    #[arg(long)]
    only: Option<bench::Part>,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// What the gate adds to the judge's own time, each result stored before its answer.
    Gate {
        /// Calls that are measured.
        #[arg(long, default_value_t = 4000, value_parser = testkit::at_least_one)]
        calls: usize,
        /// Calls in flight at once.
        #[arg(long, default_value_t = 100, value_parser = testkit::at_least_one)]
        in_flight: usize,
        /// How long the judge takes at least, in milliseconds; half of it is added at random.
        #[arg(long, default_value_t = 500)]
        judge_ms: u64,
        /// How many of the calls have a session and an idempotency key, in percent.
        #[arg(long, default_value_t = 0)]
        claimed: usize,
    },
    /// One floor on its own; its services come from BENCH_AMQP_URL, BENCH_DATABASE_URL and BENCH_JUDGE_URL.
    #[command(hide = true)]
    Floor {
        which: Which,
        #[arg(long)]
        traces: usize,
        #[arg(long)]
        concurrency: u32,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Which {
    Bare,
    SameWrites,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    match arguments.part {
        Some(Part::Floor { which, traces, concurrency }) => {
            let floor = match which {
                Which::Bare => Floor::Bare,
                Which::SameWrites => Floor::SameWrites,
            };
            bench::floor::run(floor, traces, concurrency).await;
        }
        Some(Part::Gate { calls, in_flight, judge_ms, claimed }) => {
            let judge = std::time::Duration::from_millis(judge_ms);
            bench::gate::run(GatePlan { calls, in_flight, judge, claimed }).await;
        }
        None => {
            let Arguments { traces, concurrency, in_flight, only, per_second, .. } = arguments;
            bench::run(Plan { only, per_second, traces, concurrency, in_flight }).await;
        }
    }
}
