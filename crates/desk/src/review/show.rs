//! What one person may see of an item. Pure.
//!
//! Two things are kept from people. Of an item of the blind sample nothing that the judge said is shown before the
//! asker has ruled on the answer: no verdict, severity, score, reason, attempt, other audit or earlier label. And where
//! a project asks for two opinions, nobody sees another's before the review has ended.

use audit::review::{Judged, List, Target};
use audit::{Basis, Severity, Verdict, kinds};
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::ReviewStatus;
use store::review::{ReviewDetail, RulingView};
use trace::Trace;

use super::Due;
use super::parts::{AttemptPart, ClaimPart, EvidencePart, OmissionPart, OtherAudit, RulingPart};

/// An item for one person.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ItemView {
    /// The review item.
    pub review_item: String,
    /// The audit.
    pub audit_id: String,
    /// The producer's project.
    pub project: String,
    /// The producer's id of the trace.
    pub trace_id: String,
    /// The audit kind.
    pub kind: String,
    /// `findings`, `failed` or `sample`.
    pub list: String,
    /// Whether somebody is paged.
    pub urgent: bool,
    /// `open`, `claimed` or `closed`.
    pub status: String,
    /// Who has it.
    pub held_by: Option<String>,
    /// Whether the asker has it.
    pub mine: bool,
    /// Until when, if nothing happens.
    pub leased_until: Option<DateTime<Utc>>,
    /// To be named with everything that is written; only for who has it.
    pub fence: Option<i64>,
    /// Names the report, to be named with rulings.
    pub report_version: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Until when it should be decided.
    pub due_at: DateTime<Utc>,
    /// Whether that is over.
    pub overdue: bool,
    /// Whether what the judge said is shown.
    pub revealed: bool,
    /// The trace.
    pub trace: TracePart,
    /// What the judge said; none until it is revealed.
    pub report: Option<ReportPart>,
    /// What was said by the asker, and after the end by everybody, in its order.
    pub rulings: Vec<RulingPart>,
    /// The end; none while the review goes on.
    pub end: Option<EndPart>,
    /// Whether the asker has given an opinion, and others are still wanted.
    pub opinion_given: bool,
}

/// A trace as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TracePart {
    /// The question.
    pub query: String,
    /// The answer.
    pub answer: String,
    /// What the answer is held against.
    pub evidence: Vec<EvidencePart>,
    /// Why there is none, when the message was removed by age or cannot be read.
    pub evidence_missing: Option<String>,
    /// When the answer was given.
    pub occurred_at: Option<DateTime<Utc>>,
    /// Why it was sent.
    pub origin: String,
    /// How much harm a wrong answer can do.
    pub risk: String,
    /// What a wrongly blocked answer costs.
    pub value: String,
    /// Subject area.
    pub domain: Option<String>,
    /// The model that wrote the answer.
    pub generator: Option<String>,
    /// Who is told about a critical finding.
    pub content_owner: Option<String>,
    /// The message as it came; only where the audit failed.
    pub raw: Option<String>,
}

/// What the judge said.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReportPart {
    /// How the audit ended.
    pub disposition: Option<String>,
    /// What the producer should do until the review ends.
    pub decision: Option<String>,
    /// The gravest finding.
    pub severity: Option<String>,
    /// The number that the kind yields.
    pub score: Option<f64>,
    /// The judge profile.
    pub judge: String,
    /// Version of the prompt.
    pub prompt_version: String,
    /// It was the practice judge, a word matcher.
    pub practice: bool,
    /// No golden run exists for this combination.
    pub uncalibrated: bool,
    /// Why people have to see it.
    pub why: Vec<String>,
    /// The summary.
    pub assessment: Option<String>,
    /// The claims, in order.
    pub claims: Vec<ClaimPart>,
    /// The omissions, in order.
    pub omissions: Vec<OmissionPart>,
    /// Doubts about the whole.
    pub doubts: Vec<Value>,
    /// How many flags the asker has not decided yet.
    pub undecided: usize,
    /// Calls of the judge.
    pub attempts: Vec<AttemptPart>,
    /// What a person said before.
    pub label: Option<LabelPart>,
    /// Other audits of the trace.
    pub other_audits: Vec<OtherAudit>,
}

/// What a person said before the audit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LabelPart {
    /// Who.
    pub labeler: Option<String>,
    /// Whether the answer is faithful.
    pub faithful: Option<bool>,
    /// The score they gave.
    pub score: Option<f64>,
    /// Whether the audit says the same.
    pub agrees: Option<bool>,
    /// What differs.
    pub differs: Option<String>,
}

/// The end of a review.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EndPart {
    /// `ruled`, `retried` or `dismissed`.
    pub outcome: String,
    /// Who closed it.
    pub closed_by: String,
    /// When.
    pub closed_at: DateTime<Utc>,
    /// Whether the answer is faithful.
    pub faithful: Option<bool>,
    /// What the producer should do.
    pub final_decision: Option<String>,
    /// Each reviewer's note.
    pub notes: Vec<(String, Option<String>)>,
}

