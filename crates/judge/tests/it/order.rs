//! Judges that stand in for one another.

use std::time::Duration;

use judge::{Availability, Judge, Judges, Limits, ProfileSettings};
use tokio::time::timeout;

use crate::server::{Server, ask, completion, judge, response};

fn named(name: &str, server: &Server) -> Judge {
    let limits = Limits { retry_after_min_ms: 10, ..Limits::default() };
    judge(ProfileSettings { name: name.into(), ..server.settings() }, &limits)
}

/// Whether a future is not done after a while.
async fn waits(future: impl Future<Output = ()>) -> bool {
    timeout(Duration::from_millis(50), future).await.is_err()
}

#[tokio::test]
async fn a_judge_that_would_refuse_is_passed_over() {
    let wrong_key = Server::sending(response("401 Unauthorized", "")).await;
    let fine = Server::sending(completion("x")).await;
    let judges =
        Judges::new(named("a", &wrong_key), vec![named("b", &wrong_key), named("c", &fine)]).unwrap();
    assert_eq!(judges.turn().judge().name(), "a");

    ask(judges.turn().judge()).await.unwrap_err();
    let mut turn = judges.turn();
    assert_eq!(turn.judge().name(), "b");
    ask(turn.judge()).await.unwrap_err();
    assert!(turn.pass_on());
    assert_eq!(turn.judge().name(), "c");
    ask(turn.judge()).await.unwrap();
    assert!(!turn.pass_on(), "nobody is left");
    assert_eq!(turn.judge().name(), "c");
    assert_eq!(judges.first().name(), "a");
}

#[tokio::test]
async fn work_pauses_only_while_no_judge_can_be_asked() {
    let pause = Server::sending(response("429 Slow\r\nretry-after-ms: 600", "")).await;
    let judges = Judges::new(named("a", &pause), vec![named("b", &pause)]).unwrap();
    let mut watch = judges.watch();
    assert_eq!(watch.now(), Availability::Full);
    ask(judges.turn().judge()).await.unwrap_err();
    watch.changed().await;
    assert_eq!(watch.now(), Availability::Full, "one can still be asked");
    assert!(waits(watch.changed()).await);

    ask(judges.turn().judge()).await.unwrap_err();
    watch.changed().await;
    assert_eq!(watch.now(), Availability::None);
    assert_eq!(judges.turn().judge().name(), "a", "all would refuse, so the first one says how long");
    watch.changed().await;
    assert_eq!(watch.now(), Availability::Probe, "the time of the first one is over");
}

#[tokio::test]
async fn an_order_that_would_blur_who_answered_is_refused() {
    let server = Server::sending(completion("x")).await;
    let twice = Judges::new(named("a", &server), vec![named("a", &server)]).unwrap_err();
    assert_eq!(twice.to_string(), "judge `a` stands in the order twice");
    let practice = ProfileSettings { name: "p".into(), practice: true, ..server.settings() };
    let practice = judge(practice, &Limits::default());
    assert!(Judges::new(named("a", &server), vec![practice.clone()]).is_err());
    assert!(Judges::new(practice, vec![named("a", &server)]).is_err());
}
