//! The sentences of evidence and answers.

use std::collections::HashSet;

use audit::text::{self, Sentence};

use super::words::Words;

/// Phrases that say nothing about the matter. They begin a sentence, in lower case.
const POLITE: [&str; 9] = [
    "i hope this helps",
    "hope this helps",
    "let me know",
    "feel free",
    "sure!",
    "certainly!",
    "you are welcome!",
    "you're welcome",
    "thank you",
];

/// The claims of an answer, or of a section of it: its statements without list and citation marks, each once.
///
/// Questions, headings, lead-ins and polite phrases say nothing that evidence could bear out.
pub(super) fn claims(answer: &str, section: Option<&str>, source_ids: &[&str]) -> Vec<String> {
    let mut seen = HashSet::new();
    sentences_of(answer, section)
        .into_iter()
        .filter(Sentence::is_statement)
        .map(|sentence| without_citations(sentence.text, source_ids))
        .filter(|claim| is_claim(claim) && seen.insert(claim.clone()))
        .collect()
}

/// The sentences of the section as they read in the whole answer: a list or a fence may have begun before it.
fn sentences_of(answer: &str, section: Option<&str>) -> Vec<Sentence> {
    let Some(section) = section else { return text::sentences(answer) };
    let Some(at) = answer.find(section) else { return text::sentences(section) };
    let start = answer[..at].chars().count();
    let covered = start..start + section.chars().count();
    let mut sentences = text::sentences(answer);
    sentences.retain(|sentence| covered.contains(&sentence.span.start));
    sentences
}

/// The sentences of a chunk, letter for letter as they stand in it.
pub(super) fn passages(chunk: &str) -> Vec<&str> {
    // Spans count characters; one walk through the chunk turns them all into bytes.
    let mut starts: Vec<usize> = chunk.char_indices().map(|(at, _)| at).collect();
    starts.push(chunk.len());
    let byte = |at: usize| starts.get(at).copied().unwrap_or(chunk.len());
    let sentences = text::sentences(chunk);
    sentences
        .iter()
        .filter_map(|sentence| chunk.get(byte(sentence.span.start)..byte(sentence.span.end)))
        .collect()
}

/// Takes source ids in brackets out: for a reader they are citations, whatever they look like.
pub(super) fn without_citations(mut claim: String, source_ids: &[&str]) -> String {
    for id in source_ids.iter().filter(|id| !id.is_empty()) {
        claim = claim.replace(&format!(" [{id}]"), "").replace(&format!("[{id}]"), "");
    }
    claim.trim().to_owned()
}

fn is_claim(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_polite = POLITE.iter().any(|phrase| lower.starts_with(phrase));
    // A number is a matter of fact, however politely it is told.
    !text::numbers(text).is_empty() || !is_polite && !Words::of(text).content.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_statements_without_their_marks() {
        let answer = "Sure! Here is what I found:\n\n## Opening hours\n\n1. The gate opens at 10:00 [1].\n\
            2) Entry is 8 euro [gate-3][gate-4]. [2]\n- **Dogs** are [not] allowed [rules].\n\nIs that all?\n\
            The gate opens at 10:00 [2].\nI hope this helps.";
        assert_eq!(
            claims(answer, None, &["gate-3", "gate-4", "rules"]),
            ["The gate opens at 10:00.", "Entry is 8 euro.", "Dogs are [not] allowed."]
        );
        assert_eq!(
            claims("Thank you for buying 5 tickets. Thank you for the visit.", None, &[]),
            ["Thank you for buying 5 tickets."]
        );
    }

    #[test]
    fn a_section_is_read_in_its_place() {
        let answer = "The gate opens at 10:00.\n```\nlet entry = 8;\n```\nDogs are allowed.";
        assert_eq!(claims(answer, Some("```\nDogs are allowed."), &[]), ["Dogs are allowed."]);
        assert_eq!(claims(answer, Some("Cats are allowed."), &[]), ["Cats are allowed."]);
    }

    #[test]
    fn passages_are_parts_of_their_chunk() {
        for chunk in [
            "Größe: 5 m. **Ja**, [1] gewiß.\n\n- 東京は首都です。人口は1400万人です。",
            "",
            "\n",
            "a\u{300} b. ü",
        ] {
            for passage in passages(chunk) {
                assert!(chunk.contains(passage) && passage.trim() == passage, "{passage}");
            }
        }
        assert_eq!(passages("東京は首都です。人口は1400万人です。").len(), 2);
    }
}
