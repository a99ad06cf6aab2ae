//! Until when an item should be decided. Pure.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// How long after it was made an item is due, by the desk's order of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Of urgent items.
    pub urgent: Duration,
    /// Of critical ones that are not urgent.
    pub critical: Duration,
    /// Of major findings and failed audits.
    pub major: Duration,
    /// Of all others.
    pub other: Duration,
}

impl Default for Due {
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        Self { urgent: Duration::from_secs(1800), critical: hours(4), major: hours(24), other: hours(120) }
    }
}

impl Due {
    /// When an item of this rank is due.
    pub fn at(&self, rank: i16, created_at: DateTime<Utc>) -> DateTime<Utc> {
        let after = match rank {
            0 => self.urgent,
            1 => self.critical,
            2 => self.major,
            _ => self.other,
        };
        chrono::TimeDelta::from_std(after)
            .ok()
            .and_then(|after| created_at.checked_add_signed(after))
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_urgent_the_sooner() {
        let (due, now) = (Due::default(), DateTime::UNIX_EPOCH);
        assert!((0..3).all(|rank| due.at(rank, now) < due.at(rank + 1, now)));
        assert_eq!(due.at(0, now).timestamp(), 1800);
        let never = Due { other: Duration::MAX, ..due };
        assert_eq!(never.at(3, now), DateTime::<Utc>::MAX_UTC);
    }
}
