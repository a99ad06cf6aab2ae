//! Looking for the settings that meet a wanted precision.
//!
//! Two things can be set without asking the judge again: from which confidence on a finding counts, and which share of
//! an answer's claims must be such findings before the answer is flagged.

use audit::Confidence;
use serde::Serialize;

use super::case::{Case, Said};
use super::figures::Agreement;
use super::statistics::{self, Confusion};

/// One setting and what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Findings of a lower confidence do not count; none where all count.
    pub confidence: Option<Confidence>,
    /// Answers with at least this share of counted findings are flagged, 0 to 1; 0 is any finding at all.
    pub share: f64,
    /// What that gives. What was not judged stands among the wrong ones.
    pub agreement: Agreement,
}

/// Every setting that makes a difference, by falling recall.
pub fn points(cases: &[Case]) -> Vec<Point> {
    let asks_confidence = cases.iter().filter_map(Case::said).any(|said| match said {
        Said::Judged(claims) => claims.iter().any(|(_, confidence)| confidence.is_some()),
        Said::Nothing(_) => false,
    });
    let mut floors = vec![None];
    if asks_confidence {
        floors.extend([Some(Confidence::Medium), Some(Confidence::High)]);
    }
    let mut points: Vec<Point> = Vec::new();
    for floor in floors {
        let shares: Vec<Option<f64>> =
            cases.iter().map(|case| case.said().and_then(|said| counted_share(said, floor))).collect();
        let mut borders: Vec<f64> = shares.iter().flatten().copied().filter(|share| *share > 0.0).collect();
        borders.sort_by(f64::total_cmp);
        borders.dedup();
        for (at, border) in borders.iter().enumerate() {
            let confusion = confusion(cases, &shares, *border);
            // The lowest border is "any finding at all".
            let share = if at == 0 { 0.0 } else { *border };
            let point = Point { confidence: floor, share, agreement: confusion.into() };
            if points.iter().all(|known| known.agreement.confusion != confusion) {
                points.push(point);
            }
        }
    }
    points.sort_by(|one, other| {
        let recall = |point: &Point| point.agreement.recall.unwrap_or_default();
        recall(other).total_cmp(&recall(one))
    });
    points
}

/// The setting with the highest recall among those that reach a precision; of equal ones the most precise.
pub fn for_precision(points: &[Point], precision: f64) -> Option<Point> {
    let reached =
        points.iter().filter(|point| point.agreement.precision.is_some_and(|found| found >= precision));
    reached.copied().max_by(|one, other| {
        let rank =
            |point: &Point| (point.agreement.recall.unwrap_or(0.0), point.agreement.precision.unwrap_or(0.0));
        let (one, other) = (rank(one), rank(other));
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
    })
}

fn counted_share(said: &Said, floor: Option<Confidence>) -> Option<f64> {
    let Said::Judged(claims) = said else { return None };
    let counts = |claim: &&(bool, Option<Confidence>)| {
        !claim.0 && floor.is_none_or(|floor| claim.1.is_none_or(|confidence| confidence >= floor))
    };
    let counted = u64::try_from(claims.iter().filter(counts).count()).unwrap_or(u64::MAX);
    let all = u64::try_from(claims.len()).unwrap_or(u64::MAX);
    Some(statistics::share(counted, all).unwrap_or_default())
}

fn confusion(cases: &[Case], shares: &[Option<f64>], border: f64) -> Confusion {
    let mut confusion = Confusion::default();
    for (case, share) in cases.iter().zip(shares) {
        confusion.add(!case.faithful, share.map_or(case.faithful, |share| share >= border));
    }
    confusion
}

#[cfg(test)]
mod tests {
    use super::super::case::Run;
    use super::*;
    use crate::record::Place;

    fn case(faithful: bool, claims: &[(bool, Option<Confidence>)]) -> Case {
        let said = Said::Judged(claims.to_vec());
        Case {
            trace_id: String::new(),
            place: Place::default(),
            category: None,
            faithful,
            novelty: None,
            runs: vec![Run { said, claims: None, in_words: String::new() }],
        }
    }

    #[test]
    fn leaving_out_unsure_findings_buys_precision() {
        let (low, high) = (Some(Confidence::Low), Some(Confidence::High));
        let cases = [
            case(false, &[(false, high)]),
            case(false, &[(false, low), (true, high)]),
            case(true, &[(false, low), (true, high), (true, high)]),
            case(true, &[(true, high)]),
        ];
        let points = points(&cases);
        let any = points[0];
        assert_eq!((any.confidence, any.share, any.agreement.recall), (None, 0.0, Some(1.0)));
        let exact = for_precision(&points, 1.0).unwrap();
        assert_eq!((exact.confidence, exact.share, exact.agreement.recall), (None, 0.5, Some(1.0)));
        assert!(for_precision(&points, 0.6).unwrap().agreement.recall >= exact.agreement.recall);
        assert_eq!(for_precision(&[], 0.5), None);
    }
}
