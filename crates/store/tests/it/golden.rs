//! Golden runs on record, and what they calibrate.

use serde_json::json;
use store::GoldenRun;
use trace::Kind;

use crate::fixture::in_database;

/// A golden run of this judge.
pub(crate) fn run(judge: &str, calibrates: bool) -> GoldenRun {
    GoldenRun {
        kind: Kind::Gate,
        prompt_version: "gate-1".to_owned(),
        prompt_hash: "0".repeat(64),
        judge: judge.to_owned(),
        practice: false,
        source: "cases\0.jsonl".to_owned(),
        cases: 10,
        judged: 9,
        confusion: [4, 1, 1, 4],
        kappa: Some(0.6),
        kappa_low: Some(0.2),
        kappa_high: Some(1.0),
        balanced_accuracy: Some(0.8),
        overlap_auc: Some(f64::NAN),
        paraphrase_missed: None,
        fabrication_passed: Some(0.0),
        runs: 1,
        unanimous: None,
        figures: json!({ "wrong": ["a\u{0}b"] }),
        calibrates,
        ended_at: chrono::Utc::now(),
    }
}

#[tokio::test]
async fn the_last_run_of_a_kind_prompt_and_judge_counts() {
    in_database(|database, store| async move {
        assert_eq!(store.calibrated().await.unwrap(), []);
        for (judge, calibrates) in [("a", true), ("b", true), ("b", false), ("c", false), ("c", true)] {
            store.keep_golden_run(run(judge, calibrates)).await.unwrap();
        }
        let of = |judge: &str| (Kind::Gate, "gate-1".to_owned(), judge.to_owned());
        assert_eq!(store.calibrated().await.unwrap(), [of("a"), of("c")]);
        assert_eq!(
            database.count("select count(*) from analytics.golden_runs where overlap_auc is null").await,
            5
        );
    })
    .await;
}

#[tokio::test]
async fn a_table_that_does_not_add_up_is_refused() {
    in_database(|_, store| async move {
        let practice = GoldenRun { practice: true, ..run("a", true) };
        let lost = GoldenRun { confusion: [1, 1, 1, 1], ..run("a", true) };
        for (wrong, constraint) in
            [(practice, "golden_runs_practice_calibrates_nothing"), (lost, "golden_runs_every_case_once")]
        {
            let error = store.keep_golden_run(wrong).await.unwrap_err();
            assert!(format!("{error:?}").contains(constraint), "{error:?}");
        }
        assert_eq!(store.calibrated().await.unwrap(), []);
    })
    .await;
}
