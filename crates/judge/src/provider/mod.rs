//! One small interface to several providers: where a question goes, what is sent, and how a reply is opened.
//!
//! The shapes were written from the providers' documentation and are tested against fixtures written by hand.

mod anthropic;
mod gemini;
mod open_ai;

use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Map, Value};

use crate::{
    dialect::{Provider, StructuredOutput},
    models::ModelRule,
    profile::{Profile, ProfileSettings},
    question::Question,
    reply::Envelope,
};

/// The version of Anthropic's API that is asked for when the profile names none.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The request body, exactly as it is sent.
pub(crate) fn body(profile: &Profile, question: &Question) -> Value {
    let mut body = match profile.settings().provider {
        Provider::OpenAi => open_ai::body(profile, question),
        Provider::Anthropic => anthropic::body(profile, question),
        Provider::Gemini => gemini::body(profile, question),
    };
    // Last, so that a model's own parameters win; the keys that are ours were refused with the profile.
    merge(&mut body, &profile.settings().extra_params);
    Value::Object(body)
}

/// Opens the body of a successful HTTP response.
pub(crate) fn open(provider: Provider, body: &[u8]) -> Envelope {
    match provider {
        Provider::OpenAi => open_ai::open(body),
        Provider::Anthropic => anthropic::open(body),
        Provider::Gemini => gemini::open(body),
    }
}

/// How a judge is told to answer in JSON: what the profile says, made exact by model and provider.
pub(crate) fn structured_output(settings: &ProfileSettings, rule: &ModelRule) -> StructuredOutput {
    match (settings.structured_output, rule.structured_output, settings.provider) {
        (StructuredOutput::JsonSchema, Some(of_model), _) => of_model,
        (StructuredOutput::JsonSchema, None, Provider::Anthropic) => StructuredOutput::Tool,
        (other, _, _) => other,
    }
}

/// The address that questions are posted to. An error names the key that is wrong.
pub(crate) fn endpoint(settings: &ProfileSettings) -> Result<Url, (&'static str, &'static str)> {
    let mut url = base(&settings.base_url).map_err(|problem| ("base_url", problem))?;
    let base = url.path().trim_end_matches('/').to_owned();
    let method = match settings.provider {
        Provider::OpenAi => "/chat/completions".to_owned(),
        Provider::Anthropic => "/messages".to_owned(),
        Provider::Gemini if settings.model.contains('/') => format!("/{}:generateContent", settings.model),
        Provider::Gemini => format!("/models/{}:generateContent", settings.model),
    };
    if base.ends_with(&method) {
        return Err(match settings.provider {
            Provider::OpenAi => ("base_url", "must end before /chat/completions"),
            Provider::Anthropic => ("base_url", "must end before /messages"),
            Provider::Gemini => ("base_url", "must end before /models"),
        });
    }
    // By hand: `Url::join` would replace the last segment of a base without a final slash.
    url.set_path(&format!("{base}{method}"));
    url.set_fragment(None);
    if let (Provider::OpenAi, Some(version)) = (settings.provider, &settings.api_version) {
        url.query_pairs_mut().append_pair("api-version", version);
    }
    Ok(url)
}

/// The address of the list of models, beside the one that questions go to.
pub(crate) fn models_endpoint(settings: &ProfileSettings, endpoint: &Url) -> Url {
    let mut url = endpoint.clone();
    if let Ok(base) = base(&settings.base_url) {
        url.set_path(&format!("{}/models", base.path().trim_end_matches('/')));
    }
    url
}

fn base(base_url: &str) -> Result<Url, &'static str> {
    let url = Url::parse(base_url.trim()).map_err(|_| "is not an absolute URL")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a user name or a password; use `api_key`");
    }
    Ok(url)
}

/// The headers of every request. An error names the key that is wrong.
pub(crate) fn headers(settings: &ProfileSettings) -> Result<HeaderMap, (&'static str, &'static str)> {
    let mut headers = HeaderMap::new();
    if settings.provider == Provider::Anthropic {
        let version = settings.api_version.as_deref().unwrap_or(ANTHROPIC_VERSION);
        let version = HeaderValue::from_str(version)
            .map_err(|_| ("api_version", "holds a character that cannot be sent in a header"))?;
        headers.insert("anthropic-version", version);
    }
    if let Some(key) = &settings.api_key {
        let name = settings.api_key_header.as_deref().unwrap_or(settings.provider.key_header());
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| ("api_key_header", "is not the name of a header"))?;
        let value = match name {
            AUTHORIZATION => format!("Bearer {}", key.expose()),
            _ => key.expose().to_owned(),
        };
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| ("api_key", "holds a character that cannot be sent in a header"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Puts `extra` into `body`; objects are merged, everything else is replaced.
fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(extra)) => merge(inner, extra),
            _ => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}
