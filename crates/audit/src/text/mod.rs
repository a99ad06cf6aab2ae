//! Language-aware reading of texts: sentences, words and numbers, in any script.
//!
//! Scripts without capitals, spaces or full stops are read as well as others. Places are counted in
//! Unicode scalar values.

pub(crate) mod chars;
mod classes;
pub(crate) mod commas;
pub(crate) mod compact;
mod data;
pub(crate) mod fixed;
pub(crate) mod fold;
mod folded;
mod marks;
pub(crate) mod markup;
pub(crate) mod negation;
pub(crate) mod numbers;
mod sentences;
mod signs;
mod stop_words;
pub(crate) mod windows;
mod words;

pub(crate) use marks::states_amount;
pub(crate) use negation::denies;
pub use numbers::{Form, Number, Pool, numbers};
pub use sentences::{Sentence, SentenceKind, sentences};
pub use words::{Vocabulary, content_words, is_content, words};
pub(crate) use words::{acronyms, rough_stem};

use crate::report::Span;

/// The part of `text` that `span` covers, in scalar values.
pub fn slice(text: &str, span: Span) -> &str {
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    let start = byte(span.start);
    text.get(start..byte(span.end).max(start)).unwrap_or_default()
}

/// At most `limit` scalar values of `text`, for messages.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let flat = text.replace('\0', "\u{fffd}").split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= limit {
        return flat;
    }
    let mut short: String = flat.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// A text without list marks, citations, links and emphasis.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut line_chars: Vec<(char, usize)> = Vec::with_capacity(line.len());
        line_chars.extend(line.chars().zip(0..));
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(
            marks::clean(&line_chars[marks::leading_mark(&line_chars).length..]).iter().map(|(c, _)| c),
        );
    }
    out
}
