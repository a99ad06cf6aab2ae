//! The loop: derive what comes next, do it, keep it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use audit::policy::{Class, Policy};
use audit::prompt::{self, Constraint, Library, Prompt, PromptError};
use audit::record::{Attempt, AuditKey, Ending, Opening, TraceRecord};
use audit::reply::Problem;
use audit::routing::Circumstances;
use audit::routing::{self, Disposition, Routed};
use audit::units::{self, Cut};
use audit::{Assessment, Outcome, Report, Unit, assess, compare, kinds};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use judge::{Judge, Judges, Turn, Urgency};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trace::completeness::{self, Prepared};
use trace::{Kind, Readiness, Requirements};

use crate::ask::{Call, question};
use crate::calibration::Calibration;
use crate::progress::{self, Assessor, Next, Plan, Recall};
use crate::{Allowance, Kept, Sink, SinkError, events};

/// How often one run waits for somebody else's probe before it is handed back.
const PROBES: u32 = 3;

/// How audits are run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How answers and lists of claims are cut into units.
    pub cut: Cut,
    /// The prompts.
    pub prompts: Library,
    /// Calls per delivery before a transport failure is handed back.
    pub quick_tries: u32,
    /// Delays between quick tries.
    pub delays: judge::delay::DelaySettings,
    /// A trace that could not be judged for this long ends `judge_unavailable`.
    pub max_age: Duration,
}

/// One audit that a delivery asks for.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Which audit.
    pub key: AuditKey,
    /// The trace and its bytes.
    pub trace: Arc<TraceRecord>,
    /// What was fixed when the audit was opened, if it was.
    pub opening: Option<Opening>,
    /// Committed attempts.
    pub attempts: Vec<Attempt>,
    /// When the trace was first received, over all parked copies.
    pub first_seen: DateTime<Utc>,
    /// The producer's own queue and correlation id, if a reply is allowed there.
    pub reply_to: Option<(String, Option<String>)>,
    /// What the project demands of a trace.
    pub requirements: Requirements,
    /// The project's routing policy.
    pub routing: routing::Policy,
    /// The kind's retry policy.
    pub policy: Policy,
}

/// How soon a run is wanted, and how long it may take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// Before or after which other calls the judge is asked.
    pub urgency: Urgency,
    /// No call of the judge begins after this time: the run is handed back, with what it has. None for no limit.
    pub until: Option<Instant>,
}

/// How a run ended.
#[derive(Debug)]
pub enum Run {
    /// The audit is over; commit this.
    Ended(Box<Ending>),
    /// No reply could be had. Park the delivery.
    Parked {
        /// Whether this counts as a try, so that the delay tier rises.
        advance: bool,
        /// Why, for the log.
        reason: String,
    },
    /// Another worker is ahead with this audit: read again what is known.
    Yielded,
    /// The stop token was cancelled; nothing uncommitted is lost.
    Interrupted,
}

