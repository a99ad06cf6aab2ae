//! Agreement between two raters, as formulas.
//!
//! Sources: Cohen's kappa, J. Cohen (1960), "A coefficient of agreement for nominal scales"; its large-sample standard
//! error, J. L. Fleiss, J. Cohen, B. S. Everitt (1969), "Large sample standard errors of kappa and weighted kappa";
//! the interval of a share, E. B. Wilson (1927), "Probable inference, the law of succession, and statistical
//! inference"; the area under the ROC curve as the statistic of Mann and Whitney, J. A. Hanley, B. J. McNeil (1982),
//! "The meaning and use of the area under a receiver operating characteristic (ROC) curve".

use serde::Serialize;

/// The 97.5 % point of the normal distribution: two sides make 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A confusion table. Positive means not faithful.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// Not faithful, and found.
    pub true_positive: u64,
    /// Faithful, and flagged.
    pub false_positive: u64,
    /// Not faithful, and passed.
    pub false_negative: u64,
    /// Faithful, and passed.
    pub true_negative: u64,
}

/// A number between two bounds that hold it with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Confusion {
    /// Counts one case.
    pub fn add(&mut self, is_positive: bool, is_flagged: bool) {
        match (is_positive, is_flagged) {
            (true, true) => self.true_positive += 1,
            (false, true) => self.false_positive += 1,
            (true, false) => self.false_negative += 1,
            (false, false) => self.true_negative += 1,
        }
    }

    /// All cases.
    pub const fn total(&self) -> u64 {
        self.true_positive + self.false_positive + self.false_negative + self.true_negative
    }

    /// Share of the flagged cases that are not faithful; none when nothing was flagged.
    pub fn precision(&self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_positive)
    }

    /// Share of the unfaithful cases that were flagged; none without such cases.
    pub fn recall(&self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_negative)
    }

    /// Share of the faithful cases that passed; none without such cases.
    pub fn specificity(&self) -> Option<f64> {
        share(self.true_negative, self.true_negative + self.false_positive)
    }

    /// The harmonic mean of precision and recall; none when there is nothing to find and nothing was flagged.
    pub fn f1(&self) -> Option<f64> {
        share(2 * self.true_positive, 2 * self.true_positive + self.false_positive + self.false_negative)
    }

    /// The mean of recall and specificity; none when one kind of case is missing.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        Some(f64::midpoint(self.recall()?, self.specificity()?))
    }

    /// Share of cases that are right.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.true_positive + self.true_negative, self.total())
    }

    /// Cohen's kappa: agreement beyond chance, 1 at most; none when chance alone explains everything (all cases on
    /// one side for both raters) or there are no cases.
    pub fn kappa(&self) -> Option<f64> {
        let Proportions { agreement, chance, .. } = self.proportions()?;
        (chance < 1.0).then(|| (agreement - chance) / (1.0 - chance))
    }

    /// The 95 % interval of kappa by its large-sample standard error (Fleiss, Cohen, Everitt 1969, formula 13), cut at
    /// -1 and 1. Too narrow for few cases, and of no width where all agree.
    pub fn kappa_interval(&self) -> Option<Interval> {
        let kappa = self.kappa()?;
        let Proportions { cells, rows, columns, chance, .. } = self.proportions()?;
        let rest = 1.0 - kappa;
        let mut diagonal = 0.0;
        let mut beside = 0.0;
        for row in 0..2 {
            for column in 0..2 {
                let cell = cells[row][column];
                if row == column {
                    diagonal += cell * (1.0 - (rows[row] + columns[row]) * rest).powi(2);
                } else {
                    beside += cell * (columns[row] + rows[column]).powi(2);
                }
            }
        }
        let third = (kappa - chance * rest).powi(2);
        let variance =
            (diagonal + rest.powi(2) * beside - third) / (float(self.total()) * (1.0 - chance).powi(2));
        let half = Z * variance.max(0.0).sqrt();
        Some(Interval { low: (kappa - half).max(-1.0), high: (kappa + half).min(1.0) })
    }

    fn proportions(&self) -> Option<Proportions> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let part = |count: u64| float(count) / float(total);
        // Rows: the label (not faithful, faithful); columns: the audit (flagged, passed).
        let cells = [
            [part(self.true_positive), part(self.false_negative)],
            [part(self.false_positive), part(self.true_negative)],
        ];
        let rows = [cells[0][0] + cells[0][1], cells[1][0] + cells[1][1]];
        let columns = [cells[0][0] + cells[1][0], cells[0][1] + cells[1][1]];
        Some(Proportions {
            cells,
            rows,
            columns,
            agreement: cells[0][0] + cells[1][1],
            chance: rows[0] * columns[0] + rows[1] * columns[1],
        })
    }
}

