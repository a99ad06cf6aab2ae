//! Who is told about an item.

use std::collections::{BTreeMap, BTreeSet};

use audit::report::Severity;
use chrono::{DateTime, Utc};

use crate::{Hours, Notice, Zone};

/// The codes of the reasons for which people are asked (docs/audits.md), in alphabetical order. `blind_sample` is none:
/// nobody is told of those items.
pub const REASONS: [&str; 26] = [
    "altered_quote",
    "claim_follows_evidence",
    "claim_turned_around",
    "contradicted_claims",
    "critical_finding",
    "hallucination_ratio",
    "high_risk",
    "high_value",
    "human_disagreement",
    "inconsistent",
    "insufficient_evidence",
    "low_confidence",
    "major_finding",
    "no_claims_in_answer_with_statements",
    "number_not_in_answer",
    "number_not_in_quote",
    "refused",
    "regenerations_exhausted",
    "restated_claim",
    "score_below_threshold",
    "statement_left_out",
    "ungrounded",
    "unit_not_in_quote",
    "unreadable",
    "unsupported_claims",
    "unverifiable_claims",
];

/// Tells receivers about items. A list that is empty excludes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Projects.
    pub projects: Vec<String>,
    /// Audit kinds.
    pub kinds: Vec<trace::Kind>,
    /// Severities. With a list, items without a severity are left out.
    pub severities: Vec<Severity>,
    /// Codes of reasons; one of them is enough.
    pub reasons: Vec<String>,
    /// Only items that routing made urgent.
    pub urgent: bool,
    /// When.
    pub hours: Hours,
    /// Where those hours are.
    pub zone: Zone,
    /// Names of receivers.
    pub receivers: Vec<String>,
}

/// Who answers for content, and which receivers they have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owners {
    /// Receivers by `content_owner`.
    pub receivers: BTreeMap<String, Vec<String>>,
    /// Of which severities they are told.
    pub severities: Vec<Severity>,
}

/// All rules. Each is looked at; a receiver that several name is told once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The rules.
    pub rules: Vec<Rule>,
    /// The content owners.
    pub owners: Owners,
}

impl Rule {
    /// Whether the rule is about an item that comes at `now`.
    pub fn matches(&self, notice: &Notice, now: DateTime<Utc>) -> bool {
        let named = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        named(&self.projects, &notice.project)
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == notice.kind))
            && (self.severities.is_empty()
                || notice.severity.is_some_and(|severity| self.severities.contains(&severity)))
            && (self.reasons.is_empty() || notice.reasons.iter().any(|code| self.reasons.contains(code)))
            && (!self.urgent || notice.urgent)
            && self.hours.contain(now, self.zone)
    }
}

