//! The closed sets of words that only the store has. The database checks the same words.

use std::fmt;
use std::str::FromStr;

/// A word that is not one of a closed set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of: {allowed}")]
pub struct UnknownWord {
    word: String,
    allowed: String,
}

macro_rules! words {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_meta])* $variant),+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word that stands for this value in tables.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word).ok_or_else(|| UnknownWord {
                    word: word.to_owned(),
                    allowed: [$($word),+].join(", "),
                })
            }
        }

        impl TryFrom<String> for $name {
            type Error = UnknownWord;

            fn try_from(word: String) -> Result<Self, UnknownWord> {
                word.parse()
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words! {
    /// Why a message was given up on.
    DeadSource {
        /// It is no trace.
        Undecodable = "undecodable",
        /// It is larger than is accepted.
        Oversized = "oversized",
        /// The broker had delivered it too often.
        DeliveryLimit = "delivery_limit",
        /// No queue wanted it.
        Unroutable = "unroutable",
        /// It asks for an audit kind that this fleet does not do.
        UnsupportedKind = "unsupported_kind",
        /// It could not be audited for a day, for a reason that is not the judge's.
        Failed = "failed",
    }
}

words! {
    /// What became of a dead letter.
    DeadStatus {
        /// It waits for an operator.
        Open = "open",
        /// It was published again.
        Replayed = "replayed",
        /// It was thrown away on purpose.
        Discarded = "discarded",
    }
}

words! {
    /// Where a review item stands.
    ReviewStatus {
        /// It waits for a reviewer.
        Open = "open",
        /// A reviewer has it.
        Claimed = "claimed",
        /// The review has ended.
        Closed = "closed",
    }
}

words! {
    /// What became of a message of the outbox.
    Outcome {
        /// The broker took it.
        Confirmed = "confirmed",
        /// The broker gave it back: nobody listens there. It is not tried again.
        Returned = "returned",
    }
}

words! {
    /// What a receiver is told about a page.
    PageEvent {
        /// There is something.
        Trigger = "trigger",
        /// More items have joined.
        Update = "update",
        /// Somebody has taken an item.
        Acknowledge = "acknowledge",
        /// All items are closed.
        Resolve = "resolve",
    }
}

words! {
    /// How a try ended.
    TryOutcome {
        /// The receiver has it.
        Delivered = "delivered",
        /// The receiver wants to be left alone for a while.
        Throttled = "throttled",
        /// It could not be reached, or is not well.
        Unavailable = "unavailable",
        /// There was no answer in time: it may have it.
        Timeout = "timeout",
        /// It will not take it.
        Refused = "refused",
    }
}
