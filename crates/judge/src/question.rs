//! What is asked.

use serde_json::Value;

/// One question to a judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The system message. Left out of the request when empty: some models know no such role.
    pub system: String,
    /// The user message.
    pub user: String,
    /// JSON Schema of the reply, sent where the profile's dialect has a place for it.
    pub schema: Value,
    /// The schema's name; the practice judge takes the audit kind from it.
    pub schema_name: String,
    /// How many characters of the answer the question covers, as Unicode scalar values. The limit of the reply
    /// follows from it.
    pub output_chars: usize,
    /// The trace that the question is about. Only the practice judge is told.
    pub trace_id: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{MaxTokensKey, Profile, ProfileSettings, StructuredOutput, provider};

    fn body_with(change: impl FnOnce(&mut ProfileSettings)) -> Value {
        let mut settings = ProfileSettings::new("j", "http://h/v1", "m");
        change(&mut settings);
        let question = Question {
            system: "You audit.".into(),
            user: "Ist Köln 日本?".into(),
            schema: json!({ "type": "object" }),
            schema_name: "faithfulness".into(),
            output_chars: 300,
            trace_id: "t-1".into(),
        };
        provider::body(&Profile::new(settings).unwrap(), &question)
    }

    #[test]
    fn each_dialect_has_its_own_response_format() {
        let schema = json!({ "type": "object" });
        for (dialect, expected) in [
            (
                StructuredOutput::JsonSchema,
                json!({
                    "type": "json_schema",
                    "json_schema": { "name": "faithfulness", "strict": true, "schema": schema },
                }),
            ),
            (StructuredOutput::JsonObject, json!({ "type": "json_object" })),
            (StructuredOutput::JsonObjectWithSchema, json!({ "type": "json_object", "schema": schema })),
            (StructuredOutput::None, Value::Null),
        ] {
            assert_eq!(body_with(|s| s.structured_output = dialect)["response_format"], expected);
        }
    }

    #[test]
    fn optional_parameters_are_absent_until_set() {
        let plain = body_with(|_| ());
        assert_eq!(
            plain.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["messages", "model", "response_format"]
        );
        let full = body_with(|s| {
            s.temperature = Some(0.0);
            s.max_tokens = Some(900);
            s.max_tokens_key = MaxTokensKey::MaxCompletionTokens;
            s.extra_params.insert("reasoning_effort".into(), json!("low"));
        });
        assert_eq!(full["temperature"], json!(0.0));
        assert_eq!(full["max_completion_tokens"], json!(900));
        assert_eq!(full["reasoning_effort"], json!("low"));
        assert!(full.get("max_tokens").is_none());
    }

    #[test]
    fn text_is_sent_as_utf8_and_the_trace_id_is_not_in_the_body() {
        let sent = body_with(|_| ()).to_string();
        assert!(sent.contains("Ist Köln 日本?"));
        assert!(!sent.contains("t-1"));
    }
}
