//! What the desk needs to know.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use ::audit::policy::Policy;
use durable::{Project, SpendSettings};
use trace::Kind;

use crate::access::Logins;
use crate::review::ReviewSettings;

pub use ::audit::gate::WhenUnknown;

/// How the desk works.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// How people and programs say who they are.
    pub logins: Logins,
    /// Longer bodies are refused, in bytes.
    pub max_body_bytes: usize,
    /// How long requests that have begun may go on after the stop.
    pub drain_deadline: Duration,
    /// The gate.
    pub gate: GateSettings,
    /// Reviews.
    pub review: ReviewSettings,
    /// How calls of the judge are reserved under a cap.
    pub spend: SpendSettings,
    /// Retry policies that differ from the kind's own.
    pub policies: HashMap<Kind, Policy>,
    /// Policies of named projects.
    pub projects: HashMap<String, Project>,
    /// The policy of all other projects.
    pub default_project: Project,
}

/// How the gate works, for all projects.
#[derive(Debug, Clone, Copy)]
pub struct GateSettings {
    /// Calls in work at once; further ones are refused with 429.
    pub max_calls: usize,
    /// How long a caller waits that does not say so.
    pub deadline: Duration,
    /// The longest deadline that a caller may ask for.
    pub max_deadline: Duration,
    /// Calls of the judge that one gate call may have in flight, where the answer is checked in parts.
    pub parallel: usize,
    /// How many characters of the answer one call of the judge covers in the per-claim mode, at least one sentence.
    pub part_chars: usize,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            max_calls: 200,
            deadline: Duration::from_secs(20),
            max_deadline: Duration::from_secs(120),
            parallel: 8,
            part_chars: 200,
        }
    }
}

impl Settings {
    /// The policy of a project.
    pub fn project(&self, name: &str) -> &Project {
        self.projects.get(name).unwrap_or(&self.default_project)
    }

    /// The retry policy of a kind.
    pub fn policy(&self, kind: Kind) -> Policy {
        self.policies.get(&kind).copied().unwrap_or_else(|| Policy::of(kind))
    }
}
