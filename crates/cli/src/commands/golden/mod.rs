//! `groundcrew golden`: how far a judge agrees with people, and cases from what people decided.

pub(crate) mod export;
mod keep;
mod print;

use std::collections::BTreeMap;
use std::sync::Arc;

use outcomes::golden::figures::Figures;
use outcomes::golden::requirement::Checked;
use outcomes::golden::sweep::{self, Point};
use outcomes::golden::{Case, Limits};
use outcomes::{Record, Tally};
use serde::Serialize;
use trace::{Kind, Trace};

use crate::args::offline::GoldenRun;
use crate::commands::audit::{Audited, Bench, Engine, Event, Progress, choose};
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output;
use crate::signals::{self, Insist};
use crate::terminal;

/// Malformed lines that are named; all are counted.
const MALFORMED_NAMED: u64 = 20;

/// The cases of one kind, with the prompt and the judge that were measured.
#[derive(Debug)]
struct Group {
    prompt_version: String,
    judge: String,
    practice: bool,
    cases: Vec<Case>,
    tally: Tally,
}

/// What is said about one kind.
#[derive(Debug, Serialize)]
struct Measured {
    kind: Kind,
    prompt_version: String,
    judge: String,
    practice: bool,
    figures: Figures,
    requirements: Vec<Checked>,
    /// The settings with the best recall at the wanted precision; none where no settings reach it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sweep: Option<Sweep>,
    cost: outcomes::Cost,
    /// Whether the run lifts the mark `uncalibrated`, if it is kept.
    calibrates: bool,
    /// Why it does not.
    shortfalls: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Sweep {
    precision: f64,
    best: Option<Point>,
    points: Vec<Point>,
}

/// Share of the cases that must have been judged before a run says anything about a judge.
const ENOUGH_COVERAGE: f64 = 0.9;

/// Cases without which a run says nothing about a judge.
const ENOUGH_CASES: u64 = 20;

/// Everything that was read.
#[derive(Debug, Default)]
struct Book {
    groups: BTreeMap<Kind, Group>,
    unlabelled: u64,
    malformed: u64,
    duplicates: u64,
    tally: Tally,
}

/// Audits the labelled cases and prints the figures.
pub(crate) async fn run(args: &GoldenRun, settings: &Settings) -> Outcome {
    keep::check(args, settings).await?;
    let chosen = choose(&args.judge, settings).await?;
    let input = Input::open(&args.file, settings.worker.max_message_bytes)?;
    let name = input.name.clone();
    let stop = signals::stop_token(Insist::ForADrain).map_err(Failure::failed)?;
    let engine = Engine {
        bench: Arc::new(Bench::new(&chosen, settings, stop.clone())),
        kinds: args.kind.clone(),
        repeats: Some(args.repeat.into()),
        concurrency: chosen.concurrency,
        earlier: None,
        labelled_only: true,
    };
    let mut book = Book::default();
    let progress = Progress::new(input.total);
    let ended = engine
        .run(input, |event, read| {
            book.take(event, &progress);
            progress.update(read, &book.tally);
            Ok(())
        })
        .await;
    progress.finish();
    chosen.stop().await;
    ended?;
    if book.groups.is_empty() && !stop.is_cancelled() {
        return Err(no_case(&name, &book));
    }
    let measured: Vec<Measured> = std::mem::take(&mut book.groups)
        .into_iter()
        .map(|(kind, group)| measure(kind, group, args))
        .collect();
    let kept = if stop.is_cancelled() {
        Ok(keep::Kept::No("the run was stopped".to_owned()))
    } else {
        keep::keep(&measured, &name, args, settings).await
    };
    // The figures are paid for: they are shown even where they could not be kept.
    let (kept, failure) = match kept {
        Ok(kept) => (kept, None),
        Err(failure) => (keep::Kept::No(failure.message()), Some(failure)),
    };
    print::run(&print::Whole { name: &name, measured: &measured, book: &book, kept: &kept }, args.json.json);
    failure.map_or_else(|| exit(&measured, &book, stop.is_cancelled()), Err)
}

/// An unmet requirement is certain; a run that could not look at everything is no success either.
fn exit(measured: &[Measured], book: &Book, is_stopped: bool) -> Outcome {
    if is_stopped || measured.iter().all(|measured| measured.figures.judged == 0) {
        return Err(Failure::not_made());
    }
    let is_met = measured.iter().flat_map(|measured| &measured.requirements).all(|checked| checked.met);
    match (is_met, book.malformed) {
        (false, _) => Err(Failure::not_fine()),
        (true, 0) => Ok(()),
        (true, _) => Err(Failure::not_made()),
    }
}

fn no_case(name: &str, book: &Book) -> Failure {
    if book.unlabelled + book.malformed == 0 {
        return input::empty(name);
    }
    Failure::usage(format!(
        "{name} holds no labelled case: {} traces have no label, {} lines are no traces",
        book.unlabelled, book.malformed
    ))
    .hint("a case is a trace with human_label.faithful true or false")
}

impl Book {
    fn take(&mut self, event: Event, progress: &Progress) {
        match event {
            Event::Audited(audited) => {
                let Audited { record, trace, .. } = *audited;
                self.tally.add(&record, None);
                self.audited(&record, &trace);
            }
            Event::Malformed(malformed) => {
                self.malformed += 1;
                if self.malformed <= MALFORMED_NAMED {
                    let line = format!(
                        "{}:{}: is no trace: {}",
                        malformed.place.file,
                        malformed.place.line,
                        malformed.in_words()
                    );
                    progress.above(|| output::note(terminal::line(&line)));
                }
            }
            Event::Duplicate => self.duplicates += 1,
            Event::Unlabelled => self.unlabelled += 1,
            Event::Empty(file) => {
                progress.above(|| output::note(format!("{} holds no trace", terminal::line(&file))));
            }
        }
    }

