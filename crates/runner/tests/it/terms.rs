//! How long a run may take.

use std::time::Duration;

use judge::{Judges, Urgency};
use practice::Fault;
use runner::{Run, Terms};
use tokio::time::Instant;

use crate::{TestJudge, run_on, summary};

#[tokio::test]
async fn after_its_time_a_run_makes_no_further_call_and_counts_no_try() {
    let judge = TestJudge::start(None).await;
    let terms = Terms { urgency: Urgency::Bulk, until: Some(Instant::now()), ..Terms::default() };
    let (run, attempts) = run_on(Judges::from(judge.judge("j")), terms).await;
    assert!(matches!(run, Run::Parked { advance: false, .. }), "{run:?}");
    assert!(attempts.is_empty());
    assert_eq!(judge.calls(), 0);
}

#[tokio::test]
async fn what_it_has_by_then_is_kept() {
    // The first call fails after the time is over; the second is not made.
    let judge = TestJudge::start(Some(Fault::NotJson)).await;
    let until = Instant::now() + Duration::from_millis(1);
    let delayed =
        Terms { urgency: Urgency::Normal, until: Some(until + Duration::from_secs(60)), ..Terms::default() };
    let (_, both) = run_on(Judges::from(judge.judge("j")), delayed).await;
    assert_eq!(both.len(), 2, "the budget is one more");
    let slow = TestJudge::slow(Fault::NotJson, 300).await;
    let terms = Terms { until: Some(Instant::now() + Duration::from_millis(200)), ..Terms::default() };
    let (run, attempts) = run_on(Judges::from(slow.judge("j")), terms).await;
    assert!(matches!(run, Run::Parked { advance: false, .. }), "{run:?}");
    assert_eq!(summary(&attempts), [("j", "model-of-j", "format")]);
    assert_eq!(slow.calls(), 1);
}

#[tokio::test]
async fn a_run_that_is_withdrawn_begins_no_call() {
    let judge = TestJudge::start(None).await;
    let terms = Terms::default();
    terms.withdrawn.cancel();
    let (run, attempts) = run_on(Judges::from(judge.judge("j")), terms).await;
    assert!(matches!(run, Run::Interrupted), "{run:?}");
    assert!(attempts.is_empty());
    assert_eq!(judge.calls(), 0);
}

#[tokio::test]
async fn a_call_that_has_begun_when_its_run_is_withdrawn_ends_and_is_kept() {
    // A second call would follow.
    let judge = TestJudge::slow(Fault::NotJson, 300).await;
    let terms = Terms::default();
    let withdrawn = terms.withdrawn.clone();
    let running = tokio::spawn(run_on(Judges::from(judge.judge("j")), terms));
    while judge.calls() == 0 {
        tokio::task::yield_now().await;
    }
    withdrawn.cancel();
    let (run, attempts) = running.await.unwrap();
    assert!(matches!(run, Run::Interrupted), "{run:?}");
    assert_eq!(summary(&attempts), [("j", "model-of-j", "format")]);
    assert_eq!(judge.calls(), 1);
}
