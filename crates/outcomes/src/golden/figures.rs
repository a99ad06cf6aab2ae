//! All figures of a golden run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case::{Case, Said};
use super::statistics::{self, Confusion, Interval};

/// What a golden run may get wrong, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Of the reworded and faithful answers that were flagged.
    pub paraphrase_missed: f64,
    /// Of the made-up answers that passed.
    pub fabrication_passed: f64,
}

impl Default for Limits {
    /// The limits of docs/audits.md, G-20.
    fn default() -> Self {
        Self { paraphrase_missed: 0.05, fabrication_passed: 0.02 }
    }
}

/// A confusion table and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Agreement {
    /// The table.
    pub confusion: Confusion,
    /// See [`Confusion::precision`]; and so on.
    pub precision: Option<f64>,
    /// See [`Confusion::recall`].
    pub recall: Option<f64>,
    /// See [`Confusion::f1`].
    pub f1: Option<f64>,
    /// See [`Confusion::balanced_accuracy`].
    pub balanced_accuracy: Option<f64>,
    /// See [`Confusion::accuracy`].
    pub accuracy: Option<f64>,
    /// See [`Confusion::kappa`].
    pub kappa: Option<f64>,
    /// See [`Confusion::kappa_interval`].
    pub kappa_interval: Option<Interval>,
}

impl From<Confusion> for Agreement {
    fn from(confusion: Confusion) -> Self {
        Self {
            confusion,
            precision: confusion.precision(),
            recall: confusion.recall(),
            f1: confusion.f1(),
            balanced_accuracy: confusion.balanced_accuracy(),
            accuracy: confusion.accuracy(),
            kappa: confusion.kappa(),
            kappa_interval: confusion.kappa_interval(),
        }
    }
}

/// A share that has a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// How many went wrong; what was not judged is among them.
    pub part: u64,
    /// Of how many.
    pub whole: u64,
    /// The share; none of nothing.
    pub share: Option<f64>,
    /// Its 95 % interval (Wilson).
    pub interval: Option<Interval>,
    /// The limit.
    pub limit: f64,
    /// Whether these are the cases of a category, or, where the file names none, all cases of that label.
    pub by_category: bool,
}

impl Rate {
    fn of<'a>(cases: impl Iterator<Item = &'a Case>, limit: f64, by_category: bool) -> Self {
        let (mut part, mut whole) = (0, 0);
        for case in cases {
            whole += 1;
            part += u64::from(!is_right(case));
        }
        let (share, interval) = (statistics::share(part, whole), statistics::wilson(part, whole));
        Self { part, whole, share, interval, limit, by_category }
    }

    /// Whether the limit is kept; nothing keeps it when there is nothing to look at.
    pub fn is_kept(&self) -> bool {
        self.share.is_some_and(|share| share <= self.limit)
    }
}

/// How far several runs of the same cases agree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stability {
    /// Runs of each case.
    pub runs: u64,
    /// Cases with at least two judged runs.
    pub cases: u64,
    /// Share of them in which all judged runs say the same; none when there are none.
    pub unanimous: Option<f64>,
    /// Mean share of a case's judged runs that give its rarer verdict: 0 to 0.5.
    pub mean_flip_rate: Option<f64>,
}

/// What comparing words alone would have found on the same cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Overlap {
    /// Cases whose answer has words.
    pub cases: u64,
    /// Area under the ROC curve; 0.5 is chance.
    pub auc: Option<f64>,
    /// The border with the best balanced accuracy on these very cases, so the figures flatter the baseline: answers
    /// with at least this share of words that the evidence lacks are flagged.
    pub border: Option<f64>,
    /// What that border gives.
    pub best: Option<Agreement>,
}

/// The cases of one category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Category {
    /// How many.
    pub cases: u64,
    /// Those that are right.
    pub right: u64,
    /// Those that could not be judged.
    pub not_judged: u64,
}

/// Single claims, where labels name them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Claims {
    /// Labels against verdicts.
    pub agreement: Agreement,
    /// Labelled claims that no claim of the judge answers to; they stand among the wrong ones.
    pub unmatched: u64,
}

/// A case that went wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wrong {
    /// The producer's trace id.
    pub trace_id: String,
    /// File and line.
    pub place: String,
    /// Its category.
    pub category: Option<String>,
    /// The label.
    pub faithful: bool,
    /// Whether it was judged.
    pub judged: bool,
    /// What the audit said.
    pub said: String,
}

/// All figures of a golden run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Labelled cases.
    pub cases: u64,
    /// Those that were judged.
    pub judged: u64,
    /// Their share.
    pub coverage: Option<f64>,
    /// All cases, what was not judged among the wrong ones. These are the figures that count.
    pub all: Agreement,
    /// The judged ones alone.
    pub judged_only: Agreement,
    /// Area under the ROC curve of the share of claims that are not grounded, judged cases only.
    pub auc: Option<f64>,
    /// Reworded and faithful answers that did not pass.
    pub paraphrase_missed: Rate,
    /// Made-up answers that were not flagged.
    pub fabrication_passed: Rate,
    /// How far several runs agree; none for a single one.
    pub stability: Option<Stability>,
    /// The baseline.
    pub overlap: Overlap,
    /// Single claims; none when no label names any.
    pub claims: Option<Claims>,
    /// By category.
    pub categories: BTreeMap<String, Category>,
    /// What went wrong.
    pub wrong: Vec<Wrong>,
}

