//! `groundcrew check reply`: would the worker accept this reply?

use std::collections::HashMap;

use audit::kinds::Listing;
use audit::routing::Circumstances;
use audit::{Assessment, Outcome as Verdict, Report, SentClaim, assess, kinds, units};
use serde::Deserialize;
use trace::{Readiness, Trace, completeness};

use crate::args::CheckReply;
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use crate::terminal;

use super::read;

/// Runs the worker's own code on a stored reply.
pub(crate) fn run(args: &CheckReply, settings: &Settings) -> Outcome {
    let trace = complete_trace(args, settings)?;
    let bytes = read(&args.reply)?;
    // What is no UTF-8 is replaced, as it is when a reply arrives over HTTP.
    let reply = String::from_utf8_lossy(&bytes);
    let spec = kinds::find(args.kind).map_err(Failure::usage)?;
    if let Some(ruled) = (spec.decide_by_rule)(&trace) {
        output::note(format!(
            "note: a worker would not ask a judge about this trace. {}",
            terminal::line(&ruled.overall_assessment)
        ));
    }
    let sent = claims(args)?;
    if sent.is_some() && spec.listing == Listing::ByJudge {
        output::note(format!(
            "note: --claims is not used: for {} the judge lists the claims itself.",
            args.kind
        ));
    }
    let unit = units::whole(spec, &trace, sent);
    let mut assessment =
        assess(args.kind, &trace, &unit, &reply, args.finish_reason.as_deref()).map_err(Failure::usage)?;
    if let Some(report) = &mut assessment.report {
        let policy = &settings.worker.project(&trace.project).routing;
        (spec.conclude)(report, &Circumstances::new(policy, &trace));
    }
    let mut output = Output::new();
    if args.json.json {
        output.json(&assessment);
    } else {
        print(&mut output, &assessment);
    }
    if assessment.outcome == Verdict::Accepted { Ok(()) } else { Err(Failure::not_fine()) }
}

/// The list of claims that the judge was sent: JSON Lines or one JSON array, of texts or of objects with `id` and `text`.
fn claims(args: &CheckReply) -> Result<Option<Vec<SentClaim>>, Failure> {
    let Some(path) = &args.claims else { return Ok(None) };
    let text = String::from_utf8(read(path)?)
        .map_err(|_| Failure::usage(format!("{}: is not UTF-8", path.display())))?;
    let whole: Result<Vec<Entry>, _> = serde_json::from_str(&text);
    let place = if whole.is_ok() { "claim" } else { "line" };
    let entries: Vec<(usize, Entry)> = match whole {
        Ok(entries) => (1..).zip(entries).collect(),
        Err(_) => text
            .lines()
            .zip(1..)
            .filter(|(line, _)| !line.trim().is_empty())
            .map(|(line, number)| {
                serde_json::from_str(line).map(|entry| (number, entry)).map_err(|error| {
                    let message = format!("{} line {number}: {error}", path.display());
                    Failure::usage(message).hint(
                        "each line is a JSON string, or an object with `id` and `text` (or `claim_id` and `claim_text`)",
                    )
                })
            })
            .collect::<Result<_, Failure>>()?,
    };
    let mut sent: Vec<SentClaim> = Vec::with_capacity(entries.len());
    let mut lines: HashMap<String, usize> = HashMap::new();
    for (at, (line, entry)) in entries.into_iter().enumerate() {
        let claim = match entry {
            Entry::Text(text) => SentClaim { id: (at + 1).to_string(), text, span: None },
            Entry::Numbered { id, text } => SentClaim { id: id.to_string(), text, span: None },
            Entry::Claim(claim) => claim,
        };
        let refused = |what: String| Failure::usage(format!("{} {place} {line}: {what}", path.display()));
        if claim.text.trim().is_empty() {
            return Err(refused("the claim is blank".to_owned()));
        }
        if claim.id.trim().is_empty() {
            return Err(refused("the id is blank".to_owned()));
        }
        if let Some(first) = lines.insert(claim.id.clone(), line) {
            let id = claim.id.escape_debug();
            return Err(refused(format!(
                "the id `{id}` is that of {place} {first} as well; each has its own"
            )));
        }
        sent.push(claim);
    }
    Ok(Some(sent))
}

