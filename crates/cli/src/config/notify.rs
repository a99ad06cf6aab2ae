//! The section `[notify]`: as it is written, and as it is used.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use ::notify::{Owners, REASONS, Rules, Target, Zone};
use audit::report::Severity;
use judge::Secret;
use serde::Deserialize;
use trace::Kind;

use super::bounded::{Seconds, Whole};
use super::key::Key;
use super::settings::{health_listen, secret};
use super::sources::Sources;

/// Where PagerDuty takes events, unless a receiver names another address (accounts in the EU have one).
const PAGERDUTY: &str = "https://events.pagerduty.com/v2/enqueue";

/// Fewer characters could be guessed.
const LEAST_SIGNING_KEY: usize = 16;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Notify {
    pub(crate) rules: Vec<Rule>,
    pub(crate) owners: BTreeMap<String, Vec<String>>,
    pub(crate) owner_severities: Vec<Severity>,
    pub(crate) gather_s: Seconds<0, 3_600_000>,
    pub(crate) window_s: Seconds<0, 86_400_000>,
    pub(crate) max_tries: Whole<1, 1000>,
    pub(crate) first_pause_s: Seconds<10, 3_600_000>,
    pub(crate) longest_pause_s: Seconds<10, 86_400_000>,
    pub(crate) poll_s: Seconds<50, 600_000>,
    pub(crate) desk_url: String,
    pub(crate) include_content: bool,
    pub(crate) health_listen: String,
    /// What the receivers inherit; none is made of it.
    #[serde(rename = "receiver_defaults")]
    pub(crate) _receiver_defaults: Receiver,
    #[serde(default)]
    pub(crate) receivers: BTreeMap<String, Receiver>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receiver {
    #[serde(rename = "type")]
    pub(crate) form: Form,
    pub(crate) url: Secret,
    pub(crate) url_file: String,
    pub(crate) routing_key: Secret,
    pub(crate) routing_key_file: String,
    pub(crate) signing_key: Secret,
    pub(crate) signing_key_file: String,
    pub(crate) timeout_s: Seconds<100, 120_000>,
}

/// What kind of receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    #[serde(rename = "pagerduty")]
    PagerDuty,
    Slack,
    Webhook,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) receivers: Vec<String>,
    #[serde(default)]
    pub(crate) projects: Vec<String>,
    #[serde(default)]
    pub(crate) kinds: Vec<Kind>,
    #[serde(default)]
    pub(crate) severities: Vec<Severity>,
    #[serde(default)]
    pub(crate) reasons: Vec<String>,
    #[serde(default)]
    pub(crate) urgent: bool,
    #[serde(default)]
    pub(crate) hours: String,
    #[serde(default)]
    pub(crate) time_zone: String,
    #[serde(default)]
    pub(crate) utc_offset: String,
}

fn key(name: &str) -> Key {
    Key::new(&["notify", name])
}

/// How notifications work, and what only the commands that send them need.
#[derive(Debug)]
pub(crate) struct Paging {
    pub(crate) settings: ::notify::Settings,
    /// Secrets of receivers that rules name, and where to put them.
    pub(crate) missing: Vec<String>,
    /// Where `groundcrew notify` serves its health and figures; the desk has its own.
    pub(crate) health_listen: Option<SocketAddr>,
}

