//! `groundcrew queue status`: how much waits, and where.

use chrono::{DateTime, Utc};
use queue::{Lane, Purpose, topology};
use serde::Serialize;
use store::{Fleet, Scope, WorkerReport};

use crate::args::Status;
use crate::config::Settings;
use crate::failure::Outcome;
use crate::output::Output;
use crate::{services, terminal};

use super::{fleet, table};

#[derive(Debug, Serialize)]
struct Answer {
    fleet: Fleet,
    queues: Vec<Depth>,
    workers: Vec<WorkerReport>,
    outbox: Outbox,
    open_audits: i64,
    dead_letters: i64,
    review_items: i64,
}

#[derive(Debug, Serialize)]
struct Depth {
    queue: String,
    /// None when the queue does not exist.
    ready: Option<u32>,
    /// Deliveries that workers have in work, as they report; none for queues that are no lanes.
    in_flight: Option<i64>,
    /// No message that waits is older, in seconds. None when nothing waits or nothing is known.
    oldest_at_most_s: Option<i64>,
    consumers: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Outbox {
    unsent: i64,
    oldest_s: Option<f64>,
}

/// Counts, and prints the counts.
pub(crate) async fn run(args: &Status, settings: &Settings) -> Outcome {
    let connection = services::connection(settings, Purpose::Consume).await?;
    let depths = topology::depths(&connection).await.map_err(services::broker)?;
    connection.close().await;
    let store = services::store(settings).await?;
    let outbox = store.outbox_depth().await.map_err(services::database)?;
    let summary = store.summary(&Scope::Everything).await.map_err(services::database)?;
    let fleet = store.fleet().await.map_err(services::database)?;
    let workers = store.workers(worker::SILENCE).await.map_err(services::database)?;
    store.close().await;
    let now = Utc::now();
    let answer = Answer {
        queues: depths.into_iter().map(|depth| of_queue(depth, &workers, settings, now)).collect(),
        fleet,
        workers,
        outbox: Outbox { unsent: outbox.unsent, oldest_s: outbox.oldest.map(|age| age.as_secs_f64()) },
        open_audits: summary.open,
        dead_letters: summary.dead_letters_open,
        review_items: summary.review_items_open,
    };
    let mut output = Output::new();
    if args.json.json {
        output.json(&answer);
    } else {
        print(&mut output, &answer);
    }
    Ok(())
}

fn of_queue(
    depth: topology::Depth,
    workers: &[WorkerReport],
    settings: &Settings,
    now: DateTime<Utc>,
) -> Depth {
    let lane = Lane::of_queue(&depth.queue);
    let waits = depth.counts.is_some_and(|counts| counts.ready > 0);
    // A lane hands out what came first, so what waits came after what was taken last; a tier lets nothing stay
    // longer than its delay.
    let oldest = match lane {
        Some(lane) => workers
            .iter()
            .filter_map(|worker| taken(worker, lane))
            .max()
            .map(|time| (now - time).num_seconds().max(0)),
        None => tier_s(&depth.queue, settings),
    };
    Depth {
        ready: depth.counts.map(|counts| counts.ready),
        in_flight: lane.map(|lane| workers.iter().map(|worker| in_work(worker, lane)).sum()),
        oldest_at_most_s: oldest.filter(|_| waits),
        consumers: depth.counts.map(|counts| counts.consumers),
        queue: depth.queue,
    }
}

const fn taken(worker: &WorkerReport, lane: Lane) -> Option<DateTime<Utc>> {
    match lane {
        Lane::Urgent => worker.taken_urgent,
        Lane::Normal => worker.taken_normal,
        Lane::Bulk => worker.taken_bulk,
    }
}

const fn in_work(worker: &WorkerReport, lane: Lane) -> i64 {
    match lane {
        Lane::Urgent => worker.in_work_urgent,
        Lane::Normal => worker.in_work_normal,
        Lane::Bulk => worker.in_work_bulk,
    }
}

fn tier_s(queue: &str, settings: &Settings) -> Option<i64> {
    let tiers = &settings.queue.settings.as_ref()?.options().retry_tiers;
    let tier = tiers.iter().find(|tier| queue::tier_name(**tier) == queue)?;
    i64::try_from(tier.as_secs()).ok()
}

fn print(output: &mut Output, answer: &Answer) {
    output.line(format!("fleet         {}", fleet::line(&answer.fleet)));
    output.line("");
    let rows: Vec<[String; 5]> = answer
        .queues
        .iter()
        .map(|depth| {
            [
                depth.queue.clone(),
                shown(depth.ready),
                depth.in_flight.map_or_else(String::new, |count| count.to_string()),
                depth.oldest_at_most_s.map_or_else(String::new, |age| format!("{age} s at most")),
                shown(depth.consumers),
            ]
        })
        .collect();
    for line in table::lines(["queue", "waiting", "in work", "oldest", "consumers"], &rows) {
        output.line(line);
    }
    if answer.queues.iter().any(|depth| depth.ready.is_none()) {
        output.line("- the queue does not exist; a worker makes it when it starts");
    }
    output.line("");
    if answer.workers.is_empty() {
        output.line("no worker has reported lately");
    } else {
        let rows: Vec<[String; 4]> = answer.workers.iter().map(worker_row).collect();
        for line in table::lines(["worker", "takes deliveries", "in work", "since (UTC)"], &rows) {
            output.line(line);
        }
    }
    output.line("");
    let age = answer.outbox.oldest_s.map(|age| format!(", the oldest for {age:.0} s")).unwrap_or_default();
    output.line(format!("outbox        {} not sent{age}", answer.outbox.unsent));
    output.line(format!("open audits   {}", answer.open_audits));
    output.line(format!("dead letters  {} open", answer.dead_letters));
    output.line(format!("review items  {} open", answer.review_items));
}

fn shown(count: Option<u32>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| count.to_string())
}

fn worker_row(worker: &WorkerReport) -> [String; 4] {
    let flow = match worker.flow.as_str() {
        "full" => "yes",
        "probe" => "one per lane: a probe of the judge",
        "judge_unavailable" => "no: no judge can be asked",
        "paused" => "no: paused",
        "stopping" => "no: stopping",
        other => other,
    };
    let in_work = worker.in_work_urgent + worker.in_work_normal + worker.in_work_bulk;
    [
        terminal::line(&format!("{}:{}", worker.host, worker.process_id)),
        terminal::line(flow),
        in_work.to_string(),
        worker.started_at.format("%Y-%m-%d %H:%M").to_string(),
    ]
}
