//! `groundcrew queue dead`: messages that were given up on.

use serde::Serialize;
use store::{DeadFilter, DeadLetterView, DeadReason, DeadSource, DeadStatus, Replayed, Store, UnknownWord};
use uuid::Uuid;

use crate::args::{DeadDiscard, DeadList, DeadReplay, DeadShow, WhichDead};
use crate::config::Settings;
use crate::failure::{Failure, Outcome, chain};
use crate::output::{self, Output};
use crate::{services, terminal};

use super::table;

/// Lists dead letters.
pub(crate) async fn list(args: &DeadList, settings: &Settings) -> Outcome {
    let status = word::<DeadStatus>(&args.status)?;
    let filter = DeadFilter {
        status: Some(status),
        source: source(args.source.as_deref())?,
        reason: args.reason.clone(),
        project: args.project.clone(),
    };
    let store = services::store(settings).await?;
    if args.by_reason {
        let reasons = store.dead_reasons(&filter, args.limit).await.map_err(services::database)?;
        store.close().await;
        print_reasons(&reasons, status, args.json.json);
        return Ok(());
    }
    let letters = store.dead_list(&filter, args.limit).await.map_err(services::database)?;
    store.close().await;
    let mut output = Output::new();
    if args.json.json {
        output.json(&letters);
        return Ok(());
    }
    if letters.is_empty() {
        output.line(format!("no dead letters are {status}"));
        return Ok(());
    }
    let rows: Vec<[String; 4]> = letters
        .iter()
        .map(|letter| {
            [
                letter.id.to_string(),
                letter.last_seen_at.format("%Y-%m-%d %H:%M").to_string(),
                letter.source.to_string(),
                terminal::line(&format!("{}{}", name(letter), dead_reason(letter))),
            ]
        })
        .collect();
    for line in table::lines(["id", "seen (UTC)", "source", "reason"], &rows) {
        output.line(line);
    }
    if letters.len() == usize::try_from(args.limit).unwrap_or(usize::MAX) {
        output.line("there may be more: see --limit");
    }
    Ok(())
}

fn print_reasons(reasons: &[DeadReason], status: DeadStatus, json: bool) {
    let mut output = Output::new();
    if json {
        output.json(&reasons);
        return;
    }
    if reasons.is_empty() {
        output.line(format!("no dead letters are {status}"));
        return;
    }
    let rows: Vec<[String; 5]> = reasons
        .iter()
        .map(|group| {
            [
                group.letters.to_string(),
                group.source.to_string(),
                group.last_seen_at.format("%Y-%m-%d %H:%M").to_string(),
                group.example.to_string(),
                terminal::line(&group.reason),
            ]
        })
        .collect();
    for line in table::lines(["letters", "source", "last (UTC)", "one of them", "reason"], &rows) {
        output.line(line);
    }
    output.line("replay or discard a group with: groundcrew queue dead replay --source SOURCE --reason TEXT");
}

/// Shows one dead letter whole.
pub(crate) async fn show(args: &DeadShow, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let letter = find(&store, args.id).await?;
    store.close().await;
    let mut output = Output::new();
    let body = letter.body.clone().unwrap_or_default();
    if args.raw {
        output.raw(&body);
    } else if args.json.json {
        output.json(&letter);
    } else {
        print(&mut output, &letter, &body);
    }
    Ok(())
}

fn print(output: &mut Output, letter: &DeadLetterView, body: &[u8]) {
    let mut field = |name: &str, value: &str| output.line(format!("{name:<10} {}", terminal::line(value)));
    field("id", &letter.id.to_string());
    field("status", &format!("{}, replayed {}", letter.status, terminal::count(letter.replays, "time")));
    field("source", letter.source.as_str());
    field("reason", &letter.reason);
    field(
        "trace",
        &format!(
            "{}/{}",
            letter.project.as_deref().unwrap_or("?"),
            letter.trace_id.as_deref().unwrap_or("?")
        ),
    );
    field("lane", letter.lane.as_deref().unwrap_or("?"));
    field(
        "kinds",
        &if letter.kinds.is_empty() {
            "those that the trace asks for".into()
        } else {
            letter.kinds.join(", ")
        },
    );
    field(
        "seen",
        &format!(
            "{}, {} to {}",
            terminal::count(letter.seen, "time"),
            time(letter.first_seen_at),
            time(letter.last_seen_at)
        ),
    );
    if let Some(note) = &letter.note {
        field("note", note);
    }
    let problems = letter.problems.as_array().map(Vec::as_slice).unwrap_or_default();
    for problem in problems {
        let text =
            |key: &str| problem.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        field("problem", &format!("{}: {}", text("path"), text("message")));
    }
    field("headers", &letter.headers.to_string());
    output.line(format!("body ({} bytes):", letter.body_bytes));
    output.line(terminal::bytes(body));
}