/// How notifications work. What is wrong is noted.
pub(super) fn settings(raw: &Notify, sources: &mut Sources) -> Paging {
    if raw.window_s.get() < raw.gather_s.get() {
        let least = raw.gather_s.get().as_secs_f64();
        sources.note(&key("window_s"), format!("must not be shorter than notify.gather_s, which is {least}"));
    }
    if raw.longest_pause_s.get() < raw.first_pause_s.get() {
        let least = raw.first_pause_s.get().as_secs_f64();
        let message = format!("must not be shorter than notify.first_pause_s, which is {least}");
        sources.note(&key("longest_pause_s"), message);
    }
    let desk_url = raw.desk_url.trim().trim_end_matches('/');
    if !desk_url.is_empty() && !is_http(desk_url) {
        sources
            .note(&key("desk_url"), "expected an http or https address such as https://desk.example".into());
    }
    let rules = rules(raw, sources);
    // Who is never told needs no secrets.
    let named: BTreeSet<&String> = rules
        .rules
        .iter()
        .flat_map(|rule| &rule.receivers)
        .chain(rules.owners.receivers.values().flatten())
        .collect();
    let (mut receivers, mut missing) = (BTreeMap::new(), Vec::new());
    for (name, receiver) in &raw.receivers {
        let is_needed = named.contains(name);
        match receiver_of(name, receiver, sources) {
            Ok(receiver) => {
                receivers.insert(name.clone(), receiver);
            }
            Err(key) if is_needed => missing.push(format!(
                "{key} is missing: set {}, or name a file that holds it in {key}_file",
                key.variable()
            )),
            Err(_) => {}
        }
    }
    let settings = ::notify::Settings {
        rules,
        receivers,
        gather: raw.gather_s.get(),
        window: raw.window_s.get(),
        max_tries: raw.max_tries.small(),
        first_pause: raw.first_pause_s.get(),
        longest_pause: raw.longest_pause_s.get(),
        poll: raw.poll_s.get(),
        desk_url: Some(desk_url.to_owned()).filter(|url| !url.is_empty()),
        include_content: raw.include_content,
    };
    let health_listen = health_listen(&raw.health_listen, key("health_listen"), sources);
    Paging { settings, missing, health_listen }
}

