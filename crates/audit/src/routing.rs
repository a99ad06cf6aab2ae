//! Who has to see an audit: disposition, decision and review item, from a report and a policy.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use trace::{Risk, Trace};
use uuid::Uuid;

use crate::compare::Comparison;
use crate::kinds::Spec;
use crate::kinds::gate::Threshold;
use crate::policy::Class;
use crate::report::{Report, Severity};
use crate::verify::Alteration;

/// The end of an audit; there is exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// No finding.
    Passed,
    /// Findings, none that a person must see.
    Flagged,
    /// A person must see it.
    Escalated,
    /// The answer makes no checkable claim.
    NoClaims,
    /// The trace was not complete enough to be judged.
    Incomplete,
    /// The kind makes no sense for this trace.
    NotApplicable,
    /// The judge's replies could not be read.
    Unreadable,
    /// The judge's replies contradicted the trace or themselves.
    Inconsistent,
    /// The judge declined.
    Refused,
    /// The judge could not be reached in time.
    JudgeUnavailable,
    /// A spending cap was reached.
    OverBudget,
}

impl Disposition {
    /// Every disposition.
    pub const ALL: &[Self] = &[
        Self::Passed,
        Self::Flagged,
        Self::Escalated,
        Self::NoClaims,
        Self::Incomplete,
        Self::NotApplicable,
        Self::Unreadable,
        Self::Inconsistent,
        Self::Refused,
        Self::JudgeUnavailable,
        Self::OverBudget,
    ];

    /// The word used in tables and messages; the event is `audit.` and this word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Flagged => "flagged",
            Self::Escalated => "escalated",
            Self::NoClaims => "no_claims",
            Self::Incomplete => "incomplete",
            Self::NotApplicable => "not_applicable",
            Self::Unreadable => "unreadable",
            Self::Inconsistent => "inconsistent",
            Self::Refused => "refused",
            Self::JudgeUnavailable => "judge_unavailable",
            Self::OverBudget => "over_budget",
        }
    }

    /// The disposition of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|disposition| disposition.as_str() == word)
    }
}

/// What the producer should do with the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing speaks against it.
    Deliver,
    /// Wait for a person.
    Hold,
    /// Do not deliver.
    Block,
}

impl Decision {
    /// The word used in tables and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Hold => "hold",
            Self::Block => "block",
        }
    }
}

/// A project's routing policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// A faithfulness score below this goes to people (docs/audits.md, F-22). 0 to 1.
    pub review_below: f64,
    /// More contradicted claims than this block a `hallucination_eval` (H-17).
    pub max_contradicted: usize,
    /// More unsupported claims than this block a `hallucination_eval` (H-17).
    pub max_unsupported: usize,
    /// An `evidence_check` with a hallucination ratio above this goes to people (E-14). 0 to 1.
    pub max_hallucination_ratio: f64,
    /// What counts as grounded for a `gate` (G-13).
    pub evidence_threshold: Threshold,
    /// Domains that are treated like `risk: high`.
    pub high_risk_domains: Vec<String>,
    /// Share of passed audits that people see without the verdict, 0 to 1.
    pub sample_passed: f64,
    /// The same at high risk.
    pub sample_passed_high_risk: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            review_below: 0.8,
            max_contradicted: 0,
            max_unsupported: 2,
            max_hallucination_ratio: 0.2,
            evidence_threshold: Threshold::Standard,
            high_risk_domains: ["health", "healthcare", "medical", "legal", "finance"]
                .map(str::to_owned)
                .to_vec(),
            sample_passed: 0.02,
            sample_passed_high_risk: 0.05,
        }
    }
}

/// What an audit's routing depends on beside its report.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The project's policy.
    pub policy: &'a Policy,
    /// The trace.
    pub trace: &'a Trace,
    /// Whether the trace's risk or domain puts it into people's hands.
    pub high_risk: bool,
}

impl<'a> Circumstances<'a> {
    /// The circumstances of a trace under a policy.
    pub fn new(policy: &'a Policy, trace: &'a Trace) -> Self {
        let listed = |domain: &String| {
            let domain = domain.trim().to_lowercase();
            policy.high_risk_domains.iter().any(|listed| listed.trim().to_lowercase() == domain)
        };
        let high_risk = trace.risk == Risk::High || trace.domain.as_ref().is_some_and(listed);
        Self { policy, trace, high_risk }
    }
}

