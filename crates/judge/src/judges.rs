//! Judges that stand in for one another.

use std::sync::Arc;

use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

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

    /// Waits until no judge can be asked: every breaker is open and its time is not over.
    pub async fn wait_until_unusable(&self) {
        // As long as one judge can be asked, only a change of its own can make all of them unusable.
        while let Some(usable) = self.order.iter().find(|judge| !is_resting(judge)) {
            let mut changes = usable.watch_breaker();
            if is_resting(usable) {
                continue;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until some judge would not refuse a question, or until `stop` is cancelled.
    pub async fn wait_until_maybe_usable(&self, stop: &CancellationToken) {
        let mut waiting = JoinSet::new();
        for judge in self.iter() {
            let (judge, stop) = (judge.clone(), stop.clone());
            waiting.spawn(async move { judge.wait_until_maybe_closed(&stop).await });
        }
        // The others end with the set.
        let _first = waiting.join_next().await;
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

/// Whether a judge's breaker is open and its time is not over. A probe on its way is no reason to stop working.
fn is_resting(judge: &Judge) -> bool {
    matches!(judge.breaker().state(), BreakerState::Open { until, .. } if Instant::now() < until)
}
