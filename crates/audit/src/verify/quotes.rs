//! Does a quote stand in the evidence, where the judge says it does?

use std::cell::OnceCell;
use std::ops::Range;

use memchr::memmem::Finder;
use trace::Trace;

use super::alterations::{self, Alteration};
use super::borders::is_whole;
use super::elision::pieces;
use super::ids::Ids;
use super::near;
use crate::evidence::{Basis, Passage};
use crate::report::{MatchGrade, Span};
use crate::text::chars::is_spaced_word;
use crate::text::compact::compact;
use crate::text::fold::{Case, Folded, fold};
use crate::text::{commas, markup};

/// The evidence of a trace, searchable.
pub struct Corpus<'a> {
    chunks: Vec<Chunk<'a>>,
    ids: Ids<'a>,
}

struct Chunk<'a> {
    source_id: &'a str,
    text: &'a str,
    folded: OnceCell<Folded>,
    /// The text without its markup, and that folded; none without markup.
    stripped: OnceCell<Option<(Folded, Folded)>>,
    /// The text without commas between words, and that folded; none without commas.
    unparted: OnceCell<Option<(Folded, Folded)>>,
    /// JSON without blanks between its signs, and that folded; none where there are none.
    compact: OnceCell<Option<(Folded, Folded)>>,
}

impl Chunk<'_> {
    fn folded(&self) -> &Folded {
        self.folded.get_or_init(|| Folded::new(self.text, Case::Folded))
    }

    fn as_it_is(&self) -> View<'_> {
        View { text: self.text, folded: self.folded(), way_back: None }
    }

    fn without_markup(&self) -> Option<View<'_>> {
        read_as(self.stripped.get_or_init(|| folded_after(markup::strip(self.text))))
    }

    fn without_blanks(&self) -> Option<View<'_>> {
        read_as(self.compact.get_or_init(|| folded_after(compact(self.text))))
    }

    fn without_commas(&self) -> Option<View<'_>> {
        read_as(self.unparted.get_or_init(|| folded_after(commas::without(self.text))))
    }
}

fn folded_after(taken_out: Option<Folded>) -> Option<(Folded, Folded)> {
    let taken_out = taken_out?;
    let folded = Folded::new(&taken_out.text, Case::Folded);
    Some((taken_out, folded))
}

fn read_as(reading: &Option<(Folded, Folded)>) -> Option<View<'_>> {
    let (text, folded) = reading.as_ref()?;
    Some(View { text: &text.text, folded, way_back: Some(text) })
}

/// A chunk, read in one way.
#[derive(Clone, Copy)]
struct View<'v> {
    text: &'v str,
    folded: &'v Folded,
    /// Leads to the chunk as it is, where the text is another.
    way_back: Option<&'v Folded>,
}

impl View<'_> {
    /// The place in the text of a range of the folded text, if it begins and ends where characters,
    /// words and numbers do.
    fn whole(&self, range: Range<usize>) -> Option<Range<usize>> {
        // `5 k` is not what `5 ㎏` says; dots are as good in part.
        let cuts_through =
            |at: usize| self.folded.cut_at(at).is_some_and(|place| !self.text[place].starts_with(['.', '…']));
        if cuts_through(range.start) || cuts_through(range.end) {
            return None;
        }
        Some(self.folded.original(range)).filter(|range| is_whole(self.text, range))
    }

    /// The same place in the chunk as it is.
    fn in_chunk(&self, range: Range<usize>) -> Range<usize> {
        self.way_back.map_or(range.clone(), |stripped| stripped.original(range))
    }
}

