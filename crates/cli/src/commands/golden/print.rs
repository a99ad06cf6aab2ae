//! What a golden run prints.

use outcomes::conclusion::number;
use outcomes::golden::figures::{Agreement, Figures, Rate};
use outcomes::golden::statistics::Interval;
use outcomes::golden::sweep::Point;
use serde_json::json;

use crate::commands::table;
use crate::output::Output;
use crate::terminal;

use super::keep::Kept;
use super::{Book, Measured, Sweep};

/// Everything that is printed.
pub(super) struct Whole<'a> {
    pub(super) name: &'a str,
    pub(super) measured: &'a [Measured],
    pub(super) book: &'a Book,
    pub(super) kept: &'a Kept,
}

/// Prints a golden run.
pub(super) fn run(whole: &Whole<'_>, is_json: bool) {
    let mut output = Output::new();
    let why_not_kept = match whole.kept {
        Kept::Yes => None,
        Kept::No(why) => Some(why.as_str()),
    };
    if is_json {
        output.json(&json!({
            "schema": "groundcrew.golden/v1",
            "input": whole.name,
            "unlabelled": whole.book.unlabelled,
            "malformed": whole.book.malformed,
            "duplicates": whole.book.duplicates,
            "kinds": whole.measured,
            "stored": why_not_kept.is_none(),
            "why_not_stored": why_not_kept,
        }));
        return;
    }
    for measured in whole.measured {
        one(&mut output, measured);
        output.line("");
    }
    let Book { unlabelled, malformed, duplicates, .. } = whole.book;
    for (count, what) in [
        (unlabelled, "traces without a label were left out"),
        (malformed, "lines are no traces"),
        (duplicates, "cases came before and were left out"),
    ] {
        if *count > 0 {
            output.line(format!("{count} {what}"));
        }
    }
    match why_not_kept {
        None => {
            for measured in whole.measured {
                output.line(stored(measured));
            }
        }
        Some(why) => {
            output.line(format!("not stored: {why}; results stay marked as uncalibrated"));
        }
    }
}

fn stored(measured: &Measured) -> String {
    let what =
        format!("{} with {} and {}", measured.kind, measured.prompt_version, terminal::line(&measured.judge));
    if measured.calibrates {
        format!("stored: results of {what} are no longer marked as uncalibrated")
    } else {
        let why = measured.shortfalls.join("; ");
        format!("stored: results of {what} stay marked as uncalibrated: {why}")
    }
}

fn one(output: &mut Output, measured: &Measured) {
    let figures = &measured.figures;
    output.line(format!(
        "{}, prompt {}, judge {}{}",
        measured.kind,
        measured.prompt_version,
        terminal::line(&measured.judge),
        if measured.practice { " (practice: these figures say nothing about a real judge)" } else { "" }
    ));
    output.line(format!(
        "cases: {}, judged: {}, coverage {}; what was not judged counts as wrong",
        figures.cases,
        figures.judged,
        shown(figures.coverage)
    ));
    let rows = [row("judge", &figures.all), row("judge, judged cases only", &figures.judged_only)];
    let baseline = figures.overlap.best.map(|best| row("word overlap, best border", &best));
    let rows: Vec<[String; 7]> = rows.into_iter().chain(baseline).collect();
    let head = ["", "precision", "recall", "F1", "balanced accuracy", "kappa", "kappa, 95 %"];
    table::lines(head, &rows).iter().for_each(|line| output.line(line));
    overlap(output, figures);
    confusion(output, figures);
    output.line(rate(
        "paraphrase missed",
        "reworded answers flagged",
        "faithful answers flagged",
        &figures.paraphrase_missed,
    ));
    output.line(rate(
        "fabrication passed",
        "made-up answers passed",
        "unfaithful answers passed",
        &figures.fabrication_passed,
    ));
    if let Some(stability) = &figures.stability {
        output.line(format!(
            "stability over {} runs: {} of {} cases always the same; mean flip rate {}",
            stability.runs,
            shown(stability.unanimous),
            stability.cases,
            shown(stability.mean_flip_rate)
        ));
    }
    if let Some(claims) = &figures.claims {
        output.line(format!(
            "single claims: {} labelled, {} without a partner; balanced accuracy {}, kappa {}",
            claims.agreement.confusion.total(),
            claims.unmatched,
            shown(claims.agreement.balanced_accuracy),
            shown(claims.agreement.kappa)
        ));
    }
    let cost = if measured.practice { "nothing (practice)".to_owned() } else { measured.cost.in_words() };
    output.line(format!("{} calls; cost: {cost}", measured.cost.calls));
    categories(output, figures);
    wrong(output, figures);
    if let Some(sweep) = &measured.sweep {
        swept(output, sweep);
    }
    for checked in &measured.requirements {
        let state = if checked.met { "met" } else { "NOT met" };
        output.line(format!("requirement {}: {state}, it is {}", checked.requirement, shown(checked.value)));
    }
}

