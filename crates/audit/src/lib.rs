//! What Groundcrew decides, as pure functions: kinds, prompts, reading replies, verification,
//! scoring, retry policy and routing. No I/O, no clock, no randomness of its own.
//!
//! The life of one audit in this crate:
//! [`rules`] (does a rule decide without the judge?) → [`units`] (what each call covers) →
//! [`prompt`] (what is asked) → [`reply`] (is the answer well-formed?) → [`verify`] (is it
//! consistent with the trace?) → [`policy`] (accept, ask again, or give up?) → [`report`] (one
//! report for all kinds) → [`compare`] (with a person's label) → [`routing`] (who has to see it?).
//! Before each call [`spend`] says whether the project may pay for it.

pub mod assess;
pub mod compare;
pub mod evidence;
pub mod gate;
pub mod kinds;
pub mod policy;
pub mod prompt;
pub mod record;
pub mod reply;
pub mod report;
pub mod review;
pub mod routing;
pub mod rules;
pub mod spend;
pub mod text;
pub mod units;
pub mod verify;

pub use assess::{Assessment, Outcome, assess};
pub use evidence::{Basis, Passage};
pub use report::{
    Claim, Confidence, Discrepancy, Doubt, Evidence, Fabrication, MatchGrade, Omission, Report, Role,
    Severity, Span, Verdict,
};
pub use units::{SentClaim, Unit};
