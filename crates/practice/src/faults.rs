//! The ways to misbehave, and how often.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::dice::Dice;

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// One way to misbehave. Its name is what configuration and canned replies use. Where a kind has nothing
        /// that a fault could spoil, the reply stays honest: a gate has no figures, an extraction no verdicts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Fault {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Fault {
            /// All there are.
            pub const ALL: &[Fault] = &[$(Fault::$variant),+];

            /// The name.
            pub fn as_str(self) -> &'static str {
                match self { $(Fault::$variant => $name,)+ }
            }
        }
    };
}

faults! {
    /// Prose instead of JSON.
    NotJson = "not_json",
    /// Two different replies, one after the other.
    SeveralCandidates = "several_candidates",
    /// A reply that stops in the middle, with finish reason `length`.
    Truncated = "truncated",
    /// The same with finish reason `stop`.
    TruncatedStop = "truncated_stop",
    /// No text at all.
    Empty = "empty",
    /// No content, but reasoning beside it.
    ReasoningOnly = "reasoning_only",
    /// A key that stands twice in the reply.
    DuplicateKey = "duplicate_key",
    /// A required key that is not there.
    MissingKey = "missing_key",
    /// A text where a list belongs.
    WrongType = "wrong_type",
    /// A verdict that is no word of the schema.
    BadEnum = "bad_enum",
    /// A figure outside of its range.
    OutOfRange = "out_of_range",
    /// A figure that is `NaN`, which is not JSON.
    Nan = "nan",
    /// A sentence with a number that no claim holds, or a claim of the sent list that gets no verdict.
    MissingClaim = "missing_claim",
    /// A claim that comes twice.
    DuplicateClaim = "duplicate_claim",
    /// A claim that the answer does not make, or that was not sent.
    InventedClaim = "invented_claim",
    /// A quote that stands nowhere in the evidence.
    FabricatedQuote = "fabricated_quote",
    /// A quote that stands in another source than the one named.
    WrongSource = "wrong_source",
    /// A grounded claim without a quote.
    MissingQuote = "missing_quote",
    /// A source id that the trace lacks.
    UnknownSource = "unknown_source",
    /// Totals, a score or an overall verdict that do not follow from the claims.
    CountMismatch = "count_mismatch",
    /// A polite no as the content.
    Refusal = "refusal",
    /// A polite no in the message's `refusal` field, without content.
    RefusalField = "refusal_field",
    /// No content and finish reason `content_filter`.
    ContentFilter = "content_filter",
    /// The reply in a Markdown fence: odd, and no failure.
    Fenced = "fenced",
    /// The reply behind a block of thoughts that holds another one: odd, and no failure.
    Think = "think",
    /// No reply until the client leaves.
    Hang = "hang",
    /// One byte of the body every 100 ms.
    SlowDrip = "slow_drip",
    /// HTTP 429.
    Status429 = "status429",
    /// HTTP 429 with `Retry-After: 1`.
    Status429RetryAfter = "status429_retry_after",
    /// HTTP 500.
    Status500 = "status500",
    /// HTTP 529.
    Status529 = "status529",
    /// HTTP 401.
    Status401 = "status401",
    /// A body that ends before its announced length.
    CutBody = "cut_body",
    /// A page of HTML with status 200.
    Html200 = "html200",
    /// A content of 10 MiB.
    Huge = "huge",
    /// A body with bytes that are not UTF-8 inside the reply's text.
    BrokenUtf8 = "broken_utf8",
    /// A reply with an escaped NUL in its text: valid JSON that Postgres does not take.
    Nul = "nul",
}

/// Which faults, and what share of the calls each one spoils.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    rates: Vec<(Fault, f64)>,
}

/// A fault that cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FaultsError {
    /// There is no fault of this name.
    #[error("there is no fault `{name}`; the faults are {}", names())]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// The text is not `NAME=RATE` with a rate from 0 to 1.
    #[error("`{text}` is not NAME=RATE with a rate from 0 to 1")]
    Rate {
        /// The text that was given.
        text: String,
    },
    /// The same fault is given twice.
    #[error("fault `{0}` is given twice")]
    Twice(Fault),
    /// A call has at most one fault, so all rates together are at most 1.
    #[error("the rates of all faults together are more than 1")]
    Sum,
}

