use super::*;

fn settings() -> ProfileSettings {
    ProfileSettings::new("local", "http://127.0.0.1:8080/v1", "some-model")
}

#[test]
fn the_endpoint_is_appended_whatever_the_slashes() {
    for (base, endpoint) in [
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v1//", "http://h/v1/chat/completions"),
        ("https://h", "https://h/chat/completions"),
        ("https://h/d?api-version=3", "https://h/d/chat/completions?api-version=3"),
    ] {
        let profile = Profile::new(ProfileSettings { base_url: base.into(), ..settings() }).unwrap();
        assert_eq!(profile.endpoint().as_str(), endpoint);
    }
}

#[test]
fn an_error_names_the_key() {
    let secret = |text: &str| Some(Secret::new(text));
    let price = |input, currency: &str| {
        Some(Price {
            input_per_million: input,
            output_per_million: 1.0,
            cached_input_per_million: None,
            currency: currency.into(),
        })
    };
    let params = |key: &str| Map::from_iter([(key.to_owned(), serde_json::json!(1))]);
    let nested =
        |outer: &str, inner: &str| Map::from_iter([(outer.to_owned(), serde_json::json!({ inner: 1 }))]);
    for (key, bad) in [
        ("name", ProfileSettings { name: " ".into(), ..settings() }),
        ("model", ProfileSettings { model: String::new(), ..settings() }),
        ("base_url", ProfileSettings { base_url: "127.0.0.1/v1".into(), ..settings() }),
        ("base_url", ProfileSettings { base_url: "ftp://h/v1".into(), ..settings() }),
        ("base_url", ProfileSettings { base_url: "http://u:p@h/v1".into(), ..settings() }),
        ("base_url", ProfileSettings { base_url: "http://h/v1/chat/completions".into(), ..settings() }),
        ("api_key", ProfileSettings { api_key: secret(""), ..settings() }),
        ("api_key", ProfileSettings { api_key: secret("a\nb"), ..settings() }),
        ("api_key", ProfileSettings { api_key: secret("schlüssel"), ..settings() }),
        ("connect_timeout_ms", ProfileSettings { connect_timeout_ms: 999_999, ..settings() }),
        ("read_timeout_ms", ProfileSettings { read_timeout_ms: 0, ..settings() }),
        ("total_timeout_ms", ProfileSettings { total_timeout_ms: 0, ..settings() }),
        ("temperature", ProfileSettings { temperature: Some(f64::NAN), ..settings() }),
        ("max_tokens", ProfileSettings { max_tokens: Some(0), ..settings() }),
        ("max_reply_bytes", ProfileSettings { max_reply_bytes: 0, ..settings() }),
        ("extra_params.messages", ProfileSettings { extra_params: params("messages"), ..settings() }),
        (
            "extra_params.response_format",
            ProfileSettings { extra_params: params("response_format"), ..settings() },
        ),
        ("price.input_per_million", ProfileSettings { price: price(-1.0, "USD"), ..settings() }),
        (
            "extra_params.generationConfig.maxOutputTokens",
            ProfileSettings {
                provider: Provider::Gemini,
                extra_params: nested("generationConfig", "maxOutputTokens"),
                ..settings()
            },
        ),
        (
            "extra_params.output_config.format",
            ProfileSettings {
                provider: Provider::Anthropic,
                model: "claude-sonnet-5".into(),
                extra_params: nested("output_config", "format"),
                ..settings()
            },
        ),
        ("structured_output", ProfileSettings { structured_output: StructuredOutput::Tool, ..settings() }),
        (
            "api_version",
            ProfileSettings { provider: Provider::Gemini, api_version: Some("1".into()), ..settings() },
        ),
        (
            "api_key_header",
            ProfileSettings { api_key: secret("k"), api_key_header: Some("no header".into()), ..settings() },
        ),
        (
            "prices.m.output_per_million",
            ProfileSettings {
                prices: BTreeMap::from([(
                    "m".into(),
                    Price { output_per_million: f64::NAN, ..price(1.0, "USD").unwrap() },
                )]),
                ..settings()
            },
        ),
        ("price.currency", ProfileSettings { price: price(1.0, "dollars"), ..settings() }),
    ] {
        let error = Profile::new(bad).unwrap_err();
        assert_eq!(error.key, key);
        assert!(error.to_string().contains(&format!("`{key}`")), "{error}");
    }
}

