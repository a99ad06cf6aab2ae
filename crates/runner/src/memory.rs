//! A sink for audits without any service: attempts stay in the process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use audit::record::{Attempt, AuditKey, Opening, TraceRecord};

use crate::{Kept, Sink, SinkError};

/// Keeps attempts in memory.
#[derive(Debug, Default)]
pub struct MemorySink(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    attempts: Vec<(AuditKey, Attempt)>,
    openings: Vec<(AuditKey, Opening)>,
}

impl MemorySink {
    /// Everything kept so far, in order.
    pub fn attempts(&self) -> Vec<(AuditKey, Attempt)> {
        self.lock().attempts.clone()
    }

    /// Everything kept of one audit, in order.
    pub fn attempts_of(&self, key: &AuditKey) -> Vec<Attempt> {
        let memory = self.lock();
        memory.attempts.iter().filter(|(of, _)| of == key).map(|(_, attempt)| attempt.clone()).collect()
    }

    /// What a run of this audit needs in order to go on; none when nothing was kept of it.
    pub fn known(&self, key: &AuditKey) -> Option<(Opening, Vec<Attempt>)> {
        let opening =
            self.lock().openings.iter().find(|(of, _)| of == key).map(|(_, opening)| opening.clone())?;
        Some((opening, self.attempts_of(key)))
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for MemorySink {
    async fn keep(
        &self,
        key: &AuditKey,
        opening: &Opening,
        _trace: &TraceRecord,
        attempts: &[Attempt],
    ) -> Result<Kept, SinkError> {
        let mut memory = self.lock();
        memory.attempts.extend(attempts.iter().map(|attempt| (key.clone(), attempt.clone())));
        if memory.openings.iter().all(|(of, _)| of != key) {
            memory.openings.push((key.clone(), opening.clone()));
        }
        Ok(Kept::Committed)
    }
}
