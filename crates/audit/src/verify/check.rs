//! The verification of one reply, for every kind: its claims one by one, then the list as a whole.

use trace::Trace;

use super::measures::{Numbered, is_limited};
use super::{Alteration, Answer, Corpus, Found, Listed, Missing, Scope, is_trivial};
use crate::evidence::{Basis, Passage};
use crate::reply::{Code, Problem};
use crate::report::{
    Claim, Confidence, Doubt, Evidence, Fabrication, MatchGrade, Omission, Report, Role, Severity, Verdict,
};
use crate::text::{self, shorten};
use crate::units::Unit;
use crate::{Assessment, Outcome};

/// What a kind reads out of one claim of a reply, in words that all kinds share.
#[derive(Debug, Clone)]
pub struct Judged<'r> {
    /// JSON path of the claim's object, such as `$.claims[3]`.
    pub path: String,
    /// The claim's words.
    pub text: &'r str,
    /// The id under which it was sent, as the judge gave it back; none where the judge lists claims.
    pub id: Option<String>,
    /// The internal verdict.
    pub verdict: Verdict,
    /// The judge's own word.
    pub word: &'r str,
    /// How grave a finding is.
    pub severity: Option<Severity>,
    /// How sure the judge said it was.
    pub confidence: Option<Confidence>,
    /// Plausible or likely made up.
    pub fabrication: Option<Fabrication>,
    /// The judge's reasoning.
    pub explanation: &'r str,
    /// The quote that the verdict rests on must stand in this source.
    pub source: Option<Field<'r>>,
    /// A quote that supports the claim.
    pub supporting: Option<Field<'r>>,
    /// A quote that contradicts it.
    pub contradicting: Option<Field<'r>>,
    /// The key that names the source; none for kinds that do not ask for it.
    pub source_key: Option<&'static str>,
    /// The key whose absence is a `missing_quote` when the claim is grounded.
    pub quote_key: &'static str,
}

/// A text of a reply and the key that it stands under.
#[derive(Debug, Clone, Copy)]
pub struct Field<'r> {
    /// The key in the claim's object.
    pub key: &'static str,
    /// The text.
    pub text: &'r str,
}

impl<'r> Field<'r> {
    /// The text under `key`, if there is one.
    pub fn of(key: &'static str, text: Option<&'r str>) -> Option<Self> {
        text.map(|text| Self { key, text })
    }
}

/// The verification of one reply, and what it has found so far.
pub struct Check<'a> {
    trace: &'a Trace,
    unit: &'a Unit,
    corpus: Corpus<'a>,
    problems: Vec<Problem>,
    report: Report,
    listed: Vec<Listed>,
    locates_claims: bool,
}

/// A quote, and where in the reply it stands.
#[derive(Clone, Copy)]
struct Quote<'q> {
    text: &'q str,
    path: &'q str,
    role: Role,
    claim: usize,
    /// Whether the claim denies something.
    denies: bool,
    /// Whether the claim says of a number that it is a limit or within one.
    limits: bool,
}

impl<'a> Check<'a> {
    /// The verification of a reply about `unit` of `trace`.
    pub fn new(trace: &'a Trace, unit: &'a Unit, basis: Basis) -> Self {
        Self {
            trace,
            unit,
            corpus: Corpus::of(&basis.passages(trace)),
            problems: Vec::new(),
            report: Report::default(),
            listed: Vec::new(),
            locates_claims: false,
        }
    }

    /// A claim that stands word by word in the answer gets its own place there, not that of its sentence
    /// (docs/audits.md, E-05).
    #[must_use]
    pub fn locating_claims(self) -> Self {
        Self { locates_claims: true, ..self }
    }

