//! `groundcrew prompt examples`: what reviewers set right, as candidates for examples.

use std::io::Write as _;

use audit::kinds::Spec;
use audit::verify::nearest;
use audit::{kinds, text};
use serde::Serialize;
use serde_json::Value;
use store::Store;
use store::review::Corrected;

use crate::args::PromptExamples;
use crate::config::Settings;
use crate::examples::{Candidate, write};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::services;

/// What was written.
#[derive(Debug, Serialize)]
struct Answer {
    kind: trace::Kind,
    prompt: String,
    /// Candidates in the file.
    candidates: usize,
    /// Those that the judge had missed.
    missed: usize,
    /// Those without a passage.
    without_evidence: usize,
    /// Corrections that are left out: the judge has one word for both verdicts.
    left_out: usize,
}

/// Writes the candidates; nothing of them is in use.
pub(crate) async fn run(args: &PromptExamples, settings: &Settings) -> Outcome {
    let spec = kinds::find(args.kind).map_err(Failure::usage)?;
    let prompt = settings.runner.prompts.current(args.kind).map_err(Failure::usage)?.base().to_owned();
    if args.out.exists() {
        return Err(exists(args));
    }
    let store = services::store(settings).await?;
    let corrected = store
        .corrected(args.kind, args.project.as_deref(), args.since, args.practice, args.limit)
        .await
        .map_err(services::database)?;
    let mut candidates = Vec::with_capacity(corrected.len());
    let (corrected, same): (Vec<Corrected>, Vec<Corrected>) =
        corrected.into_iter().partition(|claim| is_lesson(spec, claim));
    for claim in corrected {
        let evidence = evidence(&store, spec, &claim).await?;
        candidates.push(candidate(claim, evidence));
    }
    store.close().await;
    save(args, &write(args.kind, &prompt, &candidates))?;
    let count = |is: fn(&Candidate) -> bool| candidates.iter().filter(|it| is(it)).count();
    let answer = Answer {
        kind: args.kind,
        prompt,
        candidates: candidates.len(),
        missed: count(|it| it.judged_verdict.is_none()),
        without_evidence: count(|it| it.evidence.is_none()),
        left_out: same.len(),
    };
    let mut output = Output::new();
    if args.json.json {
        output.json(&answer);
        return Ok(());
    }
    output.line(format!(
        "{} candidates for {}, {} of them missed by the judge, {} without a passage, in {}",
        answer.candidates,
        answer.prompt,
        answer.missed,
        answer.without_evidence,
        args.out.display()
    ));
    if answer.left_out > 0 {
        output.line(format!(
            "{} corrections are left out: another severity, or a verdict for which the judge has the same word",
            answer.left_out
        ));
    }
    output.line("all of them are marked as unreviewed: read, change or remove each before the file is used");
    Ok(())
}

/// Whether a correction tells the judge another word than its own.
fn is_lesson(spec: &Spec, claim: &Corrected) -> bool {
    let word = |verdict: &str| audit::Verdict::parse(verdict).map(spec.word);
    claim.judged_verdict.as_deref().is_none_or(|judged| word(judged) != word(&claim.verdict))
}

fn exists(args: &PromptExamples) -> Failure {
    Failure::usage(format!("{} exists, and may hold what somebody has reviewed", args.out.display()))
        .hint("name another file")
}

/// Nobody's review is overwritten, also when the file came about meanwhile.
fn save(args: &PromptExamples, text: &str) -> Outcome {
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::failed(format!("cannot write {}: {error}", args.out.display()))
    };
    let folder = args.out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| ".".as_ref()))
        .map_err(|error| cannot(&error))?;
    file.write_all(text.as_bytes()).map_err(|error| cannot(&error))?;
    match file.persist_noclobber(&args.out) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(args)),
        Err(error) => Err(cannot(&error)),
    }
}

/// The passage that the claim was held against: the judge's quotes, else what of the evidence comes nearest.
async fn evidence(
    store: &Store,
    spec: &Spec,
    claim: &Corrected,
) -> Result<Option<(String, &'static str)>, Failure> {
    let quotes: Vec<&str> = claim
        .evidence
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|evidence| evidence.get("quote").and_then(Value::as_str))
        .collect();
    if !quotes.is_empty() {
        return Ok(Some((quotes.join("\n"), "quote")));
    }
    let payload = store.payload_of(claim.audit_id).await.map_err(services::database)?;
    // A message that is gone, or cannot be read any more, leaves the passage to whoever reviews.
    let Some(trace) = payload.and_then(|payload| trace::decode(&payload).ok()) else { return Ok(None) };
    let passages = spec.basis.passages(&trace);
    Ok(nearest(&passages, &claim.text)
        .map(|(at, span)| (text::slice(passages[at].text, span).to_owned(), "nearest")))
}

fn candidate(claim: Corrected, evidence: Option<(String, &'static str)>) -> Candidate {
    Candidate {
        claim: claim.text,
        evidence,
        verdict: claim.verdict,
        severity: claim.severity,
        judged_verdict: claim.judged_verdict,
        judged_severity: claim.judged_severity,
        note: claim.notes.join("\n"),
        review_item: claim.review_item.to_string(),
        project: claim.project,
        trace_id: claim.trace_id,
        judged_under: claim.prompt_version,
        ruled_by: claim.reviewers,
    }
}
