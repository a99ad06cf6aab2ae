//! For which audits it is known how far their judge agrees with people.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use trace::Kind;

/// Kinds, prompt versions and judge profiles with a golden run on record. Clones share what is known.
#[derive(Debug, Clone, Default)]
pub struct Calibration(Arc<RwLock<HashSet<(Kind, String, String)>>>);

impl Calibration {
    /// Takes over what is on record now; what was known before is forgotten.
    pub fn replace(&self, known: impl IntoIterator<Item = (Kind, String, String)>) {
        let known = known.into_iter().collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Whether a golden run is on record.
    pub fn holds(&self, kind: Kind, prompt_version: &str, judge: &str) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.contains(&(kind, prompt_version.to_owned(), judge.to_owned()))
    }
}
