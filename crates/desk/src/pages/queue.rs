//! The lists.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use axum::routing::{MethodRouter, get};
use chrono::Utc;
use outcomes::highlight::visible;

use super::frame::{Frame, age, machine, moment, render};
use super::page;
use crate::access::{Csrf, Principal};
use crate::extract::Params;
use crate::problem::Refusal;
use crate::review::{Listed, Query};
use crate::routes::Route;
use crate::state::Desk;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/", "the first page: what waits", get(async || Redirect::to("/queue"))),
        page("/queue", "findings that wait, by urgency and age", list("findings")),
        page("/failed", "audits whose replies could not be used", list("failed")),
        page("/sample", "passed audits to look at without the verdict", list("sample")),
        page("/closed", "reviews that have ended", list("closed")),
    ]
}

#[derive(Template)]
#[template(path = "queue.html")]
struct QueuePage {
    frame: Frame,
    heading: &'static str,
    about: &'static str,
    /// The page's own path.
    path: &'static str,
    query: Query,
    rows: Vec<Row>,
    chips: Vec<Chip>,
    waiting: i64,
    projects: Vec<String>,
    has_findings: bool,
    is_closed: bool,
    next: Option<String>,
    /// Of a search: how many items were looked at.
    searched: Option<u64>,
    is_later_page: bool,
    is_filtered: bool,
    read_at: String,
}

struct Row {
    id: String,
    trace_id: String,
    project: String,
    kind: String,
    query: String,
    severity: String,
    urgent: bool,
    reasons: Vec<String>,
    age: String,
    created: String,
    due: String,
    due_at: String,
    overdue: bool,
    held_by: String,
    mine: bool,
    opinion_given: bool,
    outcome: String,
    practice: bool,
}

/// A reason to filter by, with how many items have it.
struct Chip {
    words: String,
    items: i64,
    link: String,
    is_on: bool,
}

/// The handler of the page that shows `name`.
fn list(name: &'static str) -> MethodRouter<Desk> {
    get(async move |State(desk): State<Desk>, asker: Principal, csrf: Csrf, Params(query): Params<Query>| {
        show(desk, asker, csrf, query, name).await
    })
}

async fn show(
    desk: Desk,
    asker: Principal,
    csrf: Csrf,
    query: Query,
    list: &'static str,
) -> Result<Response, Refusal> {
    let query = Query { list: list.to_owned(), ..query };
    let scope = asker.projects.as_deref();
    let (listed, counts, projects) = tokio::join!(
        query.page(&desk, &asker),
        desk.store().review_counts(scope),
        desk.store().review_projects(scope)
    );
    let (listed, counts, projects) = (listed?, counts?, projects?);
    let (path, heading, about) = match list {
        "failed" => (
            "/failed",
            "Failed audits",
            "The judge's replies could not be used. Label the trace, ask again, or dismiss it.",
        ),
        "sample" => (
            "/sample",
            "Blind sample",
            "Answers drawn at random. What the judge said is shown after you have ruled.",
        ),
        "closed" => ("/closed", "Closed reviews", "The last closed first."),
        _ => ("/queue", "Queue", "The most urgent first, then the oldest."),
    };
    let chips = counts
        .iter()
        .filter(|count| count.list == list)
        .filter_map(|count| {
            let reason = count.reason.clone()?;
            let is_on = query.reason == reason;
            let wanted = if is_on { String::new() } else { reason.clone() };
            let link = link(path, &Query { reason: wanted, after: String::new(), ..query.clone() });
            Some(Chip { words: reason.replace('_', " "), items: count.items, link, is_on })
        })
        .collect();
    let waiting =
        counts.iter().find(|count| count.list == list && count.reason.is_none()).map_or(0, |it| it.items);
    let next = listed.next.clone().map(|next| link(path, &Query { after: next, ..query.clone() }));
    let plain = Query { list: query.list.clone(), ..Query::default() };
    let page = QueuePage {
        frame: Frame::new(heading, list, &asker, &csrf),
        heading,
        about,
        path,
        searched: listed.searched,
        rows: rows(listed, &asker),
        chips,
        waiting,
        projects,
        has_findings: list == "findings",
        is_closed: list == "closed",
        next,
        is_later_page: !query.after.is_empty(),
        is_filtered: query != Query { after: query.after.clone(), ..plain },
        query,
        read_at: machine(Utc::now()),
    };
    Ok(render(StatusCode::OK, &page))
}

fn rows(listed: Listed, asker: &Principal) -> Vec<Row> {
    let now = Utc::now();
    let row = |item: crate::review::ItemLine| Row {
        trace_id: visible(&item.trace_id),
        project: visible(&item.project),
        kind: item.kind.replace('_', " "),
        query: visible(&item.query),
        severity: item.severity.unwrap_or_default(),
        urgent: item.urgent,
        reasons: item.reasons.iter().map(|reason| reason.replace('_', " ")).collect(),
        age: age(item.created_at, now),
        created: moment(item.created_at),
        due: if item.overdue {
            format!("overdue by {}", age(item.due_at, now))
        } else {
            format!("due in {}", age(now, item.due_at))
        },
        due_at: moment(item.due_at),
        overdue: item.overdue,
        mine: item.held_by.as_deref() == Some(asker.name.as_str()),
        held_by: item.held_by.as_deref().map(visible).unwrap_or_default(),
        opinion_given: item.opinion_given,
        outcome: item.outcome.unwrap_or_default(),
        practice: item.practice,
        id: item.review_item,
    };
    listed.items.into_iter().map(row).collect()
}

/// The page's address with this question, without what is empty.
fn link(path: &str, query: &Query) -> String {
    let fields = [
        ("project", &query.project),
        ("severity", &query.severity),
        ("reason", &query.reason),
        ("kind", &query.kind),
        ("assignee", &query.assignee),
        ("text", &query.text),
        ("after", &query.after),
    ];
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        pairs.append_pair(name, value);
    }
    let pairs = pairs.finish();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{pairs}") }
}
