//! What an operator writes about a judge, and the checked form of it.

use std::{fmt, time::Duration};

use reqwest::{Url, header::HeaderValue};
use serde::Deserialize;
use serde_json::Map;
use thiserror::Error;

/// The header by which the practice judge learns which trace it is asked about.
pub(crate) const TRACE_ID_HEADER: &str = "groundcrew-trace-id";

/// Body keys that are ours: a profile that sets them by `extra_params` would change what is asked.
const RESERVED_PARAMS: [&str; 6] =
    ["model", "messages", "stream", "n", "max_tokens", "max_completion_tokens"];

/// A judge profile whose settings have been checked.
///
/// It is made by [`Profile::new`] only, so every holder may rely on the checks.
#[derive(Debug, Clone)]
pub struct Profile {
    settings: ProfileSettings,
    endpoint: Url,
}

/// A judge profile as it is written in the configuration. Unknown keys are refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSettings {
    /// The name of the profile; it is stored with every audit. Set by whoever knows the table's name.
    #[serde(default)]
    pub name: String,
    /// Where the API begins, up to and including `/v1`; `/chat/completions` is appended.
    pub base_url: String,
    /// Sent as a bearer token. None for a judge that wants no key.
    #[serde(default)]
    pub api_key: Option<Secret>,
    /// The model to ask for, as the provider spells it.
    pub model: String,
    /// How this provider is told to answer in JSON.
    #[serde(default)]
    pub structured_output: StructuredOutput,
    /// Sampling temperature, 0 to 2. None leaves it to the provider: some models accept no other.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// The longest reply to ask for, in tokens. None leaves it to the provider.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Under which key `max_tokens` is sent.
    #[serde(default)]
    pub max_tokens_key: MaxTokensKey,
    /// Parameters of this one model, merged into the request body as they are.
    #[serde(default)]
    pub extra_params: Map<String, serde_json::Value>,
    /// How long connecting may take, in milliseconds.
    #[serde(default = "default_connect_timeout_ms")]
    pub connect_timeout_ms: u64,
    /// The longest silence before the first byte and between two bytes, in milliseconds.
    #[serde(default = "default_read_timeout_ms")]
    pub read_timeout_ms: u64,
    /// How long one call may take from the first byte sent to the last one received, in milliseconds.
    #[serde(default = "default_total_timeout_ms")]
    pub total_timeout_ms: u64,
    /// Reading stops once a reply is larger than this many bytes.
    #[serde(default = "default_max_reply_bytes")]
    pub max_reply_bytes: usize,
    /// What tokens cost. Without it the cost of a call is unknown, which is not the same as free.
    #[serde(default)]
    pub price: Option<Price>,
    /// Whether this is the practice judge. Only the practice judge is told the trace id.
    #[serde(default)]
    pub practice: bool,
}

/// How a provider is told to answer in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutput {
    /// `response_format` of type `json_schema`, strict.
    #[default]
    JsonSchema,
    /// `response_format` of type `json_object`, which promises JSON and no shape.
    JsonObject,
    /// `json_object` with a `schema` beside it, which is what llama-cpp-python's server understands.
    JsonObjectWithSchema,
    /// No `response_format` at all.
    None,
}

/// The key under which a provider wants the limit of a reply's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensKey {
    /// `max_tokens`, the older spelling that nearly all servers know.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which reasoning models insist on.
    MaxCompletionTokens,
}

/// What a provider charges, in units of `currency` for a million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// For a million tokens of the prompt.
    pub input_per_million: f64,
    /// For a million tokens of the reply.
    pub output_per_million: f64,
    /// For a million tokens of the prompt that the provider had cached. None: as `input_per_million`.
    #[serde(default)]
    pub cached_input_per_million: Option<f64>,
    /// ISO 4217 code, such as `USD`.
    pub currency: String,
}

/// A text that must not be printed: its `Debug` hides it, it has no `Display` and is never serialised.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Secret(String);

