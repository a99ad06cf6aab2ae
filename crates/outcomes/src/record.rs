//! One ended audit as a line of a file.

use std::collections::BTreeMap;

use audit::record::{Attempt, AuditKey, Ending};
use audit::routing::{Decision, Disposition, Reason};
use audit::{Claim, Doubt, Omission, Severity, Verdict};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use trace::{Kind, Problem, Trace};
use uuid::Uuid;

/// The only version of these lines that exists.
pub const SCHEMA: &str = "groundcrew.audited/v1";

/// Where a trace stood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file's path as it was given; `-` for standard input.
    pub file: String,
    /// The line, from 1; for an element of a JSON array the line on which it begins.
    pub line: u64,
}

/// What the calls of the judge cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Calls that were made.
    pub calls: u64,
    /// Those of them whose price is not known; they are missing in `micros`.
    pub unpriced: u64,
    /// Tokens of the prompts, as far as the judge told.
    pub prompt_tokens: u64,
    /// Tokens of the replies, as far as the judge told.
    pub completion_tokens: u64,
    /// Millionths of each currency. Empty when no price is known, which is not the same as free.
    pub micros: BTreeMap<String, i64>,
}

impl Cost {
    /// What these calls cost.
    pub fn of(attempts: &[Attempt]) -> Self {
        let mut cost = Self::default();
        for attempt in attempts {
            cost.calls += 1;
            // What a server says of itself may be any number.
            cost.prompt_tokens = cost.prompt_tokens.saturating_add(attempt.prompt_tokens.unwrap_or_default());
            cost.completion_tokens =
                cost.completion_tokens.saturating_add(attempt.completion_tokens.unwrap_or_default());
            match (attempt.cost_micros, &attempt.currency) {
                (Some(micros), Some(currency)) => cost.add_micros(currency, micros),
                _ => cost.unpriced += 1,
            }
        }
        cost
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.unpriced += other.unpriced;
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        for (currency, micros) in &other.micros {
            self.add_micros(currency, *micros);
        }
    }

    fn add_micros(&mut self, currency: &str, micros: i64) {
        let sum = self.micros.entry(currency.to_owned()).or_default();
        *sum = sum.saturating_add(micros);
    }

    /// In words, such as `0.0123 USD`.
    pub fn in_words(&self) -> String {
        let known: Vec<String> = self
            .micros
            .iter()
            .map(|(currency, micros)| {
                #[expect(clippy::cast_precision_loss, reason = "a sum that is printed with four digits")]
                let units = *micros as f64 / 1e6;
                format!("{units:.4} {currency}")
            })
            .collect();
        match (known.is_empty(), self.unpriced) {
            (_, 0) if known.is_empty() => "nothing".to_owned(),
            (true, _) => "not known (the judge has no price)".to_owned(),
            (false, 0) => known.join(" + "),
            (false, unpriced) => format!("{}, and {unpriced} calls of unknown price", known.join(" + ")),
        }
    }
}

/// What an audit's end means for whoever waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// There are verdicts, or nothing that could be given one.
    Judged,
    /// The kind makes no sense for the trace; nothing is wrong with it.
    NotApplicable,
    /// The trace lacks something, so it was not judged.
    Incomplete,
    /// The judge gave nothing that could be used.
    NotMade,
}

/// One ended audit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Derived from project, trace id, content, kind and repeat.
    pub audit_id: Uuid,
    /// The producer's project.
    pub project: String,
    /// The producer's trace id.
    pub trace_id: String,
    /// The audit kind.
    pub kind: Kind,
    /// Which of several runs, from 0.
    #[serde(default)]
    pub repeat: u32,
    /// Where the trace stood.
    #[serde(default)]
    pub place: Place,
    /// How the audit ended.
    pub disposition: Disposition,
    /// What the producer should do; null where nothing was judged.
    pub decision: Option<Decision>,
    /// The number that the kind yields.
    pub score: Option<f64>,
    /// Whether a rule decided and no judge was asked.
    #[serde(default)]
    pub by_rule: bool,
    /// The gravest finding, if the kind has severities.
    pub severity: Option<Severity>,
    /// Why people should see it.
    #[serde(default)]
    pub reasons: Vec<Reason>,
    /// Why the trace is incomplete, or the kind not applicable.
    #[serde(default)]
    pub trace_problems: Vec<Problem>,
    /// Why there is no verdict, where the judge gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What a person said before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_faithful: Option<bool>,
    /// Whether the audit says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_agreement: Option<bool>,
    /// Every claim with its evidence. Places are Unicode scalar values, ours.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// What the answer left out.
    #[serde(default)]
    pub omissions: Vec<Omission>,
    /// What verification noticed.
    #[serde(default)]
    pub doubts: Vec<Doubt>,
    /// Share of the answer's content words that the claims hold.
    #[serde(default)]
    pub coverage: Option<f64>,
    /// The judge's summary, or the rule's.
    #[serde(default)]
    pub overall_assessment: String,
    /// Version of the prompt.
    pub prompt_version: String,
    /// Name of the judge profile.
    pub judge: String,
    /// The model that it asks for. Empty in lines of older versions.
    #[serde(default)]
    pub model: String,
    /// Whether that is the practice judge.
    pub practice: bool,
    /// Whether no golden run is on record for this kind, prompt and judge.
    pub uncalibrated: bool,
    /// What it cost.
    #[serde(default)]
    pub cost: Cost,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
}

