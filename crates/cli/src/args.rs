//! What may be typed. Each command's text is written for somebody who has read nothing else.

mod desk;
mod notify;
mod prompt;
mod replay;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use trace::Kind;

pub(crate) mod offline;
pub(crate) use desk::{Desk, Token, TokenAdd, TokenList, TokenRevoke};
pub(crate) use notify::{Notify, NotifyTest, Send};
pub(crate) use prompt::{Prompt, PromptCheck, PromptDiff, PromptExamples, PromptList, PromptShow};
pub(crate) use replay::{Replay, ReplayCompare, ReplayReplies, ReplayTraces, Which};

/// Audits what RAG systems say: traces come in over RabbitMQ, a judge weighs each claim of the answer
/// against the retrieved evidence, results go to Postgres, and what is dangerous goes to people.
#[derive(Debug, Parser)]
#[command(name = "groundcrew", version, max_term_width = 100, subcommand_required = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Configuration file; without it ./groundcrew.toml is read if it exists.
    #[arg(long, global = true, value_name = "FILE", env = "GROUNDCREW_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Exit codes:
  0    done, and what was asked about is fine
  1    what was asked about is not fine, or the work failed
  2    wrong usage, wrong configuration, or a file that cannot be read
  3    a service could not be reached, or something could not be audited
  130  stopped by a second Ctrl-C or SIGTERM

Services are found by DATABASE_URL (Postgres), AMQP_URL (RabbitMQ) and GROUNDCREW_JUDGE__BASE_URL.
config.default.toml explains every setting; `groundcrew check config` shows the ones in force.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Worker(Worker),
    Desk(Desk),
    Notify(Notify),
    /// The tokens with which programs and small teams use the desk.
    #[command(subcommand)]
    Token(Token),
    Migrate(Migrate),
    Maintain(Maintain),
    Publish(Publish),
    Watch(Watch),
    Audit(Box<offline::Audit>),
    /// Measure a judge against people's labels.
    #[command(subcommand)]
    Golden(offline::Golden),
    /// Run the practice judge, which needs no model.
    #[command(subcommand)]
    Judge(Judge),
    /// Look at one trace and its audits.
    #[command(subcommand)]
    Trace(Trace),
    /// What waits for people.
    #[command(subcommand)]
    Review(Review),
    /// Read stored replies again under the present rules, or judge stored traces again.
    #[command(subcommand)]
    Replay(Replay),
    /// How full the queues are, and messages that were given up on.
    #[command(subcommand)]
    Queue(Queue),
    /// Check a trace, a judge's reply, the configuration or the services.
    #[command(subcommand)]
    Check(Check),
    /// The prompts that judges are asked with.
    #[command(subcommand)]
    Prompt(Prompt),
    /// Print the JSON Schema of what producers send.
    #[command(subcommand)]
    Schema(Schema),
}

/// Audit traces from the queue until stopped.
///
/// Any number of workers may run. On SIGTERM or Ctrl-C a worker takes no more deliveries, finishes those
/// it has in work (at most worker.drain_deadline_s) and ends with code 0; what is left goes back to the
/// broker. A second signal ends it at once with code 130. A judge must be configured.
#[derive(Debug, Args)]
pub(crate) struct Worker {
    /// Wait this many seconds for Postgres, its tables and RabbitMQ before giving up.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait_for: u64,
}

/// Bring the database's tables to this version.
///
/// Prints the migrations that were applied. Running it again does nothing, and several processes may
/// run it at the same time.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// Wait this many seconds for Postgres before giving up.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait_for: u64,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Remove what is over its age, and make room for what is to come.
///
/// Makes the partitions of the next weeks, drops those of bodies (messages, requests, raw replies) that are older
/// than retention.bodies_days, and removes sent messages, settled dead letters, old sums of usage, the desk's old access
/// log, and what receivers were told about items that were closed long ago. Results stay. Run it once a day, as the user that owns the tables. It may run at any time beside workers, and be interrupted.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Maintain {
    /// Say what would be removed, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Send traces from a file to the queue.
///
/// The file holds one trace per line (JSON Lines); blank lines are skipped. Every other line is sent
/// as it is, so that what is no trace ends among the dead letters where it can be looked at; --check
/// refuses such lines before anything is sent. The command waits until the broker has confirmed each
/// message and exits with 0 only when it confirmed all of them.
#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// JSON Lines file, or - for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How soon the results are wanted: each lane is a queue of its own.
    #[arg(long, value_enum, default_value_t = Lane::Normal)]
    pub(crate) lane: Lane,
    /// Send nothing unless every line is a trace; name the lines that are not.
    #[arg(long)]
    pub(crate) check: bool,
    /// Send only this share of the traces, 0 to 1; without a value, what the configuration says of each
    /// project (sample_rate). Project and trace id decide, as they do in the worker. Traces of the origins
    /// monitoring and user_report, and lines that are no traces, are sent in any case.
    #[arg(long, value_name = "RATE", num_args = 0..=1, require_equals = true, value_parser = share)]
    pub(crate) sample: Option<Option<f64>>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Print results as they are stored.
