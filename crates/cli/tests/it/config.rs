//! Configurations, right and wrong.

use super::Call;

const JUDGE: &[(&str, &str)] =
    &[("GROUNDCREW_JUDGE__BASE_URL", "http://127.0.0.1:9/v1"), ("GROUNDCREW_JUDGE__MODEL", "m")];

/// A wrong configuration: what is wrong about it, the file, and the variables.
type Wrong = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const WRONG: &[Wrong] = &[
    ("no TOML", "[judge\nmodel = \"m\"", &[]),
    ("a value without quotes", "[judge]\nmodel = some-model", &[]),
    ("a key given twice", "[worker]\nquick_tries = 1\nquick_tries = 2", &[]),
    ("a misspelt key", "[judge]\nmodle = \"m\"", &[]),
    ("a misspelt section", "[jugde]\nmodel = \"m\"", &[]),
    ("a key in the wrong section", "[worker]\nmodel = \"m\"", &[]),
    ("a section as a value", "judge = \"m\"", &[]),
    ("a value as a section", "[judge.model]\nname = \"m\"", &[]),
    ("a misspelt variable", "", &[("GROUNDCREW_JUDGE__MODLE", "m")]),
    ("a variable of no section", "", &[("GROUNDCREW_JUGDE__MODEL", "m")]),
    ("a project that the file does not name", "", &[("GROUNDCREW_PROJECTS__PARK__REVIEW_BELOW", "0.5")]),
    ("a text for a number", "[queue]\nheartbeat_s = \"ten\"", &[]),
    ("a fraction for a whole number", "[queue]\nheartbeat_s = 1.5", &[]),
    ("a number out of its range", "[queue]\nheartbeat_s = 0", &[]),
    ("the same in the environment", "", &[("GROUNDCREW_QUEUE__HEARTBEAT_S", "601")]),
    ("a negative time", "[judge]\nread_timeout_s = -1", &[]),
    ("a word that is not allowed", "[log]\nformat = \"xml\"", &[]),
    ("no share of the limits", "[judge]\nlimit_share = 0", &[]),
    (
        "silence that may be longer than connecting",
        "[judge]\nconnect_timeout_s = 30\nread_timeout_s = 20",
        &[],
    ),
    ("work beyond the broker's patience", "[worker]\nmax_work_s = 1700", &[]),
    ("no address", "[worker]\nhealth_listen = \"9090\"", &[]),
    ("a share above one", "[project_defaults]\nsample_passed = 2", &[]),
    ("an unknown kind", "[project_defaults]\naudits = [\"faithfullness\"]", &[]),
    ("no kind at all", "[project_defaults]\naudits = []", &[]),
    ("a provenance that makes no sense", "[project_defaults]\nrequirements.rank = \"synthetic\"", &[]),
    ("a wrong key of a project", "[projects.park]\nreview_bellow = 0.5", &[]),
    ("a wrong value of a project", "[projects.\"city park\"]\nreview_below = 7", &[]),
    ("a key in a file", "[judge]\napi_key = \"sk-s3cret\"", &[]),
    ("a misspelt key in a file", "[judge]\napi_kye = \"sk-s3cret\"", &[]),
    ("a key for the name of its file", "", &[("GROUNDCREW_JUDGE__API_KEY_FILE", "sk-s3cret")]),
    ("a judge with a password", "[judge]\nbase_url = \"http://u:s3cret@h/v1\"\nmodel = \"m\"", &[]),
    ("a password in a file", "[database]\nurl = \"postgres://u:s3cret@h/d\"", &[]),
    ("another database", "", &[("DATABASE_URL", "mysql://u:s3cret@h/d")]),
    ("another broker", "", &[("AMQP_URL", "http://u:s3cret@h")]),
    ("a key file that is not there", "[judge]\napi_key_file = \"/nowhere/key\"", JUDGE),
    ("a model without a judge", "[judge]\nmodel = \"m\"", &[]),
    ("a judge without a model", "[judge]\nbase_url = \"http://127.0.0.1:9/v1\"", &[]),
    ("a judge that is no URL", "[judge]\nmodel = \"m\"\nbase_url = \"localhost:9\"", &[]),
    (
        "a judge with the path of a call",
        "[judge]\nmodel = \"m\"\nbase_url = \"http://h/v1/chat/completions\"",
        &[],
    ),
    ("half a price", "[judge]\nprice_input_per_million = 1", JUDGE),
    (
        "a currency in words",
        "[judge]\nprice_input_per_million = 1\nprice_output_per_million = 1\ncurrency = \"euro\"",
        JUDGE,
    ),
    ("a parameter that is ours", "[judge]\nextra_params = { stream = true }", JUDGE),
    (
        "the practice judge denied",
        "[judge]\npractice = false",
        &[("GROUNDCREW_JUDGE__BASE_URL", "http://h/v1"), ("GROUNDCREW_JUDGE__MODEL", "practice")],
    ),
    ("connecting longer than the call", "[judge]\nconnect_timeout_s = 200", &[]),
    ("silence longer than the call", "[judge]\ntotal_timeout_s = 50", &[]),
    ("a drain shorter than a call", "[worker]\ndrain_deadline_s = 60", &[]),
    ("a lease shorter than a publish", "[relay]\nlease_s = 15", &[]),
    ("a lock longer than its statement", "[database]\nlock_timeout_s = 31", &[]),
    ("tries longer than the broker's patience", "[worker]\nquick_tries = 20", &[]),
    ("delays that do not ascend", "[queue]\nretry_tiers_s = [60, 30]", &[]),
    ("no delays", "[queue]\nretry_tiers_s = []", &[]),
    ("a delay longer than the greatest age", "[worker]\nmax_age_h = 1", &[]),
    (
        "a worker without lanes",
        "[worker]\nconcurrency_urgent = 0\nconcurrency_normal = 0\nconcurrency_bulk = 0",
        &[],
    ),
    ("a prefix of every queue", "[worker]\nreply_to_prefixes = [\"\"]", &[]),
    ("fewer replies than retries", "[audits.gate]\nmax_replies = 2", &[]),
];

