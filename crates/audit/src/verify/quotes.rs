//! Does a quote stand in the evidence, where the judge says it does?

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem::Finder;
use trace::Trace;

use super::borders::is_whole;
use super::near;
use crate::evidence::{Basis, Passage};
use crate::report::{MatchGrade, Span};
use crate::text::fold::{Case, Folded, fold};
use crate::text::{content_words, numbers};

/// The evidence of a trace, searchable.
pub struct Corpus<'a> {
    chunks: Vec<Chunk<'a>>,
    /// Chunks by source id; several may share one.
    ids: HashMap<&'a str, Vec<usize>>,
}

struct Chunk<'a> {
    source_id: &'a str,
    text: &'a str,
    folded: OnceCell<Folded>,
}

impl Chunk<'_> {
    fn folded(&self) -> &Folded {
        self.folded.get_or_init(|| Folded::new(self.text, Case::Folded))
    }

    /// The place in the original of a range of the folded text, if it begins and ends where
    /// characters, words and numbers do.
    fn whole(&self, range: Range<usize>) -> Option<Range<usize>> {
        let folded = self.folded();
        // `5 k` is not what `5 ㎏` says; dots are as good in part.
        let cuts_through =
            |at: usize| folded.cut_at(at).is_some_and(|place| !self.text[place].starts_with(['.', '…']));
        if cuts_through(range.start) || cuts_through(range.end) {
            return None;
        }
        Some(folded.original(range)).filter(|range| is_whole(self.text, range))
    }
}

/// Where a quote stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Index of the chunk.
    pub chunk: usize,
    /// Its source id.
    pub source_id: String,
    /// Scalar values of the chunk's text.
    pub span: Span,
    /// The rule that matched.
    pub grade: MatchGrade,
}

/// Where a quote may stand.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'s> {
    /// Only in these chunks.
    Only(&'s [usize]),
    /// In any chunk.
    Anywhere,
}

/// A quote that does not stand where it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It stands in another source.
    Elsewhere(Found),
    /// It stands nowhere; in words what comes nearest, if anything does.
    Nowhere(Option<String>),
}

impl<'a> Corpus<'a> {
    /// The retrieved evidence of `trace`.
    pub fn new(trace: &'a Trace) -> Self {
        Self::of(&Basis::Retrieval.passages(trace))
    }

