//! What reviewers may say about a report, and what it adds up to. Pure: the store keeps the rulings, the desk shows
//! them.
//!
//! A **flag** is a claim that is a finding, or that a doubt or a reason sends to people, or an omission. A reviewer
//! decides every flag, may add claims that the judge missed, and then gives an opinion on the whole answer. Nothing
//! that was said is ever changed: what is undone is withdrawn by a ruling of its own.

mod conclude;
mod standing;

use serde_json::Value;
use uuid::Uuid;

use crate::report::{Severity, Span, Verdict};

pub use conclude::{Closing, Conclusion, FinalDecision, Opinion, agree, conclude};
pub use standing::{Standing, standing};

/// The longest note and the longest added claim, in Unicode scalar values.
pub const MAX_CHARS: usize = 4_000;

/// Something of a report that can be ruled on: its index in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A claim.
    Claim(usize),
    /// An omission.
    Omission(usize),
}

/// What a reviewer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The judge is right about this.
    Confirm(Target),
    /// It is otherwise. An omission is overridden when it is none.
    Override {
        /// What.
        target: Target,
        /// Which verdict is right; none for an omission.
        verdict: Option<Verdict>,
        /// How grave it is; none for what is grounded.
        severity: Option<Severity>,
    },
    /// A note on a flag, or on the whole, that decides nothing.
    Annotate(Option<Target>),
    /// A claim of the answer that the judge missed.
    Add {
        /// The claim.
        text: String,
        /// What is right about it.
        verdict: Verdict,
        /// How grave it is.
        severity: Option<Severity>,
        /// Where it stands in the answer.
        span: Option<Span>,
    },
    /// Whether the whole answer is faithful; none when the reviewer cannot say.
    Overall {
        /// The answer.
        faithful: Option<bool>,
    },
    /// An earlier ruling of the same reviewer does not count any more.
    Withdraw(Uuid),
}

/// A ruling as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Its id.
    pub id: Uuid,
    /// Who ruled.
    pub reviewer: String,
    /// What was said.
    pub said: Said,
    /// Whether the judge's verdict had not been shown yet.
    pub blind: bool,
}

/// On which list of the desk an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// There are findings, or reasons to look.
    Findings,
    /// The judge's replies could not be used.
    Failed,
    /// The blind sample of passed audits.
    Sample,
}

impl List {
    /// Every list.
    pub const ALL: [Self; 3] = [Self::Findings, Self::Failed, Self::Sample];

    /// The word used in tables and addresses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Findings => "findings",
            Self::Failed => "failed",
            Self::Sample => "sample",
        }
    }

    /// The list of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.as_str() == word)
    }
}

/// As much of a report as rulings refer to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judged {
    /// Verdict and severity of each claim, in order.
    pub claims: Vec<(Verdict, Option<Severity>)>,
    /// How many omissions there are.
    pub omissions: usize,
    /// What has to be decided.
    pub flags: Vec<Target>,
}

impl Judged {
    /// A report with its flags. `doubts` and `reasons` are JSON lists as they are stored (`claim`, `claims`).
    pub fn new(
        claims: Vec<(Verdict, Option<Severity>)>,
        omissions: usize,
        doubts: &Value,
        reasons: &Value,
    ) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let index = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let doubted: Vec<usize> =
            list(doubts).iter().filter_map(|doubt| doubt.get("claim").and_then(index)).collect();
        let meant: Vec<usize> = list(reasons)
            .iter()
            .flat_map(|reason| reason.get("claims").map(list).unwrap_or_default())
            .filter_map(|claim| index(&claim))
            .collect();
        let is_flag = |at: usize, verdict: Verdict| {
            verdict != Verdict::Grounded || doubted.contains(&at) || meant.contains(&at)
        };
        let flagged = claims.iter().enumerate().filter(|(at, (verdict, _))| is_flag(*at, *verdict));
        let mut flags: Vec<Target> = flagged.map(|(at, _)| Target::Claim(at)).collect();
        flags.extend((0..omissions).map(Target::Omission));
        Self { claims, omissions, flags }
    }

    fn has(&self, target: Target) -> bool {
        match target {
            Target::Claim(at) => at < self.claims.len(),
            Target::Omission(at) => at < self.omissions,
        }
    }

    /// What the report says about a claim; none for an omission.
    pub fn verdict(&self, target: Target) -> Option<(Verdict, Option<Severity>)> {
        match target {
            Target::Claim(at) => self.claims.get(at).copied(),
            Target::Omission(_) => None,
        }
    }
}

