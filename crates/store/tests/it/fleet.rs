//! What operators say to all workers, what workers say of themselves, and what sampling left out.

use std::time::Duration;

use chrono::{NaiveDate, Utc};
use store::{SampledOut, WorkerReport};
use uuid::Uuid;

use crate::fixture::in_database;

fn report() -> WorkerReport {
    WorkerReport {
        id: Uuid::now_v7(),
        host: "h".into(),
        process_id: 1,
        version: "0.0.0".into(),
        started_at: Utc::now(),
        flow: "full".into(),
        in_work_urgent: 0,
        in_work_normal: 3,
        in_work_bulk: 0,
        taken_urgent: None,
        taken_normal: Some(Utc::now()),
        taken_bulk: None,
    }
}

#[tokio::test]
async fn a_pause_holds_until_it_is_ended_and_says_who_and_why() {
    in_database(|_, store| async move {
        assert!(!store.fleet().await.unwrap().paused);
        assert!(store.set_paused(true, Some("the judge\0 moves"), "ann@desk").await.unwrap());
        let fleet = store.fleet().await.unwrap();
        assert!(fleet.paused);
        assert_eq!(fleet.reason.as_deref(), Some("the judge\u{2400} moves"));
        assert_eq!(fleet.changed_by.as_deref(), Some("ann@desk"));
        assert!(!store.set_paused(true, Some("again"), "bob@desk").await.unwrap(), "it was paused before");
        assert_eq!(store.fleet().await.unwrap(), fleet, "who paused it first is kept");
        assert!(store.set_paused(false, None, "bob@desk").await.unwrap());
        assert!(!store.fleet().await.unwrap().paused);
    })
    .await;
}

#[tokio::test]
async fn a_worker_is_one_row_until_it_ends_or_is_silent() {
    in_database(|database, store| async move {
        let silence = Duration::from_secs(20);
        let (one, other) = (report(), report());
        store.report_worker(one.clone()).await.unwrap();
        store.report_worker(WorkerReport { in_work_normal: 5, ..one.clone() }).await.unwrap();
        store.report_worker(other.clone()).await.unwrap();
        let seen = store.workers(silence).await.unwrap();
        assert_eq!(seen.len(), 2);
        assert!(seen.iter().any(|worker| worker.id == one.id && worker.in_work_normal == 5));
        store.forget_worker(one.id).await.unwrap();
        assert_eq!(
            store.workers(Duration::from_secs(3600)).await.unwrap().len(),
            1,
            "one that ended is gone at once"
        );
        database.execute("update groundcrew.workers set seen_at = now() - interval '1 minute'").await;
        assert!(store.workers(silence).await.unwrap().is_empty());
        store.report_worker(report()).await.unwrap();
        assert_eq!(store.workers(silence).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_sampling_left_out_adds_up_by_project_and_day() {
    in_database(|database, store| async move {
        let day = NaiveDate::from_ymd_opt(2026, 11, 30).unwrap();
        let count = |project: &str, traces| SampledOut { project: project.into(), day, traces };
        store.count_sampled_out(Vec::new()).await.unwrap();
        store.count_sampled_out(vec![count("b", 2), count("a", 1)]).await.unwrap();
        // These two are one name to Postgres.
        store.count_sampled_out(vec![count("a", 4), count("n\0", 1), count("n\u{2400}", 1)]).await.unwrap();
        let sums: Vec<(String, i64)> =
            sqlx::query_as("select project, traces from analytics.sampled_out_daily order by project")
                .fetch_all(&database.pool)
                .await
                .unwrap();
        let sums: Vec<(&str, i64)> =
            sums.iter().map(|(project, traces)| (project.as_str(), *traces)).collect();
        assert_eq!(sums, [("a", 5), ("b", 2), ("n\u{2400}", 2)]);
    })
    .await;
}
