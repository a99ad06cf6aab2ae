//! `groundcrew trace show`: everything about one trace.

mod attempts;
mod findings;

use chrono::{DateTime, Utc};
use store::{AttemptView, AuditView, Bodies, TraceView};
use uuid::Uuid;

use crate::args::Show;
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use crate::{services, terminal};

use super::review::reasons;

/// Finds a trace and shows it.
pub(crate) async fn run(args: &Show, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let found =
        store.trace_show(&args.id, args.project.as_deref(), Bodies::With).await.map_err(services::database);
    store.close().await;
    let mut traces = found?;
    for trace in &mut traces {
        only_the_audit(&args.id, trace);
    }
    check_project(args, &traces)?;
    let mut output = Output::new();
    if let Some(number) = args.request {
        return show_request(&mut output, &traces, number);
    }
    if args.json.json {
        if !args.attempts {
            traces.iter_mut().for_each(without_bodies);
        }
        output.json(&traces);
        return Ok(());
    }
    for (at, trace) in traces.iter().enumerate() {
        if at > 0 {
            output.line("");
        }
        print(&mut output, trace, args.attempts);
    }
    Ok(())
}

/// Who asks for an audit by its id is not interested in its neighbours.
fn only_the_audit(id: &str, trace: &mut TraceView) {
    if let Ok(id) = id.parse::<Uuid>()
        && trace.audits.iter().any(|audit| audit.id == id)
    {
        trace.audits.retain(|audit| audit.id == id);
    }
}

fn check_project(args: &Show, traces: &[TraceView]) -> Outcome {
    let mut projects: Vec<&str> = traces.iter().map(|trace| trace.project.as_str()).collect();
    projects.dedup();
    match projects.as_slice() {
        [] => Err(Failure::failed(format!("there is no trace or audit {}", args.id))
            .hint("it may still wait in the queue (`groundcrew queue status`) or be a dead letter (`groundcrew queue dead list`)")),
        [_] => Ok(()),
        several => Err(Failure::usage(format!("several projects have a trace of this id: {}", several.join(", ")))
            .hint("name one with --project")),
    }
}

/// Requests and raw replies are large; who wants them in JSON asks for them.
fn without_bodies(trace: &mut TraceView) {
    trace.payload = None;
    for attempt in trace.audits.iter_mut().flat_map(|audit| &mut audit.attempts) {
        attempt.request = None;
        attempt.raw_reply = None;
    }
}

/// That a body is gone, and since when; none while it is kept.
fn removed(at: Option<DateTime<Utc>>) -> Option<String> {
    at.map(|at| format!("was removed by age on {} (retention.bodies_days)", at.format("%Y-%m-%d %H:%M UTC")))
}

/// Every attempt at the trace, in the order of the list that people see, counted from 1.
fn numbered(traces: &[TraceView]) -> impl Iterator<Item = (usize, &AttemptView)> {
    traces
        .iter()
        .flat_map(|trace| &trace.audits)
        .flat_map(|audit| &audit.attempts)
        .enumerate()
        .map(|(at, attempt)| (at + 1, attempt))
}

fn show_request(output: &mut Output, traces: &[TraceView], wanted: usize) -> Outcome {
    let count = numbered(traces).count();
    let attempt = numbered(traces).find(|(number, _)| *number == wanted).map(|(_, attempt)| attempt);
    let Some(request) = attempt.and_then(|attempt| attempt.request.as_deref()) else {
        let message = match attempt.and_then(|attempt| removed(attempt.body_removed_at)) {
            Some(removed) => format!("request {wanted} {removed}"),
            None => format!("there is no request {wanted}: this trace has {count} attempts"),
        };
        return Err(Failure::failed(message));
    };
    // A body is one long line; indented, the prompt in it can at least be found.
    match serde_json::from_slice::<serde_json::Value>(request) {
        Ok(body) => attempts::print_request(output, &body),
        Err(_) => output.line(terminal::bytes(request)),
    }
    Ok(())
}

