//! The honest answer: a baseline made of word overlap, numbers, names and negations.

mod align;
mod report;
mod sentences;
mod verdict;
mod words;

pub(crate) use audit::prompt::{Blocks, blocks as read_prompt};
pub(crate) use report::{ClaimAnalysis, OmissionFlag, Report};

use align::Evidence;
use sentences::claims;
use words::Words;

/// At most this many omissions are listed: the baseline sees relevance by words only and is often wrong.
const MAX_OMISSIONS: usize = 3;

/// Audits the section, or the whole answer where there is no section.
pub(crate) fn judge(blocks: &Blocks) -> Report {
    let evidence = Evidence::new(&blocks.evidence);
    let audited = blocks.section.as_deref().unwrap_or(&blocks.answer);
    let source_ids: Vec<&str> = blocks.evidence.iter().map(|block| block.source_id.as_str()).collect();
    let analyses = claims(audited, &source_ids).iter().map(|claim| verdict::on(claim, &evidence)).collect();
    Report::new(analyses, omissions(blocks, &evidence))
}

/// Fewer words than this that question and passage share are a coincidence.
const MIN_SHARED_WORDS: usize = 3;

/// Sentences of the evidence that hold most words of the question and hardly any of the answer.
fn omissions(blocks: &Blocks, evidence: &Evidence<'_>) -> Vec<OmissionFlag> {
    let question = Words::of(&blocks.question);
    let answer = Words::of(&blocks.answer);
    if question.content.len() < MIN_SHARED_WORDS || answer.content.is_empty() {
        return Vec::new();
    }
    let mut flags: Vec<OmissionFlag> = Vec::new();
    for sentence in evidence.sentences() {
        let shared = question.content.intersection(&sentence.words.content).count();
        let relevant = MIN_SHARED_WORDS <= shared && 0.6 <= question.found_in(&sentence.words);
        let told = 0.3 <= sentence.words.found_in(&answer);
        if relevant && !told && flags.iter().all(|flag| flag.source_passage != sentence.text) {
            flags.push(OmissionFlag {
                omitted_fact: sentence.text.to_owned(),
                source_passage: sentence.text.to_owned(),
                relevance: "The passage shares most words with the question and few with the answer.".into(),
            });
        }
    }
    flags.truncate(MAX_OMISSIONS);
    flags
}

#[cfg(test)]
#[path = "honest/tests.rs"]
mod tests;