/// A line that is not one of ours.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is no JSON, or lacks a key.
    #[error("is not a line that `groundcrew audit --out FILE.jsonl` wrote")]
    Json(#[from] serde_json::Error),
    /// It says that it is something else.
    #[error("has the schema `{0}`; expected {SCHEMA}")]
    Schema(String),
}

impl Record {
    /// The record of an ended audit. `attempts` are all of its calls, those of the ending included.
    pub fn of_ending(ending: &Ending, attempts: &[Attempt], place: Place) -> Self {
        let report = ending.report.clone().unwrap_or_default();
        let opening = &ending.opening;
        Self {
            decision: ending.routed.decision,
            score: report.score,
            by_rule: report.by_rule,
            severity: ending.routed.severity,
            reasons: if ending.routed.blind_sample { Vec::new() } else { ending.routed.reasons.clone() },
            trace_problems: ending.trace_problems.clone(),
            human_agreement: ending.comparison.as_ref().and_then(|comparison| comparison.agreement),
            claims: report.claims,
            omissions: report.omissions,
            doubts: report.doubts,
            coverage: report.coverage,
            overall_assessment: report.overall_assessment,
            practice: ending.practice,
            uncalibrated: ending.uncalibrated,
            cost: Cost::of(attempts),
            ended_at: ending.ended_at,
            ..Self::unjudged(&ending.key, &ending.trace.trace, place, ending.routed.disposition)
                .by(&opening.prompt_version, &opening.judge)
        }
    }

    /// The record of an audit in which nothing was judged.
    pub fn unjudged(key: &AuditKey, trace: &Trace, place: Place, disposition: Disposition) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            audit_id: key.id(),
            project: key.project.clone(),
            trace_id: key.trace_id.clone(),
            kind: key.kind,
            repeat: key.repeat,
            place,
            disposition,
            decision: None,
            score: None,
            by_rule: false,
            severity: None,
            reasons: Vec::new(),
            trace_problems: Vec::new(),
            failure: None,
            human_faithful: trace.human_label.as_ref().and_then(|label| label.faithful),
            human_agreement: None,
            claims: Vec::new(),
            omissions: Vec::new(),
            doubts: Vec::new(),
            coverage: None,
            overall_assessment: String::new(),
            prompt_version: String::new(),
            judge: String::new(),
            model: String::new(),
            practice: false,
            uncalibrated: true,
            cost: Cost::default(),
            ended_at: DateTime::UNIX_EPOCH,
        }
    }

    /// The same, made with this prompt and judge.
    #[must_use]
    pub fn by(self, prompt_version: &str, judge: &str) -> Self {
        Self { prompt_version: prompt_version.to_owned(), judge: judge.to_owned(), ..self }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`RecordError`] when it is none of ours.
    pub fn parse(line: &str) -> Result<Self, RecordError> {
        let record: Self = serde_json::from_str(line)?;
        if record.schema == SCHEMA { Ok(record) } else { Err(RecordError::Schema(record.schema)) }
    }

    /// What its end means.
    pub fn standing(&self) -> Standing {
        match self.disposition {
            Disposition::Passed | Disposition::Flagged | Disposition::Escalated | Disposition::NoClaims => {
                Standing::Judged
            }
            Disposition::NotApplicable => Standing::NotApplicable,
            Disposition::Incomplete => Standing::Incomplete,
            Disposition::Unreadable
            | Disposition::Inconsistent
            | Disposition::Refused
            | Disposition::JudgeUnavailable
            | Disposition::OverBudget => Standing::NotMade,
        }
    }

    /// How many claims have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict == verdict).count()
    }

    /// The claims that are not grounded.
    pub fn findings(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.is_finding())
    }

    /// Why there is no verdict, in words; empty where there is one.
    pub fn why_not_judged(&self) -> String {
        let problems =
            self.trace_problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message));
        let reasons = self.reasons.iter().map(|reason| reason.message.clone());
        // Without services there is no cap of a day: what ends so needed too many replies.
        let is_unexplained = self.reasons.is_empty() && self.failure.is_none();
        match self.standing() {
            Standing::Judged => String::new(),
            _ if self.disposition == Disposition::OverBudget && is_unexplained => {
                "the audit needs more replies of the judge than `max_replies` allows one audit".to_owned()
            }
            _ => problems.chain(self.failure.clone()).chain(reasons).collect::<Vec<_>>().join("; "),
        }
    }
}
