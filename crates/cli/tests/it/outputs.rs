//! `audit`: that results never take the place of something else, and that no earlier run makes a build green.

#![cfg(unix)]

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::offline::{bad, good, lines, records, summary, trace, worse};
use super::{Call, Run};

fn path(call: &Call, name: &str) -> PathBuf {
    call.folder.path().join(name)
}

fn text(call: &Call, name: &str) -> String {
    std::fs::read_to_string(path(call, name)).unwrap()
}

/// What a reader of a pipe gets while a command writes it.
fn through_pipe(call: &Call, arguments: &str) -> (Run, String) {
    let pipe = path(call, "pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut got = String::new();
            File::open(pipe).unwrap().read_to_string(&mut got).unwrap();
            got
        }
    });
    let run = call.run(arguments);
    assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "{}", run.shown());
    let got = reader.join().unwrap();
    std::fs::remove_file(&pipe).unwrap();
    (run, got)
}

#[test]
fn devices_pipes_and_links_were_replaced_by_files() {
    let call = Call::new().file("t.jsonl", lines(&[bad("a")])).file("target.csv", "old");
    for (format, begin) in
        [("csv", "file,line,"), ("junit", "<?xml"), ("html", "<!DOCTYPE"), ("jsonl", "{\"schema\"")]
    {
        let (run, got) = through_pipe(&call, &format!("audit t.jsonl --judge practice --out {format}=pipe"));
        assert_eq!(run.code, 0, "{}", run.shown());
        assert!(got.to_lowercase().starts_with(&begin.to_lowercase()), "{format}: {got}");
    }
    let run = call.run("audit t.jsonl --judge practice --out csv=/dev/stdout");
    assert!(run.stdout.contains("file,line,") && run.stdout.contains("contradicted"), "{}", run.shown());
    symlink("target.csv", path(&call, "link.csv")).unwrap();
    symlink("new.xml", path(&call, "dangling.xml")).unwrap();
    let run = call.run("audit t.jsonl --judge practice --out link.csv --out dangling.xml");
    assert_eq!(run.code, 0, "{}", run.shown());
    for link in ["link.csv", "dangling.xml"] {
        assert!(std::fs::symlink_metadata(path(&call, link)).unwrap().file_type().is_symlink());
    }
    assert!(
        text(&call, "target.csv").starts_with("file,line,") && text(&call, "new.xml").starts_with("<?xml")
    );
    let left: Vec<_> =
        std::fs::read_dir(call.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn a_full_disk_behind_standard_output_was_a_success() {
    let call = Call::new().file("t.jsonl", lines(&[good("a")]));
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_groundcrew"))
        .args(["audit", "t.jsonl", "--judge", "practice", "--json"])
        .env_clear()
        .current_dir(call.folder.path())
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("standard output cannot be written"), "{said}");
}

#[test]
fn links_led_results_over_the_traces_that_were_read() {
    let traces = lines(&[good("a")]);
    let call = Call::new().file("in.jsonl", &traces).file("folder/b.jsonl", &traces);
    symlink("in.jsonl", path(&call, "soft.jsonl")).unwrap();
    std::fs::hard_link(path(&call, "in.jsonl"), path(&call, "hard.jsonl")).unwrap();
    std::fs::write(path(&call, "outside.jsonl"), &traces).unwrap();
    symlink("../outside.jsonl", path(&call, "folder/c.jsonl")).unwrap();
    for command in [
        "in.jsonl --out soft.jsonl",
        "in.jsonl --out hard.jsonl",
        "in.jsonl --out csv=hard.jsonl",
        "folder --out outside.jsonl",
    ] {
        let run = call.run(&format!("audit {command} --judge practice"));
        assert!(run.code == 2 && run.stderr.contains("where the traces are read from"), "{}", run.shown());
    }
    assert_eq!((text(&call, "in.jsonl"), text(&call, "outside.jsonl")), (traces.clone(), traces));
    std::fs::remove_file(path(&call, "outside.jsonl")).unwrap();
    let run = call.run("audit folder --judge practice");
    assert!(
        run.code == 2 && run.stderr.contains("folder/c.jsonl"),
        "a link to nothing is told: {}",
        run.shown()
    );
}

#[test]
fn paid_results_were_emptied_before_the_run_could_begin() {
    let call = Call::new().file("t.jsonl", lines(&[good("a"), good("b")]));
    assert_eq!(call.run("audit t.jsonl --judge practice --out paid.jsonl").code, 0);
    let paid = text(&call, "paid.jsonl");
    for options in [
        "--out paid.jsonl --out nodir/x.html",
        "--out paid.jsonl --out ./paid.jsonl",
        "--baseline paid.jsonl --out paid.jsonl",
    ] {
        let run = call.run(&format!("audit t.jsonl --judge practice {options}"));
        assert_eq!(run.code, 2, "{options}: {}", run.shown());
        assert_eq!(text(&call, "paid.jsonl"), paid, "{options}");
    }
    // Another run has it open.
    let other = File::options().append(true).open(path(&call, "paid.jsonl")).unwrap();
    other.lock().unwrap();
    for resume in ["", "--resume"] {
        let run = call.run(&format!("audit t.jsonl --judge practice --out paid.jsonl {resume}"));
        assert!(run.code == 2 && run.stderr.contains("another run is writing it"), "{}", run.shown());
    }
    assert_eq!(text(&call, "paid.jsonl"), paid);
}

#[test]
fn resuming_replaced_a_file_of_somebody_else() {
    const PACKAGE: &str = "{\"name\": \"not ours\"}";
    let call = Call::new().file("t.jsonl", lines(&[good("a")])).file("pkg.jsonl", PACKAGE);
    let run = call.run("audit t.jsonl --judge practice --out pkg.jsonl --resume");
    assert_eq!(run.code, 2, "{}", run.shown());
    assert_eq!(text(&call, "pkg.jsonl"), PACKAGE);
}

#[test]
fn resuming_took_over_the_results_of_another_model() {
    let call = Call::new().file("t.jsonl", lines(&[good("a")]));
    assert_eq!(call.run("audit t.jsonl --judge practice --out run.jsonl").code, 0);
    let mut record = records(&call, "run.jsonl").remove(0);
    assert!(!record["model"].as_str().unwrap().is_empty());
    let own = record["model"].clone();
    for (model, wanted) in [(json!("model-b"), 0), (json!(""), 0), (own, 1)] {
        record["model"] = model;
        std::fs::write(path(&call, "run.jsonl"), format!("{record}\n")).unwrap();
        let run = call.run("audit t.jsonl --judge practice --out run.jsonl --resume --json");
        assert_eq!(summary(&run)["tally"]["resumed"], wanted, "{}", run.shown());
    }
}

#[test]
fn a_bad_answer_of_before_excused_one_of_now() {
    let second = trace("conv", "The heated pool opens at 06:00 on weekdays.");
    let call = Call::new()
        // One trace id with two contents.
        .file("before.jsonl", lines(&[good("conv"), bad("conv")]))
        .file("now.jsonl", lines(&[second, bad("conv")]))
        // A file that three runs have written: good, bad, good again.
        .file("a.jsonl", lines(&[good("t")]))
        .file("b.jsonl", lines(&[bad("t")]))
        .file("c.jsonl", lines(&[worse("t")]));
    assert_eq!(call.run("audit before.jsonl --judge practice --out conv.jsonl").code, 0);
    for file in ["a", "b", "a"] {
        let run = call.run(&format!("audit {file}.jsonl --judge practice --out three.jsonl --resume"));
        assert_eq!(run.code, 0, "{}", run.shown());
    }
    for (file, baseline) in [("now", "conv"), ("c", "three"), ("b", "conv")] {
        for options in ["", "--fail-on contradicted>0"] {
            let run = call
                .run(&format!("audit {file}.jsonl --judge practice --baseline {baseline}.jsonl {options}"));
            assert_ne!(run.code, 0, "{file} {options}: {}", run.shown());
        }
    }
    // Nothing in common: there is nothing that could have become worse, and nothing was compared.
    let run = call.run("audit b.jsonl --judge practice --baseline conv.jsonl");
    assert_eq!(run.code, 3, "{}", run.shown());
    assert!(run.stdout.contains("holds none of these audits"), "{}", run.shown());
}

#[test]
fn one_project_was_excused_by_the_mean_of_another() {
    let of = |project: &str, mut trace: Value| {
        trace["project"] = json!(project);
        trace
    };
    let mut traces: Vec<Value> = (0..9).map(|at| of("a", good(&format!("a{at}")))).collect();
    traces.push(of("b", worse("b")));
    let call = Call::new()
        .file("t.jsonl", lines(&traces))
        .file("groundcrew.toml", "[project_defaults]\nfail_on = [\"mean.faithfulness<0.85\"]\n");
    let run = call.run("--config groundcrew.toml audit t.jsonl --judge practice --json");
    assert_eq!(run.code, 1, "{}", run.shown());
    let thresholds = &summary(&run)["thresholds"];
    let projects: Vec<&Value> = thresholds.as_array().unwrap().iter().map(|it| &it["project"]).collect();
    assert_eq!(projects, [&json!("a"), &json!("b")], "{thresholds}");
}

#[test]
fn a_threshold_that_the_kind_can_never_miss_was_kept() {
    let call = Call::new().file("t.jsonl", lines(&[bad("a")]));
    for (kind, threshold) in [
        ("gate", "contradicted>0"),
        ("gate", "critical>0"),
        ("gate", "omissions>0"),
        ("hallucination_eval", "critical>0"),
    ] {
        let run = call.run(&format!("audit t.jsonl --judge practice --kind {kind} --fail-on {threshold}"));
        assert_eq!(run.code, 3, "{kind} {threshold}: {}", run.shown());
        assert!(run.stdout.contains("no audit has this number"), "{}", run.shown());
    }
}

#[test]
fn a_judge_that_saw_no_claims_anywhere_made_a_green_build() {
    let empty = json!({"claim_analysis": [], "omission_flags": [], "total_claims": 0, "grounded_claims": 0,
        "hallucinated_claims": 0, "omitted_facts": 0, "faithfulness_score": 1.0, "overall_assessment": "Nothing."});
    let call = Call::new()
        .file("t.jsonl", lines(&[trace("a", "Swimming pools are a fine thing for everybody.")]))
        .file("reply.json", empty.to_string());
    let judge =
        super::offline::Judge::start(&format!("--canned-default {}", path(&call, "reply.json").display()));
    let run = call.run(&format!(
        "audit t.jsonl --judge-url {} --judge-model practice --fail-on contradicted>0 --json",
        judge.url
    ));
    assert_eq!(summary(&run)["tally"]["dispositions"], json!({"no_claims": 1}), "{}", run.shown());
    assert_eq!(run.code, 3, "{}", run.shown());
}
