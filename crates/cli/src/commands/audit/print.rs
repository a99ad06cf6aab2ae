//! What a run prints: what was found, then what it adds up to.

use std::path::PathBuf;

use audit::Verdict;
use outcomes::conclusion::{Conclusion, number};
use outcomes::files::Malformed;
use outcomes::{Change, Missed, Record, Standing, Tally, thresholds};
use serde_json::json;
use trace::Kind;

use crate::commands::table;
use crate::output::Output;
use crate::terminal;

/// Rows that are kept for the table; a run over a large file may have any number.
const ROWS: usize = 200;

/// What was found, one row each.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<[String; 4]>,
    more: u64,
}

impl Table {
    /// Adds what an audit found.
    pub(super) fn add(&mut self, record: &Record, missed: &[Missed]) {
        for (result, what) in lines(record, missed) {
            if self.rows.len() >= ROWS {
                self.more += 1;
                continue;
            }
            self.rows.push([
                terminal::cut(&terminal::line(&record.trace_id), 32),
                record.kind.as_str().to_owned(),
                result,
                terminal::line(&what),
            ]);
        }
    }

    fn print(&self, output: &mut Output) {
        if self.rows.is_empty() {
            return;
        }
        table::lines(["trace", "kind", "result", "what"], &self.rows)
            .iter()
            .for_each(|line| output.line(line));
        if self.more > 0 {
            output.line(format!("… and {} more rows; --out FILE keeps all", self.more));
        }
        output.line("");
    }
}

/// The rows of an audit: none where nothing was found.
fn lines(record: &Record, missed: &[Missed]) -> Vec<(String, String)> {
    if record.standing() != Standing::Judged {
        return vec![(record.disposition.as_str().to_owned(), record.why_not_judged())];
    }
    let finding = |claim: &audit::Claim| {
        let severity = claim.severity.map(|severity| format!(" ({})", severity.as_str())).unwrap_or_default();
        let word = match claim.verdict {
            Verdict::InsufficientEvidence => "unclear",
            verdict => verdict.as_str(),
        };
        let gap = match claim.explanation.trim() {
            "" => String::new(),
            gap => format!(" – {gap}"),
        };
        (format!("{word}{severity}"), format!("{}{gap}", claim.text))
    };
    let threshold = |missed: &Missed| {
        let known = if missed.known { ", as in the earlier run" } else { "" };
        ("missed".to_owned(), format!("{}: it is {}{known}", missed.threshold, number(missed.value)))
    };
    record.findings().map(finding).chain(missed.iter().map(threshold)).collect()
}

/// Everything that the end of a run says.
pub(super) struct Summary<'a> {
    pub(super) name: &'a str,
    pub(super) tally: &'a Tally,
    pub(super) thresholds: &'a [thresholds::Verdict],
    pub(super) conclusion: &'a Conclusion,
    pub(super) malformed: &'a [Malformed],
    pub(super) malformed_total: u64,
    pub(super) duplicates: u64,
    pub(super) written: &'a [PathBuf],
}

/// Prints the end of a run.
pub(super) fn summary(summary: &Summary<'_>, found: &Table, is_json: bool) {
    let mut output = Output::new();
    if is_json {
        output.json(&json!({
            "schema": "groundcrew.run/v1",
            "input": summary.name,
            "result": summary.conclusion.result,
            "why": summary.conclusion.why,
            "thresholds": summary.thresholds,
            "tally": summary.tally,
            "malformed": summary.malformed,
            "malformed_total": summary.malformed_total,
            "duplicates": summary.duplicates,
            "files": summary.written,
        }));
        return;
    }
    found.print(&mut output);
    counts(&mut output, summary);
    for verdict in summary.thresholds {
        output.line(format!("threshold {}", in_words(verdict)));
    }
    for path in summary.written {
        output.line(format!("written: {}", terminal::line(&path.display().to_string())));
    }
    if summary.tally.practice > 0 {
        output.line("practice judge: no model was asked; these verdicts prove nothing");
    } else if summary.tally.uncalibrated > 0 {
        output.line("uncalibrated: no golden run is on record here for this kind, prompt and judge");
    }
    output.line(format!("result: {}", summary.conclusion.result.as_str()));
    for why in &summary.conclusion.why {
        output.line(format!("  {}", terminal::line(why)));
    }
    if summary.thresholds.is_empty() && summary.tally.changes.is_empty() && summary.tally.audits > 0 {
        output.line("  no threshold is given: findings fail nothing (--fail-on 'contradicted>0')");
    }
}

