//! Thresholds: conditions under which a run fails.
//!
//! `contradicted>0` is about each answer by itself, `total.contradicted>5` about the sum over a run and
//! `mean.faithfulness<0.9` about its mean. A threshold says what is *not* wanted. Means leave out what a rule decided.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::baseline::Baseline;
use crate::condition::{self, Comparison, ConditionError};
use crate::measures::{Measures, Metric};
use crate::record::Record;

/// A threshold that is right, for messages.
const EXAMPLE: &str = "contradicted>0";

/// What a threshold is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every audit by itself.
    Each,
    /// The sum over the run.
    Total,
    /// The mean over the run.
    Mean,
}

impl Scope {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Each => "",
            Self::Total => "total.",
            Self::Mean => "mean.",
        }
    }
}

/// A condition under which a run fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// What it is about.
    pub scope: Scope,
    /// Which number is looked at.
    pub metric: Metric,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub value: f64,
}

impl Threshold {
    /// Whether a number is not wanted.
    pub fn is_missed_by(&self, number: f64) -> bool {
        self.comparison.holds(number, self.value)
    }

    fn is_worse(&self, now: f64, before: f64) -> bool {
        !self.is_missed_by(before) || self.comparison.exceeds(now, before)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}{}{}", self.scope.prefix(), self.metric.as_str(), self.comparison, self.value)
    }
}

impl std::str::FromStr for Threshold {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let condition = condition::parse(text, EXAMPLE)?;
        let (scope, word) = [Scope::Total, Scope::Mean]
            .into_iter()
            .find_map(|scope| Some((scope, condition.name.strip_prefix(scope.prefix())?)))
            .unwrap_or((Scope::Each, condition.name));
        let metric = Metric::parse(word)
            .filter(|metric| scope != Scope::Total || metric.is_count())
            .ok_or_else(|| unknown(text, condition.name))?;
        Ok(Self { scope, metric, comparison: condition.comparison, value: condition.value })
    }
}

fn unknown(text: &str, name: &str) -> ConditionError {
    let words = |keep: fn(Metric) -> bool| {
        let kept = Metric::ALL.into_iter().filter(|metric| keep(*metric));
        kept.map(Metric::as_str).collect::<Vec<_>>().join(", ")
    };
    ConditionError::UnknownName {
        text: text.to_owned(),
        name: name.to_owned(),
        allowed: format!(
            "of each answer {}; of the whole run total. before {}, or mean. before any of them",
            words(|_| true),
            words(Metric::is_count)
        ),
    }
}

/// Whose audits a threshold holds for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projects {
    /// Everybody's.
    All,
    /// Those of one project.
    Only(String),
    /// Those of every project but these, which have thresholds of their own; each project by itself.
    EachBut(Vec<String>),
}

/// A threshold and the audits it holds for.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The threshold.
    pub threshold: Threshold,
    /// Whose audits it holds for.
    pub projects: Projects,
    /// Whether a run to which it does not apply at all cannot be trusted: somebody asked for it by name.
    pub must_apply: bool,
}

impl Rule {
    fn holds_for(&self, project: &str) -> bool {
        match &self.projects {
            Projects::All => true,
            Projects::Only(own) => own == project,
            Projects::EachBut(others) => !others.iter().any(|other| other == project),
        }
    }

    /// Whose sum or mean an audit of this project goes into.
    fn account(&self, project: &str) -> Option<String> {
        let is_apart = matches!(self.projects, Projects::EachBut(_)) && self.threshold.scope != Scope::Each;
        is_apart.then(|| project.to_owned())
    }
}

/// A threshold that was missed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missed {
    /// The threshold as it is written.
    pub threshold: String,
    /// The number that missed it.
    pub value: f64,
    /// Whether the earlier run missed it at least as far, so that it fails nothing now.
    pub known: bool,
}

/// How a threshold stands at the end of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The threshold as it is written.
    pub threshold: String,
    /// The project it holds for; none for all.
    pub project: Option<String>,
    /// Audits that have the number.
    pub looked_at: u64,
    /// Whether there are none, although the threshold was asked for by name.
    pub idle: bool,
    /// How often it was missed: audits, or 0 or 1 for a total and a mean.
    pub missed: u64,
    /// Those of them that the earlier run missed as well.
    pub known: u64,
    /// The sum or the mean; none for what is about each audit.
    pub value: Option<f64>,
}

impl Verdict {
    /// Whether it fails the run.
    pub const fn fails(&self) -> bool {
        self.missed > self.known
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    looked_at: u64,
    in_mean: u64,
    sum: f64,
    sum_in_mean: f64,
    missed: u64,
    known: u64,
}

impl Sum {
    fn add(&mut self, number: f64, by_rule: bool) {
        self.looked_at += 1;
        self.sum += number;
        if !by_rule {
            self.in_mean += 1;
            self.sum_in_mean += number;
        }
    }

