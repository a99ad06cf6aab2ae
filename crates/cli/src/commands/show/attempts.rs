//! Calls of the judge: how each went, what it said, what it was asked.

use serde_json::Value;
use store::{AttemptView, AuditView};

use super::{paragraph, removed};
use crate::commands::table;
use crate::output::Output;
use crate::terminal;

/// Prints the attempts of one audit; `number` goes on over all audits of the trace.
pub(super) fn print(
    output: &mut Output,
    audit: &AuditView,
    number: &mut usize,
    with_replies: bool,
    columns: usize,
) {
    if audit.attempts.is_empty() {
        return;
    }
    let first = *number + 1;
    *number += audit.attempts.len();
    output.line("");
    let rows: Vec<[String; 8]> =
        audit.attempts.iter().enumerate().map(|(at, attempt)| row(first + at, attempt)).collect();
    let head = ["  call", "unit", "try", "class", "model", "latency", "tokens", "cost"];
    for line in table::lines(head, &rows) {
        output.line(line);
    }
    for (at, attempt) in audit.attempts.iter().enumerate() {
        print_attempt(output, first + at, attempt, with_replies, columns);
    }
}

fn row(number: usize, attempt: &AttemptView) -> [String; 8] {
    let tokens = match (attempt.prompt_tokens, attempt.completion_tokens) {
        (None, None) => "unknown".to_owned(),
        (prompt, completion) => {
            let count =
                |tokens: Option<i64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
            format!("{} + {}", count(prompt), count(completion))
        }
    };
    [
        format!("  {number}"),
        attempt.unit.to_string(),
        attempt.number.to_string(),
        attempt.class.clone(),
        terminal::cut(&terminal::line(attempt.model_answered.as_deref().unwrap_or(&attempt.model)), 28),
        format!("{} ms", attempt.latency_us / 1000),
        tokens,
        cost(attempt),
    ]
}

/// A price in its currency; what is not known is not called free.
fn cost(attempt: &AttemptView) -> String {
    let Some(micros) = attempt.cost_micros else { return "unknown".into() };
    let currency = terminal::line(attempt.currency.as_deref().unwrap_or_default());
    format!("{}.{:06} {currency}", micros / 1_000_000, micros.unsigned_abs() % 1_000_000)
}

fn print_attempt(
    output: &mut Output,
    number: usize,
    attempt: &AttemptView,
    with_reply: bool,
    columns: usize,
) {
    let mut details = Vec::new();
    details
        .extend(attempt.http_status.filter(|status| *status != 200).map(|status| format!("HTTP {status}")));
    details.extend(
        attempt
            .finish_reason
            .as_ref()
            .filter(|reason| *reason != "stop")
            .map(|reason| format!("finish reason {reason}")),
    );
    for problem in attempt.problems.as_array().into_iter().flatten() {
        let text = |key: &str| problem.get(key).and_then(Value::as_str).unwrap_or_default();
        details.push(format!("{} at {}: {}", text("code"), text("path"), text("message")));
    }
    details.extend(attempt.remedy.as_ref().map(|remedy| format!("asked again: {remedy}")));
    for detail in &details {
        paragraph(output, &format!("    {number}: "), detail, columns);
    }
    if with_reply {
        match (&attempt.raw_reply, removed(attempt.body_removed_at)) {
            (None, Some(removed)) => output.line(format!("    {number}: the raw reply {removed}")),
            (None, None) => output.line(format!("    {number}: nothing came back")),
            (Some(reply), _) => {
                output.line(format!("    {number}: raw reply, {} bytes", reply.len()));
                output.line(terminal::bytes(reply));
            }
        }
    }
}

/// Prints a request: parameters first, then each message as text.
pub(super) fn print_request(output: &mut Output, body: &Value) {
    let mut parameters = body.clone();
    let messages = parameters.as_object_mut().and_then(|body| body.remove("messages"));
    output.line(terminal::block(&format!("{parameters:#}")));
    for message in messages.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        output.line("");
        output.line(format!("--- {} ---", terminal::line(text("role"))));
        output.line(terminal::block(text("content")));
    }
}
