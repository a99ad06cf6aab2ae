//! Spend caps: whether a project may pay for further calls of the judge today.
//!
//! A worker reserves calls in blocks, so that it need not ask the database before each of them. What a call
//! will cost is not known before it is over: tokens and money of the calls that are reserved are counted at the
//! mean of today's replies.

use serde::{Deserialize, Serialize};

/// What a project may spend in one UTC day. None: no cap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caps {
    /// Calls of the judge, those without a reply included.
    pub calls: Option<u64>,
    /// Tokens, of prompts and replies together.
    pub tokens: Option<u64>,
    /// Money.
    pub money: Option<Money>,
}

impl Caps {
    /// Whether there is any cap.
    pub const fn is_capped(&self) -> bool {
        self.calls.is_some() || self.tokens.is_some() || self.money.is_some()
    }
}

/// A sum of money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Money {
    /// Millionths of the currency.
    pub micros: u64,
    /// ISO 4217 code.
    pub currency: String,
}

/// What becomes of an audit that a cap keeps from its next call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverCap {
    /// It ends `over_budget`.
    #[default]
    OverBudget,
    /// It waits until the day turns.
    Defer,
}

/// A sum over replies, and how many of them it does not know about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// The sum over those for which it is known.
    pub sum: u64,
    /// How many these are.
    pub known: u64,
    /// Replies for which it is not known. That is not the same as nothing.
    pub unknown: u64,
}

/// What a project has spent today, and what is reserved of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls whose attempts are stored.
    pub calls: u64,
    /// Tokens of the stored replies.
    pub tokens: Amount,
    /// Their price, in millionths of the cap's currency.
    pub money: Amount,
    /// Calls that the asking worker has reserved and that are not stored yet.
    pub own: u64,
    /// The same of all other workers whose reservations hold.
    pub others: u64,
}

/// Which cap is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The calls are used up.
    Calls,
    /// The tokens are.
    Tokens,
    /// The money is.
    Money,
    /// There are replies, and none says how many tokens it took: the cap cannot be held.
    TokensUnknown,
    /// There are replies, and none has a price in the cap's currency: the cap cannot be held.
    PriceUnknown,
}

impl Limit {
    /// The reason, for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Calls => "the calls of this day are used up or reserved",
            Self::Tokens => "the tokens of this day are used up or reserved",
            Self::Money => "the money of this day is used up or reserved",
            Self::TokensUnknown => "no reply says how many tokens it took, so a cap on tokens cannot be held",
            Self::PriceUnknown => "no reply has a known price, so a cap on money cannot be held",
        }
    }
}

/// The answer to a worker that wants to make further calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// This many.
    Calls(u64),
    /// None yet: what a call costs is not known before the first replies are stored.
    Wait,
    /// None today.
    Refused(Limit),
}

/// How many further calls a worker may make: at most `block`.
pub fn grant(caps: &Caps, spent: &Spent, block: u64) -> Grant {
    let reserved = spent.own.saturating_add(spent.others);
    let mut calls = block;
    if let Some(cap) = caps.calls {
        match cap.saturating_sub(spent.calls).saturating_sub(reserved) {
            0 => return Grant::Refused(Limit::Calls),
            left => calls = calls.min(left),
        }
    }
    let sums = [
        (caps.tokens, spent.tokens, Limit::Tokens, Limit::TokensUnknown),
        (caps.money.as_ref().map(|money| money.micros), spent.money, Limit::Money, Limit::PriceUnknown),
    ];
    for (cap, amount, reached, unknown) in sums {
        let Some(cap) = cap else { continue };
        match affordable(cap, amount, reserved, block) {
            Some(0) => return Grant::Refused(reached),
            Some(left) => calls = calls.min(left),
            None if amount.unknown > 0 => return Grant::Refused(unknown),
            // A worker's first block; it learns from that what a call costs.
            None if spent.own == 0 => {}
            None => return Grant::Wait,
        }
    }
    Grant::Calls(calls)
}

/// How many calls the rest of a cap pays for; none while no reply says what one costs.
fn affordable(cap: u64, amount: Amount, reserved: u64, block: u64) -> Option<u64> {
    let mean = match amount.known {
        0 => return None,
        known => amount.sum.div_ceil(known),
    };
    let expected = mean.saturating_mul(reserved.saturating_add(amount.unknown));
    let left = cap.saturating_sub(amount.sum).saturating_sub(expected);
    Some(match (left, mean) {
        (0, _) => 0,
        // Replies that cost nothing use up no cap.
        (_, 0) => block,
        // Less than one call's worth is left, and it may be spent.
        (left, mean) => (left / mean).max(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(cap: u64) -> Caps {
        Caps { calls: Some(cap), ..Caps::default() }
    }

    fn tokens(cap: u64) -> Caps {
        Caps { tokens: Some(cap), ..Caps::default() }
    }

    fn known(sum: u64, known: u64) -> Spent {
        Spent { calls: known, tokens: Amount { sum, known, unknown: 0 }, ..Spent::default() }
    }

    #[test]
    fn a_block_is_cut_to_what_is_neither_spent_nor_reserved() {
        let spent = Spent { calls: 70, own: 3, others: 20, ..Spent::default() };
        assert_eq!(grant(&calls(100), &spent, 10), Grant::Calls(7));
        assert_eq!(grant(&calls(1000), &spent, 10), Grant::Calls(10));
        assert_eq!(grant(&calls(93), &spent, 10), Grant::Refused(Limit::Calls));
        assert_eq!(grant(&calls(0), &Spent::default(), 10), Grant::Refused(Limit::Calls));
        assert_eq!(grant(&Caps::default(), &spent, 10), Grant::Calls(10));
    }

    #[test]
    fn tokens_of_reserved_calls_count_at_the_mean() {
        // 100 a call; 20 reserved calls are 2000.
        let spent = Spent { others: 20, ..known(1000, 10) };
        assert_eq!(grant(&tokens(3500), &spent, 10), Grant::Calls(5));
        assert_eq!(grant(&tokens(3050), &spent, 10), Grant::Calls(1), "the rest may be spent");
        assert_eq!(grant(&tokens(3000), &spent, 10), Grant::Refused(Limit::Tokens));
    }

    #[test]
    fn replies_of_unknown_price_count_at_the_mean_and_never_as_free() {
        let mut spent = known(0, 10);
        spent.money = Amount { sum: 1000, known: 10, unknown: 5 };
        let caps = Caps { money: Some(Money { micros: 1600, currency: "EUR".into() }), ..Caps::default() };
        assert_eq!(grant(&caps, &spent, 10), Grant::Calls(1));
        spent.money = Amount { sum: 0, known: 0, unknown: 1 };
        assert_eq!(grant(&caps, &spent, 10), Grant::Refused(Limit::PriceUnknown));
    }

    #[test]
    fn a_worker_gets_one_block_before_the_price_of_a_call_is_known() {
        assert_eq!(grant(&tokens(10), &Spent::default(), 5), Grant::Calls(5));
        assert_eq!(grant(&tokens(10), &Spent { own: 5, ..Spent::default() }, 5), Grant::Wait);
        assert_eq!(grant(&tokens(10), &Spent { others: 5, ..Spent::default() }, 5), Grant::Calls(5));
    }

    #[test]
    fn free_replies_use_nothing_up() {
        assert_eq!(grant(&tokens(10), &known(0, 10), 5), Grant::Calls(5));
    }
}