/// One reason why a person has to see an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// `score_below_threshold`, `critical_finding`, `major_finding`, `human_disagreement`, `number_not_in_quote`,
    /// `unit_not_in_quote`, `number_not_in_answer`, `claim_turned_around`, `claim_follows_evidence`, `statement_left_out`, `restated_claim`, `altered_quote`,
    /// `high_risk`, `no_claims_in_answer_with_statements`, `unreadable`, `inconsistent`, `refused`, `blind_sample`;
    /// by kind `contradicted_claims`, `unsupported_claims`, `low_confidence`, `hallucination_ratio`, `ungrounded`,
    /// `high_value`.
    pub code: String,
    /// The reason in words.
    pub message: String,
    /// Indexes of the claims that are meant.
    pub claims: Vec<usize>,
    /// What the producer should do for this reason alone: `hold` or `block`.
    pub decision: Decision,
    /// Whether people should look at once.
    pub urgent: bool,
}

impl Reason {
    /// A reason to wait for a person.
    pub fn hold(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            claims: Vec::new(),
            decision: Decision::Hold,
            urgent: false,
        }
    }

    /// A reason not to deliver.
    pub fn block(code: &str, message: impl Into<String>) -> Self {
        Self { decision: Decision::Block, ..Self::hold(code, message) }
    }
}

/// What routing decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// How the audit ended.
    pub disposition: Disposition,
    /// What the producer should do; none where nothing was judged.
    pub decision: Option<Decision>,
    /// The gravest finding, if the kind has severities.
    pub severity: Option<Severity>,
    /// Why a person has to see it; empty when nobody has to.
    pub reasons: Vec<Reason>,
    /// Whether the review item is urgent, and the content owner is told at once.
    pub urgent: bool,
    /// A review item of the blind sample; it changes neither disposition nor decision.
    pub blind_sample: bool,
}

impl Routed {
    /// An end at which nothing was judged.
    pub fn unjudged(disposition: Disposition) -> Self {
        Self {
            disposition,
            decision: None,
            severity: None,
            reasons: Vec::new(),
            urgent: false,
            blind_sample: false,
        }
    }

    /// The end of an audit whose judge could not be used: the budget of `class` is gone.
    pub fn unusable(spec: &Spec, class: Class, message: String) -> Self {
        let (disposition, code) = match class {
            Class::Content => (Disposition::Inconsistent, "inconsistent"),
            Class::Refusal => (Disposition::Refused, "refused"),
            _ => (Disposition::Unreadable, "unreadable"),
        };
        Self {
            decision: Some(spec.unusable),
            reasons: vec![Reason { decision: spec.unusable, ..Reason::hold(code, message) }],
            ..Self::unjudged(disposition)
        }
    }

    /// Whether a review item is made.
    pub fn needs_review(&self) -> bool {
        !self.reasons.is_empty()
    }
}

/// Routes a judged report of any kind.
pub fn route(
    spec: &Spec,
    circumstances: &Circumstances<'_>,
    audit: Uuid,
    report: &Report,
    comparison: Option<&Comparison>,
) -> Routed {
    let mut reasons = Vec::new();
    reasons.extend((spec.reasons)(report, circumstances));
    reasons.extend(severity_reason(report, Severity::Critical));
    reasons.extend(severity_reason(report, Severity::Major));
    reasons.extend(comparison.and_then(disagreement_reason));
    reasons.extend(doubt_reason(
        report,
        "number_not_in_quote",
        "a claim called grounded has a number that its quotes do not have",
    ));
    reasons.extend(doubt_reason(
        report,
        "claim_turned_around",
        "a claim of the judge's list says the opposite of the answer",
    ));
    reasons.extend(doubt_reason(
        report,
        "claim_follows_evidence",
        "a claim of the judge's list says what the evidence says where the answer says something else",
    ));
    reasons.extend(doubt_reason(
        report,
        "number_not_in_answer",
        "a claim of the judge's list has a number that the answer does not have",
    ));
    reasons.extend(doubt_reason(
        report,
        "unit_not_in_quote",
        "a claim called grounded has a unit or a limit that its quotes do not have",
    ));
    reasons.extend(doubt_reason(
        report,
        "restated_claim",
        "a claim came twice in other words, and the score counts it twice",
    ));
    reasons.extend(altered_reason(report));
    reasons.extend(circumstances.high_risk.then(|| high_risk_reason(report)).flatten());
    let severity =
        report.claims.iter().filter(|claim| claim.is_finding()).filter_map(|claim| claim.severity).max();
    let urgent = reasons.iter().any(|reason| reason.urgent);
    let decision = reasons.iter().map(|reason| reason.decision).max().unwrap_or(Decision::Deliver);
    let disposition = match (reasons.is_empty(), report.claims.is_empty(), report.findings().next()) {
        (false, ..) => Disposition::Escalated,
        (true, true, _) => Disposition::NoClaims,
        (true, false, Some(_)) => Disposition::Flagged,
        (true, false, None) => Disposition::Passed,
    };
    let policy = circumstances.policy;
    let rate = if circumstances.high_risk { policy.sample_passed_high_risk } else { policy.sample_passed };
    let blind_sample = disposition == Disposition::Passed && is_sampled(audit, rate);
    if blind_sample {
        reasons.push(Reason {
            decision: Decision::Deliver,
            ..Reason::hold(
                "blind_sample",
                "a random passed audit, shown without the verdict to estimate what the judge misses",
            )
        });
    }
    Routed { disposition, decision: Some(decision), severity, reasons, urgent, blind_sample }
}

