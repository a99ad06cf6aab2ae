//! The end of a review: item, audit and messages in one commit.

use std::time::Duration;

use audit::review::{
    Closing, Conclusion, FinalDecision, List, Objection, Opinion, agree, conclude, standing,
};
use audit::routing::Decision;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::events::{self, Outgoing};
use super::lease::{Held, extend, lost};
use super::seen::{self, Seen};
use super::{Hold, Unkept};
use crate::text::{clean, clean_some, decompress};
use crate::{Error, Result, Store, generation};

const ACTION: &str = "close a review";

/// How a reviewer ends a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// By an opinion on the answer; `opinions` are asked for, of different people.
    Ruled {
        /// The last words.
        closing: Closing,
        /// How many people's opinions end it.
        opinions: u16,
    },
    /// The audit is asked for again, in a new generation.
    Retried,
    /// Nothing is said about the answer.
    Dismissed,
}

/// A trace that was asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The generation that was asked for.
    pub generation: i64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// The review has ended.
    Ended {
        /// What it comes to.
        conclusion: Conclusion,
        /// What was asked for again.
        retry: Option<Retry>,
    },
    /// The opinion is kept; more are wanted.
    MoreOpinions {
        /// Those that there are.
        given: u16,
        /// Those that are wanted.
        wanted: u16,
    },
    /// Nothing was written.
    Not(Unkept),
    /// Nothing was written: the message was removed by age, so that the audit cannot be asked for again.
    Removed,
}

impl Store {
    /// Ends the review of an item that the reviewer holds: the item is closed, its audit final, ground truth can be
    /// read, and who waits is told, all in one commit.
    pub async fn review_close(&self, hold: &Hold, ending: &Ending, note: Option<&str>) -> Result<Closed> {
        let (hold, ending) = (hold.clone(), ending.clone());
        let note = clean_some(note.map(str::trim).filter(|note| !note.is_empty()));
        self.run(move |pool| async move {
            let cannot = Error::cannot(ACTION);
            let mut transaction = pool.begin().await.map_err(&cannot)?;
            let closed = close(&mut transaction, &hold, &ending, note.as_deref()).await?;
            if matches!(closed, Closed::Ended { .. } | Closed::MoreOpinions { .. }) {
                transaction.commit().await.map_err(&cannot)?;
            }
            Ok(closed)
        })
        .await
    }
}

async fn close(
    connection: &mut PgConnection,
    hold: &Hold,
    ending: &Ending,
    note: Option<&str>,
) -> Result<Closed> {
    let cannot = Error::cannot(ACTION);
    // Locks the item's row.
    let Some(held) = extend(connection, hold, Duration::ZERO).await.map_err(&cannot)? else {
        return Ok(Closed::Not(Unkept::Lost(lost(connection, hold).await.map_err(&cannot)?)));
    };
    let seen = seen::read(connection, hold.item, held.audit_id).await?;
    let given = opinions(connection, hold.item).await.map_err(&cannot)?;
    if let Some(objection) = out_of_place(ending, seen.list, !given.is_empty()) {
        return Ok(Closed::Not(Unkept::Objections(vec![objection])));
    }
    match ending {
        Ending::Ruled { closing, opinions } => {
            rule(connection, hold, &held, &seen, *closing, *opinions, note).await
        }
        Ending::Retried => match retry(connection, hold, &held).await? {
            Some(retry) => {
                let conclusion = undecided(seen.decision);
                opinion_row(connection, hold, Opinion { faithful: None, decision: None }, note).await?;
                end(connection, hold, &held, &seen, "retried", conclusion).await?;
                Ok(Closed::Ended { conclusion, retry: Some(retry) })
            }
            None => Ok(Closed::Removed),
        },
        Ending::Dismissed => {
            let conclusion = undecided(seen.decision);
            opinion_row(connection, hold, Opinion { faithful: None, decision: None }, note).await?;
            end(connection, hold, &held, &seen, "dismissed", conclusion).await?;
            Ok(Closed::Ended { conclusion, retry: None })
        }
    }
}

/// Why a review may not end so: what one person alone may not decide, or what would spoil a figure.
fn out_of_place(ending: &Ending, list: List, has_opinions: bool) -> Option<Objection> {
    let message = match ending {
        Ending::Ruled { .. } => return None,
        Ending::Retried if list != List::Failed => {
            "only an audit that failed can be asked for again: rule on this one"
        }
        Ending::Dismissed if list == List::Sample => {
            "an item of the sample is ruled on, or what the judge misses could not be estimated: say null for faithful when you cannot say"
        }
        Ending::Retried | Ending::Dismissed if has_opinions => {
            "somebody has given an opinion on this item: give yours"
        }
        Ending::Retried | Ending::Dismissed => return None,
    };
    Some(Objection { path: "$", message: message.to_owned() })
}

