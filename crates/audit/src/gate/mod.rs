//! The gate: what a caller that waits shall do with its answer, from the report and the project's policy.
//!
//! An action refines the decision: `redact` and `regenerate` stand under `block`, `escalate` under `hold`
//! (docs/gate.md). [`resolve`] chooses it; [`Resolution::settle`] makes the routing agree with it.

mod balance;
mod instruction;
mod redact;
mod stated;

pub use instruction::instruction;
pub use redact::redact;

use serde::{Deserialize, Serialize};

use crate::report::{Report, Verdict};
use crate::routing::{self, Circumstances, Decision, Disposition, Reason, Routed};

/// How often a session may be told to regenerate at most, whatever its project says (docs/audits.md, G-16).
pub const MAX_REGENERATIONS: u32 = 2;

/// Declares words that stand in configuration, tables and messages.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$about])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word used in tables, configuration and messages.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

words! {
    /// What the caller shall do with the answer.
    Action {
        /// Deliver it as it is.
        Deliver = "deliver",
        /// Deliver the redacted text instead.
        Redact = "redact",
        /// Have it generated again, under the stricter instruction, and ask again in the same session.
        Regenerate = "regenerate",
        /// Wait for a person.
        Escalate = "escalate",
        /// Do not deliver it.
        Block = "block",
    }
}

impl Action {
    /// The decision that this action refines.
    pub const fn decision(self) -> Decision {
        match self {
            Self::Deliver => Decision::Deliver,
            Self::Escalate => Decision::Hold,
            Self::Redact | Self::Regenerate | Self::Block => Decision::Block,
        }
    }
}

words! {
    /// What is known about the whole answer.
    Answer {
        /// Every claim is carried by the evidence.
        Grounded = "grounded",
        /// At least one is not.
        Ungrounded = "ungrounded",
        /// It was not judged, or not in full. Never to be taken for grounded.
        Unknown = "unknown",
    }
}

words! {
    /// What happens to an answer with an ungrounded claim, at standard risk.
    WhenUngrounded {
        /// It is not delivered, and people see it.
        Block = "block",
        /// It is delivered without the sentences that are not grounded, where they can be taken out for certain.
        Redact = "redact",
        /// It is generated again.
        Regenerate = "regenerate",
        /// A person decides.
        Escalate = "escalate",
    }
}

words! {
    /// What happens when the regenerated answers are not grounded either.
    WhenExhausted {
        /// It is not delivered, and people see it.
        Block = "block",
        /// A person decides.
        Escalate = "escalate",
    }
}

words! {
    /// What happens to an answer that could not be judged in time.
    WhenUnknown {
        /// It is not delivered.
        Closed = "closed",
        /// It is delivered, unless the risk is high.
        Open = "open",
    }
}

/// A project's policy for its gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// At standard risk; at high risk an answer with an ungrounded claim is always blocked.
    pub ungrounded: WhenUngrounded,
    /// After the last regeneration.
    pub exhausted: WhenExhausted,
    /// Without a verdict.
    pub unknown: WhenUnknown,
    /// How often a session may be told to regenerate; at most [`MAX_REGENERATIONS`].
    pub max_regenerations: u32,
    /// The largest share of an answer's claims that may be redacted, 0 to 1; beyond it the answer is blocked.
    pub redact_at_most: f64,
    /// Whether the answer is checked part by part, in parallel.
    pub per_claim: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            ungrounded: WhenUngrounded::Block,
            exhausted: WhenExhausted::Block,
            unknown: WhenUnknown::Closed,
            max_regenerations: MAX_REGENERATIONS,
            redact_at_most: 0.5,
            per_claim: false,
        }
    }
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolution {
    /// What is known about the answer.
    pub verdict: Answer,
    /// What to do with it.
    pub action: Action,
    /// The text to deliver instead, with `redact`.
    pub redacted: Option<String>,
    /// What to tell the generator, with `regenerate`.
    pub instruction: Option<String>,
    /// How often the session may still be told to regenerate after this.
    pub regenerations_left: u32,
    /// Why this action and no other, in words.
    pub why: String,
    /// Whether the session's regenerations were used up, so that people have to see it.
    pub exhausted: bool,
}

impl Resolution {
    /// What to do, with nothing to send along.
    fn plain(verdict: Answer, action: Action, why: &str, regenerations_left: u32) -> Self {
        Self {
            verdict,
            action,
            redacted: None,
            instruction: None,
            regenerations_left,
            why: why.to_owned(),
            exhausted: false,
        }
    }
}

/// What a session's other calls have used of its regenerations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Regenerations {
    /// How often the session had been told to regenerate.
    pub told: u32,
    /// Calls that came before and are still open: each may yet be told to.
    pub open: u32,
}

impl Regenerations {
    const fn at_most(self) -> u32 {
        self.told.saturating_add(self.open)
    }
}

impl From<u32> for Regenerations {
    fn from(told: u32) -> Self {
        Self { told, open: 0 }
    }
}

