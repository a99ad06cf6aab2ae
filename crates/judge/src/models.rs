//! The model map: what families of models want different from what their provider's API usually takes.
//!
//! A parameter that a model refuses fails every call, so it is left out by the model's name rather than found
//! out by asking. The table was made from the providers' documentation, not by calling them; what it lacks is
//! added by configuration.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::dialect::{Provider, StructuredOutput};

/// What one family of models wants different.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelRule {
    /// Parameters that are left out, by the name under which they would be sent.
    pub omit: Vec<String>,
    /// Parameters that are sent under another name.
    pub rename: BTreeMap<String, String>,
    /// Whether the model thinks before it answers, and the thinking counts against the limit of its reply.
    pub thinks: bool,
    /// What `json_schema` means for these models, where it is not the provider's usual way.
    pub structured_output: Option<StructuredOutput>,
}

struct Family {
    provider: Provider,
    prefix: &'static str,
    omit: &'static [&'static str],
    rename: &'static [(&'static str, &'static str)],
    thinks: bool,
    structured_output: Option<StructuredOutput>,
}

const fn family(provider: Provider, prefix: &'static str) -> Family {
    Family { provider, prefix, omit: &[], rename: &[], thinks: false, structured_output: None }
}

/// OpenAI's reasoning models take no temperature but their own and call the limit by its newer name.
const fn open_ai_reasoning(prefix: &'static str) -> Family {
    Family {
        omit: &["temperature"],
        rename: &[("max_tokens", "max_completion_tokens")],
        thinks: true,
        ..family(Provider::OpenAi, prefix)
    }
}

/// Anthropic's models of the fifth generation always think, take no sampling parameters, and most of them
/// refuse to be forced to call a tool.
const fn anthropic_fifth(prefix: &'static str) -> Family {
    Family {
        omit: &["temperature"],
        thinks: true,
        structured_output: Some(StructuredOutput::OutputConfig),
        ..family(Provider::Anthropic, prefix)
    }
}

const FAMILIES: [Family; 17] = [
    open_ai_reasoning("o1"),
    open_ai_reasoning("o3"),
    open_ai_reasoning("o4"),
    open_ai_reasoning("codex-mini"),
    open_ai_reasoning("gpt-5"),
    // Carries the name of the reasoning models and is none.
    family(Provider::OpenAi, "gpt-5-chat"),
    Family { thinks: true, ..family(Provider::OpenAi, "gpt-oss") },
    Family { omit: &["temperature"], thinks: true, ..family(Provider::OpenAi, "deepseek-reasoner") },
    Family { omit: &["temperature"], ..family(Provider::Anthropic, "claude-opus-4-7") },
    Family { omit: &["temperature"], ..family(Provider::Anthropic, "claude-opus-4-8") },
    anthropic_fifth("claude-opus-5"),
    anthropic_fifth("claude-sonnet-5"),
    anthropic_fifth("claude-haiku-5"),
    anthropic_fifth("claude-fable"),
    anthropic_fifth("claude-mythos"),
    Family { thinks: true, ..family(Provider::Gemini, "gemini-2.5") },
    // Google advises against any other temperature than the model's own.
    Family { omit: &["temperature"], thinks: true, ..family(Provider::Gemini, "gemini-3") },
];

/// The rule for a model: the longest matching prefix of `own`, else of the built-in table, else nothing special.
pub(crate) fn rule(provider: Provider, model: &str, own: &BTreeMap<String, ModelRule>) -> ModelRule {
    let names = names(model);
    let matches = |prefix: &str| names.iter().any(|name| name.starts_with(&prefix.to_lowercase()));
    let longest = own.iter().filter(|(prefix, _)| matches(prefix)).max_by_key(|(prefix, _)| prefix.len());
    if let Some((_, rule)) = longest {
        return rule.clone();
    }
    let family = FAMILIES
        .iter()
        .filter(|family| family.provider == provider && matches(family.prefix))
        .max_by_key(|family| family.prefix.len());
    family.map(Family::rule).unwrap_or_default()
}

/// The names by which a model may be looked up: gateways put the maker before it, as in `openai/o3`.
fn names(model: &str) -> Vec<String> {
    let whole = model.to_lowercase();
    let own = whole.rsplit('/').next().unwrap_or_default().to_owned();
    vec![whole, own]
}

impl Family {
    fn rule(&self) -> ModelRule {
        ModelRule {
            omit: self.omit.iter().map(|&name| name.to_owned()).collect(),
            rename: self.rename.iter().map(|&(from, to)| (from.to_owned(), to.to_owned())).collect(),
            thinks: self.thinks,
            structured_output: self.structured_output,
        }
    }
}

impl ModelRule {
    /// Takes out of a request's optional parameters what the model refuses, and renames what it calls otherwise.
    pub(crate) fn apply(&self, parameters: Map<String, Value>) -> Map<String, Value> {
        let kept = parameters.into_iter().filter(|(name, _)| !self.omit.contains(name));
        kept.map(|(name, value)| (self.rename.get(&name).cloned().unwrap_or(name), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn built_in(provider: Provider, model: &str) -> ModelRule {
        rule(provider, model, &BTreeMap::new())
    }

    #[test]
    fn reasoning_models_are_known_by_their_names() {
        for model in ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "GPT-5.1", "openai/gpt-5-mini"] {
            let rule = built_in(Provider::OpenAi, model);
            assert!(rule.thinks && rule.omit == ["temperature"], "{model}");
            assert_eq!(rule.rename["max_tokens"], "max_completion_tokens", "{model}");
        }
        for model in ["gpt-4o", "gpt-5-chat-latest", "llama-3", "mistral-o1", "qwen3"] {
            assert_eq!(built_in(Provider::OpenAi, model), ModelRule::default(), "{model}");
        }
    }

    #[test]
    fn a_rule_is_for_the_api_of_its_provider() {
        assert_eq!(built_in(Provider::OpenAi, "claude-opus-5"), ModelRule::default());
        let newest = built_in(Provider::Anthropic, "claude-sonnet-5-5");
        assert_eq!(newest.structured_output, Some(StructuredOutput::OutputConfig));
        assert_eq!(built_in(Provider::Anthropic, "claude-sonnet-4-5"), ModelRule::default());
        assert!(built_in(Provider::Gemini, "models/gemini-3-flash").thinks);
    }

    #[test]
    fn the_longest_prefix_wins_and_configuration_goes_before_the_table() {
        let own = BTreeMap::from([
            ("gpt-5".to_owned(), ModelRule { omit: vec!["seed".into()], ..ModelRule::default() }),
            ("gpt-5-x".to_owned(), ModelRule { thinks: true, ..ModelRule::default() }),
        ]);
        assert_eq!(rule(Provider::OpenAi, "gpt-5-mini", &own).omit, ["seed"]);
        assert!(rule(Provider::OpenAi, "gpt-5-x1", &own).thinks);
        assert_eq!(rule(Provider::OpenAi, "o3", &own), built_in(Provider::OpenAi, "o3"));
        // An Azure deployment may be called anything.
        let any = BTreeMap::from([(String::new(), ModelRule { thinks: true, ..ModelRule::default() })]);
        assert!(rule(Provider::OpenAi, "our-judge", &any).thinks);
    }

    #[test]
    fn parameters_are_left_out_and_renamed() {
        let parameters = json!({ "temperature": 0.0, "max_tokens": 9, "seed": 1 });
        let applied = built_in(Provider::OpenAi, "o3").apply(parameters.as_object().unwrap().clone());
        assert_eq!(Value::Object(applied), json!({ "max_completion_tokens": 9, "seed": 1 }));
    }
}
