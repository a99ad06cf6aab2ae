//! How far a run is, while it runs. Drawn on standard error and only if that is a terminal.

use std::time::Instant;

use audit::Verdict;
use indicatif::ProgressBar;
use outcomes::Tally;

use crate::output;

/// The progress bar of a run.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
}

impl Progress {
    /// A bar over this many bytes; without a known end it only counts.
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self { bar: output::audits(total), began: Instant::now() }
    }

    /// Shows where the run is.
    pub(crate) fn update(&self, read: u64, tally: &Tally) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_position(read);
        self.bar.set_message(message(tally, self.began.elapsed().as_secs_f64()));
    }

    /// Writes something that must not be drawn over.
    pub(crate) fn above(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn message(tally: &Tally, seconds: f64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate with one digit")]
    let rate = (tally.audits - tally.resumed) as f64 / seconds.max(0.001);
    let cost =
        if tally.cost.micros.is_empty() { String::new() } else { format!(", {}", tally.cost.in_words()) };
    // What a narrow terminal cuts off stands last.
    format!(
        "{} audits, {rate:.1}/s{cost}: {} contradicted, {} unsupported, {} unclear, {} grounded",
        tally.audits,
        tally.verdict(Verdict::Contradicted),
        tally.verdict(Verdict::Unsupported),
        tally.verdict(Verdict::InsufficientEvidence),
        tally.verdict(Verdict::Grounded),
    )
}
