//! What ended audits add up to, as pure functions: thresholds, comparison with an earlier run, agreement with
//! people's labels, and the files that show it. No I/O, no clock.
//!
//! [`record`] is one ended audit as a line of a file. [`measures`] are the numbers that it yields, [`thresholds`] are
//! conditions on them, [`baseline`] holds them against an earlier run, [`tally`] adds them up, and [`conclusion`]
//! says what follows for whoever waits. [`files`] has the formats; [`golden`] measures audits against labels.

pub mod baseline;
pub mod conclusion;
pub mod condition;
pub mod files;
pub mod golden;
pub mod highlight;
pub mod measures;
pub mod record;
pub mod tally;
pub mod thresholds;

pub use baseline::{Baseline, Change};
pub use conclusion::Conclusion;
pub use measures::{Measures, Metric};
pub use record::{Cost, Place, Record, SCHEMA, Standing};
pub use tally::Tally;
pub use thresholds::{Missed, Projects, Rule, Threshold, Watch};