///
/// One line per audit and per dead letter, then, with --until-idle or on Ctrl-C, a summary: how many
/// ended how, what waits for people, what to look at next.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// End when every trace of --traces has a result or is a dead letter, or when nothing has
    /// happened for --idle-seconds. Without --traces only the latter.
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// Show only the traces of this JSON Lines file, those that were stored before as well.
    #[arg(long, value_name = "FILE")]
    pub(crate) traces: Option<PathBuf>,
    /// How long nothing must happen for --until-idle. Longer than the first delay of a delivery that
    /// could not be judged (queue.retry_tiers_s) and than one call of the judge.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) idle_seconds: u64,
    /// One JSON object per line: results, dead letters, and the summary at the end.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Judge {
    Practice(Practice),
}

/// Run a judge without a model, for demonstrations and tests.
///
/// It is an OpenAI-compatible server that compares words, numbers, names and negations of the answer
/// with the evidence. Its verdicts prove nothing; every result made with it says so. It can be told to
/// misbehave. Prints its URL and runs until SIGTERM or Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = faults())]
pub(crate) struct Practice {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// How long every reply takes at least, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) latency_ms: u64,
    /// How much longer a reply may take, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) latency_spread_ms: u64,
    /// Decides all that looks random; the same seed misbehaves in the same way.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Spoil this share of the calls, such as not_json=0.05; may be given several times.
    #[arg(long, value_name = "NAME=RATE")]
    pub(crate) fault: Vec<String>,
    /// Fixed replies for single traces: JSON Lines of {"trace_id": "...", "replies": [...]}.
    #[arg(long, value_name = "FILE")]
    pub(crate) canned: Option<PathBuf>,
    /// One fixed reply for every other trace: a file that holds its content.
    #[arg(long, value_name = "FILE")]
    pub(crate) canned_default: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    Show(Show),
}

/// Show a trace, its audits, claims and evidence, and what the judge was asked.
///
/// Each claim stands beside the evidence that was quoted for or against it. Text from outside is
/// printed with its control characters made visible.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The producer's trace id, or the id of an audit.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The project, where several have a trace of this id.
    #[arg(long, value_parser = replay::filled)]
    pub(crate) project: Option<String>,
    /// Show the judge's raw replies as well.
    #[arg(long)]
    pub(crate) attempts: bool,
    /// Show the whole request of this attempt, counted as in the list of attempts.
    #[arg(long, value_name = "N")]
    pub(crate) request: Option<usize>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Review {
    List(ReviewList),
}

/// List the open review items, urgent ones first.
#[derive(Debug, Args)]
pub(crate) struct ReviewList {
    /// Only of this project.
    #[arg(long, value_parser = replay::filled)]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    Status(Status),
    Pause(Pause),
    Resume(Resume),
    /// Messages that could not be processed and were put aside.
    #[command(subcommand)]
    Dead(Dead),
}

/// Stop all workers from taking deliveries.
///
/// Within a few seconds every worker stops consuming; what they have in work ends. Messages stay in their
/// queues, and a worker that starts meanwhile takes none. `groundcrew queue resume` ends it.
#[derive(Debug, Args)]
pub(crate) struct Pause {
    /// Why, for those who wonder.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Let all workers take deliveries again.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Say what waits and what is in work.
///
/// In each queue and delay tier: how many messages wait, how many workers have in work, and how old the
/// oldest can be at most. Whether the fleet is paused, which workers run, the outbox, open audits, dead letters.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    List(DeadList),
    Show(DeadShow),
    Replay(DeadReplay),
    Discard(DeadDiscard),
}