    fn audited(&mut self, record: &Record, trace: &Trace) {
        let group = self.groups.entry(record.kind).or_insert_with(|| Group {
            prompt_version: record.prompt_version.clone(),
            judge: record.judge.clone(),
            practice: record.practice,
            cases: Vec::new(),
            tally: Tally::default(),
        });
        group.tally.add(record, None);
        // The runs of one case follow each other.
        let is_same = |case: &&mut Case| case.place == record.place && case.trace_id == record.trace_id;
        if record.repeat > 0
            && let Some(case) = group.cases.last_mut().filter(is_same)
        {
            case.add(trace, record);
        } else if let Some(mut case) = Case::of(trace, record.kind, record.place.clone()) {
            case.add(trace, record);
            group.cases.push(case);
        }
    }
}

fn measure(kind: Kind, group: Group, args: &GoldenRun) -> Measured {
    let defaults = Limits::default();
    let limits = Limits {
        paraphrase_missed: args.max_paraphrase_missed.unwrap_or(defaults.paraphrase_missed),
        fabrication_passed: args.max_fabrication_passed.unwrap_or(defaults.fabrication_passed),
    };
    let figures = Figures::of(&group.cases, limits);
    let mut requirements: Vec<Checked> =
        args.require.iter().map(|requirement| requirement.check(&figures)).collect();
    // A limit that somebody names is one to keep.
    for (name, limit, rate) in [
        ("paraphrase_missed", args.max_paraphrase_missed, &figures.paraphrase_missed),
        ("fabrication_passed", args.max_fabrication_passed, &figures.fabrication_passed),
    ] {
        if let Some(limit) = limit {
            let requirement = format!("{name}<={limit}");
            requirements.push(Checked { requirement, value: rate.share, met: rate.is_kept() });
        }
    }
    let shortfalls = shortfalls(&figures, group.practice, &requirements);
    Measured {
        kind,
        prompt_version: group.prompt_version,
        judge: group.judge,
        practice: group.practice,
        sweep: args.sweep.map(|precision| {
            let points = sweep::points(&group.cases);
            Sweep { precision, best: sweep::for_precision(&points, precision), points }
        }),
        figures,
        requirements,
        cost: group.tally.cost,
        calibrates: shortfalls.is_empty(),
        shortfalls,
    }
}

/// Why a run does not calibrate a judge: what is known about it is too little, or speaks against it.
fn shortfalls(figures: &Figures, is_practice: bool, requirements: &[Checked]) -> Vec<String> {
    let mut why = Vec::new();
    if is_practice {
        why.push("it has no model".to_owned());
    }
    if figures.cases < ENOUGH_CASES {
        why.push(format!("fewer than {ENOUGH_CASES} cases"));
    }
    if figures.coverage.is_none_or(|coverage| coverage < ENOUGH_COVERAGE) {
        why.push(format!("fewer than {} of 100 cases were judged", ENOUGH_COVERAGE * 100.0));
    }
    let table = figures.all.confusion;
    if table.true_positive + table.false_negative == 0 || table.true_negative + table.false_positive == 0 {
        why.push("the cases are all faithful, or all not".to_owned());
    }
    let limits = [
        ("paraphrase missed", &figures.paraphrase_missed),
        ("fabrication passed", &figures.fabrication_passed),
    ];
    let missed = limits.iter().filter(|(_, rate)| rate.share.is_some_and(|share| share > rate.limit));
    why.extend(missed.map(|(name, rate)| format!("{name} is above its limit of {}", rate.limit)));
    let unmet = requirements.iter().filter(|checked| !checked.met);
    why.extend(unmet.map(|checked| format!("{} is not met", checked.requirement)));
    why
}