/// One claim of a file.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Entry {
    Text(String),
    Claim(SentClaim),
    Numbered {
        #[serde(alias = "claim_id")]
        id: u64,
        #[serde(alias = "claim_text")]
        text: String,
    },
}

/// The trace as the worker would audit it, with relaxed fields filled in.
fn complete_trace(args: &CheckReply, settings: &Settings) -> Result<Trace, Failure> {
    let hint = format!("`groundcrew check trace {} --kind {}` says more", args.trace.display(), args.kind);
    let trace = trace::decode(&read(&args.trace)?).map_err(|error| {
        let first = error.problems.first().map(|problem| format!(": {}: {}", problem.path, problem.message));
        Failure::usage(format!("{error}{}", first.unwrap_or_default())).hint(hint.clone())
    })?;
    let requirements = &settings.worker.project(&trace.project).requirements;
    match completeness::check(&trace, args.kind, requirements) {
        Readiness::Complete(prepared) => Ok(prepared.trace),
        Readiness::Incomplete(problems) => {
            let first = problems.first().map(|problem| format!("{}: {}", problem.path, problem.message));
            let message = format!("the trace is incomplete: {}", first.unwrap_or_default());
            Err(Failure::usage(message).hint(hint))
        }
        Readiness::NotApplicable(why) => Err(Failure::usage(format!("the trace is not audited: {why}"))),
    }
}

fn print(output: &mut Output, assessment: &Assessment) {
    output.line(match assessment.outcome {
        Verdict::Accepted => "accepted: well-formed and consistent with the trace",
        Verdict::Format => "format: the reply is not well-formed",
        Verdict::Content => "content: the reply contradicts the trace or itself",
        Verdict::Refusal => "refusal: the judge declined",
    });
    for problem in &assessment.problems {
        let (path, message) = (terminal::line(&problem.path), terminal::line(&problem.message));
        output.line(format!("  {} at {path}: {message}", problem.code.as_str()));
    }
    if let Some(report) = &assessment.report {
        print_report(output, report);
    }
}

fn print_report(output: &mut Output, report: &Report) {
    if let Some(score) = report.score {
        output.line(format!("score {score:.2}"));
    }
    for (at, claim) in report.claims.iter().enumerate() {
        let severity = claim.severity.map(|severity| format!(", {}", severity.as_str())).unwrap_or_default();
        output.line(format!(
            "claim {at}: {}{severity}: {}",
            claim.verdict.as_str(),
            terminal::line(&claim.text)
        ));
        for evidence in &claim.evidence {
            let (source, quote) = (terminal::line(&evidence.source_id), terminal::line(&evidence.quote));
            output.line(format!("  {} ({}): \"{quote}\"", source, evidence.grade.as_str()));
        }
    }
    for omission in &report.omissions {
        let (fact, source) = (terminal::line(&omission.missing_fact), terminal::line(&omission.source_id));
        output.line(format!("omission: {fact} ({source})"));
    }
    for doubt in &report.doubts {
        output.line(format!(
            "doubt: {} at {}: {}",
            doubt.code,
            terminal::line(&doubt.path),
            terminal::line(&doubt.message)
        ));
    }
    for discrepancy in &report.discrepancies {
        let path = terminal::line(&discrepancy.path);
        output.line(format!(
            "discrepancy at {path}: the judge says {}, the claims add up to {}",
            discrepancy.judge, discrepancy.ours
        ));
    }
    for note in &report.notes {
        output.line(format!("note: {}", terminal::line(note)));
    }
}
