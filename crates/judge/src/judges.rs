//! Judges that stand in for one another.

use std::sync::Arc;

use futures_util::future::select_all;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{
    breaker::BreakerState,
    judge::{Judge, JudgeSetupError},
};

/// The judges that may be asked, in the order of the configuration. Clones are cheap and share the judges.
///
/// The first one is the judge of every audit; the others are asked while it cannot be used.
#[derive(Debug, Clone)]
pub struct Judges {
    order: Arc<[Judge]>,
}

/// Whose turn it is, within one run of one audit.
#[derive(Debug)]
pub struct Turn<'a> {
    judges: &'a Judges,
    at: usize,
}

impl Judges {
    /// Puts judges into their order.
    ///
    /// # Errors
    /// When two judges have one name, so that attempts could not be told apart, or when the practice judge and
    /// one with a model would stand in for each other, so that a result could not say which it is.
    pub fn new(first: Judge, fallback: Vec<Judge>) -> Result<Judges, JudgeSetupError> {
        let practice = first.profile().is_practice();
        let mut order = vec![first];
        for judge in fallback {
            let wrong = |problem| Err(JudgeSetupError::Order { judge: judge.name().to_owned(), problem });
            if order.iter().any(|before| before.name() == judge.name()) {
                return wrong("stands in the order twice");
            }
            if judge.profile().is_practice() != practice {
                return wrong(
                    "cannot stand in: the practice judge and one with a model never do for each other",
                );
            }
            order.push(judge);
        }
        Ok(Judges { order: order.into() })
    }

    /// The first judge.
    pub fn first(&self) -> &Judge {
        &self.order[0]
    }

    /// All judges, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Judge> {
        self.order.iter()
    }

    /// The turn of the first judge that would not refuse a question now; of the first one when all would.
    pub fn turn(&self) -> Turn<'_> {
        let at = self.order.iter().position(|judge| !judge.is_open()).unwrap_or(0);
        Turn { judges: self, at }
    }

    /// Whether any of them may be asked.
    pub fn availability(&self) -> Availability {
        let now = Instant::now();
        let states = self.iter().map(|judge| judge.breaker().state());
        states.map(|state| Availability::of(state, now)).max().unwrap_or(Availability::None)
    }

    /// Whether any of them may be asked, and how that changes.
    pub fn watch(&self) -> Watch {
        let changes = self.iter().map(Judge::watch_breaker).collect();
        Watch { judges: self.clone(), changes }
    }
}

/// Whether some judge may be asked; the best of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Availability {
    /// Every breaker is open.
    None,
    /// A single call, the probe, may find out, or is finding out.
    Probe,
    /// Calls go through.
    Full,
}

impl Availability {
    fn of(state: BreakerState, now: Instant) -> Self {
        match state {
            BreakerState::Closed => Self::Full,
            BreakerState::HalfOpen => Self::Probe,
            BreakerState::Open { until, .. } if until <= now => Self::Probe,
            BreakerState::Open { .. } => Self::None,
        }
    }
}

/// Follows the breakers of all judges.
#[derive(Debug)]
pub struct Watch {
    judges: Judges,
    changes: Vec<watch::Receiver<BreakerState>>,
}

impl Watch {
    /// How it is now.
    pub fn now(&self) -> Availability {
        self.judges.availability()
    }

    /// Waits until it may have changed: a breaker changed its state, or the time of one is over. May be dropped at
    /// any time.
    pub async fn changed(&mut self) {
        let now = Instant::now();
        let over = self.judges.iter().filter_map(|judge| match judge.breaker().state() {
            BreakerState::Open { until, .. } if until > now => Some(until),
            _ => None,
        });
        let over = over.min();
        let changed = self.changes.iter_mut().map(|receiver| Box::pin(receiver.changed()));
        tokio::select! {
            _ = select_all(changed) => {}
            () = async { sleep_until(over.unwrap_or(now)).await }, if over.is_some() => {}
        }
    }
}

impl From<Judge> for Judges {
    /// A judge for whom nobody stands in.
    fn from(judge: Judge) -> Judges {
        Judges { order: [judge].into() }
    }
}

impl<'a> Turn<'a> {
    /// The judge whose turn it is.
    pub fn judge(&self) -> &'a Judge {
        &self.judges.order[self.at]
    }

    /// Passes the turn on to the next judge that would not refuse a question now. False when there is none; the
    /// turn stays where it was then.
    pub fn pass_on(&mut self) -> bool {
        let after = self.judges.order.iter().enumerate().skip(self.at + 1);
        let Some((at, _)) = after.into_iter().find(|(_, judge)| !judge.is_open()) else { return false };
        self.at = at;
        true
    }
}
