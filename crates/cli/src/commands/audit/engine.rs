//! From pieces of files to ended audits: decode, leave out what came before, audit several at once, hand over in order.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::Utc;
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use outcomes::files::Malformed;
use outcomes::{Place, Record};
use tokio::task::JoinHandle;
use trace::{Kind, Trace};
use uuid::Uuid;

use crate::failure::Failure;
use crate::input::{Input, Piece};

use super::earlier::Earlier;
use super::one::{Bench, One};

/// What happens in a run, in the order of the input.
#[derive(Debug)]
pub(crate) enum Event {
    /// An audit has ended.
    Audited(Box<Audited>),
    /// Something is no trace.
    Malformed(Malformed),
    /// A file holds nothing.
    Empty(String),
    /// The same trace came before.
    Duplicate,
    /// The trace has no label, and only labelled ones are wanted.
    Unlabelled,
}

/// An ended audit and what it is about.
#[derive(Debug)]
pub(crate) struct Audited {
    pub(crate) record: Record,
    pub(crate) trace: Arc<Trace>,
    /// Whether an earlier start of the run made it.
    pub(crate) is_resumed: bool,
}

/// Audits what comes out of files.
pub(crate) struct Engine {
    pub(crate) bench: Arc<Bench>,
    /// The kinds for every trace; empty for what each asks for.
    pub(crate) kinds: Vec<Kind>,
    /// Runs of each audit; none for what is configured for its kind.
    pub(crate) repeats: Option<u32>,
    /// Audits in work at once.
    pub(crate) concurrency: usize,
    /// Results of an earlier start.
    pub(crate) earlier: Option<Earlier>,
    /// Whether traces without a label on the whole answer are left out.
    pub(crate) labelled_only: bool,
}

/// Something that is on its way to becoming an event.
type Pending = JoinHandle<Result<Option<Event>, Failure>>;

impl Engine {
    /// Takes everything to its end, or to the stop. `on` gets each event and the bytes read so far.
    ///
    /// # Errors
    /// When `on` fails, or an audit cannot be run at all.
    pub(crate) async fn run(
        &self,
        mut input: Input,
        mut on: impl FnMut(Event, u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut pending: FuturesOrdered<Pending> = FuturesOrdered::new();
        let mut seen = HashMap::new();
        let mut is_open = true;
        loop {
            let stop = &self.bench.stop;
            let takes_more = is_open && !stop.is_cancelled() && pending.len() < self.concurrency;
            tokio::select! {
                Some(ended) = pending.next(), if !pending.is_empty() => {
                    if let Some(event) = ended.map_err(Failure::failed)?? {
                        on(event, input.read())?;
                    }
                }
                piece = input.next(), if takes_more => match piece {
                    Some(piece) => self.take(piece, &mut seen, &mut pending)?,
                    None => is_open = false,
                },
                // Whoever waits at standard input for the next trace would not notice the stop.
                () = stop.cancelled(), if takes_more => is_open = false,
                else => return Ok(()),
            }
        }
    }

    fn take(
        &self,
        piece: Piece,
        seen: &mut HashMap<Uuid, (Option<bool>, Place)>,
        pending: &mut FuturesOrdered<Pending>,
    ) -> Result<(), Failure> {
        let mut event = |event| pending.push_back(tokio::spawn(std::future::ready(Ok(Some(event)))));
        let (place, body) = match piece {
            Piece::Message { place, body } => (place, body),
            Piece::Broken { place, problem } => {
                event(Event::Malformed(Malformed { place, problems: vec![problem] }));
                return Ok(());
            }
            Piece::Empty { file } => {
                event(Event::Empty(file));
                return Ok(());
            }
            Piece::Unreadable { file, error } => {
                let problem = trace::Problem::new("$", format!("the file cannot be read on: {error}"));
                let place = Place { file, line: 0 };
                event(Event::Malformed(Malformed { place, problems: vec![problem] }));
                return Ok(());
            }
        };
        let trace = match trace::decode(&body) {
            Ok(trace) => trace,
            Err(undecodable) => {
                event(Event::Malformed(Malformed { place, problems: undecodable.problems }));
                return Ok(());
            }
        };
        let label = trace.human_label.as_ref().and_then(|label| label.faithful);
        if self.labelled_only && label.is_none() {
            event(Event::Unlabelled);
            return Ok(());
        }
        let record = Arc::new(audit::record::TraceRecord { trace, payload: body, received_at: Utc::now() });
        let mut before = None;
        for one in self.audits(&record, &place) {
            match seen.entry(one.key.id()) {
                Entry::Occupied(known) => before = Some(known.get().clone()),
                Entry::Vacant(free) => {
                    free.insert((label, place.clone()));
                    pending.push_back(self.begin(one)?);
                }
            }
        }
        if let Some((first, at)) = before {
            let event = if self.labelled_only && first != label {
                Event::Malformed(contradicting(place, &at))
            } else {
                Event::Duplicate
            };
            pending.push_back(tokio::spawn(std::future::ready(Ok(Some(event)))));
        }
        Ok(())
    }

    /// The audits of a trace.
    fn audits(&self, record: &Arc<audit::record::TraceRecord>, place: &Place) -> Vec<One> {
        let mut kinds = if !self.kinds.is_empty() {
            self.kinds.clone()
        } else if !record.trace.audits.is_empty() {
            record.trace.audits.clone()
        } else {
            self.bench.settings.project(&record.trace.project).audits.clone()
        };
        let mut known = HashSet::new();
        kinds.retain(|kind| known.insert(*kind));
        let hash = trace::content_hash(&record.trace);
        let mut audits = Vec::new();
        for kind in kinds {
            for repeat in 0..self.repeats.unwrap_or_else(|| self.bench.settings.repeats(kind)) {
                let key = audit::record::AuditKey {
                    project: record.trace.project.clone(),
                    trace_id: record.trace.trace_id.clone(),
                    content_hash: hash,
                    kind,
                    generation: 0,
                    repeat,
                };
                audits.push(One { key, record: record.clone(), place: place.clone() });
            }
        }
        audits
    }

    fn begin(&self, one: One) -> Result<Pending, Failure> {
        let prompt_version = self.bench.prompt_version(one.key.kind)?;
        let judge = self.bench.judge();
        let earlier =
            self.earlier.as_ref().and_then(|earlier| earlier.find(one.key.id(), &prompt_version, judge));
        if let Some(mut record) = earlier {
            record.place = one.place;
            let trace = one.record.trace.clone().into();
            let audited = Event::Audited(Box::new(Audited { record, trace, is_resumed: true }));
            return Ok(tokio::spawn(std::future::ready(Ok(Some(audited)))));
        }
        let (bench, inner) = (self.bench.clone(), (self.bench.clone(), one.clone()));
        Ok(tokio::spawn(async move {
            let audit = tokio::spawn(async move { inner.0.audit(&inner.1).await });
            // A panic is a defect of one audit, and no reason to lose the others.
            let record = match audit.await {
                Ok(record) => record?,
                Err(error) => Some(bench.broken(&one, &error)),
            };
            let trace = Arc::new(one.record.trace.clone());
            Ok(record.map(|record| Event::Audited(Box::new(Audited { record, trace, is_resumed: false }))))
        }))
    }
}

/// A case that came before with the other label: one of them is wrong, and nobody here knows which.
fn contradicting(place: Place, first: &Place) -> Malformed {
    let message = format!("is the other one than in {} line {}, of the same trace", first.file, first.line);
    Malformed { place, problems: vec![trace::Problem::new("$.human_label.faithful", message)] }
}
