//! `groundcrew golden export`: closed reviews as golden cases.

use std::io::Write as _;

use audit::{Span, Verdict};
use outcomes::golden::reviewed::{ReportClaim, Review, case};
use serde::Serialize;
use store::review::Reviewed;

use crate::args::offline::GoldenExport;
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::{services, terminal};

/// Reviews that are read at once; each brings its message along.
const PAGE: u32 = 50;

/// What was written.
#[derive(Debug, Default, Serialize)]
struct Answer {
    /// Cases in the file.
    cases: usize,
    /// Those that are not faithful.
    unfaithful: usize,
    /// Reviews whose message was removed by age.
    removed: usize,
    /// Messages that cannot be read any more.
    failed: Vec<String>,
}

/// Writes the cases.
pub(crate) async fn run(args: &GoldenExport, settings: &Settings) -> Outcome {
    if args.out.exists() {
        return Err(exists(args));
    }
    let store = services::store(settings).await?;
    let folder = args.out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let file = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| ".".as_ref()));
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::failed(format!("cannot write {}: {error}", args.out.display()))
    };
    let mut file = std::io::BufWriter::new(file.map_err(|error| cannot(&error))?);
    let (mut answer, mut after) = (Answer::default(), None);
    loop {
        let page = store.reviewed(args.project.as_deref(), args.since, args.practice, after, PAGE).await;
        let page = page.map_err(services::database)?;
        let Some(last) = page.last() else { break };
        after = Some((last.closed_at, last.item));
        for reviewed in page {
            if let Some(line) = line(reviewed, &mut answer) {
                writeln!(file, "{line}").map_err(|error| cannot(&error))?;
            }
        }
    }
    store.close().await;
    let file = file.into_inner().map_err(|error| cannot(&error))?;
    if answer.cases > 0 {
        match file.persist_noclobber(&args.out) {
            Ok(_) => {}
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(exists(args));
            }
            Err(error) => return Err(cannot(&error)),
        }
    }
    let mut output = Output::new();
    if args.json.json {
        output.json(&answer);
    } else {
        print(&mut output, args, &answer);
    }
    if answer.failed.is_empty() { Ok(()) } else { Err(Failure::not_fine()) }
}

/// Cases may have been corrected by hand since they were written.
fn exists(args: &GoldenExport) -> Failure {
    Failure::usage(format!("{} exists, and is not replaced", args.out.display())).hint("name another file")
}

fn print(output: &mut Output, args: &GoldenExport, answer: &Answer) {
    for failed in &answer.failed {
        output.line(terminal::line(failed));
    }
    if answer.cases == 0 {
        output.line(format!("no cases: {} is not written", args.out.display()));
    } else {
        output.line(format!(
            "{} cases, {} of them not faithful, in {}",
            answer.cases,
            answer.unfaithful,
            args.out.display()
        ));
    }
    if answer.removed > 0 {
        output.line(format!(
            "left out, their messages were removed by age (retention.bodies_days): {}",
            answer.removed
        ));
    }
    if answer.cases > 0 {
        output.line("read them before you rely on them: `groundcrew golden run` audits them");
    }
}

fn line(reviewed: Reviewed, answer: &mut Answer) -> Option<String> {
    let Some(payload) = &reviewed.payload else {
        answer.removed += 1;
        return None;
    };
    let made = trace::decode(payload).map_err(|error| error.to_string()).and_then(|trace| {
        let faithful = reviewed.faithful;
        let case = case(trace, &review(&reviewed)?);
        Ok((faithful, serde_json::to_string(&case).map_err(|error| error.to_string())?))
    });
    match made {
        Ok((faithful, line)) => {
            answer.cases += 1;
            answer.unfaithful += usize::from(!faithful);
            Some(line)
        }
        Err(error) => {
            answer.failed.push(format!("review item {}: {error}", reviewed.item));
            None
        }
    }
}

fn review(reviewed: &Reviewed) -> Result<Review, String> {
    let place = |at: i64| usize::try_from(at).ok();
    let claims = reviewed.claims.iter().map(|(text, verdict, start, end)| {
        Ok(ReportClaim {
            text: text.clone(),
            verdict: Verdict::parse(verdict).ok_or_else(|| format!("the verdict `{verdict}` is unknown"))?,
            span: start
                .zip(*end)
                .and_then(|(start, end)| Some(Span { start: place(start)?, end: place(end)? })),
        })
    });
    Ok(Review {
        kind: reviewed.kind.parse::<trace::Kind>().map_err(|error| error.to_string())?,
        item: reviewed.item.to_string(),
        faithful: reviewed.faithful,
        reviewers: reviewed.reviewers.clone(),
        closed_at: reviewed.closed_at,
        claims: claims.collect::<Result<_, String>>()?,
        rulings: reviewed.rulings.clone(),
    })
}
