//! What of the evidence comes nearest to a claim that has no quote, so that a person need not search.

use crate::evidence::Passage;
use crate::report::Span;
use crate::text::{self, Vocabulary, content_words};

/// The sentence of the evidence that shares most content words with `claim`: index of its passage, and its
/// place there in scalar values. None when nothing shares two words, or one number.
pub fn nearest(passages: &[Passage<'_>], claim: &str) -> Option<(usize, Span)> {
    /// Below this many shared words a sentence is near by chance.
    const ENOUGH: usize = 2;
    let wanted = content_words(claim);
    let mut best: Option<(usize, usize, Span)> = None;
    for (at, passage) in passages.iter().enumerate() {
        for sentence in text::sentences(passage.text) {
            let mut vocabulary = Vocabulary::default();
            vocabulary.add(0, &sentence.text, &text::words(&sentence.text));
            let shared = wanted.iter().filter(|word| vocabulary.holds(word)).count();
            if shared >= ENOUGH.min(wanted.len().max(1)) && best.is_none_or(|(most, ..)| shared > most) {
                best = Some((shared, at, sentence.span));
            }
        }
    }
    best.map(|(_, at, span)| (at, span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(text: &str) -> Passage<'_> {
        Passage { source_id: "s", text, url: None, title: None, rank: None, score: None, metadata: None }
    }

    #[test]
    fn the_sentence_with_most_shared_words_is_nearest() {
        let passages =
            [passage("Dogs need a ticket. Cats travel free."), passage("The kiosk sells tickets for dogs.")];
        let (at, span) = nearest(&passages, "Tickets for dogs are sold at the kiosk.").unwrap();
        assert_eq!((at, text::slice(passages[at].text, span)), (1, "The kiosk sells tickets for dogs."));
    }

    #[test]
    fn nothing_is_near_to_what_nobody_speaks_of() {
        assert_eq!(nearest(&[passage("Dogs need a ticket.")], "Saturn has rings of ice."), None);
    }
}
