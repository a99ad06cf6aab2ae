//! Claims that follow the evidence where they should follow the answer: a judge that writes down what the evidence says
//! instead of what the answer says finds everything grounded.

use std::collections::HashSet;

use super::Corpus;
use super::claims::{Answer, Prepared};
use super::listed::Listed;
use super::measures::is_measuring;
use super::pronouns::{WrittenOut, is_pronoun};
use crate::text::numbers;

impl Answer {
    /// Claims with a word of the evidence that the answer lacks, in a place where the answer has a word of its own that
    /// neither a claim nor the evidence has; or, half of them and more, with such words alone. `held`: the words of the
    /// answer that the claims hold.
    pub(super) fn following(
        &self,
        claims: &[Listed],
        sentences: &[Option<usize>],
        held: &HashSet<&str>,
        written_out: &WrittenOut<'_, '_>,
        evidence: &Corpus<'_>,
    ) -> Vec<usize> {
        let pairs = claims.iter().zip(sentences).enumerate();
        let pairs =
            pairs.filter_map(|(at, (claim, sentence))| Some((at, claim, self.sentences.get((*sentence)?)?)));
        pairs
            .filter(|(_, claim, sentence)| {
                let foreign: Vec<usize> =
                    (0..claim.content.len()).filter(|at| !self.knows(&claim.content[*at])).collect();
                let expanded = if foreign.is_empty() { Vec::new() } else { written_out.expanded(claim) };
                // Nor do words for signs and numbers follow anything: "45" is "45 years", "3/4" is "three quarters".
                let is_expanded = |at: &usize| {
                    let word = claim.content[*at].as_str();
                    expanded.contains(&word) || is_measuring(word) || !numbers(word).is_empty()
                };
                let foreign: Vec<usize> = foreign.into_iter().filter(|at| !is_expanded(at)).collect();
                !foreign.is_empty()
                    && (self.replaces(claim, sentence, &foreign, held, evidence)
                        || adds(claim, sentence, &foreign, evidence))
            })
            .map(|(at, ..)| at)
            .collect()
    }

    fn replaces(
        &self,
        claim: &Listed,
        sentence: &Prepared,
        foreign: &[usize],
        held: &HashSet<&str>,
        evidence: &Corpus<'_>,
    ) -> bool {
        /// A longer sentence is not looked through for each of its words.
        const LONGEST: usize = 200;
        if sentence.content.len() > LONGEST || claim.content.len() > LONGEST {
            return false;
        }
        let own = (0..sentence.content.len()).filter(|at| !held.contains(sentence.content[*at].as_str()));
        let own: Vec<usize> = own.filter(|at| !evidence.mentions(stem(&sentence.content[*at]))).collect();
        let stands_alike = |ours: usize, theirs: usize| {
            let ((before, after), (other_before, other_after)) =
                (beside(&claim.content, ours), beside(&sentence.content, theirs));
            let is_same = |one: Option<&String>, other: Option<&String>| one.is_some() && one == other;
            is_same(before, other_before)
                || is_same(after, other_after)
                || [before, after, other_before, other_after].iter().all(Option::is_none)
        };
        foreign.iter().any(|ours| {
            own.iter().any(|theirs| stands_alike(*ours, *theirs)) && evidence.mentions(&claim.content[*ours])
        })
    }
}

/// The words before and behind the one at `at`.
fn beside(words: &[String], at: usize) -> (Option<&String>, Option<&String>) {
    (at.checked_sub(1).and_then(|before| words.get(before)), words.get(at + 1))
}

/// Whether half of the claim's words and more, two at least, are the evidence's alone; the name that a pronoun stands
/// for is none of them.
fn adds(claim: &Listed, sentence: &Prepared, foreign: &[usize], evidence: &Corpus<'_>) -> bool {
    let leading = if sentence.words.first().is_some_and(|word| is_pronoun(word)) {
        foreign.iter().enumerate().take_while(|(at, place)| at == *place).count()
    } else {
        0
    };
    let added = foreign.iter().skip(leading).filter(|at| evidence.mentions(&claim.content[**at])).count();
    added >= 2 && added * 2 >= claim.content.len()
}

/// The beginning that the inflections of a word share.
fn stem(word: &str) -> &str {
    const ENDING: usize = 3;
    const SHORTEST: usize = 4;
    let letters = word.chars().count();
    let kept = letters.saturating_sub(ENDING).max(SHORTEST.min(letters));
    word.char_indices().nth(kept).map_or(word, |(at, _)| &word[..at])
}

#[cfg(test)]
mod tests {
    use super::super::claims::tests::checked;

    fn follows(answer: &str, claim: &str, evidence: &str) -> bool {
        !checked(answer, &[claim], &[evidence]).following.is_empty()
    }

    #[test]
    fn a_claim_that_says_what_the_evidence_says_and_not_what_the_answer_says_is_noticed() {
        for (answer, evidence) in [
            (
                "The treaty was signed in Vienna by the emperor.",
                "The treaty was signed in Paris by the emperor.",
            ),
            ("It rose by 5%.", "It fell by 5%."),
            ("The left kidney was removed in Leeds.", "The right kidney was removed in Leeds."),
            ("He opposed the war.", "Smith supported the war."),
            ("Smith opposed the war.", "Smith supported the war."),
            ("They rejected the plan.", "The board approved the plan."),
            ("The drug raises risk.", "The drug lowers risk."),
            ("It was popular.", "The hotel was popular with murderers and thieves."),
            ("It helps patients sleep.", "The pill kills patients in their sleep."),
        ] {
            assert!(follows(answer, evidence, evidence), "{answer} / {evidence}");
        }
    }

    #[test]
    fn a_claim_in_the_words_of_the_answer_is_not() {
        for (answer, claim, evidence) in [
            (
                "The treaty was signed in Vienna.",
                "The treaty was signed in Vienna.",
                "It was signed in Paris.",
            ),
            ("It opened in 1902.", "The Old Mill opened in 1902.", "The Old Mill opened in 1902."),
            ("It rose by 5%.", "Revenue rose by 5%.", "Revenue rose by 5% in Leeds."),
            ("The mill is very old.", "The mill is old.", "The mill is old and was built of stone."),
            ("The mill opens early.", "The mill opens soon.", "The mill opens at nine."),
            ("The mills were built by Smith.", "The mill was built by Smith.", "Smith built the mill."),
        ] {
            assert!(!follows(answer, claim, evidence), "{answer} / {claim}");
        }
    }
}
