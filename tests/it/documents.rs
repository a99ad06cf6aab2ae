//! What the documents and the deployment files promise exists.

use std::path::{Path, PathBuf};

use testkit::{Command, System};

const DOCUMENTS: &[&str] = &[
    "README.md",
    "docs/operations.md",
    "docs/audits.md",
    "docs/deployment.md",
    "docs/measurements.md",
    "docs/cost.md",
    "docs/judges.md",
    "docs/ci.md",
    "docs/golden.md",
    "docs/performance.md",
    "docs/scaling.md",
    "docs/gate.md",
    "docs/desk.md",
    "docs/paging.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines of all `sh` blocks of a document.
fn commands(document: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text(document).lines() {
        if line.starts_with("```") {
            inside = line.trim() == "```sh";
        } else if inside && !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            lines.push(line.trim().to_owned());
        }
    }
    lines
}

/// A command line taken apart; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the program understands these arguments: clap reads all of them before it prints the help.
async fn assert_understood(arguments: &[String], place: &str) {
    let mut arguments: Vec<String> = arguments.to_vec();
    for argument in &mut arguments {
        if argument == "ID" {
            *argument = "0d6c2c0a-6f0e-5b0e-9a53-1f4f6c0f7f10".into();
        }
    }
    arguments.push("--help".into());
    let borrowed: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (code, printed) = Command::new(&borrowed).run().await;
    assert_eq!(code, Some(0), "{place}: groundcrew {}\n{printed}", arguments.join(" "));
}

#[tokio::test]
async fn every_groundcrew_command_in_the_documents_is_understood() {
    let mut count = 0;
    for document in DOCUMENTS {
        for line in commands(document) {
            if let Some(arguments) = line.strip_prefix("groundcrew ") {
                assert_understood(&words(arguments), document).await;
                count += 1;
            }
        }
    }
    assert!(count > 3, "the documents name only {count} commands: is the block still marked `sh`?");
}

#[tokio::test]
async fn every_dev_command_in_the_documents_exists() {
    let help = std::process::Command::new(root().join("dev")).arg("help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for document in DOCUMENTS {
        for line in commands(document).iter().filter(|line| line.contains("./dev ")) {
            let command = line.split("./dev ").nth(1).unwrap().split([' ', ')', '"']).next().unwrap();
            assert!(
                help.contains(&format!("  {command} ")),
                "{document}: ./dev {command} is not in ./dev help"
            );
        }
        for line in commands(document).iter().filter(|line| line.starts_with("tools/")) {
            let script = root().join(line.split(' ').next().unwrap());
            assert!(script.exists(), "{document}: {} does not exist", script.display());
        }
    }
}

#[tokio::test]
async fn every_query_in_the_documents_runs() {
    let system = System::builder().start().await;
    let mut session = system.database.session().await;
    let mut count = 0;
    for document in DOCUMENTS {
        for line in commands(document).iter().filter(|line| line.starts_with("psql ")) {
            let query = words(line).pop().unwrap();
            sqlx::raw_sql(sqlx::AssertSqlSafe(query.clone()))
                .execute(&mut session)
                .await
                .unwrap_or_else(|error| panic!("{document}: {query}: {error}"));
            count += 1;
        }
    }
    assert!(count > 0);
}

#[tokio::test]
async fn the_trace_in_the_readme_is_complete() {
    let readme = text("README.md");
    let block = readme.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let decoded = trace::decode(block.as_bytes()).unwrap_or_else(|error| panic!("{:?}", error.problems));
    let ready =
        trace::completeness::check(&decoded, trace::Kind::Faithfulness, &trace::Requirements::default());
    assert!(matches!(ready, trace::Readiness::Complete(_)), "{ready:?}");
}

#[tokio::test]
async fn the_compose_file_names_only_commands_and_settings_that_exist() {
    let compose = text("docker-compose.yml");
    let mut count = 0;
    for line in compose.lines().filter_map(|line| line.trim().strip_prefix("command: ")) {
        let arguments: Vec<String> = serde_json::from_str(line).unwrap();
        assert_understood(&arguments, "docker-compose.yml").await;
        count += 1;
    }
    assert_eq!(count, 4, "migrate, practice, worker and desk");

    let variables =
        compose.lines().filter_map(|line| line.trim().split_once(": ")).filter_map(|(name, value)| {
            // ${NAME:-default} stands for its default here.
            let value = value.split_once(":-").map_or(value, |(_, default)| default.trim_end_matches('}'));
            name.starts_with("GROUNDCREW_").then(|| (name.to_owned(), value.to_owned()))
        });
    assert_settings(variables).await;
}