/// Critical findings block and are urgent, major ones hold, minor ones are recorded only (docs/audits.md, R-09).
fn severity_reason(report: &Report, severity: Severity) -> Option<Reason> {
    let claims: Vec<usize> =
        report.findings().filter(|(_, claim)| claim.severity == Some(severity)).map(|(at, _)| at).collect();
    let plural = if claims.len() == 1 { "" } else { "s" };
    let message = format!("{} {} finding{plural}", claims.len(), severity.as_str());
    let reason = match severity {
        Severity::Critical => Reason { urgent: true, ..Reason::block("critical_finding", message) },
        Severity::Major | Severity::Minor => Reason::hold("major_finding", message),
    };
    (!claims.is_empty()).then_some(Reason { claims, ..reason })
}

fn disagreement_reason(comparison: &Comparison) -> Option<Reason> {
    (comparison.agreement == Some(false))
        .then(|| Reason::hold("human_disagreement", comparison.discrepancy_notes.clone()))
}

/// A doubt about claims that sends them to people.
fn doubt_reason(report: &Report, code: &str, message: &str) -> Option<Reason> {
    let doubts = report.doubts.iter().filter(|doubt| doubt.code == code);
    let claims: Vec<usize> = doubts.filter_map(|doubt| doubt.claim).collect();
    (!claims.is_empty()).then(|| Reason { claims, ..Reason::hold(code, message) })
}

/// Quotes whose words all stand in the evidence, and which say something else than it does.
fn altered_reason(report: &Report) -> Option<Reason> {
    let is_altered = |code: &str| Alteration::ALL.iter().any(|alteration| alteration.code() == code);
    let doubts = report.doubts.iter().filter(|doubt| is_altered(&doubt.code));
    let mut claims: Vec<usize> = doubts.filter_map(|doubt| doubt.claim).collect();
    claims.dedup();
    let message = "a quote may say something else than the evidence that it was taken from";
    (!claims.is_empty()).then(|| Reason { claims, ..Reason::hold("altered_quote", message) })
}

/// Statements of the answer that no claim speaks of: nobody has judged them.
pub fn unjudged_reason(report: &Report) -> Option<Reason> {
    let codes = ["statement_left_out", "no_claims_in_answer_with_statements"];
    let doubt = report.doubts.iter().find(|doubt| codes.contains(&doubt.code.as_str()))?;
    Some(Reason::hold(&doubt.code, "the answer makes statements that no claim speaks of"))
}

/// At high risk people see every claim that is not grounded, and a judge that found nothing to check.
fn high_risk_reason(report: &Report) -> Option<Reason> {
    let claims: Vec<usize> = report.findings().map(|(at, _)| at).collect();
    if !claims.is_empty() {
        let message = "at high risk every claim that is not grounded goes to people";
        return Some(Reason { claims, ..Reason::hold("high_risk", message) });
    }
    unjudged_reason(report)
}

