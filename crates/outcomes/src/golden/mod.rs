//! How audits stand to people's labels.
//!
//! *Positive* means **not faithful**: what an audit is there to find. A case that could not be judged is never counted
//! as right: it stands among the wrong ones, and how many there are is said as coverage.
//!
//! [`case`] is one labelled case and what audits said about it, [`statistics`] has the formulas with their sources,
//! [`overlap`] the baseline that every judge is held against, [`align`] pairs labelled claims with the judge's,
//! [`reviewed`] makes cases of closed reviews, [`figures`] puts them together, [`requirement`] reads `kappa>=0.6`, and [`sweep`] looks for the settings that meet a
//! wanted precision.

pub mod align;
pub mod case;
pub mod figures;
pub mod overlap;
pub mod requirement;
pub mod reviewed;
pub mod statistics;
pub mod sweep;

pub use case::{Case, Run, Said};
pub use figures::{Figures, Limits};
pub use requirement::Requirement;
