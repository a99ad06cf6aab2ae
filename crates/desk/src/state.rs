//! What every request shares.

use std::sync::Arc;

use durable::Purses;
use figures::Figures;
use runner::Runner;
use store::Store;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::{Failures, Refused, Tokens};
use crate::settings::Settings;

/// The desk, for its handlers. Clones share everything.
#[derive(Debug, Clone)]
pub struct Desk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    store: Store,
    runner: Runner,
    tokens: Tokens,
    failures: Failures,
    refused: Refused,
    purses: Purses,
    figures: Figures,
    calls: Arc<Semaphore>,
    tasks: TaskTracker,
    abort: CancellationToken,
    database: watch::Sender<Result<(), String>>,
}

impl Desk {
    pub(crate) fn new(settings: Settings, store: Store, runner: Runner) -> Self {
        Self(Arc::new(Inner {
            tokens: Tokens::new(store.clone()),
            failures: Failures::default(),
            refused: Refused::default(),
            purses: Purses::new(settings.spend),
            calls: Arc::new(Semaphore::new(settings.gate.max_calls)),
            settings,
            store,
            runner,
            figures: Figures::install(),
            tasks: TaskTracker::new(),
            abort: CancellationToken::new(),
            database: watch::Sender::new(Err("was not asked yet".to_owned())),
        }))
    }

    /// How it works.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Postgres.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn runner(&self) -> &Runner {
        &self.0.runner
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    pub(crate) fn failures(&self) -> &Failures {
        &self.0.failures
    }

    /// Which refusals are still kept.
    pub(crate) fn refused(&self) -> &Refused {
        &self.0.refused
    }

    pub(crate) fn purses(&self) -> &Purses {
        &self.0.purses
    }

    pub(crate) fn figures(&self) -> &Figures {
        &self.0.figures
    }

    /// Places for calls of the gate.
    pub(crate) fn calls(&self) -> &Arc<Semaphore> {
        &self.0.calls
    }

    /// What goes on when the request that began it is gone. The desk ends after it.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// Cancelled when nothing may be waited for any longer.
    pub(crate) fn abort(&self) -> &CancellationToken {
        &self.0.abort
    }

    /// Whether the database answered when it was last asked.
    pub(crate) fn database(&self) -> &watch::Sender<Result<(), String>> {
        &self.0.database
    }
}
