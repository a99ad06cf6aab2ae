//! One labelled case, and what audits said about it.

use audit::Confidence;
use audit::routing::Disposition;
use trace::{Kind, Trace};

use super::align::{self, Paired};
use super::overlap;
use crate::record::{Place, Record, Standing};

/// A trace with a person's label, and every audit of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The producer's trace id.
    pub trace_id: String,
    /// Where it stands.
    pub place: Place,
    /// `metadata.category`: what makes the case easy or hard.
    pub category: Option<String>,
    /// The label: whether the whole answer is faithful.
    pub faithful: bool,
    /// Share of the answer's words that the evidence lacks, the baseline's number; none without words.
    pub novelty: Option<f64>,
    /// What each run said, in their order. Never empty.
    pub runs: Vec<Run>,
}

/// One audit of a case.
#[derive(Debug, Clone)]
pub struct Run {
    /// What it said about the answer.
    pub said: Said,
    /// Labelled claims, paired with the judge's; none when the label has no claims or nothing was judged.
    pub claims: Option<Paired>,
    /// What it said about the whole, in words, for the list of wrong cases.
    pub in_words: String,
}

/// What an audit said about an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// It was judged. For each claim whether it is grounded, and how sure the judge was.
    Judged(Vec<(bool, Option<Confidence>)>),
    /// There is no verdict.
    Nothing(Disposition),
}

impl Said {
    /// Whether the answer is flagged: one claim is not grounded. An answer without claims passes. None without verdict.
    pub fn flags(&self) -> Option<bool> {
        match self {
            Self::Judged(claims) => Some(claims.iter().any(|(grounded, _)| !grounded)),
            Self::Nothing(_) => None,
        }
    }
}

impl Case {
    /// The case of a labelled trace, without runs yet; none when the label does not say whether the answer is faithful.
    pub fn of(trace: &Trace, kind: Kind, place: Place) -> Option<Self> {
        let faithful = trace.human_label.as_ref()?.faithful?;
        let category = trace.metadata.as_ref().and_then(|metadata| metadata.get("category")?.as_str());
        Some(Self {
            trace_id: trace.trace_id.clone(),
            place,
            category: category.map(str::to_owned),
            faithful,
            novelty: overlap::novelty(trace, kind),
            runs: Vec::new(),
        })
    }

    /// Adds what an audit said.
    pub fn add(&mut self, trace: &Trace, record: &Record) {
        let said = match record.standing() {
            Standing::Judged => Said::Judged(
                record.claims.iter().map(|claim| (!claim.is_finding(), claim.confidence)).collect(),
            ),
            _ => Said::Nothing(record.disposition),
        };
        let labelled = trace.human_label.as_ref().and_then(|label| label.claims.as_deref());
        let claims = match said {
            Said::Judged(_) => labelled.map(|labelled| align::pair(labelled, &record.claims)),
            Said::Nothing(_) => None,
        };
        let in_words = match record.findings().next() {
            _ if matches!(said, Said::Nothing(_)) => {
                format!("{}: {}", record.disposition.as_str(), record.why_not_judged())
            }
            Some(claim) => format!("{}: {}", claim.verdict.as_str(), claim.text),
            None => "every claim grounded".to_owned(),
        };
        self.runs.push(Run { said, claims, in_words });
    }

    /// What the first run said: the figures are those of a judge that is asked once.
    pub fn said(&self) -> Option<&Said> {
        self.runs.first().map(|run| &run.said)
    }
}
