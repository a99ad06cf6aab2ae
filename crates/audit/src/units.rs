//! The units of an audit: what one judge call covers. The whole answer, a section of it, or a batch of claims.

use std::collections::HashMap;

use trace::Trace;

use crate::kinds::{Listing, Spec};
use crate::report::{Discrepancy, Doubt, Report, Span};
use crate::text;

/// What one judge call covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// The whole answer; the judge lists its claims.
    Whole,
    /// A part of the answer, in scalar values; the judge lists its claims.
    Section(Span),
    /// Claims that we list; the judge gives each a verdict.
    Claims(Vec<SentClaim>),
    /// The judge only lists the claims of the answer, or of a section of it. Verdicts are asked for later.
    Extraction(Option<Span>),
}

impl Unit {
    /// The part of the answer that it covers, if it is not the whole.
    pub fn section(&self) -> Option<Span> {
        match self {
            Self::Section(span) => Some(*span),
            Self::Extraction(span) => *span,
            Self::Whole | Self::Claims(_) => None,
        }
    }

    /// The claims that are sent; none where the judge lists them.
    pub fn claims(&self) -> &[SentClaim] {
        match self {
            Self::Claims(claims) => claims,
            Self::Whole | Self::Section(_) | Self::Extraction(_) => &[],
        }
    }

    /// How many characters of the answer it covers, so that the reply's length can be foreseen.
    pub fn covered_chars(&self, answer: &str) -> usize {
        match self {
            Self::Claims(claims) => claims.iter().map(|claim| claim.text.chars().count()).sum(),
            _ => self.section().map_or_else(|| answer.chars().count(), |span| span.end - span.start),
        }
    }
}

/// One claim of the list that the judge is sent.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SentClaim {
    /// Its id in the list: `1`, `2` and so on over the whole answer.
    #[serde(alias = "claim_id")]
    pub id: String,
    /// Its words.
    #[serde(alias = "claim_text")]
    pub text: String,
    /// Where it stands in the answer, scalar values; none when it was worded anew.
    #[serde(default)]
    pub span: Option<Span>,
}

/// Who lists the claims of a kind whose list is ours (docs/audits.md, R-04).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extraction {
    /// Every statement of the answer is one claim, split by rules.
    #[default]
    Sentences,
    /// The judge is asked for the claims in a call of its own first.
    Judge,
}

/// How answers are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Longest section of an answer, in scalar values.
    pub max_chars: usize,
    /// Most claims in one batch.
    pub claims_per_call: usize,
    /// Who lists the claims where the list is ours.
    pub extraction: Extraction,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let extraction = match self.extraction {
            Extraction::Sentences => "sentences",
            Extraction::Judge => "judge",
        };
        write!(f, "{}/{}/{extraction}", self.max_chars, self.claims_per_call)
    }
}

impl Cut {
    /// What `Display` wrote; none for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let cut = Self {
            max_chars: parts.next()?.parse().ok()?,
            claims_per_call: parts.next()?.parse().ok()?,
            extraction: match parts.next()? {
                "sentences" => Extraction::Sentences,
                "judge" => Extraction::Judge,
                _ => return None,
            },
        };
        parts.next().is_none().then_some(cut)
    }

    /// Half as much per call; what a context that is too long asks for.
    #[must_use]
    pub fn halved(self, times: u32) -> Self {
        Self {
            max_chars: (self.max_chars >> times).max(1),
            claims_per_call: (self.claims_per_call >> times).max(1),
            ..self
        }
    }
}

/// The units that can be told from the trace alone.
pub fn first(spec: &Spec, trace: &Trace, cut: Cut) -> Vec<Unit> {
    let answer = trace.answer.as_deref().unwrap_or_default();
    let in_sections = |whole: Unit, section: fn(Span) -> Unit| match sections(answer, cut.max_chars) {
        sections if sections.len() > 1 => sections.into_iter().map(section).collect(),
        _ => vec![whole],
    };
    match (spec.listing, cut.extraction) {
        (Listing::ByJudge, _) => in_sections(Unit::Whole, Unit::Section),
        (Listing::Sent, Extraction::Sentences) => batches(&sentence_claims(answer), cut.claims_per_call),
        (Listing::Sent, Extraction::Judge) => {
            in_sections(Unit::Extraction(None), |span| Unit::Extraction(Some(span)))
        }
    }
}

/// The unit of a reply that covers a whole answer: with these claims, or the default splitter's, where the list is
/// ours.
pub fn whole(spec: &Spec, trace: &Trace, claims: Option<Vec<SentClaim>>) -> Unit {
    let answer = trace.answer.as_deref().unwrap_or_default();
    match spec.listing {
        Listing::ByJudge => Unit::Whole,
        Listing::Sent => Unit::Claims(claims.unwrap_or_else(|| sentence_claims(answer))),
    }
}

/// Claims in batches of at most `per_call`.
pub fn batches(claims: &[SentClaim], per_call: usize) -> Vec<Unit> {
    claims.chunks(per_call.max(1)).map(|batch| Unit::Claims(batch.to_vec())).collect()
}

/// Every statement of the answer as a claim, numbered from 1 (docs/audits.md, R-04).
pub fn sentence_claims(answer: &str) -> Vec<SentClaim> {
    text::sentences(answer)
        .into_iter()
        .filter(may_state)
        .zip(1..)
        .map(|(sentence, number)| SentClaim {
            id: number.to_string(),
            text: sentence.text,
            span: Some(sentence.span),
        })
        .collect()
}