fn print(output: &mut Output, view: &TraceView, with_replies: bool) {
    let columns = output::columns();
    let payload = view.payload.as_deref().and_then(|payload| trace::decode(payload).ok());
    output.line(format!(
        "trace {} of project {}",
        terminal::line(&view.trace_id),
        terminal::line(&view.project)
    ));
    paragraph(output, "  ", &facts(view), columns);
    for (name, text) in [("question", &view.query), ("answer", &view.answer)] {
        match text {
            None => output.line(format!("{name}: none")),
            Some(text) => {
                output.line(format!("{name}:"));
                for line in terminal::wrap(&terminal::block(text), columns - 2) {
                    output.line(format!("  {line}"));
                }
            }
        }
    }
    if let Some(removed) = removed(view.body_removed_at) {
        paragraph(output, "", &format!("the message with the evidence {removed}"), columns);
    }
    if view.audits.is_empty() {
        output.line("no audit of it has begun");
    }
    let mut number = 0;
    for audit in &view.audits {
        output.line("");
        print_audit(output, audit, columns);
        findings::print(output, audit, view, payload.as_ref(), columns);
        attempts::print(output, audit, &mut number, with_replies, columns);
    }
}

fn facts(view: &TraceView) -> String {
    let mut facts = vec![
        format!("received {}", view.received_at.format("%Y-%m-%d %H:%M:%S UTC")),
        terminal::count(view.chunk_count, "chunk"),
        format!("origin {}", view.origin),
        format!("intent {}", view.intent),
        format!("risk {}", view.risk),
    ];
    facts.extend(view.domain.as_ref().map(|domain| format!("domain {domain}")));
    facts.extend(view.generator_model.as_ref().map(|model| format!("answered by {model}")));
    facts.extend(view.content_owner.as_ref().map(|owner| format!("content owner {owner}")));
    if view.human_faithful.is_some() || view.human_score.is_some() {
        let word = match view.human_faithful {
            Some(true) => "faithful",
            Some(false) => "not faithful",
            None => "undecided",
        };
        let score = view.human_score.map(|score| format!(", score {score}")).unwrap_or_default();
        facts
            .push(format!("label of {}: {word}{score}", view.human_labeler.as_deref().unwrap_or("a person")));
    }
    facts.join(", ")
}

fn print_audit(output: &mut Output, audit: &AuditView, columns: usize) {
    let generation =
        if audit.generation > 0 { format!(", generation {}", audit.generation) } else { String::new() };
    output.line(format!("audit {} ({}{generation})", audit.id, audit.kind));
    output.line(format!("  {}", verdict(audit)));
    let practice = if audit.practice { "; the practice judge has no model and proves nothing" } else { "" };
    output.line(format!(
        "  judge {}, prompt {}{practice}",
        terminal::line(&audit.judge),
        audit.prompt_version
    ));
    let why = reasons(&audit.reasons);
    if !why.is_empty() {
        paragraph(output, "  why: ", &why, columns);
    }
    if let Some(item) = &audit.review_item {
        let urgent = if item.urgent { ", urgent" } else { "" };
        output.line(format!("  review item {} ({}{urgent})", item.id, item.status));
    }
    for problem in audit.trace_problems.as_array().into_iter().flatten() {
        let text = |key: &str| problem.get(key).and_then(|value| value.as_str()).unwrap_or_default();
        paragraph(output, "  ", &format!("{}: {}", text("path"), text("message")), columns);
    }
    if let Some(notes) = audit.discrepancy_notes.as_deref().filter(|notes| !notes.is_empty()) {
        paragraph(output, "  compared with the label: ", notes, columns);
    }
    if audit.duplicates > 0 {
        output.line(format!("  delivered again: {}", terminal::count(audit.duplicates, "time")));
    }
}

/// Prints text from outside on lines of its own, the first one behind `first`.
fn paragraph(output: &mut Output, first: &str, text: &str, columns: usize) {
    for line in terminal::paragraph(first, &terminal::line(text), columns) {
        output.line(line);
    }
}

/// The audit's end in one line.
fn verdict(audit: &AuditView) -> String {
    let Some(disposition) = &audit.disposition else {
        let attempts = terminal::count(audit.attempts_total, "attempt");
        return format!("open since {}, {attempts}", audit.opened_at.format("%Y-%m-%d %H:%M:%S UTC"));
    };
    let mut words = vec![disposition.clone()];
    words.extend(audit.decision.as_ref().map(|decision| format!("decision {decision}")));
    words.extend(audit.severity.as_ref().map(|severity| format!("severity {severity}")));
    if let Some(score) = audit.score {
        let rule = if audit.score_by_rule { " (by rule)" } else { "" };
        words.push(format!("score {score:.2}{rule}"));
    }
    if let Some(claims) = audit.claims_total {
        words.push(format!("{} of {claims} claims grounded", audit.claims_grounded.unwrap_or_default()));
    }
    if !audit.r#final {
        words.push("not final".into());
    }
    words.join(", ")
}
