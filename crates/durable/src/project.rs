//! What a project asks for, whoever audits its traces.

use std::time::Duration;

use ::audit::spend::{Caps, OverCap};
use ::audit::{gate, routing};
use trace::{Kind, Requirements};

/// How calls of the judge are reserved for projects that have a cap.
#[derive(Debug, Clone, Copy)]
pub struct SpendSettings {
    /// Calls that are reserved at once, at least 1.
    pub block_calls: u64,
    /// How long a reservation holds after it was last renewed; longer than one call of the judge.
    pub reservation: Duration,
}

impl Default for SpendSettings {
    fn default() -> Self {
        Self { block_calls: 10, reservation: Duration::from_secs(900) }
    }
}

/// What a project asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// Audit kinds for traces that name none.
    pub audits: Vec<Kind>,
    /// Fields of the retrieval that may be missing.
    pub requirements: Requirements,
    /// Who has to see what.
    pub routing: routing::Policy,
    /// What callers of the gate are told to do.
    pub gate: gate::Policy,
    /// How many people's opinions end a review, at least 1.
    pub opinions: u16,
    /// Share of its traces that are audited, 0 to 1; see [`trace::sampling`].
    pub sample_rate: f64,
    /// Traces per minute that stay in their lane, in each process; 0 for all. The rest is moved to bulk.
    pub rate_per_minute: u32,
    /// What it may spend in one UTC day.
    pub caps: Caps,
    /// What becomes of audits beyond that.
    pub over_cap: OverCap,
}

impl Default for Project {
    fn default() -> Self {
        Self {
            audits: vec![Kind::Faithfulness],
            requirements: Requirements::default(),
            routing: routing::Policy::default(),
            gate: gate::Policy::default(),
            opinions: 1,
            sample_rate: 1.0,
            rate_per_minute: 0,
            caps: Caps::default(),
            over_cap: OverCap::default(),
        }
    }
}
