use std::time::Duration;

use practice::{Calls, Fault, Faults, Settings};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::client::{ask, get, post, receive, send, start, trace_header, user_message};

#[tokio::test]
async fn calls_are_counted_by_trace() {
    let server = start(Settings { canned_default: Some("x".into()), ..Settings::default() }).await;
    for trace_id in ["a%2F1%20%C3%BC", "a%2F1%20%C3%BC", "b", ""] {
        ask(&server, trace_id).await;
    }
    let twice = json!({ "received": 2, "answered": 2 });
    let once = json!({ "received": 1, "answered": 1 });
    assert_eq!(get(&server, "/calls/a%2F1%20%C3%BC").await, twice);
    assert_eq!(get(&server, "/calls/never").await, json!({ "received": 0, "answered": 0 }));
    assert_eq!(
        get(&server, "/calls").await,
        json!({
            "total": { "received": 4, "answered": 4 },
            "untraced": once,
            "traces": { "a/1 ü": twice, "b": once },
        })
    );
    assert_eq!(server.calls("a/1 ü"), Calls { received: 2, answered: 2 });
    assert_eq!(server.total_calls(), Calls { received: 4, answered: 4 });
    assert_eq!(post(&server, "/reset").await, 200);
    assert_eq!(server.total_calls(), Calls::default());
}

#[tokio::test]
async fn only_whole_completions_count_as_answered() {
    for fault in Fault::ALL {
        let answered = !matches!(
            fault,
            Fault::Hang
                | Fault::SlowDrip
                | Fault::Status429
                | Fault::Status429RetryAfter
                | Fault::Status500
                | Fault::Status529
                | Fault::Status401
                | Fault::CutBody
                | Fault::Html200
        );
        let server = start(Settings { faults: Faults::always(*fault), ..Settings::default() }).await;
        let body = crate::client::body(&user_message());
        let mut stream =
            send(server.local_addr(), "POST", "/v1/chat/completions", &trace_header("t"), &body).await;
        receive(&mut stream, Duration::from_millis(300)).await;
        assert_eq!(server.calls("t"), Calls { received: 1, answered: answered.into() }, "{fault}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_early_gets_no_answer() {
    let server = start(Settings { latency_ms: 200, ..Settings::default() }).await;
    let body = crate::client::body(&user_message());
    let stream = send(server.local_addr(), "POST", "/v1/chat/completions", &trace_header("t"), &body).await;
    while server.calls("t").received == 0 {
        tokio::task::yield_now().await;
    }
    drop(stream);
    sleep(Duration::from_millis(500)).await;
    assert_eq!(server.calls("t"), Calls { received: 1, answered: 0 });
}

#[tokio::test]
async fn latency_lies_in_its_range() {
    let settings = Settings { latency_ms: 100, latency_spread_ms: 100, ..Settings::default() };
    let server = start(settings).await;
    let started = Instant::now();
    ask(&server, "t").await;
    let took = started.elapsed();
    assert!(Duration::from_millis(100) <= took && took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn stopping_does_not_wait_for_calls_that_hang() {
    let server = start(Settings { faults: Faults::always(Fault::Hang), ..Settings::default() }).await;
    let addr = server.local_addr();
    let mut stream = send(addr, "POST", "/v1/chat/completions", "", "{}").await;
    while server.total_calls().received == 0 {
        tokio::task::yield_now().await;
    }
    let started = Instant::now();
    server.stop().await;
    assert!(started.elapsed() < Duration::from_secs(4));
    receive(&mut stream, Duration::from_secs(1)).await;
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
}
