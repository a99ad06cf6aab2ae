//! The loop: derive what comes next, do it, keep it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use audit::policy::Policy;
use audit::prompt::{self, Library, Prompt, PromptError};
use audit::record::{Attempt, AuditKey, Ending, GateCall, Opening, TraceRecord};
use audit::routing::{self, Disposition, Routed};
use audit::units::Cut;
use audit::{gate, kinds};
use chrono::{DateTime, Utc};
use judge::{Judge, Judges, Urgency};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trace::completeness;
use trace::{Kind, Readiness, Requirements};

use crate::calibration::Calibration;
use crate::end::End;
use crate::session::Session;
use crate::{Sink, SinkError};

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
    /// The call of the gate that this is, if somebody waits for what to do with the answer.
    pub gate: Option<GateAsked>,
}

/// A call of the gate, and what its project says about it.
#[derive(Debug, Clone)]
pub struct GateAsked {
    /// The call.
    pub call: GateCall,
    /// The project's policy.
    pub policy: gate::Policy,
    /// How the answer is cut, where that is not as for other audits.
    pub cut: Option<Cut>,
    /// What is wrong with the call itself: it ends `incomplete` then.
    pub problems: Vec<trace::Problem>,
}

/// How soon a run is wanted, and how long it may take.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Before or after which other calls the judge is asked.
    pub urgency: Urgency,
    /// No call of the judge begins after this time: the run is handed back, with what it has. None for no limit.
    pub until: Option<Instant>,
    /// Cancelled when nobody wants this run any more: no call of the judge begins after that. One that has begun ends,
    /// since it is paid for, and is kept; then the run is [`Run::Interrupted`], unless that was its last call.
    pub withdrawn: CancellationToken,
    /// Whether somebody waits for the end: then the audit is neither parked nor handed back. What cannot be judged now
    /// ends `judge_unavailable`, and so does what is stopped, with the call that was cut off among its attempts.
    pub is_waited_for: bool,
    /// Units that may be asked about at once; 0 counts as 1.
    pub parallel: usize,
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
        /// What the judge's provider says about it. It may repeat what it was asked: not for the log.
        words: Option<String>,
    },
    /// Another worker is ahead with this audit: read again what is known.
    Yielded,
    /// The stop token was cancelled, or the run was withdrawn; nothing uncommitted is lost.
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
    pub(crate) judges: Judges,
    pub(crate) settings: Settings,
    /// By model that was asked for: the one that last answered, when it was another.
    other_models: Arc<Mutex<BTreeMap<String, String>>>,
    pub(crate) calibration: Calibration,
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

    /// How answers are cut unless a delivery says otherwise.
    pub fn cut(&self) -> Cut {
        self.settings.cut
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
        let opening = delivery.opening.take().unwrap_or_else(|| {
            let cut = delivery.gate.as_ref().and_then(|asked| asked.cut).unwrap_or(self.settings.cut);
            Opening { cut: Some(cut), ..self.open(prompt, &delivery.trace) }
        });
        let end = End {
            delivery: &delivery,
            opening: &opening,
            runner: self,
            judged_for: Duration::ZERO,
            regenerations: None,
        };
        let unjudged = |disposition, problems| {
            let ending = end.unjudged(Routed::unjudged(disposition), Vec::new(), problems, json!({}));
            Ok(Run::Ended(Box::new(ending)))
        };
        let mut wrong = delivery.gate.as_ref().map(|asked| asked.problems.clone()).unwrap_or_default();
        let prepared =
            match completeness::check(&delivery.trace.trace, delivery.key.kind, &delivery.requirements) {
                Readiness::Incomplete(problems) => {
                    wrong.extend(problems);
                    return unjudged(Disposition::Incomplete, wrong);
                }
                _ if !wrong.is_empty() => return unjudged(Disposition::Incomplete, wrong),
                Readiness::Complete(prepared) => prepared,
                Readiness::NotApplicable(why) => {
                    return unjudged(Disposition::NotApplicable, vec![trace::Problem::new("$", why)]);
                }
            };
        if let Some(report) = (spec.decide_by_rule)(&prepared.trace) {
            return Ok(Run::Ended(Box::new(end.judged(spec, &prepared, report, Vec::new()))));
        }
        let session = Session {
            runner: self,
            spec,
            delivery: &delivery,
            opening: &opening,
            prompt,
            prepared: &prepared,
            terms,
            judged_for: Duration::ZERO,
            regenerations: None,
        };
        session.run(sink, stop).await
    }

    /// A pinned model that answers under another name means that verdicts are not comparable. Said once per name.
    pub(crate) fn warn_about_model(&self, attempt: &Attempt) {
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
            nonce: prompt::choose_nonce(prompt, &record.trace, candidates).unwrap_or_default(),
            cut: Some(self.settings.cut),
            opened_at: Utc::now(),
        }
    }
}
