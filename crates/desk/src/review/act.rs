//! What people do with items, for the API and the pages alike.

use audit::review::{Objection, Said};
use axum::http::StatusCode;
use store::ReviewStatus;
use store::review::{Closed, Ending, Hold, Lost, ReviewDetail, Ruled, Taken, Unkept};
use uuid::Uuid;

use super::body::{CloseBody, RulingBody, check_note};
use super::{ItemView, show};
use crate::access::Principal;
use crate::problem::{Problem, Refusal};
use crate::state::Desk;

/// What came of the end of a review, in words for programs.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct CloseView {
    /// `closed`, or `more_opinions` when others are still wanted.
    pub state: &'static str,
    /// Whether the answer is faithful, as far as people agree.
    pub faithful: Option<bool>,
    /// What the producer should do.
    pub final_decision: Option<&'static str>,
    /// An answer that was held back goes out.
    pub released: bool,
    /// The generation that was asked for.
    pub generation: Option<i64>,
}

/// An item that the asker may see; 404 for every other, so that nobody learns what there is.
pub(crate) async fn detail(desk: &Desk, asker: &Principal, id: &str) -> Result<ReviewDetail, Refusal> {
    let missing = || Refusal::not_found("there is no such review item");
    let id: Uuid = id.parse().map_err(|_| missing())?;
    let detail = desk.store().review_detail(id).await?.ok_or_else(missing)?;
    if asker.may_see(&detail.item.project) { Ok(detail) } else { Err(missing()) }
}

/// The same as it is shown.
pub(crate) async fn view(desk: &Desk, asker: &Principal, id: &str) -> Result<ItemView, Refusal> {
    let detail = detail(desk, asker, id).await?;
    Ok(show(&detail, &asker.name, desk.settings().review.due))
}

/// The item's id, if the asker may see it.
async fn allowed(desk: &Desk, asker: &Principal, id: &str) -> Result<(Uuid, String, bool), Refusal> {
    let missing = || Refusal::not_found("there is no such review item");
    let id: Uuid = id.parse().map_err(|_| missing())?;
    let item = desk.store().review_item(id).await?.ok_or_else(missing)?;
    if !asker.may_see(&item.project) {
        return Err(missing());
    }
    Ok((id, item.project, item.status == ReviewStatus::Closed))
}

fn hold(item: Uuid, asker: &Principal, fence: i64) -> Hold {
    Hold { item, reviewer: asker.name.clone(), fence }
}

/// Takes an item: its fence, and until when.
pub(crate) async fn take(
    desk: &Desk,
    asker: &Principal,
    id: &str,
) -> Result<(i64, chrono::DateTime<chrono::Utc>), Refusal> {
    let (item, ..) = allowed(desk, asker, id).await?;
    let lease = desk.settings().review.lease;
    match desk.store().review_take(item, &asker.name, lease).await? {
        Taken::Held { fence, leased_until } => Ok((fence, leased_until)),
        Taken::Refused(lost) => Err(refused(&lost)),
    }
}

/// Keeps an item. Gives until when.
pub(crate) async fn extend(
    desk: &Desk,
    asker: &Principal,
    id: &str,
    fence: i64,
) -> Result<chrono::DateTime<chrono::Utc>, Refusal> {
    let (item, ..) = allowed(desk, asker, id).await?;
    let lease = desk.settings().review.lease;
    desk.store().review_extend(&hold(item, asker, fence), lease).await?.map_err(|lost| refused(&lost))
}

/// Gives an item back.
pub(crate) async fn give_back(desk: &Desk, asker: &Principal, id: &str, fence: i64) -> Result<bool, Refusal> {
    let (item, ..) = allowed(desk, asker, id).await?;
    Ok(desk.store().review_give_back(&hold(item, asker, fence)).await?)
}

/// Keeps a ruling. Gives its id.
pub(crate) async fn rule(
    desk: &Desk,
    asker: &Principal,
    id: &str,
    body: &RulingBody,
) -> Result<Uuid, Refusal> {
    let (item, ..) = allowed(desk, asker, id).await?;
    check_note(body.note.as_deref())?;
    let mut said = body.said()?;
    if let Said::Add { text, span: span @ None, .. } = &mut said {
        *span = place(desk, item, text).await?;
    }
    let ruling = body.id.unwrap_or_else(Uuid::now_v7);
    let lease = desk.settings().review.lease;
    let hold = hold(item, asker, body.fence);
    let note = body.note.as_deref();
    match desk.store().review_rule(&hold, lease, ruling, &body.report_version, &said, note).await? {
        Ruled::Kept { .. } => Ok(ruling),
        Ruled::Not(unkept) => Err(unkept_refusal(unkept)),
    }
}

