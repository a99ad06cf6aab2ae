//! Claims that a judge got wrong and people set right, for examples in prompts.

use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::text::{clean_some, decompress};
use crate::{Error, Result, Store};

/// A claim of a closed review on which people agree, and the judge did not.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct Corrected {
    /// The review item.
    pub review_item: Uuid,
    /// The audit.
    pub audit_id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The prompt under which the judge got it wrong.
    pub prompt_version: String,
    /// Who ruled.
    pub reviewers: Vec<String>,
    /// When the review ended.
    pub closed_at: DateTime<Utc>,
    /// The claim.
    pub text: String,
    /// The verdict of the report; none for a claim that the judge missed.
    pub judged_verdict: Option<String>,
    /// The severity of the report.
    pub judged_severity: Option<String>,
    /// What people decided.
    pub verdict: String,
    /// How grave it is, as people say.
    pub severity: Option<String>,
    /// The quotes of the report, as they are stored with the claim.
    pub evidence: Value,
    /// What the reviewers wrote about it.
    pub notes: Vec<String>,
}

impl Store {
    /// Claims of a kind that people set right, those of the last reviews first: another verdict, another severity of
    /// a finding, or a claim that the judge missed. Claims on which opinions differ are left out; `practice` also
    /// gives those of the practice judge.
    pub async fn corrected(
        &self,
        kind: trace::Kind,
        project: Option<&str>,
        since: Option<DateTime<Utc>>,
        practice: bool,
        limit: u32,
    ) -> Result<Vec<Corrected>> {
        sqlx::query_as(
            "select truth.review_item, truth.audit_id, truth.project, truth.trace_id, truth.prompt_version,
                truth.reviewers, truth.closed_at, truth.text, truth.judged_verdict, truth.judged_severity,
                truth.verdict, truth.severity, coalesce(claim.evidence, '[]') as evidence,
                array(
                    select ruling.note from analytics.rulings as ruling
                    where ruling.audit_id = truth.audit_id and ruling.note <> ''
                        and (ruling.claim_index = truth.claim_index
                            or truth.claim_index is null and ruling.ruling = 'add' and ruling.text = truth.text)
                    order by ruling.opinion, ruling.ruled_at
                ) as notes
            from analytics.ground_truth_claims as truth
            left join groundcrew.claims as claim
                on claim.audit_id = truth.audit_id and claim.index = truth.claim_index
            where truth.kind = $1 and truth.verdict is not null
                and (truth.judged_verdict is null or truth.verdict <> truth.judged_verdict
                    or truth.severity <> truth.judged_severity)
                and ($2::text is null or truth.project = $2)
                and ($3::timestamptz is null or truth.closed_at >= $3)
                and ($4 or not truth.practice)
            order by truth.closed_at desc, truth.audit_id, truth.claim_index limit $5",
        )
        .persistent(false)
        .bind(kind.as_str())
        .bind(clean_some(project))
        .bind(since)
        .bind(practice)
        .bind(i64::from(limit))
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("read what reviewers corrected"))
    }

    /// The message of an audit's trace as it came; none once it was removed by age.
    pub async fn payload_of(&self, audit: Uuid) -> Result<Option<Vec<u8>>> {
        let found: Option<(Option<Vec<u8>>, i64)> = sqlx::query_as(
            "select trace.payload, trace.payload_bytes from groundcrew.audits as audit
            join groundcrew.traces as trace on trace.id = audit.trace_row where audit.id = $1",
        )
        .bind(audit)
        .fetch_optional(self.pool())
        .await
        .map_err(Error::cannot("read the message of an audit"))?;
        let Some((Some(payload), length)) = found else { return Ok(None) };
        decompress(&payload, length).map(Some).map_err(Error::cannot_pack("decompress a stored body"))
    }
}
