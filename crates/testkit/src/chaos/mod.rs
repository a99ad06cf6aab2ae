//! Everything at once, by a seed: workers and services fall over while traces flow. At the end the checker counts.
//!
//! The schedule, and what every trace is and what the judge says about it, follow from the seed alone. When a blow
//! meets which call does not, so two runs of one seed need not take the same time.

mod blow;
mod material;
mod secrets;

use std::time::{Duration, Instant};

use queue::{Envelope, Lane};

use crate::{Checker, Findings, PATIENCE, Process, Seed, System, wait_for};

pub use blow::Blow;
use material::Material;
use secrets::Secrets;

/// How often a publish is tried; the services are away for seconds.
const PUBLISH_PATIENCE: Duration = Duration::from_secs(180);

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Traces that are published.
    pub traces: usize,
    /// Blows that fall while they flow.
    pub faults: usize,
    /// Worker processes.
    pub workers: usize,
    /// Traces that are published and have not ended, at most: so much is in work that every blow hits something.
    pub on_the_way: usize,
    /// How long the rest may take after the last fault.
    pub end_patience: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The counts.
    pub findings: Findings,
    /// Everything that must not be, in words; empty when all is well.
    pub violations: Vec<String>,
    /// Which blows fell, in order.
    pub blows: Vec<Blow>,
    /// Messages that the broker delivered again.
    pub redeliveries: u64,
    /// Workers that gave up while they were starting, and were started again.
    pub restarts: usize,
    /// From the first publish until the last trace had ended.
    pub took: Duration,
}

