//! `groundcrew replay traces`: stored traces judged again.

use std::collections::BTreeMap;

use queue::{Envelope, Message, Publisher, Target};
use runner::Runner;
use serde::Serialize;
use store::{Recorded, Store};
use tokio_util::sync::CancellationToken;
use trace::Kind;
use worker::{Again, Replayer, WhatCame};

use crate::args::ReplayTraces;
use crate::config::Settings;
use crate::failure::{Failure, Outcome, chain};
use crate::output::Output;
use crate::signals::{self, Insist};
use crate::{services, terminal};

/// What is meant, what it took the last time, and what was done.
#[derive(Debug, Default, Serialize)]
struct Answer {
    audits: usize,
    /// Their messages were removed by age.
    removed: usize,
    last_time: Cost,
    /// Handed to the queue, or judged here.
    done: usize,
    failed: Vec<Failed>,
    /// How those that were judged here ended.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    dispositions: BTreeMap<&'static str, usize>,
}

/// What calls of the judge took.
#[derive(Debug, Default, Serialize)]
struct Cost {
    calls: usize,
    prompt_tokens: u64,
    completion_tokens: u64,
    /// Millionths, by currency.
    cost_micros: BTreeMap<String, i64>,
    /// Calls whose price is not known, which is not the same as free.
    calls_without_price: usize,
}

#[derive(Debug, Serialize)]
struct Failed {
    project: String,
    trace_id: String,
    kind: String,
    reason: String,
}

/// Estimates, and with `--yes` sends.
pub(crate) async fn run(args: &ReplayTraces, settings: &Settings) -> Outcome {
    if let (Some(version), Some(kind)) = (&args.prompt, args.which.kind) {
        settings.runner.prompts.of_version(kind, version).map_err(|error| {
            Failure::usage(error).hint("`groundcrew prompt list` shows the versions that this process knows")
        })?;
    }
    let store = services::store(settings).await?;
    let mut answer = Answer::default();
    let filter = super::filter(&args.which, true);
    let estimated = super::each(&store, &filter, args.which.limit, async |recorded| {
        count(&mut answer, &recorded);
        Ok(())
    })
    .await;
    let mut output = Output::new();
    if !args.json.json && estimated.is_ok() {
        print_estimate(&mut output, &answer);
    }
    let done = match estimated {
        Ok(()) if !args.yes => Ok(()),
        Ok(()) => go(args, settings, &store, &mut answer).await,
        Err(failure) => Err(failure),
    };
    store.close().await;
    done?;
    if args.json.json {
        output.json(&answer);
    } else if args.yes {
        print_done(&mut output, args, &answer);
    }
    match (args.yes, answer.audits > answer.removed, answer.failed.is_empty()) {
        (false, true, _) => Err(Failure::failed("nothing was sent").hint("add --yes to judge them again")),
        (_, _, true) => Ok(()),
        (_, _, false) => Err(Failure::not_fine()),
    }
}

fn count(answer: &mut Answer, recorded: &Recorded) {
    answer.audits += 1;
    if recorded.payload.is_none() {
        answer.removed += 1;
        return;
    }
    let cost = &mut answer.last_time;
    for attempt in &recorded.attempts {
        cost.calls += 1;
        cost.prompt_tokens = cost.prompt_tokens.saturating_add(attempt.prompt_tokens.unwrap_or_default());
        cost.completion_tokens =
            cost.completion_tokens.saturating_add(attempt.completion_tokens.unwrap_or_default());
        match (attempt.cost_micros, &attempt.currency) {
            (Some(micros), Some(currency)) => {
                let sum = cost.cost_micros.entry(currency.clone()).or_default();
                *sum = sum.saturating_add(micros);
            }
            _ => cost.calls_without_price += 1,
        }
    }
}

/// Where audits go to be made again.
enum Way {
    Queue(Publisher),
    Here(Box<Replayer>, CancellationToken),
}

async fn go(args: &ReplayTraces, settings: &Settings, store: &Store, answer: &mut Answer) -> Outcome {
    let way = if args.here {
        let Some(configured) = &settings.judge else {
            return Err(Failure::usage("no judge is configured")
                .hint("set GROUNDCREW_JUDGE__BASE_URL and GROUNDCREW_JUDGE__MODEL, or leave --here out"));
        };
        let judges = services::judges(configured, &settings.fallback)?;
        let runner = Runner::new(judges, settings.runner.clone());
        let replayer = Replayer::new(settings.worker.clone(), services::store(settings).await?, runner);
        let stop = signals::stop_token(Insist::ForADrain).map_err(Failure::failed)?;
        Way::Here(Box::new(replayer), stop)
    } else {
        Way::Queue(services::publisher(settings).await?)
    };
    // What is made again now must not be found as the latest generation on a later page.
    let mut filter = super::filter(&args.which, true);
    filter.until.get_or_insert_with(chrono::Utc::now);
    let sent = super::each(store, &filter, args.which.limit, async |recorded| {
        send(args, &way, store, recorded, answer).await
    })
    .await;
    match way {
        Way::Queue(publisher) => publisher.connection().close().await,
        Way::Here(replayer, _) => replayer.close().await,
    }
    sent
}

