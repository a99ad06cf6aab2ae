//! One audit without services, to its end.

use std::sync::Arc;
use std::time::Duration;

use audit::record::{Attempt, AuditKey, TraceRecord};
use audit::routing::Disposition;
use chrono::Utc;
use judge::{Availability, BreakerState, Judges, OpenReason};
use outcomes::{Cost, Place, Record};
use runner::memory::MemorySink;
use runner::{Delivery, Run, Runner};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trace::Kind;

use crate::config::Settings;
use crate::failure::{Failure, chain};

use super::judge::Chosen;

/// How long an audit waits for a judge that asks to slow down.
const PATIENCE: Duration = Duration::from_secs(600);

/// Which audit, of what, from where.
#[derive(Debug, Clone)]
pub(crate) struct One {
    pub(crate) key: AuditKey,
    pub(crate) record: Arc<TraceRecord>,
    pub(crate) place: Place,
}

/// What audits are made with.
#[derive(Debug)]
pub(crate) struct Bench {
    runner: Runner,
    prompts: audit::prompt::Library,
    pub(crate) settings: worker::Settings,
    pub(crate) stop: CancellationToken,
}

impl Bench {
    /// A bench with the chosen judges.
    pub(crate) fn new(chosen: &Chosen, settings: &Settings, stop: CancellationToken) -> Self {
        Self {
            runner: Runner::new(chosen.judges.clone(), settings.runner.clone()),
            prompts: settings.runner.prompts.clone(),
            settings: settings.worker.clone(),
            stop,
        }
    }

    /// The version of the prompt that audits of this kind get.
    pub(crate) fn prompt_version(&self, kind: Kind) -> Result<String, Failure> {
        self.prompts.current(kind).map(|prompt| prompt.version.clone()).map_err(Failure::usage)
    }

    /// The judge that every audit is said to be made by.
    pub(crate) fn judge(&self) -> &judge::Profile {
        self.runner.judge().profile()
    }

    /// Runs one audit. None when the stop came first.
    ///
    /// # Errors
    /// When no audit of this kind can be run at all.
    pub(crate) async fn audit(&self, one: &One) -> Result<Option<Record>, Failure> {
        let sink = MemorySink::default();
        let began = Instant::now();
        let mut pauses = judge::delay::Delays::new(judge::delay::DelaySettings::default());
        let mut delivery = self.delivery(one);
        loop {
            let reason = match self.runner.run(delivery.clone(), &sink, &self.stop).await {
                Ok(Run::Ended(ending)) => {
                    let attempts = [sink.attempts_of(&one.key), ending.attempts.clone()].concat();
                    let record = Record::of_ending(&ending, &attempts, one.place.clone());
                    return Ok(Some(Record { model: self.judge().model().to_owned(), ..record }));
                }
                Ok(Run::Interrupted) => return Ok(None),
                Ok(Run::Parked { advance, reason, words }) => {
                    if !advance && began.elapsed() < PATIENCE && self.may_be_asked_later() {
                        self.pause(pauses.next_delay()).await;
                        if let Some((opening, attempts)) = sink.known(&one.key) {
                            delivery.opening = Some(opening);
                            delivery.attempts = attempts;
                        }
                        continue;
                    }
                    words.map_or(reason.clone(), |words| format!("{reason}: {words}"))
                }
                Ok(Run::Yielded) => "another run of the same audit is ahead".to_owned(),
                Err(error) => return Err(Failure::failed(chain(&error))),
            };
            return Ok(Some(self.unavailable(one, &sink.attempts_of(&one.key), reason)));
        }
    }

    fn delivery(&self, one: &One) -> Delivery {
        let project = self.settings.project(&one.key.project);
        Delivery {
            key: one.key.clone(),
            trace: Arc::clone(&one.record),
            opening: None,
            attempts: Vec::new(),
            first_seen: Utc::now(),
            reply_to: None,
            requirements: project.requirements,
            // Nobody waits at a desk for a file.
            routing: audit::routing::Policy {
                sample_passed: 0.0,
                sample_passed_high_risk: 0.0,
                ..project.routing.clone()
            },
            policy: self.settings.policy(one.key.kind),
            gate: None,
        }
    }

    /// Whether some judge only asks to slow down. One that cannot be reached, or whose configuration is wrong, is not
    /// waited for: whoever waits for a build wants to know now.
    fn may_be_asked_later(&self) -> bool {
        let is_gone = |judge: &judge::Judge| {
            matches!(
                judge.breaker().state(),
                BreakerState::Open { reason: OpenReason::Transport | OpenReason::Permanent, .. }
            )
        };
        !self.runner.judges().iter().all(is_gone)
    }

    async fn pause(&self, pause: Duration) {
        let judges: &Judges = self.runner.judges();
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = async {
                tokio::time::sleep(pause).await;
                let mut watch = judges.watch();
                while watch.now() == Availability::None {
                    watch.changed().await;
                }
            } => {}
        }
    }

    /// The record of an audit that a defect of ours has ended.
    pub(crate) fn broken(&self, one: &One, error: &tokio::task::JoinError) -> Record {
        self.unavailable(one, &[], format!("a defect of this program ended the audit: {error}"))
    }

    fn unavailable(&self, one: &One, attempts: &[Attempt], reason: String) -> Record {
        let trace = &one.record.trace;
        let record = Record::unjudged(&one.key, trace, one.place.clone(), Disposition::JudgeUnavailable);
        let version = self.prompt_version(one.key.kind).unwrap_or_default();
        Record {
            failure: Some(reason),
            model: self.judge().model().to_owned(),
            practice: self.judge().is_practice(),
            cost: Cost::of(attempts),
            ended_at: Utc::now(),
            ..record.by(&version, self.judge().name())
        }
    }
}