/// A run that could not go on for reasons of ours.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// This version cannot run the kind.
    #[error(transparent)]
    Kind(#[from] kinds::Unavailable),
    /// The prompt of an open audit is not known here.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Attempts could not be made durable.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// Runs audits with one judge, and those that stand in for it.
#[derive(Debug, Clone)]
pub struct Runner {
    judges: Judges,
    settings: Settings,
    /// By model that was asked for: the one that last answered, when it was another.
    other_models: Arc<Mutex<BTreeMap<String, String>>>,
    calibration: Calibration,
}

impl Runner {
    /// A runner that asks these judges: one [`Judge`], or several in their order.
    pub fn new(judges: impl Into<Judges>, settings: Settings) -> Self {
        Self {
            judges: judges.into(),
            settings,
            other_models: Arc::default(),
            calibration: Calibration::default(),
        }
    }

    /// The judge of every audit: the first one.
    pub fn judge(&self) -> &Judge {
        self.judges.first()
    }

    /// The judges that may be asked.
    pub fn judges(&self) -> &Judges {
        &self.judges
    }

    /// Which results are not marked `uncalibrated`: nothing is known until somebody says so.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// What is fixed for a new audit that shall be asked about under a prompt other than the current one.
    ///
    /// # Errors
    /// When this process does not know the version.
    pub fn opening(&self, kind: Kind, version: &str, record: &TraceRecord) -> Result<Opening, PromptError> {
        Ok(self.open(self.settings.prompts.of_version(kind, version)?, record))
    }

    /// Runs one audit to its end, or as far as it goes.
    ///
    /// # Errors
    /// [`RunError`]: the delivery must be handed back; nothing was lost.
    pub async fn run(
        &self,
        delivery: Delivery,
        sink: &impl Sink,
        stop: &CancellationToken,
    ) -> Result<Run, RunError> {
        self.run_on(delivery, Terms::default(), sink, stop).await
    }

    /// Runs one audit to its end, or as far as it goes on these terms.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub async fn run_on(
        &self,
        delivery: Delivery,
        terms: Terms,
        sink: &impl Sink,
        stop: &CancellationToken,
    ) -> Result<Run, RunError> {
        let spec = kinds::find(delivery.key.kind)?;
        let prompts = &self.settings.prompts;
        let prompt = match &delivery.opening {
            Some(opening) => prompts.of_version(spec.kind, &opening.prompt_version)?,
            None => prompts.current(spec.kind)?,
        };
        let mut delivery = delivery;
        let opening = delivery.opening.take().unwrap_or_else(|| self.open(prompt, &delivery.trace));
        let end =
            |report, routed| End { delivery: &delivery, opening: &opening, runner: self, report, routed };
        let prepared =
            match completeness::check(&delivery.trace.trace, delivery.key.kind, &delivery.requirements) {
                Readiness::Complete(prepared) => prepared,
                Readiness::Incomplete(problems) => {
                    let ended = end(None, Routed::unjudged(Disposition::Incomplete)).with(
                        Vec::new(),
                        problems,
                        json!({}),
                    );
                    return Ok(Run::Ended(Box::new(ended)));
                }
                Readiness::NotApplicable(why) => {
                    let problems = vec![trace::Problem::new("$", why)];
                    let ended = end(None, Routed::unjudged(Disposition::NotApplicable)).with(
                        Vec::new(),
                        problems,
                        json!({}),
                    );
                    return Ok(Run::Ended(Box::new(ended)));
                }
            };
        if let Some(report) = (spec.decide_by_rule)(&prepared.trace) {
            return Ok(Run::Ended(Box::new(self.judged(
                spec,
                &delivery,
                &opening,
                &prepared,
                report,
                Vec::new(),
            ))));
        }
        let session = Session {
            runner: self,
            spec,
            delivery: &delivery,
            opening: &opening,
            prompt,
            prepared: &prepared,
            terms,
        };
        session.run(sink, stop).await
    }

    /// A pinned model that answers under another name means that verdicts are not comparable. Said once per name.
    fn warn_about_model(&self, attempt: &Attempt) {
        let Some(answered) = attempt.model_answered.as_ref().filter(|answered| **answered != attempt.model)
        else {
            return;
        };
        let mut known = self.other_models.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(&attempt.model) != Some(answered) {
            tracing::warn!(
                asked = attempt.model,
                answered,
                "another model answered than the one that was asked for"
            );
            known.insert(attempt.model.clone(), answered.clone());
        }
    }

    fn open(&self, prompt: &Prompt, record: &TraceRecord) -> Opening {
        // The end of a version 7 UUID is random. That no text holds it is looked at, not hoped for.
        let candidates =
            std::iter::repeat_with(|| uuid::Uuid::now_v7().simple().to_string()[24..].to_owned());
        Opening {
            prompt_version: prompt.version.clone(),
            prompt_hash: prompt.hash.clone(),
            judge: self.judge().profile().name().to_owned(),
            nonce: prompt::choose_nonce(&record.trace, candidates).unwrap_or_default(),
            cut: Some(self.settings.cut),
            opened_at: Utc::now(),
        }
    }

    fn judged(
        &self,
        spec: &kinds::Spec,
        delivery: &Delivery,
        opening: &Opening,
        prepared: &Prepared,
        mut report: Report,
        attempts: Vec<Attempt>,
    ) -> Ending {
        let circumstances = Circumstances::new(&delivery.routing, &prepared.trace);
        (spec.conclude)(&mut report, &circumstances);
        let comparison = prepared.trace.human_label.as_ref().map(|label| compare::compare(&report, label));
        let routed = routing::route(spec, &circumstances, delivery.key.id(), &report, comparison.as_ref());
        let end = End { delivery, opening, runner: self, report: Some((report, comparison)), routed };
        end.with(attempts, Vec::new(), json!(prepared.provenance))
    }
}

