//! What a file of traces lets one expect.

use std::collections::{BTreeMap, BTreeSet};

use store::{AuditLine, DeadLetter, DeadLetterView, DeadSource};
use uuid::Uuid;

use crate::commands::lines::lines;

/// A trace by the producer's names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) project: String,
    pub(super) trace_id: String,
}

/// What is still to come for the traces of a file.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// All traces of the file.
    all: BTreeSet<Name>,
    /// Audits still to end, by trace.
    waiting: BTreeMap<Name, BTreeSet<String>>,
    /// Lines that are no traces, by the dead letter that each becomes, with their line numbers.
    buried: BTreeMap<Uuid, usize>,
    /// Those of them that are there.
    found: BTreeSet<Uuid>,
}

impl Expected {
    /// Reads a file of traces. `default_kinds` says what a project wants where a trace does not.
    pub(super) fn read(bytes: &[u8], default_kinds: impl Fn(&str) -> Vec<trace::Kind>) -> Self {
        let mut expected = Self::default();
        for line in lines(bytes) {
            match trace::decode(line.bytes) {
                Ok(trace) => {
                    let kinds =
                        if trace.audits.is_empty() { default_kinds(&trace.project) } else { trace.audits };
                    let name = Name { project: trace.project, trace_id: trace.trace_id };
                    let kinds = kinds.iter().map(|kind| kind.as_str().to_owned());
                    expected.waiting.entry(name.clone()).or_default().extend(kinds);
                    expected.all.insert(name);
                }
                Err(_) => {
                    expected.buried.insert(dead_letter_id(line.bytes), line.number);
                }
            }
        }
        expected
    }

    /// Whether a result belongs to the file.
    pub(super) fn holds(&self, line: &AuditLine) -> bool {
        self.all.contains(&Name { project: line.project.clone(), trace_id: line.trace_id.clone() })
    }

    /// Whether a dead letter belongs to the file.
    pub(super) fn holds_dead(&self, letter: &DeadLetterView) -> bool {
        let name = letter.project.clone().zip(letter.trace_id.clone());
        self.buried.contains_key(&letter.id)
            || name.is_some_and(|(project, trace_id)| self.all.contains(&Name { project, trace_id }))
    }

    /// Notes that an audit has ended.
    pub(super) fn ended(&mut self, project: &str, trace_id: &str, kind: &str) {
        let name = Name { project: project.to_owned(), trace_id: trace_id.to_owned() };
        if let Some(kinds) = self.waiting.get_mut(&name) {
            kinds.remove(kind);
            if kinds.is_empty() {
                self.waiting.remove(&name);
            }
        }
    }

    /// Notes a dead letter: its trace will have no result for those kinds.
    pub(super) fn buried(&mut self, letter: &DeadLetterView) {
        if self.buried.contains_key(&letter.id) {
            self.found.insert(letter.id);
        }
        let Some((project, trace_id)) = letter.project.clone().zip(letter.trace_id.clone()) else { return };
        let name = Name { project, trace_id };
        if letter.source != DeadSource::UnsupportedKind {
            self.waiting.remove(&name);
            return;
        }
        // The other kinds of the same trace are audited all the same.
        if let Some(kinds) = self.waiting.get_mut(&name) {
            kinds.retain(|kind| kind.parse().is_ok_and(|kind| audit::kinds::find(kind).is_ok()));
            if kinds.is_empty() {
                self.waiting.remove(&name);
            }
        }
    }

    /// Whether nothing is to come any more.
    pub(super) fn is_complete(&self) -> bool {
        self.waiting.is_empty() && self.found.len() == self.buried.len()
    }

    /// Every trace of the file.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.all.iter()
    }

    /// Traces without a result for some kinds.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&Name, &BTreeSet<String>)> {
        self.waiting.iter()
    }

    /// Numbers of lines that are no traces and have no dead letter yet.
    pub(super) fn missing_lines(&self) -> impl Iterator<Item = usize> {
        self.buried.iter().filter(|(id, _)| !self.found.contains(id)).map(|(_, line)| *line)
    }

    /// The dead letters that its lines become.
    pub(super) fn dead_letters(&self) -> impl Iterator<Item = Uuid> {
        self.buried.keys().copied()
    }
}

/// The id that a message gets when it is buried for being no trace.
fn dead_letter_id(body: &[u8]) -> Uuid {
    let letter = DeadLetter {
        source: DeadSource::Undecodable,
        reason: String::new(),
        problems: serde_json::Value::Null,
        body: body.to_vec(),
        body_bytes: u64::try_from(body.len()).unwrap_or(u64::MAX),
        headers: serde_json::Value::Null,
        generation: 0,
        lane: None,
        project: None,
        trace_id: None,
        kinds: Vec::new(),
        received_at: chrono::DateTime::UNIX_EPOCH,
    };
    letter.id()
}

#[cfg(test)]
mod tests {
    use trace::Kind;

    use super::*;

    fn line(trace_id: &str, audits: &str) -> String {
        format!(
            r#"{{"schema":"groundcrew.trace/v1","project":"p","trace_id":"{trace_id}","audits":{audits}}}"#
        )
    }

    fn letter(id: Uuid, source: DeadSource, trace_id: Option<&str>) -> DeadLetterView {
        DeadLetterView {
            id,
            first_seen_at: chrono::DateTime::UNIX_EPOCH,
            last_seen_at: chrono::DateTime::UNIX_EPOCH,
            seen: 1,
            source,
            reason: String::new(),
            problems: serde_json::Value::Null,
            body: None,
            body_bytes: 0,
            headers: serde_json::Value::Null,
            lane: None,
            project: trace_id.map(|_| "p".to_owned()),
            trace_id: trace_id.map(str::to_owned),
            kinds: Vec::new(),
            status: store::DeadStatus::Open,
            note: None,
            replays: 0,
            settled_at: None,
        }
    }

    #[test]
    fn a_file_is_complete_when_each_line_has_a_result_or_a_dead_letter() {
        let file =
            [line("a", "[]"), line("b", r#"["faithfulness","gate"]"#), "nonsense".into(), line("c", "null")]
                .join("\n");
        let mut expected = Expected::read(file.as_bytes(), |_| vec![Kind::Faithfulness]);
        assert_eq!(expected.names().count(), 3);
        assert_eq!(expected.missing_lines().collect::<Vec<_>>(), [3]);

        expected.ended("p", "a", "faithfulness");
        expected.ended("p", "b", "faithfulness");
        expected.ended("p", "b", "gate");
        assert_eq!(expected.waiting().map(|(name, _)| name.trace_id.as_str()).collect::<Vec<_>>(), ["c"]);
        expected.buried(&letter(Uuid::nil(), DeadSource::Oversized, Some("c")));
        assert!(!expected.is_complete());
        expected.buried(&letter(dead_letter_id(b"nonsense"), DeadSource::Undecodable, None));
        assert!(expected.is_complete());
    }

    #[test]
    fn what_others_published_does_not_count() {
        let mut expected = Expected::read(line("a", "[]").as_bytes(), |_| vec![Kind::Faithfulness]);
        expected.ended("another", "a", "faithfulness");
        expected.ended("p", "b", "faithfulness");
        assert!(!expected.is_complete());
        assert!(!expected.holds_dead(&letter(Uuid::nil(), DeadSource::Oversized, Some("z"))));
        assert!(expected.holds_dead(&letter(Uuid::nil(), DeadSource::Oversized, Some("a"))));
    }
}
