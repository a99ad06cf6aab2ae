//! The parts of an item as they are shown. Texts are as they came: whoever writes them into a page escapes them.

use audit::Passage;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::review::RulingView;
use store::{AttemptView, AuditView, ClaimView, OmissionView};

/// Something that was retrieved, or a reference document.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EvidencePart {
    /// Its index, from 0; what quotes call `chunk`.
    pub index: usize,
    /// Its source id.
    pub source_id: String,
    /// Its title.
    pub title: Option<String>,
    /// Where the source is; only http and https.
    pub url: Option<String>,
    /// Place in the retriever's ranking.
    pub rank: Option<i64>,
    /// The retriever's score.
    pub score: Option<f64>,
    /// Its text.
    pub text: String,
}

impl EvidencePart {
    pub(crate) fn of(index: usize, passage: &Passage<'_>) -> Self {
        Self {
            index,
            source_id: passage.source_id.to_owned(),
            title: passage.title.map(str::to_owned),
            url: passage.url.filter(|url| is_link(url)).map(str::to_owned),
            rank: passage.rank,
            score: passage.score.filter(|score| score.is_finite()),
            text: passage.text.to_owned(),
        }
    }
}

/// Whether something may be shown as a link: nothing that runs, and nothing of this machine's.
pub(crate) fn is_link(url: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        let head = url.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then(|| &url[scheme.len()..])
    });
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && !rest.chars().any(|c| c.is_control() || c.is_whitespace())
    })
}

/// A ruling as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RulingPart {
    /// Its id, to undo it.
    pub id: String,
    /// Who ruled.
    pub reviewer: String,
    /// `confirm`, `override`, `annotate`, `add`, `overall` or `withdraw`.
    pub ruling: String,
    /// The claim it is about, from 0.
    pub claim: Option<i32>,
    /// The omission it is about, from 0.
    pub omission: Option<i32>,
    /// The reviewer's verdict.
    pub verdict: Option<String>,
    /// The reviewer's severity.
    pub severity: Option<String>,
    /// The claim that was added.
    pub text: Option<String>,
    /// Where that stands in the answer: first Unicode scalar value, from 0.
    pub start: Option<i64>,
    /// One past its last.
    pub end: Option<i64>,
    /// Of an overall ruling: whether the answer is faithful.
    pub faithful: Option<bool>,
    /// Said before the verdict was shown.
    pub blind: bool,
    /// The ruling that this one takes back.
    pub withdraws: Option<String>,
    /// Whether it was taken back.
    pub withdrawn: bool,
    /// The reviewer's words.
    pub note: Option<String>,
    /// When it was said.
    pub at: DateTime<Utc>,
}

impl RulingPart {
    pub(crate) fn of(ruling: &RulingView, all: &[RulingView]) -> Self {
        Self {
            id: ruling.id.to_string(),
            reviewer: ruling.reviewer.clone(),
            ruling: ruling.ruling.clone(),
            claim: ruling.claim_index,
            omission: ruling.omission_index,
            verdict: ruling.to_verdict.clone(),
            severity: ruling.to_severity.clone(),
            text: ruling.claim_text.clone(),
            start: ruling.answer_start,
            end: ruling.answer_end,
            faithful: ruling.faithful,
            blind: ruling.blind,
            withdraws: ruling.withdraws.map(|id| id.to_string()),
            withdrawn: all.iter().any(|other| other.withdraws == Some(ruling.id)),
            note: ruling.note.clone(),
            at: ruling.created_at,
        }
    }
}

/// A claim of the report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimPart {
    /// Place in the report, from 0.
    pub index: usize,
    /// The claim.
    pub text: String,
    /// What the judge decided.
    pub verdict: String,
    /// The judge's own word.
    pub judge_verdict: Option<String>,
    /// How grave it is.
    pub severity: Option<String>,
    /// How sure the judge was.
    pub confidence: Option<String>,
    /// Whether an unsupported claim may be true or is likely made up.
    pub fabrication: Option<String>,
    /// The reasoning; for a finding, the gap in the evidence.
    pub explanation: String,
    /// A rule decided and no judge was asked.
    pub by_rule: bool,
    /// Where it stands in the answer: first Unicode scalar value, from 0.
    pub start: Option<i64>,
    /// One past its last.
    pub end: Option<i64>,
    /// Quotes that were found: role, source_id, chunk, quote, span, grade.
    pub evidence: Value,
    /// Without a quote: the sentence that comes nearest, as chunk, start and end.
    pub nearest: Option<(usize, usize, usize)>,
    /// What verification noticed about it: code, message.
    pub doubts: Vec<Value>,
    /// Whether it has to be decided.
    pub is_flag: bool,
    /// What the asker has decided about it.
    pub ruling: Option<RulingPart>,
    /// What the asker has noted about it.
    pub notes: Vec<RulingPart>,
}

