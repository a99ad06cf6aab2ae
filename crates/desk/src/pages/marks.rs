//! Texts with what is said about them marked. Places are Unicode scalar values, and ours.

use audit::Span;
use outcomes::highlight::{cut, visible};
use serde_json::Value;

use crate::review::{ClaimPart, ItemView, OmissionPart};

/// A piece of a text.
pub(super) struct Piece {
    pub text: String,
    /// How it is marked; empty where it is not.
    pub class: &'static str,
    /// The card that speaks of it, such as `claim-3`; empty where none does.
    pub card: String,
}

/// A text in pieces.
pub(super) struct Marked {
    pub pieces: Vec<Piece>,
}

/// A mark: the greater goes over the less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    weight: u8,
    class: &'static str,
    card: Card,
}

/// What a mark belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Card {
    Claim(usize),
    Omission(usize),
    Added(usize),
}

impl Card {
    fn id(self) -> String {
        match self {
            Self::Claim(at) => format!("claim-{at}"),
            Self::Omission(at) => format!("omission-{at}"),
            Self::Added(at) => format!("added-{at}"),
        }
    }
}

fn marked(text: &str, marks: &[(Span, Mark)]) -> Marked {
    let pieces = cut(text, marks).into_iter().map(|piece| Piece {
        text: visible(&piece.text),
        class: piece.mark.map_or("", |mark| mark.class),
        card: piece.mark.map(|mark| mark.card.id()).unwrap_or_default(),
    });
    Marked { pieces: pieces.collect() }
}

fn span(start: Option<i64>, end: Option<i64>) -> Option<Span> {
    let place = |at: i64| usize::try_from(at).ok();
    Some(Span { start: place(start?)?, end: place(end?)? })
}

/// The class of a claim's verdict, the reviewer's where there is one.
pub(super) fn class(claim: &ClaimPart) -> &'static str {
    let ruled = claim.ruling.as_ref().and_then(|ruling| ruling.verdict.as_deref());
    match ruled.unwrap_or(&claim.verdict) {
        "contradicted" => "contradicted",
        "unsupported" => "unsupported",
        "insufficient_evidence" => "insufficient",
        _ if claim.is_flag => "doubted",
        _ => "grounded",
    }
}

/// The answer, with every claim marked where it stands.
pub(super) fn answer(item: &ItemView) -> Marked {
    let claims = item.report.as_ref().map(|report| report.claims.as_slice()).unwrap_or_default();
    let mut marks: Vec<(Span, Mark)> = claims
        .iter()
        .filter_map(|claim| {
            let mark =
                Mark { weight: u8::from(claim.is_flag), class: class(claim), card: Card::Claim(claim.index) };
            Some((span(claim.start, claim.end)?, mark))
        })
        .collect();
    let added = item.rulings.iter().filter(|ruling| ruling.ruling == "add" && !ruling.withdrawn);
    marks.extend(added.enumerate().filter_map(|(at, ruling)| {
        let mark = Mark { weight: 2, class: "added", card: Card::Added(at) };
        Some((span(ruling.start, ruling.end)?, mark))
    }));
    marked(&item.trace.answer, &marks)
}

/// One piece of evidence, with what was quoted from it marked.
pub(super) fn evidence(item: &ItemView, chunk: usize) -> Marked {
    let Some(text) = item.trace.evidence.get(chunk).map(|evidence| evidence.text.as_str()) else {
        return Marked { pieces: Vec::new() };
    };
    let mut marks = Vec::new();
    if let Some(report) = &item.report {
        marks.extend(report.claims.iter().flat_map(|claim| of_claim(claim, chunk)));
        marks.extend(report.omissions.iter().filter_map(|omission| of_omission(omission, chunk)));
    }
    marked(text, &marks)
}

fn of_claim(claim: &ClaimPart, chunk: usize) -> Vec<(Span, Mark)> {
    let weight = u8::from(claim.is_flag);
    let mark = |class| Mark { weight, class, card: Card::Claim(claim.index) };
    let quotes = claim.evidence.as_array().into_iter().flatten();
    let mut marks: Vec<(Span, Mark)> = quotes
        .filter(|quote| quote.get("chunk").and_then(Value::as_u64) == u64::try_from(chunk).ok())
        .filter_map(|quote| {
            let at = |key: &str| quote.get("span")?.get(key)?.as_i64();
            let contradicts = quote.get("role").and_then(Value::as_str) == Some("contradicting");
            let class = if contradicts { "contradicted" } else { "supporting" };
            Some((span(at("start"), at("end"))?, mark(class)))
        })
        .collect();
    if let Some((at, start, end)) = claim.nearest.filter(|(at, ..)| *at == chunk && claim.is_flag) {
        debug_assert_eq!(at, chunk);
        marks.push((Span { start, end }, mark("near")));
    }
    marks
}

fn of_omission(omission: &OmissionPart, chunk: usize) -> Option<(Span, Mark)> {
    if usize::try_from(omission.chunk).ok()? != chunk {
        return None;
    }
    let mark = Mark { weight: 1, class: "omitted", card: Card::Omission(omission.index) };
    Some((span(Some(omission.start), Some(omission.end))?, mark))
}
