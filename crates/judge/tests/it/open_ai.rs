//! OpenAI's chat completions and those who speak them.

use judge::{Class, Cost, Price, ProfileSettings, StructuredOutput, Usage};
use serde_json::json;

use crate::server::{KEY, answered_with};

const OK: &str = "200 OK";

fn model(name: &'static str) -> impl FnOnce(&mut ProfileSettings) {
    move |settings| settings.model = name.into()
}

#[tokio::test]
async fn a_model_that_does_not_reason_gets_schema_limit_and_temperature() {
    let (request, reply) = answered_with(OK, "openai/reply.json", model("gpt-4o-mini")).await;
    request.assert_body("openai/request.json");
    assert_eq!(request.line(), "POST /v1/chat/completions");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let reply = reply.unwrap();
    assert_eq!(reply.content, r#"{"total_claims":1}"#);
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
    assert_eq!(reply.model.as_deref(), Some("gpt-4o-mini-2024-07-18"));
    assert_eq!(reply.usage, Some(Usage { prompt: 1200, completion: 300, cached: Some(1000) }));
}

#[tokio::test]
async fn a_reasoning_model_gets_no_temperature_and_room_to_think() {
    let (request, _) = answered_with(OK, "openai/reply.json", |settings| {
        settings.model = "gpt-5-mini".into();
        settings.extra_params.insert("reasoning_effort".into(), json!("low"));
    })
    .await;
    request.assert_body("openai/request_reasoning.json");
}

#[tokio::test]
async fn azure_is_asked_with_its_own_header_and_version() {
    let (request, reply) = answered_with(OK, "openai/reply.json", |settings| {
        settings.base_url = settings.base_url.replace("/v1", "/openai/deployments/judge");
        settings.api_key_header = Some("api-key".into());
        settings.api_version = Some("2024-10-21".into());
    })
    .await;
    assert_eq!(request.line(), "POST /openai/deployments/judge/chat/completions?api-version=2024-10-21");
    assert_eq!((request.header("api-key"), request.header("authorization")), (Some(KEY), None));
    assert!(reply.is_ok());
}

#[tokio::test]
async fn each_server_gets_the_schema_where_it_looks_for_it() {
    let schema = json!({ "type": "object" });
    for (dialect, key, value) in [
        (StructuredOutput::JsonObject, "response_format", json!({ "type": "json_object" })),
        (
            StructuredOutput::JsonObjectWithSchema,
            "response_format",
            json!({ "type": "json_object", "schema": schema }),
        ),
        (StructuredOutput::StructuredOutputs, "structured_outputs", json!({ "json": schema })),
        (StructuredOutput::GuidedJson, "guided_json", schema.clone()),
        (StructuredOutput::None, "messages", json!(null)),
    ] {
        let (request, _) =
            answered_with(OK, "openai/reply.json", |settings| settings.structured_output = dialect).await;
        let mut body = request.body.as_object().unwrap().clone();
        for known in ["model", "temperature", "max_tokens"] {
            body.remove(known);
        }
        if dialect != StructuredOutput::None {
            assert_eq!(body.remove(key), Some(value), "{dialect:?}");
        }
        assert_eq!(body.keys().collect::<Vec<_>>(), ["messages"], "{dialect:?}");
    }
}

#[tokio::test]
async fn reasoning_without_an_answer_refusals_and_filters_are_told_apart() {
    let reply = |name: &'static str| async move { answered_with(OK, name, |_| ()).await.1.unwrap() };
    let reasoned = reply("openai/reply_reasoning_only.json").await;
    assert!(reasoned.reasoning_only && reasoned.content.is_empty());
    assert_eq!(reasoned.finish_reason.as_deref(), Some("length"));

    let refused = reply("openai/reply_refusal.json").await;
    assert_eq!(refused.refusal.as_deref(), Some("I'm sorry, I can't help with that."));

    let filtered = reply("openai/reply_filtered.json").await;
    assert_eq!((filtered.finish_reason.as_deref(), filtered.reasoning_only), (Some("content_filter"), false));
}

#[tokio::test]
async fn errors_have_their_class() {
    for (status, name, class) in [
        ("400 Bad Request", "openai/error_azure_filter.json", Class::Refusal),
        ("400 Bad Request", "openai/error_parameter.json", Class::Permanent),
        ("400 Bad Request", "openai/error_too_long.json", Class::ContextTooLong),
    ] {
        assert_eq!(answered_with(status, name, |_| ()).await.1.unwrap_err().class, class, "{name}");
    }
}

#[tokio::test]
async fn the_price_is_that_of_the_model_that_answered_or_unknown() {
    let price = |input| Price {
        input_per_million: input,
        output_per_million: 10.0,
        cached_input_per_million: Some(0.5),
        currency: "USD".into(),
    };
    let cost = |asked: &'static str, priced: &'static str| async move {
        let (_, reply) = answered_with(OK, "openai/reply.json", |settings| {
            settings.model = asked.into();
            settings.prices.insert(priced.into(), price(1.0));
        })
        .await;
        reply.unwrap().cost
    };
    // 200 fresh tokens at 1, 1000 cached ones at 0.5, 300 of the reply at 10, each for a million.
    let known = Some(Cost { micros: 200 + 500 + 3000, currency: "USD".into() });
    assert_eq!(cost("gpt-4o-mini", "gpt-4o-mini-2024-07-18").await, known);
    assert_eq!(cost("gpt-4o-mini", "gpt-4o-mini").await, known);
    assert_eq!(cost("gpt-4o-mini", "gpt-4o").await, None);
}