/// An end in the making.
struct End<'a> {
    delivery: &'a Delivery,
    opening: &'a Opening,
    runner: &'a Runner,
    report: Option<(Report, Option<compare::Comparison>)>,
    routed: Routed,
}

impl End<'_> {
    fn with(
        self,
        attempts: Vec<Attempt>,
        problems: Vec<trace::Problem>,
        provenance: serde_json::Value,
    ) -> Ending {
        let (report, comparison) =
            self.report.map_or((None, None), |(report, comparison)| (Some(report), comparison));
        let practice = self.runner.judge().profile().is_practice();
        let mut ending = Ending {
            key: self.delivery.key.clone(),
            opening: self.opening.clone(),
            trace: Arc::clone(&self.delivery.trace),
            attempts,
            report,
            comparison,
            routed: self.routed,
            trace_problems: problems,
            provenance,
            uncalibrated: practice
                || !self.runner.calibration.holds(
                    self.delivery.key.kind,
                    &self.opening.prompt_version,
                    &self.opening.judge,
                ),
            practice,
            ended_at: Utc::now(),
            events: Vec::new(),
        };
        let reply_to = self.delivery.reply_to.as_ref().map(|(queue, id)| (queue.as_str(), id.as_deref()));
        ending.events = events::all(&ending, reply_to);
        ending
    }
}

/// One run of one audit.
struct Session<'a> {
    runner: &'a Runner,
    spec: &'static kinds::Spec,
    delivery: &'a Delivery,
    opening: &'a Opening,
    prompt: &'a Prompt,
    prepared: &'a Prepared,
    terms: Terms,
}

impl Assessor for Session<'_> {
    fn assess(&self, unit: &Unit, attempt: &Attempt) -> Assessment {
        let content = attempt.content.as_deref().unwrap_or_default();
        let finish = attempt.finish_reason.as_deref();
        // The kind was looked up before the session began.
        assess(self.spec.kind, &self.prepared.trace, unit, content, finish).unwrap_or_else(|_| Assessment {
            outcome: Outcome::Format,
            problems: Vec::new(),
            report: None,
            extracted: Vec::new(),
        })
    }
}

