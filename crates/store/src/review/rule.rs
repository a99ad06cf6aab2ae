//! One ruling.

use std::time::Duration;

use audit::review::{List, Said, Target, check, standing};
use audit::{Severity, Span, Verdict};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::lease::{extend, lost};
use super::seen::{self, Seen};
use super::{Hold, Unkept};
use crate::text::{clean, clean_some};
use crate::{Error, Result, Store};

/// What came of a ruling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruled {
    /// It is kept; also the answer when the same ruling comes again.
    Kept {
        /// Until when the item is the reviewer's.
        leased_until: DateTime<Utc>,
    },
    /// It is not, and nothing was written.
    Not(Unkept),
}

/// What is to be kept.
struct New<'a> {
    id: Uuid,
    report_version: &'a str,
    said: &'a Said,
    note: Option<String>,
}

impl Store {
    /// Keeps what a reviewer says about an item that they hold, and extends the lease. `id` names the ruling, so that
    /// saying it again changes nothing; `report_version` names what the reviewer saw.
    pub async fn review_rule(
        &self,
        hold: &Hold,
        lease: Duration,
        id: Uuid,
        report_version: &str,
        said: &Said,
        note: Option<&str>,
    ) -> Result<Ruled> {
        let (hold, report_version, said) = (hold.clone(), report_version.to_owned(), said.clone());
        let note = clean_some(note.map(str::trim).filter(|note| !note.is_empty()));
        self.run(move |pool| async move {
            let cannot = Error::cannot("keep a ruling");
            let mut transaction = pool.begin().await.map_err(&cannot)?;
            let new = New { id, report_version: &report_version, said: &said, note };
            let ruled = rule(&mut transaction, &hold, lease, &new).await?;
            if matches!(ruled, Ruled::Kept { .. }) {
                transaction.commit().await.map_err(&cannot)?;
            }
            Ok(ruled)
        })
        .await
    }
}

async fn rule(connection: &mut PgConnection, hold: &Hold, lease: Duration, new: &New<'_>) -> Result<Ruled> {
    let cannot = Error::cannot("keep a ruling");
    let Some(held) = extend(connection, hold, lease).await.map_err(&cannot)? else {
        return Ok(Ruled::Not(Unkept::Lost(lost(connection, hold).await.map_err(&cannot)?)));
    };
    let seen = seen::read(connection, hold.item, held.audit_id).await?;
    let own = seen.own(&clean(&hold.reviewer));
    if own.iter().any(|ruling| ruling.id == new.id) {
        return Ok(Ruled::Kept { leased_until: held.leased_until });
    }
    let blind = is_blind(&seen, &clean(&hold.reviewer));
    let checked = check(new.said, new.note.as_deref(), &seen.judged, seen.answer_chars, &own, blind);
    if let Err(objection) = checked {
        return Ok(Ruled::Not(Unkept::Objections(vec![objection])));
    }
    if !insert(connection, hold, new, &seen).await.map_err(&cannot)? {
        return Ok(Ruled::Not(Unkept::OtherReport));
    }
    Ok(Ruled::Kept { leased_until: held.leased_until })
}

/// Until the first word on the whole answer, the judge's verdicts of a sample are not shown.
fn is_blind(seen: &Seen, reviewer: &str) -> bool {
    seen.list == List::Sample && standing(&seen.rulings, reviewer).overall.is_none()
}

/// What a ruling says, as columns.
#[derive(Default)]
struct Columns<'a> {
    ruling: &'static str,
    target: Option<Target>,
    to_verdict: Option<Verdict>,
    to_severity: Option<Severity>,
    text: Option<&'a str>,
    span: Option<Span>,
    faithful: Option<bool>,
    withdraws: Option<Uuid>,
}

impl<'a> Columns<'a> {
    fn of(said: &'a Said, judged: Option<(Verdict, Option<Severity>)>) -> Self {
        match said {
            Said::Confirm(target) => Self {
                ruling: "confirm",
                target: Some(*target),
                to_verdict: judged.map(|(verdict, _)| verdict),
                to_severity: judged.and_then(|(_, severity)| severity),
                ..Self::default()
            },
            Said::Override { target, verdict, severity } => Self {
                ruling: "override",
                target: Some(*target),
                to_verdict: *verdict,
                to_severity: *severity,
                ..Self::default()
            },
            Said::Annotate(target) => Self { ruling: "annotate", target: *target, ..Self::default() },
            Said::Add { text, verdict, severity, span } => Self {
                ruling: "add",
                to_verdict: Some(*verdict),
                to_severity: *severity,
                text: Some(text),
                span: *span,
                ..Self::default()
            },
            Said::Overall { faithful } => Self { ruling: "overall", faithful: *faithful, ..Self::default() },
            Said::Withdraw(id) => Self { ruling: "withdraw", withdraws: Some(*id), ..Self::default() },
        }
    }
}

/// Writes a ruling if the item is still the reviewer's and the report the one that was seen; the statement itself asks.
async fn insert(
    connection: &mut PgConnection,
    hold: &Hold,
    new: &New<'_>,
    seen: &Seen,
) -> Result<bool, sqlx::Error> {
    let target = match new.said {
        Said::Confirm(target) | Said::Override { target, .. } => Some(*target),
        _ => None,
    };
    let judged = target.and_then(|target| seen.judged.verdict(target));
    let columns = Columns::of(new.said, judged);
    let reviewer = clean(&hold.reviewer);
    let blind = is_blind(seen, &reviewer);
    let place = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
    let (claim, omission) = match columns.target {
        Some(Target::Claim(at)) => (Some(place(at)), None),
        Some(Target::Omission(at)) => (None, Some(place(at))),
        None => (None, None),
    };
    let big = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
    let done = sqlx::query(
        "insert into groundcrew.rulings (id, review_item, claim_index, omission_index, reviewer, ruling, note, fence,
            report_version, blind, from_verdict, from_severity, to_verdict, to_severity, claim_text, answer_start,
            answer_end, faithful, withdraws)
        select $4, item.id, $5, $6, $3, $7, $8, item.fence, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19
        from groundcrew.review_items as item
        where item.id = $1 and item.fence = $2 and item.claimed_by = $3 and item.status = 'claimed'
            and item.leased_until > now() and groundcrew.report_version(item.audit_id) = $9",
    )
    .bind(hold.item)
    .bind(hold.fence)
    .bind(&reviewer)
    .bind(new.id)
    .bind(claim)
    .bind(omission)
    .bind(columns.ruling)
    .bind(new.note.as_deref())
    .bind(new.report_version)
    .bind(blind)
    .bind(judged.map(|(verdict, _)| verdict.as_str()))
    .bind(judged.and_then(|(_, severity)| severity).map(Severity::as_str))
    .bind(columns.to_verdict.map(Verdict::as_str))
    .bind(columns.to_severity.map(Severity::as_str))
    .bind(columns.text.map(clean))
    .bind(columns.span.map(|span| big(span.start)))
    .bind(columns.span.map(|span| big(span.end)))
    .bind(columns.faithful)
    .bind(columns.withdraws)
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}
