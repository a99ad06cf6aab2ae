//! What follows an attempt, decided from the policy and the counts alone.

use serde::{Deserialize, Serialize};
use trace::Kind;

use crate::kinds;

/// How one call of the judge ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A reply that was accepted.
    Accepted,
    /// A reply that was not well-formed.
    Format,
    /// A well-formed reply that contradicts the trace or itself.
    Content,
    /// The judge declined.
    Refusal,
    /// No reply: connection, time-out, server error, cut body.
    Transport,
    /// The judge asked us to slow down.
    Throttle,
    /// Our configuration is wrong: bad key, unknown model, unsupported parameter.
    Permanent,
    /// The unit does not fit into the judge's context.
    ContextTooLong,
}

impl Class {
    /// Every class.
    pub const ALL: &[Self] = &[
        Self::Accepted,
        Self::Format,
        Self::Content,
        Self::Refusal,
        Self::Transport,
        Self::Throttle,
        Self::Permanent,
        Self::ContextTooLong,
    ];

    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Format => "format",
            Self::Content => "content",
            Self::Refusal => "refusal",
            Self::Transport => "transport",
            Self::Throttle => "throttle",
            Self::Permanent => "permanent",
            Self::ContextTooLong => "context_too_long",
        }
    }

    /// The class of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| class.as_str() == word)
    }

    /// Whether a reply was received in full, so that it counts against the cap of replies.
    pub const fn is_reply(self) -> bool {
        matches!(self, Self::Accepted | Self::Format | Self::Content | Self::Refusal)
    }
}

/// How the next call differs from the one that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The very same request.
    SamePrompt,
    /// The validation errors are appended to the constraints.
    AppendError,
    /// A stronger constraint instruction is appended.
    Strengthen,
}

impl Remedy {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SamePrompt => "same_prompt",
            Self::AppendError => "append_error",
            Self::Strengthen => "strengthen",
        }
    }
}

/// How often one class of failure may be answered by another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Calls after the first failure of this class, per unit.
    pub retries: u32,
    /// How these calls differ.
    pub remedy: Remedy,
}

/// The retry policy of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// For replies that are not well-formed.
    pub format: Budget,
    /// For replies that are not consistent.
    pub content: Budget,
    /// Calls for both classes together, per unit.
    pub together: u32,
    /// Replies per audit, over all units; a seat belt above the budgets.
    pub max_replies: u32,
}

/// The cap of replies where nothing else is configured.
pub const DEFAULT_MAX_REPLIES: u32 = 40;

impl Policy {
    /// `format` and `content`: calls after the first failure of that class; `together`: for both classes.
    pub const fn new(format: u32, content: u32, remedy: Remedy, together: u32) -> Self {
        Self {
            format: Budget { retries: format, remedy },
            content: Budget { retries: content, remedy },
            together,
            max_replies: DEFAULT_MAX_REPLIES,
        }
    }

    /// The policy that the kind's document asks for (docs/audits.md, "Retry policies").
    pub fn of(kind: Kind) -> Self {
        // A kind that cannot be run asks nobody.
        kinds::find(kind).map_or(Self::new(0, 0, Remedy::SamePrompt, 0), |spec| spec.retries)
    }
}

/// Counts of what the judge has answered so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Format failures of this unit.
    pub format: u32,
    /// Content failures of this unit.
    pub content: u32,
    /// Replies of the whole audit, received in full.
    pub replies: u32,
}

impl Tally {
    /// Counts an attempt of this unit.
    pub fn add(&mut self, class: Class) {
        match class {
            Class::Format => self.format += 1,
            Class::Content => self.content += 1,
            _ => {}
        }
        self.replies += u32::from(class.is_reply());
    }
}

/// What to do next with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The reply counts; go on.
    Accept,
    /// Ask again, in this way.
    AskAgain(Remedy),
    /// The budget of this class is gone: the audit ends unreadable (format) or inconsistent (content).
    GiveUp(Class),
    /// The judge declined: no retry, a person decides.
    Refused,
    /// No reply was received: the transport's own rules decide (tries, tiers, age).
    Unanswered,
}

/// Decides what follows an outcome. `tally` already counts it.
pub fn decide(policy: &Policy, tally: &Tally, class: Class) -> Action {
    let budget = match class {
        Class::Accepted => return Action::Accept,
        Class::Refusal => return Action::Refused,
        Class::Transport | Class::Throttle | Class::Permanent | Class::ContextTooLong => {
            return Action::Unanswered;
        }
        Class::Format => (policy.format, tally.format),
        Class::Content => (policy.content, tally.content),
    };
    let (Budget { retries, remedy }, failures) = budget;
    let is_left = failures <= retries && tally.format + tally.content <= policy.together;
    if is_left && tally.replies < policy.max_replies {
        Action::AskAgain(remedy)
    } else {
        Action::GiveUp(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a sequence of classes through a kind's policy and returns the last action.
    fn play(kind: Kind, classes: &[Class]) -> Action {
        let policy = Policy::of(kind);
        let mut tally = Tally::default();
        let mut action = Action::Unanswered;
        for class in classes {
            tally.add(*class);
            action = decide(&policy, &tally, *class);
        }
        action
    }

    #[test]
    fn faithfulness_asks_once_more_whatever_the_class() {
        use Class::{Accepted, Content, Format};
        assert_eq!(play(Kind::Faithfulness, &[Format]), Action::AskAgain(Remedy::Strengthen));
        assert_eq!(play(Kind::Faithfulness, &[Content]), Action::AskAgain(Remedy::Strengthen));
        assert_eq!(play(Kind::Faithfulness, &[Format, Format]), Action::GiveUp(Format));
        assert_eq!(play(Kind::Faithfulness, &[Format, Content]), Action::GiveUp(Content));
        assert_eq!(play(Kind::Faithfulness, &[Content, Accepted]), Action::Accept);
    }

    #[test]
    fn a_gate_gives_format_two_more_and_content_none() {
        use Class::{Content, Format};
        assert_eq!(play(Kind::Gate, &[Format, Format]), Action::AskAgain(Remedy::SamePrompt));
        assert_eq!(play(Kind::Gate, &[Format, Format, Format]), Action::GiveUp(Format));
        assert_eq!(play(Kind::Gate, &[Content]), Action::GiveUp(Content));
        assert_eq!(play(Kind::Gate, &[Format, Content]), Action::GiveUp(Content));
    }

    #[test]
    fn throttling_and_transport_spend_no_reply_budget() {
        let mut tally = Tally::default();
        for class in [Class::Transport, Class::Throttle, Class::Permanent, Class::ContextTooLong] {
            tally.add(class);
        }
        assert_eq!(tally, Tally::default());
    }

    #[test]
    fn the_cap_of_replies_stands_above_the_budgets() {
        let policy = Policy { max_replies: 3, ..Policy::of(Kind::Gate) };
        let tally = Tally { format: 1, content: 0, replies: 3 };
        assert_eq!(decide(&policy, &tally, Class::Format), Action::GiveUp(Class::Format));
    }
}