#[test]
fn a_wrong_configuration_is_refused_with_key_value_and_what_is_allowed() {
    let mut shown = String::new();
    for (name, file, variables) in WRONG {
        let call =
            variables.iter().fold(Call::new().file("groundcrew.toml", file), |call, (variable, value)| {
                call.variable(variable, value)
            });
        let run = call.run("check config");
        assert_eq!(run.code, 1, "{name}: {}", run.shown());
        assert!(!run.shown().contains("s3cret"), "{name}: {}", run.shown());
        // Every other command refuses it as well, and says that it is the configuration.
        let other = call.run("check trace -");
        assert_eq!(other.code, 2, "{name}: {}", other.shown());
        let text = run.stdout.trim_start_matches("wrong: the configuration cannot be used\n");
        shown.push_str(&format!("## {name}\n{text}\n"));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn the_same_for_machines() {
    let call = Call::new()
        .file("groundcrew.toml", "[queue]\nheartbeat_s = 0\n")
        .variable("GROUNDCREW_LOG__LEVEL", "loud");
    insta::assert_snapshot!(call.run("check config --json").shown());
}

#[test]
fn the_configuration_in_force_is_shown_without_secrets() {
    let call = Call::new()
        .file("groundcrew.toml", "[worker]\nquick_tries = 2\n[projects.city-park]\nreview_below = 0.95\n")
        .variable("DATABASE_URL", "postgres://u:s3cret@h/d")
        .variable("GROUNDCREW_JUDGE__BASE_URL", "http://127.0.0.1:9/v1")
        .variable("GROUNDCREW_JUDGE__MODEL", "m")
        .variable("GROUNDCREW_JUDGE__API_KEY", "s3cret")
        .variable("GROUNDCREW_PROJECTS__CITY_PARK__SAMPLE_PASSED", "0.25");
    let run = call.run("check config");
    assert!(!run.shown().contains("s3cret"));
    insta::assert_snapshot!(run.shown());
    let json: serde_json::Value = serde_json::from_str(&call.run("check config --json").stdout).unwrap();
    assert_eq!(json["ok"], true);
    let keys = json["keys"].as_array().unwrap();
    let source = |name: &str| keys.iter().find(|key| key["key"] == name).unwrap()["source"].clone();
    assert_eq!(source("worker.quick_tries"), "file");
    assert_eq!(source("judge.model"), "environment");
    assert_eq!(source("judge.name"), "default");
}
