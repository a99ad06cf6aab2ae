//! As much of an item as rulings on it refer to.

use audit::review::{Judged, List, Ruling, Said, Target};
use audit::routing::Decision;
use audit::{Severity, Span, Verdict};
use serde_json::Value;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{Error, Result};

const ACTION: &str = "read a review item";

/// The report of an item and what was said about it.
pub(super) struct Seen {
    pub list: List,
    pub decision: Option<Decision>,
    pub is_final: bool,
    pub judged: Judged,
    pub answer_chars: usize,
    /// Of every reviewer, in the order in which they were said.
    pub rulings: Vec<Ruling>,
}

impl Seen {
    /// What one reviewer has said.
    pub(super) fn own(&self, reviewer: &str) -> Vec<Ruling> {
        self.rulings.iter().filter(|ruling| ruling.reviewer == reviewer).cloned().collect()
    }
}

pub(super) async fn read(connection: &mut PgConnection, item: Uuid, audit: Uuid) -> Result<Seen> {
    let cannot = Error::cannot(ACTION);
    let row = sqlx::query(
        "select item.list, audit.decision, audit.final, audit.doubts, audit.reasons,
            coalesce(char_length(trace.answer), 0)::int8 as answer_chars,
            (select count(*) from groundcrew.omissions where omissions.audit_id = audit.id) as omissions
        from groundcrew.review_items as item
        join groundcrew.audits as audit on audit.id = item.audit_id
        join groundcrew.trace_rows as trace on trace.id = audit.trace_row
        where item.id = $1",
    )
    .bind(item)
    .fetch_one(&mut *connection)
    .await
    .map_err(&cannot)?;
    let claims: Vec<(String, Option<String>)> =
        sqlx::query_as("select verdict, severity from groundcrew.claims where audit_id = $1 order by index")
            .bind(audit)
            .fetch_all(&mut *connection)
            .await
            .map_err(&cannot)?;
    let claims = claims
        .iter()
        .map(|(verdict_word, severity_word)| {
            Ok((verdict(verdict_word)?, severity_word.as_deref().map(severity).transpose()?))
        })
        .collect::<Result<Vec<_>>>()?;
    let doubts: Value = row.try_get("doubts").map_err(&cannot)?;
    let reasons: Value = row.try_get("reasons").map_err(&cannot)?;
    let omissions: i64 = row.try_get("omissions").map_err(&cannot)?;
    let list: String = row.try_get("list").map_err(&cannot)?;
    let decision: Option<String> = row.try_get("decision").map_err(&cannot)?;
    let answer_chars: i64 = row.try_get("answer_chars").map_err(&cannot)?;
    Ok(Seen {
        list: List::parse(&list).ok_or_else(|| unknown("list", &list))?,
        decision: decision.as_deref().map(decision_word).transpose()?,
        is_final: row.try_get("final").map_err(&cannot)?,
        judged: Judged::new(claims, usize::try_from(omissions).unwrap_or_default(), &doubts, &reasons),
        answer_chars: usize::try_from(answer_chars).unwrap_or_default(),
        rulings: rulings(connection, item).await?,
    })
}

/// All rulings on an item, in the order in which they were said.
pub(super) async fn rulings(connection: &mut PgConnection, item: Uuid) -> Result<Vec<Ruling>> {
    let rows: Vec<RulingRow> = sqlx::query_as(
        "select id, reviewer, ruling, claim_index, omission_index, to_verdict, to_severity, claim_text,
            answer_start, answer_end, faithful, withdraws, blind
        from groundcrew.rulings where review_item = $1 order by seq",
    )
    .bind(item)
    .fetch_all(connection)
    .await
    .map_err(Error::cannot(ACTION))?;
    rows.into_iter().map(RulingRow::read).collect()
}

/// A row of `groundcrew.rulings`, as far as it decides anything.
#[derive(Debug, Clone, sqlx::FromRow)]
struct RulingRow {
    id: Uuid,
    reviewer: String,
    ruling: String,
    claim_index: Option<i32>,
    omission_index: Option<i32>,
    to_verdict: Option<String>,
    to_severity: Option<String>,
    claim_text: Option<String>,
    answer_start: Option<i64>,
    answer_end: Option<i64>,
    faithful: Option<bool>,
    withdraws: Option<Uuid>,
    blind: bool,
}

impl RulingRow {
    fn read(self) -> Result<Ruling> {
        let place = |at: i32| usize::try_from(at).unwrap_or_default();
        let claim = self.claim_index.map(|at| Target::Claim(place(at)));
        let target = claim.or(self.omission_index.map(|at| Target::Omission(place(at))));
        let to_verdict = self.to_verdict.as_deref().map(verdict).transpose()?;
        let to_severity = self.to_severity.as_deref().map(severity).transpose()?;
        let span = self.answer_start.zip(self.answer_end).and_then(|(start, end)| {
            Some(Span { start: usize::try_from(start).ok()?, end: usize::try_from(end).ok()? })
        });
        let said = match (self.ruling.as_str(), target) {
            ("confirm", Some(target)) => Said::Confirm(target),
            ("override", Some(target)) => {
                Said::Override { target, verdict: to_verdict, severity: to_severity }
            }
            ("annotate", target) => Said::Annotate(target),
            ("add", _) => Said::Add {
                text: self.claim_text.unwrap_or_default(),
                verdict: to_verdict.unwrap_or(Verdict::Unsupported),
                severity: to_severity,
                span,
            },
            ("overall", _) => Said::Overall { faithful: self.faithful },
            ("withdraw", _) => Said::Withdraw(self.withdraws.unwrap_or_default()),
            (word, _) => return Err(unknown("ruling", word)),
        };
        Ok(Ruling { id: self.id, reviewer: self.reviewer, said, blind: self.blind })
    }
}

fn verdict(word: &str) -> Result<Verdict> {
    Verdict::parse(word).ok_or_else(|| unknown("verdict", word))
}

fn severity(word: &str) -> Result<Severity> {
    Severity::parse(word).ok_or_else(|| unknown("severity", word))
}

fn decision_word(word: &str) -> Result<Decision> {
    [Decision::Deliver, Decision::Hold, Decision::Block]
        .into_iter()
        .find(|decision| decision.as_str() == word)
        .ok_or_else(|| unknown("decision", word))
}

fn unknown(column: &str, word: &str) -> Error {
    Error::Unreadable { action: ACTION, what: format!("{column} `{word}`") }
}
