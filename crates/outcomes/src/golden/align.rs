//! Pairing labelled claims with those that the judge listed: the same statement is rarely worded the same.

use std::collections::BTreeSet;

use audit::{Claim, text};
use trace::HumanClaim;

use super::statistics::Confusion;

/// Pairs that share fewer of their words (Jaccard) are no pairs.
const ALIKE: f64 = 0.5;

/// What pairing brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Paired {
    /// Labels against verdicts. A labelled claim without partner stands among the wrong ones.
    pub confusion: Confusion,
    /// Labelled claims without a partner.
    pub unmatched: u64,
}

/// Pairs each labelled claim with the judge's claim that shares most words, each claim at most once.
pub fn pair(labelled: &[HumanClaim], judged: &[Claim]) -> Paired {
    let labels: Vec<(BTreeSet<String>, bool)> = labelled
        .iter()
        .filter_map(|claim| Some((words(claim.text.as_deref()?), claim.is_supported()?)))
        .collect();
    let claims: Vec<BTreeSet<String>> = judged.iter().map(|claim| words(&claim.text)).collect();
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for (label, (label_words, _)) in labels.iter().enumerate() {
        for (claim, claim_words) in claims.iter().enumerate() {
            let likeness = likeness(label_words, claim_words);
            if likeness >= ALIKE {
                pairs.push((likeness, label, claim));
            }
        }
    }
    pairs.sort_by(|one, other| other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2))));
    let mut partner: Vec<Option<usize>> = vec![None; labels.len()];
    let mut taken = vec![false; claims.len()];
    for (_, label, claim) in pairs {
        if partner[label].is_none() && !taken[claim] {
            partner[label] = Some(claim);
            taken[claim] = true;
        }
    }
    let mut paired = Paired::default();
    for ((_, faithful), partner) in labels.iter().zip(partner) {
        // Without a partner nothing was said, which is wrong either way.
        let flagged = partner.map_or(*faithful, |claim| judged[claim].is_finding());
        paired.confusion.add(!faithful, flagged);
        paired.unmatched += u64::from(partner.is_none());
    }
    paired
}

/// The words and numbers of a statement that carry something.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let has_digit = |word: &str| word.chars().any(char::is_numeric);
    text::words(text).into_iter().filter(|word| text::is_content(word) || has_digit(word)).collect()
}

fn likeness(left: &BTreeSet<String>, right: &BTreeSet<String>) -> f64 {
    let shared = left.intersection(right).count();
    let all = left.union(right).count();
    if all == 0 { 0.0 } else { crate::measures::count(shared) / crate::measures::count(all) }
}

#[cfg(test)]
mod tests {
    use audit::Verdict;

    use super::*;

    fn label(text: &str, faithful: bool) -> HumanClaim {
        HumanClaim { text: Some(text.to_owned()), faithful: Some(faithful), ..HumanClaim::default() }
    }

    #[test]
    fn claims_are_paired_by_their_words_and_each_once() {
        let judged = [
            Claim::new("The pool opens at 7 on weekdays.", Verdict::Grounded),
            Claim::new("A swim costs 4 euro for adults.", Verdict::Contradicted),
        ];
        let labelled =
            [label("On weekdays the pool opens at 7.", true), label("A swim costs adults 4 euro.", false)];
        let paired = pair(&labelled, &judged);
        assert_eq!(
            (paired.unmatched, paired.confusion.true_positive, paired.confusion.true_negative),
            (0, 1, 1)
        );
    }

    #[test]
    fn a_label_in_the_persons_own_word_counts_as_one() {
        let word = |word: &str| HumanClaim {
            text: Some("Entry costs 9 euro.".to_owned()),
            verdict: Some(word.to_owned()),
            ..HumanClaim::default()
        };
        let judged = [Claim::new("Entry costs 9 euro.", Verdict::Contradicted)];
        assert_eq!(pair(&[word("Hallucinated")], &judged).confusion.true_positive, 1);
        assert_eq!(pair(&[word("supported")], &judged).confusion.false_positive, 1);
        assert_eq!(pair(&[word("unclear")], &judged), Paired::default());
    }

    #[test]
    fn a_labelled_claim_that_nobody_looked_at_is_wrong() {
        let labelled = [label("Dogs are welcome.", true), label("Entry costs 9 euro.", false)];
        let paired = pair(&labelled, &[]);
        assert_eq!(paired.unmatched, 2);
        assert_eq!((paired.confusion.false_positive, paired.confusion.false_negative), (1, 1));
    }
}
