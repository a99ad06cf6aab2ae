//! The texts of `--help`.

use super::Call;

const COMMANDS: &[&str] = &[
    "",
    "worker",
    "migrate",
    "publish",
    "watch",
    "audit",
    "golden",
    "golden run",
    "judge",
    "judge practice",
    "trace",
    "trace show",
    "review",
    "review list",
    "queue",
    "queue status",
    "queue pause",
    "queue resume",
    "queue dead",
    "queue dead list",
    "queue dead show",
    "queue dead replay",
    "queue dead discard",
    "check",
    "check trace",
    "check reply",
    "check config",
    "check services",
    "prompt",
    "prompt list",
    "prompt show",
    "prompt diff",
    "prompt check",
    "prompt examples",
    "schema",
    "schema trace",
];

#[test]
fn every_command_explains_itself() {
    let call = Call::new();
    let shown: String = COMMANDS
        .iter()
        .map(|command| {
            let run = call.run(&format!("{command} --help"));
            assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{command}");
            format!("$ groundcrew {command} --help\n{}\n", run.stdout)
        })
        .collect();
    insta::assert_snapshot!(shown);
}

#[test]
fn no_line_of_help_is_wider_than_a_terminal() {
    let call = Call::new();
    for command in COMMANDS {
        for line in call.run(&format!("{command} --help")).stdout.lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
}

#[test]
fn wrong_usage_ends_with_code_two() {
    let call = Call::new();
    let shown = call.refusals(&[
        "",
        "wroker",
        "queue dead discard 00000000-0000-0000-0000-000000000001",
        "queue dead show not-an-id",
        "check reply --trace a.json",
        "check trace a.json --kind faithfullness",
        "check trace missing.json",
        "judge practice --fault hangs=1 --listen 127.0.0.1:0",
        "judge practice --canned missing.jsonl --listen 127.0.0.1:0",
        "publish missing.jsonl",
        "--config missing.toml check trace -",
    ]);
    insta::assert_snapshot!(shown);
}

/// `--reason ""` replayed, or discarded, all that was there.
#[test]
fn an_empty_filter_does_not_select_everything() {
    let call = Call::new();
    for arguments in [
        "queue dead replay --reason=",
        "queue dead replay --project=",
        "queue dead discard --note x --reason=",
        "queue dead list --reason=",
        "replay traces --yes --project=",
        "replay traces --yes --kind gate --prompt=",
        "golden export --out x --project=",
        "review list --project=",
        "token add x --role viewer --project=",
    ] {
        let run = call.run(arguments);
        assert_eq!(run.code, 2, "{arguments}: {}", run.shown());
        assert!(run.stderr.contains("is empty; say which"), "{arguments}: {}", run.shown());
    }
}

#[test]
fn commands_that_need_services_say_how_to_name_them() {
    let call = Call::new();
    let broker = Call::new().variable("DATABASE_URL", "postgres://127.0.0.1:1/x").stdin("{}\n");
    let shown: String = [
        (&call, "worker"),
        (&call, "migrate"),
        (&call, "queue status"),
        (&call, "review list"),
        (&broker, "publish -"),
    ]
    .iter()
    .map(|(call, arguments)| format!("$ groundcrew {arguments}\n{}\n", call.run(arguments).shown()))
    .collect();
    insta::assert_snapshot!(shown);
}

#[test]
fn services_that_do_not_answer_end_with_code_three() {
    let call = Call::new()
        .variable("DATABASE_URL", "postgres://nobody:s3cret@127.0.0.1:1/x")
        .variable("AMQP_URL", "amqp://nobody:s3cret@127.0.0.1:1/x")
        .variable("GROUNDCREW_DATABASE__ACQUIRE_TIMEOUT_S", "0.2")
        .variable("GROUNDCREW_JUDGE__BASE_URL", "http://127.0.0.1:1/v1")
        .variable("GROUNDCREW_JUDGE__MODEL", "m")
        .stdin("{}\n");
    for arguments in ["worker", "migrate", "queue status", "review list", "publish -", "trace show x"] {
        let run = call.run(arguments);
        assert_eq!(run.code, 3, "{arguments}: {}", run.shown());
        assert!(!run.stderr.contains("s3cret"), "{arguments}: {}", run.shown());
        assert_eq!(
            run.stderr.lines().filter(|line| line.starts_with("error: ")).count(),
            1,
            "{arguments}: {}",
            run.shown()
        );
    }
    let run = call.run("check services");
    assert_eq!(run.code, 1, "{}", run.shown());
    assert_eq!(run.stdout.matches("not ok").count(), 3, "{}", run.shown());
    let started = std::time::Instant::now();
    assert_eq!(call.run("migrate --wait-for 1").code, 3);
    assert!(std::time::Duration::from_secs(1) <= started.elapsed());
}