    fn value(&self, scope: Scope) -> Option<f64> {
        match scope {
            Scope::Each => None,
            Scope::Total => (self.looked_at > 0).then_some(self.sum),
            #[expect(clippy::cast_precision_loss, reason = "a file has fewer than 2^52 audits")]
            Scope::Mean => (self.in_mean > 0).then(|| self.sum_in_mean / self.in_mean as f64),
        }
    }
}

/// Thresholds, held against one audit after another.
#[derive(Debug)]
pub struct Watch {
    /// Each with its sums: one for all its projects, or one for each.
    rules: Vec<(Rule, BTreeMap<Option<String>, Sum>)>,
    baseline: Option<Baseline>,
}

impl Watch {
    /// Watches these thresholds; with an earlier run, what that run missed as far is known.
    pub fn new(rules: Vec<Rule>, baseline: Option<Baseline>) -> Self {
        Self { rules: rules.into_iter().map(|rule| (rule, BTreeMap::new())).collect(), baseline }
    }

    /// Whether there is nothing to watch.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The earlier run.
    pub fn baseline(&self) -> Option<&Baseline> {
        self.baseline.as_ref()
    }

    /// Looks at an ended audit. Gives the thresholds on single audits that it misses.
    pub fn see(&mut self, record: &Record) -> Vec<Missed> {
        let Some(measures) = Measures::of(record) else { return Vec::new() };
        let before = self.baseline.as_ref().and_then(|baseline| baseline.measures(record));
        let mut missed = Vec::new();
        for (rule, sums) in self.rules.iter_mut().filter(|(rule, _)| rule.holds_for(&record.project)) {
            let threshold = &rule.threshold;
            let Some(number) = measures.get(threshold.metric) else { continue };
            let sum = sums.entry(rule.account(&record.project)).or_default();
            sum.add(number, measures.by_rule);
            if threshold.scope == Scope::Each && threshold.is_missed_by(number) {
                let before = before.and_then(|before| before.get(threshold.metric));
                let known = before.is_some_and(|before| !threshold.is_worse(number, before));
                sum.missed += 1;
                sum.known += u64::from(known);
                missed.push(Missed { threshold: threshold.to_string(), value: number, known });
            }
        }
        missed
    }

    /// How each threshold stands now.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let of_rule = |(rule, sums): &(Rule, BTreeMap<Option<String>, Sum>)| -> Vec<Verdict> {
            if sums.is_empty() {
                return vec![self.verdict(rule, None, &Sum::default())];
            }
            sums.iter().map(|(project, sum)| self.verdict(rule, project.as_deref(), sum)).collect()
        };
        self.rules.iter().flat_map(of_rule).collect()
    }

    fn verdict(&self, rule: &Rule, account: Option<&str>, sum: &Sum) -> Verdict {
        let threshold = &rule.threshold;
        let value = sum.value(threshold.scope);
        let looked_at = if threshold.scope == Scope::Mean { sum.in_mean } else { sum.looked_at };
        let (missed, known) = match value {
            None => (sum.missed, sum.known),
            Some(value) if threshold.is_missed_by(value) => {
                let before = self.baseline.as_ref().and_then(|baseline| before(baseline, rule, account));
                let known = before.is_some_and(|before| !threshold.is_worse(value, before));
                (1, u64::from(known))
            }
            Some(_) => (0, 0),
        };
        let project = match &rule.projects {
            Projects::Only(project) => Some(project.clone()),
            Projects::All | Projects::EachBut(_) => account.map(str::to_owned),
        };
        let idle = rule.must_apply && looked_at == 0;
        Verdict { threshold: threshold.to_string(), project, looked_at, idle, missed, known, value }
    }
}

/// The sum or mean of the earlier run.
fn before(baseline: &Baseline, rule: &Rule, account: Option<&str>) -> Option<f64> {
    let mut sum = Sum::default();
    let is_meant =
        |project: &str| rule.holds_for(project) && account.is_none_or(|account| account == project);
    for (_, measures) in baseline.iter().filter(|(project, _)| is_meant(project)) {
        if let Some(number) = measures.get(rule.threshold.metric) {
            sum.add(number, measures.by_rule);
        }
    }
    sum.value(rule.threshold.scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(text: &str) -> Threshold {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_threshold_is_written_as_it_is_read() {
        for text in [
            "contradicted>0",
            "unsupported>2",
            "faithfulness<0.8",
            "total.findings>=5",
            "mean.groundedness<90",
        ] {
            assert_eq!(threshold(text).to_string(), text);
        }
        assert_eq!(threshold("total.critical > 0").scope, Scope::Total);
    }

    #[test]
    fn an_unknown_number_is_met_with_those_that_are_known() {
        for text in ["faithfullness<0.8", "total.faithfulness<0.8", "max.claims>1", ">1"] {
            let error = text.parse::<Threshold>().unwrap_err().to_string();
            assert!(error.contains("allowed are of each answer contradicted, unsupported,"), "{error}");
        }
    }

    #[test]
    fn what_the_earlier_run_missed_as_far_is_known() {
        let low = threshold("faithfulness<0.8");
        assert!(!low.is_worse(0.6, 0.6) && !low.is_worse(0.7, 0.6), "as bad or better");
        assert!(low.is_worse(0.5, 0.6) && low.is_worse(0.7, 0.9), "worse, or missed only now");
        let high = threshold("unsupported>2");
        assert!(!high.is_worse(3.0, 4.0) && high.is_worse(5.0, 4.0) && high.is_worse(3.0, 2.0));
    }
}
