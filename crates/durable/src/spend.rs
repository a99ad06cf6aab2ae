//! Blocks of calls in hand: one purse for each project that has a cap.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::audit::spend::{Caps, Limit, OverCap};
use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use serde_json::json;
use store::{Asked, Reserved, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::patience::{GivenUp, persist};
use crate::project::{Project, SpendSettings};

/// What the alert is called.
const OVER_BUDGET: &str = "over_budget";

/// How long a project that is over a cap is not asked about again: a worker that is gone may have left calls.
const RECHECK: Duration = Duration::from_secs(10);

/// How long to wait for the first replies, which show what a call costs.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Granted,
    /// A cap is reached.
    Refused(Limit),
}

/// The purses of this process.
#[derive(Debug)]
pub struct Purses {
    settings: SpendSettings,
    purses: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Purse>>>>,
}

/// What one project may still do.
#[derive(Debug, Default)]
struct Purse {
    day: NaiveDate,
    /// Calls of the day that are granted in all.
    granted: u64,
    /// Those of them that were made or are being made.
    taken: u64,
    /// When the reservation was last renewed.
    renewed: Option<Instant>,
    /// Until when no further call is asked for.
    refused: Option<(Instant, Limit)>,
}

/// What a purse says before the database is asked.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Granted,
    Refused(Limit),
    /// Ask for a block of this size; 0 only renews what is there.
    Ask(u64),
}

impl Purse {
    /// Takes a call if there is one.
    fn look(&mut self, day: NaiveDate, now: Instant, settings: &SpendSettings) -> Look {
        if self.day != day {
            *self = Self { day, ..Self::default() };
        }
        // Renewed well before it expires, so that nobody else is granted what this process still counts on.
        let is_fresh = self.renewed.is_some_and(|renewed| now < renewed + settings.reservation / 3);
        match self.granted.saturating_sub(self.taken) {
            0 => match self.refused {
                Some((until, limit)) if now < until => Look::Refused(limit),
                _ => Look::Ask(settings.block_calls),
            },
            _ if is_fresh => {
                self.taken += 1;
                Look::Granted
            }
            _ => Look::Ask(0),
        }
    }
}

impl Purses {
    /// Purses that are empty.
    pub fn new(settings: SpendSettings) -> Self {
        Self { settings, purses: Mutex::default() }
    }

    fn of(&self, project: &str) -> Arc<tokio::sync::Mutex<Purse>> {
        let mut purses = self.purses.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(purses.entry(project.to_owned()).or_default())
    }

    /// Takes one call out of the project's purse, and fills that before if it has to.
    pub(crate) async fn take(
        &self,
        store: &Store,
        name: &str,
        project: &Project,
        abort: &CancellationToken,
    ) -> Result<Permit, GivenUp> {
        if !project.caps.is_capped() {
            return Ok(Permit::Granted);
        }
        let purse = self.of(name);
        loop {
            // Held while the database is asked: one question for all that wait.
            let mut purse = purse.lock().await;
            let day = Utc::now().date_naive();
            let block = match purse.look(day, Instant::now(), &self.settings) {
                Look::Granted => return Ok(Permit::Granted),
                Look::Refused(limit) => return Ok(Permit::Refused(limit)),
                Look::Ask(block) => block,
            };
            let asked = Asked {
                project: name.to_owned(),
                day,
                caps: project.caps.clone(),
                block,
                taken: purse.taken,
                valid_for: self.settings.reservation,
            };
            match persist("reserving calls", abort, || store.reserve(asked.clone())).await? {
                Reserved::Until(granted) => {
                    *purse = Purse { granted, renewed: Some(Instant::now()), refused: None, ..*purse };
                }
                Reserved::Refused(limit) => {
                    let pause = RECHECK.min(self.settings.reservation / 3);
                    purse.refused = Some((Instant::now() + pause, limit));
                    tell(store, name, project, day, limit, abort).await?;
                }
                Reserved::Wait => {
                    drop(purse);
                    tokio::select! {
                        () = abort.cancelled() => return Err(GivenUp::Stopped),
                        () = tokio::time::sleep(PAUSE) => {}
                    }
                }
            }
        }
    }

    /// Puts a call back that was not made.
    pub(crate) async fn put_back(&self, name: &str, project: &Project) {
        if project.caps.is_capped() {
            let purse = self.of(name);
            let mut purse = purse.lock().await;
            // After midnight it is another day's purse, and nothing was taken from that.
            purse.taken = purse.taken.saturating_sub(1);
        }
    }
}

/// Tells the operator, once for each project and day in the whole fleet.
async fn tell(
    store: &Store,
    name: &str,
    project: &Project,
    day: NaiveDate,
    limit: Limit,
    abort: &CancellationToken,
) -> Result<(), GivenUp> {
    let consequence = match project.over_cap {
        OverCap::OverBudget => "further audits end over_budget",
        OverCap::Defer => "further audits wait for the next day",
    };
    let message = format!("{}; {consequence}", limit.in_words());
    let body = json!({
        "schema": "groundcrew.alert/v1",
        "event": format!("alert.{OVER_BUDGET}"),
        "project": name,
        "day": day,
        "limit": limit,
        "caps": shown(&project.caps),
        "over_cap": project.over_cap,
        "message": message,
    });
    let raised =
        persist("raising an alert", abort, || store.alert(OVER_BUDGET, name, day, &message, body.clone()));
    if raised.await? {
        tracing::error!(project = name, %day, message, "a project has reached a cap");
    }
    Ok(())
}

fn shown(caps: &Caps) -> serde_json::Value {
    let money = caps.money.as_ref();
    json!({
        "calls": caps.calls,
        "tokens": caps.tokens,
        "money_micros": money.map(|money| money.micros),
        "currency": money.map(|money| &money.currency),
    })
}

/// When the next UTC day begins.
pub fn next_day(now: DateTime<Utc>) -> DateTime<Utc> {
    let tomorrow = now.date_naive().checked_add_days(Days::new(1)).unwrap_or(NaiveDate::MAX);
    tomorrow.and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: SpendSettings = SpendSettings { block_calls: 10, reservation: Duration::from_secs(900) };

    #[tokio::test]
    async fn a_purse_asks_when_it_is_empty_and_renews_when_it_is_old() {
        let (day, now) = (NaiveDate::default(), Instant::now());
        let mut purse = Purse::default();
        assert_eq!(purse.look(day, now, &SETTINGS), Look::Ask(10));
        purse = Purse { granted: 2, renewed: Some(now), ..purse };
        assert_eq!(purse.look(day, now, &SETTINGS), Look::Granted);
        assert_eq!(purse.look(day, now + Duration::from_secs(301), &SETTINGS), Look::Ask(0));
        assert_eq!(purse.look(day, now, &SETTINGS), Look::Granted);
        purse.refused = Some((now + Duration::from_secs(10), Limit::Calls));
        assert_eq!(purse.look(day, now, &SETTINGS), Look::Refused(Limit::Calls));
        assert_eq!(purse.look(day, now + Duration::from_secs(10), &SETTINGS), Look::Ask(10));
        let tomorrow = day.succ_opt().unwrap();
        assert_eq!(purse.look(tomorrow, now, &SETTINGS), Look::Ask(10));
        assert_eq!(purse.taken, 0);
    }

    #[test]
    fn the_next_day_begins_at_midnight_utc() {
        let now: DateTime<Utc> = "2026-11-30T23:59:59.5Z".parse().unwrap();
        assert_eq!(next_day(now).to_rfc3339(), "2026-12-01T00:00:00+00:00");
    }
}
