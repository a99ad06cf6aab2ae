use practice::Settings;
use serde_json::json;

use crate::client::{ask, ask_raw, body, body_in, get, named, start, user_message};

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
async fn a_message_may_come_in_parts() {
    let server = start(Settings::default()).await;
    let parts = json!([{ "type": "text", "text": user_message() }]);
    let whole = body(&user_message());
    let request = whole.replace(&json!(user_message()).to_string(), &parts.to_string());
    assert_ne!(request, whole);
    assert_eq!(ask_raw(&server, "", &request).await.report()["total_claims"], 4);
}

#[tokio::test]
async fn what_is_no_question_is_refused() {
    let server = start(Settings::default()).await;
    let unnamed = |format: serde_json::Value| body_in(&format, "Reply with \"verdict\".", &user_message());
    for (request, word) in [
        ("nonsense".to_owned(), "not a chat completion request"),
        (json!({ "messages": [] }).to_string(), "no user message"),
        (body("Hello!"), "no prompt of groundcrew"),
        (
            body_in(&named("poetry"), "You audit.", &user_message()),
            "does not know the schema `poetry`; it knows faithfulness, hallucination_eval, reference, \
             evidence_check, gate, claim_extraction",
        ),
        (
            unnamed(json!(null)),
            "finds neither a schema's name nor all keys of a reply in the request; it knows",
        ),
        (unnamed(json!({ "type": "json_object" })), "finds neither"),
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
