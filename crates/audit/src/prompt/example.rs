//! The examples of a prompt, and whether they keep its own rules.

use serde_json::json;
use trace::Trace;

use super::Prompt;
use crate::evidence::Basis;
use crate::kinds;
use crate::units;
use crate::{Outcome, assess};

/// One example of a prompt: an answer, its evidence, and the reply to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Example {
    /// Source ids and texts.
    pub evidence: Vec<(String, String)>,
    /// The answer.
    pub answer: String,
    /// The reply, JSON.
    pub reply: String,
}

impl Example {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut example = Self::default();
        for line in text.lines() {
            let (head, body) = line.split_once(": ")?;
            match head.split_once(' ') {
                Some(("evidence", id)) => example.evidence.push((id.to_owned(), body.to_owned())),
                None if head == "answer" => body.clone_into(&mut example.answer),
                None if head == "reply" => body.clone_into(&mut example.reply),
                _ => return None,
            }
        }
        Some(example)
    }
}

impl Example {
    /// The example as a trace of the kind's basis.
    fn trace(&self, basis: Basis) -> Result<Trace, String> {
        let documents: Vec<_> = self
            .evidence
            .iter()
            .zip(1..)
            .map(|((id, text), rank)| match basis {
                Basis::Retrieval => json!({ "source_id": id, "text": text, "rank": rank }),
                Basis::Reference => json!({ "source_id": id, "text": text }),
            })
            .collect();
        let mut trace = json!({
            "schema": trace::SCHEMA, "trace_id": "example", "project": "prompts",
            "query": "What is true?", "answer": self.answer,
        });
        match basis {
            Basis::Retrieval => trace["retrieval"] = json!({ "chunks": documents }),
            Basis::Reference => trace["reference"] = json!(documents),
        }
        trace::decode(trace.to_string().as_bytes()).map_err(|error| error.to_string())
    }
}

impl Prompt {
    /// What is wrong with the prompt's examples: each reply must be accepted for its answer and evidence, without
    /// a doubt, a discrepancy or a note, and one of them must show a finding beside something grounded.
    pub fn check_examples(&self) -> Vec<String> {
        let examples = self.examples();
        let mut problems: Vec<String> = Vec::new();
        let Ok(spec) = kinds::find(self.kind) else {
            return vec!["this version cannot run the kind".to_owned()];
        };
        let (mut findings, mut grounded) = (0, 0);
        for (example, number) in examples.iter().zip(1..) {
            let trace = match example.trace(spec.basis) {
                Ok(trace) => trace,
                Err(why) => {
                    problems.push(format!("example {number}: {why}"));
                    continue;
                }
            };
            let unit = units::whole(spec, &trace, None);
            let Ok(assessment) = assess(self.kind, &trace, &unit, &example.reply, Some("stop")) else {
                continue;
            };
            problems.extend(assessment.problems.iter().map(|problem| {
                format!(
                    "example {number}: {} at {}: {}",
                    problem.code.as_str(),
                    problem.path,
                    problem.message
                )
            }));
            let Some(report) = assessment.report.filter(|_| assessment.outcome == Outcome::Accepted) else {
                continue;
            };
            findings += report.findings().count();
            grounded += report.claims.len() - report.findings().count();
            problems.extend(
                report
                    .doubts
                    .iter()
                    .map(|doubt| format!("example {number}: doubt {} at {}", doubt.code, doubt.path)),
            );
            problems.extend(
                report
                    .discrepancies
                    .iter()
                    .map(|it| format!("example {number}: {} does not add up", it.path)),
            );
        }
        if findings == 0 || grounded == 0 {
            problems.push("no example shows a fabrication beside what is grounded".to_owned());
        }
        problems
    }
}