/// Why a ruling is not taken: which field, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The field.
    pub path: &'static str,
    /// What is wrong.
    pub message: String,
}

impl Objection {
    pub(crate) fn new(path: &'static str, message: impl Into<String>) -> Self {
        Self { path, message: message.into() }
    }
}

/// Whether a ruling makes sense for this report, after what the same reviewer has said before. `is_blind`: the judge's
/// verdicts are not shown yet, and no answer to a ruling may tell them.
///
/// # Errors
/// The first thing that does not.
pub fn check(
    said: &Said,
    note: Option<&str>,
    judged: &Judged,
    answer_chars: usize,
    before: &[Ruling],
    is_blind: bool,
) -> Result<(), Objection> {
    let is_about_report = matches!(said, Said::Confirm(_) | Said::Override { .. } | Said::Annotate(Some(_)));
    if is_blind && is_about_report {
        return Err(Objection::new(
            "$.ruling",
            "rule first whether the answer is faithful: what the judge says is shown after that",
        ));
    }
    if note.is_some_and(|note| note.chars().count() > MAX_CHARS) {
        return Err(Objection::new("$.note", format!("longer than {MAX_CHARS} characters")));
    }
    match said {
        Said::Confirm(target) => known(judged, *target),
        Said::Override { target, verdict, severity } => {
            known(judged, *target)?;
            overrides(judged.verdict(*target), *verdict, *severity)
        }
        Said::Annotate(target) => {
            target.map_or(Ok(()), |target| known(judged, target))?;
            match note.map(str::trim) {
                None | Some("") => Err(Objection::new("$.note", "an annotation is a note: it is missing")),
                Some(_) => Ok(()),
            }
        }
        Said::Add { text, verdict, severity, span } => {
            if text.trim().is_empty() || text.chars().count() > MAX_CHARS {
                return Err(Objection::new("$.text", format!("expected 1 to {MAX_CHARS} characters")));
            }
            if span.is_some_and(|span| span.start >= span.end || span.end > answer_chars) {
                return Err(Objection::new(
                    "$.start",
                    format!("not a place in the answer, which has {answer_chars} characters"),
                ));
            }
            grounded_has_no_severity(*verdict, *severity)
        }
        Said::Overall { .. } => Ok(()),
        Said::Withdraw(id) => withdraws(*id, before),
    }
}

fn known(judged: &Judged, target: Target) -> Result<(), Objection> {
    let (path, what) = match target {
        Target::Claim(_) => ("$.claim", "claim"),
        Target::Omission(_) => ("$.omission", "omission"),
    };
    if judged.has(target) {
        Ok(())
    } else {
        Err(Objection::new(path, format!("the report has no {what} of this number")))
    }
}

fn overrides(
    judged: Option<(Verdict, Option<Severity>)>,
    verdict: Option<Verdict>,
    severity: Option<Severity>,
) -> Result<(), Objection> {
    match (judged, verdict) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Objection::new("$.verdict", "an omission has no verdict: leave it out")),
        (Some(_), None) => Err(Objection::new("$.verdict", "missing: say which verdict is right")),
        (Some((from, was)), Some(to)) => {
            if from == to && (severity == was || to == Verdict::Grounded) {
                return Err(Objection::new("$.verdict", "the report says the same: confirm it"));
            }
            grounded_has_no_severity(to, severity)
        }
    }
}

fn grounded_has_no_severity(verdict: Verdict, severity: Option<Severity>) -> Result<(), Objection> {
    if verdict == Verdict::Grounded && severity.is_some() {
        return Err(Objection::new("$.severity", "a grounded claim has no severity: leave it out"));
    }
    Ok(())
}

fn withdraws(id: Uuid, before: &[Ruling]) -> Result<(), Objection> {
    let withdrawn = before.iter().any(|ruling| ruling.said == Said::Withdraw(id));
    match before.iter().find(|ruling| ruling.id == id) {
        None => Err(Objection::new("$.undo", "you have made no such ruling on this item")),
        Some(_) if withdrawn => Err(Objection::new("$.undo", "this ruling was withdrawn already")),
        Some(ruling) if matches!(ruling.said, Said::Withdraw(_)) => {
            Err(Objection::new("$.undo", "what was withdrawn stays withdrawn: rule again"))
        }
        // Afterwards the verdict was shown, so that nothing could take its place.
        Some(ruling) if ruling.blind && matches!(ruling.said, Said::Overall { .. }) => {
            Err(Objection::new("$.undo", "what was said before the verdict was shown stays: rule again"))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
