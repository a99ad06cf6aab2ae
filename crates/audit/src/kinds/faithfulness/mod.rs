//! Faithfulness of an answer to the retrieved evidence, with omissions (seed document 001).

mod reply;

use serde_json::Value;
use trace::{Kind, Trace};

use self::reply::{Classification, Reply};
use super::Spec;
use crate::assess::failed;
use crate::prompt::Source;
use crate::reply::{Code, Problem};
use crate::report::{Claim, Discrepancy, Doubt, Evidence, Omission, Report, Role, Span, Verdict};
use crate::text::shorten;
use crate::verify::{Answer, Corpus, Found, Listed, Missing, Scope, is_trivial};
use crate::{Assessment, Outcome, rules};

/// The parts of this kind.
pub static SPEC: Spec = Spec {
    kind: Kind::Faithfulness,
    prompts: &[Source(include_str!("prompts/v1.md"))],
    schema: reply::schema,
    reply_keys: reply::KEYS,
    assess,
    score,
    decide_by_rule: rules::faithfulness,
};

/// Grounded claims over all claims; none without claims.
fn score(report: &Report) -> Option<f64> {
    if report.claims.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a reply has fewer than 2^52 claims")]
    Some(report.count(Verdict::Grounded) as f64 / report.claims.len() as f64)
}

fn assess(trace: &Trace, section: Option<Span>, value: &Value, notes: Vec<String>) -> Assessment {
    let Value::Object(object) = value else {
        return failed(Outcome::Format, vec![Problem::new(Code::WrongType, "$", "expected an object")]);
    };
    let corpus = Corpus::new(trace);
    let (reply, more) = match reply::read(object, |id| corpus.resolve(id).is_some()) {
        Ok(read) => read,
        Err(problems) => return failed(Outcome::Format, problems),
    };
    let mut check = Check { corpus, problems: Vec::new(), report: Report { notes, ..Report::default() } };
    check.report.notes.extend(more);
    check.report.overall_assessment = storable(&reply.overall_assessment);
    let listed: Vec<Listed> = reply
        .claim_analysis
        .iter()
        .enumerate()
        .map(|(at, claim)| Listed::new(&claim.claim_text, format!("{LIST}[{at}].claim_text")))
        .collect();
    for (at, (claim, listed)) in reply.claim_analysis.iter().zip(&listed).enumerate() {
        check.claim(at, claim, listed);
    }
    check.answer(&Answer::new(trace, section), &listed);
    for (at, omission) in reply.omission_flags.iter().enumerate() {
        check.omission(at, omission);
    }
    check.report.score = score(&check.report);
    check.report.discrepancies = discrepancies(&reply, check.report.score);
    let outcome = if check.problems.is_empty() { Outcome::Accepted } else { Outcome::Content };
    Assessment { outcome, problems: check.problems, report: Some(check.report) }
}

/// Path of the list of claims.
const LIST: &str = "$.claim_analysis";

/// The verification of one reply, and what it has found so far.
struct Check<'a> {
    corpus: Corpus<'a>,
    problems: Vec<Problem>,
    report: Report,
}

/// A quote, and where in the reply it stands.
#[derive(Clone, Copy)]
struct Quote<'q> {
    text: &'q str,
    path: &'q str,
    role: Role,
    claim: usize,
}

