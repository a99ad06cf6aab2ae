//! What a golden run must reach: `kappa>=0.6`.

use std::fmt;

use serde::Serialize;

use super::figures::Figures;
use crate::condition::{self, Comparison, ConditionError};

/// A requirement that is right, for messages.
const EXAMPLE: &str = "kappa>=0.6";

/// Reads one figure.
type Reader = fn(&Figures) -> Option<f64>;

/// Every figure that can be required.
const NAMES: [(&str, Reader); 14] = [
    ("kappa", |figures| figures.all.kappa),
    ("kappa_low", |figures| Some(figures.all.kappa_interval?.low)),
    ("precision", |figures| figures.all.precision),
    ("recall", |figures| figures.all.recall),
    ("f1", |figures| figures.all.f1),
    ("balanced_accuracy", |figures| figures.all.balanced_accuracy),
    ("accuracy", |figures| figures.all.accuracy),
    ("auc", |figures| figures.auc),
    ("coverage", |figures| figures.coverage),
    ("paraphrase_missed", |figures| figures.paraphrase_missed.share),
    ("fabrication_passed", |figures| figures.fabrication_passed.share),
    ("stability", |figures| figures.stability?.unanimous),
    ("claim_kappa", |figures| figures.claims?.agreement.kappa),
    ("overlap_auc", |figures| figures.overlap.auc),
];

/// A condition that must hold.
#[derive(Debug, Clone, Copy)]
pub struct Requirement {
    name: &'static str,
    reader: Reader,
    comparison: Comparison,
    value: f64,
}

/// How a requirement stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// The requirement as it is written.
    pub requirement: String,
    /// The figure; none where the run has none, which meets no requirement.
    pub value: Option<f64>,
    /// Whether it is met.
    pub met: bool,
}

impl Requirement {
    /// Holds it against the figures.
    pub fn check(&self, figures: &Figures) -> Checked {
        let value = (self.reader)(figures);
        let met = value.is_some_and(|value| self.comparison.holds(value, self.value));
        Checked { requirement: self.to_string(), value, met }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}{}", self.name, self.comparison, self.value)
    }
}

impl std::str::FromStr for Requirement {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let condition = condition::parse(text, EXAMPLE)?;
        let found = NAMES.into_iter().find(|(name, _)| *name == condition.name);
        let (name, reader) = found.ok_or_else(|| ConditionError::UnknownName {
            text: text.to_owned(),
            name: condition.name.to_owned(),
            allowed: NAMES.map(|(name, _)| name).join(", "),
        })?;
        Ok(Self { name, reader, comparison: condition.comparison, value: condition.value })
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Limits;
    use super::*;

    #[test]
    fn a_figure_that_is_not_there_meets_nothing() {
        let nothing = Figures::of(&[], Limits::default());
        for requirement in ["kappa>=-1", "stability<=1", "coverage>=0"] {
            let checked = requirement.parse::<Requirement>().unwrap().check(&nothing);
            assert!(!checked.met && checked.value.is_none(), "{requirement}");
        }
    }

    #[test]
    fn an_unknown_figure_is_met_with_those_that_are_known() {
        let error = "cappa>=0.6".parse::<Requirement>().unwrap_err().to_string();
        assert!(
            error.starts_with("`cappa>=0.6`: there is no `cappa`; allowed are kappa, kappa_low,"),
            "{error}"
        );
    }
}
