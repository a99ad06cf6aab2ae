use tokio::time::advance;

use super::*;

const OPEN: Duration = Duration::from_secs(30);
const PERMANENT: Duration = Duration::from_secs(60);

fn breaker() -> Arc<Breaker> {
    Breaker::new("j", BreakerSettings { failures: 3, open: OPEN, permanent_open: PERMANENT })
}

fn settle(breaker: &Arc<Breaker>, outcome: Outcome) {
    breaker.enter().unwrap().settle(outcome);
}

fn time_left(breaker: &Arc<Breaker>) -> Option<Duration> {
    breaker.enter().err().map(|refused| refused.time_left)
}

#[tokio::test(start_paused = true)]
async fn transport_failures_in_a_row_open_it_and_an_answer_starts_the_count_again() {
    let breaker = breaker();
    for outcome in [Outcome::Transport, Outcome::Transport, Outcome::Answered, Outcome::Transport] {
        settle(&breaker, outcome);
    }
    settle(&breaker, Outcome::Transport);
    assert!(!breaker.is_open());
    settle(&breaker, Outcome::Transport);
    assert!(breaker.is_open());
    advance(Duration::from_secs(10)).await;
    assert_eq!(time_left(&breaker), Some(Duration::from_secs(20)));
}

#[tokio::test(start_paused = true)]
async fn one_probe_decides() {
    let breaker = breaker();
    settle(&breaker, Outcome::Throttle(Some(Duration::from_secs(5))));
    assert_eq!(time_left(&breaker), Some(Duration::from_secs(5)));

    advance(Duration::from_secs(5)).await;
    assert!(!breaker.is_open(), "a probe may go");
    let probe = breaker.enter().unwrap();
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    assert!(breaker.is_open(), "one probe is enough");
    assert_eq!(time_left(&breaker), Some(PROBE_PATIENCE));

    probe.settle(Outcome::Transport);
    assert_eq!(time_left(&breaker), Some(OPEN), "a failed probe opens without counting to three");
    advance(OPEN).await;
    settle(&breaker, Outcome::Answered);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_given_up_lets_the_next_one_through() {
    let breaker = breaker();
    settle(&breaker, Outcome::Throttle(Some(Duration::from_secs(5))));
    advance(Duration::from_secs(5)).await;
    drop(breaker.enter().unwrap());
    settle(&breaker, Outcome::Answered);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_throttle_without_a_time_leaves_it_closed() {
    let breaker = breaker();
    for _ in 0..10 {
        settle(&breaker, Outcome::Throttle(None));
    }
    assert!(!breaker.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_never_shortened() {
    let breaker = breaker();
    let (first, second) = (breaker.enter().unwrap(), breaker.enter().unwrap());
    first.settle(Outcome::Throttle(Some(Duration::from_secs(100))));
    second.settle(Outcome::Throttle(Some(Duration::from_secs(1))));
    assert_eq!(time_left(&breaker), Some(Duration::from_secs(100)));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_configuration_opens_it_at_once() {
    let breaker = breaker();
    settle(&breaker, Outcome::Answered);
    settle(&breaker, Outcome::Permanent { certain: true });
    assert_eq!(time_left(&breaker), Some(PERMANENT));
    assert!(matches!(breaker.state(), BreakerState::Open { reason: OpenReason::Permanent, .. }));
}

#[tokio::test(start_paused = true)]
async fn one_odd_question_does_not_stop_a_judge_that_works() {
    let breaker = breaker();
    let odd = Outcome::Permanent { certain: false };
    settle(&breaker, Outcome::Answered);
    for _ in 0..5 {
        settle(&breaker, odd);
        settle(&breaker, odd);
        settle(&breaker, Outcome::Answered);
    }
    assert!(!breaker.is_open());
    for _ in 0..3 {
        settle(&breaker, odd);
    }
    assert!(breaker.is_open(), "three in a row are no accident");

    let never_worked = self::breaker();
    settle(&never_worked, odd);
    assert!(never_worked.is_open());
}

#[tokio::test(start_paused = true)]
async fn calls_from_before_a_change_cannot_undo_it() {
    let breaker = breaker();
    let late: Vec<Pass> = (0..4).map(|_| breaker.enter().unwrap()).collect();
    settle(&breaker, Outcome::Throttle(Some(Duration::from_secs(5))));
    advance(Duration::from_secs(5)).await;
    let probe = breaker.enter().unwrap();
    let mut late = late.into_iter();
    late.next().unwrap().settle(Outcome::Answered);
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    for pass in late {
        pass.settle(Outcome::Transport);
    }
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    probe.settle(Outcome::Answered);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_when_a_probe_may_go() {
    let breaker = breaker();
    let stop = CancellationToken::new();
    let started = Instant::now();
    breaker.wait_until_maybe_closed(&stop).await;
    assert_eq!(started.elapsed(), Duration::ZERO);

    settle(&breaker, Outcome::Throttle(Some(Duration::from_secs(7))));
    breaker.wait_until_maybe_closed(&stop).await;
    assert_eq!(started.elapsed(), Duration::from_secs(7));

    let probe = breaker.enter().unwrap();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        probe.settle(Outcome::Answered);
    });
    breaker.wait_until_maybe_closed(&stop).await;
    assert_eq!(started.elapsed(), Duration::from_secs(9));
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_stop_token_and_follows_a_longer_pause() {
    let breaker = breaker();
    let second = breaker.enter().unwrap();
    settle(&breaker, Outcome::Throttle(Some(Duration::from_secs(5))));
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(4)).await;
        second.settle(Outcome::Throttle(Some(Duration::from_secs(50))));
    });
    let started = Instant::now();
    breaker.wait_until_maybe_closed(&CancellationToken::new()).await;
    assert_eq!(started.elapsed(), Duration::from_secs(54));

    settle(&breaker, Outcome::Permanent { certain: true });
    let stop = CancellationToken::new();
    let canceller = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        canceller.cancel();
    });
    breaker.wait_until_maybe_closed(&stop).await;
    assert_eq!(started.elapsed(), Duration::from_secs(55));
}

#[tokio::test(start_paused = true)]
async fn changes_are_published() {
    let breaker = breaker();
    let mut changes = breaker.watch();
    assert_eq!(*changes.borrow_and_update(), BreakerState::Closed);
    settle(&breaker, Outcome::Permanent { certain: true });
    assert!(changes.has_changed().unwrap());
    assert!(matches!(*changes.borrow_and_update(), BreakerState::Open { .. }));
}
