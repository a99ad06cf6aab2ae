//! Anthropic's Messages API.

use judge::{Class, JudgeError, ProfileSettings, Provider, Reply, StructuredOutput, Usage};
use serde_json::json;

use crate::server::{KEY, Request, answered_with};

async fn ask(
    status: &str,
    reply: &str,
    change: impl FnOnce(&mut ProfileSettings),
) -> (Request, Result<Reply, JudgeError>) {
    answered_with(status, reply, |settings| {
        settings.provider = Provider::Anthropic;
        settings.model = "claude-sonnet-4-5".into();
        change(settings);
    })
    .await
}

#[tokio::test]
async fn the_schema_is_that_of_a_tool_which_must_be_called() {
    let (request, _) = ask("200 OK", "anthropic/reply_tool.json", |_| ()).await;
    request.assert_body("anthropic/request_tool.json");
    assert_eq!(request.line(), "POST /v1/messages");
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("authorization"), None);
}

#[tokio::test]
async fn a_model_that_cannot_be_made_to_call_a_tool_gets_an_output_format() {
    let (request, _) = ask("200 OK", "anthropic/reply_text.json", |settings| {
        settings.model = "claude-sonnet-5-5".into();
        settings.extra_params.insert("output_config".into(), json!({ "effort": "low" }));
    })
    .await;
    request.assert_body("anthropic/request_output_config.json");

    let (request, _) = ask("200 OK", "anthropic/reply_tool.json", |settings| {
        settings.model = "claude-sonnet-5-5".into();
        settings.structured_output = StructuredOutput::Tool;
    })
    .await;
    assert_eq!(request.body["tool_choice"]["type"], "tool", "a way that is named is taken");
}

#[tokio::test]
async fn a_limit_is_sent_even_when_none_is_wanted() {
    let (request, _) = ask("200 OK", "anthropic/reply_tool.json", |settings| {
        settings.max_tokens = None;
        settings.structured_output = StructuredOutput::None;
    })
    .await;
    assert_eq!(request.body["max_tokens"], 2648);
    assert!(request.body.get("tools").is_none() && request.body.get("output_config").is_none());
}

#[tokio::test]
async fn the_arguments_of_the_call_are_the_content_as_they_were_written() {
    let reply = ask("200 OK", "anthropic/reply_tool.json", |_| ()).await.1.unwrap();
    assert_eq!(reply.content, r#"{"total_claims":1,"total_claims":2,"faithfulness_score":0.50}"#);
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
    assert_eq!(reply.model.as_deref(), Some("claude-sonnet-4-5-20250929"));
    assert_eq!(reply.usage, Some(Usage { prompt: 1200, completion: 300, cached: Some(1000) }));
}

#[tokio::test]
async fn a_text_in_place_of_a_call_is_the_content() {
    let reply = ask("200 OK", "anthropic/reply_text.json", |_| ()).await.1.unwrap();
    assert_eq!((reply.content.as_str(), reply.reasoning_only), (r#"{"total_claims":1}"#, false));
}

#[tokio::test]
async fn thinking_without_an_answer_and_refusals_are_told_apart() {
    let thought = ask("200 OK", "anthropic/reply_thinking_only.json", |_| ()).await.1.unwrap();
    assert!(thought.reasoning_only && thought.content.is_empty());
    assert_eq!(thought.finish_reason.as_deref(), Some("length"));

    let refused = ask("200 OK", "anthropic/reply_refusal.json", |_| ()).await.1.unwrap();
    assert_eq!(refused.refusal.as_deref(), Some("the model declined: cyber"));
    assert_eq!(refused.finish_reason.as_deref(), Some("content_filter"));
}

#[tokio::test]
async fn errors_have_their_class() {
    for (status, name, class) in [
        ("529 Overloaded", "anthropic/error_overloaded.json", Class::Throttle),
        ("200 OK", "anthropic/error_overloaded.json", Class::Throttle),
        ("429 Too Many Requests", "anthropic/error_rate_limit.json", Class::Throttle),
        ("400 Bad Request", "anthropic/error_too_long.json", Class::ContextTooLong),
        ("400 Bad Request", "anthropic/error_parameter.json", Class::Permanent),
        ("401 Unauthorized", "anthropic/error_key.json", Class::Permanent),
        // Somebody else's reply: this is not the API that was meant.
        ("200 OK", "openai/reply.json", Class::Transport),
    ] {
        let error = ask(status, name, |_| ()).await.1.unwrap_err();
        assert_eq!(error.class, class, "{status} {name}");
    }
}
