//! What makes a judge profile unusable.

use reqwest::header::HeaderValue;

use crate::{
    dialect::{Provider, StructuredOutput},
    profile::ProfileSettings,
    secret::Secret,
};

/// The key that is wrong, and what is wrong with it.
type Wrong = (String, String);

fn wrong<T>(key: &str, problem: &str) -> Result<T, Wrong> {
    Err((key.to_owned(), problem.to_owned()))
}

/// Checks what needs no knowledge of the model.
pub(super) fn check(settings: &ProfileSettings) -> Result<(), Wrong> {
    if settings.name.trim().is_empty() {
        return wrong("name", "is empty");
    }
    if settings.model.trim().is_empty() {
        return wrong("model", "is empty");
    }
    if let Err(problem) = check_key(settings.api_key.as_ref()) {
        return wrong("api_key", problem);
    }
    if let Err((key, problem)) = check_times(settings) {
        return wrong(key, problem);
    }
    if settings.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        return wrong("temperature", "must be between 0 and 2");
    }
    for (key, value) in
        [("max_tokens", settings.max_tokens), ("max_tokens_base", Some(settings.max_tokens_base))]
    {
        if value == Some(0) {
            return wrong(key, "must be at least 1");
        }
    }
    if settings.max_reply_bytes == 0 {
        return wrong("max_reply_bytes", "must be at least 1");
    }
    if settings.provider == Provider::Gemini && settings.api_version.is_some() {
        return wrong("api_version", "has no meaning for gemini: its version is the end of `base_url`");
    }
    let prices = settings.prices.iter().map(|(model, price)| (format!("prices.{model}"), price));
    for (key, price) in settings.price.iter().map(|price| ("price".to_owned(), price)).chain(prices) {
        if let Err((field, problem)) = price.check() {
            return wrong(&format!("{key}.{field}"), problem);
        }
    }
    Ok(())
}

/// Checks how the request is put together.
pub(super) fn check_parameters(
    settings: &ProfileSettings,
    structured_output: StructuredOutput,
) -> Result<(), Wrong> {
    let provider = settings.provider;
    if !provider.knows(structured_output) {
        return wrong("structured_output", &format!("names a way that {} does not have", provider.as_str()));
    }
    let is_set = |path: &&&str| {
        let pointer = format!("/{}", path.replace('.', "/"));
        let (first, rest) = pointer[1..].split_once('/').unwrap_or((&pointer[1..], ""));
        let Some(value) = settings.extra_params.get(first) else { return false };
        rest.is_empty() || value.pointer(&format!("/{rest}")).is_some()
    };
    if let Some(path) = provider.reserved().iter().find(is_set) {
        return wrong(&format!("extra_params.{path}"), "is set by groundcrew and cannot be overridden");
    }
    if let Some(path) = structured_output.parameters(provider).iter().find(is_set) {
        return wrong(&format!("extra_params.{path}"), "needs `structured_output = \"none\"`");
    }
    Ok(())
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