fn is_http(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn rules(raw: &Notify, sources: &mut Sources) -> Rules {
    let mut rules = Vec::new();
    for (index, rule) in raw.rules.iter().enumerate() {
        let mut note = |what: String| sources.note(&key("rules"), format!("rule {}: {what}", index + 1));
        for unknown in rule.receivers.iter().filter(|name| !raw.receivers.contains_key(*name)) {
            note(format!("no section [notify.receivers.{unknown}] exists"));
        }
        words(rule, &mut note);
        let hours = rule.hours.parse().map_err(|error: ::notify::BadHours| note(format!("hours: {error}")));
        let zone = if rule.time_zone.is_empty() {
            Zone::offset(&rule.utc_offset).map_err(|error| note(format!("utc_offset: {error}")))
        } else if rule.utc_offset.is_empty() {
            rule.time_zone.parse().map_err(|error: ::notify::BadZone| note(format!("time_zone: {error}")))
        } else {
            note("time_zone and utc_offset say the same thing: leave one of them out".to_owned());
            continue;
        };
        let (Ok(hours), Ok(zone)) = (hours, zone) else { continue };
        rules.push(::notify::Rule {
            projects: rule.projects.clone(),
            kinds: rule.kinds.clone(),
            severities: rule.severities.clone(),
            reasons: rule.reasons.clone(),
            urgent: rule.urgent,
            hours,
            zone,
            receivers: rule.receivers.clone(),
        });
    }
    owners(raw, sources);
    let owners = Owners { receivers: raw.owners.clone(), severities: raw.owner_severities.clone() };
    Rules { rules, owners }
}

/// What a rule says in words that never fit an item: it would page nobody, and nobody would know.
fn words(rule: &Rule, note: &mut impl FnMut(String)) {
    for unknown in rule.reasons.iter().filter(|code| !REASONS.contains(&code.as_str())) {
        let what = if unknown == "blind_sample" {
            "nobody is told of the blind sample"
        } else {
            "no reason has this code"
        };
        note(format!("reasons: `{unknown}`: {what}; allowed are {}", REASONS.join(", ")));
    }
    if rule.projects.iter().any(|project| project.trim().is_empty()) {
        note("projects: expected names of projects; leave the key out for all of them".to_owned());
    }
    for (name, value) in [("time_zone", &rule.time_zone), ("utc_offset", &rule.utc_offset)] {
        if !value.is_empty() && value.trim().is_empty() {
            note(format!("{name}: is blank; leave the key out for UTC"));
        }
    }
}

fn owners(raw: &Notify, sources: &mut Sources) {
    if !raw.owners.is_empty() && raw.owner_severities.is_empty() {
        let allowed = Severity::ALL.map(Severity::as_str).join(", ");
        let message = format!("[] pages no owner in notify.owners; allowed are {allowed}");
        sources.note(&key("owner_severities"), message);
    }
    for (owner, receivers) in &raw.owners {
        if owner.trim().is_empty() {
            sources
                .note(&key("owners"), "expected the name of a content owner, found a blank one".to_owned());
        }
        for unknown in receivers.iter().filter(|name| !raw.receivers.contains_key(*name)) {
            let message = format!("{owner}: no section [notify.receivers.{unknown}] exists");
            sources.note(&key("owners"), message);
        }
    }
}

/// The key of the secret when one is missing.
fn receiver_of(name: &str, raw: &Receiver, sources: &mut Sources) -> Result<::notify::Receiver, Key> {
    let own = |part: &str| Key::new(&["notify", "receivers", name, part]);
    let url = secret(&raw.url, &raw.url_file, &own("url_file"), sources);
    let url = match (raw.form, url) {
        (_, Some(url)) => url,
        (Form::PagerDuty, None) => Secret::new(PAGERDUTY),
        (Form::Slack | Form::Webhook, None) => return Err(own("url")),
    };
    if !is_http(url.expose()) {
        sources.note(&own("url"), "expected an http or https address".into());
    }
    let target = match raw.form {
        Form::PagerDuty => {
            let file = own("routing_key_file");
            let routing_key = secret(&raw.routing_key, &raw.routing_key_file, &file, sources);
            Target::PagerDuty { url, routing_key: routing_key.ok_or_else(|| own("routing_key"))? }
        }
        Form::Slack => Target::Slack { url },
        Form::Webhook => {
            let file = own("signing_key_file");
            let signing_key = secret(&raw.signing_key, &raw.signing_key_file, &file, sources);
            let signing_key = signing_key.ok_or_else(|| own("signing_key"))?;
            if signing_key.expose().chars().count() < LEAST_SIGNING_KEY {
                let message = format!("is too short: at least {LEAST_SIGNING_KEY} characters");
                sources.note(&own("signing_key"), message);
            }
            Target::Webhook { url, signing_key }
        }
    };
    Ok(::notify::Receiver { target, timeout: raw.timeout_s.get() })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Write as _;

    use super::super::{Config, ConfigError, load};

    fn load_text(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let variables: Vec<(OsString, OsString)> =
            variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        load(Some(file.path()), variables)
    }

    fn problem(text: &str) -> String {
        load_text(text, &[]).unwrap_err().to_string()
    }

    const PAGER: &str =
        "[notify.receivers.on-call]\ntype = \"pagerduty\"\n[[notify.rules]]\nreceivers = [\"on-call\"]\n";

    #[test]
    fn a_receiver_has_its_secrets_from_variables_and_the_rest_from_the_defaults() {
        let text = format!("[notify.receiver_defaults]\ntimeout_s = 3\n{PAGER}");
        let config =
            load_text(&text, &[("GROUNDCREW_NOTIFY__RECEIVERS__ON_CALL__ROUTING_KEY", "s3cret")]).unwrap();
        let receiver = &config.settings.notify.settings.receivers["on-call"];
        assert_eq!((receiver.target.kind(), receiver.timeout.as_secs()), ("pagerduty", 3));
        assert!(config.settings.notify.missing.is_empty() && config.settings.notify.settings.is_configured());
        assert!(!format!("{config:?}").contains("s3cret"));
        // Other commands do without the secret; those that need it say what to set.
        let without = load_text(&text, &[]).unwrap().settings.notify;
        assert!(
            without.missing[0].contains("GROUNDCREW_NOTIFY__RECEIVERS__ON_CALL__ROUTING_KEY"),
            "{without:?}"
        );
    }

    #[test]
    fn what_is_wrong_with_notifications_is_said_with_key_and_line() {
        let secret = problem("[notify.receivers.a]\nurl = \"https://hooks.example/s3cret\"\n");
        assert!(secret.contains("notify.receivers.a.url") && secret.contains(":2"), "{secret}");
        assert!(
            secret.contains("must not stand in a configuration file") && !secret.contains("s3cret"),
            "{secret}"
        );
        let unknown = problem("[notify.receivers.a]\ntimout_s = 1\n");
        assert!(unknown.contains("the nearest one is notify.receivers.a.timeout_s"), "{unknown}");
        let nobody = problem("[[notify.rules]]\nreceivers = [\"nobody\"]\n");
        assert!(nobody.contains("rule 1: no section [notify.receivers.nobody]"), "{nobody}");
        let hours = problem(&format!("{PAGER}hours = \"nine to five\"\n"));
        assert!(hours.contains("rule 1: hours: `nine to five` names no hours"), "{hours}");
        let offset = problem(&format!("{PAGER}utc_offset = \"CET\"\n"));
        assert!(offset.contains("rule 1: utc_offset: expected an offset"), "{offset}");
        let zone = problem(&format!("{PAGER}time_zone = \"Europe/Atlantis\"\n"));
        assert!(zone.contains("rule 1: time_zone: expected a time zone such as Europe/Berlin"), "{zone}");
        let both = problem(&format!("{PAGER}time_zone = \"Europe/Berlin\"\nutc_offset = \"+01:00\"\n"));
        assert!(both.contains("leave one of them out"), "{both}");
        let key = problem(&format!("{PAGER}severity = \"critical\"\n"));
        assert!(key.contains("notify.rules"), "{key}");
        let window = problem("[notify]\nwindow_s = 1\n");
        assert!(window.contains("must not be shorter than notify.gather_s, which is 10"), "{window}");
        let short = load_text(
            "[notify.receivers.a]\ntype = \"webhook\"\n",
            &[
                ("GROUNDCREW_NOTIFY__RECEIVERS__A__URL", "https://hooks.example"),
                ("GROUNDCREW_NOTIFY__RECEIVERS__A__SIGNING_KEY", "s3cret"),
            ],
        );
        let short = short.unwrap_err().to_string();
        assert!(short.contains("too short") && !short.contains("s3cret"), "{short}");
    }
    /// They passed, and such a rule paged nobody, or everybody at all hours.
    #[test]
    fn words_of_a_rule_that_never_fit_are_refused_with_those_that_are_allowed() {
        for (line, said) in [
            (
                "reasons = [\"critical_findings\"]",
                "rule 1: reasons: `critical_findings`: no reason has this code",
            ),
            ("reasons = [\"critical_findings\"]", "altered_quote, claim_follows_evidence"),
            ("reasons = [\"major_finding\", \"\"]", "rule 1: reasons: ``: no reason has this code"),
            ("reasons = [\"blind_sample\"]", "nobody is told of the blind sample; allowed are"),
            ("hours = \",\"", "rule 1: hours: `,` names no hours"),
            ("hours = \" \"", "rule 1: hours: ` ` names no hours"),
            ("hours = \"mon,,tue\"", "rule 1: hours: `mon,,tue` names no hours"),
            ("time_zone = \" \"", "rule 1: time_zone: is blank"),
            ("utc_offset = \" \"", "rule 1: utc_offset: is blank"),
            ("projects = [\"\"]", "rule 1: projects: expected names of projects"),
            ("projects = [\"harbour\", \" \"]", "rule 1: projects: expected names of projects"),
        ] {
            let refused = problem(&format!("{PAGER}{line}\n"));
            assert!(refused.contains(said), "{line}: {refused}");
        }
        for (line, said) in [
            ("owners = { \" \" = [\"on-call\"] }", "found a blank one"),
            (
                "owners = { fares = [\"on-call\"] }\nowner_severities = []",
                "allowed are minor, major, critical",
            ),
        ] {
            let refused = problem(&format!("[notify]\n{line}\n{PAGER}"));
            assert!(refused.contains(said), "{line}: {refused}");
        }
        let all = ::notify::REASONS.map(|code| format!("\"{code}\"")).join(", ");
        let allowed =
            format!("{PAGER}reasons = [{all}]\nprojects = [\"harbour\"]\nhours = \"mon, sat 10:00-14:00\"\n");
        let config = load_text(&allowed, &[]).unwrap();
        assert_eq!(config.settings.notify.settings.rules.rules.len(), 1);
    }

    /// The example of docs/paging.md named a reason that does not exist.
    #[test]
    fn the_webhook_of_the_manual_names_reasons_that_exist() {
        let manual = include_str!("../../../../docs/paging.md");
        let reasons = manual.split("\"reasons\": [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
        for code in reasons.split(", ") {
            assert!(::notify::REASONS.contains(&code.trim_matches('"')), "{code}");
            assert!(manual.contains(&format!(", faithfulness: {}\"", code.trim_matches('"'))), "{code}");
        }
    }
}