impl Session<'_> {
    async fn run(&self, sink: &impl Sink, stop: &CancellationToken) -> Result<Run, RunError> {
        let mut attempts = self.delivery.attempts.clone();
        let mut committed = attempts.len();
        let mut tries = 0;
        let mut probes = 0;
        let mut delays = judge::delay::Delays::new(self.runner.settings.delays);
        let mut turn = self.runner.judges.turn();
        let mut recall = Recall::default();
        loop {
            let plan = Plan {
                spec: self.spec,
                trace: &self.prepared.trace,
                cut: self.opening.cut.unwrap_or(self.runner.settings.cut),
                policy: &self.delivery.policy,
            };
            let (at, number, unit, again) = match progress::next(plan, &attempts, self, &mut recall) {
                Next::Ask { at, number, unit, again } => (at, number, unit, again),
                Next::Done(reports) => return Ok(self.done(reports, attempts.split_off(committed))),
                Next::OverBudget => {
                    let cap = self.delivery.policy.max_replies;
                    tracing::error!(trace_id = %self.delivery.key.trace_id, cap, "an audit needs more replies than max_replies allows");
                    let routed = Routed::unjudged(Disposition::OverBudget);
                    return Ok(self.gave_up(routed, attempts.split_off(committed)));
                }
                Next::GaveUp { class, message } => {
                    return Ok(self.gave_up(
                        Routed::unusable(self.spec, class, message),
                        attempts.split_off(committed),
                    ));
                }
            };
            if let Some((last, (remedy, _))) = attempts.last_mut().zip(again.as_ref()) {
                last.remedy = Some(*remedy);
            }
            // Everything so far is durable before the next call: a crash must not give a budget back.
            if committed < attempts.len() {
                match sink
                    .keep(&self.delivery.key, self.opening, &self.delivery.trace, &attempts[committed..])
                    .await?
                {
                    Kept::Committed => committed = attempts.len(),
                    Kept::LostRace => return Ok(Run::Yielded),
                }
            }
            if self.terms.until.is_some_and(|until| until <= Instant::now()) {
                let reason = "the delivery was in work for as long as it may be; it goes on later".to_owned();
                return self.hand_back(Vec::new(), false, reason, sink).await;
            }
            match sink.allow(&self.delivery.key).await? {
                Allowance::Granted => {}
                Allowance::OverBudget { reason } => {
                    tracing::debug!(trace_id = %self.delivery.key.trace_id, reason, "an audit ends over budget");
                    let routed = Routed::unjudged(Disposition::OverBudget);
                    return Ok(self.gave_up(routed, Vec::new()));
                }
                Allowance::Deferred { reason } => return Ok(Run::Parked { advance: false, reason }),
            }
            let called = self.call(turn.judge(), at, number, &unit, again, stop).await;
            if matches!(called, Called::Interrupted | Called::Failed { attempt: None, .. }) {
                sink.not_asked(&self.delivery.key).await;
            }
            match called {
                Called::Replied(attempt) => {
                    tries = 0;
                    attempts.push(*attempt);
                }
                Called::Interrupted => return Ok(Run::Interrupted),
                Called::Failed { attempt, class, reason, refused } => {
                    attempts.extend(attempt.map(|attempt| *attempt));
                    tries += 1;
                    let advance = class == judge::Class::Transport;
                    if advance && tries < self.runner.settings.quick_tries {
                        let delay = delays.next_delay();
                        tokio::select! {
                            () = stop.cancelled() => {}
                            () = tokio::time::sleep(delay) => continue,
                        }
                    } else if self.pass_on(&mut turn, class, &reason) {
                        tries = 0;
                        delays = judge::delay::Delays::new(self.runner.settings.delays);
                        continue;
                    } else if refused && probes < PROBES {
                        // Another call is finding out whether the judge is back; its outcome is near.
                        probes += 1;
                        if turn.judge().wait_for_probe(stop).await && !stop.is_cancelled() {
                            continue;
                        }
                    }
                    return self.hand_back(attempts.split_off(committed), advance, reason, sink).await;
                }
            }
        }
    }

    /// No reply could be had: the audit ends when it is too old, else its attempts are kept and it is parked.
    async fn hand_back(
        &self,
        pending: Vec<Attempt>,
        advance: bool,
        reason: String,
        sink: &impl Sink,
    ) -> Result<Run, RunError> {
        let age = (Utc::now() - self.delivery.first_seen).to_std().unwrap_or_default();
        if age >= self.runner.settings.max_age {
            let routed = Routed::unjudged(Disposition::JudgeUnavailable);
            return Ok(self.gave_up(routed, pending));
        }
        if !pending.is_empty() {
            let key = &self.delivery.key;
            if sink.keep(key, self.opening, &self.delivery.trace, &pending).await? == Kept::LostRace {
                return Ok(Run::Yielded);
            }
        }
        Ok(Run::Parked { advance, reason })
    }

    /// Passes the turn on when this judge cannot be used and another one may be asked.
    ///
    /// A judge that asks to slow down and names no time is still there: it gets its time, and nobody stands in.
    fn pass_on(&self, turn: &mut Turn<'_>, class: judge::Class, reason: &str) -> bool {
        let from = turn.judge();
        let is_unusable = match class {
            judge::Class::Transport | judge::Class::Permanent => true,
            _ => from.is_open(),
        };
        let passed = is_unusable && turn.pass_on();
        if passed {
            let to = turn.judge().name();
            tracing::debug!(from = from.name(), to, reason, "another judge stands in");
        }
        passed
    }

    async fn call(
        &self,
        judge: &Judge,
        at: u32,
        number: u32,
        unit: &Unit,
        again: Option<(audit::policy::Remedy, Vec<Problem>)>,
        stop: &CancellationToken,
    ) -> Called {
        let trace = &self.prepared.trace;
        let constraint = again.as_ref().map(|(remedy, problems)| Constraint { remedy: *remedy, problems });
        let rendered = prompt::render(self.prompt, self.spec, trace, unit, &self.opening.nonce, constraint);
        // The question is not kept while the judge thinks; what is sent is what is stored.
        let request = Bytes::from(judge.body(&question(self.spec, unit, rendered, trace)).to_string());
        let call = Call {
            kind: self.spec.kind,
            trace,
            opening: self.opening,
            prompt_hash: &self.prompt.hash,
            judge: judge.name(),
            model: judge.profile().model(),
            at,
            number,
            unit,
            started_at: Utc::now(),
            request: request.clone(),
        };
        let urgency = self.terms.urgency;
        match judge.ask_as(urgency, request, &trace.trace_id, stop).await {
            Ok(reply) => {
                let attempt = call.replied(reply);
                self.runner.warn_about_model(&attempt);
                Called::Replied(Box::new(attempt))
            }
            Err(error) if error.class == judge::Class::Interrupted => Called::Interrupted,
            Err(error) => {
                let attempt = call.failed(&error);
                match attempt {
                    Some(attempt) if attempt.class.is_reply() || attempt.class == Class::ContextTooLong => {
                        Called::Replied(Box::new(attempt))
                    }
                    attempt => Called::Failed {
                        refused: !error.sent && error.retry_after.is_some(),
                        attempt: attempt.map(Box::new),
                        class: error.class,
                        reason: error.message,
                    },
                }
            }
        }
    }

    fn done(&self, reports: Vec<Report>, pending: Vec<Attempt>) -> Run {
        let mut report = units::merge(reports);
        if report.claims.is_empty() && self.spec.listing == kinds::Listing::Sent {
            // A list of ours is only empty when a judge extracted it: the splitter's was looked at before.
            report.doubts.push(audit::Doubt {
                code: "no_claims_in_answer_with_statements".to_owned(),
                path: "$.claims".to_owned(),
                message: "the answer makes statements, the judge lists none".to_owned(),
                claim: None,
            });
        }
        let ending =
            self.runner.judged(self.spec, self.delivery, self.opening, self.prepared, report, pending);
        Run::Ended(Box::new(ending))
    }

    fn gave_up(&self, routed: Routed, pending: Vec<Attempt>) -> Run {
        let end =
            End { delivery: self.delivery, opening: self.opening, runner: self.runner, report: None, routed };
        Run::Ended(Box::new(end.with(pending, Vec::new(), json!(self.prepared.provenance))))
    }
}

enum Called {
    /// Something that the policy decides about.
    Replied(Box<Attempt>),
    /// No reply; `attempt` is none when nothing was sent, `refused` is true when the breaker let nothing through.
    Failed { attempt: Option<Box<Attempt>>, class: judge::Class, reason: String, refused: bool },
    /// We were told to stop.
    Interrupted,
}