impl Faults {
    /// Reads `NAME=RATE` texts.
    ///
    /// A call has one fault at most: rates are shares of all calls, and together they are at most 1.
    ///
    /// # Errors
    /// On an unknown name (the error lists the known ones), a rate outside of 0 to 1, a name given twice,
    /// and rates that sum up to more than 1.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Faults, FaultsError> {
        let mut faults = Faults::default();
        for text in texts {
            let text = text.as_ref().trim();
            let wrong_rate = || FaultsError::Rate { text: text.to_owned() };
            let (name, rate) = text.split_once('=').ok_or_else(wrong_rate)?;
            let fault: Fault = name.trim().parse()?;
            let rate: f64 = rate.trim().parse().map_err(|_| wrong_rate())?;
            if !(0.0..=1.0).contains(&rate) {
                return Err(wrong_rate());
            }
            if faults.rates.iter().any(|(known, _)| *known == fault) {
                return Err(FaultsError::Twice(fault));
            }
            faults.rates.push((fault, rate));
        }
        let sum: f64 = faults.rates.iter().map(|(_, rate)| rate).sum();
        // Ten times 0.1 is a little more than 1 in floating point.
        if 1.0 + 1e-9 < sum { Err(FaultsError::Sum) } else { Ok(faults) }
    }

    /// A single fault in every call.
    pub fn always(fault: Fault) -> Faults {
        Faults { rates: vec![(fault, 1.0)] }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty()
    }

    /// The fault of a call, if any.
    pub(crate) fn draw(&self, dice: &mut Dice) -> Option<Fault> {
        let mut share = dice.share();
        self.rates.iter().find_map(|(fault, rate)| {
            share -= rate;
            (share < 0.0).then_some(*fault)
        })
    }
}

impl FromStr for Fault {
    type Err = FaultsError;

    fn from_str(name: &str) -> Result<Fault, FaultsError> {
        let known = Fault::ALL.iter().find(|fault| fault.as_str() == name);
        known.copied().ok_or_else(|| FaultsError::Unknown { name: name.to_owned() })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn names() -> String {
    Fault::ALL.iter().map(|fault| fault.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for fault in Fault::ALL {
            assert_eq!(fault.as_str().parse(), Ok(*fault));
            assert_eq!(serde_json::to_value(fault).unwrap(), fault.as_str());
        }
    }

    #[test]
    fn wrong_settings_are_refused() {
        let error = |texts: &[&str]| Faults::parse(texts).unwrap_err();
        let unknown = error(&["hangs=0.1"]).to_string();
        assert!(
            unknown.contains("`hangs`") && unknown.contains("several_candidates, truncated"),
            "{unknown}"
        );
        for text in ["hang", "hang=", "hang=x", "hang=1.1", "hang=-0.1", "hang=NaN"] {
            assert_eq!(error(&[text]), FaultsError::Rate { text: text.into() });
        }
        assert_eq!(error(&["hang=0.1", "hang=0.2"]), FaultsError::Twice(Fault::Hang));
        assert_eq!(error(&["hang=0.6", "nul=0.6"]), FaultsError::Sum);
        assert!(Faults::parse(Fault::ALL.iter().take(10).map(|f| format!("{f}=0.1"))).is_ok());
        assert!(Faults::parse::<&str>([]).unwrap().is_empty());
    }

    #[test]
    fn each_fault_gets_its_share() {
        let faults = Faults::parse(["empty=0.1", " nul = 0.3 "]).unwrap();
        let drawn: Vec<_> =
            (0..10_000).map(|n| faults.draw(&mut Dice::new(1, &format!("t{n}"), 1))).collect();
        let count = |wanted| drawn.iter().filter(|fault| **fault == wanted).count();
        assert!((900..1100).contains(&count(Some(Fault::Empty))));
        assert!((2850..3150).contains(&count(Some(Fault::Nul))));
        let always = Faults::always(Fault::Hang);
        assert!((0..100).all(|n| always.draw(&mut Dice::new(n, "t", 1)) == Some(Fault::Hang)));
    }
}
