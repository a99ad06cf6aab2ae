use practice::Settings;
use serde_json::json;

use crate::client::{ask, ask_raw, body, get, start, user_message};

#[tokio::test]
async fn the_reply_has_every_key_and_adds_up() {
    let server = start(Settings::default()).await;
    let raw = ask(&server, "t").await;
    assert_eq!(raw.status, 200);
    assert_eq!(raw.header("content-type"), Some("application/json"));
    assert_eq!(raw.header("groundcrew-practice-fault"), None);
    let reply = raw.json();
    assert_eq!(reply["model"], "groundcrew-practice-judge");
    assert_eq!(raw.choice()["finish_reason"], "stop");
    let (prompt, completion) = (&reply["usage"]["prompt_tokens"], &reply["usage"]["completion_tokens"]);
    assert_eq!(completion.as_u64().unwrap(), raw.content().len().div_ceil(4) as u64);
    assert!(100 < prompt.as_u64().unwrap());

    let report = raw.report();
    assert_eq!(report["faithfulness_score"], 0.5);
    assert_eq!(
        [&report["total_claims"], &report["grounded_claims"], &report["hallucinated_claims"]],
        [4, 2, 2]
    );
    let claims = report["claim_analysis"].as_array().unwrap();
    assert_eq!(
        claims[0],
        json!({
            "claim_text": "The Harbour Museum in Porto opened in 1987.",
            "classification": "grounded",
            "supporting_evidence": "The Harbour Museum in Porto opened in 1987.",
            "contradicting_evidence": null,
            "explanation": claims[0]["explanation"],
            "severity": null,
            "source_id": "museum",
        })
    );
    assert_eq!(claims[2]["contradicting_evidence"], "The collection holds 240 ships.");
    assert_eq!(claims[2]["source_id"], "ships");
    assert_eq!(claims[3]["contradicting_evidence"], json!(null));
    assert_eq!(report["omission_flags"], json!([]));
    assert!(report["overall_assessment"].as_str().unwrap().contains("Practice judge"));
}

#[tokio::test]
async fn the_same_question_gets_the_same_bytes() {
    let server = start(Settings::default()).await;
    assert_eq!(ask(&server, "t").await.body, ask(&server, "t").await.body);
}

#[tokio::test]
async fn dialects_without_a_schema_name_are_understood() {
    let server = start(Settings::default()).await;
    let message = |content: serde_json::Value| json!({ "role": "user", "content": content });
    for request in [
        json!({ "messages": [message(json!(user_message()))] }),
        json!({ "messages": [message(json!(user_message()))], "response_format": { "type": "json_object" } }),
        json!({ "messages": [message(json!([{ "type": "text", "text": user_message() }]))] }),
    ] {
        assert_eq!(ask_raw(&server, "", &request.to_string()).await.report()["total_claims"], 4);
    }
}

#[tokio::test]
async fn what_is_no_question_is_refused() {
    let server = start(Settings::default()).await;
    for (request, word) in [
        ("nonsense".to_owned(), "not a chat completion request"),
        (json!({ "messages": [] }).to_string(), "no user message"),
        (body("Hello!"), "no prompt of groundcrew"),
        (body(&user_message()).replace("\"faithfulness\"", "\"poetry\""), "only knows"),
    ] {
        let raw = ask_raw(&server, "", &request).await;
        assert_eq!(raw.status, 400);
        assert!(raw.json()["error"]["message"].as_str().unwrap().contains(word), "{raw:?}");
    }
}

#[tokio::test]
async fn models_and_health() {
    let server = start(Settings::default()).await;
    assert_eq!(get(&server, "/v1/models").await["data"][0]["id"], "groundcrew-practice-judge");
    assert_eq!(get(&server, "/health").await["status"], "ok");
}
