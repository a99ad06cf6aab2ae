//! One audit kind of one delivery: look up, run, commit.

use std::sync::Arc;
use std::time::Instant;

use ::audit::prompt::PromptError;
use ::audit::record::{AuditKey, Ending, Known, Opening, TraceRecord};
use ::audit::routing::Disposition;
use chrono::{DateTime, Utc};
use durable::{Durable, GivenUp, chain, next_day, persist};
use runner::{Delivery, Run, RunError, Terms};
use store::Finished;
use tokio_util::sync::CancellationToken;
use trace::{Kind, Readiness, completeness};
use uuid::Uuid;

use crate::gate;
use crate::worker::Context;

/// What a delivery knows beyond its trace.
#[derive(Debug, Clone)]
pub(crate) struct Circumstances<'a> {
    pub(crate) delivery: &'a queue::Delivery,
    pub(crate) terms: Terms,
    pub(crate) generation: u32,
    pub(crate) first_seen: DateTime<Utc>,
    pub(crate) reply_to: Option<(String, Option<String>)>,
}

impl Circumstances<'_> {
    /// Whether a producer sent this, and not the broker once more: a redelivery says so, and a delivery whose channel
    /// is lost has one on its way. A parked copy, which names its kinds, is ours.
    fn is_from_producer(&self) -> bool {
        !self.delivery.redelivered && self.delivery.is_held() && self.delivery.envelope.kinds.is_empty()
    }
}

/// What cuts the work on a delivery short.
#[derive(Debug)]
pub(crate) struct Stops {
    /// The broker has taken the delivery back, or the worker gives up: nothing begins any more that is not paid for.
    pub(crate) withdrawn: CancellationToken,
    /// The worker gives up: calls end, and nothing waits for a service.
    pub(crate) abort: CancellationToken,
}

impl Stops {
    /// Those of a delivery that is held.
    pub(crate) fn new(abort: &CancellationToken) -> Self {
        Self { withdrawn: abort.child_token(), abort: abort.clone() }
    }
}

/// What became of one kind.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It has ended, here or before.
    Ended,
    /// It has to be tried again later, and not before `until` if that is known.
    Parked { advance: bool, reason: String, until: Option<DateTime<Utc>> },
    /// The worker stops, or does not hold the delivery any more: it goes back.
    HandedBack,
    /// Something of ours failed in a way that trying again cannot mend at once.
    Failed(String),
}

/// Takes every run of one kind to its end, or as far as it goes now.
pub(crate) async fn settle(
    context: &Context,
    kind: Kind,
    record: &Arc<TraceRecord>,
    circumstances: &Circumstances<'_>,
    stops: &Stops,
) -> Fate {
    let mut fate = Fate::Ended;
    for repeat in 0..context.settings.repeats(kind) {
        match settle_run(context, kind, repeat, record, circumstances, stops).await {
            Fate::Ended => {}
            // A later run may well succeed, or be over already.
            parked @ Fate::Parked { .. } => fate = parked,
            other => return other,
        }
    }
    fate
}

/// Takes one audit to its end, or as far as it goes now.
async fn settle_run(
    context: &Context,
    kind: Kind,
    repeat: u32,
    record: &Arc<TraceRecord>,
    circumstances: &Circumstances<'_>,
    stops: &Stops,
) -> Fate {
    match attempt(context, kind, repeat, record, circumstances, stops).await {
        Ok(fate) => fate,
        Err(GivenUp::Stopped) => Fate::HandedBack,
        Err(GivenUp::Failed(error)) => Fate::Failed(chain(&error)),
    }
}