fn counts(output: &mut Output, summary: &Summary<'_>) {
    let tally = summary.tally;
    let dispositions: Vec<String> = tally
        .dispositions
        .iter()
        .map(|(disposition, count)| format!("{count} {}", disposition.as_str()))
        .collect();
    let mut extra = Vec::new();
    if summary.malformed_total > 0 {
        extra.push(format!("{} no traces", summary.malformed_total));
    }
    if summary.duplicates > 0 {
        extra.push(format!("{} came before", summary.duplicates));
    }
    if tally.resumed > 0 {
        extra.push(format!("{} from the earlier start", tally.resumed));
    }
    let extra = if extra.is_empty() { String::new() } else { format!(" ({})", extra.join(", ")) };
    let ended = if dispositions.is_empty() { "nothing".to_owned() } else { dispositions.join(", ") };
    output.line(format!("{}: {} audits: {ended}{extra}", terminal::line(summary.name), tally.audits));
    output.line(format!(
        "claims: {} grounded, {} contradicted, {} unsupported, {} unclear; {} omissions",
        tally.verdict(Verdict::Grounded),
        tally.verdict(Verdict::Contradicted),
        tally.verdict(Verdict::Unsupported),
        tally.verdict(Verdict::InsufficientEvidence),
        tally.omissions
    ));
    for (kind, mean) in &tally.scores {
        let Some(value) = mean.mean else { continue };
        output.line(format!(
            "{}: mean {} over {} audits; not in it: {} decided by a rule, {} without a score",
            score_name(*kind),
            number(value),
            mean.scored,
            mean.by_rule,
            mean.not_scored
        ));
    }
    if !tally.changes.is_empty() {
        output.line(format!(
            "against the earlier run: {} worse, {} better, {} the same, {} new",
            tally.change(Change::Worse),
            tally.change(Change::Better),
            tally.change(Change::Same),
            tally.change(Change::New)
        ));
    }
    if tally.disagreements > 0 {
        output.line(format!("people's labels: {} audits say otherwise", tally.disagreements));
    }
    if tally.cost.calls > 0 {
        let cost = if tally.practice > 0 { "nothing (practice)".to_owned() } else { tally.cost.in_words() };
        output.line(format!(
            "{} calls, {} tokens in and {} out; cost: {cost}",
            tally.cost.calls, tally.cost.prompt_tokens, tally.cost.completion_tokens
        ));
    }
}

/// What a kind's number is called in thresholds.
fn score_name(kind: Kind) -> &'static str {
    match kind {
        Kind::HallucinationEval => "groundedness (percent)",
        Kind::EvidenceCheck => "hallucination_ratio",
        kind => kind.as_str(),
    }
}

fn in_words(verdict: &thresholds::Verdict) -> String {
    let project =
        verdict.project.as_ref().map(|name| format!(" ({})", terminal::line(name))).unwrap_or_default();
    let name = format!("{}{project}", verdict.threshold);
    let known = if verdict.known > 0 { format!(", {} of them known", verdict.known) } else { String::new() };
    let state = if verdict.fails() { "missed" } else { "kept" };
    match verdict.value {
        _ if verdict.looked_at == 0 => format!("{name}: no audit has this number"),
        Some(value) => format!("{name}: {state}, it is {}", number(value)),
        None if verdict.missed == 0 => format!("{name}: kept by all {}", verdict.looked_at),
        None => format!("{name}: {state}, by {} of {}{known}", verdict.missed, verdict.looked_at),
    }
}
