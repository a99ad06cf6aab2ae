//! Which source an id of the judge names.

use std::cell::OnceCell;
use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use crate::evidence::Passage;
use crate::text::chars::is_dash;

/// The source ids of a trace.
pub(super) struct Ids<'a> {
    /// Chunks by source id; several may share one.
    exact: HashMap<&'a str, Vec<usize>>,
    /// The id that each spelling without regard to case stands for; none where several do.
    folded: OnceCell<HashMap<String, Option<&'a str>>>,
}

impl<'a> Ids<'a> {
    pub(super) fn of(passages: &[Passage<'a>]) -> Self {
        let mut exact: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, passage) in passages.iter().enumerate() {
            // A judge does not repeat white space around an id.
            exact.entry(passage.source_id.trim()).or_default().push(at);
        }
        Self { exact, folded: OnceCell::new() }
    }

    /// An exact id wins; otherwise the id may end at a comma, white space or `#`, and the longest that the trace has
    /// counts. What matches only without regard to case comes last, and only where one id alone does.
    pub(super) fn resolve(&self, id: &str) -> Option<(&'a str, &[usize])> {
        let known = |id: &str| self.exact.get_key_value(id).map(|(id, chunks)| (*id, chunks.as_slice()));
        candidates(id).find_map(known).or_else(|| candidates(id).find_map(|id| known(self.folded(id)?)))
    }

    fn folded(&self, id: &str) -> Option<&'a str> {
        let spellings = self.folded.get_or_init(|| {
            let mut spellings: HashMap<String, Option<&str>> = HashMap::new();
            for id in self.exact.keys().copied() {
                spellings.entry(spelling(id)).and_modify(|known| *known = None).or_insert(Some(id));
            }
            spellings
        });
        spellings.get(&spelling(id)).copied().flatten()
    }

    /// Up to `limit` of the ids, for messages.
    pub(super) fn some(&self, limit: usize) -> Vec<&'a str> {
        let mut first: Vec<(usize, &str)> =
            self.exact.iter().filter_map(|(id, chunks)| Some((*chunks.first()?, *id))).collect();
        first.sort_unstable();
        first.into_iter().map(|(_, id)| id).take(limit).collect()
    }
}

/// What the judge may have meant, the longest first.
fn candidates(id: &str) -> impl Iterator<Item = &str> {
    let whole = id.trim();
    let bare = bare(whole);
    // `doc 2` may be a number behind a label, and may be the id `doc` with a tail.
    let labelled = Some(whole).filter(|whole| whole.len() > bare.len());
    [whole, bare]
        .into_iter()
        .chain(cuts(bare))
        .chain(labelled.into_iter().flat_map(cuts))
        .filter(|id| !id.is_empty())
}

/// An id up to each comma, white space or `#` in it, from the last one.
fn cuts(id: &str) -> impl Iterator<Item = &str> {
    /// Cuts of an id of many words.
    const MOST: usize = 64;
    id.char_indices()
        .rev()
        .filter(|(_, c)| matches!(c, ',' | '#' | '，' | '、') || c.is_whitespace())
        .take(MOST)
        .flat_map(move |(at, _)| {
            let cut = id[..at].trim_end();
            [cut, cut.trim_end_matches([':', ';', '/', '-', '§', '('])]
        })
}

/// One spelling for ids that differ in case, dashes and white space alone.
fn spelling(id: &str) -> String {
    let plain: String =
        id.nfkc().map(|c| if is_dash(c) { '-' } else { c }).flat_map(char::to_lowercase).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An id without what a judge writes around one: brackets, quotation marks, `source_id:`, a full stop.
fn bare(id: &str) -> &str {
    const LABELS: [&str; 16] = [
        "source_id:",
        "source id:",
        "source:",
        "id:",
        "chunk:",
        "chunk_id:",
        "document:",
        "doc:",
        "passage:",
        "source_id ",
        "source ",
        "chunk ",
        "document ",
        "doc ",
        "passage ",
        "id ",
    ];
    let around = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '[' | ']'
                    | '('
                    | ')'
                    | '"'
                    | '\''
                    | '`'
                    | '“'
                    | '”'
                    | '«'
                    | '»'
                    | '.'
                    | '<'
                    | '>'
                    | '{'
                    | '}'
                    | '*'
            )
    };
    let id = id.trim_matches(around);
    let label = LABELS.into_iter().find_map(|label| {
        id.get(..label.len()).filter(|start| start.eq_ignore_ascii_case(label)).map(|_| &id[label.len()..])
    });
    label.unwrap_or(id).trim_matches(around)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(ids: &[&'static str], id: &str) -> Option<&'static str> {
        let passage = |source_id| Passage {
            source_id,
            text: "",
            url: None,
            title: None,
            rank: None,
            score: None,
            metadata: None,
        };
        let passages: Vec<Passage<'static>> = ids.iter().map(|id| passage(*id)).collect();
        let ids = Ids::of(&passages);
        ids.resolve(id).map(|(id, _)| id)
    }

    #[test]
    fn what_a_judge_writes_around_an_id_does_not_count() {
        for id in [
            "doc-3",
            "[doc-3]",
            "\"doc-3\"",
            "`doc-3`.",
            "source: doc-3",
            "Source_ID: doc-3",
            "Chunk doc-3",
            "Doc-3",
            "doc-3, section 2",
            "doc-3: section 2",
            "doc-3; doc-4",
            "doc-3#2",
            "doc\u{2011}3",
            "DOC-3 (rank 1)",
        ] {
            assert_eq!(resolved(&["doc-3", "other"], id), Some("doc-3"), "{id}");
        }
    }

    #[test]
    fn an_id_that_is_a_label_may_have_a_tail() {
        for (known, id) in
            [("doc", "doc section 2"), ("chunk", "chunk 2"), ("source", "source 2"), ("doc", "doc p. 2")]
        {
            assert_eq!(resolved(&[known, "other"], id), Some(known), "{id}");
        }
        assert_eq!(resolved(&["doc", "2"], "doc 2"), Some("2"), "a label before an id");
    }

    #[test]
    fn another_id_is_another_id() {
        for id in ["doc-33", "doc3", "doc-3/2", "1", "[1]", "chunk 1", "rank 1", "", "source"] {
            assert_eq!(resolved(&["doc-3", "other"], id), None, "{id}");
        }
        assert_eq!(resolved(&["Doc-3", "doc-3"], "DOC-3"), None, "two ids are meant");
        assert_eq!(resolved(&["Doc-3", "doc-3"], "doc-3"), Some("doc-3"), "an exact id wins");
        assert_eq!(resolved(&["chunk 1", "1"], "chunk 1"), Some("chunk 1"), "an exact id wins");
    }
}
