//! What counts of all that one reviewer has said.

use std::collections::{BTreeMap, HashSet};

use uuid::Uuid;

use super::{Judged, Ruling, Said, Target};
use crate::report::Verdict;

/// What counts of a reviewer's rulings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing<'a> {
    /// The last decision on each flag or claim.
    pub decided: BTreeMap<Target, &'a Ruling>,
    /// Claims that the judge missed, in the order in which they were said.
    pub added: Vec<&'a Ruling>,
    /// Notes that decide nothing, in their order.
    pub notes: Vec<&'a Ruling>,
    /// What was said last about the whole answer.
    pub overall: Option<&'a Ruling>,
}

/// What counts of `rulings`, which are in the order in which they were said; those of others are passed over.
pub fn standing<'a>(rulings: &'a [Ruling], reviewer: &str) -> Standing<'a> {
    let own = || rulings.iter().filter(|ruling| ruling.reviewer == reviewer);
    let withdrawn: HashSet<Uuid> = own()
        .filter_map(|ruling| match ruling.said {
            Said::Withdraw(id) => Some(id),
            _ => None,
        })
        .collect();
    let mut standing = Standing::default();
    for ruling in own().filter(|ruling| !withdrawn.contains(&ruling.id)) {
        match &ruling.said {
            Said::Confirm(target) | Said::Override { target, .. } => {
                standing.decided.insert(*target, ruling);
            }
            Said::Add { .. } => standing.added.push(ruling),
            Said::Annotate(_) => standing.notes.push(ruling),
            Said::Overall { .. } => standing.overall = Some(ruling),
            Said::Withdraw(_) => {}
        }
    }
    standing
}

impl Standing<'_> {
    /// Flags that nobody has decided yet.
    pub fn undecided(&self, judged: &Judged) -> Vec<Target> {
        judged.flags.iter().copied().filter(|flag| !self.decided.contains_key(flag)).collect()
    }

    /// Whether every claim is grounded, as far as the reviewer has said and the judge beside that.
    pub fn all_grounded(&self, judged: &Judged) -> bool {
        let of_claim = |at: usize, verdict: Verdict| match self.decided.get(&Target::Claim(at)) {
            Some(Ruling { said: Said::Override { verdict: Some(verdict), .. }, .. }) => *verdict,
            _ => verdict,
        };
        let added_grounded =
            |ruling: &&Ruling| matches!(ruling.said, Said::Add { verdict: Verdict::Grounded, .. });
        judged.claims.iter().enumerate().all(|(at, (verdict, _))| of_claim(at, *verdict) == Verdict::Grounded)
            && self.added.iter().all(added_grounded)
    }
}
