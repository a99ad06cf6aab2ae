//! Human labels that come after the audit.

use audit::compare::{Comparison, compare};
use audit::record::AuditKey;
use audit::{Claim, Report, Verdict};
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
        if label.faithful.is_none() && label.score.is_none() {
            return Ok(None);
        }
        let (audit, trace, label) = (key.id(), key.trace_row_id(), label.clone());
        self.run(move |pool| async move {
            let judged: Option<(Option<f64>, i32, i32)> = sqlx::query_as(
                "select score, claims_total, claims_grounded from groundcrew.audits
                where id = $1 and claims_total is not null",
            )
            .bind(audit)
            .fetch_optional(&pool)
            .await
            .map_err(Error::cannot(ACTION))?;
            let comparison =
                judged.map(|(score, total, grounded)| compare(&outline(score, total, grounded), &label));
            write(&pool, audit, trace, &label, comparison.as_ref()).await.map_err(Error::cannot(ACTION))?;
            Ok(comparison)
        })
        .await
    }
}

/// As much of a report as a comparison looks at: the score, and how many claims are grounded.
fn outline(score: Option<f64>, total: i32, grounded: i32) -> Report {
    let claim = |at| Claim {
        id: None,
        text: String::new(),
        verdict: if at < grounded { Verdict::Grounded } else { Verdict::Unsupported },
        judge_verdict: None,
        severity: None,
        confidence: None,
        fabrication: None,
        explanation: String::new(),
        evidence: Vec::new(),
        answer_span: None,
        by_rule: false,
    };
    Report { score, claims: (0..total).map(claim).collect(), ..Report::default() }
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
