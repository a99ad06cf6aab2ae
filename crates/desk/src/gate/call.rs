//! One call of the gate, from the question to the stored answer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use audit::gate::{self, Resolution};
use audit::record::{AuditKey, Ending, GateCall, GateChannel, GateOutcome, TraceRecord};
use audit::routing::{Circumstances, Disposition, Routed};
use audit::units::Cut;
use chrono::{DateTime, Utc};
use durable::{Durable, GivenUp, Project, chain, persist};
use judge::Urgency;
use runner::{Delivery, GateAsked, Run, RunError, Terms};
use store::{Finished, GateClaim};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::answer;
use super::claimed::{Place, place};
use super::request::{Asked, REQUIREMENTS};
use super::sink::GateSink;
use crate::problem::Refusal;
use crate::state::Desk;

/// The judge is cut off this long before the deadline, so that the answer is stored when it passes.
const RESERVE: Duration = Duration::from_millis(20);

/// How long after the deadline the commit may still be tried for; the caller has gone by then.
const GRACE: Duration = Duration::from_secs(2);

/// How long after its deadline a call that has no end is taken for cut off.
const LOST_AFTER: Duration = Duration::from_secs(30);

/// How often a call makes way for another audit of the same trace before it gives up.
const MAKES_WAY: u32 = 3;

/// A call, with all that is known when it comes.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: Uuid,
    pub(crate) began: Instant,
    pub(crate) received_at: DateTime<Utc>,
    pub(crate) caller: String,
    pub(crate) key: Option<String>,
    pub(crate) body_hash: Option<[u8; 32]>,
    pub(crate) asked: Asked,
    /// Cancelled when nobody waits any longer.
    pub(crate) gone: CancellationToken,
}

/// What goes back to the caller.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) body: String,
    /// False when the result is not known to be durable.
    pub(crate) is_stored: bool,
    /// Whether it is the stored answer of an earlier call.
    pub(crate) is_repeated: bool,
    /// How long the judge and all of it took.
    pub(crate) took: Option<(Duration, Duration)>,
}

/// Why a call has no answer of its own.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It is refused.
    Refused(Refusal),
    /// The database did not answer in time, or refused.
    NotStored(String),
}

impl From<GivenUp> for Failed {
    fn from(error: GivenUp) -> Self {
        Self::NotStored(chain(&error))
    }
}

/// Why the judge was not waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutOff {
    Deadline,
    ClientGone,
    Stopped,
}

impl Call {
    /// Takes the call to its end. Whatever happens, there is an answer, and it never says `grounded` unjudged.
    pub(crate) async fn answer(self, desk: &Desk) -> Result<Answered, Refusal> {
        let kind = self.asked.kind.as_str();
        let until = self.began + self.asked.deadline;
        // The database is not waited for for ever: somebody wants to know what to do.
        let abort = desk.abort().child_token();
        let _timer = Timer::start(until + GRACE, abort.clone());
        let project = desk.settings().project(&self.asked.trace.project);
        let answered = match Box::pin(self.run(desk, project, until, &abort)).await {
            Ok(answered) => Ok(answered),
            Err(Failed::Refused(refusal)) => Err(refusal),
            Err(Failed::NotStored(error)) => {
                tracing::error!(call = %self.id, error, "the result of a gate call could not be stored");
                let message = "the result could not be stored; try again";
                let body = answer::not_stored(&unknown(desk, &self.asked.trace), message);
                Ok(Answered { body, is_stored: false, is_repeated: false, took: None })
            }
        };
        metrics::histogram!("groundcrew_gate_seconds", "kind" => kind)
            .record(self.began.elapsed().as_secs_f64());
        if let Ok(Answered { took: Some((judge, total)), .. }) = &answered {
            let added = total.saturating_sub(*judge).as_secs_f64();
            metrics::histogram!("groundcrew_gate_added_seconds", "kind" => kind).record(added);
        }
        answered
    }