struct Proportions {
    cells: [[f64; 2]; 2],
    rows: [f64; 2],
    columns: [f64; 2],
    agreement: f64,
    chance: f64,
}

/// A share; none of nothing.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

/// Wilson's 95 % interval of a share; none of nothing. It holds for small numbers and for shares near 0 and 1.
pub fn wilson(part: u64, whole: u64) -> Option<Interval> {
    let share = share(part, whole)?;
    let number = float(whole);
    let denominator = 1.0 + Z * Z / number;
    let centre = (share + Z * Z / (2.0 * number)) / denominator;
    let half = Z / denominator * (share * (1.0 - share) / number + Z * Z / (4.0 * number * number)).sqrt();
    // The bounds are exact at the ends, where rounding would leave a speck.
    let low = if part == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if part == whole { 1.0 } else { (centre + half).min(1.0) };
    Some(Interval { low, high })
}

/// The area under the ROC curve: how often a positive case has a higher number than a negative one, ties counting
/// half. 0.5 is chance. None when one side has no cases.
pub fn auc(cases: &[(f64, bool)]) -> Option<f64> {
    let (mut positive, mut negative) = (0_u64, 0_u64);
    let mut sorted: Vec<(f64, bool)> = cases.to_vec();
    sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
    // In units of half a pair, so that ties stay whole numbers.
    let mut halves = 0_u64;
    let mut at = 0;
    while at < sorted.len() {
        let tied = sorted[at..].iter().take_while(|case| case.0.total_cmp(&sorted[at].0).is_eq()).count();
        let group = &sorted[at..at + tied];
        let of_group = u64::try_from(group.iter().filter(|case| case.1).count()).unwrap_or_default();
        let others = u64::try_from(tied).unwrap_or_default() - of_group;
        halves += of_group * (2 * negative + others);
        positive += of_group;
        negative += others;
        at += tied;
    }
    (positive > 0 && negative > 0).then(|| float(halves) / (2.0 * float(positive) * float(negative)))
}

/// The border at which flagging every case with a number **at or above** it gives the best balanced accuracy; of equal
/// ones the lowest. None when one side has no cases.
pub fn best_border(cases: &[(f64, bool)]) -> Option<(f64, Confusion)> {
    let mut borders: Vec<f64> = cases.iter().map(|case| case.0).collect();
    borders.sort_by(f64::total_cmp);
    borders.dedup();
    let mut best: Option<(f64, Confusion, f64)> = None;
    for border in borders {
        let confusion = at_border(cases, border);
        let accuracy = confusion.balanced_accuracy()?;
        if best.is_none_or(|(.., most)| accuracy > most) {
            best = Some((border, confusion, accuracy));
        }
    }
    best.map(|(border, confusion, _)| (border, confusion))
}

