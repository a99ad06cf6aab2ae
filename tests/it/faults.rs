//! Everything at once, by a seed: workers and services are killed while traces flow. At the end the checker counts.

use std::time::{Duration, Instant};

use practice::{CannedReply, Fault};
use queue::{Envelope, Lane};
use testkit::environment::{self, Service};
use testkit::material::{
    TEA, TraceBuilder, WRONG_FARE, all_grounded, fabricated_quote, silent_about_tea, trace, wrong_fare,
};
use testkit::{Checker, Fate, PATIENCE, Process, Seed, System, wait_for};

const TRACES: usize = 300;

/// Traces that are published and have not ended, at most.
const ON_THE_WAY: usize = 40;

/// How often a publish is tried; the services are away for seconds.
const PUBLISH_PATIENCE: Duration = Duration::from_secs(120);

/// How long the rest may take after the last fault.
const END_PATIENCE: Duration = Duration::from_secs(90);

/// One of the faults that come while traces flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    KillWorker,
    KillBroker,
    RestartDatabase,
    CutBroker,
    CutDatabase,
    CutJudge,
    FreezeWorker,
}

impl Blow {
    /// Calls that it may cut off, or have made again, among two workers of this concurrency.
    fn interrupts(self, concurrency: u64) -> u64 {
        match self {
            Self::KillWorker | Self::FreezeWorker => concurrency,
            Self::KillBroker | Self::CutBroker | Self::CutJudge => 2 * concurrency,
            // Replies stay in hand until the database answers again.
            Self::RestartDatabase | Self::CutDatabase => 0,
        }
    }
}

/// What is published, and what the judge will say about it.
fn material(seed: &mut Seed) -> Vec<(TraceBuilder, Fate, Vec<CannedReply>)> {
    let says = CannedReply::content;
    (0..TRACES)
        .map(|at| {
            let plain = trace(&format!("t-{at:03}"));
            match seed.below(10) {
                0..=3 => (plain, Fate::Audit, vec![says(all_grounded())]),
                4 => (plain.saying(TEA), Fate::Audit, vec![says(silent_about_tea("minor"))]),
                5 => (plain.saying(WRONG_FARE), Fate::Audit, vec![says(wrong_fare("critical"))]),
                6 => (plain, Fate::Audit, vec![says("nonsense".into()), says(all_grounded())]),
                7 => (plain, Fate::Audit, vec![says(fabricated_quote())]),
                8 => (plain, Fate::Audit, vec![CannedReply::fault(Fault::Status500), says(all_grounded())]),
                _ => (
                    plain.set("/schema", "groundcrew.trace/v0"),
                    Fate::DeadLetter,
                    vec![says(all_grounded())],
                ),
            }
        })
        .collect()
}

/// Every blow at least once, in an order of the seed.
fn schedule(seed: &mut Seed) -> Vec<Blow> {
    let mut blows = vec![
        Blow::KillWorker,
        Blow::KillWorker,
        Blow::KillWorker,
        Blow::KillBroker,
        Blow::RestartDatabase,
        Blow::CutBroker,
        Blow::CutBroker,
        Blow::CutDatabase,
        Blow::CutJudge,
        Blow::FreezeWorker,
    ];
    seed.shuffle(&mut blows);
    blows
}

/// The exit code of a worker that could not reach a service while it was starting.
const UNREACHABLE: Option<i32> = Some(3);

/// Starts a worker again that gave up while it was starting, as whatever supervises it would. Nothing else may end it.
async fn supervise(system: &System, workers: &mut [Process]) {
    for worker in workers {
        if !worker.is_running() {
            assert_eq!(worker.ended(PATIENCE).await.code(), UNREACHABLE, "{}", worker.log());
            println!("a worker gave up while it was starting and is started again");
            *worker = start(system);
        }
    }
}

fn start(system: &System) -> Process {
    system.program(&["worker", "--wait-for", "60"]).start()
}