/// Chooses the action. `regenerations`: what other calls of the session have used.
pub fn resolve(
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    report: Option<&Report>,
    routed: &Routed,
    regenerations: impl Into<Regenerations>,
) -> Resolution {
    let regenerations = regenerations.into();
    let Some(report) = report else { return without_report(policy, circumstances, routed, regenerations) };
    let has_findings = report.findings().next().is_some();
    let verdict = match (has_findings, routing::unjudged_reason(report)) {
        (true, _) => Answer::Ungrounded,
        (false, Some(_)) => Answer::Unknown,
        (false, None) => Answer::Grounded,
    };
    let says = |action, why: &str| Resolution::plain(verdict, action, why, left(policy, regenerations));
    let decision = routed.decision.unwrap_or(Decision::Hold);
    if decision == Decision::Deliver {
        return says(Action::Deliver, "nothing speaks against it");
    }
    if !has_findings {
        return says(Action::Escalate, "a person has to look before it is delivered");
    }
    if circumstances.high_risk {
        return says(
            Action::Block,
            "at high risk an answer with a claim that is not grounded waits for a person's release",
        );
    }
    if circumstances.trace.value == trace::Value::High {
        return says(Action::Escalate, "what would be blocked is of high value");
    }
    if routed.reasons.iter().any(|reason| !FOLLOWS_FROM_FINDINGS.contains(&reason.code.as_str())) {
        return says(
            Action::Escalate,
            "the judge's verdicts are not certain enough to act on without a person",
        );
    }
    ungrounded(policy, circumstances, report, regenerations, says)
}

/// Reasons of routing that say no more than that claims are not grounded.
const FOLLOWS_FROM_FINDINGS: [&str; 2] = ["ungrounded", "hallucination_ratio"];

fn ungrounded(
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    report: &Report,
    regenerations: Regenerations,
    says: impl Fn(Action, &str) -> Resolution,
) -> Resolution {
    const BLOCKED: &str = "claims are not grounded";
    match policy.ungrounded {
        WhenUngrounded::Block => says(Action::Block, BLOCKED),
        WhenUngrounded::Escalate => says(Action::Escalate, BLOCKED),
        WhenUngrounded::Redact => {
            let share = 1.0 - report.share(Verdict::Grounded).unwrap_or(0.0);
            let answer = circumstances.trace.answer.as_deref().unwrap_or_default();
            match (share <= policy.redact_at_most).then(|| redact(answer, &report.claims)).flatten() {
                Some(text) => Resolution {
                    redacted: Some(text),
                    ..says(Action::Redact, "what is not grounded was taken out")
                },
                None => says(
                    Action::Block,
                    "claims are not grounded, and cannot be taken out for certain, or too little would be left",
                ),
            }
        }
        WhenUngrounded::Regenerate => match left(policy, regenerations) {
            0 if left(policy, regenerations.told.into()) > 0 => says(
                Action::Block,
                "claims are not grounded, and calls of the session that are still open may use its regenerations",
            ),
            0 => {
                let action = match policy.exhausted {
                    WhenExhausted::Block => Action::Block,
                    WhenExhausted::Escalate => Action::Escalate,
                };
                let why = "claims are not grounded, and the session has used up its regenerations";
                Resolution { exhausted: true, ..says(action, why) }
            }
            left => Resolution {
                instruction: Some(instruction(&report.claims)),
                regenerations_left: left - 1,
                ..says(Action::Regenerate, BLOCKED)
            },
        },
    }
}

fn left(policy: &Policy, regenerations: Regenerations) -> u32 {
    policy.max_regenerations.min(MAX_REGENERATIONS).saturating_sub(regenerations.at_most())
}

/// Nothing was judged, or the judge's replies could not be used.
fn without_report(
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    routed: &Routed,
    regenerations: Regenerations,
) -> Resolution {
    let is_open = policy.unknown == WhenUnknown::Open && !circumstances.high_risk;
    let (action, why) = match routed.decision {
        Some(Decision::Block) => (Action::Block, "the judge's replies could not be used"),
        Some(_) => (Action::Escalate, "the judge's replies could not be used"),
        None if is_open => {
            (Action::Deliver, "there is no verdict, and the project delivers then (gate.unknown = open)")
        }
        None => (Action::Block, "there is no verdict"),
    };
    Resolution::plain(Answer::Unknown, action, why, left(policy, regenerations))
}

impl Resolution {
    /// Makes the routing agree: the decision is the action's. Whoever redacts or regenerates has taken care of the
    /// answer, so that nobody is called; after the last regeneration people are.
    pub fn settle(&self, report: Option<&Report>, routed: &mut Routed) {
        if routed.decision.is_none() {
            return;
        }
        routed.decision = Some(self.action.decision());
        match self.action {
            Action::Redact | Action::Regenerate => {
                routed.disposition = Disposition::Flagged;
                routed.reasons.clear();
                routed.urgent = false;
            }
            Action::Block | Action::Escalate if self.exhausted => {
                let claims = report.into_iter().flat_map(Report::findings).map(|(at, _)| at).collect();
                let message = "the answer was regenerated, and claims are still not grounded";
                let reason = Reason { claims, ..Reason::hold("regenerations_exhausted", message) };
                routed.reasons.push(Reason { decision: self.action.decision(), ..reason });
                routed.disposition = Disposition::Escalated;
            }
            Action::Block | Action::Escalate | Action::Deliver => {}
        }
    }
}

#[cfg(test)]
mod tests;
