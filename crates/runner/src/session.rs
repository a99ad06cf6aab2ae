//! One run of one audit: derive what comes next, do it, keep it.

use std::time::Duration;

use audit::gate::{Regenerations, WhenUngrounded};
use audit::policy::Class;
use audit::prompt::{self, Constraint, Prompt};
use audit::record::{Attempt, Opening};
use audit::routing::{Disposition, Routed};
use audit::{Assessment, Outcome, Report, Unit, assess, kinds, units};
use bytes::Bytes;
use chrono::Utc;
use judge::{Judge, Turn};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trace::completeness::Prepared;

use crate::ask::{Call, question};
use crate::end::End;
use crate::progress::{self, Ask, Assessor, Next, Plan, Recall};
use crate::run::{Delivery, Run, RunError, Runner, Terms};
use crate::{Allowance, Kept, Sink};

/// How often one run waits for somebody else's probe before it is handed back.
const PROBES: u32 = 3;

/// One run of one audit.
pub(crate) struct Session<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) spec: &'static kinds::Spec,
    pub(crate) delivery: &'a Delivery,
    pub(crate) opening: &'a Opening,
    pub(crate) prompt: &'a Prompt,
    pub(crate) prepared: &'a Prepared,
    pub(crate) terms: Terms,
    /// How long the judge was waited for.
    pub(crate) judged_for: Duration,
    /// What other calls of the gate's session have used, where that was asked again at the end.
    pub(crate) regenerations: Option<Regenerations>,
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
    pub(crate) async fn run(self, sink: &impl Sink, stop: &CancellationToken) -> Result<Run, RunError> {
        let (delivery, opening) = (self.delivery, self.opening);
        let opened = Box::pin(sink.opened(&delivery.key, opening, &delivery.trace));
        let (opened, run) = futures_util::future::join(opened, Box::pin(self.rounds(sink, stop))).await;
        match opened? {
            Kept::Committed => run,
            Kept::LostRace => Ok(Run::Yielded),
        }
    }

    async fn rounds(mut self, sink: &impl Sink, stop: &CancellationToken) -> Result<Run, RunError> {
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
                width: self.terms.parallel.max(1),
            };
            let asks = match progress::next(plan, &attempts, &self, &mut recall) {
                Next::Ask(asks) => asks,
                Next::Done(reports) => {
                    self.regenerations = self.used(sink).await?;
                    return Ok(self.done(reports, attempts.split_off(committed)));
                }
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
            note_remedies(&asks, &mut attempts[committed..]);
            // Everything so far is durable before the next call: a crash must not give a budget back.
            if committed < attempts.len() {
                match self.keep(&attempts[committed..], sink).await? {
                    Kept::Committed => committed = attempts.len(),
                    Kept::LostRace => return Ok(Run::Yielded),
                }
            }
            if self.terms.withdrawn.is_cancelled() {
                return self.interrupted(Vec::new(), sink).await;
            }
            if self.terms.until.is_some_and(|until| until <= Instant::now()) {
                let reason = "the delivery was in work for as long as it may be; it goes on later".to_owned();
                return self.hand_back(Vec::new(), false, (reason, None), sink).await;
            }
            let asks = match self.allowed(asks, sink).await? {
                Allowed::Asks(asks) => asks,
                Allowed::Not(run) => return Ok(*run),
            };
            let round = self.ask_all(&turn, asks, stop, sink).await;
            self.judged_for += round.attempts.iter().map(|attempt| attempt.latency).max().unwrap_or_default();
            attempts.extend(round.attempts);
            if round.is_interrupted {
                return self.interrupted(attempts.split_off(committed), sink).await;
            }
            let Some(Failed { class, reason, words, refused }) = round.failed else {
                tries = 0;
                continue;
            };
            tries += 1;
            let advance = class == judge::Class::Transport;
            if advance && tries < self.runner.settings.quick_tries {
                let delay = delays.next_delay();
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = self.terms.withdrawn.cancelled() => {}
                    () = tokio::time::sleep(delay) => continue,
                }
            } else if self.pass_on(&mut turn, class, &reason) {
                tries = 0;
                delays = judge::delay::Delays::new(self.runner.settings.delays);
                continue;
            } else if refused && probes < PROBES {
                // Another call is finding out whether the judge is back; its outcome is near.
                probes += 1;
                let withdrawn = &self.terms.withdrawn;
                let may_ask = tokio::select! {
                    () = withdrawn.cancelled() => false,
                    may_ask = turn.judge().wait_for_probe(stop) => may_ask,
                };
                if may_ask && !stop.is_cancelled() {
                    continue;
                }
            }
            return self.hand_back(attempts.split_off(committed), advance, (reason, words), sink).await;
        }
    }

    /// What earlier calls of the session have used by now, where some were open when this call came.
    async fn used(&self, sink: &impl Sink) -> Result<Option<Regenerations>, RunError> {
        match &self.delivery.gate {
            Some(asked)
                if asked.policy.ungrounded == WhenUngrounded::Regenerate
                    && !asked.call.earlier.is_empty() =>
            {
                Ok(Some(sink.regenerations(&self.delivery.key, &asked.call).await?))
            }
            _ => Ok(None),
        }
    }

    async fn keep(&self, attempts: &[Attempt], sink: &impl Sink) -> Result<Kept, RunError> {
        Ok(sink.keep(&self.delivery.key, self.opening, &self.delivery.trace, attempts).await?)
    }

    /// Those of the calls that the project may pay for, or the end of the run when it may pay for none.
    async fn allowed(&self, asks: Vec<Ask>, sink: &impl Sink) -> Result<Allowed, RunError> {
        let mut granted = Vec::with_capacity(asks.len());
        for ask in asks {
            let reason = match sink.allow(&self.delivery.key).await? {
                Allowance::Granted => {
                    granted.push(ask);
                    continue;
                }
                // What is granted is asked first; the next round finds the cap again.
                _ if !granted.is_empty() => break,
                Allowance::Deferred { reason } if !self.terms.is_waited_for => {
                    return Ok(Allowed::Not(Box::new(Run::Parked { advance: false, reason, words: None })));
                }
                Allowance::OverBudget { reason } | Allowance::Deferred { reason } => reason,
            };
            tracing::debug!(trace_id = %self.delivery.key.trace_id, reason, "an audit ends over budget");
            let routed = Routed::unjudged(Disposition::OverBudget);
            return Ok(Allowed::Not(Box::new(self.gave_up(routed, Vec::new()))));
        }
        Ok(Allowed::Asks(granted))
    }

    /// Asks about several units at once, and waits for all of them.
    async fn ask_all(
        &self,
        turn: &Turn<'_>,
        asks: Vec<Ask>,
        stop: &CancellationToken,
        sink: &impl Sink,
    ) -> Round {
        let calls = asks.into_iter().map(|ask| Box::pin(self.call(turn.judge(), ask, stop)));
        let mut round = Round::default();
        for called in futures_util::future::join_all(calls).await {
            if matches!(called, Called::Interrupted(_) | Called::Failed { attempt: None, .. }) {
                sink.not_asked(&self.delivery.key).await;
            }
            match called {
                Called::Replied(attempt) => round.attempts.push(*attempt),
                Called::Interrupted(attempt) => {
                    round.is_interrupted = true;
                    round.attempts.extend(attempt.map(|attempt| *attempt));
                }
                Called::Failed { attempt, failed } => {
                    round.attempts.extend(attempt.map(|attempt| *attempt));
                    round.failed = Some(failed);
                }
            }
        }
        round
    }

    /// The stop came. Replies that had come by then are kept; an audit that somebody waited for is over.
    async fn interrupted(&self, pending: Vec<Attempt>, sink: &impl Sink) -> Result<Run, RunError> {
        if self.terms.is_waited_for {
            return Ok(self.gave_up(Routed::unjudged(Disposition::JudgeUnavailable), pending));
        }
        if !pending.is_empty() && self.keep(&pending, sink).await? == Kept::LostRace {
            return Ok(Run::Yielded);
        }
        Ok(Run::Interrupted)
    }

    /// No reply could be had: the audit ends when it is too old, else its attempts are kept and it is parked.
    async fn hand_back(
        &self,
        pending: Vec<Attempt>,
        advance: bool,
        (reason, words): (String, Option<String>),
        sink: &impl Sink,
    ) -> Result<Run, RunError> {
        let age = (Utc::now() - self.delivery.first_seen).to_std().unwrap_or_default();
        if self.terms.is_waited_for || age >= self.runner.settings.max_age {
            let routed = Routed::unjudged(Disposition::JudgeUnavailable);
            return Ok(self.gave_up(routed, pending));
        }
        if !pending.is_empty() && self.keep(&pending, sink).await? == Kept::LostRace {
            return Ok(Run::Yielded);
        }
        Ok(Run::Parked { advance, reason, words })
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

    async fn call(&self, judge: &Judge, ask: Ask, stop: &CancellationToken) -> Called {
        let Ask { at, number, unit, again } = &ask;
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
            at: *at,
            number: *number,
            unit,
            started_at: Utc::now(),
            request: request.clone(),
        };
        let Terms { urgency, withdrawn, .. } = &self.terms;
        match judge.ask_as(*urgency, request, &trace.trace_id, withdrawn, stop).await {
            Ok(reply) => {
                let attempt = call.replied(reply);
                self.runner.warn_about_model(&attempt);
                Called::Replied(Box::new(attempt))
            }
            Err(error) if error.class == judge::Class::Interrupted => {
                let attempt = self.terms.is_waited_for.then(|| call.cut_off(&error)).flatten();
                Called::Interrupted(attempt.map(Box::new))
            }
            Err(error) => {
                let attempt = call.failed(&error);
                match attempt {
                    Some(attempt) if attempt.class.is_reply() || attempt.class == Class::ContextTooLong => {
                        Called::Replied(Box::new(attempt))
                    }
                    attempt => Called::Failed {
                        attempt: attempt.map(Box::new),
                        failed: Failed {
                            class: error.class,
                            refused: !error.sent && error.retry_after.is_some(),
                            reason: error.message,
                            words: error.words,
                        },
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
        Run::Ended(Box::new(self.end().judged(self.spec, self.prepared, report, pending)))
    }

    fn gave_up(&self, routed: Routed, pending: Vec<Attempt>) -> Run {
        let provenance = json!(self.prepared.provenance);
        Run::Ended(Box::new(self.end().unjudged(routed, pending, Vec::new(), provenance)))
    }

    fn end(&self) -> End<'_> {
        End {
            delivery: self.delivery,
            opening: self.opening,
            runner: self.runner,
            judged_for: self.judged_for,
            regenerations: self.regenerations,
        }
    }
}

/// Sets how the next call differs from each of these attempts, unit by unit.
fn note_remedies(asks: &[Ask], pending: &mut [Attempt]) {
    for ask in asks {
        let last = pending.iter_mut().rev().find(|attempt| attempt.unit == ask.at);
        if let Some((last, (remedy, _))) = last.zip(ask.again.as_ref()) {
            last.remedy = Some(*remedy);
        }
    }
}

enum Allowed {
    Asks(Vec<Ask>),
    Not(Box<Run>),
}

/// What calls that were made at once brought.
#[derive(Default)]
struct Round {
    attempts: Vec<Attempt>,
    failed: Option<Failed>,
    is_interrupted: bool,
}

/// No reply; `refused` is true when the breaker let nothing through.
struct Failed {
    class: judge::Class,
    reason: String,
    words: Option<String>,
    refused: bool,
}

enum Called {
    /// Something that the policy decides about.
    Replied(Box<Attempt>),
    /// No reply; `attempt` is none when nothing was sent.
    Failed { attempt: Option<Box<Attempt>>, failed: Failed },
    /// We were told to stop. `attempt` is the call that was cut off, where it counts as one.
    Interrupted(Option<Box<Attempt>>),
}
