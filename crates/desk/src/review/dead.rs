//! Dead letters: `/api/v1/dead-letters/…`. Who may see every project may see them all; the others see those of which
//! the project is known and theirs.

use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{DeadFilter, DeadLetterView, DeadStatus, Replayed, UnknownWord};
use uuid::Uuid;

use super::body::{Body, NoteBody, check_note};
use crate::access::{Principal, Role};
use crate::extract::{Id, Params};
use crate::problem::{Problem, Refusal};
use crate::routes::{Least, Route};
use crate::state::Desk;

/// Letters on a page.
const PAGE: u32 = 200;

pub(super) fn routes() -> Vec<Route> {
    let route =
        |method, path, least, about, handler| Route::new(method, path, Least::Role(least), about, handler);
    vec![
        route(
            Method::GET,
            "/api/v1/dead-letters",
            Role::Viewer,
            "dead letters without their bodies",
            get(list),
        )
        .takes_query::<DeadQuery>()
        .gives::<Vec<Value>>(),
        route(
            Method::GET,
            "/api/v1/dead-letters/{id}",
            Role::Viewer,
            "one dead letter with its body",
            get(show),
        )
        .gives::<Value>(),
        route(
            Method::POST,
            "/api/v1/dead-letters/{id}/replay",
            Role::Admin,
            "send an open dead letter to its queue again",
            post(replay),
        )
        .takes::<NoteBody>()
        .gives::<ReplayedView>(),
        route(
            Method::POST,
            "/api/v1/dead-letters/{id}/discard",
            Role::Admin,
            "mark an open dead letter as done with",
            post(discard),
        )
        .takes::<NoteBody>()
        .gives::<DiscardedView>(),
    ]
}

/// Which dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DeadQuery {
    /// `open` (also when it is left out), `replayed` or `discarded`.
    pub status: String,
    /// Why they were given up on.
    pub source: String,
    /// What their reason contains.
    pub reason: String,
    /// Whose they are.
    pub project: String,
}

/// A dead letter that is on its way.
#[derive(Debug, Serialize, JsonSchema)]
struct ReplayedView {
    /// The generation that it asks for.
    generation: i64,
}

/// A dead letter that is done with.
#[derive(Debug, Serialize, JsonSchema)]
struct DiscardedView {
    /// Always `discarded`.
    status: &'static str,
}

async fn list(
    State(desk): State<Desk>,
    asker: Principal,
    Params(query): Params<DeadQuery>,
) -> Result<Json<Vec<DeadLetterView>>, Refusal> {
    letters(&desk, &asker, &query).await.map(Json)
}

async fn show(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
) -> Result<Json<DeadLetterView>, Refusal> {
    letter(&desk, &asker, &id).await.map(Json)
}

async fn replay(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
    Body(body): Body<NoteBody>,
) -> Result<Json<Value>, Refusal> {
    let generation = send_again(&desk, &asker, &id, body.note.as_deref()).await?;
    Ok(Json(json!({ "generation": generation })))
}

async fn discard(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
    Body(body): Body<NoteBody>,
) -> Result<Json<Value>, Refusal> {
    throw_away(&desk, &asker, &id, body.note.as_deref()).await?;
    Ok(Json(json!({ "status": "discarded" })))
}

/// The dead letters that are meant and that the asker may see, the last seen first.
pub(crate) async fn letters(
    desk: &Desk,
    asker: &Principal,
    query: &DeadQuery,
) -> Result<Vec<DeadLetterView>, Refusal> {
    let word = |path: &'static str| {
        move |error: UnknownWord| Refusal::unprocessable(vec![Problem::new(path, error.to_string())])
    };
    let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let status =
        some(&query.status).map_or(Ok(DeadStatus::Open), |text| text.parse().map_err(word("status")))?;
    let filter = DeadFilter {
        status: Some(status),
        source: some(&query.source).map(|text| text.parse().map_err(word("source"))).transpose()?,
        reason: some(&query.reason),
        project: some(&query.project),
    };
    let letters = match (&asker.projects, &filter.project) {
        // One look for each project of the asker's, since the list has a limit.
        (Some(projects), None) => {
            let mut all = Vec::new();
            for project in projects {
                let filter = DeadFilter { project: Some(project.clone()), ..filter.clone() };
                all.extend(desk.store().dead_list(&filter, PAGE).await?);
            }
            all.sort_by_key(|letter| std::cmp::Reverse((letter.last_seen_at, letter.id)));
            all.truncate(usize::try_from(PAGE).unwrap_or(usize::MAX));
            all
        }
        _ => desk.store().dead_list(&filter, PAGE).await?,
    };
    Ok(letters.into_iter().filter(|letter| may_see(asker, letter)).collect())
}

fn may_see(asker: &Principal, letter: &DeadLetterView) -> bool {
    match &letter.project {
        Some(project) => asker.may_see(project),
        None => asker.projects.is_none(),
    }
}

/// One dead letter that the asker may see.
pub(crate) async fn letter(desk: &Desk, asker: &Principal, id: &str) -> Result<DeadLetterView, Refusal> {
    let missing = || Refusal::not_found("there is no such dead letter");
    let id: Uuid = id.parse().map_err(|_| missing())?;
    let letter = desk.store().dead_show(id).await?.ok_or_else(missing)?;
    if may_see(asker, &letter) { Ok(letter) } else { Err(missing()) }
}

/// Sends one to its queue again. Gives the generation.
pub(crate) async fn send_again(
    desk: &Desk,
    asker: &Principal,
    id: &str,
    note: Option<&str>,
) -> Result<i64, Refusal> {
    check_note(note)?;
    let letter = letter(desk, asker, id).await?;
    match desk.store().dead_replay(letter.id, note).await? {
        Replayed::Sent { generation } => Ok(generation),
        Replayed::Missing => Err(Refusal::not_found("there is no such dead letter")),
        Replayed::Settled => Err(settled()),
        Replayed::Cut => Err(Refusal::new(
            StatusCode::CONFLICT,
            "cut",
            "only the beginning of this message was kept: its producer must send it again",
        )),
    }
}

/// Marks one as done with.
pub(crate) async fn throw_away(
    desk: &Desk,
    asker: &Principal,
    id: &str,
    note: Option<&str>,
) -> Result<(), Refusal> {
    let Some(note) = note.map(str::trim).filter(|note| !note.is_empty()) else {
        let problem = Problem::new("$.note", "missing: say why nothing more has to be done");
        return Err(Refusal::unprocessable(vec![problem]));
    };
    check_note(Some(note))?;
    let letter = letter(desk, asker, id).await?;
    if desk.store().dead_discard(letter.id, note).await? { Ok(()) } else { Err(settled()) }
}

fn settled() -> Refusal {
    Refusal::new(StatusCode::CONFLICT, "settled", "this dead letter was replayed or discarded already")
}
