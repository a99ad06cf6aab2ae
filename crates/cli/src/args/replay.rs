//! The arguments of `groundcrew replay`.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use clap::{Args, Subcommand};
use trace::Kind;

use super::{Json, Lane, kinds};

#[derive(Debug, Subcommand)]
pub(crate) enum Replay {
    Replies(ReplayReplies),
    Traces(ReplayTraces),
    Compare(ReplayCompare),
}

/// Which stored audits are meant.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Only of this project.
    #[arg(long, value_parser = filled)]
    pub(crate) project: Option<String>,
    /// Only of this kind.
    #[arg(long, value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// Only audits that ended at or after this time: 2026-05-04, or 2026-05-04T09:15:00Z.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<DateTime<Utc>>,
    /// Only audits that ended before this time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<DateTime<Utc>>,
    /// At most this many audits, those that ended last first.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: u32,
}

/// Read stored replies again under the present rules.
///
/// Takes the judge's words as they are stored, and runs reading and verification on them as a worker would today.
/// Says how many replies keep their class and which do not, with the codes of what is wrong now. No judge is asked
/// and nothing that is stored is changed. Exits with 1 when a reply would be classed otherwise.
#[derive(Debug, Args)]
pub(crate) struct ReplayReplies {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Judge stored traces again, each as a new generation.
///
/// For a new prompt, or another judge. Takes the audits whose last generation has ended and that a judge was asked
/// about, says what they took the last time, and sends nothing without --yes. The traces go to the queue, where any
/// worker takes them; with --here this process asks its own judge, one trace after another, which need not be the
/// workers'. Old results stay: `groundcrew replay compare` shows both.
#[derive(Debug, Args)]
pub(crate) struct ReplayTraces {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The prompt to ask with; needs --kind. Without it each worker takes its current one.
    #[arg(long, value_name = "VERSION", requires = "kind", value_parser = filled)]
    pub(crate) prompt: Option<String>,
    /// The queue that they wait in.
    #[arg(long, value_enum, default_value_t = Lane::Bulk)]
    pub(crate) lane: Lane,
    /// Ask the judge of this process's configuration, and not through the queue.
    #[arg(long, conflicts_with = "lane")]
    pub(crate) here: bool,
    /// Do it. This costs about as much as the last time.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Show audits that were made again beside the generation before.
///
/// The view analytics.generations has more columns.
#[derive(Debug, Args)]
pub(crate) struct ReplayCompare {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Reads a time, or a day for its beginning in UTC.
pub(super) fn time(text: &str) -> Result<DateTime<Utc>, String> {
    let day = || Some(text.parse::<NaiveDate>().ok()?.and_time(NaiveTime::MIN).and_utc());
    text.parse()
        .ok()
        .or_else(day)
        .ok_or_else(|| "expected a day (2026-05-04) or a time (2026-05-04T09:15:00Z)".to_owned())
}

/// Reads a text that selects: an empty one would select everything, or nothing.
pub(super) fn filled(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("is empty; say which, or leave the option out".to_owned());
    }
    Ok(text.to_owned())
}
