//! Quotes with something left out: where the gaps are, and what the pieces are.

use crate::text::fold::{Case, fold};
use crate::text::{content_words, numbers, words};

/// The pieces of a quote around what was left out, folded; none when nothing was or when a piece
/// says nothing. `is_lenient`: line breaks and closed and reopened quotation marks part pieces too.
pub(super) fn pieces(raw: &str, is_lenient: bool) -> Option<Vec<String>> {
    const MAX_PIECES: usize = 50;
    const ENOUGH_WORDS: usize = 2;
    let mut parts: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut has_gap = false;
    while let Some(c) = raw[at..].chars().next() {
        let gap = ellipsis(&raw[at..]).or_else(|| if is_lenient { joint(&raw[at..]) } else { None });
        match gap {
            Some(length) => {
                has_gap = true;
                parts.push(&raw[start..at]);
                at += length;
                start = at;
            }
            None => at += c.len_utf8(),
        }
    }
    parts.push(&raw[start..]);
    let parts: Vec<&str> = parts.into_iter().filter(|part| part.chars().any(char::is_alphanumeric)).collect();
    if !has_gap || parts.is_empty() || parts.len() > MAX_PIECES {
        return None;
    }
    // What joins two pieces is the judge's: each has to say something by itself.
    let is_joined = parts.len() > 1;
    let says_something = |part: &&str| {
        let content = content_words(part).len();
        let has_number = !numbers(part).is_empty();
        let says_enough = || {
            let is_phrase = words(part).len() > ENOUGH_WORDS;
            if content > 0 { has_number || is_phrase } else { has_number && is_phrase }
        };
        if is_joined { content >= ENOUGH_WORDS || says_enough() } else { content > 0 || has_number }
    };
    parts.iter().all(says_something).then(|| parts.iter().map(|part| fold(part, Case::Folded)).collect())
}

/// The length of an ellipsis at the start of `text`, with the brackets around it.
fn ellipsis(text: &str) -> Option<usize> {
    let opening = text.strip_prefix(['[', '(', '<', '{', '［', '（']).map_or(text, str::trim_start);
    let inside = text.len() - opening.len();
    let dots = opening.len() - opening.trim_start_matches(['.', '…', '⋯']).len();
    let spaced = [". . .", ". . . ."]
        .iter()
        .rev()
        .find(|spaced| opening.starts_with(**spaced))
        .map(|spaced| spaced.len());
    let run = &opening[..dots];
    let length = spaced.or_else(|| (run.contains(['…', '⋯']) || run.len() >= 3).then_some(dots))?;
    let after = &opening[length..];
    if inside == 0 {
        return Some(length);
    }
    let closed = after.trim_start().strip_prefix([']', ')', '>', '}', '］', '）'])?;
    Some(text.len() - closed.len())
}

/// The length of a line break, or of `" and "` between two quoted pieces.
fn joint(text: &str) -> Option<usize> {
    if text.starts_with(['\n', '\r']) {
        return Some(text.len() - text.trim_start().len());
    }
    let rest = text.strip_prefix(['"', '”', '»', '’', '\''])?;
    let between = rest.trim_start_matches([',', ';', '/', '|', '+', '&', ' ', '\t']);
    let between = between.strip_prefix("and ").unwrap_or(between).trim_start();
    let opened = between.strip_prefix(['"', '“', '«', '‘', '\''])?;
    (rest.len() > between.len()).then_some(text.len() - opened.len())
}
