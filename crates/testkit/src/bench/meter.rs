//! What a process has used, as the kernel counts it.

use std::fmt;
use std::time::Duration;

/// One measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    /// Audits that ended, or messages that a floor settled.
    pub count: usize,
    /// From the first to the last of them.
    pub took: Duration,
    /// CPU time of the measured processes.
    pub cpu: Duration,
    /// The greatest resident memory of one of them, in KiB.
    pub peak_kib: u64,
    /// The most calls that the judge had open at once, where that was looked at.
    pub in_flight: Option<u64>,
}

impl Measured {
    /// How many in a second.
    pub fn rate(&self) -> f64 {
        count(self.count) / self.took.as_secs_f64().max(0.001)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu_ms = self.cpu.as_secs_f64() * 1000.0 / count(self.count).max(1.0);
        write!(
            formatter,
            "{:>6.0} audits per second, {cpu_ms:.2} ms of CPU per audit, peak memory {} MiB",
            self.rate(),
            self.peak_kib / 1024
        )?;
        match self.in_flight {
            Some(most) => write!(formatter, ", at most {most} in flight"),
            None => Ok(()),
        }
    }
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

/// CPU time (user and system) and greatest resident memory of a process; none when it is gone.
pub(super) fn used(process: u32) -> Option<(Duration, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the name in brackets, and may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib = peak.split_whitespace().next()?.parse().ok()?;
    // Linux reports in ticks of 10 ms on every architecture that this runs on.
    Some((Duration::from_millis(ticks * 10), kib))
}
