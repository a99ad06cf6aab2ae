//! Whether deliveries are taken, and how many: decided in one place for all lanes.

use judge::{Availability, Judges};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What the lanes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Take as many deliveries as may be in work.
    Full,
    /// Take one each: the judge's breaker wants to find out, and what else was taken would only wait for it.
    Probe,
    /// Take none, since no judge may be asked.
    JudgeUnavailable,
    /// Take none, since an operator said so.
    Paused,
}

impl Flow {
    /// The word that is stored and shown.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Probe => "probe",
            Self::JudgeUnavailable => "judge_unavailable",
            Self::Paused => "paused",
        }
    }

    /// Whether any deliveries are taken.
    pub(crate) const fn takes(self) -> bool {
        matches!(self, Self::Full | Self::Probe)
    }

    const fn of(judges: Availability, paused: bool) -> Self {
        match (paused, judges) {
            (true, _) => Self::Paused,
            (false, Availability::Full) => Self::Full,
            (false, Availability::Probe) => Self::Probe,
            (false, Availability::None) => Self::JudgeUnavailable,
        }
    }
}

/// Follows the judges and the operator until the stop.
pub(crate) async fn keep(
    judges: &Judges,
    mut paused: watch::Receiver<bool>,
    flow: &watch::Sender<Flow>,
    stop: &CancellationToken,
) {
    let mut availability = judges.watch();
    let mut before = Flow::Full;
    loop {
        let now = Flow::of(availability.now(), *paused.borrow_and_update());
        flow.send_replace(now);
        if before != now {
            tell(before, now);
            before = now;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = availability.changed() => {}
            changed = paused.changed() => if changed.is_err() { return },
        }
    }
}

fn tell(before: Flow, now: Flow) {
    match now {
        Flow::JudgeUnavailable if before != Flow::Probe => {
            tracing::warn!("no judge can be asked; consuming pauses and messages stay in their queues");
        }
        Flow::Paused => tracing::info!("the fleet is paused by an operator; consuming stops"),
        Flow::Full => tracing::info!("consuming goes on"),
        Flow::Probe | Flow::JudgeUnavailable => tracing::debug!(flow = now.as_str(), "consuming changes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_goes_before_the_judges() {
        for judges in [Availability::None, Availability::Probe, Availability::Full] {
            assert_eq!(Flow::of(judges, true), Flow::Paused);
            assert_eq!(Flow::of(judges, false).takes(), judges != Availability::None);
        }
    }
}
