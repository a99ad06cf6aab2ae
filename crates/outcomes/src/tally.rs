//! What the audits of a run add up to.

use std::collections::BTreeMap;

use audit::routing::Disposition;
use serde::Serialize;
use trace::Kind;

use crate::baseline::Change;
use crate::record::{Cost, Record, Standing};

/// A mean, and how much it covers: a mean alone hides what was not judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Mean {
    /// Audits that it covers.
    pub scored: u64,
    /// Audits whose score a rule fixed; left out.
    pub by_rule: u64,
    /// Audits of the kind without a score; left out.
    pub not_scored: u64,
    /// The mean; none when it would cover nothing.
    pub mean: Option<f64>,
}

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Ended audits.
    pub audits: u64,
    /// How many ended how; what did not occur is left out.
    pub dispositions: BTreeMap<Disposition, u64>,
    /// How many stand how for whoever waits.
    pub standings: BTreeMap<Standing, u64>,
    /// Claims by verdict.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Facts that answers left out.
    pub omissions: u64,
    /// Scores by kind.
    pub scores: BTreeMap<Kind, Mean>,
    /// Audits that have an earlier one, by how they have changed; empty without an earlier run.
    pub changes: BTreeMap<Change, u64>,
    /// Audits that disagree with a person's label.
    pub disagreements: u64,
    /// What the calls cost.
    pub cost: Cost,
    /// Audits that the practice judge decided.
    pub practice: u64,
    /// Audits without a golden run on record.
    pub uncalibrated: u64,
    /// Audits taken over from an earlier start of this run.
    pub resumed: u64,
}

impl Tally {
    /// Counts one audit.
    pub fn add(&mut self, record: &Record, change: Option<Change>) {
        self.audits += 1;
        *self.dispositions.entry(record.disposition).or_default() += 1;
        *self.standings.entry(record.standing()).or_default() += 1;
        for claim in &record.claims {
            *self.verdicts.entry(claim.verdict.as_str()).or_default() += 1;
        }
        self.omissions += u64::try_from(record.omissions.len()).unwrap_or(u64::MAX);
        if let Some(change) = change {
            *self.changes.entry(change).or_default() += 1;
        }
        self.disagreements += u64::from(record.human_agreement == Some(false));
        self.cost.add(&record.cost);
        self.practice += u64::from(record.practice);
        self.uncalibrated += u64::from(record.uncalibrated);
        // A comparison with reference documents yields counts and no score.
        if record.kind != Kind::Reference {
            self.scores.entry(record.kind).or_default().add(record);
        }
    }

    /// How many audits stand so.
    pub fn standing(&self, standing: Standing) -> u64 {
        self.standings.get(&standing).copied().unwrap_or_default()
    }

    /// How many audits have changed so.
    pub fn change(&self, change: Change) -> u64 {
        self.changes.get(&change).copied().unwrap_or_default()
    }

    /// How many claims have this verdict.
    pub fn verdict(&self, verdict: audit::Verdict) -> u64 {
        self.verdicts.get(verdict.as_str()).copied().unwrap_or_default()
    }
}

impl Mean {
    fn add(&mut self, record: &Record) {
        match record.score {
            Some(_) if record.by_rule => self.by_rule += 1,
            Some(score) => {
                self.scored += 1;
                let mean = self.mean.unwrap_or_default();
                #[expect(clippy::cast_precision_loss, reason = "a file has fewer than 2^52 audits")]
                let share = 1.0 / self.scored as f64;
                self.mean = Some(mean + (score - mean) * share);
            }
            None => self.not_scored += 1,
        }
    }
}