/// A choice that depends only on the audit, so that a repeated delivery makes the same one.
fn is_sampled(audit: Uuid, rate: f64) -> bool {
    let digest = Sha256::digest(audit.as_bytes());
    let draw = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    f64::from(draw) < rate * f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::faithfulness;
    use crate::report::{Claim, Doubt, Verdict};
    use serde_json::json;

    fn claim(verdict: Verdict, severity: Option<Severity>) -> Claim {
        Claim { severity, ..Claim::new("x", verdict) }
    }

    fn report(findings: &[Severity], grounded: usize) -> Report {
        let mut claims: Vec<Claim> =
            findings.iter().map(|it| claim(Verdict::Unsupported, Some(*it))).collect();
        claims.extend(std::iter::repeat_with(|| claim(Verdict::Grounded, None)).take(grounded));
        #[expect(clippy::cast_precision_loss, reason = "a handful of claims")]
        let score = grounded as f64 / claims.len() as f64;
        Report { score: Some(score), claims, ..Report::default() }
    }

    fn trace(fields: serde_json::Value) -> Trace {
        let mut message = json!({"schema": trace::SCHEMA, "trace_id": "t", "project": "p"});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        trace::decode(message.to_string().as_bytes()).unwrap()
    }

    /// Routes a report of a plain trace, without the sample.
    fn routed(report: &Report) -> Routed {
        let policy = Policy { sample_passed: 0.0, ..Policy::default() };
        routed_by(&policy, json!({}), report, None)
    }

    fn routed_by(
        policy: &Policy,
        fields: serde_json::Value,
        report: &Report,
        comparison: Option<&Comparison>,
    ) -> Routed {
        let trace = trace(fields);
        let circumstances = Circumstances::new(policy, &trace);
        route(&faithfulness::SPEC, &circumstances, Uuid::nil(), report, comparison)
    }

    fn codes(routed: &Routed) -> Vec<&str> {
        routed.reasons.iter().map(|reason| reason.code.as_str()).collect()
    }

    #[test]
    fn without_findings_an_audit_passes() {
        let routed = routed(&report(&[], 3));
        assert_eq!((routed.disposition, routed.decision), (Disposition::Passed, Some(Decision::Deliver)));
        assert!(!routed.needs_review());
    }

    #[test]
    fn one_minor_finding_in_five_claims_is_recorded_only() {
        let routed = routed(&report(&[Severity::Minor], 4));
        assert_eq!((routed.disposition, routed.decision), (Disposition::Flagged, Some(Decision::Deliver)));
    }

    #[test]
    fn a_score_below_the_threshold_holds() {
        let routed = routed(&report(&[Severity::Minor], 3));
        assert_eq!((routed.disposition, routed.decision), (Disposition::Escalated, Some(Decision::Hold)));
        assert_eq!(codes(&routed), ["score_below_threshold"]);
    }

    #[test]
    fn a_critical_finding_blocks_and_is_urgent_whatever_the_score() {
        let routed = routed(&report(&[Severity::Critical], 99));
        assert_eq!((routed.disposition, routed.decision), (Disposition::Escalated, Some(Decision::Block)));
        assert!(routed.urgent);
        assert_eq!(codes(&routed), ["critical_finding"]);
    }

    #[test]
    fn a_number_that_no_quote_has_goes_to_people() {
        let mut report = report(&[], 5);
        report.doubts.push(Doubt {
            code: "number_not_in_quote".into(),
            path: "$".into(),
            message: String::new(),
            claim: Some(2),
        });
        let routed = routed(&report);
        assert_eq!((routed.disposition, routed.decision), (Disposition::Escalated, Some(Decision::Hold)));
        assert_eq!(routed.reasons[0].claims, [2]);
    }

    #[test]
    fn a_label_that_says_otherwise_goes_to_people() {
        let comparison = Comparison { agreement: Some(false), discrepancy_notes: "differs".into() };
        let routed = routed_by(&Policy::default(), json!({}), &report(&[], 5), Some(&comparison));
        assert_eq!(codes(&routed), ["human_disagreement"]);
    }

    #[test]
    fn at_high_risk_or_in_a_listed_domain_every_finding_goes_to_people() {
        for fields in [json!({"risk": "high"}), json!({"domain": "Health"})] {
            let report = report(&[Severity::Minor], 9);
            let routed = routed_by(&Policy::default(), fields, &report, None);
            assert_eq!(codes(&routed), ["high_risk"]);
        }
    }

    #[test]
    fn no_claims_is_an_end_of_its_own() {
        let routed = routed(&Report::default());
        assert_eq!((routed.disposition, routed.decision), (Disposition::NoClaims, Some(Decision::Deliver)));
    }

    #[test]
    fn the_blind_sample_changes_nothing_but_makes_an_item() {
        let policy = Policy { sample_passed: 1.0, ..Policy::default() };
        let routed = routed_by(&policy, json!({}), &report(&[], 3), None);
        assert_eq!((routed.disposition, routed.decision), (Disposition::Passed, Some(Decision::Deliver)));
        assert!(routed.blind_sample && routed.needs_review());
    }

    #[test]
    fn the_sample_has_about_its_rate() {
        let drawn = (0..10_000_u128).filter(|at| is_sampled(Uuid::from_u128(*at), 0.02)).count();
        assert!((120..280).contains(&drawn), "{drawn}");
    }

    #[test]
    fn an_unusable_reply_holds_the_answer_and_names_why() {
        let routed = Routed::unusable(&faithfulness::SPEC, Class::Content, "why".into());
        assert_eq!((routed.disposition, routed.decision), (Disposition::Inconsistent, Some(Decision::Hold)));
        assert_eq!(codes(&routed), ["inconsistent"]);
    }
}
