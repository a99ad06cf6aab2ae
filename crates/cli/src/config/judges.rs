//! The judges: the first one, and those that stand in for it.

use judge::{Limits, Price, Profile, ProfileError, ProfileSettings};

use super::key::Key;
use super::raw::{self, Raw};
use super::settings::{Judge, authorities, secret};
use super::sources::Sources;

/// How the practice judge's only model may be called: a short word, or its own name.
const PRACTICE_MODELS: [&str; 2] = ["practice", practice::MODEL];

/// The first judge, none when none is named, and the others in their order.
pub(super) fn judges(raw: &Raw, sources: &mut Sources) -> (Option<Judge>, Vec<Judge>) {
    let first = judge(&Key::new(&["judge"]), &raw.judge.name, &raw.judge, sources);
    let key = Key::new(&["judge", "fallback"]);
    let mut fallback: Vec<Judge> = Vec::new();
    for name in &raw.judge.fallback {
        let section = Key::new(&["judges", name]);
        let is_taken =
            *name == raw.judge.name || fallback.iter().any(|judge| judge.profile.name() == name.as_str());
        let Some(named) = raw.judges.get(name).filter(|_| !is_taken) else {
            let problem = if is_taken { "is in the order twice" } else { "has no section" };
            sources
                .note(&key, format!("{name} {problem}: each name stands for one section, here [{section}]"));
            continue;
        };
        if named.base_url.trim().is_empty() && named.model.trim().is_empty() {
            sources.note(&section.child("base_url"), "is missing: judge.fallback names this judge".into());
            continue;
        }
        fallback.extend(judge(&section, name, named, sources));
    }
    if let Some(first) = &first {
        let is_practice = first.profile.is_practice();
        if let Some(other) = fallback.iter().find(|judge| judge.profile.is_practice() != is_practice) {
            let name = other.profile.name();
            let message = format!(
                "{name} cannot stand in: the practice judge and one with a model never do for each other"
            );
            sources.note(&key, message);
        }
    } else if !fallback.is_empty() {
        sources.note(&key, "names judges that stand in for none: judge.base_url names no judge".into());
    }
    (first, fallback)
}

fn judge(section: &Key, name: &str, raw: &raw::Judge, sources: &mut Sources) -> Option<Judge> {
    let key = |name: &str| section.child(name);
    let api_key = secret(&raw.api_key, &raw.api_key_file, &key("api_key_file"), sources);
    match (raw.base_url.trim().is_empty(), raw.model.trim().is_empty()) {
        (true, true) => return None,
        (true, false) => {
            sources.note(
                &key("base_url"),
                format!("is missing: {} names a model, and no judge that has it", key("model")),
            );
            return None;
        }
        (false, true) => {
            sources.note(
                &key("model"),
                format!("is missing: which model shall the judge at {} use?", key("base_url")),
            );
            return None;
        }
        (false, false) => {}
    }
    let is_called_practice = PRACTICE_MODELS.contains(&raw.model.as_str());
    if is_called_practice && raw.practice == Some(false) {
        sources
            .note(&key("practice"), format!("contradicts {}, which is the practice judge's", key("model")));
    }
    let price = price(section, raw, sources);
    let settings = ProfileSettings {
        api_key,
        authorities: authorities(&raw.ca_file, &key("ca_file"), sources),
        price,
        practice: raw.practice.unwrap_or(is_called_practice),
        ..profile_settings(name, raw)
    };
    match Profile::new(settings) {
        Ok(profile) => Some(Judge { profile, limits: limits(raw) }),
        Err(ProfileError { key: name, problem, .. }) => {
            // Time-outs that contradict each other were noted before, in the words of this configuration.
            if !name.ends_with("_timeout_ms") {
                let name = if name == "price.currency" {
                    "currency"
                } else {
                    name.split('.').next().unwrap_or_default()
                };
                sources.note(&key(name), problem);
            }
            None
        }
    }
}

/// What needs no file and no second look.
fn profile_settings(name: &str, raw: &raw::Judge) -> ProfileSettings {
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    ProfileSettings {
        name: name.to_owned(),
        provider: raw.provider,
        api_key_header: given(&raw.api_key_header),
        api_version: given(&raw.api_version),
        http_version: raw.http_version,
        structured_output: raw.structured_output,
        temperature: raw.temperature.value().map(|temperature| temperature.0),
        max_tokens: raw.max_tokens.value().map(|tokens| tokens.small()),
        max_tokens_base: raw.max_tokens_base.small(),
        max_tokens_factor: raw.max_tokens_factor.small(),
        reasoning_tokens: raw.reasoning_tokens.small(),
        max_tokens_key: raw.max_tokens_key,
        extra_params: raw.extra_params.clone(),
        model_map: raw.model_map.clone(),
        connect_timeout_ms: raw.connect_timeout_s.ms(),
        read_timeout_ms: raw.read_timeout_s.ms(),
        total_timeout_ms: raw.total_timeout_s.ms(),
        max_reply_bytes: raw.max_reply_bytes.count(),
        prices: raw.prices.iter().map(|(model, price)| (model.clone(), price_of(price, raw))).collect(),
        ..ProfileSettings::new("", raw.base_url.trim(), raw.model.clone())
    }
}

fn limits(raw: &raw::Judge) -> Limits {
    Limits {
        max_concurrency: raw.max_concurrency.count(),
        start_concurrency: raw.start_concurrency.count(),
        recover_after: raw.recover_after.small(),
        requests_per_minute: raw.requests_per_minute.small(),
        tokens_per_minute: raw.tokens_per_minute.small(),
        limit_share: raw.limit_share.0,
        breaker_failures: raw.breaker_failures.small(),
        breaker_open_ms: raw.breaker_open_s.ms(),
        breaker_permanent_open_ms: raw.breaker_permanent_open_s.ms(),
        retry_after_min_ms: raw.retry_after_min_s.ms(),
        retry_after_max_ms: raw.retry_after_max_s.ms(),
    }
}

fn price_of(price: &raw::Price, judge: &raw::Judge) -> Price {
    Price {
        input_per_million: price.input_per_million.0,
        output_per_million: price.output_per_million.0,
        cached_input_per_million: price.cached_input_per_million.map(|price| price.0),
        currency: price.currency.clone().unwrap_or_else(|| judge.currency.clone()),
    }
}

fn price(section: &Key, raw: &raw::Judge, sources: &mut Sources) -> Option<Price> {
    let cached = raw.price_cached_input_per_million;
    match (raw.price_input_per_million, raw.price_output_per_million) {
        (Some(input), Some(output)) => Some(Price {
            input_per_million: input.0,
            output_per_million: output.0,
            cached_input_per_million: cached.map(|price| price.0),
            currency: raw.currency.clone(),
        }),
        (None, None) if cached.is_none() => None,
        (input, _) => {
            let missing =
                if input.is_none() { "price_input_per_million" } else { "price_output_per_million" };
            let message = "is missing: a price needs both input and output, or the cost is not known".into();
            sources.note(&section.child(missing), message);
            None
        }
    }
}
