use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The exchanges. Their names are a contract with producers and with operators' dashboards.
pub mod exchange {
    /// Where traces are published; topic, one routing key per [`super::Lane`].
    pub const TRACES: &str = "groundcrew.traces";
    /// Takes what no queue of [`TRACES`] wanted, for instance a misspelt routing key.
    pub const UNROUTABLE: &str = "groundcrew.unroutable";
    /// Takes what a queue gave up on.
    pub const DEAD: &str = "groundcrew.dead";
    /// Where results are announced; topic, the event's name is the routing key.
    pub const RESULTS: &str = "groundcrew.results";
    /// Each retry tier is a fanout exchange named by this prefix and its delay, see [`super::tier_name`].
    pub const RETRY_PREFIX: &str = "groundcrew.retry.";
}

/// The queues that are not derived from a [`Lane`] or from a retry tier.
pub mod queue {
    /// Everything that was given up on; drained into Postgres.
    pub const DEAD: &str = "groundcrew.dead";
    /// Announcements of review items, for whoever wants to be told.
    pub const REVIEW: &str = "groundcrew.review";
}

/// How soon a trace is wanted. Each lane has a queue of its own, so that bulk never stands before urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Somebody waits for the verdict.
    Urgent,
    /// The default.
    Normal,
    /// Backfills and other loads without a deadline.
    Bulk,
}

impl Lane {
    /// All lanes, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Urgent, Self::Normal, Self::Bulk];

    /// The routing key on [`exchange::TRACES`].
    #[must_use]
    pub const fn routing_key(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Normal => "normal",
            Self::Bulk => "bulk",
        }
    }

    /// The queue that holds this lane's traces.
    #[must_use]
    pub const fn queue(self) -> &'static str {
        match self {
            Self::Urgent => "groundcrew.audit.urgent",
            Self::Normal => "groundcrew.audit.normal",
            Self::Bulk => "groundcrew.audit.bulk",
        }
    }

    /// The lane whose queue has this name.
    #[must_use]
    pub fn of_queue(queue: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.queue() == queue)
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.routing_key())
    }
}

/// The text was no lane: expected `urgent`, `normal` or `bulk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown lane, expected urgent, normal or bulk")]
pub struct UnknownLane;

impl FromStr for Lane {
    type Err = UnknownLane;

    fn from_str(text: &str) -> Result<Self, UnknownLane> {
        Self::ALL.into_iter().find(|lane| lane.routing_key() == text).ok_or(UnknownLane)
    }
}

/// What a [`crate::Consumer`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The traces of one lane.
    Lane(Lane),
    /// [`queue::DEAD`].
    Dead,
    /// [`queue::REVIEW`].
    Review,
}

impl Source {
    /// The name of the queue.
    #[must_use]
    pub const fn queue(self) -> &'static str {
        match self {
            Self::Lane(lane) => lane.queue(),
            Self::Dead => queue::DEAD,
            Self::Review => queue::REVIEW,
        }
    }
}

/// The exchange and the queue of a retry tier, both of this name: `groundcrew.retry.30s`, `.2m`, `.1h`.
///
/// The delay is written in the largest unit that divides it; two different delays never share a name.
#[must_use]
pub fn tier_name(delay: Duration) -> String {
    let ms = delay.as_millis();
    let (value, unit) = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")]
        .into_iter()
        .find(|(size, _)| ms > 0 && ms.is_multiple_of(*size))
        .map_or((ms, "ms"), |(size, unit)| (ms / size, unit));
    format!("{}{value}{unit}", exchange::RETRY_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_named_in_the_largest_unit_that_divides_them() {
        let name = |ms| tier_name(Duration::from_millis(ms));
        assert_eq!(name(30_000), "groundcrew.retry.30s");
        assert_eq!(name(120_000), "groundcrew.retry.2m");
        assert_eq!(name(600_000), "groundcrew.retry.10m");
        assert_eq!(name(3_600_000), "groundcrew.retry.1h");
        assert_eq!(name(90_000), "groundcrew.retry.90s");
        assert_eq!(name(5_400_000), "groundcrew.retry.90m");
        assert_eq!(name(250), "groundcrew.retry.250ms");
        assert_eq!(name(1_001), "groundcrew.retry.1001ms");
    }

    #[test]
    fn a_lane_is_found_by_its_key_and_by_its_queue() {
        for lane in Lane::ALL {
            assert_eq!(lane.routing_key().parse(), Ok(lane));
            assert_eq!(Lane::of_queue(lane.queue()), Some(lane));
            assert!(lane.queue().ends_with(lane.routing_key()));
        }
        assert_eq!("Urgent".parse::<Lane>(), Err(UnknownLane));
        assert_eq!(Lane::of_queue(queue::DEAD), None);
    }
}
