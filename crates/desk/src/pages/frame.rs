//! What stands around every page.

use std::sync::LazyLock;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use chrono::{DateTime, Utc};

use super::assets;
use crate::access::{Csrf, Login, Principal, Role};
use crate::problem::Refusal;

static VERSION: LazyLock<String> = LazyLock::new(assets::version);

/// What stands around a page.
pub(super) struct Frame {
    pub title: String,
    /// The list that is open: `findings`, `sample`, `failed`, `closed`, `dead`.
    pub tab: &'static str,
    /// As it is shown.
    pub asker: String,
    /// As it is stored.
    pub name: String,
    pub role: &'static str,
    pub csrf: String,
    pub version: &'static str,
    /// What went wrong with what was just tried.
    pub error: Option<String>,
    pub can_review: bool,
    pub can_operate: bool,
    pub can_log_out: bool,
}

impl Frame {
    pub(super) fn new(title: impl Into<String>, tab: &'static str, asker: &Principal, csrf: &Csrf) -> Self {
        Self {
            title: title.into(),
            tab,
            asker: outcomes::highlight::visible(&asker.name),
            name: asker.name.clone(),
            role: asker.role.as_str(),
            csrf: csrf.0.clone(),
            version: &VERSION,
            error: None,
            can_review: asker.role.covers(Role::Reviewer),
            can_operate: asker.role.covers(Role::Admin),
            can_log_out: asker.login == Login::Session,
        }
    }

    /// The same with what went wrong.
    pub(super) fn with_error(self, refusal: Option<&Refusal>) -> Self {
        Self { error: refusal.map(in_words), ..self }
    }
}

/// A refusal for people: without the fields of requests that they never wrote.
fn in_words(refusal: &Refusal) -> String {
    let words: Vec<&str> = match refusal.problems() {
        [] => vec![refusal.message()],
        problems => problems.iter().map(|problem| problem.message.as_str()).collect(),
    };
    let text = words.join("; ");
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    outcomes::highlight::visible(&format!("{first}{}.", letters.as_str().trim_end_matches('.')))
}

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage {
    version: &'static str,
    status: u16,
    words: String,
}

/// A page for a request that was refused.
pub(super) fn refused(refusal: &Refusal) -> Response {
    let status = refusal.status();
    let words = in_words(refusal);
    render(status, &RefusedPage { version: &VERSION, status: status.as_u16(), words })
}

/// A page.
pub(super) fn render(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            let failed = StatusCode::INTERNAL_SERVER_ERROR;
            Refusal::new(failed, "defect", "a defect of this program ended the request").into_response()
        }
    }
}

/// The version of style and script, for pages without a frame.
pub(super) fn version() -> &'static str {
    &VERSION
}

/// A moment, for people.
pub(super) fn moment(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// A moment, for the script and for machines.
pub(super) fn machine(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// How long ago, roughly.
pub(super) fn age(since: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let minutes = (now - since).num_minutes().max(0);
    match minutes {
        0..=119 => format!("{minutes} min"),
        120..=2879 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_rough() {
        let now = Utc::now();
        let ago = |minutes: i64| age(now - chrono::TimeDelta::minutes(minutes), now);
        assert_eq!([ago(0), ago(119), ago(120), ago(2880)], ["0 min", "119 min", "2 h", "2 days"]);
        assert_eq!(ago(-5), "0 min", "clocks differ");
    }
}
