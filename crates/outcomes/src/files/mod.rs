//! The formats of a run's files.
//!
//! Each is made of a head, one part per audit and a foot, so that whoever writes it needs no more memory than one
//! audit takes. All text of traces is foreign: it is escaped for the format it goes into.

pub mod csv;
pub mod html;
pub mod junit;

use serde::{Deserialize, Serialize};
use trace::Problem;

use crate::record::Place;

/// A line that is no trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Malformed {
    /// Where it stands.
    pub place: Place,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

impl Malformed {
    /// What is wrong with it, on one line.
    pub fn in_words(&self) -> String {
        let words = self.problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message));
        words.collect::<Vec<_>>().join("; ")
    }
}
