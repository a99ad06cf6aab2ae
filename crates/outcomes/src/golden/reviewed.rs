//! A closed review as a golden case: the original trace with what people decided as its label.

use std::collections::{BTreeMap, BTreeSet};

use audit::review::{Ruling, Said, Standing, Target, standing};
use audit::{Span, Verdict};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;
use trace::{HumanClaim, HumanLabel, Kind, Trace};

/// A claim of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportClaim {
    /// The claim.
    pub text: String,
    /// What the judge said about it.
    pub verdict: Verdict,
    /// Where it stands in the answer.
    pub span: Option<Span>,
}

/// What a closed review says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// The kind of the audit that was reviewed.
    pub kind: Kind,
    /// The review item, to find it again.
    pub item: String,
    /// Whether the whole answer is faithful.
    pub faithful: bool,
    /// Who has given an opinion.
    pub reviewers: Vec<String>,
    /// When it was closed.
    pub closed_at: DateTime<Utc>,
    /// The claims of the report, in order.
    pub claims: Vec<ReportClaim>,
    /// Everything that was said, in order.
    pub rulings: Vec<Ruling>,
}

/// The trace as a golden case. A label that it came with is replaced; claims that nobody ruled on, and those on which
/// opinions differ, are left out.
pub fn case(trace: Trace, review: &Review) -> Trace {
    let claims: Vec<HumanClaim> = claims(review);
    let label = HumanLabel {
        labeler: Some(review.reviewers.join(", ")),
        faithful: Some(review.faithful),
        claims: (!claims.is_empty()).then_some(claims),
        ..HumanLabel::default()
    };
    let mut metadata = trace.metadata.clone().unwrap_or_default();
    metadata.entry("category").or_insert_with(|| json!("reviewed"));
    metadata.insert("review_item".to_owned(), json!(review.item));
    metadata
        .insert("reviewed_at".to_owned(), json!(review.closed_at.to_rfc3339_opts(SecondsFormat::Secs, true)));
    Trace { human_label: Some(label), audits: vec![review.kind], metadata: Some(metadata), ..trace }
}

fn claims(review: &Review) -> Vec<HumanClaim> {
    let each: Vec<Standing<'_>> =
        review.reviewers.iter().map(|reviewer| standing(&review.rulings, reviewer)).collect();
    let agreed = review.claims.iter().enumerate().filter_map(|(at, claim)| {
        // Who left a claim as it was agrees with the judge; somebody must have looked at it, though.
        let of = |standing: &Standing<'_>| match standing.decided.get(&Target::Claim(at)).map(|it| &it.said) {
            Some(Said::Override { verdict: Some(verdict), .. }) => *verdict,
            _ => claim.verdict,
        };
        let is_ruled_on = each.iter().any(|standing| standing.decided.contains_key(&Target::Claim(at)));
        let first = of(each.first()?);
        (is_ruled_on && each.iter().all(|standing| of(standing) == first))
            .then(|| human(&claim.text, first, claim.span))
    });
    agreed.chain(added(&each)).collect()
}

