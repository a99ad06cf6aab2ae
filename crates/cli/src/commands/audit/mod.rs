//! `groundcrew audit`: traces from files, without any service.

mod earlier;
mod engine;
mod goal;
mod judge;
mod one;
mod out;
mod print;
mod progress;

use std::path::Path;
use std::sync::Arc;

use outcomes::conclusion::{self, Circumstances, Conclusion};
use outcomes::files::Malformed;
use outcomes::{Baseline, Change, Projects, Record, Rule, Tally, Watch};

use crate::args::offline::Audit;
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output;
use crate::signals::{self, Insist};
use crate::terminal;

pub(crate) use engine::{Audited, Engine, Event};
pub(crate) use judge::choose;
pub(crate) use one::Bench;
pub(crate) use out::Target;
pub(crate) use progress::Progress;

use earlier::Earlier;
use goal::Goal;
use out::Files;

/// Malformed lines that are kept for the lists; all of them are counted.
const MALFORMED_KEPT: usize = 100;

/// Everything that a run adds up to.
struct Book {
    tally: Tally,
    watch: Watch,
    malformed: Vec<Malformed>,
    malformed_total: u64,
    empty: Vec<String>,
    duplicates: u64,
    files: Files,
    table: print::Table,
    progress: Progress,
}

/// Audits everything and says what follows.
pub(crate) async fn run(args: &Audit, settings: &Settings) -> Outcome {
    let rules = rules(args, settings);
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    let fails_on_change = baseline.is_some() && rules.is_empty();
    keep_apart(args)?;
    let chosen = choose(&args.judge, settings).await?;
    let input = Input::open(&args.file, settings.worker.max_message_bytes)?;
    let earlier = if args.resume { Some(Earlier::of(&args.out)?) } else { None };
    let stop = signals::stop_token(Insist::ForADrain).map_err(Failure::failed)?;
    let mut book = Book {
        tally: Tally::default(),
        watch: Watch::new(rules, baseline),
        malformed: Vec::new(),
        malformed_total: 0,
        empty: Vec::new(),
        duplicates: 0,
        files: Files::create(&args.out, args.resume)?,
        table: print::Table::default(),
        progress: Progress::new(input.total),
    };
    let name = input.name.clone();
    let bench = Bench::new(&chosen, settings, stop.clone());
    let engine = Engine {
        bench: Arc::new(bench),
        kinds: args.kind.clone(),
        repeats: None,
        concurrency: chosen.concurrency,
        earlier,
        labelled_only: false,
    };
    let ended = engine.run(input, |event, read| book.take(event, read)).await;
    book.progress.finish();
    chosen.stop().await;
    ended?;
    let circumstances = Circumstances {
        malformed: book.malformed_total,
        empty: u64::try_from(book.empty.len()).unwrap_or(u64::MAX),
        stopped: stop.is_cancelled(),
        allow_incomplete: args.allow_incomplete,
        fails_on_change,
    };
    conclude(book, &name, circumstances, args)
}

/// Results must not be written over what is read.
fn keep_apart(args: &Audit) -> Outcome {
    let mut goals = Vec::new();
    for target in &args.out {
        let goal = Goal::of(&target.path);
        let goal = goal.map_err(|error| {
            Failure::usage(format!("{} cannot be written: {error}", target.path.display()))
        })?;
        goals.push((goal, target.path.as_path(), target.format == out::Format::Jsonl));
    }
    goal::keep_apart(&goals, &args.file, &input::sources(&args.file)?, args.baseline.as_deref())
}

/// Writes what comes at the end, prints it, and gives the exit code.
fn conclude(book: Book, name: &str, circumstances: Circumstances, args: &Audit) -> Outcome {
    // There is nothing to say about nothing.
    if book.tally.audits == 0 && book.malformed_total == 0 && !circumstances.stopped {
        return Err(input::empty(name));
    }
    let thresholds = book.watch.verdicts();
    let conclusion = conclusion::conclude(&book.tally, &thresholds, circumstances);
    let overview = outcomes::files::html::Overview {
        sources: &outcomes::files::html::title(name),
        made_at: chrono::Utc::now(),
        tally: &book.tally,
        thresholds: &thresholds,
        conclusion: &conclusion,
        malformed: &book.malformed,
        malformed_total: book.malformed_total,
    };
    let written = book.files.finish(&overview)?;
    print::summary(
        &print::Summary {
            name,
            tally: &book.tally,
            thresholds: &thresholds,
            conclusion: &conclusion,
            malformed: &book.malformed,
            malformed_total: book.malformed_total,
            duplicates: book.duplicates,
            written: &written,
        },
        &book.table,
        args.json.json,
    );
    if let Some(file) = book.empty.first() {
        return Err(input::empty(file));
    }
    exit(&conclusion)
}

fn exit(conclusion: &Conclusion) -> Outcome {
    match conclusion.result.code() {
        0 => Ok(()),
        1 => Err(Failure::not_fine()),
        _ => Err(Failure::not_made()),
    }
}

impl Book {
    fn take(&mut self, event: Event, read: u64) -> Result<(), Failure> {
        match event {
            Event::Audited(audited) => self.audited(&audited)?,
            Event::Malformed(malformed) => self.malformed(malformed)?,
            Event::Empty(file) => self.empty.push(file),
            Event::Duplicate => self.duplicates += 1,
            Event::Unlabelled => {}
        }
        self.progress.update(read, &self.tally);
        Ok(())
    }

    fn audited(&mut self, audited: &Audited) -> Result<(), Failure> {
        let Audited { record, trace, is_resumed } = audited;
        let change = self.watch.baseline().and_then(|baseline| baseline.change(record));
        let missed = self.watch.see(record);
        let is_worse = self.watch.is_empty() && change == Some(Change::Worse);
        self.tally.add(record, change);
        self.tally.resumed += u64::from(*is_resumed);
        self.table.add(record, &missed);
        self.files.audited(&out::Part {
            record,
            trace,
            missed: &missed,
            change,
            is_worse,
            is_resumed: *is_resumed,
        })
    }

    fn malformed(&mut self, malformed: Malformed) -> Result<(), Failure> {
        let place = format!("{}:{}", malformed.place.file, malformed.place.line);
        let words = terminal::line(&malformed.in_words());
        self.progress.above(|| output::note(format!("{}: is no trace: {words}", terminal::line(&place))));
        self.malformed_total += 1;
        self.files.malformed(&malformed)?;
        if self.malformed.len() < MALFORMED_KEPT {
            self.malformed.push(malformed);
        }
        Ok(())
    }
}

/// The thresholds of the command line, which hold for everybody, and those of the configuration.
fn rules(args: &Audit, settings: &Settings) -> Vec<Rule> {
    let given = args.fail_on.iter().map(|threshold| Rule {
        threshold: threshold.clone(),
        projects: Projects::All,
        must_apply: true,
    });
    given.chain(settings.fail_on.iter().cloned()).collect()
}

/// The numbers of an earlier run.
fn read_baseline(path: &Path) -> Result<Baseline, Failure> {
    let mut baseline = Baseline::default();
    let mut lines = 0_u64;
    earlier::each_line(path, |number, line, _| {
        let record = Record::parse(line).map_err(|error| {
            Failure::usage(format!("{} line {number} {error}", path.display()))
                .hint("--baseline takes what `groundcrew audit --out FILE.jsonl` wrote")
        })?;
        lines += 1;
        baseline.add(&record);
        Ok(())
    })?;
    if lines == 0 || baseline.is_empty() {
        return Err(Failure::usage(format!("{} holds no judged audit to compare with", path.display())));
    }
    Ok(baseline)
}