impl Figures {
    /// The figures of these cases.
    pub fn of(cases: &[Case], limits: Limits) -> Self {
        let judged = cases.iter().filter(|case| flagged(case).is_some()).count();
        let (total, judged) = (to_u64(cases.len()), to_u64(judged));
        let scores: Vec<(f64, bool)> =
            cases.iter().filter_map(|case| Some((ungrounded_share(case.said()?)?, !case.faithful))).collect();
        Self {
            cases: total,
            judged,
            coverage: statistics::share(judged, total),
            all: confusion(cases.iter()).into(),
            judged_only: confusion(cases.iter().filter(|case| flagged(case).is_some())).into(),
            auc: statistics::auc(&scores),
            paraphrase_missed: rate(cases, true, is_paraphrase, limits.paraphrase_missed),
            fabrication_passed: rate(cases, false, is_fabrication, limits.fabrication_passed),
            stability: stability(cases),
            overlap: overlap(cases),
            claims: claims(cases),
            categories: categories(cases),
            wrong: cases.iter().filter(|case| !is_right(case)).map(wrong).collect(),
        }
    }
}

fn flagged(case: &Case) -> Option<bool> {
    case.said().and_then(Said::flags)
}

/// Whether the first run says what the label says. What was not judged is not right.
fn is_right(case: &Case) -> bool {
    flagged(case) == Some(!case.faithful)
}

fn confusion<'a>(cases: impl Iterator<Item = &'a Case>) -> Confusion {
    let mut confusion = Confusion::default();
    for case in cases {
        // What was not judged is wrong: not found where there was something, flagged where there was nothing.
        confusion.add(!case.faithful, flagged(case).unwrap_or(case.faithful));
    }
    confusion
}

fn is_paraphrase(category: &str) -> bool {
    category == "paraphrased"
}

fn is_fabrication(category: &str) -> bool {
    category.starts_with("fabricated")
}

fn rate(cases: &[Case], faithful: bool, is_meant: fn(&str) -> bool, limit: f64) -> Rate {
    let of_label = || cases.iter().filter(move |case| case.faithful == faithful);
    let of_category = || of_label().filter(move |case| case.category.as_deref().is_some_and(is_meant));
    let by_category = of_category().next().is_some();
    if by_category { Rate::of(of_category(), limit, true) } else { Rate::of(of_label(), limit, false) }
}

/// Share of the claims that are not grounded; 0 without claims, none without verdict.
pub(super) fn ungrounded_share(said: &Said) -> Option<f64> {
    let Said::Judged(claims) = said else { return None };
    let ungrounded = to_u64(claims.iter().filter(|(grounded, _)| !grounded).count());
    Some(statistics::share(ungrounded, to_u64(claims.len())).unwrap_or_default())
}

fn stability(cases: &[Case]) -> Option<Stability> {
    let runs = cases.iter().map(|case| case.runs.len()).max().filter(|runs| *runs > 1)?;
    let (mut several, mut unanimous, mut flips) = (0, 0, 0.0);
    for case in cases {
        let said: Vec<bool> = case.runs.iter().filter_map(|run| run.said.flags()).collect();
        if said.len() < 2 {
            continue;
        }
        let flagged = said.iter().filter(|flagged| **flagged).count();
        let rarer = flagged.min(said.len() - flagged);
        several += 1;
        unanimous += u64::from(rarer == 0);
        flips += statistics::share(to_u64(rarer), to_u64(said.len())).unwrap_or_default();
    }
    Some(Stability {
        runs: to_u64(runs),
        cases: several,
        unanimous: statistics::share(unanimous, several),
        mean_flip_rate: (several > 0).then(|| flips / statistics::float(several)),
    })
}

fn overlap(cases: &[Case]) -> Overlap {
    let numbers: Vec<(f64, bool)> =
        cases.iter().filter_map(|case| Some((case.novelty?, !case.faithful))).collect();
    let best = statistics::best_border(&numbers);
    Overlap {
        cases: to_u64(numbers.len()),
        auc: statistics::auc(&numbers),
        border: best.map(|(border, _)| border),
        best: best.map(|(_, confusion)| confusion.into()),
    }
}

fn claims(cases: &[Case]) -> Option<Claims> {
    let mut sum = Confusion::default();
    let mut unmatched = 0;
    for paired in cases.iter().filter_map(|case| case.runs.first()?.claims) {
        sum.true_positive += paired.confusion.true_positive;
        sum.false_positive += paired.confusion.false_positive;
        sum.false_negative += paired.confusion.false_negative;
        sum.true_negative += paired.confusion.true_negative;
        unmatched += paired.unmatched;
    }
    (sum.total() > 0).then(|| Claims { agreement: sum.into(), unmatched })
}

