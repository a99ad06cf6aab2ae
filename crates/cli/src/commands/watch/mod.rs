//! `groundcrew watch`: results as they are stored.

mod expected;
mod feed;
mod summary;

use std::time::Duration;

use chrono::Utc;
use futures_util::StreamExt;
use store::{Bodies, Store};
use tokio::time::Instant;

use crate::args::Watch;
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use crate::services;
use crate::signals::{self, Insist};

use super::read;
use expected::{Expected, Name};
use feed::{Feed, Item};
use summary::Tally;

/// How often the tables are looked at.
const POLL: Duration = Duration::from_millis(300);

/// Traces that are looked up at once at the start.
const LOOKUPS: usize = 4;

/// Prints results until it is stopped or, if asked so, until nothing is to come.
pub(crate) async fn run(args: &Watch, settings: &Settings) -> Outcome {
    let stop = signals::stop_token(Insist::Quietly).map_err(Failure::failed)?;
    let expected = match &args.traces {
        None => None,
        Some(file) => {
            Some(Expected::read(&read(file)?, |project| settings.worker.project(project).audits.clone()))
        }
    };
    let store = services::store(settings).await?;
    let mut watch = Watching { expected, tally: Tally::default(), output: Output::new(), json: args.json };
    let mut feed = Feed::new(Utc::now());
    if let Some(expected) = &watch.expected {
        for item in stored_before(&store, expected).await? {
            if feed.is_new(&item) {
                watch.show(item);
            }
        }
    }
    let idle = Duration::from_secs(args.idle_seconds);
    let mut moved = Instant::now();
    loop {
        let items = feed.next(&store).await?;
        for item in items {
            if watch.concerns(&item) {
                watch.show(item);
                moved = Instant::now();
            }
        }
        watch.output.flush();
        let is_over = args.until_idle && (watch.is_complete() || moved.elapsed() >= idle);
        if is_over || stop.is_cancelled() || watch.output.is_gone() {
            break;
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(POLL) => {}
        }
    }
    let outcome = watch.conclude(&store, settings).await;
    store.close().await;
    outcome
}

/// What is watched, and what was seen of it.
struct Watching {
    /// None when everything is watched.
    expected: Option<Expected>,
    tally: Tally,
    output: Output,
    json: bool,
}

impl Watching {
    fn concerns(&self, item: &Item) -> bool {
        match (&self.expected, item) {
            (None, _) => true,
            (Some(expected), Item::Audit { line, .. }) => expected.holds(line),
            (Some(expected), Item::Dead(letter)) => expected.holds_dead(letter),
        }
    }

    fn show(&mut self, item: Item) {
        if let Some(expected) = &mut self.expected {
            match &item {
                Item::Audit { line, .. } => expected.ended(&line.project, &line.trace_id, &line.kind),
                Item::Dead(letter) => expected.buried(letter),
            }
        }
        if self.json {
            self.output.json_line(&item.json());
        } else {
            self.output.line(item.line());
        }
        self.tally.add(&item);
    }

    fn is_complete(&self) -> bool {
        self.expected.as_ref().is_some_and(Expected::is_complete)
    }

    async fn conclude(&mut self, store: &Store, settings: &Settings) -> Outcome {
        let unfinished = match &self.expected {
            Some(expected) if !expected.is_complete() => {
                summary::unfinished(store, settings, expected).await?
            }
            _ => Vec::new(),
        };
        if self.json {
            self.output.json_line(&self.tally.json(&unfinished));
        } else {
            for line in self.tally.lines(&unfinished) {
                self.output.line(line);
            }
        }
        if unfinished.is_empty() { Ok(()) } else { Err(Failure::not_fine()) }
    }
}

/// What is stored already of the traces of a file.
async fn stored_before(store: &Store, expected: &Expected) -> Result<Vec<Item>, Failure> {
    let names: Vec<&Name> = expected.names().collect();
    let bar = output::progress(names.len(), "looking up");
    let mut lookups = futures_util::stream::iter(&names)
        .map(|name| store.trace_show(&name.trace_id, Some(&name.project), Bodies::Without))
        .buffered(LOOKUPS);
    let mut items = Vec::new();
    while let Some(traces) = lookups.next().await {
        bar.inc(1);
        let traces = traces.map_err(services::database)?;
        items.extend(traces.iter().flat_map(Item::ended));
    }
    bar.finish_and_clear();
    for id in expected.dead_letters() {
        items.extend(store.dead_show(id).await.map_err(services::database)?.map(Item::dead));
    }
    items.sort_by_key(Item::time);
    Ok(items)
}
