//! Keeping a golden run in Postgres, where there is one.

use audit::kinds;
use serde_json::json;

use crate::args::offline::GoldenRun;
use crate::config::Settings;
use crate::failure::Failure;
use crate::services;

use super::Measured;

/// Whether a run was kept.
#[derive(Debug)]
pub(super) enum Kept {
    /// It stands in `groundcrew.golden_runs`.
    Yes,
    /// It does not, and why.
    No(String),
}

/// Whether the run could be kept, before anybody pays for it.
///
/// # Errors
/// When a database is configured and does not answer, or lacks the table.
pub(super) async fn check(args: &GoldenRun, settings: &Settings) -> Result<(), Failure> {
    if args.no_store || settings.database.url.is_none() {
        return Ok(());
    }
    match services::store(settings).await {
        Ok(store) => {
            store.close().await;
            Ok(())
        }
        Err(failure) => {
            Err(failure.hint("correct DATABASE_URL, run `groundcrew migrate`, or give --no-store"))
        }
    }
}

/// Keeps the figures of each kind.
///
/// # Errors
/// When a database is configured and cannot be written to: the run is paid for, and nobody would know of it.
pub(super) async fn keep(
    measured: &[Measured],
    name: &str,
    args: &GoldenRun,
    settings: &Settings,
) -> Result<Kept, Failure> {
    if args.no_store {
        return Ok(Kept::No("--no-store".to_owned()));
    }
    if settings.database.url.is_none() {
        return Ok(Kept::No("no database is configured (DATABASE_URL)".to_owned()));
    }
    let store = services::store(settings).await?;
    for measured in measured {
        store.keep_golden_run(row(measured, name, settings)).await.map_err(services::database)?;
    }
    store.close().await;
    Ok(Kept::Yes)
}

fn row(measured: &Measured, name: &str, settings: &Settings) -> store::GoldenRun {
    let figures = &measured.figures;
    let prompt_hash = kinds::find(measured.kind)
        .ok()
        .and_then(|spec| settings.runner.prompts.of_version(spec.kind, &measured.prompt_version).ok())
        .map(|prompt| prompt.hash.clone())
        .unwrap_or_default();
    store::GoldenRun {
        kind: measured.kind,
        prompt_version: measured.prompt_version.clone(),
        prompt_hash,
        judge: measured.judge.clone(),
        practice: measured.practice,
        source: name.to_owned(),
        cases: figures.cases,
        judged: figures.judged,
        confusion: {
            let table = figures.all.confusion;
            [table.true_positive, table.false_positive, table.false_negative, table.true_negative]
        },
        kappa: figures.all.kappa,
        kappa_low: figures.all.kappa_interval.map(|interval| interval.low),
        kappa_high: figures.all.kappa_interval.map(|interval| interval.high),
        balanced_accuracy: figures.all.balanced_accuracy,
        overlap_auc: figures.overlap.auc,
        paraphrase_missed: figures.paraphrase_missed.share,
        fabrication_passed: figures.fabrication_passed.share,
        runs: figures.stability.map_or(1, |stability| stability.runs),
        unanimous: figures.stability.and_then(|stability| stability.unanimous),
        figures: json!({ "figures": figures, "requirements": measured.requirements, "cost": measured.cost }),
        calibrates: measured.calibrates,
        ended_at: chrono::Utc::now(),
    }
}
