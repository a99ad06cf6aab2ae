//! The end of a review.

use serde::{Deserialize, Serialize};

use super::{Judged, List, Objection, Said, Standing, Target};
use crate::routing::Decision;

/// What the producer should do after a review: nothing waits any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinalDecision {
    /// Deliver the answer.
    Deliver,
    /// Do not.
    Block,
}

impl FinalDecision {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Block => "block",
        }
    }

    /// The decision of that name.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Deliver, Self::Block].into_iter().find(|decision| decision.as_str() == word)
    }
}

/// With what a reviewer wants to end the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Closing {
    /// Whether the whole answer is faithful: not said, cannot say, or the word.
    pub faithful: Option<Option<bool>>,
    /// What the producer should do.
    pub decision: Option<FinalDecision>,
}

/// One reviewer's opinion on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opinion {
    /// Whether the whole answer is faithful; none when the reviewer cannot say.
    pub faithful: Option<bool>,
    /// What the producer should do; none where nothing was held.
    pub decision: Option<FinalDecision>,
}

/// What a review comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conclusion {
    /// Whether the whole answer is faithful; none when nobody could say, or opinions differ.
    pub faithful: Option<bool>,
    /// What the producer should do; none where nothing was held.
    pub decision: Option<FinalDecision>,
    /// Whether an answer that was held back goes out.
    pub releases: bool,
}

/// What one reviewer's rulings and last words come to.
///
/// # Errors
/// Everything that is still missing, or contradicts what was said flag by flag.
pub fn conclude(
    list: List,
    decision: Option<Decision>,
    judged: &Judged,
    standing: &Standing<'_>,
    closing: Closing,
) -> Result<Opinion, Vec<Objection>> {
    let mut objections = Vec::new();
    let undecided = if list == List::Sample { Vec::new() } else { standing.undecided(judged) };
    if !undecided.is_empty() {
        objections.push(Objection::new("$", undecided_in_words(&undecided)));
    }
    let overall = standing.overall.and_then(|ruling| match ruling.said {
        Said::Overall { faithful } => Some(faithful),
        _ => None,
    });
    if list == List::Sample && overall.is_none() {
        objections.push(Objection::new("$.faithful", "rule first whether the answer is faithful"));
    }
    let stands = undecided.is_empty().then(|| standing.all_grounded(judged));
    // Elsewhere nobody has to look at every claim, so that their words alone do not make the answer's.
    let by_claims = stands.filter(|_| list == List::Findings);
    let faithful = match closing.faithful.or(overall).or(by_claims.map(Some)) {
        Some(faithful) => faithful,
        None => {
            objections
                .push(Objection::new("$.faithful", "missing: true, false, or null when you cannot say"));
            None
        }
    };
    // A ground truth that contradicts its own claims would teach nobody anything.
    match (stands, faithful) {
        (Some(false), Some(true)) => objections.push(Objection::new(
            "$.faithful",
            "the answer cannot be faithful while a claim stands as not grounded: override that claim first",
        )),
        (Some(true), Some(false)) if by_claims.is_some() => objections.push(Objection::new(
            "$.faithful",
            "every claim stands as grounded: add the claim that is not, or override one",
        )),
        _ => {}
    }
    let held = matches!(decision, Some(Decision::Hold | Decision::Block));
    let decision = match (closing.decision, held) {
        (None, true) => {
            objections
                .push(Objection::new("$.decision", "missing: the answer is held back; deliver or block"));
            None
        }
        (given, true) => given,
        (given, false) => given.or(Some(FinalDecision::Deliver)),
    };
    if objections.is_empty() { Ok(Opinion { faithful, decision }) } else { Err(objections) }
}

fn undecided_in_words(undecided: &[Target]) -> String {
    let name = |target: &Target| match target {
        Target::Claim(at) => format!("claim {}", at + 1),
        Target::Omission(at) => format!("omission {}", at + 1),
    };
    let names: Vec<String> = undecided.iter().take(5).map(name).collect();
    let more = undecided.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("not decided yet: {}{more}", names.join(", "))
}

/// What several opinions come to: where they differ nothing is known, and nothing is released.
pub fn agree(decision: Option<Decision>, opinions: &[Opinion]) -> Conclusion {
    let first = opinions.first().copied().unwrap_or(Opinion { faithful: None, decision: None });
    let same = opinions.iter().all(|opinion| opinion.faithful == first.faithful);
    let delivers = opinions.iter().all(|opinion| opinion.decision == Some(FinalDecision::Deliver));
    let ruled = opinions.iter().any(|opinion| opinion.decision.is_some());
    let held = matches!(decision, Some(Decision::Hold | Decision::Block));
    let decision = ruled.then_some(if delivers { FinalDecision::Deliver } else { FinalDecision::Block });
    Conclusion {
        faithful: first.faithful.filter(|_| same),
        decision,
        releases: held && decision == Some(FinalDecision::Deliver),
    }
}
