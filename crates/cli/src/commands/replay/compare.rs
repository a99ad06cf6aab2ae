//! `groundcrew replay compare`: new results beside the old.

use store::Generations;

use crate::args::ReplayCompare;
use crate::commands::table;
use crate::config::Settings;
use crate::failure::Outcome;
use crate::output::Output;
use crate::{services, terminal};

/// Shows audits that were made again.
pub(crate) async fn run(args: &ReplayCompare, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let filter = super::filter(&args.which, false);
    let found = store.generations(&filter, args.which.limit).await.map_err(services::database);
    store.close().await;
    let found = found?;
    let mut output = Output::new();
    if args.json.json {
        output.json(&found);
        return Ok(());
    }
    if found.is_empty() {
        output.line("no audit was made again and has ended");
        return Ok(());
    }
    let rows: Vec<[String; 6]> = found.iter().map(row).collect();
    for line in table::lines(["trace", "kind", "generation", "prompt, judge", "ended", "score"], &rows) {
        output.line(line);
    }
    let same = found.iter().filter(|pair| pair.is_same).count();
    output.line("");
    output.line(format!("{same} of {} end as before", found.len()));
    if found.iter().any(|pair| pair.practice) {
        output.line("the practice judge has no model and proves nothing");
    }
    Ok(())
}

fn row(pair: &Generations) -> [String; 6] {
    let moved = |before: String, now: String| {
        if before == now { now } else { format!("{before} -> {now}") }
    };
    let ended = |disposition: &str, decision: &Option<String>| match decision {
        Some(decision) => format!("{disposition} ({decision})"),
        None => disposition.to_owned(),
    };
    let score = |score: Option<f64>| score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}"));
    let asked = |prompt: &str, judge: &str| format!("{}, {}", terminal::line(prompt), terminal::line(judge));
    [
        terminal::cut(&terminal::line(&pair.trace_id), 28),
        pair.kind.clone(),
        format!("{} -> {}", pair.earlier_generation, pair.generation),
        moved(
            asked(&pair.earlier_prompt_version, &pair.earlier_judge),
            asked(&pair.prompt_version, &pair.judge),
        ),
        moved(
            ended(&pair.earlier_disposition, &pair.earlier_decision),
            ended(&pair.disposition, &pair.decision),
        ),
        moved(score(pair.earlier_score), score(pair.score)),
    ]
}
