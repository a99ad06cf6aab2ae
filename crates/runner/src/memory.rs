//! A sink for audits without any service: attempts stay in the process.

use std::sync::Mutex;

use audit::record::{Attempt, AuditKey, Opening, TraceRecord};

use crate::{Kept, Sink, SinkError};

/// Keeps attempts in memory.
#[derive(Debug, Default)]
pub struct MemorySink(Mutex<Vec<(AuditKey, Attempt)>>);

impl MemorySink {
    /// Everything kept so far, in order.
    pub fn attempts(&self) -> Vec<(AuditKey, Attempt)> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Sink for MemorySink {
    async fn keep(
        &self,
        key: &AuditKey,
        _opening: &Opening,
        _trace: &TraceRecord,
        attempts: &[Attempt],
    ) -> Result<Kept, SinkError> {
        let mut kept = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        kept.extend(attempts.iter().map(|attempt| (key.clone(), attempt.clone())));
        Ok(Kept::Committed)
    }
}