async fn attempt(
    context: &Context,
    kind: Kind,
    repeat: u32,
    record: &Arc<TraceRecord>,
    circumstances: &Circumstances<'_>,
    stops: &Stops,
) -> Result<Fate, GivenUp> {
    let project = context.settings.project(&record.trace.project);
    let is_complete = || {
        matches!(completeness::check(&record.trace, kind, &project.requirements), Readiness::Complete(_))
            && !gate::is_wrong(kind, record, circumstances)
    };
    let mut key = AuditKey {
        project: record.trace.project.clone(),
        trace_id: record.trace.trace_id.clone(),
        content_hash: trace::content_hash(&record.trace),
        kind,
        generation: circumstances.generation,
        repeat,
    };
    let known = look_up(context, &mut key, is_complete, stops).await?;
    if let Known::Ended { .. } = known {
        return already_ended(context, &key, record, circumstances, stops).await;
    }
    let (opening, attempts) = match known {
        Known::Open { opening, attempts } => (Some(opening), attempts),
        _ => match wanted_opening(context, kind, record, circumstances) {
            Ok(opening) => (opening, Vec::new()),
            Err(error) => return Ok(Fate::Failed(chain(&error))),
        },
    };
    let gate = gate::asked(context, project, &key, record, circumstances, &stops.withdrawn).await?;
    let delivery = Delivery {
        key: key.clone(),
        trace: Arc::clone(record),
        opening,
        attempts,
        first_seen: circumstances.first_seen,
        reply_to: circumstances.reply_to.clone(),
        requirements: project.requirements,
        routing: project.routing.clone(),
        policy: context.settings.policy(kind),
        gate,
    };
    let sink = Durable::new(&context.store, &context.purses, project, &stops.abort);
    let sink = sink.unless(&stops.withdrawn);
    let terms = Terms { withdrawn: stops.withdrawn.clone(), ..circumstances.terms.clone() };
    match context.runner.run_on(delivery, terms, &sink, &stops.abort).await {
        Ok(Run::Ended(ending)) => {
            let (mut tries, mut leased) = (0_u32, Instant::now());
            let lease = context.settings.relay.lease;
            let finished = persist("committing an audit", &stops.abort, || {
                (tries, leased) = (tries + 1, Instant::now());
                context.store.finish_in_hand(&ending, lease)
            });
            let (finished, messages) = finished.await?;
            match finished {
                // The answer to an earlier try was lost and its commit was not: this end is our own, and no duplicate.
                Finished::AlreadyEnded if tries > 1 => Ok(Fate::Ended),
                Finished::Committed => {
                    count_end(kind, &ending);
                    context.relay.hand_over(messages, leased + lease);
                    Ok(Fate::Ended)
                }
                Finished::AlreadyEnded => already_ended(context, &key, record, circumstances, stops).await,
                Finished::LostRace => Ok(yielded()),
            }
        }
        Ok(Run::Parked { advance, reason, words }) => {
            if let Some(words) = words {
                tracing::debug!(words, "the judge's provider says more");
            }
            let until = sink.is_deferred().then(|| next_day(Utc::now()));
            Ok(Fate::Parked { advance, reason, until })
        }
        Ok(Run::Yielded) => Ok(yielded()),
        Ok(Run::Interrupted) => Ok(Fate::HandedBack),
        Err(RunError::Sink(_)) if stops.withdrawn.is_cancelled() => Ok(Fate::HandedBack),
        Err(error) => Ok(Fate::Failed(chain(&error))),
    }
}

/// What is known of the audit that a delivery asks for, whose key is brought up to date.
///
/// A complete copy that follows an incomplete one is a new audit of the same content. Its generation is reserved:
/// somebody may have been promised the next one for an audit that is still on its way.
async fn look_up(
    context: &Context,
    key: &mut AuditKey,
    is_complete: impl Fn() -> bool,
    stops: &Stops,
) -> Result<Known, GivenUp> {
    let (asked_for, mut is_reserved) = (key.generation, false);
    loop {
        let found =
            persist("looking up an audit", &stops.withdrawn, || context.store.lookup(key.clone())).await?;
        match found {
            Known::Ended { disposition: Disposition::Incomplete } if is_complete() => {
                key.generation = key.generation.saturating_add(1)
            }
            Known::New if asked_for < key.generation && !is_reserved => {
                let purpose = format!("complete {} {} after {asked_for}", key.kind, key.content_hash);
                let reserved = persist("reserving a generation", &stops.withdrawn, || {
                    context.store.reserve_generation(&key.project, &key.trace_id, &purpose, key.generation)
                });
                (key.generation, is_reserved) = (reserved.await?, true);
            }
            known => return Ok(known),
        }
    }
}

fn count_end(kind: Kind, ending: &Ending) {
    let disposition = ending.routed.disposition.as_str();
    metrics::counter!("groundcrew_audits_total", "kind" => kind.as_str(), "disposition" => disposition)
        .increment(1);
}

/// The opening of an audit that is asked for under a certain prompt.
fn wanted_opening(
    context: &Context,
    kind: Kind,
    record: &Arc<TraceRecord>,
    circumstances: &Circumstances<'_>,
) -> Result<Option<Opening>, PromptError> {
    let version = circumstances.delivery.envelope.prompt_version.as_deref();
    version.map(|version| context.runner.opening(kind, version, record)).transpose()
}

fn yielded() -> Fate {
    Fate::Parked { advance: false, reason: "another worker is ahead with this audit".into(), until: None }
}

/// The same trace again: it is counted, not judged, and who asks for the result gets it. A label that came later updates the comparison.
async fn already_ended(
    context: &Context,
    key: &AuditKey,
    record: &Arc<TraceRecord>,
    circumstances: &Circumstances<'_>,
    stops: &Stops,
) -> Result<Fate, GivenUp> {
    let abort = &stops.withdrawn;
    if circumstances.is_from_producer() {
        metrics::counter!("groundcrew_duplicates_total").increment(1);
        persist("counting a duplicate", abort, || context.store.count_duplicate(key.id())).await?;
    }
    if let Some((queue, correlation_id)) = circumstances.reply_to.as_ref().filter(|_| key.repeat == 0) {
        // A delivery that comes once more may have been answered already; who asks again is answered again.
        let again = circumstances.is_from_producer().then(Uuid::now_v7);
        let asker = store::Asker { queue: queue.clone(), correlation_id: correlation_id.clone(), again };
        persist("answering from what is stored", abort, || context.store.answer_again(key, &asker)).await?;
    }
    if let Some(label) = &record.trace.human_label {
        persist("taking over a label", abort, || context.store.relabel(key, label)).await?;
    }
    Ok(Fate::Ended)
}
