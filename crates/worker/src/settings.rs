//! What a worker needs to know.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use ::audit::policy::Policy;
use durable::{Project, SpendSettings};
use queue::Lane;
use trace::Kind;

/// How a worker works.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long deliveries in work may go on after the stop.
    pub drain_deadline: Duration,
    /// Longer messages become dead letters before they are parsed, in bytes.
    pub max_message_bytes: usize,
    /// After this time without a judge an audit ends `judge_unavailable`.
    pub max_age: Duration,
    /// Queues with these prefixes may be answered to, besides `amq.*`.
    pub reply_to_prefixes: Vec<String>,
    /// Which lanes are consumed, and how widely.
    pub lanes: Lanes,
    /// How long one delivery may be in work before what it still wants is put off. A call that has begun ends.
    pub max_work: Duration,
    /// Where liveness, readiness and metrics are served; none for nowhere.
    pub health_listen: Option<SocketAddr>,
    /// The outbox relay.
    pub relay: RelaySettings,
    /// How calls are reserved under a cap.
    pub spend: SpendSettings,
    /// Retry policies that differ from the kind's own.
    pub policies: HashMap<Kind, Policy>,
    /// How often an audit of a kind is run, where that is not once; each run is an audit of its own.
    pub repeats: HashMap<Kind, u32>,
    /// Policies of named projects.
    pub projects: HashMap<String, Project>,
    /// The policy of all other projects.
    pub default_project: Project,
}

/// How many deliveries of each lane a worker has in work at once; a lane with 0 is left to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// `groundcrew.audit.urgent`
    pub urgent: u32,
    /// `groundcrew.audit.normal`
    pub normal: u32,
    /// `groundcrew.audit.bulk`
    pub bulk: u32,
}

impl Lanes {
    /// The number of one lane.
    pub fn of(&self, lane: Lane) -> u32 {
        match lane {
            Lane::Urgent => self.urgent,
            Lane::Normal => self.normal,
            Lane::Bulk => self.bulk,
        }
    }
}

/// How the outbox is published.
#[derive(Debug, Clone, Copy)]
pub struct RelaySettings {
    /// Rows per batch.
    pub batch: u32,
    /// How long a batch belongs to one relay; longer than the publish time-out.
    pub lease: Duration,
    /// How often the table is looked at when nothing hurries the relay.
    pub poll: Duration,
}

impl Settings {
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self {
            drain_deadline: Duration::from_secs(1),
            max_message_bytes: 1 << 20,
            max_age: Duration::from_secs(3600),
            reply_to_prefixes: Vec::new(),
            lanes: Lanes { urgent: 1, normal: 1, bulk: 1 },
            max_work: Duration::from_secs(600),
            health_listen: None,
            relay: RelaySettings { batch: 1, lease: Duration::from_secs(60), poll: Duration::from_secs(1) },
            policies: HashMap::new(),
            repeats: HashMap::new(),
            projects: HashMap::new(),
            default_project: Project::default(),
            spend: SpendSettings::default(),
        }
    }

    /// The policy of a project.
    pub fn project(&self, name: &str) -> &Project {
        self.projects.get(name).unwrap_or(&self.default_project)
    }

    /// How often an audit of the kind is run.
    pub fn repeats(&self, kind: Kind) -> u32 {
        self.repeats.get(&kind).copied().unwrap_or(1).max(1)
    }

    /// The retry policy of a kind.
    pub fn policy(&self, kind: Kind) -> Policy {
        self.policies.get(&kind).copied().unwrap_or_else(|| Policy::of(kind))
    }
}
