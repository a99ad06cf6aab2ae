//! One item: what was asked, what was answered, what it rests on, what the judge said, and what people say.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use outcomes::highlight::visible;
use serde::Deserialize;

use super::frame::{Frame, render};
use super::item_page::ItemPage;
use super::{About, form, page};
use crate::access::Role;
use crate::extract::Fields;
use crate::problem::{Problem, Refusal};
use crate::review::act;
use crate::review::body::{CloseBody, RulingBody, Word};
use crate::routes::Route;

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

async fn show(about: About) -> Result<Response, Refusal> {
    answer(&about, None).await
}

/// The page, with what went wrong with what was just tried.
async fn answer(about: &About, refusal: Option<&Refusal>) -> Result<Response, Refusal> {
    let item = act::view(&about.desk, &about.asker, &about.id).await?;
    let tab = match (item.end.is_some(), item.list.as_str()) {
        (true, _) => "closed",
        (_, "failed") => "failed",
        (_, "sample") => "sample",
        _ => "findings",
    };
    let title = visible(&item.trace_id);
    let frame = Frame::new(title, tab, &about.asker, &about.csrf).with_error(refusal);
    let status = refusal.map_or(StatusCode::OK, Refusal::status);
    Ok(render(status, &ItemPage::new(&item, frame)))
}

/// Back to the page, at `place`, when something was done; or the page with why it was not.
async fn back<T>(about: &About, done: Result<T, Refusal>, place: &str) -> Result<Response, Refusal> {
    match done {
        Ok(_) => Ok(Redirect::to(&format!("/items/{}{place}", about.id)).into_response()),
        Err(refusal) => answer(about, Some(&refusal)).await,
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

async fn take(about: About) -> Result<Response, Refusal> {
    let done = act::take(&about.desk, &about.asker, &about.id).await;
    back(&about, done, "").await
}

async fn give_back(about: About, Fields(form): Fields<ActForm>) -> Result<Response, Refusal> {
    act::give_back(&about.desk, &about.asker, &about.id, form.fence()).await?;
    Ok(Redirect::to("/queue").into_response())
}

async fn rule(about: About, Fields(form): Fields<ActForm>) -> Result<Response, Refusal> {
    let done = match form.ruling() {
        Ok(body) => act::rule(&about.desk, &about.asker, &about.id, &body).await,
        Err(refusal) => Err(refusal),
    };
    back(&about, done, &form.place()).await
}

async fn close(about: About, Fields(form): Fields<ActForm>) -> Result<Response, Refusal> {
    let body = CloseBody {
        fence: form.fence(),
        faithful: form.faithful(),
        decision: audit::review::FinalDecision::parse(&form.decision),
        note: form.note(),
    };
    let done = act::close(&about.desk, &about.asker, &about.id, &body).await;
    back(&about, done, "").await
}

async fn retry(about: About, Fields(form): Fields<ActForm>) -> Result<Response, Refusal> {
    let note = form.note();
    let done = act::retry(&about.desk, &about.asker, &about.id, form.fence(), note.as_deref()).await;
    back(&about, done, "").await
}

async fn dismiss(about: About, Fields(form): Fields<ActForm>) -> Result<Response, Refusal> {
    let note = form.note();
    let done = act::dismiss(&about.desk, &about.asker, &about.id, form.fence(), note.as_deref()).await;
    back(&about, done, "").await
}
