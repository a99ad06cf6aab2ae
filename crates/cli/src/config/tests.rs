//! The documented configuration and the one that is read are the same.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;

use serde::de::DeserializeOwned;
use toml::Value;

use super::key::Key;
use super::known::Known;
use super::raw::{self, Raw};
use super::*;

fn environment(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn load_text(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    load(Some(file(text).path()), environment(variables))
}

fn value_of(config: &Config, key: &str) -> (Option<String>, Origin) {
    let line = config.lines.iter().find(|line| line.key == key).unwrap_or_else(|| panic!("no {key}"));
    (line.value.clone(), line.origin.clone())
}

/// The keys that a type accepts, in its own words: it names them when it meets one that it does not know.
fn fields<T: DeserializeOwned + std::fmt::Debug>() -> Vec<String> {
    let unknown = Value::Table([("?".to_owned(), Value::Boolean(true))].into_iter().collect());
    let error = unknown.try_into::<T>().unwrap_err();
    let message = error.message().to_owned();
    let expected = message.split_once("expected ").unwrap().1;
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn below(parent: &[&str], fields: Vec<String>) -> impl Iterator<Item = String> {
    let parent = Key::new(parent);
    fields.into_iter().map(move |field| parent.child(&field).to_string())
}

#[test]
fn the_defaults_can_be_used_and_name_no_judge() {
    let config = load(Some(file("").path()), []).unwrap();
    assert!(config.settings.judge.is_none());
    for (kind, policy) in &config.settings.worker.policies {
        assert_eq!(*policy, audit::policy::Policy::of(*kind), "{kind}");
    }
    assert_eq!(config.settings.worker.policies.len(), trace::Kind::ALL.len());
    assert_eq!(config.settings.worker.default_project, worker::Project::default());
    assert_eq!(value_of(&config, "worker.max_message_bytes").0.unwrap(), "4194304");
}

#[test]
fn every_documented_key_is_read_and_every_key_that_is_read_is_documented() {
    let documented: BTreeSet<String> = Known::new().unwrap().keys().map(Key::to_string).collect();
    let mut read = BTreeSet::new();
    read.extend(below(&["database"], fields::<raw::Database>()));
    read.extend(below(&["queue"], fields::<raw::Queue>()));
    read.extend(below(&["judge"], fields::<raw::Judge>()));
    read.extend(below(&["worker"], fields::<raw::Worker>()));
    read.extend(below(&["desk"], fields::<desk::Desk>()));
    read.extend(below(&["gate"], fields::<desk::Gate>()));
    let notify = fields::<notify::Notify>()
        .into_iter()
        .filter(|field| field != "receivers" && field != "receiver_defaults")
        .collect();
    read.extend(below(&["notify"], notify));
    read.extend(below(&["notify", "receiver_defaults"], fields::<notify::Receiver>()));
    read.extend(below(&["review"], fields::<desk::Review>()));
    read.extend(below(&["relay"], fields::<raw::Relay>()));
    read.extend(below(&["spend"], fields::<raw::Spend>()));
    read.extend(below(&["retention"], fields::<raw::Retention>()));
    read.extend(below(&["prompts"], fields::<raw::Prompts>()));
    read.extend(below(&["log"], fields::<raw::Log>()));
    let project = fields::<raw::Project>()
        .into_iter()
        .filter(|field| field != "requirements" && field != "gate")
        .collect();
    read.extend(below(&["project_defaults"], project));
    read.extend(below(&["project_defaults", "gate"], fields::<raw::ProjectGate>()));
    read.extend(below(&["project_defaults", "requirements"], fields::<raw::Requirements>()));
    for kind in trace::Kind::ALL {
        let policy = fields::<raw::Policy>()
            .into_iter()
            .filter(|field| field != "format" && field != "content")
            .collect();
        read.extend(below(&["audits", kind.as_str()], policy));
        read.extend(below(&["audits", kind.as_str(), "format"], fields::<raw::Budget>()));
        read.extend(below(&["audits", kind.as_str(), "content"], fields::<raw::Budget>()));
    }
    assert_eq!(documented, read);
    let mut sections: Vec<String> = fields::<Raw>();
    sections.retain(|section| section != "projects" && section != "judges");
    let documented: BTreeSet<&str> = documented.iter().map(|key| key.split('.').next().unwrap()).collect();
    assert_eq!(documented, sections.iter().map(String::as_str).collect());
}

/// A value that differs from the default and that is allowed together with all other defaults.
fn another(key: &Key, default: &Value) -> String {
    match key.to_string().as_str() {
        "notify.rules" => "[{ receivers = [] }]".into(),
        "notify.owners" => r#"{"fares": []}"#.into(),
        "notify.owner_severities" => "critical,major".into(),
        "notify.desk_url" => "https://desk.example".into(),
        "notify.receiver_defaults.type" => "slack".into(),
        "desk.listen" => "127.0.0.1:9".into(),
        "desk.login" => "loopback,token".into(),
        "desk.proxy_addresses" => "10.0.0.7".into(),
        "desk.proxy_user_header" | "desk.proxy_role_header" | "desk.proxy_projects_header" => "x-who".into(),
        "desk.proxy_role" | "desk.loopback_role" => "reviewer".into(),
        "project_defaults.gate.ungrounded" => "redact".into(),
        "project_defaults.gate.max_regenerations" => "1".into(),
        "project_defaults.gate.exhausted" => "escalate".into(),
        "project_defaults.gate.unknown" => "open".into(),
        "database.url" => "postgres://user:secret@db/audits".into(),
        "queue.url" => "amqp://user:secret@broker/audits".into(),
        "judge.base_url" => "http://127.0.0.1:1/v1".into(),
        "judge.provider" => "anthropic".into(),
        // Its judges need sections of their own.
        "judge.fallback" => String::new(),
        "judge.api_key_header" => "api-key".into(),
        "judge.prices" => r#"{"m-2": {"input_per_million": 1, "output_per_million": 2.5}}"#.into(),
        "judge.model_map" => r#"{"m": {"omit": ["temperature"], "thinks": true}}"#.into(),
        "judge.structured_output" => "json_object".into(),
        "judge.max_tokens_key" => "max_completion_tokens".into(),
        "judge.extra_params" => r#"{"seed": 7, "nested": {"a": [1, 2]}}"#.into(),
        "judge.currency" => "EUR".into(),
        "project_defaults.evidence_threshold" => "strict".into(),
        "project_defaults.over_cap" => "defer".into(),
        "worker.claim_extraction" => "judge".into(),
        "worker.health_listen" | "notify.health_listen" => "127.0.0.1:9090".into(),
        // Neither holds a prompt or an example.
        "prompts.dir" | "prompts.examples_dir" => env!("CARGO_MANIFEST_DIR").to_owned() + "/src",
        "log.format" => "json".into(),
        "log.level" => "debug".into(),
        "queue.retry_tiers_s" => "1, 2.5, 60".into(),
        "project_defaults.fail_on" => "contradicted>0, mean.faithfulness<0.9".into(),
        "project_defaults.audits" => "faithfulness,faithfulness".into(),
        "project_defaults.requirements.retrieved_at" => "from_span".into(),
        "project_defaults.requirements.rank" => "list_order".into(),
        "project_defaults.requirements.source_id" => "synthetic".into(),
        "audits.gate.content.retries" | "audits.reference.content.retries" => "1".into(),
        "worker.reply_to_prefixes" | "project_defaults.high_risk_domains" => "a, b".into(),
        // Times may only shrink, or grow, without contradicting a neighbour.
        "judge.total_timeout_s" | "database.statement_timeout_s" => "110".into(),
        "judge.max_reply_bytes" => "2048".into(),
        "judge.http_version" => "http2".into(),
        name if name.ends_with(".remedy") => {
            if default.as_str() == Some("same_prompt") { "strengthen" } else { "same_prompt" }.into()
        }
        name if name.ends_with("_file") => String::new(),
        _ => match default {
            Value::String(_) => "another".into(),
            Value::Integer(number) => (number + 1).to_string(),
            Value::Float(number) => (number / 2.0).to_string(),
            Value::Boolean(value) => (!value).to_string(),
            other => panic!("no other value for {key} = {other:?}"),
        },
    }
}

#[test]
fn every_documented_variable_works() {
    let mut needed =
        vec![("GROUNDCREW_JUDGE__BASE_URL", "http://127.0.0.1:9/v1"), ("GROUNDCREW_JUDGE__MODEL", "m")];
    needed.push(("GROUNDCREW_JUDGE__PRICE_INPUT_PER_MILLION", "1"));
    needed.push(("GROUNDCREW_JUDGE__PRICE_OUTPUT_PER_MILLION", "1"));
    for key in Known::new().unwrap().keys() {
        let variable = key.variable();
        let value = another(key, Known::new().unwrap().example(key).unwrap());
        let mut variables: Vec<(&str, &str)> =
            needed.iter().copied().filter(|(name, _)| *name != variable).collect();
        variables.push((&variable, &value));
        let config = load(Some(file("").path()), environment(&variables))
            .unwrap_or_else(|error| panic!("{variable}={value}: {error}"));
        if !value.is_empty() {
            assert_eq!(
                value_of(&config, &key.to_string()).1,
                Origin::Environment(variable.clone()),
                "{variable}"
            );
        }
    }
}

#[test]
fn a_cap_on_money_is_refused_where_a_price_is_not_known() {
    const JUDGE: &str = "[judge]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n";
    const PRICE: &str = "price_input_per_million = 1\nprice_output_per_million = 2\n";
    const CAP: &str = "[projects.shop]\ncap_money_per_day = 2.5\n";
    let problem = |text: &str| match load_text(text, &[]) {
        Err(ConfigError::Keys(problems)) => {
            problems.iter().map(|problem| problem.to_string()).collect::<String>()
        }
        other => panic!("{other:?}"),
    };
    let refused = problem(&format!("{JUDGE}{CAP}"));
    assert!(refused.contains("projects.shop.cap_money_per_day = 2.5"), "{refused}");
    assert!(refused.contains("the price of m is not known; set judge.price_input_per_million"), "{refused}");

    let config = load_text(&format!("{JUDGE}{PRICE}{CAP}"), &[]).unwrap();
    let money = config.settings.worker.project("shop").caps.money.clone().unwrap();
    assert_eq!((money.micros, money.currency.as_str()), (2_500_000, "USD"));
    assert!(!config.settings.worker.project("another").caps.is_capped());

    let other = "[judge.prices.m]\ninput_per_million = 1\noutput_per_million = 1\ncurrency = \"EUR\"\n";
    let refused = problem(&format!("{JUDGE}{PRICE}{other}{CAP}"));
    assert!(refused.contains("judge has prices in EUR, the cap is in USD"), "{refused}");

    let standing_in =
        "[judges.other]\nbase_url = \"http://127.0.0.1:8/v1\"\nmodel = \"n\"\n".to_owned() + CAP;
    let refused = problem(&format!("{JUDGE}fallback = [\"other\"]\n{PRICE}{standing_in}"));
    assert!(refused.contains("the price of n is not known; set judges.other.price_input"), "{refused}");
}

#[test]
fn a_reservation_outlives_a_call_of_the_judge() {
    let error = load_text("[spend]\nreservation_s = 100\n", &[]).unwrap_err().to_string();
    assert!(
        error.contains("spend.reservation_s = 100") && error.contains("longer than judge.total_timeout_s"),
        "{error}"
    );
}

#[test]
fn the_environment_wins_over_the_file_and_the_file_over_the_default() {
    let text = "[worker]\nquick_tries = 4\nmax_age_h = 30\n";
    let config =
        load_text(text, &[("GROUNDCREW_WORKER__QUICK_TRIES", "5"), ("GROUNDCREW_WORKER__MAX_AGE_H", "")])
            .unwrap();
    assert_eq!(config.settings.runner.quick_tries, 5);
    assert_eq!(
        value_of(&config, "worker.quick_tries").1,
        Origin::Environment("GROUNDCREW_WORKER__QUICK_TRIES".into())
    );
    assert!(matches!(value_of(&config, "worker.max_age_h").1, Origin::File { line: 3, .. }));
    assert_eq!(value_of(&config, "worker.max_unit_chars").1, Origin::Default);
}

#[test]
fn our_own_name_of_a_url_wins_over_the_well_known_one() {
    let both = [
        ("DATABASE_URL", "postgres://a/x"),
        ("GROUNDCREW_DATABASE__URL", "postgres://b/x"),
        ("AMQP_URL", "amqp://b"),
    ];
    let config = load(Some(file("").path()), environment(&both)).unwrap();
    assert_eq!(config.settings.database.url.unwrap().expose(), "postgres://b/x");
    assert_eq!(config.settings.queue.settings.unwrap().broker(), "b:5672/");
}

#[test]
fn a_project_inherits_what_it_does_not_say() {
    let text = "[project_defaults]\nsample_passed = 0.5\n[projects.city-helpdesk]\nreview_below = 0.9\n";
    let variables = [("GROUNDCREW_PROJECTS__CITY_HELPDESK__REQUIREMENTS__RANK", "list_order")];
    let config = load_text(text, &variables).unwrap();
    let project = config.settings.worker.project("city-helpdesk");
    assert_eq!((project.routing.review_below, project.routing.sample_passed), (0.9, 0.5));
    assert_eq!(project.requirements.rank, Some(trace::Provenance::ListOrder));
    assert_eq!(config.settings.worker.project("other").routing.review_below, 0.8);
}

#[test]
fn secrets_come_from_the_environment_or_from_files_and_are_shown_nowhere() {
    let key = file("  s3cret-key\n");
    let text = format!(
        "[judge]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\napi_key_file = {:?}\n",
        key.path()
    );
    let config = load_text(&text, &[("DATABASE_URL", "postgres://u:s3cret@h/d")]).unwrap();
    let profile = config.settings.judge.as_ref().unwrap().profile.settings();
    assert_eq!(profile.api_key.as_ref().unwrap().expose(), "s3cret-key");
    assert!(!format!("{config:?}").contains("s3cret"));
    assert_eq!(value_of(&config, "database.url").0.unwrap(), "(hidden)");
}

#[test]
fn keys_that_stood_in_other_places_were_shown() {
    for (key, value) in [
        ("judge.base_url", r#""https://h/v1?api_key=SEKRET""#),
        ("judge.base_url", r#""https://SEKRET@h/v1""#),
        ("judge.base_url", r#""https://u:a/SEKRET@h/v1""#),
        ("judge.base_url", r#""https://h/v1#SEKRET""#),
        ("judge.api_key_file", r#""a.SEKRET""#),
        ("judge.api_key_header", r#""Authorization: Bearer SEKRET""#),
        ("judge.extra_params", r#"{ api_key = "SEKRET", deep = { auth_token = "SEKRET" } }"#),
        ("judge.extra_params", r#"{ callback = "https://h/?k=SEKRET" }"#),
    ] {
        let name = key.split_once('.').unwrap().1;
        let mut text = String::from("[judge]\nmodel = \"m\"\n");
        if name != "base_url" {
            text.push_str("base_url = \"http://127.0.0.1:9/v1\"\n");
        }
        text.push_str(&format!("{name} = {value}\n"));
        let shown = match load_text(&text, &[]) {
            Ok(config) => {
                config.lines.iter().map(|line| format!("{} {:?}\n", line.key, line.value)).collect()
            }
            Err(error) => error.to_string(),
        };
        assert!(!shown.contains("SEKRET"), "{key} = {value}: {shown}");
        assert!(shown.contains(key), "{key} = {value}: {shown}");
    }
}

#[test]
fn a_cap_on_money_that_was_rounded_away_was_none() {
    let text = "[project_defaults]\ncap_money_per_day = 0.0000001\n";
    let Err(ConfigError::Keys(problems)) = load_text(text, &[]) else { panic!() };
    assert_eq!(problems[0].key, "project_defaults.cap_money_per_day");
}

#[test]
fn the_practice_judge_is_known_by_its_model() {
    let judge = |model: &str| {
        let variables =
            [("GROUNDCREW_JUDGE__BASE_URL", "http://127.0.0.1:9/v1"), ("GROUNDCREW_JUDGE__MODEL", model)];
        load(Some(file("").path()), environment(&variables)).unwrap().settings.judge.unwrap().profile
    };
    assert!(judge("practice").is_practice() && judge(practice::MODEL).is_practice());
    assert!(!judge("another-model").is_practice());
}

#[test]
fn a_variable_that_is_a_key_but_for_an_underscore_is_warned_about() {
    let config = load(
        Some(file("").path()),
        environment(&[
            ("GROUNDCREW_JUDGE_MODEL", "m"),
            ("GROUNDCREW_TEST_DEV", "x"),
            ("groundcrew_judge__model", "m"),
        ]),
    );
    assert_eq!(
        config.unwrap().warnings,
        [
            "groundcrew_judge__model is not read; did you mean GROUNDCREW_JUDGE__MODEL?",
            "GROUNDCREW_JUDGE_MODEL is not read; did you mean GROUNDCREW_JUDGE__MODEL?",
        ]
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = "[queue]\nheartbeat_s = 0\nretry_tiers_s = [1, \"x\"]\n[jugde]\nmodel = \"m\"\n";
    let Err(ConfigError::Keys(problems)) = load_text(text, &[("GROUNDCREW_LOG__LEVEL", "loud")]) else {
        panic!()
    };
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["jugde.model", "log.level", "queue.heartbeat_s", "queue.retry_tiers_s"]);
}

const TWO_JUDGES: &str = "[judge]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\nfallback = [\"the-other\"]\n\
     max_tokens = 100\n[judges.the-other]\nprovider = \"anthropic\"\nbase_url = \"http://127.0.0.1:8/v1\"\n\
     model = \"n\"\n[judges.the-other.prices.\"n.1\"]\ninput_per_million = 3\noutput_per_million = 15\n";

#[test]
fn a_judge_that_stands_in_has_all_keys_and_inherits_nothing_from_the_first() {
    let variables =
        [("GROUNDCREW_JUDGE__API_KEY", "s3cret-1"), ("GROUNDCREW_JUDGES__THE_OTHER__API_KEY", "s3cret-2")];
    let config = load_text(TWO_JUDGES, &variables).unwrap();
    let [other] = config.settings.fallback.as_slice() else { panic!() };
    let settings = other.profile.settings();
    assert_eq!((other.profile.name(), settings.provider), ("the-other", judge::Provider::Anthropic));
    assert_eq!(settings.max_tokens, Some(8192));
    assert_eq!(settings.api_key.as_ref().unwrap().expose(), "s3cret-2");
    assert_eq!(
        (settings.prices["n.1"].output_per_million, settings.prices["n.1"].currency.as_str()),
        (15.0, "USD")
    );
    assert_eq!(value_of(&config, "judges.the-other.api_key").0.unwrap(), "(hidden)");
    assert!(!format!("{config:?}").contains("s3cret"));
    let without = load_text(TWO_JUDGES, &variables[..1]).unwrap();
    assert_eq!(without.settings.fallback[0].profile.settings().api_key, None);
}

#[test]
fn a_judge_that_stands_in_may_be_named_by_variables_alone() {
    let variables = [
        ("GROUNDCREW_JUDGE__BASE_URL", "http://127.0.0.1:9/v1"),
        ("GROUNDCREW_JUDGE__MODEL", "m"),
        ("GROUNDCREW_JUDGE__FALLBACK", "backup"),
        ("GROUNDCREW_JUDGES__BACKUP__BASE_URL", "http://127.0.0.1:8/v1"),
        ("GROUNDCREW_JUDGES__BACKUP__MODEL", "n"),
    ];
    let config = load(Some(file("").path()), environment(&variables)).unwrap();
    assert_eq!(config.settings.fallback[0].profile.model(), "n");
}

#[test]
fn an_order_of_judges_that_cannot_be_is_refused() {
    let keys = |text: &str| match load_text(text, &[]) {
        Err(ConfigError::Keys(problems)) => {
            problems.into_iter().map(|problem| problem.key).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let first = "[judge]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n";
    assert_eq!(keys(&format!("{first}fallback = [\"x\"]\n")), ["judges.x.base_url"]);
    let practice = "[judges.x]\nbase_url = \"http://127.0.0.1:8/v1\"\nmodel = \"practice\"\n";
    assert_eq!(keys(&format!("{first}fallback = [\"x\"]\n{practice}")), ["judge.fallback"]);
    let twice = TWO_JUDGES.replace("[\"the-other\"]", "[\"the-other\", \"the-other\", \"default\"]");
    assert_eq!(keys(&twice), ["judge.fallback", "judge.fallback"]);
    let secret = format!("{TWO_JUDGES}[judges.third]\napi_key = \"k\"\nname = \"y\"\nmodell = \"z\"\n");
    assert_eq!(keys(&secret), ["judges.third.api_key", "judges.third.modell", "judges.third.name"]);
    let slow = format!("{TWO_JUDGES}[judges.third]\nread_timeout_s = 200\n");
    assert_eq!(keys(&slow), ["judges.third.read_timeout_s"]);
}

#[test]
fn the_desk_lets_nobody_in_who_is_not_asked_unless_they_are_on_this_machine() {
    let problem = |text: &str| match load_text(text, &[]) {
        Err(ConfigError::Keys(problems)) => problems.iter().map(|it| it.to_string()).collect::<String>(),
        other => panic!("{other:?}"),
    };
    let open = "[desk]\nlisten = \"0.0.0.0:8090\"\nlogin = [\"loopback\"]\n";
    assert!(problem(open).contains("can be reached from other machines"), "{}", problem(open));
    assert!(problem("[desk]\nlisten = \"0.0.0.0:8090\"\nlogin = []\n").contains("at least one of token"));
    assert!(problem("[desk]\nlogin = [\"proxy\"]\n").contains("names no proxy"));
    let wrong = "[desk]\nlogin = [\"proxy\"]\nproxy_addresses = [\"10.0.0.0/8\"]\n";
    assert!(problem(wrong).contains("each of one proxy"), "{}", problem(wrong));
    let in_front = load_text("[desk]\nproxy_addresses = [\"10.0.0.7\"]\n", &[]).unwrap();
    let logins = in_front.settings.desk.logins;
    assert!(logins.token && logins.proxy.is_none(), "who asks is not for it to say");
    assert_eq!(logins.fronts, ["10.0.0.7".parse::<std::net::IpAddr>().unwrap()], "where from is");
    assert!(problem("[gate]\ndeadline_s = 200\n").contains("must not be longer than gate.max_deadline_s"));

    let here = load_text("[desk]\nlogin = [\"loopback\"]\n", &[]).unwrap();
    assert!(here.settings.desk.logins.loopback.is_some());
    assert!(!here.settings.desk.logins.token);
    let named = load_text("[projects.shop]\ngate.ungrounded = \"redact\"\n", &[]).unwrap();
    let ungrounded = |name: &str| named.settings.desk.project(name).gate.ungrounded;
    assert_eq!(ungrounded("shop"), audit::gate::WhenUngrounded::Redact);
    assert_eq!(ungrounded("another"), audit::gate::WhenUngrounded::Block);
}
