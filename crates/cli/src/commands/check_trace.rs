//! `groundcrew check trace`: is it complete enough to be audited?

use serde::Serialize;
use trace::{Problem, Readiness, completeness};

use crate::args::CheckTrace;
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::terminal;

use super::read;

/// What a trace turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Complete,
    Incomplete,
    NotApplicable,
    Undecodable,
}

#[derive(Debug, Serialize)]
struct Answer {
    result: Verdict,
    problems: Vec<Problem>,
}

/// Reads one trace and says what is missing.
pub(crate) fn run(args: &CheckTrace, settings: &Settings) -> Outcome {
    let body = read(&args.file)?;
    let answer = judge(&body, args, settings);
    let mut output = Output::new();
    if args.json.json {
        output.json(&answer);
    } else {
        print(&mut output, &answer, args);
    }
    if answer.result == Verdict::Complete { Ok(()) } else { Err(Failure::not_fine()) }
}

fn judge(body: &[u8], args: &CheckTrace, settings: &Settings) -> Answer {
    let trace = match trace::decode(body) {
        Ok(trace) => trace,
        Err(undecodable) => return Answer { result: Verdict::Undecodable, problems: undecodable.problems },
    };
    let requirements = &settings.worker.project(&trace.project).requirements;
    let (result, problems) = match completeness::check(&trace, args.kind, requirements) {
        Readiness::Complete(_) => (Verdict::Complete, Vec::new()),
        Readiness::Incomplete(problems) => (Verdict::Incomplete, problems),
        Readiness::NotApplicable(why) => (Verdict::NotApplicable, vec![Problem::new("$", why)]),
    };
    Answer { result, problems }
}

fn print(output: &mut Output, answer: &Answer, args: &CheckTrace) {
    let kind = args.kind;
    output.line(match answer.result {
        Verdict::Complete => format!("complete: this trace can be audited ({kind})"),
        Verdict::Incomplete => format!("incomplete: this trace will not be judged ({kind})"),
        Verdict::NotApplicable => format!("not applicable: this trace will not be judged ({kind})"),
        Verdict::Undecodable => "undecodable: this is not a trace and would become a dead letter".to_owned(),
    });
    for problem in &answer.problems {
        output.line(format!("  {}: {}", terminal::line(&problem.path), terminal::line(&problem.message)));
    }
}