/// Runs a plan to its end. Progress goes to standard output.
///
/// # Panics
/// When a service does not come back, or a worker ends in a way that it must not.
pub async fn run(plan: Plan, seed: &mut Seed) -> Outcome {
    let material = material::of(seed, plan.traces);
    let blows = blow::schedule(seed, plan.faults);
    println!("schedule: {blows:?}");
    let mut run = Run::start(plan, &material).await;
    let begun = Instant::now();
    run.publish(&material, &blows, seed).await;
    println!("all published and all faults over after {:.1?}", begun.elapsed());
    let is_settled = run.settle().await;
    let took = begun.elapsed();
    println!("settled after {took:.1?}");
    run.end(blows, is_settled, took).await
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Run {
    plan: Plan,
    system: System,
    workers: Vec<Process>,
    checker: Checker,
    secrets: Secrets,
    redeliveries: u64,
    restarts: usize,
}

/// The exit code of a worker that could not reach a service while it was starting.
const UNREACHABLE: Option<i32> = Some(3);

impl Run {
    async fn start(plan: Plan, material: &[Material]) -> Self {
        let builder = System::builder().alone().tuned(|tuning| {
            tuning.heartbeat_s = 3;
            tuning.judge_read_timeout = Duration::from_secs(4);
            tuning.judge_total_timeout = Duration::from_secs(8);
        });
        let builder = builder.judged(|judge| {
            // Slow enough that every blow meets the workers with all hands full.
            judge.latency_ms = 100;
            judge.latency_spread_ms = 500;
        });
        let builder = material.iter().fold(builder, |builder, material| {
            builder.replies(material.trace.id(), material.replies.as_slice())
        });
        let system = builder.start().await;
        let mut run = Self {
            plan,
            secrets: Secrets::of(&system),
            system,
            workers: Vec::new(),
            checker: Checker::default(),
            redeliveries: 0,
            restarts: 0,
        };
        for _ in 0..plan.workers {
            run.workers.push(run.worker());
        }
        run.consumers(plan.workers).await;
        run
    }

    fn worker(&self) -> Process {
        self.secrets.plant(self.system.program(&["worker", "--wait-for", "60"])).start()
    }

    async fn consumers(&self, count: usize) {
        self.system.consumers(u32::try_from(count).unwrap_or(u32::MAX)).await;
    }

    async fn publish(&mut self, material: &[Material], blows: &[Blow], seed: &mut Seed) {
        let mut due = blows.iter();
        let step = (material.len() / (blows.len() + 1)).max(1);
        for (at, Material { trace, fate, .. }) in material.iter().enumerate() {
            self.wait_for_room().await;
            self.checker.attempt(trace.id(), *fate);
            // A producer keeps at it until the broker confirms, so it may publish twice.
            wait_for("a confirm", PUBLISH_PATIENCE, async || {
                let envelope = Envelope { message_id: Some(trace.id().to_owned()), ..Envelope::default() };
                self.system.try_publish(Lane::Normal, envelope, trace.bytes()).await.ok()
            })
            .await;
            self.checker.confirm(trace.id());
            if at % step == step - 1
                && let Some(blow) = due.next()
            {
                println!("{} of {} published", at + 1, material.len());
                self.strike(*blow, seed).await;
            }
        }
        for blow in due {
            self.strike(*blow, seed).await;
        }
    }

    async fn wait_for_room(&mut self) {
        let end = Instant::now() + PUBLISH_PATIENCE;
        while self.checker.on_the_way(&self.system).await >= self.plan.on_the_way {
            assert!(Instant::now() < end, "nothing ended for {PUBLISH_PATIENCE:?}");
            self.supervise().await;
            crate::wait::pause().await;
        }
    }

    async fn strike(&mut self, blow: Blow, seed: &mut Seed) {
        self.supervise().await;
        let begun = Instant::now();
        blow::strike(self, blow, seed).await;
        println!("{blow:?} took {:.1?}", begun.elapsed());
    }

    /// Starts a worker again that gave up while it was starting, as whatever supervises it would. Nothing else may
    /// end it.
    async fn supervise(&mut self) {
        for at in 0..self.workers.len() {
            if !self.workers[at].is_running() {
                let worker = &mut self.workers[at];
                assert_eq!(worker.ended(PATIENCE).await.code(), UNREACHABLE, "{}", worker.log());
                println!("a worker gave up while it was starting and is started again");
                self.restarts += 1;
                let started = self.worker();
                let gone = std::mem::replace(&mut self.workers[at], started);
                self.secrets.look_for_in(&gone);
            }
        }
    }

    /// Waits until all has ended and all messages are out; says whether that came in time.
    async fn settle(&mut self) -> bool {
        let end = Instant::now() + self.plan.end_patience;
        loop {
            self.supervise().await;
            let unsent = "select id::text from groundcrew.outbox where sent_at is null";
            if self.checker.on_the_way(&self.system).await == 0
                && self.system.waiting().await.is_empty()
                && self.system.strings(unsent).await.is_empty()
            {
                self.system.drained(Lane::Normal).await;
                return true;
            }
            if Instant::now() > end {
                // What does not settle is lost, and the table says what that is.
                return false;
            }
            crate::wait::pause().await;
        }
    }

    async fn end(mut self, blows: Vec<Blow>, is_settled: bool, took: Duration) -> Outcome {
        self.redeliveries += self.system.vhost.redelivered().await;
        for worker in &self.workers {
            worker.terminate();
        }
        for worker in &mut self.workers {
            assert_eq!(worker.ended(PATIENCE).await.code(), Some(0), "{}", worker.log());
            self.secrets.look_for_in(worker);
        }
        let in_flight =
            u64::from(self.system.tuning.concurrency) * u64::try_from(self.plan.workers).unwrap_or(1);
        let interruptions = blows.iter().map(|blow| blow.interrupts(in_flight, self.plan.workers)).sum();
        let faults = u64::try_from(blows.len()).unwrap_or(u64::MAX);
        let findings = self.checker.check(&self.system, faults, interruptions).await;
        let mut violations = findings.violations();
        violations.extend(self.secrets.told());
        if !is_settled {
            violations.push(format!("not settled {:?} after the last fault", self.plan.end_patience));
        }
        Outcome {
            findings,
            violations,
            blows,
            redeliveries: self.redeliveries,
            restarts: self.restarts,
            took,
        }
    }
}