async fn send(
    args: &ReplayTraces,
    way: &Way,
    store: &Store,
    recorded: Recorded,
    answer: &mut Answer,
) -> Outcome {
    let Recorded { project, trace_id, kind, generation, payload, .. } = recorded;
    let Some(payload) = payload else { return Ok(()) };
    let id = uuid::Uuid::now_v7();
    // Promised now: a replay before this one may still wait in its queue.
    let purpose = format!("replay {id}");
    let reserved =
        store.reserve_generation(&project, &trace_id, &purpose, generation.saturating_add(1)).await;
    let generation = reserved.map_err(services::database)?;
    let done = match way {
        Way::Queue(publisher) => publish(args, publisher, id, &kind, generation, payload).await,
        Way::Here(_, stop) if stop.is_cancelled() => Err("stopped".into()),
        Way::Here(replayer, stop) => here(args, replayer, stop, &kind, generation, payload).await,
    };
    match done {
        Ok(disposition) => {
            answer.done += 1;
            if let Some(disposition) = disposition {
                *answer.dispositions.entry(disposition).or_default() += 1;
            }
        }
        Err(reason) => answer.failed.push(Failed { project, trace_id, kind, reason }),
    }
    Ok(())
}

async fn publish(
    args: &ReplayTraces,
    publisher: &Publisher,
    id: uuid::Uuid,
    kind: &str,
    generation: u32,
    body: Vec<u8>,
) -> Result<Option<&'static str>, String> {
    let envelope = Envelope {
        message_id: Some(id.to_string()),
        kinds: vec![kind.to_owned()],
        generation,
        prompt_version: args.prompt.clone(),
        ..Envelope::default()
    };
    let message = Message { target: Target::lane(args.lane.into()), envelope, body };
    publisher.publish(&message).await.map(|()| None).map_err(|error| chain(&error))
}

async fn here(
    args: &ReplayTraces,
    replayer: &Replayer,
    stop: &CancellationToken,
    kind: &str,
    generation: u32,
    payload: Vec<u8>,
) -> Result<Option<&'static str>, String> {
    let again = Again {
        trace: trace::decode(&payload).map_err(|error| error.to_string())?,
        payload,
        kind: kind.parse::<Kind>().map_err(|error| error.to_string())?,
        generation,
        prompt_version: args.prompt.clone(),
    };
    match replayer.judge(again, stop).await {
        Ok(WhatCame::Ended(disposition)) => Ok(Some(disposition.as_str())),
        Ok(WhatCame::AlreadyEnded) => Ok(None),
        Ok(WhatCame::NotNow(reason)) => Err(reason),
        Err(error) => Err(chain(&error)),
    }
}

fn print_estimate(output: &mut Output, answer: &Answer) {
    let Answer { audits, removed, last_time: cost, .. } = answer;
    output.line(format!("audits to make again: {}", audits - removed));
    if *removed > 0 {
        output
            .line(format!("left out, their messages were removed by age (retention.bodies_days): {removed}"));
    }
    output.line(format!(
        "the last time they took {} calls of the judge, {} + {} tokens",
        cost.calls, cost.prompt_tokens, cost.completion_tokens
    ));
    for (currency, micros) in &cost.cost_micros {
        let currency = terminal::line(currency);
        output.line(format!("  {}.{:06} {currency}", micros / 1_000_000, micros.unsigned_abs() % 1_000_000));
    }
    if cost.calls_without_price > 0 {
        output.line(format!("  and {} calls whose price is not known", cost.calls_without_price));
    }
}

fn print_done(output: &mut Output, args: &ReplayTraces, answer: &Answer) {
    for failed in &answer.failed {
        output.line(format!(
            "{} of trace {}: {}",
            failed.kind,
            terminal::line(&failed.trace_id),
            terminal::line(&failed.reason)
        ));
    }
    if args.here {
        output.line(format!("judged again: {}, not: {}", answer.done, answer.failed.len()));
        for (disposition, count) in &answer.dispositions {
            output.line(format!("  {disposition}: {count}"));
        }
        output.line("`groundcrew replay compare` shows both results");
    } else {
        let lane = queue::Lane::from(args.lane);
        output.line(format!("sent to lane {lane}: {}, not: {}", answer.done, answer.failed.len()));
        output.line("once workers have judged them, `groundcrew replay compare` shows both results");
    }
}