fn time(time: chrono::DateTime<chrono::Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Why a letter is left alone that is not open.
const SETTLED: &str = "it was replayed or discarded already; it is open again if it comes back";

/// What became of the dead letters that were asked for.
#[derive(Debug, Default, Serialize)]
struct Answer {
    done: Vec<Uuid>,
    failed: Vec<Failed>,
}

#[derive(Debug, Serialize)]
struct Failed {
    id: Uuid,
    reason: String,
}

/// Sends dead letters to the queue again.
pub(crate) async fn replay(args: &DeadReplay, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let ids = which(&args.which, &store).await?;
    let mut answer = Answer::default();
    if !ids.is_empty() {
        let bar = output::progress(ids.len(), "replaying");
        for id in ids {
            match replay_one(&store, id).await {
                Ok(()) => answer.done.push(id),
                Err(reason) => answer.failed.push(Failed { id, reason }),
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
    }
    store.close().await;
    conclude(&answer, "replayed", args.json.json)
}

/// The ids that are meant: those that were named, or the open ones that fit.
async fn which(which: &WhichDead, store: &Store) -> Result<Vec<Uuid>, Failure> {
    if !which.ids.is_empty() {
        // One that is named twice is one letter.
        let mut seen = std::collections::HashSet::new();
        return Ok(which.ids.iter().copied().filter(|id| seen.insert(*id)).collect());
    }
    let filter = DeadFilter {
        status: Some(DeadStatus::Open),
        source: source(which.source.as_deref())?,
        reason: which.reason.clone(),
        project: which.project.clone(),
    };
    store.dead_ids(&filter, which.limit).await.map_err(services::database)
}

/// As the desk does it: letter and message in one commit, so that however many replay it at once, it goes out once.
async fn replay_one(store: &Store, id: Uuid) -> Result<(), String> {
    match store.dead_replay(id, None).await {
        Ok(Replayed::Sent { .. }) => Ok(()),
        Ok(Replayed::Missing) => Err(missing(id)),
        Ok(Replayed::Settled) => Err(SETTLED.to_owned()),
        Ok(Replayed::Cut) => {
            Err("only the beginning of this message was kept: it must be sent by its producer again"
                .to_owned())
        }
        Err(error) => Err(chain(&error)),
    }
}

fn missing(id: Uuid) -> String {
    format!("there is no dead letter {id}")
}

/// Marks dead letters as done with.
pub(crate) async fn discard(args: &DeadDiscard, settings: &Settings) -> Outcome {
    if args.note.trim().is_empty() {
        return Err(Failure::usage("--note is empty: say why nothing more has to be done"));
    }
    let store = services::store(settings).await?;
    let ids = which(&args.which, &store).await?;
    let mut answer = Answer::default();
    let bar = output::progress(ids.len(), "discarding");
    for id in ids {
        match discard_one(&store, id, &args.note).await {
            Ok(()) => answer.done.push(id),
            Err(reason) => answer.failed.push(Failed { id, reason }),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    store.close().await;
    conclude(&answer, "discarded", args.json.json)
}

async fn discard_one(store: &Store, id: Uuid, note: &str) -> Result<(), String> {
    match store.dead_discard(id, note).await {
        Ok(true) => Ok(()),
        Ok(false) => match store.dead_show(id).await {
            Ok(Some(_)) => Err(SETTLED.to_owned()),
            Ok(None) => Err(missing(id)),
            Err(error) => Err(chain(&error)),
        },
        Err(error) => Err(chain(&error)),
    }
}

fn conclude(answer: &Answer, done: &str, json: bool) -> Outcome {
    let mut output = Output::new();
    if json {
        output.json(answer);
    } else {
        for failed in &answer.failed {
            output.line(format!("{}: {}", failed.id, terminal::line(&failed.reason)));
        }
        output.line(format!("{} {done}, {} not", answer.done.len(), answer.failed.len()));
    }
    if answer.failed.is_empty() { Ok(()) } else { Err(Failure::not_fine()) }
}

async fn find(store: &Store, id: Uuid) -> Result<DeadLetterView, Failure> {
    let found = store.dead_show(id).await.map_err(services::database)?;
    found.ok_or_else(|| Failure::failed(missing(id)))
}

/// Why it was given up on, with the first thing that was wrong.
pub(crate) fn dead_reason(letter: &DeadLetterView) -> String {
    let problems = letter.problems.as_array().map(Vec::as_slice).unwrap_or_default();
    match first_problem(problems) {
        Some(problem) => format!("{}: {problem}", letter.reason),
        None => letter.reason.clone(),
    }
}

/// The first of several problems, and how many more there are.
pub(crate) fn first_problem(problems: &[serde_json::Value]) -> Option<String> {
    let first = problems.first()?;
    let text = |key: &str| first.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let place = if text("path") == "$" { String::new() } else { format!("{}: ", text("path")) };
    let more = if problems.len() > 1 { format!(" (and {} more)", problems.len() - 1) } else { String::new() };
    Some(format!("{place}{}{more}", text("message")))
}

/// Whose message it was, where that could be read.
fn name(letter: &DeadLetterView) -> String {
    match (&letter.project, &letter.trace_id) {
        (Some(project), Some(trace_id)) => format!("{project}/{trace_id}: "),
        (None, Some(name)) | (Some(name), None) => format!("{name}: "),
        (None, None) => String::new(),
    }
}

fn source(given: Option<&str>) -> Result<Option<DeadSource>, Failure> {
    given.map(word).transpose()
}

fn word<T: std::str::FromStr<Err = UnknownWord>>(given: &str) -> Result<T, Failure> {
    given.parse().map_err(Failure::usage)
}
