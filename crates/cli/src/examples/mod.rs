//! Files with examples from rulings: written for people to review, and read once they have.
//!
//! TOML, one file for a kind. What is written is marked as unreviewed, and what is so marked is refused, so that
//! nothing a reviewer said, and nothing out of a trace, gets into a prompt by itself.

mod file;
mod write;

pub(crate) use file::read;
pub(crate) use write::{Candidate, write};

/// What names the format.
pub(crate) const SCHEMA: &str = "groundcrew.examples/v1";

/// The word of an example that nobody has looked at, and of one that somebody has.
const UNREVIEWED: &str = "unreviewed";
const REVIEWED: &str = "reviewed";

/// Examples of one file. They go along with every call.
const MOST: usize = 20;

/// Characters of all of them together.
const MOST_CHARS: usize = 20_000;
