//! What an operator writes about a judge, and the checked form of it.

mod checks;

use std::{collections::BTreeMap, time::Duration};

use reqwest::{Url, header::HeaderMap};
use serde::Deserialize;
use serde_json::Map;
use thiserror::Error;

use crate::{
    dialect::{HttpVersion, MaxTokensKey, Provider, StructuredOutput},
    models::{self, ModelRule},
    price::{self, Price},
    provider,
    secret::Secret,
};

/// The header by which the practice judge learns which trace it is asked about.
pub(crate) const TRACE_ID_HEADER: &str = "groundcrew-trace-id";

/// How many characters of an answer are counted as one token. English has about four, other scripts fewer.
const CHARS_PER_TOKEN: usize = 3;

/// A judge profile whose settings have been checked.
///
/// It is made by [`Profile::new`] only, so every holder may rely on the checks.
#[derive(Debug, Clone)]
pub struct Profile {
    settings: ProfileSettings,
    endpoint: Url,
    headers: HeaderMap,
    rule: ModelRule,
    structured_output: StructuredOutput,
}

/// A judge profile as it is written in the configuration. Unknown keys are refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSettings {
    /// The name of the profile; it is stored with every audit. Set by whoever knows the table's name.
    #[serde(default)]
    pub name: String,
    /// Whose API the judge speaks.
    #[serde(default)]
    pub provider: Provider,
    /// Where the API begins, up to and including its version (`/v1`, `/v1beta`); the method is appended.
    pub base_url: String,
    /// The key of the API. None for a judge that wants none.
    #[serde(default)]
    pub api_key: Option<Secret>,
    /// The header that carries the key. None: the provider's own. `authorization` carries it as a bearer token.
    #[serde(default)]
    pub api_key_header: Option<String>,
    /// Which version of the API is asked for: a query parameter of Azure, a header of Anthropic. None: no
    /// parameter, or the version that Anthropic's API has had since 2023.
    #[serde(default)]
    pub api_version: Option<String>,
    /// The model to ask for, as the provider spells it.
    pub model: String,
    /// How this provider is told to answer in JSON.
    #[serde(default)]
    pub structured_output: StructuredOutput,
    /// Sampling temperature, 0 to 2. None leaves it to the provider: some models accept no other.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// The longest reply to ask for, in tokens, thinking not counted. None sends no limit where the provider
    /// can do without; where it cannot, the limit follows from the length of the answer alone.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Tokens of the reply that any answer is granted.
    #[serde(default = "default_max_tokens_base")]
    pub max_tokens_base: u32,
    /// Tokens of the reply for each token of the answer.
    #[serde(default = "default_max_tokens_factor")]
    pub max_tokens_factor: u32,
    /// Tokens that a model which thinks before it answers is granted on top.
    #[serde(default = "default_reasoning_tokens")]
    pub reasoning_tokens: u32,
    /// Under which key the limit is sent. OpenAI's API only.
    #[serde(default)]
    pub max_tokens_key: MaxTokensKey,
    /// Parameters of this one model, merged into the request body as they are.
    #[serde(default)]
    pub extra_params: Map<String, serde_json::Value>,
    /// What families of models want different, by the beginning of their names. Goes before the built-in table.
    #[serde(default)]
    pub model_map: BTreeMap<String, ModelRule>,
    /// Certificates of authorities, as PEM, that the judge's may be signed by besides those that the system trusts.
    #[serde(default)]
    pub authorities: Option<String>,
    /// Which HTTP is spoken.
    #[serde(default)]
    pub http_version: HttpVersion,
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
    /// What tokens cost, whatever model answers. Without any price the cost of a call is unknown, which is not
    /// the same as free.
    #[serde(default)]
    pub price: Option<Price>,
    /// What tokens cost, by the model's name: the one that answered, else the one that was asked. Goes before
    /// `price`.
    #[serde(default)]
    pub prices: BTreeMap<String, Price>,
    /// Whether this is the practice judge. Only the practice judge is told the trace id.
    #[serde(default)]
    pub practice: bool,
}

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
        let wrong =
            |(key, problem): (String, String)| ProfileError { profile: settings.name.clone(), key, problem };
        checks::check(&settings).map_err(wrong)?;
        let rule = models::rule(settings.provider, &settings.model, &settings.model_map);
        let structured_output = provider::structured_output(&settings, &rule);
        checks::check_parameters(&settings, structured_output).map_err(wrong)?;
        let endpoint = provider::endpoint(&settings)
            .map_err(|(key, problem)| wrong((key.to_owned(), problem.to_owned())))?;
        let headers = provider::headers(&settings)
            .map_err(|(key, problem)| wrong((key.to_owned(), problem.to_owned())))?;
        Ok(Profile { settings, endpoint, headers, rule, structured_output })
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

    /// Whether many calls may share a connection.
    pub(crate) fn may_speak_http2(&self) -> bool {
        match self.settings.http_version {
            HttpVersion::Auto => self.endpoint.scheme() == "https",
            HttpVersion::Http1 => false,
            HttpVersion::Http2 => true,
        }
    }

    /// The address of the provider's list of models: the one question that costs nothing.
    pub fn models_endpoint(&self) -> Url {
        provider::models_endpoint(&self.settings, &self.endpoint)
    }

    /// The headers of every request to the provider. The one with the key is marked as sensitive.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// All settings, as checked.
    pub fn settings(&self) -> &ProfileSettings {
        &self.settings
    }

    /// How the judge is told to answer in JSON, after the model map had its say.
    pub fn structured_output(&self) -> StructuredOutput {
        self.structured_output
    }

    pub(crate) fn rule(&self) -> &ModelRule {
        &self.rule
    }

    /// The price of a call that this model answered.
    pub(crate) fn price(&self, answered: Option<&str>) -> Option<&Price> {
        price::of_model(&self.settings.prices, self.settings.price.as_ref(), self.model(), answered)
    }

    /// The limit of a reply to a question about so many characters of an answer, in tokens.
    ///
    /// `base + factor × tokens of the answer`, at most `max_tokens`; a model that thinks gets
    /// `reasoning_tokens` on top, since its thinking counts against the same limit.
    pub(crate) fn reply_tokens(&self, output_chars: usize) -> u32 {
        let settings = &self.settings;
        let answer = u32::try_from(output_chars.div_ceil(CHARS_PER_TOKEN)).unwrap_or(u32::MAX);
        let wanted =
            settings.max_tokens_base.saturating_add(settings.max_tokens_factor.saturating_mul(answer));
        let granted = settings.max_tokens.map_or(wanted, |ceiling| wanted.min(ceiling));
        granted.saturating_add(if self.rule.thinks { settings.reasoning_tokens } else { 0 })
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
    /// Settings with every default, for a judge that speaks OpenAI's API and wants no key.
    pub fn new(
        name: impl Into<String>,
        base_url: impl Into<String>,
        model: impl Into<String>,
    ) -> ProfileSettings {
        ProfileSettings {
            name: name.into(),
            provider: Provider::default(),
            base_url: base_url.into(),
            api_key: None,
            api_key_header: None,
            api_version: None,
            model: model.into(),
            http_version: HttpVersion::default(),
            structured_output: StructuredOutput::default(),
            temperature: None,
            max_tokens: None,
            max_tokens_base: default_max_tokens_base(),
            max_tokens_factor: default_max_tokens_factor(),
            reasoning_tokens: default_reasoning_tokens(),
            max_tokens_key: MaxTokensKey::default(),
            extra_params: Map::new(),
            model_map: BTreeMap::new(),
            authorities: None,
            connect_timeout_ms: default_connect_timeout_ms(),
            read_timeout_ms: default_read_timeout_ms(),
            total_timeout_ms: default_total_timeout_ms(),
            max_reply_bytes: default_max_reply_bytes(),
            price: None,
            prices: BTreeMap::new(),
            practice: false,
        }
    }
}

// Room for the summary and for what an answer left out, which no length of the answer foretells.
fn default_max_tokens_base() -> u32 {
    2048
}

// A claim comes back in its own words, with a passage about twice as long, an explanation and the keys.
fn default_max_tokens_factor() -> u32 {
    6
}

fn default_reasoning_tokens() -> u32 {
    8192
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

#[cfg(test)]
mod tests;
