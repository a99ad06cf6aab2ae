//! Commands about prompts.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use trace::Kind;

use super::{Json, kinds};

#[derive(Debug, Subcommand)]
pub(crate) enum Prompt {
    List(PromptList),
    Show(PromptShow),
    Diff(PromptDiff),
    Check(PromptCheck),
    Examples(PromptExamples),
}

/// List every prompt: kind, version, hash, size, and which one new audits get.
#[derive(Debug, Args)]
pub(crate) struct PromptList {
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Print a prompt file, or with --trace what the judge would be sent for a trace.
#[derive(Debug, Args)]
pub(crate) struct PromptShow {
    /// A version, such as faithfulness-3, or a kind for its current prompt.
    #[arg(value_name = "VERSION|KIND")]
    pub(crate) prompt: String,
    /// File with a trace: print the messages of its first call.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Show how two prompts differ, line by line.
///
/// Exits with 0 when they are the same, with 1 when they differ.
#[derive(Debug, Args)]
pub(crate) struct PromptDiff {
    /// The older version, or a prompt file.
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// The newer version, or a prompt file.
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
}

/// Check prompt files before they are used.
///
/// Reads each file, and tries its examples with the worker's own code: every example reply must be accepted
/// for its answer and evidence. Of files with examples from rulings (*.toml) it says, line by line, what keeps
/// them from being used. Without files all prompts in force are checked. Exits with 0 only when all are sound.
#[derive(Debug, Args)]
pub(crate) struct PromptCheck {
    /// Prompt files, and files with examples from rulings.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Write what reviewers set right into a file, as candidates for examples in a prompt.
///
/// A candidate is a claim of a closed review to which people gave another verdict or another severity, or that
/// the judge missed, with its passage and their notes; where opinions differ it is left out. All are marked as
/// unreviewed, and a file with one that is unreviewed is used by nothing: read, change or remove each, then put
/// the file into the folder prompts.examples_dir. Existing files are never replaced.
#[derive(Debug, Args)]
pub(crate) struct PromptExamples {
    /// The audit kind.
    #[arg(long, value_parser = kinds())]
    pub(crate) kind: Kind,
    /// The file to write, such as faithfulness-2026-05.toml.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Only of this project.
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Only reviews that ended at or after this time: 2026-05-04, or 2026-05-04T09:15:00Z.
    #[arg(long, value_name = "TIME", value_parser = super::replay::time)]
    pub(crate) since: Option<DateTime<Utc>>,
    /// Also reviews of what the practice judge said.
    #[arg(long)]
    pub(crate) practice: bool,
    /// At most so many, those of the last reviews.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) json: Json,
}
