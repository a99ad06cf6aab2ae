//! Which prompts there are.

use std::sync::Arc;

use trace::Kind;

use super::{Prompt, PromptError};
use crate::kinds;

/// Every prompt that can be used, and which one of each kind new audits get.
#[derive(Debug, Clone)]
pub struct Library {
    prompts: Vec<Arc<Prompt>>,
}

impl Library {
    /// The prompts in the binary.
    ///
    /// # Errors
    /// A defect of an embedded file.
    pub fn embedded() -> Result<Self, PromptError> {
        let files = kinds::ALL.iter().flat_map(|spec| spec.prompts);
        let prompts = files.map(|source| Prompt::parse(source.0).map(Arc::new));
        Ok(Self { prompts: prompts.collect::<Result<_, _>>()? })
    }

    /// Adds a prompt. From now on new audits of its kind get it.
    ///
    /// # Errors
    /// [`PromptError::Twice`] when another prompt has its version.
    pub fn add(&mut self, prompt: Prompt) -> Result<(), PromptError> {
        let is_same = |known: &Arc<Prompt>| known.version == prompt.version;
        if self.prompts.iter().any(|known| is_same(known) && known.hash != prompt.hash) {
            return Err(PromptError::Twice(prompt.version));
        }
        self.prompts.retain(|known| !is_same(known));
        self.prompts.push(Arc::new(prompt));
        Ok(())
    }

    /// The prompt that new audits of a kind get: the one that was added last.
    ///
    /// # Errors
    /// [`PromptError::Unknown`] when the kind has none.
    pub fn current(&self, kind: Kind) -> Result<&Arc<Prompt>, PromptError> {
        self.of_kind(kind).last().ok_or_else(|| PromptError::Unknown { kind, version: "any".to_owned() })
    }

    /// The prompt of that version: an open audit keeps its own across deploys.
    ///
    /// # Errors
    /// [`PromptError::Unknown`] when it is not known.
    pub fn of_version(&self, kind: Kind, version: &str) -> Result<&Arc<Prompt>, PromptError> {
        self.of_kind(kind)
            .find(|prompt| prompt.version == version)
            .ok_or_else(|| PromptError::Unknown { kind, version: version.to_owned() })
    }

    /// The prompts of a kind, oldest first.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Arc<Prompt>> {
        self.prompts.iter().filter(move |prompt| prompt.kind == kind)
    }
}
