//! A claim may say in full what the answer says with an abbreviation or a pronoun: `WHO`, `It opened`.

use std::cell::OnceCell;

use super::{Corpus, Listed};
use crate::text::{is_content, words};

/// The abbreviations of an answer, and the evidence in which names stand in full.
pub(super) struct WrittenOut<'a, 'e> {
    /// Answer and question.
    written: &'a str,
    evidence: &'a Corpus<'e>,
    abbreviations: OnceCell<Vec<Vec<char>>>,
    /// The words of each chunk.
    chunks: OnceCell<Vec<Vec<String>>>,
}

/// Longest name or expansion, in words.
const LONGEST: usize = 8;

impl<'a, 'e> WrittenOut<'a, 'e> {
    pub(super) fn new(written: &'a str, evidence: &'a Corpus<'e>) -> Self {
        Self { written, evidence, abbreviations: OnceCell::new(), chunks: OnceCell::new() }
    }

    /// How many content words of `claim` that `is_foreign` to the answer write out an abbreviation of it; or, where
    /// the sentence `has_pronoun`, the one name that it can stand for, word by word as the evidence has it.
    pub(super) fn resolve(
        &self,
        claim: &Listed,
        has_pronoun: bool,
        is_foreign: impl Fn(&str) -> bool,
    ) -> usize {
        let runs: Vec<&[String]> = self.expansions(claim).collect();
        let foreign = |run: &[String]| run.iter().filter(|word| is_content(word) && is_foreign(word)).count();
        let expanded: usize = runs.iter().map(|run| foreign(run)).sum();
        if expanded > 0 || !has_pronoun {
            return expanded;
        }
        self.names(claim, &is_foreign).map(foreign).max().unwrap_or(0)
    }

    /// The words of `claim` that write out an abbreviation of the answer.
    pub(super) fn expanded<'c>(&self, claim: &'c Listed) -> Vec<&'c str> {
        self.expansions(claim).flatten().map(String::as_str).collect()
    }

    /// Runs of the claim's words whose first letters are an abbreviation of the answer.
    fn expansions<'c>(&self, claim: &'c Listed) -> impl Iterator<Item = &'c [String]> {
        let abbreviations = self.abbreviations.get_or_init(|| abbreviations(self.written));
        abbreviations.iter().filter_map(move |letters| {
            (0..claim.words.len()).find_map(|start| spells(&claim.words[start..], letters))
        })
    }

    /// Runs of foreign words that stand so in the evidence; a stop word may stand inside.
    fn names<'c>(
        &self,
        claim: &'c Listed,
        is_foreign: &impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'c [String]> {
        let chunks = self.chunks.get_or_init(|| self.evidence.texts().map(words).collect());
        let marks: Vec<bool> = claim.words.iter().map(|word| is_content(word) && is_foreign(word)).collect();
        let mut runs: Vec<&[String]> = Vec::new();
        let mut start = 0;
        while start < marks.len() {
            if !marks[start] {
                start += 1;
                continue;
            }
            let mut end = start + 1;
            let mut next = end;
            while next < marks.len() && (marks[next] || !is_content(&claim.words[next])) {
                next += 1;
                if marks[next - 1] {
                    end = next;
                }
            }
            runs.push(&claim.words[start..end]);
            start = end;
        }
        runs.retain(|run| {
            run.len() <= LONGEST
                && chunks.iter().any(|words| words.windows(run.len()).any(|window| window == *run))
        });
        runs.into_iter()
    }
}

/// Words of at least two capital letters, without full stops: `WHO`, `U.S.`, `3.2M` not among them.
fn abbreviations(text: &str) -> Vec<Vec<char>> {
    /// No text has more that mean anything; each is tried on each claim.
    const MOST: usize = 200;
    let mut found: Vec<Vec<char>> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '&') {
        let letters: Vec<char> = word.chars().filter(|c| c.is_alphabetic()).collect();
        let is_capital =
            letters.len() >= 2 && letters.iter().all(|c| c.is_uppercase()) && letters.len() <= LONGEST;
        let starts = word.starts_with(char::is_alphabetic);
        if is_capital && starts {
            let letters: Vec<char> = letters.iter().flat_map(|c| c.to_lowercase()).collect();
            if !found.contains(&letters) {
                found.push(letters);
            }
            if found.len() == MOST {
                break;
            }
        }
    }
    found
}

/// The words at the start of `words` whose first letters are these; words such as `of` may have none.
fn spells<'w>(words: &'w [String], letters: &[char]) -> Option<&'w [String]> {
    let mut wanted = letters.iter();
    let mut letter = wanted.next()?;
    for (at, word) in words.iter().enumerate().take(LONGEST + 4) {
        if word.starts_with(*letter) && word.chars().count() > 1 {
            match wanted.next() {
                Some(next) => letter = next,
                None => return Some(&words[..=at]),
            }
        } else if at == 0 || is_content(word) {
            return None;
        }
    }
    None
}

/// Words that stand for a name said before.
pub(super) fn is_pronoun(word: &str) -> bool {
    const PRONOUNS: &str = " it its he him his she her hers they them their theirs this these that those there er sie es ihr \
        ihre sein seine dieser diese dieses dort il elle ils elles son sa ses leur celui celle él ella ellos ellas su sus \
        este esta estos lo egli essa esso loro suo sua questo questa ele ela eles elas seu isto zij hij haar hun dit dat он \
        она оно они его её их это on ona ono to oni jego jej o bu şu onlar هو هي هم هذا هذه यह वह ये वे उसका 他 她 它 他们 它们 这 \
        これ それ 彼 彼女 그 그녀 그것 이것 מה הוא היא זה זו nó họ ini itu dia mereka เขา เธอ มัน ";
    PRONOUNS.contains(&format!(" {word} "))
}

#[cfg(test)]
mod tests {
    use super::{abbreviations, spells};

    #[test]
    fn first_letters_spell_an_abbreviation() {
        let words = |text: &str| crate::text::words(text);
        let spelt = |text: &str, letters: &str| {
            let words = words(text);
            let letters: Vec<char> = letters.chars().collect();
            spells(&words, &letters).map(<[String]>::len)
        };
        assert_eq!(spelt("world health organization was", "who"), Some(3));
        assert_eq!(spelt("bank of england", "be"), Some(3));
        assert_eq!(spelt("world hunger", "who"), None);
        assert_eq!(spelt("world big health organization", "who"), None);
        assert_eq!(abbreviations("The WHO and the U.S. pay 3.2M."), [vec!['w', 'h', 'o'], vec!['u', 's']]);
    }
}
