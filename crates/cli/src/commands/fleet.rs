//! `groundcrew queue pause` and `resume`: what holds for all workers.

use serde::Serialize;

use crate::args::{Pause, Resume};
use crate::config::Settings;
use crate::failure::Outcome;
use crate::output::Output;
use crate::{services, terminal};

#[derive(Debug, Serialize)]
struct Answer {
    changed: bool,
    fleet: store::Fleet,
}

/// Pauses the fleet.
pub(crate) async fn pause(args: &Pause, settings: &Settings) -> Outcome {
    set(true, args.reason.as_deref(), args.json.json, settings).await
}

/// Ends a pause.
pub(crate) async fn resume(args: &Resume, settings: &Settings) -> Outcome {
    set(false, None, args.json.json, settings).await
}

async fn set(paused: bool, reason: Option<&str>, json: bool, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let changed = store.set_paused(paused, reason, &who()).await.map_err(services::database)?;
    let fleet = store.fleet().await.map_err(services::database)?;
    store.close().await;
    let mut output = Output::new();
    if json {
        output.json(&Answer { changed, fleet });
        return Ok(());
    }
    output.line(match (changed, paused) {
        (true, true) => "paused: workers take no more deliveries within a few seconds".to_owned(),
        (true, false) => "resumed: workers take deliveries again within a few seconds".to_owned(),
        (false, true) => format!("was paused before: {}", line(&fleet)),
        (false, false) => format!("was not paused: {}", line(&fleet)),
    });
    Ok(())
}

/// Whether the fleet is paused, since when, by whom and why.
pub(crate) fn line(fleet: &store::Fleet) -> String {
    let by = fleet.changed_by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    let why = fleet.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    let since = fleet.changed_at.format("%Y-%m-%d %H:%M UTC");
    let line = if fleet.paused {
        format!("paused since {since}{by}{why}")
    } else if fleet.changed_by.is_some() {
        format!("running, resumed {since}{by}")
    } else {
        "running".to_owned()
    };
    terminal::line(&line)
}

/// The account and the host of this command, as far as they can be known.
fn who() -> String {
    let user =
        std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "somebody".into());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match host.trim() {
        "" => user,
        host => format!("{user}@{host}"),
    }
}
