//! Comparison with a judgment that a person made before (docs/audits.md, F-17).

use serde::{Deserialize, Serialize};
use trace::{HumanClaim, HumanLabel};

use crate::report::{Claim, Report, Span};
use crate::text;

/// How our result stands to a person's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Whether both say the same; none where one of them says nothing.
    pub agreement: Option<bool>,
    /// What differs, in words; empty when nothing does.
    pub discrepancy_notes: String,
}

/// Scores further apart than this are noted.
const SCORE_TOLERANCE: f64 = 0.2;

/// So many claims that differ are named; the others are counted.
const NAMED: usize = 5;

/// A named claim is cut after so many characters.
const CLAIM_CHARS: usize = 80;

/// Compares a report with a label. The answer counts as faithful for us when every claim is grounded.
///
/// Where the label says nothing about the whole answer but judges single claims, the answer counts as faithful for
/// the person when none of these is unsupported.
pub fn compare(report: &Report, label: &HumanLabel) -> Comparison {
    let ours = (!report.claims.is_empty()).then(|| report.findings().next().is_none());
    let theirs = label.faithful.or_else(|| faithful_by_claims(label));
    let agreement = ours.zip(theirs).map(|(ours, theirs)| ours == theirs);
    let mut notes = Vec::new();
    if agreement == Some(false) {
        let word = |faithful: bool| if faithful { "faithful" } else { "not faithful" };
        notes.push(format!(
            "{} called the answer {}, the audit {} ({} of {} claims not grounded)",
            label.labeler.as_deref().unwrap_or("the earlier label"),
            word(theirs.unwrap_or_default()),
            word(ours.unwrap_or_default()),
            report.findings().count(),
            report.claims.len()
        ));
    }
    if let Some((ours, theirs)) = report.grounded_share().zip(label.score)
        && (ours - theirs).abs() > SCORE_TOLERANCE
    {
        notes.push(format!(
            "the label's score is {theirs:.2}, the audit's share of grounded claims {ours:.2}"
        ));
    }
    notes.extend(claim_notes(&report.claims, label.claims.as_deref().unwrap_or_default()));
    Comparison { agreement, discrepancy_notes: notes.join("; ") }
}

fn faithful_by_claims(label: &HumanLabel) -> Option<bool> {
    let said = label.claims.as_ref()?.iter().filter_map(HumanClaim::is_supported);
    said.reduce(|all, one| all && one)
}

/// What differs claim by claim; empty when every labelled claim that can be compared agrees.
fn claim_notes(ours: &[Claim], labelled: &[HumanClaim]) -> Vec<String> {
    let compared: Vec<_> = labelled
        .iter()
        .filter_map(|theirs| Some((theirs, theirs.is_supported()?, grounded(ours, theirs)?)))
        .collect();
    let differing: Vec<_> = compared.iter().filter(|(_, theirs, ours)| theirs != ours).collect();
    if differing.is_empty() {
        return Vec::new();
    }
    let word = |supported: bool| if supported { "supported" } else { "not supported" };
    let mut notes = vec![format!(
        "{} of {} labelled claims that could be compared differ",
        differing.len(),
        compared.len()
    )];
    notes.extend(differing.iter().take(NAMED).map(|(claim, theirs, ours)| {
        let text = text::shorten(claim.text.as_deref().unwrap_or_default(), CLAIM_CHARS);
        format!("label: {}, audit: {}: \"{text}\"", word(*theirs), word(*ours))
    }));
    notes
}

/// Whether all of our claims about the labelled one are grounded; none when we have none about it.
fn grounded(ours: &[Claim], labelled: &HumanClaim) -> Option<bool> {
    let span = span(labelled);
    let words = labelled.text.as_deref().map(text::content_words).unwrap_or_default();
    ours.iter()
        .filter(|claim| match (span, claim.answer_span) {
            (Some(theirs), Some(ours)) => overlaps(ours, theirs),
            _ => says_the_same(&text::content_words(&claim.text), &words),
        })
        .map(|claim| !claim.is_finding())
        .reduce(|all, one| all && one)
}

