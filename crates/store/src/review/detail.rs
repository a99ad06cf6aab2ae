//! One item with everything that a reviewer needs.

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use crate::views::{Bodies, ReviewItem, TraceView};
use crate::{Error, Result, Store};

/// A stored ruling.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct RulingView {
    /// Its id.
    pub id: Uuid,
    /// Who ruled.
    pub reviewer: String,
    /// `confirm`, `override`, `annotate`, `add`, `overall` or `withdraw`.
    pub ruling: String,
    /// The claim it is about.
    pub claim_index: Option<i32>,
    /// The omission it is about.
    pub omission_index: Option<i32>,
    /// The verdict of the report.
    pub from_verdict: Option<String>,
    /// The severity of the report.
    pub from_severity: Option<String>,
    /// The reviewer's verdict.
    pub to_verdict: Option<String>,
    /// The reviewer's severity.
    pub to_severity: Option<String>,
    /// The claim that was added.
    pub claim_text: Option<String>,
    /// Where that stands in the answer, in scalar values.
    pub answer_start: Option<i64>,
    /// One past it.
    pub answer_end: Option<i64>,
    /// Of an overall ruling: whether the answer is faithful.
    pub faithful: Option<bool>,
    /// Said before the verdict was shown.
    pub blind: bool,
    /// The ruling that this one takes back.
    pub withdraws: Option<Uuid>,
    /// The reviewer's words.
    pub note: Option<String>,
    /// What the reviewer saw.
    pub report_version: String,
    /// When it was said.
    pub created_at: DateTime<Utc>,
}

/// A reviewer's opinion on the whole.
#[derive(Debug, Clone, PartialEq, Serialize, sqlx::FromRow)]
pub struct OpinionView {
    /// The first is 1.
    pub number: i16,
    /// Whose it is.
    pub reviewer: String,
    /// Whether the answer is faithful.
    pub faithful: Option<bool>,
    /// What the producer should do.
    pub decision: Option<String>,
    /// The reviewer's words.
    pub note: Option<String>,
    /// When it was given.
    pub given_at: DateTime<Utc>,
}

/// An item with everything about it. Nothing is left out for anybody here.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewDetail {
    /// The item.
    pub item: ReviewItem,
    /// Its trace with all audits and the payload.
    pub trace: TraceView,
    /// Names what the report says.
    pub report_version: String,
    /// All rulings, in the order in which they were said.
    pub rulings: Vec<RulingView>,
    /// Opinions, in their order.
    pub opinions: Vec<OpinionView>,
    /// The server's time at which it was read.
    pub read_at: DateTime<Utc>,
}

impl Store {
    /// An item alone; none when there is none.
    pub async fn review_item(&self, id: Uuid) -> Result<Option<ReviewItem>> {
        sqlx::query_as("select * from groundcrew.review_items where id = $1")
            .bind(id)
            .fetch_optional(self.pool())
            .await
            .map_err(Error::cannot("read a review item"))
    }

    /// An item with trace, audits, rulings and opinions; none when there is none.
    pub async fn review_detail(&self, id: Uuid) -> Result<Option<ReviewDetail>> {
        let cannot = Error::cannot("show a review item");
        let Some(item) = self.review_item(id).await? else { return Ok(None) };
        let audit = item.audit_id.to_string();
        let traces = self.trace_show(&audit, Some(&item.project), Bodies::With).await?;
        let Some(trace) =
            traces.into_iter().find(|trace| trace.audits.iter().any(|audit| audit.id == item.audit_id))
        else {
            return Ok(None);
        };
        let (report_version, read_at): (String, DateTime<Utc>) =
            sqlx::query_as("select groundcrew.report_version($1), now()")
                .bind(item.audit_id)
                .fetch_one(self.pool())
                .await
                .map_err(&cannot)?;
        let rulings = sqlx::query_as(
            "select id, reviewer, ruling, claim_index, omission_index, from_verdict, from_severity, to_verdict,
                to_severity, claim_text, answer_start, answer_end, faithful, blind, withdraws, note, report_version,
                created_at
            from groundcrew.rulings where review_item = $1 order by seq",
        )
        .bind(id)
        .fetch_all(self.pool())
        .await
        .map_err(&cannot)?;
        let opinions = sqlx::query_as(
            "select number, reviewer, faithful, decision, note, given_at
            from groundcrew.review_opinions where review_item = $1 order by number",
        )
        .bind(id)
        .fetch_all(self.pool())
        .await
        .map_err(&cannot)?;
        Ok(Some(ReviewDetail { item, trace, report_version, rulings, opinions, read_at }))
    }
}
