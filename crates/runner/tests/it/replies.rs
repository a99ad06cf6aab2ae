//! What an attempt says about a reply.

use practice::Fault;

use crate::{TestJudge, run};

#[tokio::test]
async fn reasoning_without_an_answer_is_empty_and_says_so() {
    let judge = TestJudge::start(Some(Fault::ReasoningOnly)).await;
    let (_, attempts) = run(judge.judge("first").into()).await;
    for attempt in attempts {
        assert_eq!(attempt.problems[0]["code"], "empty");
        let message = attempt.problems[0]["message"].as_str().unwrap();
        assert!(message.contains("reasoning"), "{message}");
    }
    let judge = TestJudge::start(Some(Fault::Empty)).await;
    let (_, attempts) = run(judge.judge("first").into()).await;
    assert_eq!(attempts[0].problems[0]["code"], "empty");
    assert!(!attempts[0].problems[0]["message"].as_str().unwrap().contains("reasoning"));
}

#[tokio::test]
async fn the_limit_of_the_reply_follows_from_the_answer() {
    let judge = TestJudge::start(None).await;
    let (_, attempts) = run(judge.judge("first").into()).await;
    let request: serde_json::Value = serde_json::from_slice(&attempts[0].request).unwrap();
    // The answer has 69 characters, which count as 23 tokens.
    assert_eq!(request["max_tokens"], 2048 + 6 * 23);
}
