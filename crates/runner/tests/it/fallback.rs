//! Judges that stand in for one another.

use audit::routing::Disposition;
use judge::Judges;
use practice::Fault;
use runner::Run;

use crate::{TestJudge, judge, run, summary};

/// An address where nobody listens.
const NOBODY: &str = "http://127.0.0.1:9/v1";

#[tokio::test]
async fn after_its_quick_tries_a_judge_that_is_away_is_stood_in_for() {
    let backup = TestJudge::start(None).await;
    let (ended, attempts) =
        run(Judges::new(judge("first", NOBODY), vec![backup.judge("backup")]).unwrap()).await;
    let away = ("first", "model-of-first", "transport");
    assert_eq!(summary(&attempts), [away, away, away, ("backup", "model-of-backup", "accepted")]);
    for attempt in &attempts {
        let request: serde_json::Value = serde_json::from_slice(&attempt.request).unwrap();
        assert_eq!(request["model"], attempt.model, "the request is the one that was sent");
    }
    assert_eq!(attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let Run::Ended(ending) = ended else { panic!("{ended:?}") };
    assert_eq!(ending.opening.judge, "first", "the audit stays the first one's");
    assert_eq!(ending.routed.disposition, Disposition::Passed);
    assert_eq!(backup.calls(), 1);
}

#[tokio::test]
async fn a_wrong_configuration_is_passed_over_at_once_and_not_asked_again() {
    let (wrong, backup) = (TestJudge::start(Some(Fault::Status401)).await, TestJudge::start(None).await);
    let judges = Judges::new(wrong.judge("first"), vec![backup.judge("backup")]).unwrap();
    let (_, attempts) = run(judges.clone()).await;
    let answered = ("backup", "model-of-backup", "accepted");
    assert_eq!(summary(&attempts), [("first", "model-of-first", "permanent"), answered]);
    let (_, attempts) = run(judges).await;
    assert_eq!(summary(&attempts), [answered], "its breaker is open");
    assert_eq!((wrong.calls(), backup.calls()), (1, 2));
}

#[tokio::test]
async fn a_throttle_with_a_time_passes_on_and_one_without_waits() {
    for (fault, expected) in [
        (Fault::Status429RetryAfter, vec!["first", "backup"]),
        (Fault::Status429, vec!["first"]),
        (Fault::Status529, vec!["first"]),
    ] {
        let (busy, backup) = (TestJudge::start(Some(fault)).await, TestJudge::start(None).await);
        let (ended, attempts) =
            run(Judges::new(busy.judge("first"), vec![backup.judge("backup")]).unwrap()).await;
        assert_eq!(attempts.iter().map(|attempt| &attempt.judge).collect::<Vec<_>>(), expected, "{fault:?}");
        let is_parked = matches!(ended, Run::Parked { advance: false, .. });
        assert_eq!(is_parked, expected.len() == 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_bad_reply_is_a_reply_and_nobody_stands_in() {
    let (bad, backup) = (TestJudge::start(Some(Fault::NotJson)).await, TestJudge::start(None).await);
    let (_, attempts) = run(Judges::new(bad.judge("first"), vec![backup.judge("backup")]).unwrap()).await;
    assert_eq!(summary(&attempts), [("first", "model-of-first", "format"); 2]);
    assert_eq!(backup.calls(), 0);
}

#[tokio::test]
async fn when_nobody_can_be_asked_the_delivery_is_parked() {
    let busy = TestJudge::start(Some(Fault::Status429RetryAfter)).await;
    let judges = Judges::new(judge("first", NOBODY), vec![busy.judge("backup")]).unwrap();
    let (ended, attempts) = run(judges).await;
    assert_eq!(attempts.len(), 4);
    assert!(matches!(ended, Run::Parked { advance: false, .. }), "{ended:?}");

    let alone = run(judge("first", NOBODY).into()).await;
    assert!(matches!(alone.0, Run::Parked { advance: true, .. }));
    assert_eq!(alone.1.len(), 3);
}