    /// These passages, in the order in which a report counts them.
    pub fn of(passages: &[Passage<'a>]) -> Self {
        let mut ids: HashMap<&str, Vec<usize>> = HashMap::new();
        let chunks = passages.iter().enumerate().map(|(at, passage)| {
            // A judge does not repeat white space around an id.
            ids.entry(passage.source_id.trim()).or_default().push(at);
            Chunk { source_id: passage.source_id, text: passage.text, folded: OnceCell::new() }
        });
        Self { chunks: chunks.collect(), ids }
    }

    /// The chunks that a judge's source id names. An exact id wins; otherwise the id may end at a
    /// comma, white space or `#`, and the longest that the trace has counts.
    pub fn resolve(&self, id: &str) -> Option<(&'a str, &[usize])> {
        let known = |id: &str| self.ids.get_key_value(id).map(|(id, chunks)| (*id, chunks.as_slice()));
        let id = id.trim();
        if id.is_empty() {
            return None;
        }
        known(id).or_else(|| known(bare(id))).or_else(|| {
            let id = bare(id);
            let cuts = id
                .char_indices()
                .rev()
                .filter(|(_, c)| matches!(c, ',' | '#' | '，' | '、') || c.is_whitespace());
            cuts.take(64)
                .map(|(at, _)| id[..at].trim_end())
                .filter(|prefix| !prefix.is_empty())
                .find_map(known)
        })
    }

    /// Looks for a quote.
    ///
    /// # Errors
    /// Where it stands instead, or that it stands nowhere.
    pub fn find(&self, quote: &str, scope: Scope<'_>) -> Result<Found, Missing> {
        let needle = Needle::new(quote);
        let wanted: Vec<usize> = match scope {
            Scope::Only(chunks) => chunks.to_vec(),
            Scope::Anywhere => (0..self.chunks.len()).collect(),
        };
        if let Some(found) = self.find_in(&needle, &wanted) {
            return Ok(found);
        }
        let others: Vec<usize> = (0..self.chunks.len()).filter(|at| !wanted.contains(at)).collect();
        if let Some(found) = self.find_in(&needle, &others) {
            return Err(Missing::Elsewhere(found));
        }
        let folded = wanted
            .iter()
            .chain(&others)
            .filter_map(|at| self.chunks.get(*at))
            .map(|chunk| chunk.folded().text.as_str());
        Err(Missing::Nowhere(near::describe(
            needle.folded().first().map_or("", |pattern| pattern.text.as_str()),
            folded,
        )))
    }

    /// The best place in these chunks.
    fn find_in(&self, needle: &Needle<'_>, chunks: &[usize]) -> Option<Found> {
        let chunk_at = |at: usize| self.chunks.get(at).map(|chunk| (at, chunk));
        let exact = chunks
            .iter()
            .filter_map(|at| chunk_at(*at))
            .find_map(|(at, chunk)| Some((at, chunk, needle.exact_in(chunk.text)?, MatchGrade::Exact)));
        let best = exact.or_else(|| {
            let hits = chunks.iter().filter_map(|at| chunk_at(*at)).filter_map(|(at, chunk)| {
                let (range, grade) = needle.folded_in(chunk)?;
                Some((at, chunk, range, grade))
            });
            hits.min_by_key(|(.., grade)| *grade)
        });
        let best = best.or_else(|| {
            chunks
                .iter()
                .filter_map(|at| chunk_at(*at))
                .find_map(|(at, chunk)| Some((at, chunk, needle.elided_in(chunk)?, MatchGrade::Elided)))
        });
        let (at, chunk, range, grade) = best?;
        let start = chunk.text[..range.start].chars().count();
        let span = Span { start, end: start + chunk.text[range].chars().count() };
        Some(Found { chunk: at, source_id: chunk.source_id.to_owned(), span, grade })
    }
}

/// An id without what a judge writes around one: brackets, quotation marks, `source_id:`, a full stop.
fn bare(id: &str) -> &str {
    let around = |c: char| {
        c.is_whitespace()
            || matches!(c, '[' | ']' | '(' | ')' | '"' | '\'' | '`' | '“' | '”' | '«' | '»' | '.' | '<' | '>')
    };
    let id = id.trim_matches(around);
    let label = ["source_id:", "source id:", "source:", "id:"].into_iter().find_map(|label| {
        id.get(..label.len()).filter(|start| start.eq_ignore_ascii_case(label)).map(|_| &id[label.len()..])
    });
    label.unwrap_or(id).trim_matches(around)
}

/// Words to look for, prepared once for many texts, when the first comes.
struct Pattern {
    text: String,
    finder: OnceCell<Finder<'static>>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), finder: OnceCell::new() }
    }

    /// A folded quote as it is, and without the punctuation around it.
    fn variants(folded: &str) -> Vec<Self> {
        let bare = Some(unpunctuated(folded)).filter(|bare| bare.len() < folded.len());
        std::iter::once(folded).chain(bare).map(Self::new).collect()
    }

    /// Every place in `text` from `from` on, overlapping ones too. Bounded: a text made to have
    /// endless near hits costs no more than a long one.
    fn places<'p>(&'p self, text: &'p str, from: usize) -> impl Iterator<Item = Range<usize>> + 'p {
        const BUDGET: usize = 1 << 22;
        let length = self.text.len();
        let finder = self.finder.get_or_init(|| Finder::new(&self.text).into_owned());
        let mut at = from;
        let mut budget = BUDGET;
        std::iter::from_fn(move || {
            budget = budget.checked_sub(length).filter(|_| length > 0)?;
            let start = at + finder.find(text.get(at..)?.as_bytes())?;
            at = start + text[start..].chars().next().map_or(1, char::len_utf8);
            Some(start..start + length)
        })
    }
}

