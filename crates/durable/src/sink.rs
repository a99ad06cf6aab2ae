//! The sink of audits that end in Postgres.

use std::sync::atomic::{AtomicBool, Ordering};

use audit::gate::Regenerations;
use audit::record::{Attempt, AuditKey, GateCall, Opening, TraceRecord};
use audit::spend::OverCap;
use runner::{Allowance, Kept, Sink, SinkError};
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::patience::persist;
use crate::project::Project;
use crate::spend::{Permit, Purses};

/// Keeps attempts in Postgres, through outages, and holds the project to its caps.
#[derive(Debug)]
pub struct Durable<'a> {
    store: &'a Store,
    purses: &'a Purses,
    project: &'a Project,
    abort: &'a CancellationToken,
    withdrawn: Option<&'a CancellationToken>,
    /// Whether a cap put the audit off.
    deferred: AtomicBool,
}

impl<'a> Durable<'a> {
    /// A sink for the audits of one project. `abort` ends its waiting for a database that does not answer.
    pub fn new(
        store: &'a Store,
        purses: &'a Purses,
        project: &'a Project,
        abort: &'a CancellationToken,
    ) -> Self {
        Self { store, purses, project, abort, withdrawn: None, deferred: AtomicBool::new(false) }
    }

    /// The same for a run that may be withdrawn: then it waits for no further call either.
    #[must_use]
    pub fn unless(self, withdrawn: &'a CancellationToken) -> Self {
        Self { withdrawn: Some(withdrawn), ..self }
    }

    /// Whether a cap put the audit off.
    pub fn is_deferred(&self) -> bool {
        self.deferred.load(Ordering::Relaxed)
    }
}

impl Sink for Durable<'_> {
    async fn keep(
        &self,
        key: &AuditKey,
        opening: &Opening,
        trace: &TraceRecord,
        attempts: &[Attempt],
    ) -> Result<Kept, SinkError> {
        let kept = persist("keeping attempts", self.abort, || self.store.keep(key, opening, trace, attempts));
        match kept.await {
            Ok(store::Kept::Committed) => Ok(Kept::Committed),
            Ok(store::Kept::LostRace) => Ok(Kept::LostRace),
            Err(error) => Err(SinkError(Box::new(error))),
        }
    }

    async fn regenerations(&self, key: &AuditKey, call: &GateCall) -> Result<Regenerations, SinkError> {
        let Some(session) = &call.session else { return Ok(call.regenerations.into()) };
        let ask = || self.store.session_regenerations(&key.project, session, &call.earlier);
        let asked = persist("asking for a session", self.abort, ask);
        asked.await.map_err(|error| SinkError(Box::new(error)))
    }

    async fn allow(&self, key: &AuditKey) -> Result<Allowance, SinkError> {
        let stop = self.withdrawn.unwrap_or(self.abort);
        match self.purses.take(self.store, &key.project, self.project, stop).await {
            Ok(Permit::Granted) => Ok(Allowance::Granted),
            Ok(Permit::Refused(limit)) => {
                let reason = format!("the project is over its cap: {}", limit.in_words());
                Ok(match self.project.over_cap {
                    OverCap::OverBudget => Allowance::OverBudget { reason },
                    OverCap::Defer => {
                        self.deferred.store(true, Ordering::Relaxed);
                        Allowance::Deferred { reason }
                    }
                })
            }
            Err(error) => Err(SinkError(Box::new(error))),
        }
    }

    async fn not_asked(&self, key: &AuditKey) {
        self.purses.put_back(&key.project, self.project).await;
    }
}
