//! One item: what was asked, what was answered, what it rests on, what the judge said, and what people say.

use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use outcomes::highlight::visible;
use serde::Deserialize;

use super::frame::{Frame, render};
use super::item_page::ItemPage;
use super::{form, page};
use crate::access::{Csrf, Principal, Role};
use crate::problem::{Problem, Refusal};
use crate::review::act;
use crate::review::body::{CloseBody, RulingBody, Word};
use crate::routes::Route;
use crate::state::Desk;

pub(super) fn routes() -> Vec<Route> {
    let act = |path, about, handler| form(path, Role::Reviewer, about, handler);
    vec![
        page("/items/{id}", "one review item", get(show)),
        act("/items/{id}/take", "take the item", post(take)),
        act("/items/{id}/give-back", "give it back", post(give_back)),
        act("/items/{id}/rulings", "rule on a flag", post(rule)),
        act("/items/{id}/close", "end the review", post(close)),
        act("/items/{id}/retry", "ask for the audit again", post(retry)),
        act("/items/{id}/dismiss", "end the review without a word on the answer", post(dismiss)),
    ]
}

async fn show(
    State(desk): State<Desk>,
    asker: Principal,
    csrf: Csrf,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    answer(&desk, &asker, &csrf, &id, None).await
}

/// The page, with what went wrong with what was just tried.
async fn answer(
    desk: &Desk,
    asker: &Principal,
    csrf: &Csrf,
    id: &str,
    refusal: Option<&Refusal>,
) -> Result<Response, Refusal> {
    let item = act::view(desk, asker, id).await?;
    let tab = match (item.end.is_some(), item.list.as_str()) {
        (true, _) => "closed",
        (_, "failed") => "failed",
        (_, "sample") => "sample",
        _ => "findings",
    };
    let title = visible(&item.trace_id);
    let frame = Frame::new(title, tab, asker, csrf).with_error(refusal);
    let status = refusal.map_or(StatusCode::OK, Refusal::status);
    Ok(render(status, &ItemPage::new(&item, frame)))
}

/// Back to the page when something was done, or the page with why it was not.
async fn back(
    desk: &Desk,
    asker: &Principal,
    csrf: &Csrf,
    id: &str,
    done: Result<String, Refusal>,
) -> Result<Response, Refusal> {
    match done {
        Ok(place) => Ok(Redirect::to(&format!("/items/{id}{place}")).into_response()),
        Err(refusal) => answer(desk, asker, csrf, id, Some(&refusal)).await,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ActForm {
    fence: String,
    note: String,
    report_version: String,
    id: String,
    ruling: String,
    claim: String,
    omission: String,
    verdict: String,
    severity: String,
    text: String,
    faithful: String,
    decision: String,
    undo: String,
}

impl ActForm {
    fn fence(&self) -> i64 {
        self.fence.parse().unwrap_or_default()
    }

    fn note(&self) -> Option<String> {
        Some(self.note.trim().to_owned()).filter(|note| !note.is_empty())
    }

    fn faithful(&self) -> Option<Option<bool>> {
        match self.faithful.as_str() {
            "yes" => Some(Some(true)),
            "no" => Some(Some(false)),
            "unknown" => Some(None),
            _ => None,
        }
    }

    fn ruling(&self) -> Result<RulingBody, Refusal> {
        let wrong = |path: &str, message: &str| Refusal::unprocessable(vec![Problem::new(path, message)]);
        Ok(RulingBody {
            fence: self.fence(),
            report_version: self.report_version.clone(),
            id: self.id.parse().ok(),
            ruling: match self.ruling.as_str() {
                "confirm" => Word::Confirm,
                "override" => Word::Override,
                "annotate" => Word::Annotate,
                "add" => Word::Add,
                "overall" => Word::Overall,
                "undo" => Word::Undo,
                _ => return Err(wrong("$.ruling", "say what you rule")),
            },
            claim: self.claim.parse().ok(),
            omission: self.omission.parse().ok(),
            verdict: audit::Verdict::parse(&self.verdict),
            severity: audit::Severity::parse(&self.severity),
            text: Some(self.text.clone()).filter(|text| !text.trim().is_empty()),
            start: None,
            end: None,
            faithful: self.faithful().flatten(),
            undo: self.undo.parse().ok(),
            note: self.note(),
        })
    }

    /// Where the page goes on: behind what the form was about. Not at its card, on which browsers would set the focus.
    fn place(&self) -> String {
        match (self.claim.parse::<usize>(), self.omission.parse::<usize>()) {
            (Ok(at), _) => format!("?from=claim-{at}#flags-title"),
            (_, Ok(at)) => format!("?from=omission-{at}#flags-title"),
            _ => String::new(),
        }
    }
}

async fn take(
    State(desk): State<Desk>,
    asker: Principal,
    csrf: Csrf,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let done = act::take(&desk, &asker, &id).await.map(|_| String::new());
    back(&desk, &asker, &csrf, &id, done).await
}

async fn give_back(
    State(desk): State<Desk>,
    asker: Principal,
    Path(id): Path<String>,
    Form(form): Form<ActForm>,
) -> Result<Response, Refusal> {
    act::give_back(&desk, &asker, &id, form.fence()).await?;
    Ok(Redirect::to("/queue").into_response())
}

async fn rule(
    State(desk): State<Desk>,
    asker: Principal,
    csrf: Csrf,
    Path(id): Path<String>,
    Form(form): Form<ActForm>,
) -> Result<Response, Refusal> {
    let done = match form.ruling() {
        Ok(body) => act::rule(&desk, &asker, &id, &body).await.map(|_| form.place()),
        Err(refusal) => Err(refusal),
    };
    back(&desk, &asker, &csrf, &id, done).await
}

async fn close(
    State(desk): State<Desk>,
    asker: Principal,
    csrf: Csrf,
    Path(id): Path<String>,
    Form(form): Form<ActForm>,
) -> Result<Response, Refusal> {
    let body = CloseBody {
        fence: form.fence(),
        faithful: form.faithful(),
        decision: audit::review::FinalDecision::parse(&form.decision),
        note: form.note(),
    };
    let done = act::close(&desk, &asker, &id, &body).await.map(|_| String::new());
    back(&desk, &asker, &csrf, &id, done).await
}

async fn retry(
    State(desk): State<Desk>,
    asker: Principal,
    csrf: Csrf,
    Path(id): Path<String>,
    Form(form): Form<ActForm>,
) -> Result<Response, Refusal> {
    let note = form.note();
    let done = act::retry(&desk, &asker, &id, form.fence(), note.as_deref()).await.map(|_| String::new());
    back(&desk, &asker, &csrf, &id, done).await
}

async fn dismiss(
    State(desk): State<Desk>,
    asker: Principal,
    csrf: Csrf,
    Path(id): Path<String>,
    Form(form): Form<ActForm>,
) -> Result<Response, Refusal> {
    let note = form.note();
    let done = act::dismiss(&desk, &asker, &id, form.fence(), note.as_deref()).await.map(|_| String::new());
    back(&desk, &asker, &csrf, &id, done).await
}