impl Check<'_> {
    fn claim(&mut self, at: usize, claim: &reply::Claim, listed: &Listed) {
        let path = |key: &str| format!("{LIST}[{at}].{key}");
        let is_grounded = claim.classification.value == Classification::Grounded;
        let (supporting_path, contradicting_path) =
            (path("supporting_evidence"), path("contradicting_evidence"));
        let quote = |text, path, role| Quote { text, path, role, claim: at };
        let supporting = claim
            .supporting_evidence
            .as_deref()
            .map(|text| quote(text, supporting_path.as_str(), Role::Supporting));
        let contradicting = claim
            .contradicting_evidence
            .as_deref()
            .map(|text| quote(text, contradicting_path.as_str(), Role::Contradicting));
        let (primary, secondary) =
            if is_grounded { (supporting, contradicting) } else { (contradicting, supporting) };

        let named =
            claim.source_id.as_deref().map(|id| self.corpus.resolve(id).map(|(_, chunks)| chunks.to_vec()));
        if let (Some(None), Some(id)) = (&named, &claim.source_id) {
            let message = format!("the evidence has no source `{}`", shorten(id, 80));
            self.problems.push(Problem::new(Code::UnknownSource, path("source_id"), message));
        }
        self.note_cut_id(claim.source_id.as_deref(), &path("source_id"));
        let named = named.flatten();

        let mut evidence = Vec::new();
        if let Some(quote) = primary {
            evidence.extend(self.primary(quote, named.as_deref(), &path("source_id")));
        } else if is_grounded {
            let message = "a grounded claim needs the passage that carries it";
            self.problems.push(Problem::new(Code::MissingQuote, supporting_path.as_str(), message));
        }
        if let Some(quote) = secondary {
            evidence.extend(self.secondary(quote, named.as_deref()));
        }
        if let Some(quote) = contradicting.filter(|_| is_grounded) {
            let message = "a claim called grounded comes with a contradicting passage";
            self.doubt("contradicting_quote_on_grounded_claim", quote.path, message.to_owned(), Some(at));
        }
        let quotes: Vec<&str> = evidence
            .iter()
            .filter(|found| found.role == Role::Supporting)
            .map(|found| found.quote.as_str())
            .collect();
        if is_grounded && !quotes.is_empty() {
            let missing = listed.numbers_not_in(quotes);
            if !missing.is_empty() {
                let message = format!("the claim has {}, its passage does not", list(&missing));
                self.doubt("number_not_in_quote", &supporting_path, message, Some(at));
            }
        }
        let verdict = match (is_grounded, contradicting) {
            (true, _) => Verdict::Grounded,
            (false, Some(_)) => Verdict::Contradicted,
            (false, None) => Verdict::Unsupported,
        };
        self.report.claims.push(Claim {
            text: storable(&claim.claim_text),
            verdict,
            judge_verdict: Some(claim.classification.spelling.clone()),
            severity: claim.severity,
            confidence: None,
            explanation: storable(&claim.explanation),
            evidence,
            answer_span: None,
            by_rule: false,
        });
    }

    fn note_cut_id(&mut self, id: Option<&str>, path: &str) {
        let Some(id) = id else { return };
        if let Some((known, _)) = self.corpus.resolve(id).filter(|(known, _)| *known != id.trim()) {
            self.report.notes.push(format!("{path}: read as `{}`", shorten(known, 80)));
        }
    }

    /// The quote that a verdict rests on: it must stand in the source that the claim names.
    fn primary(&mut self, quote: Quote<'_>, named: Option<&[usize]>, source_path: &str) -> Option<Evidence> {
        match self.corpus.find(quote.text, named.map_or(Scope::Anywhere, Scope::Only)) {
            Ok(found) => {
                if named.is_none() {
                    self.report.notes.push(format!(
                        "{source_path}: set to `{}`, where the passage stands",
                        shorten(&found.source_id, 80)
                    ));
                }
                Some(self.evidence(quote, found))
            }
            Err(Missing::Elsewhere(found)) => {
                let message = format!(
                    "the passage stands in source `{}`, not in the one named",
                    shorten(&found.source_id, 80)
                );
                self.problems.push(Problem::new(Code::WrongSource, source_path, message));
                Some(self.evidence(quote, found))
            }
            Err(Missing::Nowhere(near)) => self.fabricated(quote.text, quote.path, near),
        }
    }

    /// Any other quote: it may stand in any source.
    fn secondary(&mut self, quote: Quote<'_>, named: Option<&[usize]>) -> Option<Evidence> {
        match self.corpus.find(quote.text, named.map_or(Scope::Anywhere, Scope::Only)) {
            Ok(found) | Err(Missing::Elsewhere(found)) => Some(self.evidence(quote, found)),
            Err(Missing::Nowhere(near)) => self.fabricated(quote.text, quote.path, near),
        }
    }

    fn evidence(&mut self, quote: Quote<'_>, found: Found) -> Evidence {
        self.doubt_trivial(quote.text, quote.path, Some(quote.claim));
        Evidence {
            role: quote.role,
            source_id: found.source_id,
            chunk: found.chunk,
            quote: storable(quote.text),
            span: found.span,
            grade: found.grade,
        }
    }

    fn fabricated<T>(&mut self, quote: &str, path: &str, near: Option<String>) -> Option<T> {
        let mut message = format!("this passage stands nowhere in the evidence: \"{}\"", shorten(quote, 80));
        if let Some(near) = near {
            message.push_str("; it ");
            message.push_str(&near);
        }
        self.problems.push(Problem::new(Code::FabricatedQuote, path, message));
        None
    }

    fn answer(&mut self, answer: &Answer, listed: &[Listed]) {
        let checked = answer.check(listed, LIST);
        for (claim, span) in self.report.claims.iter_mut().zip(checked.spans) {
            claim.answer_span = span;
        }
        self.report.coverage = checked.coverage;
        self.problems.extend(checked.problems);
        if listed.is_empty() && checked.has_statements {
            self.doubt(
                "no_claims_in_answer_with_statements",
                LIST,
                "the answer makes statements, the judge lists none".into(),
                None,
            );
        }
    }

    fn omission(&mut self, at: usize, omission: &reply::Omission) {
        let path = format!("$.omission_flags[{at}].source_passage");
        match self.corpus.find(&omission.source_passage, Scope::Anywhere) {
            Ok(found) | Err(Missing::Elsewhere(found)) => {
                self.doubt_trivial(&omission.source_passage, &path, None);
                self.report.omissions.push(Omission {
                    missing_fact: storable(&omission.omitted_fact),
                    available_evidence: storable(&omission.source_passage),
                    impact: storable(&omission.relevance),
                    source_id: found.source_id,
                    chunk: found.chunk,
                    span: found.span,
                    grade: found.grade,
                });
            }
            Err(Missing::Nowhere(near)) => {
                self.fabricated::<()>(&omission.source_passage, &path, near);
            }
        }
    }

    fn doubt_trivial(&mut self, quote: &str, path: &str, claim: Option<usize>) {
        if is_trivial(quote) {
            self.doubt("trivial_quote", path, "too short to show anything by itself".into(), claim);
        }
    }

    fn doubt(&mut self, code: &str, path: &str, message: String, claim: Option<usize>) {
        self.report.doubts.push(Doubt { code: code.to_owned(), path: path.to_owned(), message, claim });
    }
}