/// A setting that cannot be used. The text names the key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("judge profile `{profile}`: `{key}` {problem}")]
pub struct ProfileError {
    /// The profile that is wrong.
    pub profile: String,
    /// The key that is wrong.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Profile {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first setting that cannot be used, by its key.
    pub fn new(settings: ProfileSettings) -> Result<Profile, ProfileError> {
        let wrong = |key: &str, problem: &str| ProfileError {
            profile: settings.name.clone(),
            key: key.to_owned(),
            problem: problem.to_owned(),
        };
        if settings.name.trim().is_empty() {
            return Err(wrong("name", "is empty"));
        }
        if settings.model.trim().is_empty() {
            return Err(wrong("model", "is empty"));
        }
        let endpoint = endpoint(&settings.base_url).map_err(|problem| wrong("base_url", problem))?;
        check_key(settings.api_key.as_ref()).map_err(|problem| wrong("api_key", problem))?;
        check_times(&settings).map_err(|(key, problem)| wrong(key, problem))?;
        if settings.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            return Err(wrong("temperature", "must be between 0 and 2"));
        }
        if settings.max_tokens == Some(0) {
            return Err(wrong("max_tokens", "must be at least 1; leave it out for no limit"));
        }
        if settings.max_reply_bytes == 0 {
            return Err(wrong("max_reply_bytes", "must be at least 1"));
        }
        if let Some(key) = RESERVED_PARAMS.iter().find(|key| settings.extra_params.contains_key(**key)) {
            return Err(wrong(
                &format!("extra_params.{key}"),
                "is set by groundcrew and cannot be overridden",
            ));
        }
        if settings.structured_output != StructuredOutput::None
            && settings.extra_params.contains_key("response_format")
        {
            return Err(wrong("extra_params.response_format", "needs `structured_output = \"none\"`"));
        }
        if let Some(price) = &settings.price {
            check_price(price).map_err(|(key, problem)| wrong(key, problem))?;
        }
        Ok(Profile { settings, endpoint })
    }

    /// The profile's name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// The model that is asked for.
    pub fn model(&self) -> &str {
        &self.settings.model
    }

    /// Whether this is the practice judge, whose figures prove nothing about a real one.
    pub fn is_practice(&self) -> bool {
        self.settings.practice
    }

    /// The address that questions are posted to.
    pub fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// All settings, as checked.
    pub fn settings(&self) -> &ProfileSettings {
        &self.settings
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.settings.connect_timeout_ms)
    }

    pub(crate) fn read_timeout(&self) -> Duration {
        Duration::from_millis(self.settings.read_timeout_ms)
    }

    pub(crate) fn total_timeout(&self) -> Duration {
        Duration::from_millis(self.settings.total_timeout_ms)
    }

    /// Whether the judge runs on this host, where no proxy has any business.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.endpoint.host_str().map(|host| host.trim_matches(['[', ']'])) {
            Some("localhost") => true,
            Some(host) => host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()),
            None => false,
        }
    }
}

impl ProfileSettings {
    /// Settings with every default, for a judge that wants no key.
    pub fn new(
        name: impl Into<String>,
        base_url: impl Into<String>,
        model: impl Into<String>,
    ) -> ProfileSettings {
        ProfileSettings {
            name: name.into(),
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            structured_output: StructuredOutput::default(),
            temperature: None,
            max_tokens: None,
            max_tokens_key: MaxTokensKey::default(),
            extra_params: Map::new(),
            connect_timeout_ms: default_connect_timeout_ms(),
            read_timeout_ms: default_read_timeout_ms(),
            total_timeout_ms: default_total_timeout_ms(),
            max_reply_bytes: default_max_reply_bytes(),
            price: None,
            practice: false,
        }
    }
}

impl MaxTokensKey {
    /// The key as it stands in the request body.
    pub fn as_str(self) -> &'static str {
        match self {
            MaxTokensKey::MaxTokens => "max_tokens",
            MaxTokensKey::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl Secret {
    /// Wraps a secret. White space around it is dropped: key files end in a line break.
    pub fn new(text: impl AsRef<str>) -> Secret {
        Secret(text.as_ref().trim().to_owned())
    }

    /// The secret itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

fn default_connect_timeout_ms() -> u64 {
    5_000
}

// A judge that does not stream is silent until it has finished thinking, so this is nearly the whole call.
fn default_read_timeout_ms() -> u64 {
    120_000
}

fn default_total_timeout_ms() -> u64 {
    180_000
}

fn default_max_reply_bytes() -> usize {
    1024 * 1024
}

/// Appends the path by hand: `Url::join` would replace the last segment of a base without a final slash.
fn endpoint(base_url: &str) -> Result<Url, &'static str> {
    let mut url = Url::parse(base_url.trim()).map_err(|_| "is not an absolute URL")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a user name or a password; use `api_key`");
    }
    let base = url.path().trim_end_matches('/');
    if base.ends_with("/chat/completions") {
        return Err("must end before /chat/completions");
    }
    let path = format!("{base}/chat/completions");
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

fn check_key(key: Option<&Secret>) -> Result<(), &'static str> {
    let Some(key) = key else { return Ok(()) };
    if key.expose().is_empty() {
        return Err("is empty; leave it out for a judge that wants none");
    }
    if !key.expose().is_ascii() || HeaderValue::from_str(key.expose()).is_err() {
        return Err("holds a character that cannot be sent in a header");
    }
    Ok(())
}

fn check_times(settings: &ProfileSettings) -> Result<(), (&'static str, &'static str)> {
    let total = settings.total_timeout_ms;
    if total == 0 {
        return Err(("total_timeout_ms", "must be at least 1"));
    }
    for (key, value) in
        [("connect_timeout_ms", settings.connect_timeout_ms), ("read_timeout_ms", settings.read_timeout_ms)]
    {
        if value == 0 {
            return Err((key, "must be at least 1"));
        }
        if total < value {
            return Err((key, "must not be longer than `total_timeout_ms`"));
        }
    }
    Ok(())
}

fn check_price(price: &Price) -> Result<(), (&'static str, &'static str)> {
    let amounts = [
        ("price.input_per_million", Some(price.input_per_million)),
        ("price.output_per_million", Some(price.output_per_million)),
        ("price.cached_input_per_million", price.cached_input_per_million),
    ];
    for (key, amount) in amounts {
        // A million units for a million tokens is beyond every price list, and keeps the sums in range.
        if amount.is_some_and(|amount| !(0.0..=1_000_000.0).contains(&amount)) {
            return Err((key, "must be between 0 and 1000000"));
        }
    }
    if price.currency.len() != 3 || !price.currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(("price.currency", "must be three capital letters, such as USD"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
            serde_json::from_str::<ProfileSettings>(r#"{"base_url":"http://h","model":"m","modell":1}"#)
                .is_err()
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
}
