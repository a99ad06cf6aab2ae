//! `audit`: files in, results, thresholds and exit codes out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Call, Run, repository};

/// A trace about a pool, with the answer to be judged.
pub(super) fn trace(id: &str, answer: &str) -> Value {
    json!({
        "schema": "groundcrew.trace/v1", "trace_id": id, "project": "pool", "occurred_at": "2026-05-04T10:00:00Z",
        "query": "When does the pool open, and what is a swim?", "answer": answer,
        "retrieval": { "retrieved_at": "2026-05-04T10:00:00Z", "chunks": [
            { "source_id": "hours", "rank": 1, "text": "The heated pool opens at 07:00 on weekdays." },
            { "source_id": "prices", "rank": 2, "text": "A single swim costs 4 euro for adults." },
        ] },
    })
}

pub(super) fn good(id: &str) -> Value {
    trace(id, "The heated pool opens at 07:00 on weekdays.")
}

/// Contradicted once.
pub(super) fn bad(id: &str) -> Value {
    trace(id, "The heated pool opens at 07:00 on weekdays. A single swim costs 6 euro for adults.")
}

/// Contradicted twice.
pub(super) fn worse(id: &str) -> Value {
    trace(id, "The heated pool opens at 09:00 on weekdays. A single swim costs 6 euro for adults.")
}

fn incomplete(id: &str) -> Value {
    let mut trace = good(id);
    trace["retrieval"]["chunks"][0].as_object_mut().unwrap().remove("rank");
    trace
}

pub(super) fn lines(traces: &[Value]) -> String {
    traces.iter().map(|trace| format!("{trace}\n")).collect()
}

fn audit(traces: &[Value], options: &str) -> Run {
    Call::new()
        .file("traces.jsonl", lines(traces))
        .run(&format!("audit traces.jsonl --judge practice {options}"))
}

pub(super) fn summary(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.shown()))
}

