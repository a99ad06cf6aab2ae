//! How fast the product is beside two floors that do less, on the same machine and in the same minute.
//!
//! Every measured program is a process of its own, so that its CPU time and memory are its own; the services and the
//! judge share the machine with it. A run has a virtual host and a database of its own.

mod added;
pub mod floor;
pub mod gate;
mod load;
mod meter;
mod rig;

use std::time::Duration;

pub use load::Size;
use rig::{Rig, Tempo};

use crate::environment::ServicesLock;

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// What alone is measured; all of it when none.
    pub only: Option<Part>,
    /// Traces a second while the added time is measured; half of the measured throughput when none is said.
    pub per_second: Option<f64>,
    /// Traces of each throughput measurement.
    pub traces: usize,
    /// Audits in work at once.
    pub concurrency: u32,
    /// Audits in flight for the measurement with a slow judge.
    pub in_flight: u32,
}

/// One of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Audits per second beside both floors.
    Throughput,
    /// What one worker holds in flight.
    InFlight,
    /// Four workers beside one.
    Workers,
    /// The time added at 600 traces a second.
    Added,
}

/// The rate at which the added time is measured when no throughput was: about half of what two cores carry.
const HALF_LOAD: f64 = 600.0;

/// Runs the measurements and prints them as they come.
///
/// # Panics
/// When a program fails or stops making progress.
pub async fn run(plan: Plan) {
    let _alone = ServicesLock::alone().await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    println!("cores {}, traces per measurement {}, in work {}", cores(), plan.traces, plan.concurrency);
    let wanted = |part: Part| plan.only.is_none_or(|only| only == part);
    let mut half = plan.per_second.unwrap_or(HALF_LOAD);
    if wanted(Part::Throughput) {
        for size in [Size(2048), Size(8192)] {
            let rate = throughput(plan, size).await;
            half = plan.per_second.unwrap_or(rate / 2.0);
        }
    }
    if wanted(Part::InFlight) {
        in_flight(plan).await;
    }
    if wanted(Part::Workers) {
        scaling().await;
    }
    if wanted(Part::Added) {
        added(half).await;
    }
}

/// Audits per second of both floors and of the product.
async fn throughput(plan: Plan, size: Size) -> f64 {
    let rig = Rig::start(size, Duration::ZERO).await;
    let bare = rig.floor("bare", plan.traces, plan.concurrency).await;
    println!("{size} bare floor:        {bare}");
    let writes = rig.floor("same-writes", plan.traces, plan.concurrency).await;
    println!("{size} same-writes floor: {writes}");
    let product = rig.product(plan.traces, Tempo::at_once(plan.concurrency), 1).await;
    println!("{size} groundcrew worker: {product}");
    println!("ratio bare: {:.2}", product.rate() / bare.rate());
    println!("ratio same-writes: {:.2}", product.rate() / writes.rate());
    product.rate()
}

/// How many audits one worker holds at once while the judge takes 2 s.
async fn in_flight(plan: Plan) {
    let traces = usize::try_from(plan.in_flight).unwrap_or(usize::MAX).saturating_mul(4);
    for http in ["http1", "http2"] {
        let rig = Rig::start(Size(2048), Duration::from_secs(2)).await;
        let measured = rig.product(traces, Tempo::counted(plan.in_flight, http), 1).await;
        println!("judge of 2 s over {http}, up to {} in flight: {measured}", plan.in_flight);
    }
}

/// What four workers do beside one, each with 100 audits in work and a judge of 500 ms.
async fn scaling() {
    let mut rates = Vec::new();
    for workers in [1, 4] {
        let rig = Rig::start(Size(2048), Duration::from_millis(500)).await;
        let measured = rig.product(3000 * workers, Tempo::at_once(100), workers).await;
        println!("judge of 500 ms, {workers} worker(s) of 100: {measured}");
        rates.push(measured.rate());
    }
    println!("ratio four workers: {:.2}", rates[1] / rates[0]);
}

/// The time from a trace's publication until its result is announced, at half load and without a judge's time.
async fn added(per_second: f64) {
    let rig = Rig::start(Size(2048), Duration::ZERO).await;
    let added = rig.added(per_second.max(1.0), Duration::from_secs(20)).await;
    println!("added by the pipeline at {per_second:.0} a second: {added}");
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