async fn strike(system: &System, blow: Blow, workers: &mut Vec<Process>, seed: &mut Seed) {
    let chosen = usize::try_from(seed.below(2)).unwrap_or(0);
    supervise(system, workers).await;
    let begun = Instant::now();
    match blow {
        Blow::KillWorker => {
            workers.remove(chosen).kill();
            workers.push(start(system));
        }
        Blow::KillBroker => environment::kill(Service::RabbitMq).await,
        Blow::RestartDatabase => environment::restart(Service::Postgres).await,
        Blow::CutBroker => system.to_broker.cut(),
        Blow::CutDatabase => system.to_database.cut(),
        Blow::CutJudge => system.to_judge.cut(),
        Blow::FreezeWorker => {
            system.consumers(2).await;
            workers[chosen].signal("STOP");
            // It misses its heartbeats, the other takes its deliveries, and then it comes back to life.
            system.consumers(1).await;
            workers[chosen].signal("CONT");
        }
    }
    println!("{blow:?} took {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_is_doubled_whatever_falls_over() {
    let mut seed = Seed::new();
    let material = material(&mut seed);
    let blows = schedule(&mut seed);
    println!("schedule: {blows:?}");
    let builder = System::builder().alone().tuned(|tuning| tuning.heartbeat_s = 3).judged(|judge| {
        // Slow enough that every blow meets both workers with all hands full.
        judge.latency_ms = 100;
        judge.latency_spread_ms = 500;
    });
    let builder = material
        .iter()
        .fold(builder, |builder, (trace, _, replies)| builder.replies(trace.id(), replies.as_slice()));
    let system = builder.start().await;
    let mut workers = vec![start(&system), start(&system)];
    system.consumers(2).await;

    let begun = Instant::now();
    let mut checker = Checker::default();
    let mut due = blows.iter();
    let step = TRACES / (blows.len() + 1);
    for (at, (trace, fate, _)) in material.iter().enumerate() {
        // So much is on its way at any time that every blow hits something.
        wait_for("room for the next trace", PUBLISH_PATIENCE, async || {
            supervise(&system, &mut workers).await;
            (checker.pending(&system).await < ON_THE_WAY).then_some(())
        })
        .await;
        checker.attempt(trace.id(), *fate);
        // A producer keeps at it until the broker confirms, so it may publish twice.
        wait_for("a confirm", PUBLISH_PATIENCE, async || {
            let envelope = Envelope { message_id: Some(trace.id().to_owned()), ..Envelope::default() };
            system.try_publish(Lane::Normal, envelope, trace.bytes()).await.ok()
        })
        .await;
        checker.confirm(trace.id());
        if at % step == step - 1
            && let Some(blow) = due.next()
        {
            strike(&system, *blow, &mut workers, &mut seed).await;
        }
    }
    for blow in due {
        strike(&system, *blow, &mut workers, &mut seed).await;
    }

    println!("all published and all faults over after {:?}", begun.elapsed());
    let settled = async {
        let unsent =
            async || system.strings("select id::text from groundcrew.outbox where sent_at is null").await;
        wait_for("the last trace", END_PATIENCE * 2, async || {
            supervise(&system, &mut workers).await;
            let is_quiet = checker.pending(&system).await == 0 && system.waiting().await.is_empty();
            (is_quiet && unsent().await.is_empty()).then_some(())
        })
        .await;
        system.drained(Lane::Normal).await;
    };
    // What does not settle is lost, and the table says what that is.
    let is_settled = tokio::time::timeout(END_PATIENCE, settled).await.is_ok();
    println!("settled after {:?}", begun.elapsed());
    for worker in &workers {
        worker.terminate();
    }
    for worker in &mut workers {
        assert_eq!(worker.ended(PATIENCE).await.code(), Some(0), "{}", worker.log());
    }
    let faults = u64::try_from(blows.len()).unwrap();
    let concurrency = u64::from(system.tuning.concurrency);
    let interruptions = blows.iter().map(|blow| blow.interrupts(concurrency)).sum();
    let findings = checker.check(&system, faults, interruptions).await;
    println!("seed {seed}, {TRACES} traces, {} faults:\n{findings}", blows.len());
    let violations = findings.violations();
    assert!(violations.is_empty(), "seed {seed}, schedule {blows:?}: {violations:#?}");
    assert!(is_settled, "seed {seed}, schedule {blows:?}: not settled after {END_PATIENCE:?}");
}