/// A quote, prepared for the search; each form when it is first needed.
struct Needle<'q> {
    raw: &'q str,
    exact: Pattern,
    folded: OnceCell<Vec<Pattern>>,
    /// Pieces around ellipses, if there are any; and around line breaks and quotation marks too.
    pieces: OnceCell<Vec<Vec<Vec<Pattern>>>>,
}

impl<'q> Needle<'q> {
    fn new(quote: &'q str) -> Self {
        let raw = quote.trim();
        Self { raw, exact: Pattern::new(raw), folded: OnceCell::new(), pieces: OnceCell::new() }
    }

    fn folded(&self) -> &[Pattern] {
        self.folded.get_or_init(|| Pattern::variants(&fold(self.raw, Case::Folded)))
    }

    fn exact_in(&self, text: &str) -> Option<Range<usize>> {
        self.exact.places(text, 0).find(|range| is_whole(text, range))
    }

    /// The first place where the folded quote stands, preferably without a difference in case.
    fn folded_in(&self, chunk: &Chunk<'_>) -> Option<(Range<usize>, MatchGrade)> {
        const MAX_PLACES: usize = 8;
        let folded = chunk.folded();
        for pattern in self.folded() {
            let mut first = None;
            let places = pattern.places(&folded.text, 0).filter_map(|range| chunk.whole(range));
            for range in places.take(MAX_PLACES) {
                let kept = fold(&chunk.text[range.clone()], Case::Kept);
                let quoted = fold(self.raw, Case::Kept);
                if unpunctuated(&kept) == unpunctuated(&quoted) {
                    return Some((range, MatchGrade::Normalised));
                }
                first.get_or_insert(range);
            }
            if let Some(range) = first {
                return Some((range, MatchGrade::CaseFolded));
            }
        }
        None
    }

    /// The stretch from the first to the last piece, when all stand in order.
    fn elided_in(&self, chunk: &Chunk<'_>) -> Option<Range<usize>> {
        let ways = self.pieces.get_or_init(|| {
            let ways = [pieces(self.raw, false), pieces(self.raw, true)].into_iter().flatten();
            ways.map(|pieces| pieces.iter().map(|piece| Pattern::variants(piece)).collect()).collect()
        });
        ways.iter().find_map(|pieces| in_order(pieces, chunk))
    }
}

fn in_order(pieces: &[Vec<Pattern>], chunk: &Chunk<'_>) -> Option<Range<usize>> {
    let folded = chunk.folded();
    let mut from = 0;
    let mut whole: Option<Range<usize>> = None;
    for variants in pieces {
        let (end, range) = variants.iter().find_map(|pattern| {
            let mut places = pattern.places(&folded.text, from);
            places.find_map(|range| Some((range.end, chunk.whole(range)?)))
        })?;
        from = end;
        whole = Some(whole.map_or(range.clone(), |whole| whole.start..range.end));
    }
    whole
}

/// A folded quote without the punctuation that a judge may have put around it.
fn unpunctuated(folded: &str) -> &str {
    const MARKS: [char; 11] = ['.', ',', ';', ':', '!', '?', '-', '。', '、', '،', '؟'];
    let mut bare = folded.trim_end_matches(|c| MARKS.contains(&c) || c == ' ');
    while let Some(rest) = bare.strip_prefix(MARKS).and_then(|rest| rest.strip_prefix(' ')) {
        bare = rest;
    }
    bare
}