/// Whether a sentence may say something that has to be checked. A heading, a bold line or words that look like an order
/// may hold the one dangerous number of an answer, so that only what cannot be a statement is left out.
fn may_state(sentence: &text::Sentence) -> bool {
    const ENOUGH: usize = 4;
    let says_something = || {
        !sentence.text.trim_end().ends_with([':', '：'])
            && (text::content_words(&sentence.text).len() >= ENOUGH
                || !text::numbers(&sentence.text).is_empty())
    };
    match sentence.kind {
        text::SentenceKind::Statement => true,
        text::SentenceKind::Order | text::SentenceKind::LeadIn => says_something(),
        text::SentenceKind::Question | text::SentenceKind::Remark | text::SentenceKind::Mark => false,
    }
}

/// Claims that a judge extracted, numbered from 1.
pub fn numbered(claims: impl IntoIterator<Item = SentClaim>) -> Vec<SentClaim> {
    claims.into_iter().zip(1..).map(|(claim, number)| SentClaim { id: number.to_string(), ..claim }).collect()
}

/// Cuts `answer` into sections of at most `max_chars` scalar values, at sentence borders. One
/// sentence longer than that is a section of its own: cutting inside it would change its meaning.
/// A short answer is one section.
pub fn sections(answer: &str, max_chars: usize) -> Vec<Span> {
    let total = answer.chars().count();
    if total <= max_chars {
        return vec![Span { start: 0, end: total }];
    }
    let mut sections: Vec<Span> = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for sentence in text::sentences(answer) {
        if sentence.span.end - start > max_chars && end > start {
            sections.push(Span { start, end });
            start = end;
        }
        end = sentence.span.end;
    }
    sections.push(Span { start, end: total });
    sections
}

/// Merges the reports of an answer's units into one. The score is left to the kind.
pub fn merge(mut reports: Vec<Report>) -> Report {
    if reports.len() == 1 {
        return reports.remove(0);
    }
    let mut merged = Report::default();
    let mut assessments = Vec::new();
    let mut coverages = Vec::new();
    let mut known: HashMap<(Vec<String>, Span), usize> = HashMap::new();
    for (unit, report) in reports.into_iter().enumerate() {
        let name = |path: String| format!("unit {}: {path}", unit + 1);
        // Where each claim of the unit stands in the whole report.
        let mut places = Vec::with_capacity(report.claims.len());
        for claim in report.claims {
            let key =
                claim.answer_span.filter(|_| claim.id.is_none()).map(|span| (text::words(&claim.text), span));
            let earlier = key.as_ref().and_then(|key| known.get(key)).copied();
            let place = earlier.unwrap_or(merged.claims.len());
            places.push(place);
            match merged.claims.get_mut(place) {
                None => {
                    merged.claims.push(claim);
                    known.extend(key.map(|key| (key, place)));
                }
                Some(first) => {
                    let shown = text::shorten(&claim.text, 80);
                    merged.notes.push(name(format!(
                        "\"{shown}\" was judged in an earlier unit too, and counts once"
                    )));
                    // Where two units disagree, the one that found something is believed.
                    if !first.is_finding() && claim.is_finding() {
                        *first = claim;
                    }
                }
            }
        }
        merged.omissions.extend(report.omissions);
        merged.doubts.extend(report.doubts.into_iter().map(|doubt| Doubt {
            claim: doubt.claim.and_then(|claim| places.get(claim).copied()),
            path: name(doubt.path),
            ..doubt
        }));
        merged
            .discrepancies
            .extend(report.discrepancies.into_iter().map(|it| Discrepancy { path: name(it.path), ..it }));
        merged.notes.extend(report.notes.into_iter().map(name));
        coverages.extend(report.coverage);
        if !report.overall_assessment.is_empty() {
            assessments.push(report.overall_assessment);
        }
    }
    // The same passage may be missed by several sections; it is one omission.
    let mut seen = std::collections::HashSet::new();
    merged.omissions.retain(|omission| seen.insert((omission.chunk, omission.span)));
    if !coverages.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "a handful of units")]
        let count = coverages.len() as f64;
        merged.coverage = Some(coverages.iter().sum::<f64>() / count);
    }
    merged.overall_assessment = assessments.join("\n");
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_read_back_as_it_was_written() {
        for extraction in [Extraction::Sentences, Extraction::Judge] {
            let cut = Cut { max_chars: 6000, claims_per_call: 8, extraction };
            assert_eq!(Cut::parse(&cut.to_string()), Some(cut));
        }
        for text in ["", "6000", "6000/8", "6000/8/judge/1", "x/8/judge", "6000/8/people"] {
            assert_eq!(Cut::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sections_end_where_sentences_do() {
        let answer = "One is red. Two is blue. Three is green.";
        let parts: Vec<&str> = sections(answer, 25).iter().map(|span| text::slice(answer, *span)).collect();
        assert_eq!(parts.concat(), answer);
        assert_eq!(parts.len(), 2, "{parts:?}");
        assert_eq!(sections(answer, 1).len(), 3, "a sentence is never cut");
    }

    #[test]
    fn statements_are_numbered_and_keep_their_place() {
        let answer = "Prices:\n- A swim costs 4 euro.\n- Is it warm?\nThe pool opens at 7.";
        let claims = sentence_claims(answer);
        assert_eq!(claims.iter().map(|claim| claim.id.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        assert!(text::slice(answer, claims[0].span.unwrap()).contains("4 euro"));
    }
}
