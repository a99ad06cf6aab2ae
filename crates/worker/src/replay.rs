//! Judging a stored trace again without the queue, as a worker would.

use ::audit::record::{AuditKey, TraceRecord};
use ::audit::routing::Disposition;
use chrono::Utc;
use runner::{Delivery, Run, RunError, Runner};
use store::{Finished, Store};
use tokio_util::sync::CancellationToken;
use trace::{Kind, Trace};

use crate::settings::Settings;
use durable::{Durable, GivenUp, Purses, persist};

/// What is to be judged again.
#[derive(Debug, Clone)]
pub struct Again {
    /// The trace.
    pub trace: Trace,
    /// The message as it came.
    pub payload: Vec<u8>,
    /// The audit kind.
    pub kind: Kind,
    /// The generation to make.
    pub generation: u32,
    /// The version of the prompt; none means the current one.
    pub prompt_version: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhatCame {
    /// It has ended.
    Ended(Disposition),
    /// Not now: the judge does not answer, a cap is reached, or somebody else is at it.
    NotNow(String),
    /// Somebody else has ended this generation.
    AlreadyEnded,
}

/// Why a trace could not be judged again.
#[derive(Debug, thiserror::Error)]
pub enum AgainError {
    /// The database failed for good, or the process has to stop.
    #[error(transparent)]
    Store(#[from] Box<dyn std::error::Error + Send + Sync>),
    /// The prompt is not known.
    #[error(transparent)]
    Prompt(#[from] ::audit::prompt::PromptError),
    /// The run could not go on.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Judges stored traces again in this process, under the projects' policies and caps.
#[derive(Debug)]
pub struct Replayer {
    settings: Settings,
    store: Store,
    runner: Runner,
    purses: Purses,
}

impl Replayer {
    /// With the judge of `runner`.
    pub fn new(settings: Settings, store: Store, runner: Runner) -> Self {
        let purses = Purses::new(settings.spend);
        Self { settings, store, runner, purses }
    }

    /// Judges one trace and commits the result. Nobody who asked in the past is answered again.
    ///
    /// # Errors
    /// [`AgainError`]; nothing is lost, and the same may be asked for again.
    pub async fn judge(&self, again: Again, stop: &CancellationToken) -> Result<WhatCame, AgainError> {
        let record = TraceRecord { trace: again.trace, payload: again.payload, received_at: Utc::now() };
        let project = self.settings.project(&record.trace.project);
        let key = AuditKey {
            project: record.trace.project.clone(),
            trace_id: record.trace.trace_id.clone(),
            content_hash: trace::content_hash(&record.trace),
            kind: again.kind,
            generation: again.generation,
            repeat: 0,
        };
        let found = persist("looking up an audit", stop, || self.store.lookup(key.clone())).await;
        let (opening, attempts) = match found.map_err(given_up)?.known {
            ::audit::record::Known::Ended { .. } => return Ok(WhatCame::AlreadyEnded),
            ::audit::record::Known::Open { opening, attempts } => (Some(opening), attempts),
            ::audit::record::Known::New => {
                let version = again.prompt_version.as_deref();
                let opening = version.map(|version| self.runner.opening(again.kind, version, &record));
                (opening.transpose()?, Vec::new())
            }
        };
        let delivery = Delivery {
            key,
            trace: record,
            opening,
            attempts,
            first_seen: Utc::now(),
            reply_to: None,
            requirements: project.requirements,
            routing: project.routing.clone(),
            policy: self.settings.policy(again.kind),
            gate: None,
        };
        let sink = Durable::new(&self.store, &self.purses, project, stop);
        match self.runner.run(delivery, &sink, stop).await? {
            Run::Ended(ending) => {
                let finished =
                    persist("committing an audit", stop, || self.store.finish((*ending).clone())).await;
                Ok(match finished.map_err(given_up)? {
                    Finished::Committed => WhatCame::Ended(ending.routed.disposition),
                    Finished::AlreadyEnded => WhatCame::AlreadyEnded,
                    Finished::LostRace => WhatCame::NotNow("another worker is ahead with this audit".into()),
                })
            }
            Run::Parked { reason, .. } => Ok(WhatCame::NotNow(reason)),
            Run::Yielded => Ok(WhatCame::NotNow("another worker is ahead with this audit".into())),
            Run::Interrupted => Ok(WhatCame::NotNow("stopped".into())),
        }
    }

    /// Gives back what it holds, and closes the store.
    pub async fn close(self) {
        // What is not given back is free for others when it expires.
        let _ = self.store.return_reservations().await;
        self.store.close().await;
    }
}

fn given_up(error: GivenUp) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(error)
}
