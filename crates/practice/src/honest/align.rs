//! Finding the passage of the evidence that a claim most likely speaks of.
//!
//! Every claim is held against every passage, so the comparison is done on bits: for each sentence of the
//! evidence one bit for each word of the claim, found through an index from words to sentences.

use std::{collections::HashMap, ops::Range};

use audit::prompt::EvidenceBlock;

use super::{sentences::passages, words::Words};

/// A passage is at most this many neighbouring sentences: longer ones hold every word by chance.
const MAX_PASSAGE_SENTENCES: usize = 3;

/// A quote of fewer content words, and without a number, could stand anywhere.
const MIN_QUOTE_WORDS: usize = 3;

/// The evidence, cut into sentences once for all claims.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    sentences: Vec<EvidenceSentence<'a>>,
    /// The sentences in which a word stands, by their number.
    index: HashMap<String, Vec<usize>>,
}

/// One sentence of the evidence.
#[derive(Debug)]
pub(super) struct EvidenceSentence<'a> {
    pub(super) source_id: &'a str,
    /// As it stands in the chunk, letter for letter.
    pub(super) text: &'a str,
    pub(super) words: Words,
    chunk: &'a EvidenceBlock,
}

/// One or more neighbouring sentences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Passage<'a> {
    pub(crate) source_id: &'a str,
    /// As it stands in the chunk, letter for letter.
    pub(crate) text: &'a str,
    /// Share of the claim's words that stand here, 0 to 1.
    pub(super) overlap: f64,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(blocks: &'a [EvidenceBlock]) -> Evidence<'a> {
        let of_block = |chunk: &'a EvidenceBlock| {
            passages(&chunk.text).into_iter().map(move |text| EvidenceSentence {
                source_id: &chunk.source_id,
                text,
                words: Words::of(text),
                chunk,
            })
        };
        let sentences: Vec<_> = blocks.iter().flat_map(of_block).collect();
        let mut index: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, sentence) in sentences.iter().enumerate() {
            for word in &sentence.words.content {
                index.entry(word.clone()).or_default().push(number);
            }
        }
        Evidence { sentences, index }
    }

    pub(super) fn sentences(&self) -> &[EvidenceSentence<'a>] {
        &self.sentences
    }

    /// Whether a word stands anywhere in the evidence.
    pub(super) fn has(&self, word: &str) -> bool {
        self.index.contains_key(word)
    }

    /// The single sentence that holds most of the claim's words.
    pub(super) fn best_sentence(&self, claim: &Words) -> Option<(&EvidenceSentence<'a>, Passage<'a>)> {
        let found = self.find(claim);
        let windows = (0..self.sentences.len()).map(|at| (at..at + 1, found.share(&found.masks[at])));
        let (window, overlap) = most(windows)?;
        Some((&self.sentences[window.start], self.passage(window, overlap)?))
    }

    /// The shortest passage with at least this share of the claim's words, all its numbers and names, and its
    /// negation if it has one; of equals the one with most words.
    pub(super) fn passage_for(&self, claim: &Words, least_overlap: f64) -> Option<Passage<'a>> {
        let found = self.find(claim);
        (1..=MAX_PASSAGE_SENTENCES).find_map(|length| {
            let windows = self.windows(length).filter_map(|window| {
                let mask = found.union(window.clone());
                let overlap = found.share(&mask);
                let holds = least_overlap <= overlap && found.has_required(&mask);
                (holds && !self.is_denied(claim, window.clone())).then_some((window, overlap))
            });
            let (window, overlap) = most(windows)?;
            self.passage(self.widened(window, claim), overlap)
        })
    }

    /// A passage of hardly any words says too little by itself (`It is closed.`), so the sentence before it is
    /// quoted too, or the one behind it.
    fn widened(&self, window: Range<usize>, claim: &Words) -> Range<usize> {
        let says_enough = self.sentences[window.clone()].iter().any(|sentence| {
            !sentence.words.numbers.is_empty() || MIN_QUOTE_WORDS <= sentence.words.content.len()
        });
        let before = window.start.checked_sub(1).map(|start| start..window.end);
        let behind = (window.end < self.sentences.len()).then(|| window.start..window.end + 1);
        let wider = || {
            let mut candidates = [before, behind].into_iter().flatten();
            candidates.find(|wider| self.is_in_one_chunk(wider) && !self.is_denied(claim, wider.clone()))
        };
        if says_enough { window } else { wider().unwrap_or(window) }
    }

    /// All runs of this many sentences that stand in one chunk.
    fn windows(&self, length: usize) -> impl Iterator<Item = Range<usize>> {
        let windows = (length..=self.sentences.len()).map(move |end| end - length..end);
        windows.filter(|window| self.is_in_one_chunk(window))
    }

    fn is_in_one_chunk(&self, window: &Range<usize>) -> bool {
        std::ptr::eq(self.sentences[window.start].chunk, self.sentences[window.end - 1].chunk)
    }

    /// Whether one of the two says no where the other does not.
    fn is_denied(&self, claim: &Words, window: Range<usize>) -> bool {
        let mut denials = self.sentences[window].iter().map(|sentence| sentence.words.denies(claim));
        if claim.negated { denials.all(|denies| denies) } else { denials.any(|denies| denies) }
    }

    fn find(&self, claim: &Words) -> Found {
        let blank = vec![0; claim.content.len().div_ceil(64)];
        let mut found = Found {
            masks: vec![blank.clone(); self.sentences.len()],
            required: blank,
            count: claim.content.len(),
        };
        for (bit, word) in claim.content.iter().enumerate() {
            if claim.numbers.contains(word) || claim.names.contains(word) {
                found.required[bit / 64] |= 1 << (bit % 64);
            }
            for sentence in self.index.get(word).into_iter().flatten() {
                found.masks[*sentence][bit / 64] |= 1 << (bit % 64);
            }
        }
        found
    }

    fn passage(&self, window: Range<usize>, overlap: f64) -> Option<Passage<'a>> {
        let (first, last) = (&self.sentences[window.start], &self.sentences[window.end - 1]);
        let chunk: &'a str = &first.chunk.text;
        // Both are parts of the same chunk, so their addresses say where in it they stand.
        let offset = |text: &str| (text.as_ptr() as usize).checked_sub(chunk.as_ptr() as usize);
        let text = chunk.get(offset(first.text)?..offset(last.text)? + last.text.len())?;
        Some(Passage { source_id: first.source_id, text, overlap })
    }
}

/// Which words of one claim stand in which sentence.
struct Found {
    masks: Vec<Vec<u64>>,
    required: Vec<u64>,
    count: usize,
}

impl Found {
    fn union(&self, window: Range<usize>) -> Vec<u64> {
        let mut union = vec![0; self.required.len()];
        for mask in &self.masks[window] {
            union.iter_mut().zip(mask).for_each(|(all, one)| *all |= one);
        }
        union
    }

    fn has_required(&self, mask: &[u64]) -> bool {
        self.required.iter().zip(mask).all(|(required, found)| required & !found == 0)
    }

    #[expect(clippy::cast_precision_loss, reason = "texts are shorter than 2^53 words")]
    fn share(&self, mask: &[u64]) -> f64 {
        let found: u32 = mask.iter().map(|bits| bits.count_ones()).sum();
        f64::from(found) / self.count.max(1) as f64
    }
}

/// The window with the largest overlap; of equals the first.
fn most(windows: impl Iterator<Item = (Range<usize>, f64)>) -> Option<(Range<usize>, f64)> {
    windows.reduce(|best, next| if best.1 < next.1 { next } else { best })
}