/// A place in a chunk, before it is counted in characters.
struct Hit {
    range: Range<usize>,
    grade: MatchGrade,
    alterations: Vec<Alteration>,
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
    /// What the quote says otherwise than its source, although every word stands there.
    pub alterations: Vec<Alteration>,
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
        let chunks = passages.iter().map(|passage| Chunk {
            source_id: passage.source_id,
            text: passage.text,
            folded: OnceCell::new(),
            stripped: OnceCell::new(),
            unparted: OnceCell::new(),
            compact: OnceCell::new(),
        });
        Self { chunks: chunks.collect(), ids: Ids::of(passages) }
    }

    /// The chunks that a judge's source id names. An exact id wins; otherwise the id may end at a
    /// comma, white space or `#`, and the longest that the trace has counts; last, case does not count.
    pub fn resolve(&self, id: &str) -> Option<(&'a str, &[usize])> {
        self.ids.resolve(id)
    }

    /// Up to `limit` source ids, for messages.
    pub fn some_ids(&self, limit: usize) -> Vec<&'a str> {
        self.ids.some(limit)
    }

    /// Whether nothing like this text stands anywhere.
    pub fn is_foreign(&self, text: &str) -> bool {
        matches!(self.find(text, Scope::Anywhere), Err(Missing::Nowhere(None)))
    }

    /// Whether a word with this folded beginning stands in a chunk.
    pub(super) fn mentions(&self, beginning: &str) -> bool {
        /// So often it may stand inside of other words.
        const MOST: usize = 1000;
        let finder = Finder::new(beginning);
        self.chunks.iter().any(|chunk| {
            let text = chunk.folded().text.as_str();
            let mut places = finder.find_iter(text.as_bytes()).take(MOST);
            places.any(|at| !text[..at].chars().next_back().is_some_and(is_spaced_word))
        })
    }

    /// The texts of the chunks.
    pub fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.chunks.iter().map(|chunk| chunk.text)
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
        let chunks = || chunks.iter().filter_map(|at| Some((*at, self.chunks.get(*at)?)));
        let first = |find: &dyn Fn(&Chunk<'_>) -> Option<Hit>| {
            chunks().find_map(|(at, chunk)| Some((at, chunk, find(chunk)?)))
        };
        let best = |find: &dyn Fn(&Chunk<'_>) -> Option<Hit>| {
            chunks()
                .filter_map(|(at, chunk)| Some((at, chunk, find(chunk)?)))
                .min_by_key(|(.., hit)| hit.grade)
        };
        let (at, chunk, hit) = first(&|chunk| needle.exact_in(chunk.text))
            .or_else(|| best(&|chunk| needle.folded_in(chunk.as_it_is(), needle.folded(), needle.raw)))
            .or_else(|| best(&|chunk| needle.form_in(chunk, chunk.without_markup(), needle.stripped())))
            .or_else(|| {
                let is_json = needle.raw.contains("\":") || needle.raw.contains("\" :");
                let find =
                    |chunk: &Chunk<'_>| needle.form_in(chunk, chunk.without_blanks(), needle.compact());
                if is_json { best(&find) } else { None }
            })
            .or_else(|| {
                let unparted = needle.unparted();
                let word = unparted.0.first().map_or("", longest_word);
                let hit = best(&|chunk| {
                    // A chunk that lacks even the longest word is not read once more.
                    let may_hold = chunk.folded().text.contains(word);
                    may_hold.then(|| needle.form_in(chunk, chunk.without_commas(), unparted))?
                });
                // Laxer than white space and dashes, which `normalised` looks past.
                hit.map(|(at, chunk, hit)| (at, chunk, Hit { grade: MatchGrade::CaseFolded, ..hit }))
            })
            .or_else(|| first(&|chunk| needle.elided_in(chunk.as_it_is())))
            .or_else(|| first(&|chunk| needle.elided_in(chunk.without_markup()?)))?;
        let mut alterations = hit.alterations;
        if alterations::is_denial_cut_off(chunk.text, &hit.range) {
            alterations.push(Alteration::DenialCutOff);
        }
        if alterations::is_limit_cut_off(chunk.text, &hit.range) {
            alterations.push(Alteration::LimitCutOff);
        }
        let start = chunk.text[..hit.range.start].chars().count();
        let span = Span { start, end: start + chunk.text[hit.range].chars().count() };
        Some(Found { chunk: at, source_id: chunk.source_id.to_owned(), span, grade: hit.grade, alterations })
    }
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
    /// Without markup: the words, and those folded.
    stripped: OnceCell<(String, Vec<Pattern>)>,
    /// Without commas between words: the words, and those folded.
    unparted: OnceCell<(String, Vec<Pattern>)>,
    /// JSON without blanks between its signs: the words, and those folded.
    compact: OnceCell<(String, Vec<Pattern>)>,
    /// Pieces around ellipses, if there are any; and around line breaks and quotation marks too.
    pieces: OnceCell<Vec<Vec<Vec<Pattern>>>>,
}

impl<'q> Needle<'q> {
    fn new(quote: &'q str) -> Self {
        let raw = quote.trim();
        Self {
            raw,
            exact: Pattern::new(raw),
            folded: OnceCell::new(),
            stripped: OnceCell::new(),
            unparted: OnceCell::new(),
            compact: OnceCell::new(),
            pieces: OnceCell::new(),
        }
    }

