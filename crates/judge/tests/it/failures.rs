use std::{error::Error, time::Duration};

use judge::{Class, JudgeError, Limits, ProfileSettings};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::server::{KEY, Server, Step, ask, completion, judge, question, response};

async fn error_of(bytes: impl Into<Vec<u8>>) -> JudgeError {
    Server::sending(bytes).await.ask().await.unwrap_err()
}

fn quick(server: &Server, read_ms: u64, total_ms: u64) -> ProfileSettings {
    ProfileSettings {
        connect_timeout_ms: read_ms,
        read_timeout_ms: read_ms,
        total_timeout_ms: total_ms,
        ..server.settings()
    }
}

#[tokio::test]
async fn throttles_carry_the_clamped_pause() {
    let seconds = |s| Some(Duration::from_secs(s));
    for (head, expected) in [
        ("429 Too Many Requests", None),
        ("429 Too Many Requests\r\nretry-after: 7", seconds(7)),
        ("429 Too Many Requests\r\nretry-after: 0", seconds(1)),
        ("429 Too Many Requests\r\nretry-after: 999999999", seconds(300)),
        ("429 Too Many Requests\r\nretry-after: 99999999999999999999999", seconds(300)),
        ("429 Too Many Requests\r\nretry-after: -3", None),
        ("429 Too Many Requests\r\nretry-after: later", None),
        ("429 Too Many Requests\r\nretry-after: Fri, 31 Dec 9999 23:59:59 GMT", seconds(300)),
        ("429 Too Many Requests\r\nretry-after: Sat, 01 Jan 2000 00:00:00 GMT", seconds(1)),
        ("529 Overloaded", None),
        ("503 Service Unavailable\r\nretry-after: 12", seconds(12)),
    ] {
        let error = error_of(response(head, "{}")).await;
        assert_eq!((error.class(), error.retry_after), (Class::Throttle, expected), "{head}");
        assert!(error.sent);
    }
}

#[tokio::test]
async fn a_date_is_honoured_to_the_second() {
    let date = (chrono::Utc::now() + Duration::from_secs(60)).to_rfc2822().replace("+0000", "GMT");
    let error = error_of(response(&format!("429 Slow\r\nretry-after: {date}"), "")).await;
    let pause = error.retry_after.unwrap();
    assert!(Duration::from_secs(50) < pause && pause <= Duration::from_secs(60), "{pause:?}");
}

