//! Many calls over few connections.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, http::header::CONTENT_TYPE, routing::post, serve::ListenerExt};
use judge::{HttpVersion, Judge, Limits, Profile, ProfileSettings};
use tokio::{net::TcpListener, sync::Barrier};

use crate::server::ask;

const REPLY: &str = r#"{"model":"m","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}"#;

/// A server that answers none of so many calls before it has all of them, and the connections it has accepted.
async fn server(calls: usize) -> (String, Arc<AtomicUsize>) {
    let all = Arc::new(Barrier::new(calls));
    let answer = move || {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            ([(CONTENT_TYPE, "application/json")], REPLY)
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let listener = listener.tap_io(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let app = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, connections)
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_do_not_wait_unseen_for_one_connection_of_http2() {
    // The server takes 200 calls on one connection. With one connection it would wait for the others for ever.
    const CALLS: usize = 450;
    let (url, connections) = server(CALLS).await;
    let settings = ProfileSettings {
        http_version: HttpVersion::Http2,
        read_timeout_ms: 20_000,
        total_timeout_ms: 20_000,
        ..ProfileSettings::new("many", url, "some-model")
    };
    let limits = Limits { max_concurrency: CALLS, start_concurrency: CALLS, ..Limits::default() };
    let judge = Judge::new(Profile::new(settings).unwrap(), &limits).unwrap();
    let replies = futures_util::future::join_all((0..CALLS).map(|_| ask(&judge)));
    let replies = tokio::time::timeout(Duration::from_secs(60), replies).await.unwrap();
    assert_eq!(replies.iter().filter(|reply| reply.is_err()).count(), 0, "{:?}", replies[0]);
    assert_eq!(connections.load(Ordering::SeqCst), 5, "a hundred calls on each");
}