/// The judge's figures that differ from what its claims add up to.
fn discrepancies(reply: &Reply, score: Option<f64>) -> Vec<Discrepancy> {
    /// What rounding to two decimals can do.
    const ROUNDING: f64 = 0.0051;
    let grounded = reply
        .claim_analysis
        .iter()
        .filter(|claim| claim.classification.value == Classification::Grounded)
        .count();
    let total = reply.claim_analysis.len();
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of claims; a judge's figure may lose its last digits"
    )]
    let figures = [
        ("$.faithfulness_score", Some(reply.faithfulness_score), score, ROUNDING),
        ("$.total_claims", Some(reply.total_claims as f64), Some(total as f64), 0.0),
        ("$.grounded_claims", Some(reply.grounded_claims as f64), Some(grounded as f64), 0.0),
        (
            "$.hallucinated_claims",
            Some(reply.hallucinated_claims as f64),
            Some((total - grounded) as f64),
            0.0,
        ),
        ("$.omitted_facts", Some(reply.omitted_facts as f64), Some(reply.omission_flags.len() as f64), 0.0),
    ];
    figures
        .into_iter()
        .filter_map(|(path, judge, ours, tolerance)| {
            let (judge, ours) = (judge?, ours?);
            ((judge - ours).abs() > tolerance).then(|| Discrepancy { path: path.to_owned(), judge, ours })
        })
        .collect()
}

/// A text that every store takes: Postgres refuses NUL.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