fn row(name: &str, agreement: &Agreement) -> [String; 7] {
    [
        name.to_owned(),
        shown(agreement.precision),
        shown(agreement.recall),
        shown(agreement.f1),
        shown(agreement.balanced_accuracy),
        shown(agreement.kappa),
        agreement
            .kappa_interval
            .map_or("-".to_owned(), |Interval { low, high }| format!("{low:.2} to {high:.2}")),
    ]
}

fn overlap(output: &mut Output, figures: &Figures) {
    output.line(format!(
        "area under the curve: judge {}, word overlap {} (0.5 is chance)",
        shown(figures.auc),
        shown(figures.overlap.auc)
    ));
    if let Some(border) = figures.overlap.border {
        output.line(format!(
            "  the overlap's border ({} of the words missing) was chosen for the best balanced accuracy on these very \
             cases, which flatters it",
            number(border)
        ));
    }
}

fn confusion(output: &mut Output, figures: &Figures) {
    let judged = figures.judged_only.confusion;
    let all = figures.all.confusion;
    let row = |name: &str, flagged: u64, passed: u64, not_judged: u64| {
        [name.to_owned(), flagged.to_string(), passed.to_string(), not_judged.to_string()]
    };
    let rows = [
        row(
            "not faithful",
            judged.true_positive,
            judged.false_negative,
            all.false_negative - judged.false_negative,
        ),
        row(
            "faithful",
            judged.false_positive,
            judged.true_negative,
            all.false_positive - judged.false_positive,
        ),
    ];
    table::lines(["label", "flagged", "passed", "not judged"], &rows)
        .iter()
        .for_each(|line| output.line(line));
}

fn rate(name: &str, of_category: &str, of_label: &str, rate: &Rate) -> String {
    let interval = rate
        .interval
        .map_or(String::new(), |Interval { low, high }| format!(", 95 %: {low:.3} to {high:.3}"));
    let state = match rate.share {
        None => "no such case",
        Some(_) if rate.is_kept() => "kept",
        Some(_) => "NOT kept",
    };
    format!(
        "{name}: {} ({} of {} {}{interval}); limit {}: {state}",
        shown(rate.share),
        rate.part,
        rate.whole,
        if rate.by_category { of_category } else { of_label },
        number(rate.limit)
    )
}

fn categories(output: &mut Output, figures: &Figures) {
    let rows: Vec<[String; 4]> = figures
        .categories
        .iter()
        .map(|(name, category)| {
            [
                terminal::line(name),
                category.cases.to_string(),
                category.right.to_string(),
                category.not_judged.to_string(),
            ]
        })
        .collect();
    table::lines(["category", "cases", "right", "not judged"], &rows)
        .iter()
        .for_each(|line| output.line(line));
}

fn wrong(output: &mut Output, figures: &Figures) {
    if figures.wrong.is_empty() {
        output.line("no case went wrong");
        return;
    }
    output.line(format!("cases that went wrong: {}", figures.wrong.len()));
    let rows: Vec<[String; 4]> = figures
        .wrong
        .iter()
        .map(|wrong| {
            [
                terminal::line(&wrong.trace_id),
                terminal::line(wrong.category.as_deref().unwrap_or("-")),
                if wrong.faithful { "faithful" } else { "not faithful" }.to_owned(),
                terminal::line(&wrong.said),
            ]
        })
        .collect();
    table::lines(["trace", "category", "label", "the audit says"], &rows)
        .iter()
        .for_each(|line| output.line(line));
}

fn swept(output: &mut Output, sweep: &Sweep) {
    output.line(format!("settings, by recall (wanted precision {}):", number(sweep.precision)));
    let rows: Vec<[String; 6]> = sweep.points.iter().map(setting).collect();
    let head = ["findings that count", "flagged from", "precision", "recall", "balanced accuracy", "kappa"];
    table::lines(head, &rows).iter().for_each(|line| output.line(line));
    match &sweep.best {
        Some(point) => {
            let [counts, from, ..] = setting(point);
            output.line(format!("the best recall at this precision: {counts}, flagged from {from}"));
        }
        None => output.line("no setting reaches this precision"),
    }
}

fn setting(point: &Point) -> [String; 6] {
    [
        point.confidence.map_or("all".to_owned(), |floor| format!("confidence {} or more", floor.as_str())),
        if point.share > 0.0 {
            format!("{} of the claims", number(point.share))
        } else {
            "any finding".to_owned()
        },
        shown(point.agreement.precision),
        shown(point.agreement.recall),
        shown(point.agreement.balanced_accuracy),
        shown(point.agreement.kappa),
    ]
}

fn shown(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}
