//! `groundcrew replay replies`: what stored replies would be called today.

use std::collections::BTreeMap;

use audit::policy::Class;
use audit::reply::Problem;
use runner::Replayed;
use serde::Serialize;
use store::Recorded;
use trace::{Kind, Readiness, completeness};
use uuid::Uuid;

use crate::args::ReplayReplies;
use crate::commands::table;
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::{services, terminal};

/// What came of it.
#[derive(Debug, Default, Serialize)]
struct Answer {
    audits: usize,
    replies: usize,
    unchanged: usize,
    /// How many replies went from which class to which, those that kept theirs included.
    moves: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
    changed: Vec<Changed>,
    not_read: NotRead,
}

/// Replies that could not be read again, by reason.
#[derive(Debug, Default, Serialize)]
struct NotRead {
    /// The message or the words were removed by age.
    removed: usize,
    /// The project's requirements, or the contract, have become stricter than the trace.
    incomplete: usize,
    /// The reply never had words that could be read, or its list of claims cannot be told any more.
    without_words: usize,
}

#[derive(Debug, Serialize)]
struct Changed {
    audit_id: Uuid,
    project: String,
    trace_id: String,
    kind: String,
    unit: u32,
    number: u32,
    before: &'static str,
    after: &'static str,
    /// What is wrong with it now.
    codes: Vec<&'static str>,
    problems: Vec<Problem>,
}

/// Reads stored replies again and says what would be different.
pub(crate) async fn run(args: &ReplayReplies, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let mut answer = Answer::default();
    let filter = super::filter(&args.which, false);
    let read = super::each(&store, &filter, args.which.limit, async |recorded| {
        add(&mut answer, &recorded, settings);
        Ok(())
    })
    .await;
    store.close().await;
    read?;
    let mut output = Output::new();
    if args.json.json {
        output.json(&answer);
    } else {
        print(&mut output, &answer);
    }
    if answer.changed.is_empty() { Ok(()) } else { Err(Failure::not_fine()) }
}

fn add(answer: &mut Answer, recorded: &Recorded, settings: &Settings) {
    answer.audits += 1;
    let replies = recorded.attempts.iter().filter(|attempt| attempt.class.is_reply()).count();
    answer.replies += replies;
    let Some(payload) = &recorded.payload else {
        answer.not_read.removed += replies;
        return;
    };
    let Some(replayed) = replay(recorded, payload, settings) else {
        answer.not_read.incomplete += replies;
        return;
    };
    for reply in replayed {
        match reply.after {
            None if recorded.body_removed_at.is_some() => answer.not_read.removed += 1,
            None => answer.not_read.without_words += 1,
            Some(after) => note(answer, recorded, &reply, after),
        }
    }
}

/// None when the trace cannot be judged under the present rules.
fn replay(recorded: &Recorded, payload: &[u8], settings: &Settings) -> Option<Vec<Replayed>> {
    let kind: Kind = recorded.kind.parse().ok()?;
    let trace = trace::decode(payload).ok()?;
    let requirements = &settings.worker.project(&trace.project).requirements;
    let Readiness::Complete(prepared) = completeness::check(&trace, kind, requirements) else { return None };
    let cut = recorded.cut.unwrap_or(settings.runner.cut);
    runner::replay(kind, &prepared.trace, cut, &recorded.attempts).ok()
}

fn note(answer: &mut Answer, recorded: &Recorded, reply: &Replayed, after: Class) {
    *answer.moves.entry(reply.before.as_str()).or_default().entry(after.as_str()).or_default() += 1;
    if !reply.is_changed() {
        answer.unchanged += 1;
        return;
    }
    answer.changed.push(Changed {
        audit_id: recorded.id,
        project: recorded.project.clone(),
        trace_id: recorded.trace_id.clone(),
        kind: recorded.kind.clone(),
        unit: reply.unit,
        number: reply.number,
        before: reply.before.as_str(),
        after: after.as_str(),
        codes: reply.problems.iter().map(|problem| problem.code.as_str()).collect(),
        problems: reply.problems.clone(),
    });
}

fn print(output: &mut Output, answer: &Answer) {
    output.line(format!(
        "stored replies: {}, of {} audits: {} keep their class, {} do not",
        answer.replies,
        answer.audits,
        answer.unchanged,
        answer.changed.len()
    ));
    let rows: Vec<[String; 3]> = answer
        .moves
        .iter()
        .flat_map(|(before, afters)| {
            afters.iter().map(|(after, count)| [(*before).to_owned(), (*after).to_owned(), count.to_string()])
        })
        .collect();
    if !rows.is_empty() {
        output.line("");
        for line in table::lines(["was", "is now", "replies"], &rows) {
            output.line(line);
        }
    }
    let skipped = [
        (answer.not_read.removed, "removed by age (retention.bodies_days)"),
        (answer.not_read.incomplete, "the trace is not complete under the present rules"),
        (answer.not_read.without_words, "no words to read, or no list of claims"),
    ];
    for (count, why) in skipped.into_iter().filter(|(count, _)| *count > 0) {
        output.line(format!("not read again: {count}: {why}"));
    }
    if !answer.changed.is_empty() {
        output.line("");
    }
    for changed in &answer.changed {
        output.line(format!(
            "audit {} ({}, trace {}), unit {}, call {}: {} -> {}",
            changed.audit_id,
            changed.kind,
            terminal::line(&changed.trace_id),
            changed.unit,
            changed.number,
            changed.before,
            changed.after,
        ));
        for problem in &changed.problems {
            let (path, message) = (terminal::line(&problem.path), terminal::line(&problem.message));
            output.line(format!("  {} at {path}: {message}", problem.code.as_str()));
        }
    }
}
