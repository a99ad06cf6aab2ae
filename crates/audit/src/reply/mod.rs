//! Reading a judge's reply: from text to one JSON object, and from the object to typed fields.

mod extract;
mod fields;
mod groups;
mod refusal;

pub use extract::{Extracted, extract};
pub use fields::Fields;

use serde::Serialize;

/// One thing that is wrong with a reply. The codes are a promise to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Which rule was broken.
    pub code: Code,
    /// JSON path in the judge's reply.
    pub path: String,
    /// What was wrong and what is expected; fit to be sent back to the judge.
    pub message: String,
}

impl Problem {
    /// A problem at `path`.
    pub fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, path: path.into(), message: message.into() }
    }
}

/// The problem codes of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// No JSON that could be meant.
    NotJson,
    /// Several different JSON objects that could be meant.
    SeveralCandidates,
    /// The reply stops before its end.
    Truncated,
    /// No text, or reasoning only.
    Empty,
    /// A key that is given twice.
    DuplicateKey,
    /// A required key, or a required value, is missing.
    MissingKey,
    /// A value of another type.
    WrongType,
    /// A word outside the allowed ones.
    BadEnum,
    /// A number outside its range.
    OutOfRange,
    /// A claim of the list that was sent has no verdict.
    MissingClaim,
    /// The same claim twice.
    DuplicateClaim,
    /// A claim that the answer does not make.
    InventedClaim,
    /// No claim has the number or date of a sentence.
    UncoveredSentence,
    /// A quote that stands nowhere in the evidence.
    FabricatedQuote,
    /// A quote that stands in another source than the one named.
    WrongSource,
    /// A grounded claim without a quote.
    MissingQuote,
    /// A source id that the trace lacks.
    UnknownSource,
    /// A summary that contradicts the claims it sums up.
    CountMismatch,
    /// The judge declined.
    Refused,
}

impl Code {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::SeveralCandidates => "several_candidates",
            Self::Truncated => "truncated",
            Self::Empty => "empty",
            Self::DuplicateKey => "duplicate_key",
            Self::MissingKey => "missing_key",
            Self::WrongType => "wrong_type",
            Self::BadEnum => "bad_enum",
            Self::OutOfRange => "out_of_range",
            Self::MissingClaim => "missing_claim",
            Self::DuplicateClaim => "duplicate_claim",
            Self::InventedClaim => "invented_claim",
            Self::UncoveredSentence => "uncovered_sentence",
            Self::FabricatedQuote => "fabricated_quote",
            Self::WrongSource => "wrong_source",
            Self::MissingQuote => "missing_quote",
            Self::UnknownSource => "unknown_source",
            Self::CountMismatch => "count_mismatch",
            Self::Refused => "refused",
        }
    }
}
