use serde_json::json;

use super::*;

fn completion(body: impl AsRef<[u8]>) -> Reply {
    match open(body.as_ref()) {
        Envelope::Completion(reply) => *reply,
        Envelope::Error(error) => panic!("an error: {error}"),
        Envelope::Unreadable(problem) => panic!("unreadable: {problem}"),
    }
}

fn with_message(message: Value) -> Reply {
    completion(json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string())
}

#[test]
fn content_is_found_in_every_form() {
    assert_eq!(with_message(json!({ "content": "{\"a\":1}" })).content, "{\"a\":1}");
    let parts = json!([{ "type": "text", "text": "{\"a\"" }, { "type": "text", "text": ":1}" }, "\n"]);
    assert_eq!(with_message(json!({ "content": parts })).content, "{\"a\":1}\n");
    assert_eq!(with_message(json!({ "content": null })).content, "");
    assert_eq!(with_message(json!({})).content, "");
    assert!(matches!(
        open(br#"{"choices":[{"message":{"content":{"a":1}}}]}"#),
        Envelope::Unreadable(problem) if problem.contains("content")
    ));
}

#[test]
fn reasoning_without_content_is_told_apart_from_an_empty_reply() {
    assert!(!with_message(json!({ "content": "" })).reasoning_only);
    for key in ["reasoning_content", "reasoning"] {
        assert!(with_message(json!({ "content": null, key: "Let me see" })).reasoning_only);
        assert!(with_message(json!({ "content": " \n", key: "Let me see" })).reasoning_only);
        assert!(!with_message(json!({ "content": "x", key: "Let me see" })).reasoning_only);
        assert!(!with_message(json!({ "content": "", key: "" })).reasoning_only);
    }
    let parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }]);
    assert!(with_message(json!({ "content": parts })).reasoning_only);
}

#[test]
fn a_refusal_is_kept_beside_the_content() {
    assert_eq!(with_message(json!({ "content": null, "refusal": "No." })).refusal.as_deref(), Some("No."));
    assert_eq!(with_message(json!({ "content": "x", "refusal": null })).refusal, None);
    let parts = json!([{ "type": "refusal", "refusal": "I will not." }]);
    assert_eq!(with_message(json!({ "content": parts })).refusal.as_deref(), Some("I will not."));
}

#[test]
fn a_choice_without_a_message_counts_when_it_says_why_it_ended() {
    let filtered = completion(r#"{"choices":[{"finish_reason":"content_filter"}]}"#);
    assert_eq!(filtered.finish_reason.as_deref(), Some("content_filter"));
    assert_eq!(filtered.content, "");
    assert!(matches!(open(br#"{"choices":[{"index":0}]}"#), Envelope::Unreadable(_)));
    let unfinished = completion(r#"{"choices":[{"message":{"content":"x"},"finish_reason":null}]}"#);
    assert_eq!(unfinished.finish_reason, None);
}

#[test]
fn broken_text_does_not_make_the_envelope_unreadable() {
    let mut body = br#"{"choices":[{"message":{"content":"K"#.to_vec();
    body.extend([0xFF, 0xC3]);
    body.extend(br#"ln"}}]}"#);
    assert_eq!(completion(&body).content, "K\u{fffd}\u{fffd}ln");
    assert_eq!(completion(&body).body, body);

    for (escaped, content) in [
        (r"a\ud83d!", "a\u{fffd}!"),
        (r"a\udc00", "a\u{fffd}"),
        (r"\ud83d\ude00\ud83d", "😀\u{fffd}"),
        (r"\\ud83d \ud83d", "\\ud83d \u{fffd}"),
        (r"ü\n\ud83d日", "ü\n\u{fffd}日"),
        (r"\u0000", "\0"),
    ] {
        let body = format!(r#"{{"choices":[{{"message":{{"content":"{escaped}"}}}}]}}"#);
        assert_eq!(completion(body).content, content, "{escaped}");
    }
    assert_eq!(completion("\u{feff}{\"choices\":[{\"message\":{\"content\":\"x\"}}]}\n").content, "x");
}

#[test]
fn what_is_not_a_completion_says_what_it_is() {
    for (body, word) in [
        ("", "empty"),
        (" \n", "empty"),
        ("<!DOCTYPE html><html>", "HTML"),
        ("data: {}\n\n", "not JSON"),
        (r#"{"choices":[{"mess"#, "not JSON"),
        (r#"{"a":"\"#, "not JSON"),
        (r#"{"a":"\u"#, "not JSON"),
        (r#"{"a":"\ud83d"#, "not JSON"),
        ("{}", "without choices"),
        (r#"{"choices":[]}"#, "without choices"),
        (r#"{"error":null}"#, "without choices"),
        ("[1]", "without choices"),
        ("3", "without choices"),
    ] {
        match open(body.as_bytes()) {
            Envelope::Unreadable(problem) => assert!(problem.contains(word), "{body}: {problem}"),
            _ => panic!("{body}"),
        }
    }
}

#[test]
fn error_objects_are_seen_wherever_they_stand() {
    for body in [
        r#"{"error":{"message":"no"}}"#,
        r#"{"error":"no","choices":[]}"#,
        r#"{"object":"error","message":"no"}"#,
        r#"{"choices":[{"error":{"code":502,"message":"no"},"finish_reason":"error"}]}"#,
    ] {
        assert!(matches!(open(body.as_bytes()), Envelope::Error(_)), "{body}");
    }
    assert_eq!(completion(r#"{"error":null,"choices":[{"message":{"content":"x"}}]}"#).content, "x");
}

#[test]
fn usage_is_all_or_nothing() {
    let usage_of = |usage: Value| {
        let body = json!({ "choices": [{ "message": { "content": "x" } }], "usage": usage });
        completion(body.to_string()).usage
    };
    let known = Usage { prompt: 10, completion: 3, cached: None };
    assert_eq!(usage_of(json!({ "prompt_tokens": 10, "completion_tokens": 3 })), Some(known));
    assert_eq!(
        usage_of(json!({
            "prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": { "cached_tokens": 4 }
        })),
        Some(Usage { cached: Some(4), ..known })
    );
    assert_eq!(
        usage_of(json!({ "prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 4 })),
        Some(Usage { cached: Some(4), ..known })
    );
    for unknown in [
        json!(null),
        json!({}),
        json!({ "prompt_tokens": 10 }),
        json!({ "prompt_tokens": 0, "completion_tokens": 0 }),
        // What no model could have used.
        json!({ "prompt_tokens": 9_223_372_036_854_775_807_u64, "completion_tokens": 3 }),
        json!({ "prompt_tokens": 3, "completion_tokens": 100_000_001 }),
        json!({ "prompt_tokens": -1, "completion_tokens": 3 }),
    ] {
        assert_eq!(usage_of(unknown.clone()), None, "{unknown}");
    }
}