#[tokio::test]
async fn server_errors_are_transport_and_keep_their_body() {
    for head in
        ["500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"]
    {
        let error = error_of(response(head, r#"{"error":{"message":"line one\n line two"}}"#)).await;
        assert_eq!(error.class(), Class::Transport);
        assert_eq!(error.status, head[..3].parse().ok());
        assert_eq!(error.body, br#"{"error":{"message":"line one\n line two"}}"#);
        assert_eq!(error.in_full(), format!("judge `local` answered {}: line one line two", &head[..3]));
    }
}

#[tokio::test]
async fn no_connection_is_transport() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let settings = ProfileSettings::new("local", format!("http://{address}/v1"), "m");
    let error = ask(&judge(settings, &Limits::default())).await.unwrap_err();
    assert_eq!((error.class(), error.status), (Class::Transport, None));
    assert_eq!(error.to_string(), "judge `local` could not be connected to");
    assert!(error.source().is_some(), "the cause is in the chain");

    let unknown = ProfileSettings::new("far", "http://no-such-host.invalid/v1", "m");
    let error = ask(&judge(unknown, &Limits::default())).await.unwrap_err();
    assert_eq!(error.class(), Class::Transport);
}

#[tokio::test]
async fn a_silent_judge_meets_the_read_time_out() {
    let server = Server::start(vec![vec![Step::Hang]]).await;
    let error = ask(&judge(quick(&server, 100, 10_000), &Limits::default())).await.unwrap_err();
    assert_eq!(error.class(), Class::Transport);
    assert_eq!(error.to_string(), "judge `local` was silent for 100 ms");
    assert!(error.latency < Duration::from_secs(5));

    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"cho".to_vec();
    let server = Server::start(vec![vec![Step::Send(head), Step::Hang]]).await;
    let error = ask(&judge(quick(&server, 100, 10_000), &Limits::default())).await.unwrap_err();
    assert_eq!(error.to_string(), "judge `local` was silent for 100 ms");
    assert_eq!(error.body, b"{\"cho", "what had come is kept");
}

#[tokio::test]
async fn a_slow_drip_meets_the_total_time_out() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_vec();
    let drip = Step::Drip(vec![b'x'; 1000], Duration::from_millis(20));
    let server = Server::start(vec![vec![Step::Send(head), drip]]).await;
    let error = ask(&judge(quick(&server, 250, 500), &Limits::default())).await.unwrap_err();
    assert_eq!(error.class(), Class::Transport);
    assert_eq!(error.to_string(), "judge `local` did not finish within 500 ms");
}

#[tokio::test]
async fn a_cut_body_is_transport() {
    let whole = completion("a content that is long enough to be cut");
    let error = error_of(&whole[..whole.len() - 10]).await;
    assert_eq!((error.class(), error.status), (Class::Transport, Some(200)));
    assert!(error.to_string().contains("broke off its reply after"), "{error}");
    assert!(error.body.starts_with(b"{\"choices\""));

    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"cho\r\n";
    assert_eq!(error_of(chunked).await.class(), Class::Transport);
    // A body without a length ends with the connection: that it was cut shows in its JSON only.
    let unbounded = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"choices\":[{\"mess";
    let error = error_of(unbounded).await;
    assert_eq!(error.class(), Class::Transport);
    assert!(error.to_string().contains("not JSON"), "{error}");
    assert_eq!(error_of("").await.class(), Class::Transport);
    assert_eq!(error_of("what?\r\n\r\n").await.class(), Class::Transport);
}

#[tokio::test]
async fn a_huge_reply_is_not_read_to_its_end() {
    let server = Server::sending(completion(&"x".repeat(10 * 1024 * 1024))).await;
    let error = server.ask().await.unwrap_err();
    assert_eq!(error.class(), Class::Oversized);
    assert_eq!(error.body.len(), 1024 * 1024);
    assert_eq!(error.to_string(), "judge `local` sent more than 1048576 bytes");

    // Exactly the limit is allowed.
    let bytes = completion("x");
    let mut settings = Server::sending(bytes.clone()).await.settings();
    let body_start = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    settings.max_reply_bytes = bytes.len() - body_start;
    assert_eq!(ask(&judge(settings, &Limits::default())).await.unwrap().content, "x");
}

#[tokio::test]
async fn a_huge_error_page_keeps_its_status() {
    let error = error_of(response("401 Unauthorized", "x".repeat(1 << 20))).await;
    assert_eq!((error.class(), error.body.len()), (Class::Permanent, 64 * 1024));
    // A status that came is believed although its body never ended.
    let head = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 100\r\n\r\n".to_vec();
    let server = Server::start(vec![vec![Step::Send(head), Step::Hang]]).await;
    let error = ask(&judge(quick(&server, 100, 5_000), &Limits::default())).await.unwrap_err();
    assert_eq!(error.class(), Class::Permanent);
}

#[tokio::test]
async fn success_that_is_no_completion_is_transport() {
    for (head, body) in [
        ("200 OK\r\ncontent-type: text/html", "<html><body>Sign in</body></html>"),
        ("200 OK", ""),
        ("204 No Content", ""),
        ("200 OK", "{}"),
        ("200 OK", r#"{"choices":[]}"#),
        ("200 OK", "OK"),
    ] {
        let error = error_of(response(head, body)).await;
        assert_eq!(error.class(), Class::Transport, "{body}");
        assert_eq!(error.body, body.as_bytes());
    }
}

#[tokio::test]
async fn errors_by_their_body() {
    for (head, body, class) in [
        ("200 OK", r#"{"error":{"code":429,"message":"m"}}"#, Class::Throttle),
        ("200 OK", r#"{"error":{"code":"content_filter","message":"m"}}"#, Class::Refusal),
        ("400 Bad Request", r#"{"error":{"code":"content_filter","message":"m"}}"#, Class::Refusal),
        (
            "400 Bad Request",
            r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#,
            Class::ContextTooLong,
        ),
        ("413 Payload Too Large", "<html>nginx</html>", Class::ContextTooLong),
        ("400 Bad Request", r#"{"error":{"message":"unsupported parameter"}}"#, Class::Permanent),
        ("422 Unprocessable Entity", r#"{"detail":[{"msg":"extra field"}]}"#, Class::Permanent),
        ("401 Unauthorized", r#"{"error":{"message":"bad key"}}"#, Class::Permanent),
        ("402 Payment Required", "{}", Class::Permanent),
        ("403 Forbidden", "", Class::Permanent),
        ("404 Not Found", r#"{"error":{"code":"model_not_found"}}"#, Class::Permanent),
        ("429 Too Many Requests", r#"{"error":{"code":"insufficient_quota"}}"#, Class::Permanent),
    ] {
        assert_eq!(error_of(response(head, body)).await.class(), class, "{head} {body}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = Server::sending(completion("x")).await;
    let head = format!("307 Temporary Redirect\r\nlocation: http://{}/v1/chat/completions", target.address);
    let error = error_of(response(&head, "")).await;
    assert_eq!((error.class(), error.status), (Class::Permanent, Some(307)));
    assert!(error.to_string().contains("base_url"), "{error}");
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_key_that_is_sent_back_is_taken_out() {
    let body = format!(r#"{{"error":{{"message":"incorrect key: {KEY}."}}}}"#);
    let error = error_of(response("401 Unauthorized", &body)).await;
    assert_eq!(error.in_full(), "judge `local` answered 401: incorrect key: [redacted].");
    assert_eq!(error.body, body.replace(KEY, "[redacted]").as_bytes());
}

/// Some servers repeat the request in their error; the message goes into logs.
#[tokio::test]
async fn an_error_that_repeats_the_question_told_it_to_the_log() {
    for body in [
        r#"{"detail":[{"loc":["body"],"msg":"too long","input":"a private QUESTION"}]}"#,
        r#"{"error":{"message":"invalid content: a private QUESTION"}}"#,
        r#"{"error":"a private QUESTION"}"#,
    ] {
        for status in ["400 Bad Request", "422 Unprocessable Entity", "500 Internal Server Error", "200 OK"] {
            let error = error_of(response(status, body)).await;
            assert!(!error.to_string().contains("QUESTION"), "{status}: {error}");
            // A success without a reply is told in our words alone.
            let is_told = error.in_full().contains("QUESTION") || status == "200 OK";
            assert!(is_told, "{status}: {}", error.in_full());
        }
    }
}

#[tokio::test]
async fn a_key_is_in_no_debug_output() {
    let server = Server::sending(completion("x")).await;
    let judge = server.judge();
    assert!(!format!("{judge:?} {:?}", judge.profile()).contains(KEY));
}

#[tokio::test]
async fn a_stopped_call_ends_at_once() {
    let server = Server::start(vec![vec![Step::Hang]]).await;
    let stop = CancellationToken::new();
    let canceller = stop.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(100)).await;
        canceller.cancel();
    });
    let started = Instant::now();
    let judge = server.judge();
    let error = judge.ask(&question(), &stop).await.unwrap_err();
    assert_eq!((error.class(), error.sent), (Class::Interrupted, true));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(judge.limiter().in_flight(), 0);

    let error = judge.ask(&question(), &stop).await.unwrap_err();
    assert_eq!((error.class(), error.sent), (Class::Interrupted, false));
}