/// What `asker` may see of an item.
pub(crate) fn show(detail: &ReviewDetail, asker: &str, due: Due) -> ItemView {
    let item = &detail.item;
    let list = List::parse(&item.list).unwrap_or(List::Findings);
    let closed = item.status == ReviewStatus::Closed;
    let held =
        item.status == ReviewStatus::Claimed && item.leased_until.is_some_and(|until| until > detail.read_at);
    let mine = held && item.claimed_by.as_deref() == Some(asker);
    let seen: Vec<&RulingView> =
        detail.rulings.iter().filter(|ruling| closed || ruling.reviewer == asker).collect();
    let opinion_given = detail.opinions.iter().any(|opinion| opinion.reviewer == asker);
    let has_ruled = detail.rulings.iter().any(|it| it.reviewer == asker && it.ruling == "overall");
    let revealed = list != List::Sample || closed || has_ruled;
    let due_at = due.at(item.rank, item.created_at);
    let decoded = detail.trace.payload.as_deref().map(trace::decode);
    let trace = decoded.as_ref().and_then(|decoded| decoded.as_ref().ok());
    let passages = passages(detail, trace);
    ItemView {
        review_item: item.id.to_string(),
        audit_id: item.audit_id.to_string(),
        project: item.project.clone(),
        trace_id: item.trace_id.clone(),
        kind: item.kind.clone(),
        list: item.list.clone(),
        urgent: item.urgent,
        status: if held || closed { item.status } else { ReviewStatus::Open }.to_string(),
        held_by: item.claimed_by.clone().filter(|_| held),
        mine,
        leased_until: item.leased_until.filter(|_| held),
        fence: mine.then_some(item.fence),
        report_version: detail.report_version.clone(),
        created_at: item.created_at,
        due_at,
        overdue: !closed && due_at < detail.read_at,
        revealed,
        trace: trace_part(detail, trace, &passages, list),
        report: revealed.then(|| report(detail, &passages, asker, closed)).flatten(),
        rulings: seen.iter().map(|ruling| RulingPart::of(ruling, &detail.rulings)).collect(),
        end: end(detail),
        opinion_given: opinion_given && !closed,
    }
}

/// The evidence of an item's kind, in its order.
fn passages<'a>(detail: &ReviewDetail, trace: Option<&'a Trace>) -> Vec<audit::Passage<'a>> {
    let spec = detail.item.kind.parse().ok().and_then(|kind| kinds::find(kind).ok());
    let basis = spec.map_or(Basis::Retrieval, |spec| spec.basis);
    trace.map(|trace| basis.passages(trace)).unwrap_or_default()
}

