//! The API of the review desk: `/api/v1/review/…`.

use axum::Json;
use axum::extract::State;
use axum::http::Method;
use axum::routing::{MethodRouter, get, post};
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use store::review::ReasonCount;

use super::ItemView;
use super::act::{self, CloseView};
use super::body::{Body, CloseBody, Fenced, RulingBody};
use super::list::{Listed, Query};
use crate::access::{Principal, Role};
use crate::extract::{Id, Params};
use crate::problem::Refusal;
use crate::routes::{Least, Route};
use crate::state::Desk;

pub(super) fn routes() -> Vec<Route> {
    let look = |path, about, handler: MethodRouter<Desk>| {
        Route::new(Method::GET, path, Least::Role(Role::Viewer), about, handler)
    };
    let act = |path, about, handler: MethodRouter<Desk>| {
        Route::new(Method::POST, path, Least::Role(Role::Reviewer), about, handler)
    };
    vec![
        look("/api/v1/review/items", "a page of a list of review items", get(items))
            .takes_query::<Query>()
            .gives::<Listed>(),
        look("/api/v1/review/counts", "how many items wait, by list and reason", get(counts))
            .gives::<Vec<CountView>>(),
        look("/api/v1/review/items/{id}", "one review item, as far as the asker may see it", get(item))
            .gives::<ItemView>(),
        act(
            "/api/v1/review/items/{id}/take",
            "take an item: nobody else can decide it meanwhile",
            post(take),
        )
        .gives::<TakenView>(),
        act("/api/v1/review/items/{id}/extend", "keep an item for longer", post(extend))
            .takes::<Fenced>()
            .gives::<LeaseView>(),
        act("/api/v1/review/items/{id}/give-back", "give an item back", post(give_back))
            .takes::<Fenced>()
            .gives::<GivenBackView>(),
        act("/api/v1/review/items/{id}/rulings", "rule on a flag, add a claim, or undo a ruling", post(rule))
            .takes::<RulingBody>()
            .gives::<RuledView>(),
        act("/api/v1/review/items/{id}/close", "end the review by an opinion on the answer", post(close))
            .takes::<CloseBody>()
            .gives::<CloseView>(),
        act("/api/v1/review/items/{id}/retry", "ask for the audit again, which ends the review", post(retry))
            .takes::<Fenced>()
            .gives::<CloseView>(),
        act(
            "/api/v1/review/items/{id}/dismiss",
            "end the review without a word on the answer",
            post(dismiss),
        )
        .takes::<Fenced>()
        .gives::<CloseView>(),
    ]
}

/// How many wait.
#[derive(Debug, Serialize, JsonSchema)]
struct CountView {
    /// The list.
    list: String,
    /// The reason; none for all items of the list.
    reason: Option<String>,
    /// How many.
    items: i64,
}

/// An item that was taken.
#[derive(Debug, Serialize, JsonSchema)]
struct TakenView {
    /// To be named with everything that is written.
    fence: i64,
    /// Until when, if nothing happens.
    leased_until: DateTime<Utc>,
}

/// How long an item is still the asker's.
#[derive(Debug, Serialize, JsonSchema)]
struct LeaseView {
    /// Until when, if nothing happens.
    leased_until: DateTime<Utc>,
}

/// Whether an item was given back.
#[derive(Debug, Serialize, JsonSchema)]
struct GivenBackView {
    /// False when it was not the asker's any more.
    given_back: bool,
}

/// A ruling that is kept.
#[derive(Debug, Serialize, JsonSchema)]
struct RuledView {
    /// Its id.
    id: String,
}

async fn items(
    State(desk): State<Desk>,
    asker: Principal,
    Params(query): Params<Query>,
) -> Result<Json<Listed>, Refusal> {
    query.page(&desk, &asker).await.map(Json)
}

async fn counts(State(desk): State<Desk>, asker: Principal) -> Result<Json<Vec<CountView>>, Refusal> {
    let counts = desk.store().review_counts(asker.projects.as_deref()).await?;
    let view = |ReasonCount { list, reason, items }| CountView { list, reason, items };
    Ok(Json(counts.into_iter().map(view).collect()))
}

async fn item(State(desk): State<Desk>, asker: Principal, Id(id): Id) -> Result<Json<ItemView>, Refusal> {
    act::view(&desk, &asker, &id).await.map(Json)
}

async fn take(State(desk): State<Desk>, asker: Principal, Id(id): Id) -> Result<Json<TakenView>, Refusal> {
    let (fence, leased_until) = act::take(&desk, &asker, &id).await?;
    Ok(Json(TakenView { fence, leased_until }))
}

async fn extend(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
    Body(body): Body<Fenced>,
) -> Result<Json<LeaseView>, Refusal> {
    let leased_until = act::extend(&desk, &asker, &id, body.fence).await?;
    Ok(Json(LeaseView { leased_until }))
}

async fn give_back(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
    Body(body): Body<Fenced>,
) -> Result<Json<GivenBackView>, Refusal> {
    let given_back = act::give_back(&desk, &asker, &id, body.fence).await?;
    Ok(Json(GivenBackView { given_back }))
}

async fn rule(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
    Body(body): Body<RulingBody>,
) -> Result<Json<Value>, Refusal> {
    let ruling = act::rule(&desk, &asker, &id, &body).await?;
    Ok(Json(json!({ "id": ruling })))
}

async fn close(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
    Body(body): Body<CloseBody>,
) -> Result<Json<CloseView>, Refusal> {
    act::close(&desk, &asker, &id, &body).await.map(Json)
}

async fn retry(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
    Body(body): Body<Fenced>,
) -> Result<Json<CloseView>, Refusal> {
    act::retry(&desk, &asker, &id, body.fence, body.note.as_deref()).await.map(Json)
}

async fn dismiss(
    State(desk): State<Desk>,
    asker: Principal,
    Id(id): Id,
    Body(body): Body<Fenced>,
) -> Result<Json<CloseView>, Refusal> {
    act::dismiss(&desk, &asker, &id, body.fence, body.note.as_deref()).await.map(Json)
}
