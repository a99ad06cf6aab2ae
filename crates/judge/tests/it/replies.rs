use judge::{Cost, Limits, Price, Usage};
use serde_json::json;

use crate::server::{KEY, Server, ask, completion, judge, question, response};

#[tokio::test]
async fn a_reply_comes_back_whole() {
    let body = json!({
        "model": "some-model-2026-01",
        "choices": [{ "message": { "role": "assistant", "content": "{\"a\":1}" }, "finish_reason": "length" }],
        "usage": { "prompt_tokens": 1000, "completion_tokens": 200 },
    })
    .to_string();
    let server = Server::sending(response("200 OK", &body)).await;
    let mut settings = server.settings();
    settings.price = Some(Price {
        input_per_million: 0.15,
        output_per_million: 0.6,
        cached_input_per_million: None,
        currency: "EUR".into(),
    });
    let reply = ask(&judge(settings, &Limits::default())).await.unwrap();
    assert_eq!(reply.body, body.as_bytes());
    assert_eq!(reply.content, "{\"a\":1}");
    assert_eq!(reply.finish_reason.as_deref(), Some("length"));
    assert_eq!(reply.model.as_deref(), Some("some-model-2026-01"));
    assert_eq!(reply.usage, Some(Usage { prompt: 1000, completion: 200, cached: None }));
    assert_eq!(reply.cost, Some(Cost { micros: 270, currency: "EUR".into() }));
    assert!(!reply.latency.is_zero());
}

#[tokio::test]
async fn unknown_usage_and_price_leave_the_cost_unknown() {
    let server = Server::sending(completion("x")).await;
    let reply = server.ask().await.unwrap();
    assert_eq!((reply.usage, reply.cost), (None, None));
}

#[tokio::test]
async fn the_stored_body_is_the_sent_body() {
    let server = Server::sending(completion("x")).await;
    let judge = server.judge();
    ask(&judge).await.unwrap();
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, judge.body(&question()).to_string());
    assert!(body.contains("Größe?"));
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"));
    let head = head.to_lowercase();
    assert!(head.contains(&format!("authorization: bearer {KEY}")));
    assert!(head.contains("content-type: application/json"));
}

#[tokio::test]
async fn only_the_practice_judge_is_told_the_trace() {
    for practice in [false, true] {
        let server = Server::sending(completion("x")).await;
        let mut settings = server.settings();
        settings.practice = practice;
        ask(&judge(settings, &Limits::default())).await.unwrap();
        let request = server.requests().remove(0);
        assert_eq!(request.contains("groundcrew-trace-id: trace%2F1%20%C3%BC"), practice, "{request}");
        assert_eq!(request.contains("trace"), practice);
    }
}

#[tokio::test]
async fn odd_replies_are_still_replies() {
    let content = |message: serde_json::Value| {
        let body = json!({ "choices": [{ "message": message, "finish_reason": null }] });
        response("200 OK", body.to_string())
    };
    let ask = async |bytes: Vec<u8>| Server::sending(bytes).await.ask().await.unwrap();

    let refused = ask(content(json!({ "content": null, "refusal": "I cannot." }))).await;
    assert_eq!(refused.refusal.as_deref(), Some("I cannot."));
    assert_eq!(refused.finish_reason, None);

    let parts = ask(content(
        json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }),
    ));
    assert_eq!(parts.await.content, "ab");

    assert!(ask(content(json!({ "content": null, "reasoning_content": "hm" }))).await.reasoning_only);

    let mut broken = br#"{"choices":[{"message":{"content":"K"#.to_vec();
    broken.extend([0xC3, 0x28]);
    broken.extend(br#""}}]}"#);
    let reply = ask(response("200 OK", &broken)).await;
    assert_eq!(reply.content, "K\u{fffd}(");
    assert_eq!(reply.body, broken);

    let empty = ask(content(json!({ "content": "" }))).await;
    assert_eq!((empty.content.as_str(), empty.reasoning_only), ("", false));
}

#[tokio::test]
async fn a_chunked_reply_is_read_to_its_end() {
    let body = r#"{"choices":[{"message":{"content":"x"}}]}"#;
    let (first, second) = body.split_at(10);
    let bytes = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    assert_eq!(Server::sending(bytes).await.ask().await.unwrap().content, "x");
}
