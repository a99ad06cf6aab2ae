//! Is a well-formed reply consistent with the trace? Quotes against the evidence, claims against
//! the answer, numbers against both. The parts know nothing of kinds; each kind puts them together.

mod absence;
mod alterations;
mod borders;
mod check;
mod claims;
mod courtesy;
mod elision;
mod exchanged;
mod following;
mod ids;
mod listed;
mod measures;
mod near;
mod nearest;
mod pointers;
mod pronouns;
mod quotes;
mod senses;
mod told;

pub use absence::{is_absent, says_absent};
pub use alterations::Alteration;
pub use check::{Check, Field, Judged};
pub(crate) use claims::declines;
pub use claims::{Answer, Checked};
pub(crate) use courtesy::is_courtesy;
pub use listed::Listed;
pub use nearest::nearest;
pub use quotes::{Corpus, Found, Missing, Scope};

use crate::text::{self, Form};

/// Why a quote carries little: too few words that mean something, and no number.
pub fn is_trivial(quote: &str) -> bool {
    const ENOUGH: usize = 3;
    !quote.chars().any(|c| text::chars::digit(c).is_some())
        && text::content_words(quote).len() < ENOUGH
        && text::numbers(quote).iter().all(|number| number.form == Form::Incidental)
}