impl Rules {
    /// Whether nobody is ever told.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.owners.receivers.is_empty()
    }

    /// The receivers that are told about an item that comes at `now`, each once.
    ///
    /// Of the blind sample nobody is told: its answers passed, and a page would say that there is something to find.
    pub fn receivers(&self, notice: &Notice, now: DateTime<Utc>) -> BTreeSet<&str> {
        if notice.blind {
            return BTreeSet::new();
        }
        let ruled =
            self.rules.iter().filter(|rule| rule.matches(notice, now)).flat_map(|rule| &rule.receivers);
        let owned = notice
            .content_owner
            .as_ref()
            .filter(|_| notice.severity.is_some_and(|severity| self.owners.severities.contains(&severity)))
            .and_then(|owner| self.owners.receivers.get(owner))
            .into_iter()
            .flatten();
        ruled.chain(owned).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn notice() -> Notice {
        Notice {
            review_item: Uuid::from_u128(1),
            project: "harbour".into(),
            trace_id: "t".into(),
            kind: "faithfulness".into(),
            severity: Some(Severity::Critical),
            urgent: true,
            blind: false,
            practice: false,
            reasons: vec!["critical_finding".into(), "low_score".into()],
            content_owner: Some("fares".into()),
            content: None,
        }
    }

    fn rule(receiver: &str) -> Rule {
        Rule {
            projects: vec![],
            kinds: vec![],
            severities: vec![],
            reasons: vec![],
            urgent: false,
            hours: Hours::default(),
            zone: Zone::utc(),
            receivers: vec![receiver.into()],
        }
    }

    fn monday() -> DateTime<Utc> {
        "2026-03-02T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn every_condition_of_a_rule_must_hold() {
        let (notice, now) = (notice(), monday());
        assert!(rule("a").matches(&notice, now));
        let yes = [
            Rule { projects: vec!["other".into(), "harbour".into()], ..rule("a") },
            Rule { kinds: vec![trace::Kind::Faithfulness], ..rule("a") },
            Rule { severities: vec![Severity::Critical], ..rule("a") },
            Rule { reasons: vec!["low_score".into()], ..rule("a") },
            Rule { urgent: true, ..rule("a") },
            Rule { hours: "mon".parse().unwrap(), ..rule("a") },
        ];
        let no = [
            Rule { projects: vec!["other".into()], ..rule("a") },
            Rule { kinds: vec![trace::Kind::Gate], ..rule("a") },
            Rule { severities: vec![Severity::Major, Severity::Minor], ..rule("a") },
            Rule { reasons: vec!["low".into()], ..rule("a") },
            Rule { hours: "mon 12:30-13:00".parse().unwrap(), ..rule("a") },
        ];
        for rule in yes {
            assert!(rule.matches(&notice, now), "{rule:?}");
        }
        for rule in no {
            assert!(!rule.matches(&notice, now), "{rule:?}");
        }
        let calm = Notice { urgent: false, severity: None, ..notice };
        assert!(!Rule { urgent: true, ..rule("a") }.matches(&calm, now));
        assert!(!Rule { severities: Severity::ALL.to_vec(), ..rule("a") }.matches(&calm, now));
    }

    #[test]
    fn content_owners_get_their_own_and_a_receiver_is_told_once() {
        let owners = Owners {
            receivers: [("fares".to_owned(), vec!["fares-slack".to_owned(), "a".to_owned()])].into(),
            severities: vec![Severity::Critical],
        };
        let rules = Rules { rules: vec![rule("a"), rule("a"), rule("b")], owners };
        let told = rules.receivers(&notice(), monday());
        assert_eq!(told.into_iter().collect::<Vec<_>>(), ["a", "b", "fares-slack"]);
        let major = Notice { severity: Some(Severity::Major), ..notice() };
        assert_eq!(rules.receivers(&major, monday()).len(), 2);
        let other = Notice { content_owner: Some("tours".into()), ..notice() };
        assert_eq!(rules.receivers(&other, monday()).len(), 2);
        let blind = Notice { blind: true, ..notice() };
        assert!(rules.receivers(&blind, monday()).is_empty());
    }

    /// Every code that stands in the code of audits, so that a new one is not refused in a rule.
    #[test]
    fn reasons_are_those_of_audits() {
        fn sources(folder: &std::path::Path, text: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    sources(&path, text);
                } else {
                    let source = std::fs::read_to_string(&path).unwrap();
                    // Tests have codes of their own.
                    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
                    let is_of_tests = path.file_stem().is_some_and(|name| name == "tests");
                    text.push_str(if is_of_tests { "" } else { source });
                }
            }
        }
        let mut text = String::new();
        sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../audit/src"), &mut text);
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut found = 0;
        for start in ["Reason::hold( \"", "Reason::hold(\"", "Reason::block(\"", "doubt_reason( report, \""] {
            for code in text.split(start).skip(1).map(|rest| rest.split('"').next().unwrap()) {
                found += 1;
                assert!(REASONS.contains(&code) || code == "blind_sample", "{code}");
            }
        }
        assert!(found >= 20, "{found}");
        assert!(REASONS.is_sorted());
        for code in REASONS {
            assert!(text.contains(&format!("\"{code}\"")), "{code}");
        }
    }

    proptest! {
        #[test]
        fn one_more_rule_never_tells_fewer(urgent: bool, minute in 0_i64..10_080, project in "harbour|museum") {
            let now = monday() + chrono::TimeDelta::minutes(minute);
            let few = Rules { rules: vec![Rule { hours: "mon-wed".parse().unwrap(), ..rule("a") }], ..Rules::default() };
            let mut many = few.clone();
            many.rules.push(Rule { urgent, projects: vec![project], ..rule("b") });
            let notice = notice();
            prop_assert!(few.receivers(&notice, now).is_subset(&many.receivers(&notice, now)));
        }
    }
}
