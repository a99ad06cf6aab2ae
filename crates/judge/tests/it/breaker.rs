use std::time::Duration;

use judge::{BreakerState, Class, Limits, OpenReason};
use tokio_util::sync::CancellationToken;

use crate::server::{Server, Step, ask, completion, judge, question, response};

fn script(bytes: Vec<u8>) -> Vec<Step> {
    vec![Step::Send(bytes)]
}

#[tokio::test]
async fn an_open_breaker_answers_without_asking() {
    let server = Server::sending(response("401 Unauthorized", "")).await;
    let judge = server.judge();
    assert_eq!(ask(&judge).await.unwrap_err().class(), Class::Permanent);
    let error = ask(&judge).await.unwrap_err();
    assert_eq!((error.class(), error.sent, error.status), (Class::Throttle, false, None));
    let left = error.retry_after.unwrap();
    assert!(Duration::from_secs(50) < left && left <= Duration::from_secs(60), "{left:?}");
    assert_eq!(server.connections(), 1);
    assert!(judge.is_open());
    let state = *judge.watch_breaker().borrow();
    assert!(matches!(state, BreakerState::Open { reason: OpenReason::Permanent, .. }));
}

#[tokio::test]
async fn clones_share_the_breaker_and_a_probe_closes_it() {
    let server =
        Server::start(vec![script(response("429 Slow\r\nretry-after: 1", "")), script(completion("x"))])
            .await;
    let limits = Limits { retry_after_min_ms: 1, retry_after_max_ms: 50, ..Limits::default() };
    let judge = judge(server.settings(), &limits);
    let clone = judge.clone();
    assert_eq!(ask(&judge).await.unwrap_err().retry_after, Some(Duration::from_millis(50)));
    assert!(clone.is_open());
    assert_eq!(clone.limiter().limit(), 4, "half of eight");
    clone.wait_until_maybe_closed(&CancellationToken::new()).await;
    assert_eq!(ask(&clone).await.unwrap().content, "x");
    assert!(!judge.is_open());
}

#[tokio::test]
async fn eight_failures_in_a_row_open_it() {
    let server = Server::sending(response("500 Oops", "")).await;
    let judge = server.judge();
    for _ in 0..8 {
        assert!(!judge.is_open());
        assert_eq!(ask(&judge).await.unwrap_err().class(), Class::Transport);
    }
    assert!(judge.is_open());
    assert_eq!(ask(&judge).await.unwrap_err().class(), Class::Throttle);
    assert_eq!(server.connections(), 8);
}

#[tokio::test]
async fn no_more_calls_at_once_than_allowed() {
    let server = Server::start(vec![vec![Step::Hang]]).await;
    let judge = judge(server.settings(), &Limits { max_concurrency: 2, ..Limits::default() });
    let stop = CancellationToken::new();
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let (judge, stop) = (judge.clone(), stop.clone());
            tokio::spawn(async move { judge.ask(&question(), &stop).await.unwrap_err() })
        })
        .collect();
    while server.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(judge.limiter().in_flight(), 2);
    stop.cancel();
    let mut sent = 0;
    for call in calls {
        let error = call.await.unwrap();
        assert_eq!(error.class(), Class::Interrupted);
        sent += usize::from(error.sent);
    }
    assert_eq!((sent, server.connections()), (2, 2));
}

#[tokio::test]
async fn limits_that_make_no_sense_are_refused_by_name() {
    let server = Server::sending("").await;
    for (key, limits) in [
        ("max_concurrency", Limits { max_concurrency: 0, ..Limits::default() }),
        ("start_concurrency", Limits { start_concurrency: 0, ..Limits::default() }),
        ("limit_share", Limits { limit_share: 0.0, ..Limits::default() }),
        ("limit_share", Limits { limit_share: f64::NAN, ..Limits::default() }),
        ("recover_after", Limits { recover_after: 0, ..Limits::default() }),
        ("breaker_failures", Limits { breaker_failures: 0, ..Limits::default() }),
        ("breaker_open_ms", Limits { breaker_open_ms: 0, ..Limits::default() }),
        ("retry_after_min_ms", Limits { retry_after_min_ms: 9, retry_after_max_ms: 8, ..Limits::default() }),
    ] {
        let profile = judge::Profile::new(server.settings()).unwrap();
        let error = judge::Judge::new(profile, &limits).unwrap_err();
        assert!(error.to_string().contains(&format!("`{key}`")), "{error}");
    }
}