/// What flagging every case with a number at or above `border` gives.
pub fn at_border(cases: &[(f64, bool)], border: f64) -> Confusion {
    let mut confusion = Confusion::default();
    for (number, is_positive) in cases {
        confusion.add(*is_positive, *number >= border);
    }
    confusion
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 cases")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(true_positive: u64, false_negative: u64, false_positive: u64, true_negative: u64) -> Confusion {
        Confusion { true_positive, false_positive, false_negative, true_negative }
    }

    fn near(left: Option<f64>, right: f64) {
        assert!((left.unwrap() - right).abs() < 5e-5, "{left:?} is not {right}");
    }

    #[test]
    fn the_textbook_table_gives_the_textbook_figures() {
        // 50 proposals, two readers (Wikipedia, "Cohen's kappa", first example): agreement 0.7, chance 0.5.
        let confusion = table(20, 5, 10, 15);
        near(confusion.kappa(), 0.4);
        near(confusion.precision(), 2.0 / 3.0);
        near(confusion.recall(), 0.8);
        near(confusion.f1(), 40.0 / 55.0);
        near(confusion.balanced_accuracy(), 0.7);
        near(confusion.accuracy(), 0.7);
        let interval = confusion.kappa_interval().unwrap();
        near(Some(interval.low), 0.15109);
        near(Some(interval.high), 0.64891);
    }

    #[test]
    fn wilson_of_a_known_share() {
        // 1 of 20, 0 of 20 and 20 of 20.
        let interval = wilson(1, 20).unwrap();
        near(Some(interval.low), 0.00888);
        near(Some(interval.high), 0.23613);
        assert_eq!(wilson(0, 20).unwrap().low, 0.0);
        assert_eq!(wilson(20, 20).unwrap().high, 1.0);
        assert_eq!(wilson(0, 0), None);
    }

    #[test]
    fn the_area_counts_pairs() {
        assert_eq!(auc(&[(0.9, true), (0.1, false)]), Some(1.0));
        assert_eq!(auc(&[(0.1, true), (0.9, false)]), Some(0.0));
        assert_eq!(auc(&[(0.5, true), (0.5, false)]), Some(0.5));
        // Pairs: (0.8 > 0.3), (0.8 > 0.6), (0.4 > 0.3), (0.4 < 0.6).
        assert_eq!(auc(&[(0.8, true), (0.4, true), (0.3, false), (0.6, false)]), Some(0.75));
        assert_eq!(auc(&[(0.8, true)]), None);
    }

    #[test]
    fn the_best_border_parts_best() {
        let cases = [(0.2, false), (0.3, false), (0.4, true), (0.5, false), (0.9, true)];
        let (border, confusion) = best_border(&cases).unwrap();
        assert_eq!((border, confusion), (0.4, table(2, 0, 1, 2)));
        assert_eq!(best_border(&[(0.1, true)]), None);
    }

    fn tables() -> impl Strategy<Value = Confusion> {
        (0..60_u64, 0..60_u64, 0..60_u64, 0..60_u64).prop_map(|(a, b, c, d)| table(a, b, c, d))
    }

    proptest! {
        #[test]
        fn every_figure_stays_in_its_range(confusion in tables()) {
            let shares = [confusion.precision(), confusion.recall(), confusion.f1(), confusion.balanced_accuracy()];
            prop_assert!(shares.into_iter().flatten().all(|share| (0.0..=1.0).contains(&share)));
            if let (Some(kappa), Some(interval)) = (confusion.kappa(), confusion.kappa_interval()) {
                prop_assert!((-1.0..=1.0).contains(&kappa));
                prop_assert!(interval.low <= kappa + 1e-9 && kappa <= interval.high + 1e-9);
            }
        }

        #[test]
        fn kappa_knows_no_first_and_second_rater(confusion in tables()) {
            let turned = Confusion {
                false_positive: confusion.false_negative,
                false_negative: confusion.false_positive,
                ..confusion
            };
            match (confusion.kappa(), turned.kappa()) {
                (Some(one), Some(other)) => prop_assert!((one - other).abs() < 1e-9),
                (one, other) => prop_assert_eq!(one, other),
            }
        }

        #[test]
        fn a_wilson_interval_holds_the_share(whole in 1..5000_u64, part in 0..5000_u64) {
            let part = part.min(whole);
            let interval = wilson(part, whole).unwrap();
            let share = share(part, whole).unwrap();
            prop_assert!(0.0 <= interval.low && interval.low <= share + 1e-12);
            prop_assert!(share <= interval.high + 1e-12 && interval.high <= 1.0);
        }

        #[test]
        fn the_area_is_what_counting_all_pairs_gives(
            cases in proptest::collection::vec((0..8_u8, any::<bool>()), 2..40),
        ) {
            let cases: Vec<(f64, bool)> =
                cases.into_iter().map(|(number, positive)| (f64::from(number), positive)).collect();
            let mut pairs = 0.0;
            let mut sum = 0.0;
            for (high, _) in cases.iter().filter(|case| case.1) {
                for (low, _) in cases.iter().filter(|case| !case.1) {
                    pairs += 1.0;
                    sum += if high > low { 1.0 } else if high < low { 0.0 } else { 0.5 };
                }
            }
            match auc(&cases) {
                Some(area) => prop_assert!((area - sum / pairs).abs() < 1e-9),
                None => prop_assert_eq!(pairs, 0.0),
            }
        }
    }
}
