//! Google's Gemini API.

use std::time::Duration;

use judge::{Class, JudgeError, ProfileSettings, Provider, Reply, StructuredOutput, Usage};
use serde_json::json;

use crate::server::{KEY, Request, answered_with};

async fn ask(
    status: &str,
    reply: &str,
    change: impl FnOnce(&mut ProfileSettings),
) -> (Request, Result<Reply, JudgeError>) {
    answered_with(status, reply, |settings| {
        settings.provider = Provider::Gemini;
        settings.base_url = settings.base_url.replace("/v1", "/v1beta");
        settings.model = "gemini-2.5-flash".into();
        change(settings);
    })
    .await
}

#[tokio::test]
async fn the_schema_stands_in_the_configuration_of_the_generation() {
    let (request, _) = ask("200 OK", "gemini/reply.json", |settings| {
        let thinking = json!({ "thinkingConfig": { "thinkingBudget": 1024 } });
        settings.extra_params.insert("generationConfig".into(), thinking);
    })
    .await;
    request.assert_body("gemini/request.json");
    assert_eq!(request.line(), "POST /v1beta/models/gemini-2.5-flash:generateContent");
    assert_eq!((request.header("x-goog-api-key"), request.header("authorization")), (Some(KEY), None));
}

#[tokio::test]
async fn a_model_that_wants_its_own_temperature_gets_none() {
    let (request, _) = ask("200 OK", "gemini/reply.json", |settings| {
        settings.model = "models/gemini-3-flash".into();
        settings.structured_output = StructuredOutput::JsonObject;
    })
    .await;
    request.assert_body("gemini/request_third.json");
    assert_eq!(request.line(), "POST /v1beta/models/gemini-3-flash:generateContent");
}

#[tokio::test]
async fn thoughts_are_paid_for_and_are_no_part_of_the_content() {
    let reply = ask("200 OK", "gemini/reply.json", |_| ()).await.1.unwrap();
    assert_eq!((reply.content.as_str(), reply.reasoning_only), (r#"{"total_claims":1}"#, false));
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
    assert_eq!(reply.model.as_deref(), Some("gemini-2.5-flash-001"));
    assert_eq!(reply.usage, Some(Usage { prompt: 1200, completion: 300, cached: Some(1000) }));
}

#[tokio::test]
async fn thinking_up_to_the_limit_is_thinking_without_an_answer() {
    let reply = ask("200 OK", "gemini/reply_thinking_only.json", |_| ()).await.1.unwrap();
    assert!(reply.reasoning_only && reply.content.is_empty() && reply.refusal.is_none());
    assert_eq!(reply.finish_reason.as_deref(), Some("length"));
    assert_eq!(reply.usage, Some(Usage { prompt: 1706, completion: 2999, cached: None }));
}

#[tokio::test]
async fn what_the_filters_withhold_is_a_refusal() {
    for (name, refusal) in [
        ("gemini/reply_safety.json", "the reply was withheld: SAFETY"),
        ("gemini/reply_prompt_blocked.json", "the prompt was blocked: PROHIBITED_CONTENT"),
    ] {
        let reply = ask("200 OK", name, |_| ()).await.1.unwrap();
        assert_eq!(reply.refusal.as_deref(), Some(refusal));
        assert_eq!(reply.finish_reason.as_deref(), Some("content_filter"));
        assert!(!reply.reasoning_only);
    }
}

#[tokio::test]
async fn errors_have_their_class() {
    for (status, name, class) in [
        ("400 Bad Request", "gemini/error_key.json", Class::Permanent),
        ("400 Bad Request", "gemini/error_too_long.json", Class::ContextTooLong),
        ("404 Not Found", "gemini/error_model.json", Class::Permanent),
        ("429 Too Many Requests", "gemini/error_quota.json", Class::Throttle),
        ("503 Service Unavailable", "gemini/error_overloaded.json", Class::Throttle),
        ("200 OK", "gemini/error_overloaded.json", Class::Throttle),
        ("200 OK", "openai/reply.json", Class::Transport),
    ] {
        let error = ask(status, name, |_| ()).await.1.unwrap_err();
        assert_eq!(error.class, class, "{status} {name}");
    }
}

#[tokio::test]
async fn the_pause_is_read_from_the_body_of_the_error() {
    let error = ask("429 Too Many Requests", "gemini/error_quota.json", |_| ()).await.1.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_millis(34_500)));
    let head = "429 Too Many Requests\r\nretry-after: 7";
    let error = ask(head, "gemini/error_quota.json", |_| ()).await.1.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "the header goes first");
}
