//! Commands that audit files and need no service.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, ValueEnum};
use outcomes::Threshold;
use outcomes::golden::Requirement;
use trace::Kind;

use super::{Json, kinds};
use crate::commands::audit::Target;

const AUDIT_HELP: &str = "\
Thresholds say what is not wanted: a name, one of < <= > >= = !=, and a number.
  contradicted>0         in any one answer; also unsupported, insufficient_evidence, findings,
                         claims, omissions, critical, major, minor, escalated, blocked
  faithfulness<0.8       the score of any one answer; also groundedness (percent),
                         hallucination_ratio, grounded_share
  total.unsupported>10   the sum over the run, of everything that is counted
  mean.faithfulness<0.9  the mean over the run; what a rule decided stays out of it
They are held against judged answers. docs/ci.md has examples for GitHub and GitLab.

Exit codes:
  0  everything was audited, and every threshold is kept
  1  a threshold is missed; with --baseline and no threshold: something has become worse
  2  wrong usage, no judge, or an empty file
  3  something could not be audited: the judge failed, a line is no trace, a trace is incomplete,
     the run was stopped, nothing was judged, or a threshold of the command line met no audit";

/// Which judge is asked.
#[derive(Debug, Args)]
pub(crate) struct JudgeChoice {
    /// Ask the practice judge, which runs inside this command and has no model. Its verdicts prove nothing.
    #[arg(long, value_enum, conflicts_with_all = ["judge_url", "judge_model"])]
    pub(crate) judge: Option<Named>,
    /// Where the judge's API begins, such as http://127.0.0.1:8000/v1. Everything else is as configured;
    /// the configured key goes along only if no other address is configured.
    #[arg(long, value_name = "URL")]
    pub(crate) judge_url: Option<String>,
    /// The model to ask for. With --judge-url it may be left out if the judge has only one.
    #[arg(long, value_name = "NAME")]
    pub(crate) judge_model: Option<String>,
    /// Audits in work at once; as judge.max_concurrency unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) concurrency: Option<u16>,
}

/// Judges that have a name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Named {
    /// The one without a model.
    Practice,
}

/// Audit traces from files, without any service.
///
/// Reads JSON Lines, a JSON array, one trace, or a folder of such files, and audits them with the worker's
/// own code; neither RabbitMQ nor Postgres is needed. A judge that gives no reply is asked three times, then
/// the audit ends judge_unavailable. Ctrl-C keeps what is done.
#[derive(Debug, Args)]
#[command(after_help = AUDIT_HELP)]
pub(crate) struct Audit {
    /// A file, a folder, or - for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Audit as this kind, whatever the traces say; may be given several times.
    #[arg(long, value_parser = kinds())]
    pub(crate) kind: Vec<Kind>,
    #[command(flatten)]
    pub(crate) judge: JudgeChoice,
    /// Write results to a file as well, by its ending: .jsonl, .csv, .xml (JUnit) or .html. FORMAT=FILE
    /// with jsonl, csv, junit or html takes any name. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Vec<Target>,
    /// Go on where an earlier run stopped: what the --out file in JSON Lines holds is not audited again.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Fail when this holds, such as contradicted>0; may be given several times. Those of the
    /// configuration (fail_on) hold as well.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_on: Vec<Threshold>,
    /// An earlier run (--out FILE.jsonl): what it missed as far already fails nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Let incomplete traces pass. They are counted all the same, and never judged.
    #[arg(long)]
    pub(crate) allow_incomplete: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Golden {
    Run(Box<GoldenRun>),
    Export(GoldenExport),
}

/// Write closed reviews as golden cases, each with its original trace.
///
/// What the reviewers decided becomes the label: for the whole answer, and for every claim that they ruled on or
/// added. Reviews that were dismissed, in which nobody could say, or in which opinions differ are left out.
#[derive(Debug, Args)]
pub(crate) struct GoldenExport {
    /// The file to write, one case per line. It appears when it is whole, and replaces one of that name.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Only of this project.
    #[arg(long, value_parser = super::replay::filled)]
    pub(crate) project: Option<String>,
    /// Only reviews that ended at or after this time: 2026-05-04, or 2026-05-04T09:15:00Z.
    #[arg(long, value_name = "TIME", value_parser = super::replay::time)]
    pub(crate) since: Option<DateTime<Utc>>,
    /// Also reviews of what the practice judge said.
    #[arg(long)]
    pub(crate) practice: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

const GOLDEN_HELP: &str = "\
Positive means not faithful. A case that could not be judged is never counted as right.

Figures that --require knows: kappa, kappa_low (lower bound of its 95 % interval), precision, recall,
f1, balanced_accuracy, accuracy, auc, coverage, paraphrase_missed, fabrication_passed, stability,
claim_kappa, overlap_auc. One that the run does not have meets no requirement.

Exit codes:
  0  every requirement is met, or none is given
  1  a requirement is not met
  2  wrong usage, no judge, or no labelled case
  3  nothing could be judged, the run was stopped, or the database does not answer";

/// Audit labelled traces and say how far the judge agrees with the labels.
///
/// A case is a trace with human_label.faithful true or false; the others are counted and left out.
/// metadata.category names what a case is made of. Prints the figures for each kind with the word-overlap
/// baseline beside them, and the cases that went wrong. With DATABASE_URL the run is kept in Postgres, and
/// one that covers nine of ten cases and meets its requirements lifts the mark `uncalibrated`.
#[derive(Debug, Args)]
#[command(after_help = GOLDEN_HELP)]
pub(crate) struct GoldenRun {
    /// A file, a folder, or - for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Measure this kind; may be given several times. Without it what each trace asks for.
    #[arg(long, value_parser = kinds())]
    pub(crate) kind: Vec<Kind>,
    #[command(flatten)]
    pub(crate) judge: JudgeChoice,
    /// Audit each case so often and say how far the runs agree. The other figures are the first run's.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=20))]
    pub(crate) repeat: u16,
    /// Exit with 1 unless this holds, such as kappa>=0.6; may be given several times.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) require: Vec<Requirement>,
    /// Look for the settings with the best recall at this precision or more, 0 to 1.
    #[arg(long, value_name = "PRECISION", num_args = 0..=1, default_missing_value = "0.9", value_parser = share)]
    pub(crate) sweep: Option<f64>,
    /// The largest share of reworded and faithful answers that may be flagged, 0 to 1. Given here, more exits with 1;
    /// without it 0.05 is only looked at.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) max_paraphrase_missed: Option<f64>,
    /// The largest share of made-up answers that may pass, 0 to 1. Given here, more exits with 1; without it 0.02 is
    /// only looked at.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) max_fabrication_passed: Option<f64>,
    /// Keep nothing in the database, even if one is configured.
    #[arg(long)]
    pub(crate) no_store: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

fn share(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a number from 0 to 1".to_owned())
}
