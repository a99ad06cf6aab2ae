//! A golden run lifts the mark from the results of the judge that it measured.

use serde_json::Value;
use testkit::material::trace;
use testkit::{Command, System};

/// The same server under another name: for the program it is a judge with a model.
fn with_model(command: Command) -> Command {
    command
        .set("GROUNDCREW_JUDGE__NAME", "measured")
        .set("GROUNDCREW_JUDGE__MODEL", "measured-model")
        .set("GROUNDCREW_JUDGE__PRACTICE", "false")
}

/// As many labelled cases as calibrate a judge, every other one faithful.
pub(super) fn twenty_cases() -> String {
    let case = |at: usize| {
        let mut case = trace(&format!("case-{at}")).value().clone();
        let faithful = at.is_multiple_of(2);
        if !faithful {
            let answer = case["answer"].as_str().unwrap();
            case["answer"] = format!("{answer} It was painted by Otto Berg in 1931.").into();
        }
        case["human_label"] = serde_json::json!({ "labeler": "a person", "faithful": faithful });
        format!("{case}\n")
    };
    (0..20).map(case).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_golden_run_lifts_the_mark_from_later_results() {
    let system = System::builder().start().await;
    let file = std::env::temp_dir().join(format!("golden-{}.jsonl", uuid::Uuid::now_v7()));
    std::fs::write(&file, twenty_cases()).unwrap();
    let golden = async |requirement: &str| {
        let arguments = ["golden", "run", file.to_str().unwrap(), "--require", requirement, "--json"];
        with_model(system.program(&arguments)).run().await
    };
    let audited = async |trace_id: &str| -> Value {
        let _worker = with_model(system.program(&["worker"])).start();
        system.publish(&trace(trace_id)).await;
        system.ended(trace_id).await
    };

    // One that does not meet its requirement is kept, and lifts nothing.
    let (code, printed) = golden("coverage>=2").await;
    assert_eq!(code, Some(1), "{printed}");
    assert_eq!(audited("before").await["uncalibrated"], true);

    let (code, printed) = golden("coverage>=1").await;
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(audited("after").await["uncalibrated"], false);
    let kept = system
        .strings("select judge || ' ' || calibrates from analytics.golden_runs order by ended_at")
        .await;
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[1].ends_with(" true"), "{kept:?}");
    std::fs::remove_file(&file).unwrap();
}