#[tokio::test]
async fn the_manifests_name_only_commands_and_settings_that_exist() {
    let mut count = 0;
    for file in ["worker", "desk", "maintain"] {
        let file = format!("deploy/kubernetes/{file}.yaml");
        let manifest = text(&file);
        for line in manifest.lines().filter_map(|line| line.trim().strip_prefix("args: ")) {
            let arguments: Vec<String> = serde_json::from_str(line).unwrap();
            assert_understood(&arguments, &file).await;
            count += 1;
        }
        let variables = manifest.lines().filter_map(|line| {
            let (name, value) = line.trim().strip_prefix("- { name: ")?.split_once(", value: ")?;
            let value = value.trim_end_matches(" }").trim_matches('"');
            name.starts_with("GROUNDCREW_").then(|| (name.to_owned(), value.to_owned()))
        });
        assert_settings(variables).await;
    }
    assert_eq!(count, 3);
}

#[test]
fn alerts_and_dashboard_name_only_figures_that_exist() {
    let described = text("crates/figures/src/lib.rs");
    for file in ["deploy/alerts.yaml", "deploy/dashboard.json"] {
        let text = text(file);
        let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
        let names = text.match_indices("groundcrew_").map(|(at, _)| {
            let rest = &text[at..];
            let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
            name.trim_end_matches("_bucket")
        });
        let mut count = 0;
        for name in names {
            assert!(described.contains(&format!("\"{name}\"")), "{file}: there is no {name}");
            count += 1;
        }
        assert!(count > 5, "{file}");
    }
    serde_json::from_str::<serde_json::Value>(&text("deploy/dashboard.json")).unwrap();
}

async fn assert_settings(variables: impl Iterator<Item = (String, String)>) {
    let (code, printed) = Command::new(&["check", "config"])
        .set_all(variables)
        .set("DATABASE_URL", "postgres://a:b@127.0.0.1:1/c")
        .set("AMQP_URL", "amqp://a:b@127.0.0.1:1/%2f")
        .run()
        .await;
    assert_eq!(code, Some(0), "{printed}");
}

#[test]
fn the_image_copies_only_paths_that_exist() {
    let dockerfile = text("deploy/Dockerfile");
    for line in dockerfile.lines().filter(|line| line.starts_with("COPY ") && !line.contains("--from")) {
        let source = line.split(' ').nth(1).unwrap();
        assert!(root().join(source).exists(), "deploy/Dockerfile copies {source}, which does not exist");
    }
    for line in
        text("docker-compose.yml").lines().filter(|line| line.contains("/usr/share/groundcrew/examples/"))
    {
        let name = line.split("/usr/share/groundcrew/examples/").nth(1).unwrap();
        let name = name.split(['"', ' ']).next().unwrap();
        assert!(root().join("examples").join(name).exists(), "docker-compose.yml names examples/{name}");
    }
}

#[test]
fn a_word_of_a_command_line_may_be_quoted() {
    assert_eq!(
        words(r#"psql "$DATABASE_URL" -c "select 1, 2""#),
        ["psql", "$DATABASE_URL", "-c", "select 1, 2"]
    );
}

/// The `sh` blocks of a document that begin with this word, as they are.
fn blocks(document: &str, word: &str) -> Vec<String> {
    let text = text(document);
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.starts_with(word)).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_in_the_page_about_the_gate_say_what_it_promises() {
    let desk = testkit::Desk::start(|_| {}, |_| {}).await;
    let token = desk.token(desk::access::Role::Gate, Some(&["mill"])).await;
    let examples = blocks("docs/gate.md", "curl");
    assert_eq!(examples.len(), 3);
    let mut said = Vec::new();
    for example in examples {
        let mut command = std::process::Command::new("bash");
        command.args(["-euc", &example]).env("DESK", desk.url("")).env("TOKEN", &token);
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{example}\n{printed}{}", String::from_utf8_lossy(&output.stderr));
        said.push(printed);
    }
    let body = |at: usize| serde_json::from_str::<serde_json::Value>(&said[at]).unwrap();
    assert_eq!(
        (&body(0)["verdict"], &body(0)["action"]),
        (&"grounded".into(), &"deliver".into()),
        "{}",
        said[0]
    );
    assert_eq!(
        (&body(1)["verdict"], &body(1)["action"]),
        (&"ungrounded".into(), &"block".into()),
        "{}",
        said[1]
    );
    assert!(said[2].ends_with("422\n") && said[2].contains("$.evidence"), "{}", said[2]);
    // The answer on the page has the fields that answers have.
    let page = text("docs/gate.md");
    let shown = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let shown: serde_json::Map<String, serde_json::Value> = serde_json::from_str(shown).unwrap();
    let mut keys: Vec<&String> = shown.keys().collect();
    let answer = body(1);
    let mut given: Vec<&String> = answer.as_object().unwrap().keys().collect();
    keys.sort_unstable();
    given.sort_unstable();
    assert_eq!(keys, given);
}