    async fn run(
        &self,
        desk: &Desk,
        project: &Project,
        until: Instant,
        abort: &CancellationToken,
    ) -> Result<Answered, Failed> {
        let mut claim = self.claim();
        // A call that is alone of its kind by construction is written once, at its end.
        let needs_claim = self.key.is_some() || self.asked.session.is_some() || self.asked.is_named;
        if needs_claim {
            match place(desk, &claim, until, abort).await? {
                Place::Ours { regenerations, earlier, generation } => {
                    claim.call.regenerations = regenerations;
                    claim.call.earlier = earlier;
                    claim.key.generation = generation;
                }
                Place::Answered(body) => {
                    return Ok(Answered { body, is_stored: true, is_repeated: true, took: None });
                }
                Place::Late => {
                    let body = answer::in_work(&unknown(desk, &self.asked.trace), &self.asked.trace.project);
                    return Ok(Answered { body, is_stored: true, is_repeated: false, took: None });
                }
            }
        }
        for _ in 0..MAKES_WAY {
            let sink = GateSink {
                durable: Durable::new(desk.store(), desk.purses(), project, abort),
                store: desk.store(),
                abort,
                claim: claim.clone(),
                is_claimed: AtomicBool::new(needs_claim),
            };
            match self.judged(desk, project, &claim, &sink, until).await? {
                Some(ending) => match self.stored(desk, ending, abort).await? {
                    Some(answered) => return Ok(answered),
                    None => claim.key.generation += 1,
                },
                None => claim.key.generation += 1,
            }
        }
        Err(Failed::Refused(Refusal::conflict("other audits of this trace are under way; ask again")))
    }

    fn claim(&self) -> GateClaim {
        let trace = &self.asked.trace;
        let call = GateCall {
            id: self.id,
            channel: GateChannel::Http,
            caller: Some(self.caller.clone()),
            // A caller that is told to regenerate needs a session to come back to.
            session: Some(self.asked.session.clone().unwrap_or_else(|| self.id.to_string())),
            regenerations: 0,
            earlier: Vec::new(),
            idempotency_key: self.key.clone(),
            body_hash: self.body_hash,
            deadline: Some(self.asked.deadline),
            received_at: self.received_at,
        };
        let key = AuditKey {
            project: trace.project.clone(),
            trace_id: trace.trace_id.clone(),
            content_hash: trace::content_hash(trace),
            kind: self.asked.kind,
            generation: 0,
            repeat: 0,
        };
        GateClaim { call, key, expires_in: self.asked.deadline + LOST_AFTER }
    }

    /// Runs the audit to its end, or to the deadline. None when another audit under the same key is ahead.
    async fn judged(
        &self,
        desk: &Desk,
        project: &Project,
        claim: &GateClaim,
        sink: &GateSink<'_>,
        until: Instant,
    ) -> Result<Option<Box<Ending>>, Failed> {
        let policy = desk.settings().policy(self.asked.kind);
        let delivery = Delivery {
            key: claim.key.clone(),
            trace: Arc::new(TraceRecord {
                trace: self.asked.trace.clone(),
                payload: self.asked.payload.clone(),
                received_at: self.received_at,
            }),
            opening: None,
            attempts: Vec::new(),
            first_seen: self.received_at,
            reply_to: None,
            requirements: REQUIREMENTS,
            routing: project.routing.clone(),
            policy,
            gate: Some(GateAsked {
                call: claim.call.clone(),
                policy: project.gate,
                cut: project.gate.per_claim.then(|| self.parts(desk, policy.max_replies)),
                // A call that is wrong was refused.
                problems: Vec::new(),
            }),
        };
        let terms = Terms {
            urgency: Urgency::Urgent,
            until: None,
            is_waited_for: true,
            parallel: desk.settings().gate.parallel,
            ..Terms::default()
        };
        let stop = CancellationToken::new();
        let mut running = Box::pin(desk.runner().run_on(delivery, terms, sink, &stop));
        let mut cut_off = None;
        let run = tokio::select! {
            biased;
            run = &mut running => run,
            why = self.nobody_waits(desk, until) => {
                // Only the calls of the judge end by this; what is being written is.
                cut_off = Some(why);
                stop.cancel();
                running.await
            }
        };
        match run {
            Ok(Run::Ended(mut ending)) => {
                note_cut_off(&mut ending, cut_off);
                Ok(Some(ending))
            }
            Ok(Run::Yielded) => Ok(None),
            Ok(Run::Parked { reason, .. }) => Err(Failed::NotStored(reason)),
            Ok(Run::Interrupted) => Err(Failed::NotStored("the call was stopped".to_owned())),
            Err(RunError::Sink(error)) => Err(Failed::NotStored(chain(&error))),
            Err(error) => Err(Failed::Refused(Refusal::failed(&error))),
        }
    }

