//! `groundcrew maintain`: what is removed by age.

use chrono::Utc;
use serde_json::{Value, json};
use store::Expired;

use crate::args::Maintain;
use crate::config::Settings;
use crate::failure::Outcome;
use crate::output::Output;
use crate::services;

/// Removes what is over its age, or says what that would be.
pub(crate) async fn run(args: Maintain, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let (retention, now) = (settings.retention, Utc::now());
    let mut output = Output::new();
    let mut removed = Vec::new();
    let done = if args.dry_run {
        store.expired(retention, now).await.map(|expired| removed = expired)
    } else {
        store
            .maintain(retention, now, |expired| {
                if !args.json.json {
                    output.line(format!("removed {}", said(&expired)));
                    output.flush();
                }
                removed.push(expired);
            })
            .await
    };
    store.close().await;
    done.map_err(services::database)?;
    if args.json.json {
        output.json(&json!({
            "dry_run": args.dry_run,
            "removed": removed.iter().map(shown).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    if args.dry_run {
        removed.iter().for_each(|expired| output.line(format!("would remove {}", said(expired))));
    }
    if removed.is_empty() {
        output.line("nothing is over its age");
    }
    Ok(())
}

fn said(expired: &Expired) -> String {
    match expired {
        Expired::Partition(name) => format!("partition {name}"),
        Expired::Rows { table, count } => format!("{count} rows of {table}"),
    }
}

fn shown(expired: &Expired) -> Value {
    match expired {
        Expired::Partition(name) => json!({ "partition": name }),
        Expired::Rows { table, count } => json!({ "table": table, "rows": count }),
    }
}
