//! Messages that were given up on.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use outcomes::highlight::visible;
use serde::Deserialize;
use serde_json::Value;
use store::DeadLetterView;

use super::frame::{Frame, moment, render};
use super::{About, form, page};
use crate::access::{Csrf, Principal, Role};
use crate::extract::{Fields, Params};
use crate::problem::Refusal;
use crate::review::{DeadQuery, letter, letters, send_again, throw_away};
use crate::routes::Route;
use crate::state::Desk;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/dead-letters", "messages that were given up on", get(list)),
        page("/dead-letters/{id}", "one of them, whole", get(show)),
        form("/dead-letters/{id}/replay", Role::Admin, "send it to its queue again", post(replay)),
        form("/dead-letters/{id}/discard", Role::Admin, "mark it as done with", post(discard)),
    ]
}

struct Row {
    id: String,
    source: &'static str,
    reason: String,
    trace: String,
    seen: String,
    times: i64,
    status: &'static str,
}

#[derive(Template)]
#[template(path = "dead.html")]
struct ListPage {
    frame: Frame,
    status: String,
    rows: Vec<Row>,
}

#[derive(Template)]
#[template(path = "dead_letter.html")]
struct LetterPage {
    frame: Frame,
    row: Row,
    kinds: String,
    first: String,
    bytes: i64,
    problems: Vec<(String, String)>,
    headers: String,
    body: String,
    note: String,
    is_open: bool,
    can_replay: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NoteForm {
    note: String,
}

fn row(letter: &DeadLetterView) -> Row {
    let name = |text: &Option<String>| text.as_deref().map_or_else(|| "?".to_owned(), visible);
    Row {
        id: letter.id.to_string(),
        source: letter.source.as_str(),
        reason: visible(&letter.reason),
        trace: format!("{} / {}", name(&letter.project), name(&letter.trace_id)),
        seen: moment(letter.last_seen_at),
        times: letter.seen,
        status: letter.status.as_str(),
    }
}

async fn list(
    State(desk): State<Desk>,
    asker: Principal,
    csrf: Csrf,
    Params(query): Params<DeadQuery>,
) -> Result<Response, Refusal> {
    let letters = letters(&desk, &asker, &query).await?;
    let status = if query.status.is_empty() { "open".to_owned() } else { query.status };
    let frame = Frame::new("Dead letters", "dead", &asker, &csrf);
    Ok(render(StatusCode::OK, &ListPage { frame, status, rows: letters.iter().map(row).collect() }))
}

async fn show(about: About) -> Result<Response, Refusal> {
    answer(&about, None).await
}

async fn answer(about: &About, refusal: Option<&Refusal>) -> Result<Response, Refusal> {
    let letter = letter(&about.desk, &about.asker, &about.id).await?;
    let body = letter.body.clone().unwrap_or_default();
    let text =
        |problem: &Value, key: &str| visible(problem.get(key).and_then(Value::as_str).unwrap_or_default());
    let problems = letter.problems.as_array().into_iter().flatten();
    let status = refusal.map_or(StatusCode::OK, Refusal::status);
    let page = LetterPage {
        frame: Frame::new("Dead letter", "dead", &about.asker, &about.csrf).with_error(refusal),
        kinds: if letter.kinds.is_empty() {
            "those that the trace asks for".to_owned()
        } else {
            visible(&letter.kinds.join(", "))
        },
        first: moment(letter.first_seen_at),
        bytes: letter.body_bytes,
        problems: problems.map(|problem| (text(problem, "path"), text(problem, "message"))).collect(),
        headers: visible(&serde_json::to_string_pretty(&letter.headers).unwrap_or_default()),
        can_replay: i64::try_from(body.len()) == Ok(letter.body_bytes),
        body: visible(&String::from_utf8_lossy(&body)),
        note: letter.note.as_deref().map(visible).unwrap_or_default(),
        is_open: letter.status == store::DeadStatus::Open,
        row: row(&letter),
    };
    Ok(render(status, &page))
}

/// Back to the list when something was done, or the page with why it was not.
async fn back<T>(about: &About, done: Result<T, Refusal>) -> Result<Response, Refusal> {
    match done {
        Ok(_) => Ok(Redirect::to("/dead-letters").into_response()),
        Err(refusal) => answer(about, Some(&refusal)).await,
    }
}

async fn replay(about: About, Fields(form): Fields<NoteForm>) -> Result<Response, Refusal> {
    let note = Some(form.note.trim()).filter(|note| !note.is_empty());
    let done = send_again(&about.desk, &about.asker, &about.id, note).await;
    back(&about, done).await
}

async fn discard(about: About, Fields(form): Fields<NoteForm>) -> Result<Response, Refusal> {
    let done = throw_away(&about.desk, &about.asker, &about.id, Some(&form.note)).await;
    back(&about, done).await
}