/// What is left of a decision when nobody says anything: what was held back stays so.
fn undecided(decision: Option<Decision>) -> Conclusion {
    let decision = decision.map(|decision| match decision {
        Decision::Deliver => FinalDecision::Deliver,
        Decision::Hold | Decision::Block => FinalDecision::Block,
    });
    Conclusion { faithful: None, decision, releases: false }
}

async fn rule(
    connection: &mut PgConnection,
    hold: &Hold,
    held: &Held,
    seen: &Seen,
    closing: Closing,
    wanted: u16,
    note: Option<&str>,
) -> Result<Closed> {
    let cannot = Error::cannot(ACTION);
    let reviewer = clean(&hold.reviewer);
    let standing = standing(&seen.rulings, &reviewer);
    let opinion = match conclude(seen.list, seen.decision, &seen.judged, &standing, closing) {
        Ok(opinion) => opinion,
        Err(objections) => return Ok(Closed::Not(Unkept::Objections(objections))),
    };
    let mut opinions = opinions(connection, hold.item).await.map_err(&cannot)?;
    opinion_row(connection, hold, opinion, note).await?;
    opinions.push(opinion);
    let given = u16::try_from(opinions.len()).unwrap_or(u16::MAX);
    if given < wanted {
        sqlx::query(
            "update groundcrew.review_items
            set status = 'open', claimed_by = null, claimed_at = null, leased_until = null
            where id = $1 and fence = $2",
        )
        .bind(hold.item)
        .bind(hold.fence)
        .execute(connection)
        .await
        .map_err(&cannot)?;
        return Ok(Closed::MoreOpinions { given, wanted });
    }
    let conclusion = agree(seen.decision, &opinions);
    end(connection, hold, held, seen, "ruled", conclusion).await?;
    Ok(Closed::Ended { conclusion, retry: None })
}

async fn opinions(connection: &mut PgConnection, item: Uuid) -> Result<Vec<Opinion>, sqlx::Error> {
    let rows: Vec<(Option<bool>, Option<String>)> = sqlx::query_as(
        "select faithful, decision from groundcrew.review_opinions where review_item = $1 order by number",
    )
    .bind(item)
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|(faithful, decision)| Opinion {
            faithful,
            decision: decision.as_deref().and_then(FinalDecision::parse),
        })
        .collect())
}

/// Writes the opinion, if the item is still the reviewer's; the statement itself asks.
async fn opinion_row(
    connection: &mut PgConnection,
    hold: &Hold,
    opinion: Opinion,
    note: Option<&str>,
) -> Result<()> {
    sqlx::query(
        "insert into groundcrew.review_opinions (review_item, number, reviewer, fence, faithful, decision, note)
        select item.id,
            1 + (select count(*) from groundcrew.review_opinions as given where given.review_item = item.id),
            $3, item.fence, $4, $5, $6
        from groundcrew.review_items as item
        where item.id = $1 and item.fence = $2 and item.claimed_by = $3 and item.status = 'claimed'",
    )
    .bind(hold.item)
    .bind(hold.fence)
    .bind(clean(&hold.reviewer))
    .bind(opinion.faithful)
    .bind(opinion.decision.map(FinalDecision::as_str))
    .bind(note)
    .execute(connection)
    .await
    .map_err(Error::cannot(ACTION))?;
    Ok(())
}