/// Claims that the judge missed, where everybody says so with the same verdict.
fn added(each: &[Standing<'_>]) -> Vec<HumanClaim> {
    let mut said: BTreeMap<String, Vec<(usize, HumanClaim)>> = BTreeMap::new();
    for (reviewer, standing) in each.iter().enumerate() {
        for ruling in &standing.added {
            if let Said::Add { text, verdict, span, .. } = &ruling.said {
                let claims = said.entry(text.trim().to_lowercase()).or_default();
                claims.push((reviewer, human(text.trim(), *verdict, *span)));
            }
        }
    }
    let is_agreed = |claims: &[(usize, HumanClaim)]| {
        let reviewers: BTreeSet<usize> = claims.iter().map(|(reviewer, _)| *reviewer).collect();
        reviewers.len() == each.len() && claims.iter().all(|(_, claim)| claim.verdict == claims[0].1.verdict)
    };
    let agreed = said.into_values().filter(|claims| is_agreed(claims));
    // One who has said where it stands is believed.
    let one = |claims: Vec<(usize, HumanClaim)>| {
        claims.into_iter().map(|(_, claim)| claim).max_by_key(|claim| claim.start.is_some())
    };
    agreed.filter_map(one).collect()
}

fn human(text: &str, verdict: Verdict, span: Option<Span>) -> HumanClaim {
    let place = |at: usize| u64::try_from(at).unwrap_or(u64::MAX);
    HumanClaim {
        text: Some(text.to_owned()),
        faithful: Some(verdict == Verdict::Grounded),
        verdict: Some(verdict.as_str().to_owned()),
        start: span.map(|span| place(span.start)),
        end: span.map(|span| place(span.end)),
        ..HumanClaim::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(id: u128, reviewer: &str, said: Said) -> Ruling {
        Ruling { id: uuid::Uuid::from_u128(id), reviewer: reviewer.into(), said, blind: false }
    }

    #[test]
    fn what_people_agree_on_becomes_the_label() {
        let message = json!({
            "schema": trace::SCHEMA, "trace_id": "t", "project": "p", "answer": "One. Two. Three.",
            "human_label": { "faithful": true }, "metadata": { "team": "blue" }, "later": 7,
        });
        let trace = trace::decode(message.to_string().as_bytes()).unwrap();
        let claim = |text: &str, verdict| ReportClaim { text: text.into(), verdict, span: None };
        let to = |at, verdict| Said::Override {
            target: Target::Claim(at),
            verdict: Some(verdict),
            severity: None,
        };
        let span = Some(Span { start: 10, end: 16 });
        let add = |text: &str, verdict, span| Said::Add { text: text.into(), verdict, severity: None, span };
        let review = Review {
            kind: Kind::Gate,
            item: "i".into(),
            faithful: false,
            reviewers: vec!["ann".into(), "bob".into()],
            closed_at: DateTime::UNIX_EPOCH,
            claims: vec![
                claim("One.", Verdict::Contradicted),
                claim("Two.", Verdict::Unsupported),
                claim("Never ruled on.", Verdict::Grounded),
                claim("Overridden by one alone.", Verdict::Grounded),
            ],
            rulings: vec![
                ruling(1, "ann", Said::Confirm(Target::Claim(0))),
                ruling(2, "bob", Said::Confirm(Target::Claim(0))),
                ruling(3, "ann", to(1, Verdict::Grounded)),
                ruling(4, "bob", Said::Confirm(Target::Claim(1))),
                ruling(5, "eve", to(0, Verdict::Grounded)),
                ruling(6, "bob", add("Three.", Verdict::Unsupported, span)),
                ruling(7, "ann", add(" three.", Verdict::Unsupported, None)),
                // What one of them alone says, or both say otherwise, is nothing that people agree on.
                ruling(8, "ann", add("Four.", Verdict::Unsupported, None)),
                ruling(9, "ann", add("Five.", Verdict::Unsupported, None)),
                ruling(10, "bob", add("Five.", Verdict::Grounded, None)),
                ruling(11, "ann", to(3, Verdict::Contradicted)),
            ],
        };
        let case = serde_json::to_value(case(trace, &review)).unwrap();
        assert_eq!(
            case["human_label"],
            json!({
                "labeler": "ann, bob",
                "faithful": false,
                "claims": [
                    { "text": "One.", "faithful": false, "verdict": "contradicted" },
                    { "text": "Three.", "faithful": false, "verdict": "unsupported", "start": 10, "end": 16 },
                ],
            })
        );
        assert_eq!(case["audits"], json!(["gate"]));
        assert_eq!(
            (&case["metadata"]["category"], &case["metadata"]["team"]),
            (&json!("reviewed"), &json!("blue"))
        );
        assert_eq!(case["later"], 7, "the rest is as it came");
    }
}