    /// The evidence.
    pub fn corpus(&self) -> &Corpus<'a> {
        &self.corpus
    }

    /// Adds notes about oddities of the reply that were tolerated.
    pub fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        self.report.notes.extend(notes);
    }

    /// Adds a failure of the reply.
    pub fn refuse(&mut self, code: Code, path: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, path, message));
    }

    /// Adds a doubt.
    pub fn doubt(&mut self, code: &str, path: &str, message: &str, claim: Option<usize>) {
        self.report.doubts.push(Doubt {
            code: code.to_owned(),
            path: path.to_owned(),
            message: message.to_owned(),
            claim,
        });
    }

    /// Verifies one claim's quotes and keeps the claim.
    pub fn claim(&mut self, claim: &Judged<'_>) {
        let at = self.report.claims.len();
        let path = |key: &str| format!("{}.{key}", claim.path);
        let paths = (
            path(claim.supporting.map_or(claim.quote_key, |quote| quote.key)),
            path(claim.contradicting.map_or("", |quote| quote.key)),
        );
        let listed = Listed::new(claim.text, path("claim_text"));
        let (denies, limits) = (listed.is_negated(), is_limited(claim.text));
        let quote = |text, path, role| Quote { text, path, role, claim: at, denies, limits };
        let supporting = claim.supporting.map(|field| quote(field.text, paths.0.as_str(), Role::Supporting));
        let contradicting =
            claim.contradicting.map(|field| quote(field.text, paths.1.as_str(), Role::Contradicting));
        let is_grounded = claim.verdict == Verdict::Grounded;

        let source_path = claim.source_key.map(path);
        let source_path = source_path.as_deref();
        let named = claim.source.and_then(|source| self.named(source.text, source_path.unwrap_or_default()));
        let (primary, secondary) =
            if is_grounded { (supporting, contradicting) } else { (contradicting, supporting) };
        let mut evidence = Vec::new();
        if let Some(quote) = primary {
            evidence.extend(self.primary(quote, named.as_deref(), source_path));
        } else if is_grounded {
            self.refuse(
                Code::MissingQuote,
                path(claim.quote_key),
                "a grounded claim needs the passage that carries it",
            );
        }
        if let Some(quote) = secondary {
            evidence.extend(self.secondary(quote, named.as_deref()));
        }
        if let Some(quote) = contradicting.filter(|_| is_grounded) {
            let message = "a claim called grounded comes with a contradicting passage";
            self.doubt("contradicting_quote_on_grounded_claim", quote.path, message, Some(at));
        }
        if is_grounded {
            self.doubt_numbers(&listed, &evidence, &paths.0, at);
        }
        self.listed.push(listed);
        self.report.claims.push(Claim {
            id: claim.id.clone(),
            text: storable(claim.text),
            verdict: claim.verdict,
            judge_verdict: Some(storable(claim.word)),
            severity: claim.severity,
            confidence: claim.confidence,
            fabrication: claim.fabrication,
            explanation: storable(claim.explanation),
            evidence,
            answer_span: None,
            by_rule: false,
        });
    }

    /// Verifies one omission's passage and keeps the omission.
    pub fn omission(&mut self, path: &str, fact: &str, passage: &str, impact: &str) {
        match self.corpus.find(passage, Scope::Anywhere) {
            Ok(found) | Err(Missing::Elsewhere(found)) => {
                self.doubt_trivial(passage, path, None);
                self.report.omissions.push(Omission {
                    missing_fact: storable(fact),
                    available_evidence: storable(passage),
                    impact: storable(impact),
                    source_id: found.source_id,
                    chunk: found.chunk,
                    span: found.span,
                    grade: found.grade,
                });
            }
            Err(Missing::Nowhere(near)) => self.fabricated(passage, path, near),
        }
    }

    /// Holds the claims against the answer (where the judge listed them) or against the list that was
    /// sent, and ends the verification. `list` is the path of the list of claims.
    pub fn finish(mut self, list: &str, assessment: &str) -> Assessment {
        self.report.overall_assessment = storable(assessment);
        match self.unit {
            Unit::Claims(sent) => self.against_list(sent, list),
            unit => self.against_answer(unit, list),
        }
        let outcome = if self.problems.is_empty() { Outcome::Accepted } else { Outcome::Content };
        Assessment { outcome, problems: self.problems, report: Some(self.report), extracted: Vec::new() }
    }

    fn against_answer(&mut self, unit: &Unit, list: &str) {
        let answer = Answer::new(self.trace, unit.section());
        let checked = answer.check(&self.listed, list, &self.corpus);
        let whole = self.trace.answer.as_deref().unwrap_or_default();
        let places = self.locates_claims.then(|| Corpus::of(&[answer_passage(whole)]));
        for (claim, sentence) in self.report.claims.iter_mut().zip(checked.spans) {
            let own = places.as_ref().and_then(|places| places.find(&claim.text, Scope::Anywhere).ok());
            claim.answer_span =
                own.filter(|found| found.grade < MatchGrade::Elided).map(|found| found.span).or(sentence);
        }
        self.report.coverage = checked.coverage;
        self.report.notes.extend(checked.notes);
        self.problems.extend(checked.problems);
        for at in checked.restated {
            let message = "an earlier claim says the same in other words";
            self.doubt("restated_claim", &format!("{list}[{at}]"), message, Some(at));
        }
        for at in checked.turned {
            let message = "the claim and its sentence of the answer have opposite senses";
            self.doubt("claim_turned_around", &format!("{list}[{at}]"), message, Some(at));
        }
        for at in checked.following {
            let message = "the claim has a word of the evidence where the answer has another";
            self.doubt("claim_follows_evidence", &format!("{list}[{at}]"), message, Some(at));
        }
        for (at, number) in checked.added {
            let message = format!("the claim has `{}`, the answer does not", shorten(&number, 40));
            self.doubt("number_not_in_answer", &format!("{list}[{at}]"), &message, Some(at));
        }
        for span in &checked.left_out {
            let sentence = text::slice(whole, *span);
            let message = format!("no claim speaks of \"{}\"", shorten(sentence, 120));
            self.doubt("statement_left_out", list, &message, None);
        }
        if self.listed.is_empty() && checked.has_statements {
            let message = "the answer makes statements, the judge lists none";
            self.doubt("no_claims_in_answer_with_statements", list, message, None);
        }
    }

    /// Exactly the ids that were sent, each once, each with its own claim (docs/audits.md, R-08).
    fn against_list(&mut self, sent: &[crate::units::SentClaim], list: &str) {
        let mut seen = vec![false; sent.len()];
        let prepared: Vec<Listed> = sent.iter().map(|sent| Listed::new(&sent.text, String::new())).collect();
        for (at, (claim, listed)) in self.report.claims.iter_mut().zip(&self.listed).enumerate() {
            let id = claim.id.as_deref().unwrap_or_default().trim();
            let place = sent.iter().position(|sent| sent.id == id);
            let path = format!("{list}[{at}].claim_id");
            let Some(place) = place else {
                let message = format!("no claim with the id `{}` was sent", shorten(id, 40));
                self.problems.push(Problem::new(Code::InventedClaim, path, message));
                continue;
            };
            let wanted = &sent[place];
            claim.answer_span = wanted.span;
            if std::mem::replace(&mut seen[place], true) {
                let message = format!("claim `{}` has a second verdict", wanted.id);
                self.problems.push(Problem::new(Code::DuplicateClaim, path, message));
            } else if !listed.is_about(&prepared[place]) || listed.is_rather_about_another(place, &prepared) {
                let message = format!(
                    "this is not claim `{}`, which reads \"{}\"",
                    wanted.id,
                    shorten(&wanted.text, 80)
                );
                let path = format!("{list}[{at}].claim_text");
                self.problems.push(Problem::new(Code::InventedClaim, path, message));
            }
        }
        for (sent, _) in sent.iter().zip(&seen).filter(|(_, seen)| !**seen) {
            let message = format!("claim `{}` has no verdict: \"{}\"", sent.id, shorten(&sent.text, 80));
            self.problems.push(Problem::new(Code::MissingClaim, list, message));
        }
    }

    fn named(&mut self, id: &str, path: &str) -> Option<Vec<usize>> {
        let Some((known, chunks)) = self.corpus.resolve(id).map(|(known, chunks)| (known, chunks.to_vec()))
        else {
            let ids: Vec<String> =
                self.corpus.some_ids(4).into_iter().map(|id| format!("`{}`", shorten(id, 60))).collect();
            let message = format!(
                "the evidence has no source `{}`; a source is named by its id, such as {}",
                shorten(id, 80),
                ids.join(", ")
            );
            self.refuse(Code::UnknownSource, path, message);
            return None;
        };
        if known != id.trim() {
            self.report.notes.push(format!("{path}: read as `{}`", shorten(known, 80)));
        }
        Some(chunks)
    }

    /// The quote that a verdict rests on: it must stand in the source that the claim names.
    fn primary(
        &mut self,
        quote: Quote<'_>,
        named: Option<&[usize]>,
        source_path: Option<&str>,
    ) -> Option<Evidence> {
        match self.corpus.find(quote.text, named.map_or(Scope::Anywhere, Scope::Only)) {
            Ok(found) => {
                if let (None, Some(source_path)) = (named, source_path) {
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
                self.refuse(Code::WrongSource, source_path.unwrap_or(quote.path), message);
                Some(self.evidence(quote, found))
            }
            Err(Missing::Nowhere(near)) => {
                self.fabricated(quote.text, quote.path, near);
                None
            }
        }
    }

    /// Any other quote: it may stand in any source.
    fn secondary(&mut self, quote: Quote<'_>, named: Option<&[usize]>) -> Option<Evidence> {
        match self.corpus.find(quote.text, named.map_or(Scope::Anywhere, Scope::Only)) {
            Ok(found) | Err(Missing::Elsewhere(found)) => Some(self.evidence(quote, found)),
            Err(Missing::Nowhere(near)) => {
                self.fabricated(quote.text, quote.path, near);
                None
            }
        }
    }

    fn evidence(&mut self, quote: Quote<'_>, found: Found) -> Evidence {
        self.doubt_trivial(quote.text, quote.path, Some(quote.claim));
        for alteration in &found.alterations {
            let is_said = match alteration {
                Alteration::DenialCutOff => quote.denies || quote.role == Role::Contradicting,
                Alteration::LimitCutOff => quote.limits || quote.role == Role::Contradicting,
                _ => false,
            };
            if !is_said {
                self.doubt(alteration.code(), quote.path, alteration.message(), Some(quote.claim));
            }
        }
        Evidence {
            role: quote.role,
            source_id: found.source_id,
            chunk: found.chunk,
            quote: storable(quote.text),
            span: found.span,
            grade: found.grade,
        }
    }

    fn fabricated(&mut self, quote: &str, path: &str, near: Option<String>) {
        let mut message = format!("this passage stands nowhere in the evidence: \"{}\"", shorten(quote, 80));
        if let Some(near) = near {
            message.push_str("; it ");
            message.push_str(&near);
        }
        self.refuse(Code::FabricatedQuote, path, message);
    }

    fn doubt_numbers(&mut self, listed: &Listed, evidence: &[Evidence], path: &str, claim: usize) {
        if listed.numbers.is_empty() {
            return;
        }
        let quotes: Vec<Numbered<'_>> = evidence
            .iter()
            .filter(|found| found.role == Role::Supporting)
            .map(|found| Numbered::of(&found.quote))
            .collect();
        if quotes.is_empty() {
            return;
        }
        let missing = listed.numbers_not_in(&quotes);
        if !missing.is_empty() {
            let words: Vec<String> = missing.iter().map(|word| format!("`{word}`")).collect();
            let message = format!("the claim has {}, its passage does not", words.join(", "));
            self.doubt("number_not_in_quote", path, &message, Some(claim));
        } else if let Some(group) = listed.reversed_in(&quotes) {
            let message = format!("the claim has `{group}`, its passage the reverse");
            self.doubt("number_not_in_quote", path, &message, Some(claim));
        }
        if let Some(number) = listed.measured_otherwise(&quotes) {
            let message = format!("the claim has `{number}` with another unit or limit than its passage");
            self.doubt("unit_not_in_quote", path, &message, Some(claim));
        }
    }

    fn doubt_trivial(&mut self, quote: &str, path: &str, claim: Option<usize>) {
        if is_trivial(quote) {
            self.doubt("trivial_quote", path, "too short to show anything by itself", claim);
        }
    }
}

/// The answer as a text to search in.
fn answer_passage(answer: &str) -> Passage<'_> {
    Passage { source_id: "", text: answer, url: None, title: None, rank: None, score: None, metadata: None }
}

/// A text that every store takes: Postgres refuses NUL.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