fn trace_part(
    detail: &ReviewDetail,
    trace: Option<&Trace>,
    passages: &[audit::Passage<'_>],
    list: List,
) -> TracePart {
    let stored = &detail.trace;
    let missing = match (&stored.payload, trace) {
        (None, _) => Some("The message was removed by age.".to_owned()),
        (Some(_), None) => Some("The message cannot be read any more.".to_owned()),
        (Some(_), Some(_)) => None,
    };
    let raw = stored.payload.as_deref().filter(|_| list == List::Failed);
    TracePart {
        query: stored.query.clone().unwrap_or_default(),
        answer: stored.answer.clone().unwrap_or_default(),
        evidence: passages.iter().enumerate().map(|(at, passage)| EvidencePart::of(at, passage)).collect(),
        evidence_missing: missing,
        occurred_at: stored.occurred_at,
        origin: stored.origin.clone(),
        risk: stored.risk.clone(),
        value: stored.value.clone(),
        domain: stored.domain.clone(),
        generator: stored.generator_model.clone(),
        content_owner: stored.content_owner.clone(),
        raw: raw.map(|raw| String::from_utf8_lossy(raw).into_owned()),
    }
}

fn report(
    detail: &ReviewDetail,
    passages: &[audit::Passage<'_>],
    asker: &str,
    closed: bool,
) -> Option<ReportPart> {
    let audit = detail.trace.audits.iter().find(|audit| audit.id == detail.item.audit_id)?;
    let words = |value: &Value, key: &str| -> Vec<String> {
        let each = value.as_array().into_iter().flatten();
        each.filter_map(|it| it.get(key)?.as_str()).map(str::to_owned).collect()
    };
    let doubts: Vec<Value> = audit.doubts.as_array().cloned().unwrap_or_default();
    let verdict = |claim: &store::ClaimView| {
        let severity = claim.severity.as_deref().and_then(Severity::parse);
        (Verdict::parse(&claim.verdict).unwrap_or(Verdict::Unsupported), severity)
    };
    let judged = Judged::new(
        audit.claims.iter().map(verdict).collect(),
        audit.omissions.len(),
        &audit.doubts,
        &audit.reasons,
    );
    let said = Said::of(detail, asker, closed);
    let mut claims: Vec<ClaimPart> =
        audit.claims.iter().map(|claim| ClaimPart::of(claim, &doubts, passages)).collect();
    for claim in &mut claims {
        claim.is_flag = judged.flags.contains(&Target::Claim(claim.index));
        claim.ruling = said.decision(Target::Claim(claim.index));
        claim.notes = said.notes(Target::Claim(claim.index));
    }
    let mut omissions: Vec<OmissionPart> = audit.omissions.iter().map(OmissionPart::of).collect();
    for omission in &mut omissions {
        omission.ruling = said.decision(Target::Omission(omission.index));
        omission.notes = said.notes(Target::Omission(omission.index));
    }
    let undecided = judged.flags.iter().filter(|flag| said.decision(**flag).is_none()).count();
    let has_label = detail.trace.human_faithful.is_some() || detail.trace.human_score.is_some();
    Some(ReportPart {
        disposition: audit.disposition.clone(),
        decision: audit.decision.clone(),
        severity: audit.severity.clone(),
        score: audit.score,
        judge: audit.judge.clone(),
        prompt_version: audit.prompt_version.clone(),
        practice: audit.practice,
        uncalibrated: audit.uncalibrated,
        why: words(&audit.reasons, "message"),
        assessment: audit.overall_assessment.clone().filter(|text| !text.trim().is_empty()),
        claims,
        omissions,
        doubts: doubts.into_iter().filter(|doubt| doubt.get("claim").is_none_or(Value::is_null)).collect(),
        undecided,
        attempts: audit.attempts.iter().map(AttemptPart::of).collect(),
        label: has_label.then(|| LabelPart {
            labeler: detail.trace.human_labeler.clone(),
            faithful: detail.trace.human_faithful,
            score: detail.trace.human_score,
            agrees: audit.human_agreement,
            differs: audit.discrepancy_notes.clone().filter(|notes| !notes.is_empty()),
        }),
        other_audits: detail
            .trace
            .audits
            .iter()
            .filter(|other| other.id != audit.id)
            // An audit that waits in the blind sample says nothing either.
            .filter(|other| {
                other
                    .review_item
                    .as_ref()
                    .is_none_or(|item| !item.blind || item.status == ReviewStatus::Closed)
            })
            .map(OtherAudit::of)
            .collect(),
    })
}

/// What the asker has said, or after the end who gave the last opinion.
struct Said<'a> {
    rulings: Vec<&'a RulingView>,
    all: &'a [RulingView],
}

impl<'a> Said<'a> {
    fn of(detail: &'a ReviewDetail, asker: &str, closed: bool) -> Self {
        let has_said = detail.rulings.iter().any(|ruling| ruling.reviewer == asker);
        let whose = match (closed, has_said, detail.opinions.last()) {
            (true, false, Some(opinion)) => opinion.reviewer.as_str(),
            _ => asker,
        };
        let withdrawn =
            |ruling: &RulingView| detail.rulings.iter().any(|other| other.withdraws == Some(ruling.id));
        let rulings = detail.rulings.iter().filter(|it| it.reviewer == whose && !withdrawn(it)).collect();
        Self { rulings, all: &detail.rulings }
    }

    fn about(&self, target: Target) -> impl DoubleEndedIterator<Item = &&'a RulingView> {
        let place = |at: usize| i32::try_from(at).ok();
        self.rulings.iter().filter(move |ruling| match target {
            Target::Claim(at) => ruling.claim_index.is_some() && ruling.claim_index == place(at),
            Target::Omission(at) => ruling.omission_index.is_some() && ruling.omission_index == place(at),
        })
    }

    fn decision(&self, target: Target) -> Option<RulingPart> {
        let decides = |ruling: &&&RulingView| matches!(ruling.ruling.as_str(), "confirm" | "override");
        self.about(target).rev().find(decides).map(|ruling| RulingPart::of(ruling, self.all))
    }

    fn notes(&self, target: Target) -> Vec<RulingPart> {
        let notes = self.about(target).filter(|ruling| ruling.ruling == "annotate");
        notes.map(|ruling| RulingPart::of(ruling, self.all)).collect()
    }
}

fn end(detail: &ReviewDetail) -> Option<EndPart> {
    let item = &detail.item;
    Some(EndPart {
        outcome: item.outcome.clone()?,
        closed_by: item.closed_by.clone()?,
        closed_at: item.closed_at?,
        faithful: item.faithful,
        final_decision: item.final_decision.clone(),
        notes: detail
            .opinions
            .iter()
            .map(|opinion| (opinion.reviewer.clone(), opinion.note.clone()))
            .collect(),
    })
}