impl ClaimPart {
    pub(crate) fn of(claim: &ClaimView, doubts: &[Value], passages: &[Passage<'_>]) -> Self {
        let index = usize::try_from(claim.index).unwrap_or_default();
        let has_quote = claim.evidence.as_array().is_some_and(|quotes| !quotes.is_empty());
        let nearest = (!has_quote).then(|| audit::verify::nearest(passages, &claim.text)).flatten();
        Self {
            index,
            text: claim.text.clone(),
            verdict: claim.verdict.clone(),
            judge_verdict: claim.judge_verdict.clone(),
            severity: claim.severity.clone(),
            confidence: claim.confidence.clone(),
            fabrication: claim.fabrication.clone(),
            explanation: claim.explanation.clone(),
            by_rule: claim.by_rule,
            start: claim.answer_start,
            end: claim.answer_end,
            evidence: claim.evidence.clone(),
            nearest: nearest.map(|(at, span)| (at, span.start, span.end)),
            doubts: doubts
                .iter()
                .filter(|doubt| doubt.get("claim").and_then(Value::as_i64) == Some(i64::from(claim.index)))
                .cloned()
                .collect(),
            is_flag: false,
            ruling: None,
            notes: Vec::new(),
        }
    }
}

/// What the evidence says and the answer should have said.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OmissionPart {
    /// Place in the report, from 0.
    pub index: usize,
    /// The fact.
    pub missing_fact: String,
    /// The passage that holds it.
    pub available_evidence: String,
    /// Why it matters.
    pub impact: String,
    /// The source.
    pub source_id: String,
    /// The piece of evidence that holds it.
    pub chunk: i32,
    /// Where it stands there: first Unicode scalar value, from 0.
    pub start: i64,
    /// One past its last.
    pub end: i64,
    /// What the asker has decided about it.
    pub ruling: Option<RulingPart>,
    /// What the asker has noted about it.
    pub notes: Vec<RulingPart>,
}

impl OmissionPart {
    pub(crate) fn of(omission: &OmissionView) -> Self {
        Self {
            index: usize::try_from(omission.index).unwrap_or_default(),
            missing_fact: omission.missing_fact.clone(),
            available_evidence: omission.available_evidence.clone(),
            impact: omission.impact.clone(),
            source_id: omission.source_id.clone(),
            chunk: omission.chunk,
            start: omission.chunk_start,
            end: omission.chunk_end,
            ruling: None,
            notes: Vec::new(),
        }
    }
}

/// One call of the judge, and why its reply was refused.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AttemptPart {
    /// Which unit of the audit, from 0.
    pub unit: i32,
    /// Which attempt at it, from 1.
    pub number: i32,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// How long it took, in milliseconds.
    pub latency_ms: i64,
    /// The judge profile.
    pub judge: String,
    /// The model that answered.
    pub model: String,
    /// `accepted`, or why not.
    pub class: String,
    /// What was wrong: code, path, message.
    pub problems: Value,
    /// How the next call differs.
    pub remedy: Option<String>,
    /// The judge's words; none when there were none, or they were removed by age.
    pub content: Option<String>,
}

impl AttemptPart {
    pub(crate) fn of(attempt: &AttemptView) -> Self {
        Self {
            unit: attempt.unit,
            number: attempt.number,
            started_at: attempt.started_at,
            latency_ms: attempt.latency_us / 1000,
            judge: attempt.judge.clone(),
            model: attempt.model_answered.clone().unwrap_or_else(|| attempt.model.clone()),
            class: attempt.class.clone(),
            problems: attempt.problems.clone(),
            remedy: attempt.remedy.clone(),
            content: attempt.content.clone().or_else(|| {
                attempt.raw_reply.as_deref().map(|raw| String::from_utf8_lossy(raw).into_owned())
            }),
        }
    }
}

/// Another audit of the same trace.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherAudit {
    /// Its id.
    pub audit_id: String,
    /// Its kind.
    pub kind: String,
    /// Its generation.
    pub generation: i64,
    /// Which of several runs.
    pub repeat: i64,
    /// How it ended; none while it is open.
    pub disposition: Option<String>,
    /// What the producer should do.
    pub decision: Option<String>,
    /// Its number.
    pub score: Option<f64>,
    /// Its review item.
    pub review_item: Option<String>,
}

impl OtherAudit {
    pub(crate) fn of(audit: &AuditView) -> Self {
        Self {
            audit_id: audit.id.to_string(),
            kind: audit.kind.clone(),
            generation: audit.generation,
            repeat: audit.repeat,
            disposition: audit.disposition.clone(),
            decision: audit.decision.clone(),
            score: audit.score,
            review_item: audit.review_item.as_ref().map(|item| item.id.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_is_linked_to() {
        for url in ["https://example.org/a?b=c#d", "http://a", "HTTPS://EXAMPLE.ORG"] {
            assert!(is_link(url), "{url}");
        }
        for url in [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "//evil.example",
            "https://",
            "https:///x",
            "http",
            "",
            "https://a\nb",
            "java\tscript:alert(1)",
            "ftp://x",
            "vbscript:x",
            " https://x",
        ] {
            assert!(!is_link(url), "{url}");
        }
    }
}
