//! Golden runs: how far a judge agrees with people, and for which audits that is known.

use chrono::{DateTime, Utc};
use serde_json::Value;
use trace::Kind;
use uuid::Uuid;

use crate::text::{clean, finite, json};
use crate::{Error, Result, Store};

/// The figures of one golden run of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct GoldenRun {
    /// The audit kind.
    pub kind: Kind,
    /// Version of the prompt.
    pub prompt_version: String,
    /// SHA-256 of the prompt's text, in hex.
    pub prompt_hash: String,
    /// The judge profile.
    pub judge: String,
    /// Whether that is the practice judge.
    pub practice: bool,
    /// Where the cases come from, such as a file's name.
    pub source: String,
    /// Labelled cases.
    pub cases: u64,
    /// Those that were judged.
    pub judged: u64,
    /// Unfaithful and found, faithful and flagged, unfaithful and passed, faithful and passed. What was not judged
    /// stands among the wrong ones.
    pub confusion: [u64; 4],
    /// Cohen's kappa.
    pub kappa: Option<f64>,
    /// The lower bound of its 95 % interval.
    pub kappa_low: Option<f64>,
    /// The upper bound.
    pub kappa_high: Option<f64>,
    /// The mean of recall and specificity.
    pub balanced_accuracy: Option<f64>,
    /// Area under the curve of word overlap on the same cases.
    pub overlap_auc: Option<f64>,
    /// Share of reworded and faithful answers that did not pass.
    pub paraphrase_missed: Option<f64>,
    /// Share of made-up answers that were not flagged.
    pub fabrication_passed: Option<f64>,
    /// Runs of each case.
    pub runs: u64,
    /// Share of the cases whose runs all say the same; none for single runs.
    pub unanimous: Option<f64>,
    /// All figures, as `groundcrew golden run --json` prints them.
    pub figures: Value,
    /// Whether results of this kind, prompt and judge are calibrated by it.
    pub calibrates: bool,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
}

/// A kind, the version of a prompt and the name of a judge profile.
pub type Calibrated = (Kind, String, String);

impl Store {
    /// Keeps a golden run. Gives its id.
    pub async fn keep_golden_run(&self, run: GoldenRun) -> Result<Uuid> {
        let id = Uuid::now_v7();
        self.run(move |pool| async move {
            let [found, false_alarms, passed, right] = run.confusion.map(whole);
            sqlx::query(
                "insert into groundcrew.golden_runs (id, kind, prompt_version, prompt_hash, judge, practice, source,
                    cases, judged, true_positive, false_positive, false_negative, true_negative, kappa, kappa_low,
                    kappa_high, balanced_accuracy, overlap_auc, paraphrase_missed, fabrication_passed, runs, unanimous,
                    figures, calibrates, ended_at)
                values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
                    $22, $23::jsonb, $24, $25)",
            )
            .bind(id)
            .bind(run.kind.as_str())
            .bind(clean(&run.prompt_version))
            .bind(clean(&run.prompt_hash))
            .bind(clean(&run.judge))
            .bind(run.practice)
            .bind(clean(&run.source))
            .bind(whole(run.cases))
            .bind(whole(run.judged))
            .bind(found)
            .bind(false_alarms)
            .bind(passed)
            .bind(right)
            .bind(finite(run.kappa))
            .bind(finite(run.kappa_low))
            .bind(finite(run.kappa_high))
            .bind(finite(run.balanced_accuracy))
            .bind(finite(run.overlap_auc))
            .bind(finite(run.paraphrase_missed))
            .bind(finite(run.fabrication_passed))
            .bind(whole(run.runs))
            .bind(finite(run.unanimous))
            .bind(json(&run.figures))
            .bind(run.calibrates)
            .bind(run.ended_at)
            .execute(&pool)
            .await
            .map_err(Error::cannot("keep a golden run"))?;
            Ok(id)
        })
        .await
    }

    /// Kinds, prompts and judges whose last golden run calibrates them.
    pub async fn calibrated(&self) -> Result<Vec<Calibrated>> {
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "select kind, prompt_version, judge from (
                select distinct on (kind, prompt_version, judge) kind, prompt_version, judge, calibrates
                from groundcrew.golden_runs
                order by kind, prompt_version, judge, ended_at desc, id desc
            ) as last
            where calibrates",
        )
        .fetch_all(self.pool())
        .await
        .map_err(Error::cannot("look for golden runs"))?;
        // A kind of a later version is nothing that this one could audit.
        Ok(rows
            .into_iter()
            .filter_map(|(kind, prompt, judge)| Some((kind.parse().ok()?, prompt, judge)))
            .collect())
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
