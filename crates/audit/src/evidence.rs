//! What an answer is held against: the retrieved chunks, or the authoritative reference documents.

use trace::Trace;

/// Which part of the trace a kind takes as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// `retrieval.chunks`.
    Retrieval,
    /// `reference`.
    Reference,
}

/// One piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passage<'a> {
    /// The id to cite. Several passages may share one.
    pub source_id: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Where the whole document is.
    pub url: Option<&'a str>,
    /// Its title.
    pub title: Option<&'a str>,
    /// Place in the retriever's ranking.
    pub rank: Option<i64>,
    /// The retriever's score.
    pub score: Option<f64>,
    /// What else the producer said about it, such as a reranker's score.
    pub metadata: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

impl Basis {
    /// The evidence in `trace`, in its order. The index of a passage is what a report calls `chunk`.
    pub fn passages(self, trace: &Trace) -> Vec<Passage<'_>> {
        match self {
            Self::Retrieval => trace.chunks().iter().map(of_chunk).collect(),
            Self::Reference => trace.reference.iter().flatten().map(of_document).collect(),
        }
    }
}

fn of_chunk(chunk: &trace::Chunk) -> Passage<'_> {
    Passage {
        source_id: chunk.source_id.as_deref().unwrap_or_default(),
        text: chunk.text.as_deref().unwrap_or_default(),
        url: chunk.url.as_deref(),
        title: chunk.title.as_deref(),
        rank: chunk.rank,
        score: chunk.score,
        metadata: chunk.metadata.as_ref(),
    }
}

fn of_document(document: &trace::Reference) -> Passage<'_> {
    Passage {
        source_id: document.source_id.as_deref().unwrap_or_default(),
        text: document.text.as_deref().unwrap_or_default(),
        url: document.url.as_deref(),
        title: None,
        rank: None,
        score: None,
        metadata: None,
    }
}
