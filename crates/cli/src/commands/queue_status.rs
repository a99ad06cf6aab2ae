//! `groundcrew queue status`: how much waits, and where.

use queue::{Purpose, topology};
use serde::Serialize;
use store::Scope;

use crate::args::Status;
use crate::config::Settings;
use crate::failure::Outcome;
use crate::output::Output;
use crate::services;

use super::table;

#[derive(Debug, Serialize)]
struct Answer {
    queues: Vec<Depth>,
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
    store.close().await;
    let answer = Answer {
        queues: depths
            .into_iter()
            .map(|depth| Depth {
                queue: depth.queue,
                ready: depth.counts.map(|counts| counts.ready),
                consumers: depth.counts.map(|counts| counts.consumers),
            })
            .collect(),
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

fn print(output: &mut Output, answer: &Answer) {
    let count = |count: Option<u32>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let rows: Vec<[String; 3]> = answer
        .queues
        .iter()
        .map(|depth| [depth.queue.clone(), count(depth.ready), count(depth.consumers)])
        .collect();
    for line in table::lines(["queue", "waiting", "consumers"], &rows) {
        output.line(line);
    }
    if answer.queues.iter().any(|depth| depth.ready.is_none()) {
        output.line("- the queue does not exist; a worker makes it when it starts");
    }
    output.line("");
    let age = answer.outbox.oldest_s.map(|age| format!(", the oldest for {age:.0} s")).unwrap_or_default();
    output.line(format!("outbox        {} not sent{age}", answer.outbox.unsent));
    output.line(format!("open audits   {}", answer.open_audits));
    output.line(format!("dead letters  {} open", answer.dead_letters));
    output.line(format!("review items  {} open", answer.review_items));
}
