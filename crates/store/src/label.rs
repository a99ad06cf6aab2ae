//! Human labels that come after the audit.

use audit::compare::{Comparison, compare};
use audit::record::AuditKey;
use audit::{Claim, Report, Span, Verdict};
use sqlx::PgPool;
use trace::HumanLabel;
use uuid::Uuid;

use crate::text::{clean_some, finite};
use crate::{Error, Result, Store};

const ACTION: &str = "take over a human label";

impl Store {
    /// Takes over a label that came with a later copy of the same content, and compares the audit
    /// with it anew. Gives the comparison; none when the audit has judged nothing, or the label says nothing.
    ///
    /// Disposition, decision and review item stay as they are.
    pub async fn relabel(&self, key: &AuditKey, label: &HumanLabel) -> Result<Option<Comparison>> {
        if label.faithful.is_none() && label.score.is_none() && label.claims.is_none() {
            return Ok(None);
        }
        let (audit, trace, label) = (key.id(), key.trace_row_id(), label.clone());
        self.run(move |pool| async move {
            let report = judged(&pool, audit).await.map_err(Error::cannot(ACTION))?;
            let comparison = report.map(|report| compare(&report, &label));
            write(&pool, audit, trace, &label, comparison.as_ref()).await.map_err(Error::cannot(ACTION))?;
            Ok(comparison)
        })
        .await
    }
}

/// As much of an audit's report as a comparison looks at: score and claims; none when nothing was judged.
async fn judged(pool: &PgPool, audit: Uuid) -> Result<Option<Report>, sqlx::Error> {
    let score: Option<(Option<f64>,)> =
        sqlx::query_as("select score from groundcrew.audits where id = $1 and claims_total is not null")
            .bind(audit)
            .fetch_optional(pool)
            .await?;
    let Some((score,)) = score else { return Ok(None) };
    let claims: Vec<(String, bool, Option<i64>, Option<i64>)> = sqlx::query_as(
        "select text, verdict = 'grounded', answer_start, answer_end from groundcrew.claims
        where audit_id = $1 order by index",
    )
    .bind(audit)
    .fetch_all(pool)
    .await?;
    let claims = claims.into_iter().map(|(text, grounded, start, end)| claim(text, grounded, start.zip(end)));
    Ok(Some(Report { score, claims: claims.collect(), ..Report::default() }))
}

fn claim(text: String, grounded: bool, span: Option<(i64, i64)>) -> Claim {
    let span = span.and_then(|(start, end)| {
        Some(Span { start: usize::try_from(start).ok()?, end: usize::try_from(end).ok()? })
    });
    let verdict = if grounded { Verdict::Grounded } else { Verdict::Unsupported };
    Claim { answer_span: span, ..Claim::new(text, verdict) }
}

async fn write(
    pool: &PgPool,
    audit: Uuid,
    trace: Uuid,
    label: &HumanLabel,
    comparison: Option<&Comparison>,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "with labelled as (
            update groundcrew.traces set human_faithful = $3, human_score = $4, human_labeler = $5
            where id = $2
        )
        update groundcrew.audits set human_agreement = $6, discrepancy_notes = $7
        where id = $1 and claims_total is not null
            and (human_agreement, discrepancy_notes) is distinct from ($6::boolean, $7::text)",
    )
    .bind(audit)
    .bind(trace)
    .bind(label.faithful)
    .bind(finite(label.score))
    .bind(clean_some(label.labeler.as_deref()))
    .bind(comparison.and_then(|comparison| comparison.agreement))
    .bind(clean_some(comparison.map(|comparison| comparison.discrepancy_notes.as_str())))
    .execute(pool)
    .await?;
    Ok(())
}