/// List dead letters, newest first.
#[derive(Debug, Args)]
pub(crate) struct DeadList {
    /// Only of this source: undecodable, oversized, unsupported_kind, delivery_limit, unroutable, failed.
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// Only of this status: open, replayed, discarded.
    #[arg(long, default_value = "open")]
    pub(crate) status: String,
    /// Only those whose reason contains this text, as --by-reason shows it.
    #[arg(long, value_name = "TEXT", value_parser = replay::filled)]
    pub(crate) reason: Option<String>,
    /// Only of this project.
    #[arg(long, value_parser = replay::filled)]
    pub(crate) project: Option<String>,
    /// Count them by source and reason, the most frequent first. Numbers in reasons are shown as #.
    #[arg(long)]
    pub(crate) by_reason: bool,
    /// At most this many.
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Show one dead letter: why it is one, its headers and its body.
#[derive(Debug, Args)]
pub(crate) struct DeadShow {
    /// Its id, from `groundcrew queue dead list`.
    pub(crate) id: uuid::Uuid,
    /// Write the body to standard output byte for byte, and nothing else.
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Send dead letters to the queue again.
///
/// Each goes to the lane it came from, as a new generation, so that it is audited even if it was before. The
/// message is written in the commit that marks the letter as replayed, and a worker sends it. Only open ones
/// are replayed, so two people who do it at once send one message.
#[derive(Debug, Args)]
pub(crate) struct DeadReplay {
    #[command(flatten)]
    pub(crate) which: WhichDead,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Which dead letters: by id, or all open ones that fit.
#[derive(Debug, Args)]
pub(crate) struct WhichDead {
    /// Ids, from `groundcrew queue dead list`.
    #[arg(required_unless_present_any = ["all", "source", "reason", "project"])]
    pub(crate) ids: Vec<uuid::Uuid>,
    /// Every open one.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
    /// Open ones of this source.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) source: Option<String>,
    /// Open ones whose reason contains this text, as `groundcrew queue dead list --by-reason` shows it.
    #[arg(long, value_name = "TEXT", conflicts_with = "ids", value_parser = replay::filled)]
    pub(crate) reason: Option<String>,
    /// Open ones of this project.
    #[arg(long, conflicts_with = "ids", value_parser = replay::filled)]
    pub(crate) project: Option<String>,
    /// At most this many, the oldest first.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) limit: Option<u32>,
}

/// Mark dead letters as done with, saying why.
#[derive(Debug, Args)]
pub(crate) struct DeadDiscard {
    #[command(flatten)]
    pub(crate) which: WhichDead,
    /// Why nothing more has to be done; kept with each of them.
    #[arg(long)]
    pub(crate) note: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Check {
    Trace(CheckTrace),
    Reply(CheckReply),
    Config(CheckConfig),
    Services(CheckServices),
}

/// Say whether a trace is complete enough to be audited.
///
/// Names every missing or doubtful field at once. Exits with 0 only when the trace is complete.
/// What a project may leave out comes from the configuration.
#[derive(Debug, Args)]
pub(crate) struct CheckTrace {
    /// File with one trace, or - for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The audit that is wanted.
    #[arg(long, default_value = "faithfulness", value_parser = kinds())]
    pub(crate) kind: Kind,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Judge a stored reply of a judge with the worker's own code.
///
/// Says whether a worker would accept the reply, and if not, why: format (not well-formed), content
/// (contradicts the trace or itself) or refusal (the judge declined). Exits with 0 only when it is
/// accepted. No judge is asked.
#[derive(Debug, Args)]
pub(crate) struct CheckReply {
    /// The audit that was asked for.
    #[arg(long, default_value = "faithfulness", value_parser = kinds())]
    pub(crate) kind: Kind,
    /// File with the trace that the reply is about, or - for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: PathBuf,
    /// File with the reply's text, byte for byte as the model gave it.
    #[arg(long, value_name = "FILE")]
    pub(crate) reply: PathBuf,
    /// File with the list of claims that the judge was sent, for the kind reference: a JSON array or JSON Lines,
    /// of texts or of objects with id and text. Without it every statement of the answer is a claim, numbered
    /// from 1.
    #[arg(long, value_name = "FILE")]
    pub(crate) claims: Option<PathBuf>,
    /// Why the model stopped, as the API said: stop, length, content_filter and so on.
    #[arg(long, value_name = "REASON")]
    pub(crate) finish_reason: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Print every setting and where it comes from.
///
/// Reads the configuration as a worker would. Secrets are not printed. Exits with 1 when something is
/// wrong, naming the key, its value and what is allowed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct CheckConfig {
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Try to reach Postgres, RabbitMQ and the judge.
///
/// For each: whether it is ready for a worker, and if not, what to do. Exits with 0 only when all are.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct CheckServices {
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// The JSON Schema of a trace, groundcrew.trace/v1.
    Trace,
}

/// Machine-readable output.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Json {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lane {
    /// Somebody waits for the result.
    Urgent,
    /// The usual one.
    Normal,
    /// Backfills without a deadline.
    Bulk,
}

impl From<Lane> for queue::Lane {
    fn from(lane: Lane) -> Self {
        match lane {
            Lane::Urgent => Self::Urgent,
            Lane::Normal => Self::Normal,
            Lane::Bulk => Self::Bulk,
        }
    }
}

/// Reads a share.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// Reads the name of an audit kind; `--help` lists them.
pub(crate) fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.iter().map(|kind| kind.as_str())).try_map(|word| word.parse::<Kind>())
}

/// The names that `--fault` knows.
fn faults() -> String {
    let names: Vec<&str> = practice::Fault::ALL.iter().map(|fault| fault.as_str()).collect();
    format!("Faults, of which each call has at most one:\n  {}", names.join(", "))
}
