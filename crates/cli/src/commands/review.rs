//! `groundcrew review`: what waits for people.

use store::{ReviewItem, ReviewStatus};

use crate::args::ReviewList;
use crate::config::Settings;
use crate::failure::Outcome;
use crate::output::Output;
use crate::{services, terminal};

use super::table;

/// More than anybody reads in one go.
const LIMIT: u32 = 1000;

/// Lists open review items, urgent ones first.
pub(crate) async fn list(args: &ReviewList, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let items = store
        .review_list(Some(ReviewStatus::Open), args.project.as_deref(), LIMIT)
        .await
        .map_err(services::database)?;
    let mut output = Output::new();
    if args.json.json {
        output.json(&items);
    } else if items.is_empty() {
        output.line("nothing waits for people");
    } else {
        print(&mut output, &items);
    }
    store.close().await;
    Ok(())
}

fn print(output: &mut Output, items: &[ReviewItem]) {
    let rows: Vec<[String; 5]> = items
        .iter()
        .map(|item| {
            [
                if item.urgent { "urgent" } else { "" }.to_owned(),
                item.created_at.format("%Y-%m-%d %H:%M").to_string(),
                item.kind.clone(),
                terminal::line(&format!("{}/{}", item.project, item.trace_id)),
                terminal::line(&reasons(&item.reasons)),
            ]
        })
        .collect();
    for line in table::lines(["", "since (UTC)", "kind", "project/trace", "why"], &rows) {
        output.line(line);
    }
    let urgent = items.iter().filter(|item| item.urgent).count();
    output.line("");
    output.line(format!(
        "{} open, {urgent} urgent; `groundcrew trace show TRACE` shows the evidence",
        items.len()
    ));
}

/// The reasons of a review item or of an audit, in words.
pub(crate) fn reasons(reasons: &serde_json::Value) -> String {
    let words = reasons.as_array().into_iter().flatten().filter_map(|reason| reason.get("message")?.as_str());
    words.collect::<Vec<_>>().join("; ")
}