/// The pieces of a quote around what was left out, folded; none when nothing was or when a piece
/// says nothing. `is_lenient`: line breaks and closed and reopened quotation marks part pieces too.
fn pieces(raw: &str, is_lenient: bool) -> Option<Vec<String>> {
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
    let says_something = |part: &&str| {
        let words = content_words(part).len();
        (words > 0 && (!is_lenient || words >= ENOUGH_WORDS)) || !numbers(part).is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trace(chunks: &[(&str, &str)]) -> Trace {
        let chunks: Vec<_> = chunks.iter().map(|(id, text)| json!({"source_id": id, "text": text})).collect();
        serde_json::from_value(json!({"schema": trace::SCHEMA, "trace_id": "t", "project": "p", "retrieval": {"chunks": chunks}})).unwrap()
    }

    fn find(text: &str, quote: &str) -> Option<(MatchGrade, String)> {
        let trace = trace(&[("a", text)]);
        let found = Corpus::new(&trace).find(quote, Scope::Anywhere).ok()?;
        Some((found.grade, crate::text::slice(text, found.span).to_owned()))
    }

    #[test]
    fn the_place_is_that_of_the_original() {
        let text = "Ⅻ 😀: The “old  mill” — built 1907 — turns\u{a0}slowly…";
        let found = |quote| find(text, quote).unwrap();
        assert_eq!(found("built 1907"), (MatchGrade::Exact, "built 1907".into()));
        assert_eq!(
            found("the \"old mill\" - built"),
            (MatchGrade::CaseFolded, "The “old  mill” — built".into())
        );
        assert_eq!(found("The 'old mill'"), (MatchGrade::Normalised, "The “old  mill".into()));
        assert_eq!(
            found("old ... turns slowly"),
            (MatchGrade::Elided, "old  mill” — built 1907 — turns\u{a0}slowly".into())
        );
        assert_eq!(found("...built 1907 [...]"), (MatchGrade::Elided, "built 1907".into()));
        assert_eq!(find(text, "built 190"), None);
        assert_eq!(find(text, "mills"), None);
    }

    #[test]
    fn no_quote_ends_inside_of_a_character() {
        for (text, quote) in [
            ("พิพิธภัณฑ์เปิดทุกวัน", "ภัณฑ์เป ... วัน"),
            ("a bag of  5 ㎏ of salt", "BAG of 5 k"),
            ("a bag of  5 ㎏ of salt", "G of salt"),
            ("in x\u{30c}y  or x", "IN x"),
        ] {
            assert_eq!(find(text, quote), None, "{quote} in {text}");
        }
        assert_eq!(find("Wait… what", "WAIT.").unwrap().1, "Wait…");
    }

    #[test]
    fn pieces_may_be_parted_by_lines_and_quotation_marks() {
        let text = "Fares are low. Trains run hourly. Buses stop at midnight. Bikes travel free.";
        for quote in [
            "Fares are low.\nBuses stop at midnight.",
            "\"Fares are low.\", \"Buses stop at midnight.\"",
            "“Fares are low” and “Buses stop at midnight”",
        ] {
            assert_eq!(find(text, quote).unwrap().0, MatchGrade::Elided, "{quote}");
        }
        assert_eq!(find(text, "Buses stop at midnight.\nFares are low."), None);
    }

    #[test]
    fn ids_end_at_a_comma_a_blank_or_a_number_sign() {
        let trace = trace(&[("rule", ""), ("rule#2", ""), ("rule", ""), ("rule 3", "")]);
        let corpus = Corpus::new(&trace);
        let ids = |id| corpus.resolve(id).map(|(id, chunks)| (id, chunks.to_vec()));
        assert_eq!(ids("rule"), Some(("rule", vec![0, 2])));
        assert_eq!(ids(" rule#2 "), Some(("rule#2", vec![1])));
        assert_eq!(ids("rule#2, page 4"), Some(("rule#2", vec![1])));
        assert_eq!(ids("rule#9"), Some(("rule", vec![0, 2])));
        assert_eq!(ids("rule 3 b"), Some(("rule 3", vec![3])));
        assert_eq!(ids("rules"), None);
        assert_eq!(ids("rule-2"), None);
        assert_eq!(ids(""), None);
    }

    #[test]
    fn a_text_made_to_cost_time_costs_little() {
        let text = "a".repeat(200_000);
        let quote = "a".repeat(100_000);
        assert_eq!(find(&text, &quote), None);
        assert_eq!(
            find(&"ab ".repeat(60_000), &"… ab ".repeat(40)).map(|found| found.0),
            Some(MatchGrade::Elided)
        );
    }
}