    /// How an answer is cut in the per-claim mode: so finely as its project may pay for.
    fn parts(&self, desk: &Desk, max_replies: u32) -> Cut {
        let chars = self.asked.trace.answer.as_deref().unwrap_or_default().chars().count();
        // Half of the replies are left for second tries.
        let most = usize::try_from(max_replies / 2).unwrap_or(1).max(1);
        let max_chars = desk.settings().gate.part_chars.max(chars.div_ceil(most));
        Cut { max_chars, ..desk.runner().cut() }
    }

    async fn nobody_waits(&self, desk: &Desk, until: Instant) -> CutOff {
        let reserve = RESERVE.min(self.asked.deadline / 4);
        tokio::select! {
            () = tokio::time::sleep_until(until - reserve) => CutOff::Deadline,
            () = self.gone.cancelled() => CutOff::ClientGone,
            () = desk.abort().cancelled() => CutOff::Stopped,
        }
    }

    /// Makes the end durable, and the answer of it. None when another audit has this key.
    async fn stored(
        &self,
        desk: &Desk,
        mut ending: Box<Ending>,
        abort: &CancellationToken,
    ) -> Result<Option<Answered>, Failed> {
        let body = answer::body(&ending);
        let mut judge = Duration::ZERO;
        if let Some(gate) = &mut ending.gate {
            judge = gate.judged_for;
            gate.total = Some(self.began.elapsed());
            gate.response = gate.call.idempotency_key.is_some().then(|| body.clone());
        }
        let mut tries = 0_u32;
        let finished = persist("committing a call of the gate", abort, || {
            tries += 1;
            desk.store().finish(&ending)
        });
        match finished.await? {
            Finished::Committed => {}
            // The answer to an earlier try was lost and its commit was not.
            Finished::AlreadyEnded if tries > 1 => {}
            Finished::AlreadyEnded | Finished::LostRace => return Ok(None),
        }
        self.count(&ending);
        let took = Some((judge, self.began.elapsed()));
        Ok(Some(Answered { body, is_stored: true, is_repeated: false, took }))
    }

    fn count(&self, ending: &Ending) {
        let Some(gate) = &ending.gate else { return };
        let (kind, action) = (ending.key.kind.as_str(), gate.resolution.action.as_str());
        let (verdict, outcome) = (gate.resolution.verdict.as_str(), gate.outcome.as_str());
        metrics::counter!(
            "groundcrew_gate_calls_total",
            "kind" => kind, "action" => action, "verdict" => verdict, "outcome" => outcome
        )
        .increment(1);
        let disposition = ending.routed.disposition.as_str();
        metrics::counter!("groundcrew_audits_total", "kind" => kind, "disposition" => disposition)
            .increment(1);
        if gate.resolution.exhausted {
            tracing::warn!(
                call = %self.id,
                project = ending.key.project,
                session = gate.call.session,
                audit = %ending.key.id(),
                "an answer is not grounded after its last regeneration; people see its claims"
            );
        }
    }
}

/// What to do without a verdict.
pub(super) fn unknown(desk: &Desk, trace: &trace::Trace) -> Resolution {
    let project = desk.settings().project(&trace.project);
    let circumstances = Circumstances::new(&project.routing, trace);
    let routed = Routed::unjudged(Disposition::JudgeUnavailable);
    gate::resolve(&project.gate, &circumstances, None, &routed, 0)
}

/// Says why there is no verdict, where the call was cut off before there was one.
fn note_cut_off(ending: &mut Ending, cut_off: Option<CutOff>) {
    let is_unjudged = ending.routed.disposition == Disposition::JudgeUnavailable;
    let (Some(gate), Some(why), true) = (&mut ending.gate, cut_off, is_unjudged) else { return };
    let (outcome, words) = match why {
        CutOff::Deadline => (GateOutcome::Deadline, "the deadline passed before there was a verdict"),
        CutOff::ClientGone => (GateOutcome::ClientGone, "the caller went away"),
        CutOff::Stopped => (GateOutcome::CutOff, "the desk was stopped"),
    };
    gate.outcome = outcome;
    gate.resolution.why = format!("{words}; {}", gate.resolution.why);
}

/// Cancels a token at its time, unless it is dropped before.
struct Timer(tokio::task::JoinHandle<()>);

impl Timer {
    fn start(at: Instant, token: CancellationToken) -> Self {
        Self(tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            token.cancel();
        }))
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}
