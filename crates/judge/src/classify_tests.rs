use super::*;

fn class(status: u16, body: &str) -> Class {
    by_status(status, false, &ProviderError::read(body.as_bytes())).class
}

fn class_in_200(body: &str) -> Class {
    by_error(&ProviderError::read(body.as_bytes())).class
}

#[test]
fn statuses_have_a_class_without_any_body() {
    for (status, expected) in [
        (301, Class::Permanent),
        (307, Class::Permanent),
        (400, Class::Permanent),
        (401, Class::Permanent),
        (402, Class::Permanent),
        (403, Class::Permanent),
        (404, Class::Permanent),
        (408, Class::Transport),
        (409, Class::Transport),
        (413, Class::ContextTooLong),
        (415, Class::Permanent),
        (422, Class::Permanent),
        (429, Class::Throttle),
        (500, Class::Transport),
        (502, Class::Transport),
        (503, Class::Transport),
        (504, Class::Transport),
        (529, Class::Throttle),
    ] {
        assert_eq!(class(status, ""), expected, "{status}");
    }
    assert_eq!(by_status(503, true, &ProviderError::default()).class, Class::Throttle);
    assert_eq!(by_status(500, true, &ProviderError::default()).class, Class::Transport);
}

#[test]
fn only_an_odd_question_is_uncertain() {
    let certain =
        |status, body: &str| by_status(status, false, &ProviderError::read(body.as_bytes())).certain;
    assert!(certain(401, ""));
    assert!(certain(404, ""));
    assert!(!certain(400, r#"{"error":{"message":"Unsupported parameter: 'temperature'"}}"#));
    assert!(!certain(422, r#"{"detail":[{"loc":["body","temperature"],"msg":"not allowed"}]}"#));
    assert!(certain(400, r#"{"error":{"message":"Your credit balance is too low to use this API"}}"#));
}

#[test]
fn context_too_long_in_the_wordings_of_many_servers() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"whatever","type":"invalid_request_error"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}]"#,
        ),
        (400, r#"{"error":{"message":"Please reduce the length of the messages or completion."}}"#),
        (400, r#"{"error":{"message":"Range of input length should be [1, 30720]"}}"#),
        (422, r#"{"message":"too many tokens: size limit exceeded"}"#),
        (
            413,
            r#"{"error":{"code":"rate_limit_exceeded","message":"Request too large for model `m` on tokens per minute"}}"#,
        ),
        (
            429,
            r#"{"error":{"code":"rate_limit_exceeded","message":"Request too large for m: Limit 10000, Requested 20000"}}"#,
        ),
        (500, r#"{"error":{"message":"input is larger than the context size"}}"#),
    ] {
        assert_eq!(class(status, body), Class::ContextTooLong, "{status} {body}");
    }
}

#[test]
fn refusals_of_providers() {
    for (status, body) in [
        (400, r#"{"error":{"code":"content_filter","message":"The response was filtered"}}"#),
        (
            400,
            r#"{"error":{"code":"invalid_prompt","message":"Your prompt was flagged as potentially violating our usage policy."}}"#,
        ),
        (400, r#"{"error":{"message":"m","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#),
        (400, r#"{"error":{"code":"data_inspection_failed","message":"m"}}"#),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
        ),
        (
            403,
            r#"{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["violence"]}}}"#,
        ),
    ] {
        assert_eq!(class(status, body), Class::Refusal, "{status} {body}");
    }
    // These speak of safety and policy and are wrong settings all the same.
    for (status, body) in [
        (400, r#"{"error":{"message":"Unknown parameter: 'safety_identifier'."}}"#),
        (403, r#"{"error":{"message":"Denied by your organisation's access policy"}}"#),
    ] {
        assert_eq!(class(status, body), Class::Permanent, "{status} {body}");
    }
}

#[test]
fn an_account_that_cannot_pay_is_permanent_and_a_rate_limit_is_not() {
    for body in [
        r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
        r#"{"error":{"type":"insufficient_quota","code":null,"message":"You exceeded your current quota"}}"#,
        r#"{"error":{"code":"billing_hard_limit_reached","message":"m"}}"#,
    ] {
        assert_eq!(class(429, body), Class::Permanent, "{body}");
    }
    for body in [
        r#"{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached"}}"#,
        r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}]"#,
        "slow down",
        "",
    ] {
        assert_eq!(class(429, body), Class::Throttle, "{body}");
    }
}

#[test]
fn an_error_that_came_with_success_is_classified_by_itself() {
    for (body, expected) in [
        (r#"{"error":{"code":429,"message":"m"}}"#, Class::Throttle),
        (r#"{"error":{"code":"429","message":"m"}}"#, Class::Throttle),
        (r#"{"error":{"code":502,"message":"Provider returned error"}}"#, Class::Transport),
        (r#"{"error":{"code":401,"message":"m"}}"#, Class::Permanent),
        (r#"{"error":{"code":"rate_limit_exceeded","message":"m"}}"#, Class::Throttle),
        (r#"{"error":{"type":"overloaded_error","message":"m"}}"#, Class::Throttle),
        (r#"{"error":{"code":"insufficient_quota","message":"m"}}"#, Class::Permanent),
        (r#"{"error":{"code":"invalid_api_key","message":"m"}}"#, Class::Permanent),
        (r#"{"error":{"code":"model_not_found","message":"m"}}"#, Class::Permanent),
        (r#"{"error":{"code":"content_filter","message":"m"}}"#, Class::Refusal),
        (r#"{"error":{"message":"blocked by content policy"}}"#, Class::Refusal),
        (
            r#"{"error":{"type":"invalid_request_error","message":"prompt is too long"}}"#,
            Class::ContextTooLong,
        ),
        (r#"{"error":{"type":"invalid_request_error","message":"Unsupported value"}}"#, Class::Permanent),
        (r#"{"error":{"type":"server_error","message":"m"}}"#, Class::Transport),
        (r#"{"error":"something broke"}"#, Class::Transport),
    ] {
        assert_eq!(class_in_200(body), expected, "{body}");
    }
}

#[test]
fn messages_are_found_in_many_shapes() {
    for (body, message) in [
        (r#"{"error":{"message":"a"}}"#, "a"),
        (r#"{"error":"b"}"#, "b"),
        (r#"{"detail":"c"}"#, "c"),
        (r#"{"detail":[{"msg":"d"}]}"#, r#"[{"msg":"d"}]"#),
        (r#"[{"error":{"message":"e"}}]"#, "e"),
        ("plain", ""),
        ("", ""),
        ("null", ""),
    ] {
        assert_eq!(ProviderError::read(body.as_bytes()).message, message, "{body}");
    }
}
