//! The sink of a gate call: as any other's, and its audit is open from the first call of the judge on, so that who looks
//! for calls that were cut off finds it.

use std::sync::atomic::{AtomicBool, Ordering};

use audit::gate::Regenerations;
use audit::record::{Attempt, AuditKey, GateCall, Opening, TraceRecord};
use durable::{Durable, persist};
use runner::{Allowance, Kept, Sink, SinkError};
use store::{GateClaim, Store};
use tokio_util::sync::CancellationToken;

/// Claims the call before its audit is opened, so that an open audit of a killed process is found by its call.
#[derive(Debug)]
pub(crate) struct GateSink<'a> {
    pub(crate) durable: Durable<'a>,
    pub(crate) store: &'a Store,
    pub(crate) abort: &'a CancellationToken,
    pub(crate) claim: GateClaim,
    pub(crate) is_claimed: AtomicBool,
}

impl Sink for GateSink<'_> {
    async fn keep(
        &self,
        key: &AuditKey,
        opening: &Opening,
        trace: &TraceRecord,
        attempts: &[Attempt],
    ) -> Result<Kept, SinkError> {
        if !self.is_claimed.load(Ordering::Relaxed) {
            let claim =
                persist("claiming a call", self.abort, || self.store.claim_gate_call(self.claim.clone()));
            claim.await.map_err(|error| SinkError(Box::new(error)))?;
            self.is_claimed.store(true, Ordering::Relaxed);
        }
        self.durable.keep(key, opening, trace, attempts).await
    }

    async fn opened(
        &self,
        key: &AuditKey,
        opening: &Opening,
        trace: &TraceRecord,
    ) -> Result<Kept, SinkError> {
        let claim = (!self.is_claimed.swap(true, Ordering::Relaxed)).then_some(&self.claim);
        let open = || self.store.open_gate_audit(claim, key, opening, trace);
        match persist("opening the audit of a call", self.abort, open).await {
            Ok(store::Kept::Committed) => Ok(Kept::Committed),
            Ok(store::Kept::LostRace) => Ok(Kept::LostRace),
            Err(error) => Err(SinkError(Box::new(error))),
        }
    }

    async fn regenerations(&self, key: &AuditKey, call: &GateCall) -> Result<Regenerations, SinkError> {
        self.durable.regenerations(key, call).await
    }

    async fn allow(&self, key: &AuditKey) -> Result<Allowance, SinkError> {
        self.durable.allow(key).await
    }

    async fn not_asked(&self, key: &AuditKey) {
        self.durable.not_asked(key).await;
    }
}