    fn folded(&self) -> &[Pattern] {
        self.folded.get_or_init(|| Pattern::variants(&fold(self.raw, Case::Folded)))
    }

    fn stripped(&self) -> (&[Pattern], &str) {
        let (raw, patterns) = self.stripped.get_or_init(|| self.after(markup::strip(self.raw)));
        (patterns, raw)
    }

    fn unparted(&self) -> (&[Pattern], &str) {
        let (raw, patterns) = self.unparted.get_or_init(|| self.after(commas::without(self.raw)));
        (patterns, raw)
    }

    fn compact(&self) -> (&[Pattern], &str) {
        let (raw, patterns) = self.compact.get_or_init(|| self.after(compact(self.raw)));
        (patterns, raw)
    }

    fn after(&self, taken_out: Option<Folded>) -> (String, Vec<Pattern>) {
        let raw = taken_out.map_or_else(|| self.raw.to_owned(), |folded| folded.text);
        let raw = raw.trim().to_owned();
        let patterns = Pattern::variants(&fold(&raw, Case::Folded));
        (raw, patterns)
    }

    /// Looks for a form of the quote in the chunk's `view` of the same form, or in the chunk as it is when that has
    /// nothing to take out and the quote has.
    fn form_in(
        &self,
        chunk: &Chunk<'_>,
        view: Option<View<'_>>,
        (patterns, raw): (&[Pattern], &str),
    ) -> Option<Hit> {
        let view = view.or_else(|| (raw != self.raw).then(|| chunk.as_it_is()))?;
        self.folded_in(view, patterns, raw)
    }

    fn exact_in(&self, text: &str) -> Option<Hit> {
        let range = self.exact.places(text, 0).find(|range| is_whole(text, range))?;
        Some(Hit { range, grade: MatchGrade::Exact, alterations: Vec::new() })
    }

    /// The first place where the folded quote stands, preferably without a difference in case.
    fn folded_in(&self, view: View<'_>, patterns: &[Pattern], raw: &str) -> Option<Hit> {
        const MAX_PLACES: usize = 8;
        let hit = |range: Range<usize>, grade| Hit {
            alterations: alterations::in_spelling(&view.text[range.clone()], raw),
            range: view.in_chunk(range),
            grade,
        };
        for pattern in patterns {
            let mut first = None;
            let places = pattern.places(&view.folded.text, 0).filter_map(|range| view.whole(range));
            for range in places.take(MAX_PLACES) {
                let kept = fold(&view.text[range.clone()], Case::Kept);
                let quoted = fold(raw, Case::Kept);
                if unpunctuated(&kept) == unpunctuated(&quoted) {
                    return Some(hit(range, MatchGrade::Normalised));
                }
                first.get_or_insert(range);
            }
            if let Some(range) = first {
                return Some(hit(range, MatchGrade::CaseFolded));
            }
        }
        None
    }

    /// The stretch from the first to the last piece, when all stand in order.
    fn elided_in(&self, view: View<'_>) -> Option<Hit> {
        let ways = self.pieces.get_or_init(|| {
            let ways = [pieces(self.raw, false), pieces(self.raw, true)].into_iter().flatten();
            ways.map(|pieces| pieces.iter().map(|piece| Pattern::variants(piece)).collect()).collect()
        });
        let places = ways.iter().find_map(|pieces| in_order(pieces, view))?;
        let (first, last) = (places.first()?.clone(), places.last()?.clone());
        Some(Hit {
            alterations: alterations::in_gaps(view.text, &places),
            range: view.in_chunk(first.start..last.end),
            grade: MatchGrade::Elided,
        })
    }
}

fn in_order(pieces: &[Vec<Pattern>], view: View<'_>) -> Option<Vec<Range<usize>>> {
    let mut from = 0;
    let mut places = Vec::with_capacity(pieces.len());
    for variants in pieces {
        let (end, range) = variants.iter().find_map(|pattern| {
            let mut places = pattern.places(&view.folded.text, from);
            places.find_map(|range| Some((range.end, view.whole(range)?)))
        })?;
        from = end;
        places.push(range);
    }
    (!places.is_empty()).then_some(places)
}

/// The longest stretch of letters and digits: no comma is taken out of the middle of one.
fn longest_word(pattern: &Pattern) -> &str {
    let words = pattern.text.split(|c: char| !c.is_alphanumeric());
    words.max_by_key(|word| word.len()).unwrap_or_default()
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

#[cfg(test)]
#[path = "quotes_tests.rs"]
mod tests;
