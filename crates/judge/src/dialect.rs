//! How providers want to be spoken to.

use serde::Deserialize;

/// Whose API a judge speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Chat completions as OpenAI defined them: OpenAI, Azure, vLLM, llama.cpp, Ollama and many gateways.
    #[default]
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API, method `generateContent`.
    Gemini,
}

/// How a provider is told to answer in JSON. None of them is believed: a reply is validated in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutput {
    /// The schema, in the provider's usual way: `response_format` of type `json_schema`, strict, for OpenAI's
    /// API; a forced tool for Anthropic's (or `output_config`, where the model map says so);
    /// `responseJsonSchema` for Gemini's.
    #[default]
    JsonSchema,
    /// JSON and no shape: `response_format` of type `json_object`, or only the MIME type for Gemini.
    JsonObject,
    /// `json_object` with a `schema` beside it, for the servers of llama.cpp and llama-cpp-python.
    JsonObjectWithSchema,
    /// vLLM's own `structured_outputs`.
    StructuredOutputs,
    /// vLLM's older `guided_json`, which it removed in version 0.12.0 and ignores since.
    GuidedJson,
    /// Anthropic: the model is made to call a tool whose arguments are the reply.
    Tool,
    /// Anthropic: `output_config.format` with the schema.
    OutputConfig,
    /// Nothing: the prompt alone asks for JSON.
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

/// Which HTTP is spoken with a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// What the server chooses while TLS is set up; HTTP/1.1 without TLS.
    #[default]
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without asking. Without TLS that is the only way to it.
    Http2,
}

impl Provider {
    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Provider::OpenAi => "openai",
            Provider::Anthropic => "anthropic",
            Provider::Gemini => "gemini",
        }
    }

    /// The header that carries the API key unless the profile names another.
    pub(crate) fn key_header(self) -> &'static str {
        match self {
            Provider::OpenAi => "authorization",
            Provider::Anthropic => "x-api-key",
            Provider::Gemini => "x-goog-api-key",
        }
    }

    /// Whether the provider has this way of asking for JSON.
    pub(crate) fn knows(self, dialect: StructuredOutput) -> bool {
        use StructuredOutput as S;
        match dialect {
            S::JsonSchema | S::None => true,
            S::JsonObject => self != Provider::Anthropic,
            S::JsonObjectWithSchema | S::StructuredOutputs | S::GuidedJson => self == Provider::OpenAi,
            S::Tool | S::OutputConfig => self == Provider::Anthropic,
        }
    }

    /// Body parameters that are ours, dotted: a profile that sets them by `extra_params` would change what is
    /// asked, or how the reply has to be read.
    pub(crate) fn reserved(self) -> &'static [&'static str] {
        match self {
            Provider::OpenAi => &["model", "messages", "stream", "n", "max_tokens", "max_completion_tokens"],
            Provider::Anthropic => {
                &["model", "messages", "system", "stream", "max_tokens", "tools", "tool_choice"]
            }
            Provider::Gemini => &[
                "contents",
                "systemInstruction",
                "tools",
                "generationConfig.candidateCount",
                "generationConfig.maxOutputTokens",
            ],
        }
    }
}

impl StructuredOutput {
    /// Body parameters that this dialect sets, dotted.
    pub(crate) fn parameters(self, provider: Provider) -> &'static [&'static str] {
        use StructuredOutput as S;
        match (provider, self) {
            (_, S::None) => &[],
            (Provider::Gemini, _) => &[
                "generationConfig.responseMimeType",
                "generationConfig.responseJsonSchema",
                "generationConfig.responseSchema",
            ],
            (Provider::Anthropic, _) => &["output_config.format"],
            (Provider::OpenAi, S::StructuredOutputs) => &["structured_outputs", "response_format"],
            (Provider::OpenAi, S::GuidedJson) => &["guided_json", "response_format"],
            (Provider::OpenAi, _) => &["response_format"],
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
