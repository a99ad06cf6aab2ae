//! An earlier run, to hold a run against.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use trace::Kind;
use uuid::Uuid;

use crate::measures::{Measures, Metric};
use crate::record::Record;

/// An audit by what stays the same when the answer changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    project: String,
    trace_id: String,
    kind: Kind,
    repeat: u32,
}

impl Key {
    fn of(record: &Record) -> Self {
        Self {
            project: record.project.clone(),
            trace_id: record.trace_id.clone(),
            kind: record.kind,
            repeat: record.repeat,
        }
    }
}

/// The numbers of an earlier run's audits. Texts are not kept.
#[derive(Debug, Default)]
pub struct Baseline {
    /// All audits of a key, by their ids: one trace id may come with several contents, and a file that several runs
    /// wrote may hold an answer of before beside that of now.
    audits: HashMap<Key, BTreeMap<Uuid, Measures>>,
}

/// How an audit stands to that of the earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// More findings, more contradictions or more critical findings.
    Worse,
    /// Fewer of one of these, and more of none.
    Better,
    /// As many.
    Same,
    /// The earlier run has not judged it.
    New,
}

impl Baseline {
    /// Takes over one audit; of several of the same content the last one counts. Gives false when it was not judged.
    pub fn add(&mut self, record: &Record) -> bool {
        let Some(measures) = Measures::of(record) else { return false };
        self.audits.entry(Key::of(record)).or_default().insert(record.audit_id, measures);
        true
    }

    /// How many audits it holds.
    pub fn len(&self) -> usize {
        self.audits.values().map(BTreeMap::len).sum()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.audits.is_empty()
    }

    /// The numbers of the same audit then: of the same content, else the best that the trace ever had, so that no bad
    /// answer of before excuses one of now.
    pub fn measures(&self, record: &Record) -> Option<&Measures> {
        let audits = self.audits.get(&Key::of(record))?;
        audits.get(&record.audit_id).or_else(|| audits.values().min_by_key(|measures| measures.harm()))
    }

    /// How an audit has changed; none when it was not judged now.
    pub fn change(&self, record: &Record) -> Option<Change> {
        let now = Measures::of(record)?;
        Some(self.measures(record).map_or(Change::New, |before| change(before, &now)))
    }

    /// Every audit with its project.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Measures)> {
        self.audits
            .iter()
            .flat_map(|(key, audits)| audits.values().map(|measures| (key.project.as_str(), measures)))
    }
}

fn change(before: &Measures, now: &Measures) -> Change {
    let harms = [Metric::Findings, Metric::Contradicted, Metric::Critical];
    let pairs = || harms.iter().filter_map(|harm| before.get(*harm).zip(now.get(*harm)));
    if pairs().any(|(before, now)| now > before) {
        Change::Worse
    } else if pairs().any(|(before, now)| now < before) {
        Change::Better
    } else {
        Change::Same
    }
}
