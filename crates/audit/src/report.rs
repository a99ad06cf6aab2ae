//! The one report that all kinds map onto. Storage, routing and views know nothing of kinds.

use serde::{Deserialize, Serialize};

/// A range of Unicode scalar values (not bytes), end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First scalar value.
    pub start: usize,
    /// One past the last scalar value.
    pub end: usize,
}

/// What was decided about a claim. The judge's own word is kept beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The evidence states it, or it follows from the evidence.
    Grounded,
    /// The evidence says something else.
    Contradicted,
    /// The evidence does not say it.
    Unsupported,
    /// The evidence is too thin to tell.
    InsufficientEvidence,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 4] =
        [Self::Grounded, Self::Contradicted, Self::Unsupported, Self::InsufficientEvidence];

    /// The verdict of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }

    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Grounded => "grounded",
            Self::Contradicted => "contradicted",
            Self::Unsupported => "unsupported",
            Self::InsufficientEvidence => "insufficient_evidence",
        }
    }
}

/// How much harm a finding can do. Ordered: critical is the greatest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A detail that does not change the meaning.
    Minor,
    /// Changes the meaning.
    Major,
    /// Dangerous, legally risky or fundamentally misleading.
    Critical,
}

impl Severity {
    /// Every severity, the least first.
    pub const ALL: [Self; 3] = [Self::Minor, Self::Major, Self::Critical];

    /// The severity of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word)
    }

    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }
}

/// How sure the judge said it was.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Confidence {
    /// Ambiguous or incomplete evidence.
    Low,
    /// In between.
    Medium,
    /// Clear evidence.
    High,
}

impl Confidence {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

/// How the judge sees a claim that the evidence does not carry (docs/audits.md, H-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fabrication {
    /// It may be true, and cannot be verified from the evidence.
    Plausible,
    /// It is likely made up.
    Likely,
}

impl Fabrication {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plausible => "plausible",
            Self::Likely => "likely",
        }
    }
}

/// What a quote is meant to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It supports the claim.
    Supporting,
    /// It contradicts the claim.
    Contradicting,
}

/// The rule by which a quote was found in a chunk, from strict to lax. A near miss is not in this list: it never counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchGrade {
    /// Character by character.
    Exact,
    /// After Unicode, white space, quotation marks and dashes were normalised.
    Normalised,
    /// After that, without regard to case, or to commas and the like between words.
    CaseFolded,
    /// Pieces around an ellipsis, in order, in one chunk.
    Elided,
}

impl MatchGrade {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Normalised => "normalised",
            Self::CaseFolded => "case_folded",
            Self::Elided => "elided",
        }
    }
}

/// A quote that was found in the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the quote is meant to show.
    pub role: Role,
    /// Id of the chunk that holds the quote.
    pub source_id: String,
    /// Index of that chunk in the list of the kind's evidence ([`crate::evidence::Basis::passages`]).
    pub chunk: usize,
    /// The quote as the judge wrote it.
    pub quote: String,
    /// Where it stands in the chunk's text: scalar values, ours, never the judge's.
    pub span: Span,
    /// The rule by which it was found.
    pub grade: MatchGrade,
}

/// One checkable statement of the answer and what was decided about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim's id in the list that we sent; none where the judge listed the claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The claim in the judge's words (or ours, where a rule decided).
    pub text: String,
    /// The internal verdict.
    pub verdict: Verdict,
    /// The judge's own word; absent where a rule decided.
    pub judge_verdict: Option<String>,
    /// How grave a finding is; none for grounded claims and kinds without severities.
    pub severity: Option<Severity>,
    /// How sure the judge was; none for kinds that do not ask.
    pub confidence: Option<Confidence>,
    /// Whether an unsupported claim may be true or is likely made up; none for kinds that do not ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabrication: Option<Fabrication>,
    /// The judge's reasoning: for a finding, the evidence gap.
    pub explanation: String,
    /// Verified quotes.
    pub evidence: Vec<Evidence>,
    /// The place in the answer that the claim was aligned with, scalar values.
    pub answer_span: Option<Span>,
    /// True when a rule decided and no judge was asked.
    pub by_rule: bool,
}

impl Claim {
    /// A claim with a verdict of which nothing else is known.
    pub fn new(text: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            id: None,
            text: text.into(),
            verdict,
            judge_verdict: None,
            severity: None,
            confidence: None,
            fabrication: None,
            explanation: String::new(),
            evidence: Vec::new(),
            answer_span: None,
            by_rule: false,
        }
    }

    /// Whether this claim is a finding.
    pub fn is_finding(&self) -> bool {
        self.verdict != Verdict::Grounded
    }
}

/// A fact of the evidence that the answer left out although the question asks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Omission {
    /// The fact that is missing from the answer.
    pub missing_fact: String,
    /// The passage that holds it, as the judge wrote it.
    pub available_evidence: String,
    /// Why it matters.
    pub impact: String,
    /// Id of the chunk that holds the passage.
    pub source_id: String,
    /// Index of that chunk in the list of the kind's evidence ([`crate::evidence::Basis::passages`]).
    pub chunk: usize,
    /// Where it stands in the chunk's text, scalar values.
    pub span: Span,
    /// The rule by which it was found.
    pub grade: MatchGrade,
}

/// An oddity found in verification; it does not make the reply fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// One of the words in docs/audits.md, "Problem codes".
    pub code: String,
    /// JSON path in the judge's reply.
    pub path: String,
    /// What was noticed.
    pub message: String,
    /// Index of the claim in the report, where the doubt is about one.
    pub claim: Option<usize>,
}

/// A figure of the judge that differs from ours. Ours counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Discrepancy {
    /// JSON path in the judge's reply.
    pub path: String,
    /// What the judge said.
    pub judge: f64,
    /// What the claims add up to.
    pub ours: f64,
}

/// What one audit found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The number that the kind yields; none without claims unless a rule fixes it.
    pub score: Option<f64>,
    /// True when a rule and not a judge's verdicts fixed the score; such scores stay out of means.
    pub by_rule: bool,
    /// Every claim, in the answer's order as far as known.
    pub claims: Vec<Claim>,
    /// What the answer left out.
    pub omissions: Vec<Omission>,
    /// Oddities found in verification.
    pub doubts: Vec<Doubt>,
    /// Figures of the judge that differ from ours.
    pub discrepancies: Vec<Discrepancy>,
    /// Oddities of the reply that were tolerated, such as a code fence or an extra key.
    pub notes: Vec<String>,
    /// Share of the answer's content words that the claims hold, 0 to 1; none without content words.
    pub coverage: Option<f64>,
    /// The judge's summary, or the rule's.
    pub overall_assessment: String,
}

impl Report {
    /// How many claims have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict == verdict).count()
    }

    /// Share of the claims that are grounded, 0 to 1; none without claims.
    pub fn grounded_share(&self) -> Option<f64> {
        self.share(Verdict::Grounded)
    }

    /// Share of the claims that have this verdict, 0 to 1; none without claims.
    pub fn share(&self, verdict: Verdict) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a reply has fewer than 2^52 claims")]
        (!self.claims.is_empty()).then(|| self.count(verdict) as f64 / self.claims.len() as f64)
    }

    /// The claims that are not grounded.
    pub fn findings(&self) -> impl Iterator<Item = (usize, &Claim)> {
        self.claims.iter().enumerate().filter(|(_, claim)| claim.is_finding())
    }
}
