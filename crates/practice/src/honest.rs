//! The honest answer: a baseline made of word overlap, numbers, names and negations.
//!
//! What it finds is the same for every kind; `shape` puts it into a kind's words.

mod align;
mod analysis;
mod sentences;
mod verdict;
mod words;

pub(crate) use analysis::{Analysis, Claim, Omission, Verdict};
pub(crate) use audit::prompt::{Blocks, blocks as read_prompt};

use align::Evidence;
use sentences::{claims, without_citations};
use words::Words;

/// At most this many omissions are listed: the baseline sees relevance by words only and is often wrong.
const MAX_OMISSIONS: usize = 3;

/// Weighs the claims that were sent, or else those of the section, or else those of the whole answer.
pub(crate) fn judge(blocks: &Blocks) -> Analysis<'_> {
    let evidence = Evidence::new(&blocks.evidence);
    let source_ids: Vec<&str> = blocks.evidence.iter().map(|block| block.source_id.as_str()).collect();
    let listed: Vec<(String, String)> = match &blocks.claims {
        Some(sent) => sent.iter().map(|claim| (claim.id.clone(), claim.text.clone())).collect(),
        None => (1_usize..)
            .map(|number| number.to_string())
            .zip(claims(&blocks.answer, blocks.section.as_deref(), &source_ids))
            .collect(),
    };
    let weigh = |(id, text): (String, String)| {
        let words = Words::of(&without_citations(text.clone(), &source_ids));
        verdict::on(id, text, &words, &evidence)
    };
    Analysis { claims: listed.into_iter().map(weigh).collect(), omissions: omissions(blocks, &evidence) }
}

/// Fewer words than this that question and passage share are a coincidence.
const MIN_SHARED_WORDS: usize = 3;

/// Sentences of the evidence that hold most words of the question and hardly any of the answer.
fn omissions<'a>(blocks: &'a Blocks, evidence: &Evidence<'a>) -> Vec<Omission<'a>> {
    let question = Words::of(&blocks.question);
    let answer = Words::of(&blocks.answer);
    if question.content.len() < MIN_SHARED_WORDS || answer.content.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Omission<'a>> = Vec::new();
    for sentence in evidence.sentences() {
        let shared = question.content.intersection(&sentence.words.content).count();
        let relevant = MIN_SHARED_WORDS <= shared && 0.6 <= question.found_in(&sentence.words);
        let told = 0.3 <= sentence.words.found_in(&answer);
        if relevant && !told && found.iter().all(|omission| omission.passage != sentence.text) {
            found.push(Omission { passage: sentence.text });
        }
    }
    found.truncate(MAX_OMISSIONS);
    found
}

#[cfg(test)]
#[path = "honest/tests.rs"]
mod tests;