#[test]
fn a_key_is_trimmed_and_never_shown() {
    let profile =
        Profile::new(ProfileSettings { api_key: Some(Secret::new("sk-123\n")), ..settings() }).unwrap();
    assert_eq!(profile.settings().api_key.as_ref().unwrap().expose(), "sk-123");
    assert!(!format!("{profile:?}").contains("sk-123"));
}

#[test]
fn settings_read_from_configuration_have_defaults_and_refuse_unknown_keys() {
    let text = r#"{"base_url":"http://h/v1","model":"m","api_key":"k","max_tokens_key":"max_completion_tokens",
        "structured_output":"json_object_with_schema"}"#;
    let read: ProfileSettings = serde_json::from_str(text).unwrap();
    assert_eq!(read.max_tokens_key, MaxTokensKey::MaxCompletionTokens);
    assert_eq!(read.structured_output, StructuredOutput::JsonObjectWithSchema);
    assert_eq!(read.max_reply_bytes, 1 << 20);
    assert!(
        serde_json::from_str::<ProfileSettings>(r#"{"base_url":"http://h","model":"m","modell":1}"#).is_err()
    );
}

#[test]
fn loopback_is_recognised() {
    for (base, expected) in [
        ("http://localhost:1/v1", true),
        ("http://127.9.9.9/v1", true),
        ("http://[::1]:80/v1", true),
        ("http://10.0.0.1/v1", false),
        ("https://judge.example/v1", false),
    ] {
        let profile = Profile::new(ProfileSettings { base_url: base.into(), ..settings() }).unwrap();
        assert_eq!(profile.is_loopback(), expected, "{base}");
    }
}

#[test]
fn the_limit_of_a_reply_follows_from_the_answer() {
    let tokens = |change: fn(&mut ProfileSettings), chars| {
        let mut settings = ProfileSettings { max_tokens: Some(4000), ..settings() };
        change(&mut settings);
        Profile::new(settings).unwrap().reply_tokens(chars)
    };
    assert_eq!(tokens(|_| (), 0), 2048);
    assert_eq!(tokens(|_| (), 1), 2048 + 6);
    assert_eq!(tokens(|_| (), 300), 2048 + 600);
    assert_eq!(tokens(|_| (), 6000), 4000, "never more than the ceiling");
    assert_eq!(tokens(|settings| settings.max_tokens = None, 6000), 2048 + 12_000);
    assert_eq!(tokens(|settings| settings.model = "o3".into(), 6000), 4000 + 8192, "thinking comes on top");
    assert_eq!(tokens(|settings| settings.max_tokens = None, usize::MAX), u32::MAX);
    let tuned = |settings: &mut ProfileSettings| {
        (settings.max_tokens_base, settings.max_tokens_factor) = (100, 2);
    };
    assert_eq!(tokens(tuned, 30), 120);
}

#[test]
fn the_list_of_models_stands_beside_the_method() {
    for (provider, base, models) in [
        (Provider::OpenAi, "https://h/v1", "https://h/v1/models"),
        (Provider::Anthropic, "https://h/v1/", "https://h/v1/models"),
        (Provider::Gemini, "https://h/v1beta", "https://h/v1beta/models"),
    ] {
        let settings = ProfileSettings { provider, base_url: base.into(), ..settings() };
        assert_eq!(Profile::new(settings).unwrap().models_endpoint().as_str(), models);
    }
}