pub(super) fn records(call: &Call, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(call.folder.path().join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A practice judge in a process of its own, killed at the end of the test.
pub(super) struct Judge {
    child: Child,
    pub(super) url: String,
}

impl Judge {
    pub(super) fn start(options: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_groundcrew"))
            .args(["judge", "practice", "--listen", "127.0.0.1:0"])
            .args(options.split_whitespace())
            .env_clear()
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let url = first.trim().strip_prefix("practice judge on ").unwrap().to_owned();
        Self { child, url }
    }

    /// What a file comes to when this judge is asked, which then counts as one with a model.
    fn audit(&self, traces: &[Value], options: &str) -> Run {
        Call::new()
            .file("traces.jsonl", lines(traces))
            .run(&format!("audit traces.jsonl --judge-url {} --judge-model some-model {options}", self.url))
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        // It may have ended already; both are fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_is_printed_so_that_a_person_can_read_it() {
    let run = Call::new()
        .file("traces.jsonl", lines(&[good("a"), bad("b"), incomplete("c"), good("a")]) + "{\"schema\": 1}\n")
        .run("audit traces.jsonl --judge practice --fail-on contradicted>0 --fail-on mean.faithfulness<0.9");
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn without_a_judge_nothing_is_audited() {
    let call = Call::new().file("traces.jsonl", lines(&[good("a")]));
    let without = call.run("audit traces.jsonl");
    let model_only = call.run("audit traces.jsonl --judge-model m");
    assert_eq!((without.code, model_only.code), (2, 2));
    insta::assert_snapshot!(format!("{}{}", without.shown(), model_only.shown()));
}

#[test]
fn thresholds_decide_between_zero_and_one() {
    let traces = [good("a"), bad("b")];
    for (options, code) in [
        ("", 0),
        ("--fail-on contradicted>0", 1),
        ("--fail-on contradicted>1", 0),
        ("--fail-on total.contradicted>=1 --fail-on unsupported>2", 1),
        ("--fail-on faithfulness<0.8", 1),
        ("--fail-on faithfulness<0.4", 0),
        ("--fail-on mean.faithfulness<0.8", 1),
        ("--fail-on mean.faithfulness<0.7", 0),
        ("--fail-on total.claims!=3", 0),
    ] {
        let run = audit(&traces, options);
        assert_eq!(run.code, code, "{options}: {}", run.shown());
    }
}

#[test]
fn what_is_wrong_with_a_threshold_or_a_file_is_said() {
    let call =
        Call::new().file("t.jsonl", lines(&[good("a")])).file("empty.jsonl", "").file("other.jsonl", "{}\n");
    let shown = call.refusals(&[
        "audit t.jsonl --judge practice --fail-on faithfullness<0.8",
        "audit t.jsonl --judge practice --fail-on contradicted",
        "audit t.jsonl --judge practice --fail-on faithfulness<80%",
        "audit t.jsonl --judge practice --out report.pdf",
        "audit t.jsonl --judge practice --out no/such/folder/report.html",
        "audit t.jsonl --judge practice --resume",
        "audit t.jsonl --judge practice --baseline missing.jsonl",
        "audit t.jsonl --judge practice --baseline other.jsonl",
        "audit missing.jsonl --judge practice",
        "audit empty.jsonl --judge practice",
        "audit - --judge practice",
        "audit t.jsonl --judge real",
        "audit t.jsonl --judge-url not-a-url --judge-model m",
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_threshold_of_the_configuration_holds_for_its_project() {
    let call = |toml: &str| Call::new().file("t.jsonl", lines(&[bad("a")])).file("groundcrew.toml", toml);
    let code = |toml: &str| call(toml).run("audit t.jsonl --judge practice").code;
    assert_eq!(code("[projects.pool]\nfail_on = [\"contradicted>0\"]\n"), 1);
    assert_eq!(code("[projects.other]\nfail_on = [\"contradicted>0\"]\n"), 0);
    assert_eq!(code("[project_defaults]\nfail_on = [\"contradicted>0\"]\n"), 1);
    assert_eq!(
        code("[project_defaults]\nfail_on = [\"contradicted>0\"]\n[projects.pool]\nfail_on = []\n"),
        0,
        "a project's own list stands in the place of the defaults"
    );
    let run =
        call("[projects.pool]\nfail_on = [\"contradicted>many\"]\n").run("audit t.jsonl --judge practice");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("projects.pool.fail_on") && run.stderr.contains("is not a number"),
        "{}",
        run.shown()
    );
}

/// A threshold that applies to nothing would be green for ever.
#[test]
fn a_threshold_that_no_audit_has_a_number_for_is_no_green_build() {
    let run = audit(&[good("a")], "--fail-on hallucination_ratio>0.2");
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("hallucination_ratio>0.2: no audit has this number"), "{}", run.shown());
    let configured = Call::new()
        .file("t.jsonl", lines(&[good("a")]))
        .file("groundcrew.toml", "[project_defaults]\nfail_on = [\"hallucination_ratio>0.2\"]\n")
        .run("audit t.jsonl --judge practice");
    assert_eq!(configured.code, 0, "{}", configured.shown());
}

#[test]
fn what_could_not_be_audited_is_no_green_build() {
    let run = audit(&[good("a"), incomplete("b")], "--fail-on contradicted>0");
    assert_eq!(run.code, 3, "{}", run.shown());
    let allowed = audit(&[good("a"), incomplete("b")], "--fail-on contradicted>0 --allow-incomplete");
    assert_eq!(allowed.code, 0, "{}", allowed.shown());
    assert_eq!(audit(&[incomplete("b")], "--allow-incomplete").code, 3, "nothing was judged");
    let mut poem = good("c");
    poem["intent"] = json!("creative");
    assert_eq!(audit(&[good("a"), poem.clone()], "").code, 0, "a poem is none of our business");
    assert_eq!(audit(&[poem], "").code, 3, "nothing was judged");
}

#[test]
fn a_line_that_is_no_trace_is_named_and_spoils_no_other() {
    let text = lines(&[good("a")])
        + "\nnot json\n"
        + &lines(&[good("b")])
        + "{\"schema\": \"groundcrew.trace/v1\"}\n";
    let run = Call::new().file("t.jsonl", text).run("audit t.jsonl --judge practice --json");
    assert_eq!(run.code, 3, "{}", run.shown());
    assert!(run.stderr.contains("t.jsonl:3: is no trace: $: the message is not JSON"), "{}", run.shown());
    assert!(
        run.stderr.contains("t.jsonl:5: is no trace: $.trace_id: required, and missing"),
        "{}",
        run.shown()
    );
    let summary = summary(&run);
    assert_eq!(
        (&summary["malformed_total"], &summary["tally"]["dispositions"]["passed"]),
        (&json!(2), &json!(2))
    );
    // A finding is certain, whatever else could not be looked at.
    let text = lines(&[bad("a")]) + "not json\n";
    let run =
        Call::new().file("t.jsonl", text).run("audit t.jsonl --judge practice --fail-on contradicted>0");
    assert_eq!(run.code, 1, "{}", run.shown());
}

#[test]
fn lines_arrays_single_traces_folders_and_standard_input_are_the_same() {
    let traces = [good("a"), bad("b")];
    let all = serde_json::to_string_pretty(&traces).unwrap();
    let single = serde_json::to_string_pretty(&traces[0]).unwrap();
    let call = Call::new()
        .file("t.jsonl", lines(&traces))
        .file("t.json", &all)
        .file("folder/b.ndjson", lines(&traces[1..]))
        .file("folder/deeper/a.json", &single)
        .file("folder/notes.txt", "not read")
        .stdin(all.clone());
    for input in ["t.jsonl", "t.json", "folder", "-"] {
        let run = call.run(&format!("audit {input} --judge practice --json"));
        assert_eq!(run.code, 0, "{input}: {}", run.shown());
        assert_eq!(summary(&run)["tally"]["audits"], 2, "{input}: {}", run.shown());
    }
    let nothing = Call::new().file("folder/notes.txt", "").file("t.json", "[]");
    assert_eq!(nothing.run("audit folder --judge practice").code, 2);
    assert_eq!(nothing.run("audit t.json --judge practice").code, 2);
}

#[test]
fn kinds_come_from_the_command_the_trace_or_the_project() {
    let kinds =
        |run: &Run| summary(run)["tally"]["scores"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(kinds(&audit(&[good("a")], "--json")), ["faithfulness"]);
    assert_eq!(kinds(&audit(&[good("a")], "--json --kind gate --kind gate --kind evidence_check")).len(), 2);
    let mut asks = good("a");
    asks["audits"] = json!(["hallucination_eval"]);
    assert_eq!(kinds(&audit(&[asks], "--json")), ["hallucination_eval"]);
}

#[test]
fn a_judge_that_is_down_ends_in_three() {
    let run = Call::new().file("t.jsonl", lines(&[good("a"), good("b")])).run(
        "audit t.jsonl --judge-url http://127.0.0.1:1/v1 --judge-model m --json --fail-on contradicted>0",
    );
    assert_eq!(run.code, 3, "{}", run.shown());
    let summary = summary(&run);
    assert_eq!(summary["tally"]["dispositions"], json!({ "judge_unavailable": 2 }));
    assert_eq!(summary["tally"]["cost"]["calls"], 6, "three quick tries each");
    let unnamed = Call::new()
        .file("t.jsonl", lines(&[good("a")]))
        .run("audit t.jsonl --judge-url http://127.0.0.1:1/v1");
    assert!(unnamed.code == 2 && unnamed.stderr.contains("--judge-model"), "{}", unnamed.shown());
}

#[test]
fn a_judge_that_misbehaves_never_makes_a_green_build() {
    for (fault, disposition) in [
        ("not_json", "unreadable"),
        ("fabricated_quote", "inconsistent"),
        ("refusal", "refused"),
        ("status500", "judge_unavailable"),
        ("status401", "judge_unavailable"),
    ] {
        let judge = Judge::start(&format!("--fault {fault}=1"));
        let run = judge.audit(&[good("a")], "--json");
        assert_eq!(run.code, 3, "{fault}: {}", run.shown());
        assert_eq!(summary(&run)["tally"]["dispositions"], json!({ disposition: 1 }), "{fault}");
    }
    let judge = Judge::start("--fault not_json=0.3 --seed 5");
    let traces: Vec<Value> = (0..12).map(|number| good(&format!("t{number}"))).collect();
    let run = judge.audit(&traces, "--json");
    let summary = summary(&run);
    let passed = summary["tally"]["dispositions"]["passed"].as_u64().unwrap();
    let calls = summary["tally"]["cost"]["calls"].as_u64().unwrap();
    assert!(passed >= 8 && calls > 12, "one bad reply is asked again: {}", run.shown());
}

/// A judge that asks to slow down is there, and is waited for.
#[test]
fn a_judge_that_throttles_is_asked_again() {
    let judge = Judge::start("--fault status429=0.4 --seed 3");
    let traces: Vec<Value> = (0..6).map(|number| good(&format!("t{number}"))).collect();
    let run = judge.audit(&traces, "--json");
    assert_eq!(run.code, 0, "{}", run.shown());
    assert_eq!(summary(&run)["tally"]["dispositions"], json!({ "passed": 6 }));
}

#[test]
fn a_judge_with_one_model_needs_no_name_for_it() {
    let judge = Judge::start("");
    let run = Call::new()
        .file("t.jsonl", lines(&[good("a")]))
        .run(&format!("audit t.jsonl --judge-url {} --json", judge.url));
    assert_eq!(run.code, 0, "{}", run.shown());
    assert_eq!(summary(&run)["tally"]["practice"], 1, "and the practice judge is known by it");
}

/// A key that is meant for one address is sent to no other.
#[test]
fn the_configured_key_does_not_go_to_another_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while reader.read_line(&mut head).unwrap() > 2 {}
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").unwrap();
        head.to_lowercase()
    });
    let run = Call::new()
        .file("t.jsonl", lines(&[good("a")]))
        .variable("GROUNDCREW_JUDGE__BASE_URL", "http://127.0.0.1:1/v1")
        .variable("GROUNDCREW_JUDGE__MODEL", "m")
        .variable("GROUNDCREW_JUDGE__API_KEY", "s3cret")
        .run(&format!("audit t.jsonl --judge-url {url} --judge-model m"));
    assert_eq!(run.code, 3, "{}", run.shown());
    let head = heard.join().unwrap();
    assert!(head.starts_with("post ") && !head.contains("s3cret"), "{head}");
}

#[test]
fn results_are_written_in_every_format() {
    let call = Call::new().file("t.jsonl", lines(&[good("a"), bad("b"), incomplete("c")]) + "no\n");
    let run = call.run(
        "audit t.jsonl --judge practice --fail-on contradicted>0 --fail-on total.claims>100 --out r.jsonl --out r.csv \
         --out junit=report --out r.html",
    );
    assert_eq!(run.code, 1, "{}", run.shown());
    let read = |name: &str| std::fs::read_to_string(call.folder.path().join(name)).unwrap();
    let found = records(&call, "r.jsonl");
    assert_eq!(
        found.iter().map(|record| record["trace_id"].as_str().unwrap()).collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    assert_eq!(found[1]["claims"][1]["verdict"], "contradicted");
    assert_eq!(read("r.csv").lines().count(), 4);
    let junit = read("report");
    for part in [
        "tests=\"5\" failures=\"1\" errors=\"2\" skipped=\"0\"",
        "<testcase classname=\"pool.faithfulness\" name=\"b\"><failure message=\"contradicted&gt;0 (it is 1)\">",
        "<testcase classname=\"groundcrew.input\" name=\"t.jsonl:4\"><error",
        "<testcase classname=\"groundcrew.thresholds\" name=\"total.claims&gt;100\">",
    ] {
        assert!(junit.contains(part), "{part} is not in {junit}");
    }
    let left: Vec<_> =
        std::fs::read_dir(call.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 5, "nothing else stays behind: {left:?}");
}

/// One run would otherwise destroy what it reads.
#[test]
fn results_are_not_written_over_the_traces() {
    let traces = lines(&[good("a")]);
    let call = Call::new().file("folder/t.jsonl", &traces);
    for command in ["audit folder/t.jsonl --out ./folder/t.jsonl", "audit folder --out folder/run.jsonl"] {
        let run = call.run(&format!("{command} --judge practice"));
        assert!(run.code == 2 && run.stderr.contains("where the traces are read from"), "{}", run.shown());
    }
    assert_eq!(std::fs::read_to_string(call.folder.path().join("folder/t.jsonl")).unwrap(), traces);
    assert_eq!(call.run("audit folder --judge practice --out folder/report.html").code, 0);
}

#[test]
fn the_page_stands_alone_and_marks_the_gap() {
    const HOSTILE: &str = "<img src=x onerror=alert(1)> \u{202e}txt A single swim costs 6 euro for adults.";
    let mut japanese = trace("日本", "露天風呂は朝7時から利用できます。");
    japanese["retrieval"]["chunks"][0]["text"] =
        json!("横浜の宿です。露天風呂は朝6時から利用できます。朝食は8時です。");
    let call = Call::new().file("t.jsonl", lines(&[trace("hostile", HOSTILE), japanese, good("fine")]));
    let run = call.run("audit t.jsonl --judge practice --out r.html");
    assert_eq!(run.code, 0, "{}", run.shown());
    let page = std::fs::read_to_string(call.folder.path().join("r.html")).unwrap();
    assert!(page.contains("default-src 'none'"), "the browser is told to load nothing");
    for loads in ["<script", "<link", "<img", "src=\"", "href=\"", "url(", "@import"] {
        assert!(!page.contains(loads), "{loads} is in the page");
    }
    assert!(page.contains("&#60;img src=x onerror=alert(1)&#62;") && page.contains("⟨U+202E⟩txt"), "{page}");
    assert!(
        page.contains("<mark class=\"contradicted\">A single swim costs 4 euro for adults.</mark>"),
        "{page}"
    );
    assert!(
        page.contains("<mark class=\"contradicted\">露天風呂は朝6時から利用できます。</mark>朝食は8時です。"),
        "{page}"
    );
    assert!(page.contains("Without findings <small>1</small>"));
}

#[test]
fn a_run_goes_on_where_it_was_stopped() {
    let call = Call::new()
        .file("first.jsonl", lines(&[good("a"), bad("b"), incomplete("c")]))
        .file("all.jsonl", lines(&[good("a"), bad("b"), incomplete("c"), good("d")]));
    assert_eq!(call.run("audit first.jsonl --judge practice --out run.jsonl").code, 3);
    // What a killed process leaves behind.
    let path = call.folder.path().join("run.jsonl");
    let text = std::fs::read_to_string(&path).unwrap() + "{\"schema\":\"groundcrew.aud";
    std::fs::write(&path, text).unwrap();
    let run = call.run("audit all.jsonl --judge practice --out run.jsonl --out r.html --resume --json");
    assert_eq!(run.code, 3, "{}", run.shown());
    let tally = &summary(&run)["tally"];
    assert_eq!((&tally["resumed"], &tally["audits"]), (&json!(2), &json!(4)), "{}", run.shown());
    let found = records(&call, "run.jsonl");
    let mut ids: Vec<&str> = found.iter().map(|record| record["trace_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["a", "b", "c", "d"]);
    let page = std::fs::read_to_string(call.folder.path().join("r.html")).unwrap();
    assert!(page.contains("<bdi>b</bdi>"), "what was taken over stands in the other files as well");
    let other = call.run("audit all.jsonl --resume --out traces.txt --judge practice");
    assert_eq!(other.code, 2);
    let judge = Judge::start("");
    let run = call.run(&format!(
        "audit all.jsonl --judge-url {} --judge-model other --out run.jsonl --resume --json",
        judge.url
    ));
    assert_eq!(summary(&run)["tally"]["resumed"], 0, "another judge's results are no results of this one");
}

#[cfg(unix)]
#[test]
fn a_run_that_is_interrupted_keeps_what_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_groundcrew"))
        .args(["audit", "-", "--judge", "practice", "--out", "run.jsonl", "--out", "r.xml", "--json"])
        .env_clear()
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Standard input stays open: more could come.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(&[good("a"), bad("b")]).as_bytes()).unwrap();
    stdin.flush().unwrap();
    let done =
        || std::fs::read_to_string(folder.path().join("run.jsonl")).unwrap_or_default().lines().count();
    let deadline = Instant::now() + Duration::from_secs(60);
    while done() < 2 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(done(), 2, "results are in the file as soon as they are there");
    let interrupted = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status().unwrap();
    assert!(interrupted.success());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stdout}");
    let summary: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(summary["why"], json!(["the run was stopped before its end"]));
    assert!(folder.path().join("r.xml").exists());
}

#[test]
fn only_what_became_worse_fails_against_an_earlier_run() {
    let call = Call::new()
        .file("before.jsonl", lines(&[bad("a"), good("b")]))
        .file("same.jsonl", lines(&[bad("a"), good("b")]))
        .file("better.jsonl", lines(&[good("a"), good("b")]))
        .file("worse.jsonl", lines(&[worse("a"), good("b")]))
        .file("newly.jsonl", lines(&[bad("a"), bad("b")]))
        .file("new.jsonl", lines(&[bad("a"), good("b"), bad("c")]));
    assert_eq!(call.run("audit before.jsonl --judge practice --out run.jsonl").code, 0);
    let code = |file: &str, options: &str| {
        let run = call.run(&format!("audit {file} --judge practice --baseline run.jsonl {options}"));
        (run.code, run.shown())
    };
    for (file, without, with_threshold, with_total) in [
        ("same.jsonl", 0, 0, 0),
        ("better.jsonl", 0, 0, 0),
        ("worse.jsonl", 1, 1, 1),
        ("newly.jsonl", 1, 1, 1),
        // It was not there before: no regression, but thresholds hold for it.
        ("new.jsonl", 0, 1, 1),
    ] {
        for (options, wanted) in [
            ("", without),
            ("--fail-on contradicted>0", with_threshold),
            ("--fail-on total.contradicted>0", with_total),
        ] {
            let (found, shown) = code(file, options);
            assert_eq!(found, wanted, "{file} {options}: {shown}");
        }
    }
}

#[test]
fn the_samples_of_the_project_can_be_audited() {
    let samples = std::fs::read(repository("examples/traces.jsonl")).unwrap();
    let run = Call::new().file("t.jsonl", samples).run("audit t.jsonl --judge practice --json");
    let summary = summary(&run);
    assert_eq!(run.code, 3, "one line is no trace: {}", run.shown());
    assert!(summary["tally"]["standings"]["judged"].as_u64().unwrap() >= 20);
    assert_eq!(summary["malformed_total"], 1);
}

/// The commands that a document shows, in shell blocks and in the examples for CI systems.
fn commands(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository(document)).unwrap();
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = matches!(line.trim(), "```sh" | "```yaml");
        } else if inside {
            let command = line.trim().trim_start_matches("- ").trim_start_matches("run: ");
            let is_meant = ["audit ", "golden run "]
                .iter()
                .any(|name| command.strip_prefix("groundcrew ").is_some_and(|rest| rest.starts_with(name)));
            if is_meant {
                found.push(command.trim_start_matches("groundcrew ").replace('\'', ""));
            }
        }
    }
    found
}

#[test]
fn every_offline_command_in_the_documents_runs() {
    let judge = Judge::start("");
    let few = std::fs::read_to_string(repository("golden/cases.jsonl")).unwrap();
    let few = few.lines().take(6).collect::<Vec<_>>().join("\n");
    let call = Call::new()
        .file("traces.jsonl", lines(&[good("a"), bad("b")]))
        .file("examples/traces.jsonl", lines(&[good("a")]))
        .file("golden/cases.jsonl", few)
        .variable("GROUNDCREW_JUDGE__BASE_URL", &judge.url)
        .variable("GROUNDCREW_JUDGE__MODEL", "the-model-you-pinned");
    let mut count = 0;
    for document in ["README.md", "docs/ci.md", "docs/golden.md"] {
        for command in commands(document) {
            // The documents' own addresses are nobody's.
            let command = command.replace("http://127.0.0.1:8000/v1", &judge.url);
            let run = call.run(&command);
            assert!(matches!(run.code, 0 | 1), "{document}: groundcrew {command}: {}", run.shown());
            count += 1;
        }
    }
    assert!(count >= 14, "only {count} commands were found");
}