fn span(labelled: &HumanClaim) -> Option<Span> {
    let start = usize::try_from(labelled.start?).ok()?;
    let end = usize::try_from(labelled.end?).ok()?;
    (start < end).then_some(Span { start, end })
}

/// Whether at least half of the shorter one lies in the other.
fn overlaps(one: Span, other: Span) -> bool {
    let common = one.end.min(other.end).saturating_sub(one.start.max(other.start));
    let shorter = (one.end - one.start).min(other.end - other.start);
    common > 0 && 2 * common >= shorter
}

/// Whether the content words of one are all among the other's.
fn says_the_same(one: &[String], other: &[String]) -> bool {
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    !few.is_empty() && few.iter().all(|word| many.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::Verdict;

    /// Text, verdict, and where it stands in the answer.
    type Sketch<'t> = (&'t str, Verdict, Option<(usize, usize)>);

    fn report(claims: &[Sketch<'_>]) -> Report {
        let claims = claims.iter().map(|(text, verdict, span)| Claim {
            answer_span: span.map(|(start, end)| Span { start, end }),
            ..Claim::new(*text, *verdict)
        });
        Report { claims: claims.collect(), ..Report::default() }
    }

    fn compared(report: &Report, label: serde_json::Value) -> Comparison {
        compare(report, &serde_json::from_value(label).unwrap())
    }

    #[test]
    fn claims_are_compared_by_their_place_in_the_answer() {
        let ours = report(&[
            ("The gate opens at ten.", Verdict::Grounded, Some((0, 22))),
            ("Dogs are welcome.", Verdict::Grounded, Some((23, 40))),
        ]);
        let label = json!({ "claims": [
            { "text": "the opening hour", "start": 0, "end": 22, "verdict": "supported" },
            { "text": "what it says of dogs", "start": 23, "end": 40, "verdict": "partially_supported" },
        ] });
        let comparison = compared(&ours, label);
        assert_eq!(comparison.agreement, Some(false), "one labelled claim is not supported");
        assert!(comparison.discrepancy_notes.contains("1 of 2 labelled claims"), "{comparison:?}");
        assert!(
            comparison
                .discrepancy_notes
                .contains("label: not supported, audit: supported: \"what it says of dogs\"")
        );
    }

    #[test]
    fn claims_without_a_place_are_compared_by_their_words() {
        let ours = report(&[("The gate opens at ten on weekdays.", Verdict::Unsupported, None)]);
        let agreeing =
            compared(&ours, json!({ "claims": [{ "text": "The gate opens at ten.", "faithful": false }] }));
        assert_eq!(agreeing, Comparison { agreement: Some(true), discrepancy_notes: String::new() });
        let other = compared(
            &ours,
            json!({ "faithful": false, "claims": [{ "text": "Dogs are welcome.", "faithful": true }] }),
        );
        assert_eq!(other.discrepancy_notes, "", "a claim that the audit does not have is not compared");
    }

    #[test]
    fn a_label_with_places_outside_the_answer_or_unknown_words_says_nothing() {
        let ours = report(&[("The gate opens at ten.", Verdict::Grounded, Some((0, 22)))]);
        for claim in [
            json!({ "text": "x", "start": 900, "end": 950, "faithful": false }),
            json!({ "text": "The gate opens at ten.", "verdict": "maybe" }),
            json!({ "start": 5, "end": 2, "faithful": false }),
            json!({}),
        ] {
            let comparison = compared(&ours, json!({ "faithful": true, "claims": [claim] }));
            assert_eq!(comparison, Comparison { agreement: Some(true), discrepancy_notes: String::new() });
        }
    }

    #[test]
    fn the_label_of_the_whole_answer_goes_before_its_claims() {
        let ours = report(&[("The gate opens at ten.", Verdict::Grounded, Some((0, 22)))]);
        let label = json!({ "faithful": true, "claims": [{ "start": 0, "end": 22, "faithful": false }] });
        assert_eq!(compared(&ours, label).agreement, Some(true));
    }
}
