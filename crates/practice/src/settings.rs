//! How the practice judge behaves.

use crate::{canned::Canned, faults::Faults};

/// How the practice judge behaves. The default answers honestly and at once.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Decides, with the trace id and the number of the call, all that looks random.
    pub seed: u64,
    /// Which faults, and how often.
    pub faults: Faults,
    /// How long every reply takes at least, in milliseconds.
    pub latency_ms: u64,
    /// How much longer it may take, in milliseconds; evenly spread.
    pub latency_spread_ms: u64,
    /// Fixed replies for single traces. They are given as they are: faults by rate do not touch them.
    pub canned: Canned,
    /// One fixed content for every other trace, given without reading the question.
    pub canned_default: Option<String>,
}
