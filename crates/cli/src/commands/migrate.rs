//! `groundcrew migrate`: the database's tables.

use std::time::Duration;

use serde_json::json;

use crate::args::Migrate;
use crate::config::Settings;
use crate::failure::Outcome;
use crate::output::Output;
use crate::services;

/// Applies what is missing and says what it was.
pub(crate) async fn run(args: &Migrate, settings: &Settings) -> Outcome {
    let target = services::store_settings(settings)?;
    let patience = Duration::from_secs(args.wait_for);
    let migrated = services::wait_for(patience, async || {
        services::knock(&target).await?;
        store::migrate(&target).await.map_err(services::database)
    });
    let migrated = migrated.await?;
    let mut output = Output::new();
    if args.json.json {
        output.json(&json!({
            "applied": migrated.applied,
            "analysts": migrated.analysts,
            "missing_roles": migrated.missing_roles,
        }));
        return Ok(());
    }
    for name in &migrated.applied {
        output.line(format!("applied {name}"));
    }
    if migrated.applied.is_empty() {
        output.line("the database is up to date");
    }
    if !migrated.analysts {
        output.line(
            "note: the role groundcrew_analyst could not be made, so the views in the schema analytics are only \
             readable by this user; an administrator can run: create role groundcrew_analyst",
        );
    }
    for role in &migrated.missing_roles {
        output.line(format!(
            "note: the role {role} could not be made, so workers and the desk need the tables' owner or a user with \
             grants of its own; an administrator can run: create role {role} nologin; migrate again afterwards"
        ));
    }
    Ok(())
}