/// Where the words of an added claim stand in the answer, if they stand there as they are.
async fn place(desk: &Desk, item: Uuid, text: &str) -> Result<Option<audit::Span>, Refusal> {
    let Some(detail) = desk.store().review_detail(item).await? else { return Ok(None) };
    let answer = detail.trace.answer.unwrap_or_default();
    let words = text.trim();
    if words.is_empty() {
        return Ok(None);
    }
    Ok(answer.find(words).map(|byte| {
        let start = answer[..byte].chars().count();
        audit::Span { start, end: start + words.chars().count() }
    }))
}

/// Ends a review by an opinion.
pub(crate) async fn close(
    desk: &Desk,
    asker: &Principal,
    id: &str,
    body: &CloseBody,
) -> Result<CloseView, Refusal> {
    let (item, project, _) = allowed(desk, asker, id).await?;
    let opinions = desk.settings().project(&project).opinions;
    let ending = Ending::Ruled { closing: body.closing(), opinions };
    finish(desk, &hold(item, asker, body.fence), &ending, body.note.as_deref()).await
}

/// Asks for the audit again, and ends the review with that.
pub(crate) async fn retry(
    desk: &Desk,
    asker: &Principal,
    id: &str,
    fence: i64,
    note: Option<&str>,
) -> Result<CloseView, Refusal> {
    let (item, ..) = allowed(desk, asker, id).await?;
    finish(desk, &hold(item, asker, fence), &Ending::Retried, note).await
}

/// Ends a review without a word on the answer.
pub(crate) async fn dismiss(
    desk: &Desk,
    asker: &Principal,
    id: &str,
    fence: i64,
    note: Option<&str>,
) -> Result<CloseView, Refusal> {
    if note.is_none_or(|note| note.trim().is_empty()) {
        let problem = Problem::new("$.note", "missing: say why nobody has to decide it");
        return Err(Refusal::unprocessable(vec![problem]));
    }
    let (item, ..) = allowed(desk, asker, id).await?;
    finish(desk, &hold(item, asker, fence), &Ending::Dismissed, note).await
}

async fn finish(desk: &Desk, hold: &Hold, ending: &Ending, note: Option<&str>) -> Result<CloseView, Refusal> {
    check_note(note)?;
    match desk.store().review_close(hold, ending, note).await? {
        Closed::Ended { conclusion, retry } => Ok(CloseView {
            state: "closed",
            faithful: conclusion.faithful,
            final_decision: conclusion.decision.map(audit::review::FinalDecision::as_str),
            released: conclusion.releases,
            generation: retry.map(|retry| retry.generation),
        }),
        Closed::MoreOpinions { .. } => Ok(CloseView {
            state: "more_opinions",
            faithful: None,
            final_decision: None,
            released: false,
            generation: None,
        }),
        Closed::Not(unkept) => Err(unkept_refusal(unkept)),
        Closed::Removed => {
            Err(Refusal::conflict("the message was removed by age: its producer must send it again"))
        }
    }
}

/// 409 with a word for each way in which an item is not the reviewer's.
fn refused(lost: &Lost) -> Refusal {
    let conflict = |code, message: String| Refusal::new(StatusCode::CONFLICT, code, message);
    match lost {
        Lost::Missing => Refusal::not_found("there is no such review item"),
        Lost::TakenBy { reviewer, leased_until } => conflict(
            "taken",
            format!(
                "this item is with {reviewer}, until {} if nothing happens",
                leased_until.format("%H:%M UTC")
            ),
        ),
        Lost::TakenAgain => {
            conflict("taken_again", "you have taken this item again since, in another window".to_owned())
        }
        Lost::Expired => conflict(
            "expired",
            "your time with this item is over, or you gave it back: take it again".to_owned(),
        ),
        Lost::Closed => conflict("closed", "the review of this item has ended".to_owned()),
        Lost::OpinionGiven => conflict(
            "opinion_given",
            "you have given your opinion: the next one is somebody else's".to_owned(),
        ),
    }
}

fn unkept_refusal(unkept: Unkept) -> Refusal {
    match unkept {
        Unkept::Lost(lost) => refused(&lost),
        Unkept::OtherReport => Refusal::new(
            StatusCode::CONFLICT,
            "other_report",
            "the report is another than the one you saw: look again",
        ),
        Unkept::Objections(objections) => Refusal::unprocessable(objections.iter().map(problem).collect()),
    }
}

fn problem(objection: &Objection) -> Problem {
    Problem::new(objection.path, objection.message.clone())
}