/// Closes the item, makes its audit final, and says so.
async fn end(
    connection: &mut PgConnection,
    hold: &Hold,
    held: &Held,
    seen: &Seen,
    outcome: &'static str,
    conclusion: Conclusion,
) -> Result<()> {
    let cannot = Error::cannot(ACTION);
    let reviewer = clean(&hold.reviewer);
    let closed_at: DateTime<Utc> = sqlx::query_scalar(
        "update groundcrew.review_items
        set status = 'closed', closed_at = now(), closed_by = claimed_by, outcome = $3, faithful = $4,
            final_decision = $5, claimed_by = null, claimed_at = null, leased_until = null
        where id = $1 and fence = $2 and status = 'claimed'
        returning closed_at",
    )
    .bind(hold.item)
    .bind(hold.fence)
    .bind(outcome)
    .bind(conclusion.faithful.filter(|_| outcome == "ruled"))
    .bind(conclusion.decision.map(FinalDecision::as_str))
    .fetch_one(&mut *connection)
    .await
    .map_err(&cannot)?;
    let audit = sqlx::query(
        "update groundcrew.audits set final = true where id = $1
        returning project, trace_id, kind, generation, disposition, decision, practice",
    )
    .bind(held.audit_id)
    .fetch_one(&mut *connection)
    .await
    .map_err(&cannot)?;
    let mut reviewers: Vec<String> = sqlx::query_scalar(
        "select reviewer from groundcrew.review_opinions where review_item = $1 order by number",
    )
    .bind(hold.item)
    .fetch_all(&mut *connection)
    .await
    .map_err(&cannot)?;
    if reviewers.is_empty() {
        reviewers.push(reviewer);
    }
    let rulings = in_messages(seen, &reviewers);
    let ended = events::End {
        item: hold.item,
        audit_id: held.audit_id,
        project: audit.try_get("project").map_err(&cannot)?,
        trace_id: audit.try_get("trace_id").map_err(&cannot)?,
        kind: audit.try_get("kind").map_err(&cannot)?,
        generation: audit.try_get("generation").map_err(&cannot)?,
        disposition: audit.try_get("disposition").map_err(&cannot)?,
        decision: audit.try_get("decision").map_err(&cannot)?,
        practice: audit.try_get("practice").map_err(&cannot)?,
        outcome,
        reviewers,
        conclusion,
        was_open: !seen.is_final,
        rulings: &rulings,
        closed_at,
    };
    events::ended(connection, &ended).await.map_err(&cannot)
}

/// What counts of what was said, for who waits for the end.
fn in_messages(seen: &Seen, reviewers: &[String]) -> Value {
    use audit::review::{Said, Target};
    let mut list = Vec::new();
    for reviewer in reviewers {
        let standing = standing(&seen.rulings, reviewer);
        for (target, ruling) in &standing.decided {
            let (key, at) = match target {
                Target::Claim(at) => ("claim", *at),
                Target::Omission(at) => ("omission", *at),
            };
            let judged = seen.judged.verdict(*target);
            let (word, to) = match &ruling.said {
                Said::Override { verdict, severity, .. } => ("override", verdict.map(|it| (it, *severity))),
                _ => ("confirm", judged),
            };
            list.push(json!({
                "ruling": word,
                "reviewer": reviewer,
                key: at,
                "from_verdict": judged.map(|(verdict, _)| verdict),
                "from_severity": judged.and_then(|(_, severity)| severity),
                "to_verdict": to.map(|(verdict, _)| verdict),
                "to_severity": to.and_then(|(_, severity)| severity),
            }));
        }
        for ruling in &standing.added {
            if let Said::Add { text, verdict, severity, .. } = &ruling.said {
                list.push(json!({
                    "ruling": "add",
                    "reviewer": reviewer,
                    "text": text,
                    "to_verdict": verdict,
                    "to_severity": severity,
                }));
            }
        }
    }
    Value::Array(list)
}

/// Asks for the audit again; none when its message is not kept any more.
async fn retry(connection: &mut PgConnection, hold: &Hold, held: &Held) -> Result<Option<Retry>> {
    let cannot = Error::cannot("ask for an audit again");
    let row = sqlx::query(
        "select audit.project, audit.trace_id, audit.generation, audit.kind, trace.payload, trace.payload_bytes
        from groundcrew.audits as audit
        join groundcrew.traces as trace on trace.id = audit.trace_row
        where audit.id = $1",
    )
    .bind(held.audit_id)
    .fetch_one(&mut *connection)
    .await
    .map_err(&cannot)?;
    let payload: Option<Vec<u8>> = row.try_get("payload").map_err(&cannot)?;
    let Some(payload) = payload else { return Ok(None) };
    let bytes: i64 = row.try_get("payload_bytes").map_err(&cannot)?;
    let body = decompress(&payload, bytes).map_err(Error::cannot_pack("decompress a stored body"))?;
    let kind: String = row.try_get("kind").map_err(&cannot)?;
    let project: String = row.try_get("project").map_err(&cannot)?;
    let trace_id: String = row.try_get("trace_id").map_err(&cannot)?;
    let before: i64 = row.try_get("generation").map_err(&cannot)?;
    let purpose = format!("retry {} {}", hold.item, Uuid::now_v7());
    let generation = generation::reserve(connection, &project, &trace_id, &purpose, before + 1);
    let generation = generation.await.map_err(&cannot)?;
    let message = Outgoing {
        id: audit::record::derived_id(hold.item, &format!("retry {generation}")),
        audit_id: Some(held.audit_id),
        exchange: events::TRACES,
        routing_key: "urgent".to_owned(),
        correlation_id: None,
        body,
        headers: Some(json!({ "kinds": [kind], "generation": generation })),
    };
    events::send(connection, message).await.map_err(&cannot)?;
    Ok(Some(Retry { generation }))
}