fn categories(cases: &[Case]) -> BTreeMap<String, Category> {
    let mut categories: BTreeMap<String, Category> = BTreeMap::new();
    for case in cases {
        let name = case.category.clone().unwrap_or_else(|| "(none)".to_owned());
        let category = categories.entry(name).or_default();
        category.cases += 1;
        category.right += u64::from(is_right(case));
        category.not_judged += u64::from(flagged(case).is_none());
    }
    categories
}

fn wrong(case: &Case) -> Wrong {
    Wrong {
        trace_id: case.trace_id.clone(),
        place: format!("{}:{}", case.place.file, case.place.line),
        category: case.category.clone(),
        faithful: case.faithful,
        judged: flagged(case).is_some(),
        said: case.runs.first().map(|run| run.in_words.clone()).unwrap_or_default(),
    }
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use audit::routing::Disposition;
    use proptest::prelude::*;

    use super::super::case::Run;
    use super::*;
    use crate::record::Place;

    fn run(said: Said) -> Run {
        Run { said, claims: None, in_words: String::new() }
    }

    fn case(faithful: bool, category: &str, runs: &[Option<bool>]) -> Case {
        let said = |flags: &Option<bool>| match flags {
            Some(flags) => Said::Judged(vec![(true, None), (!flags, None)]),
            None => Said::Nothing(Disposition::Unreadable),
        };
        Case {
            trace_id: "t".to_owned(),
            place: Place::default(),
            category: Some(category.to_owned()),
            faithful,
            novelty: Some(if faithful { 0.2 } else { 0.3 }),
            runs: runs.iter().map(|flags| run(said(flags))).collect(),
        }
    }

    #[test]
    fn what_could_not_be_judged_is_never_right() {
        let cases = [
            case(true, "grounded", &[Some(false)]),
            case(false, "fabricated_number", &[Some(true)]),
            case(true, "paraphrased", &[None]),
            case(false, "fabricated_name", &[None]),
        ];
        let figures = Figures::of(&cases, Limits::default());
        assert_eq!((figures.cases, figures.judged, figures.coverage), (4, 2, Some(0.5)));
        assert_eq!(figures.all.accuracy, Some(0.5));
        assert_eq!(figures.judged_only.accuracy, Some(1.0));
        assert_eq!((figures.paraphrase_missed.part, figures.paraphrase_missed.whole), (1, 1));
        assert_eq!((figures.fabrication_passed.part, figures.fabrication_passed.whole), (1, 2));
        assert!(!figures.paraphrase_missed.is_kept() && figures.paraphrase_missed.by_category);
        assert_eq!(figures.wrong.len(), 2);
        assert_eq!(figures.categories["paraphrased"], Category { cases: 1, right: 0, not_judged: 1 });
        assert_eq!(figures.overlap.auc, Some(1.0));
    }

    #[test]
    fn without_categories_the_rates_are_those_of_the_labels() {
        let cases = [case(true, "x", &[Some(true)]), case(false, "y", &[Some(false)])];
        let figures = Figures::of(&cases, Limits { paraphrase_missed: 1.0, fabrication_passed: 0.5 });
        assert!(!figures.paraphrase_missed.by_category && figures.paraphrase_missed.is_kept());
        assert!(!figures.fabrication_passed.is_kept());
        assert!(!Figures::of(&[], Limits::default()).fabrication_passed.is_kept(), "nothing keeps no limit");
    }

    #[test]
    fn runs_that_disagree_are_not_stable() {
        let cases = [
            case(true, "x", &[Some(false), Some(false), Some(true)]),
            case(true, "x", &[Some(false), Some(false), Some(false)]),
            case(true, "x", &[Some(false), None, None]),
        ];
        let stability = Figures::of(&cases, Limits::default()).stability.unwrap();
        assert_eq!((stability.runs, stability.cases, stability.unanimous), (3, 2, Some(0.5)));
        assert!((stability.mean_flip_rate.unwrap() - 1.0 / 6.0).abs() < 1e-9);
        assert_eq!(Figures::of(&cases[..0], Limits::default()).stability, None);
    }

    proptest! {
        #[test]
        fn every_case_is_right_or_among_the_wrong(
            cases in proptest::collection::vec((any::<bool>(), proptest::option::of(any::<bool>())), 0..40),
        ) {
            let cases: Vec<Case> =
                cases.into_iter().map(|(faithful, flags)| case(faithful, "x", &[flags])).collect();
            let figures = Figures::of(&cases, Limits::default());
            let right = figures.all.confusion.true_positive + figures.all.confusion.true_negative;
            prop_assert_eq!(right + u64::try_from(figures.wrong.len()).unwrap(), figures.cases);
            prop_assert_eq!(figures.all.confusion.total(), figures.cases);
            prop_assert_eq!(figures.judged_only.confusion.total(), figures.judged);
            prop_assert!(figures.all.accuracy <= figures.judged_only.accuracy.or(figures.all.accuracy));
        }
    }
}
