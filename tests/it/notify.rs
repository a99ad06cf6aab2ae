//! What is critical reaches people: `groundcrew notify` with a receiver on this machine.

use std::time::Duration;

use desk::access::Role;
use hmac::{Hmac, KeyInit as _, Mac as _};
use practice::CannedReply;
use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::Sha256;
use testkit::material::{WRONG_FARE, trace, wrong_fare};
use testkit::{Command, PATIENCE, System, TcpRelay, Vhost, wait_for};

use crate::desk::{escalated, start, token};
use crate::notify_receiver::{Does, Receiver};

const ROUTING_KEY: &str = "s3cret-routing-key";
const SIGNING_KEY: &str = "s3cret-signing-key";

/// Quick, but for what a test says otherwise.
const QUICK: &str = "[notify]\ngather_s = 0.1\nwindow_s = 60\nfirst_pause_s = 0.05\nlongest_pause_s = 5\npoll_s = 0.1\n\
     desk_url = \"https://desk.example\"\n";

const ONCALL: &str = "[notify.receivers.oncall]\ntype = \"pagerduty\"\ntimeout_s = 10\n\
     [[notify.rules]]\nseverities = [\"critical\"]\nreceivers = [\"oncall\"]\n";

/// A call of `groundcrew notify` with this configuration.
fn notify(system: &System, arguments: &[&str], config: &str) -> Command {
    let file = std::env::temp_dir().join(format!("notify-{}.toml", uuid::Uuid::now_v7().simple()));
    std::fs::write(&file, config).unwrap();
    system.program(&[&["notify"], arguments].concat()).set("GROUNDCREW_CONFIG", file.display().to_string())
}

/// With a pager.
fn paging(system: &System, receiver: &Receiver, config: &str) -> Command {
    notify(system, &[], config)
        .set("GROUNDCREW_NOTIFY__RECEIVERS__ONCALL__URL", receiver.url())
        .set("GROUNDCREW_NOTIFY__RECEIVERS__ONCALL__ROUTING_KEY", ROUTING_KEY)
}

/// A system where traces of these names have a critical finding.
async fn system(traces: &[&str]) -> System {
    let mut builder = System::builder();
    for trace_id in traces {
        builder = builder.replies(trace_id, [CannedReply::content(wrong_fare("critical"))]);
    }
    builder.start().await
}

/// The tries on record, oldest first, once there are this many that have ended.
async fn tries(system: &System, count: usize) -> Vec<Value> {
    wait_for(&format!("{count} tries"), PATIENCE, async || {
        let tries = system
            .json(
                "select to_jsonb(each) || jsonb_build_object('event', event, 'state', state)
                from groundcrew.notification_tries as each
                join groundcrew.notifications as notification on notification.id = each.notification_id
                where outcome is not null order by at, number",
            )
            .await;
        Some(tries).filter(|tries| tries.len() >= count)
    })
    .await
}

fn outcomes(tries: &[Value]) -> Vec<&str> {
    tries.iter().map(|each| each["outcome"].as_str().unwrap()).collect()
}

fn actions(got: &[crate::notify_receiver::Got]) -> Vec<&str> {
    got.iter().map(|got| got.body["event_action"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_triggered_acknowledged_and_resolved_under_one_key_without_content() {
    let system = system(&["wrong"]).await;
    let _worker = system.worker().await;
    let receiver = Receiver::start([]).await;
    let process = paging(&system, &receiver, &format!("{QUICK}{ONCALL}")).start();
    let item = escalated(&system, "wrong").await;
    let got = receiver.wait(1).await;
    let payload = &got[0].body["payload"];
    assert_eq!((&payload["severity"], &payload["custom_details"]["items"]), (&json!("critical"), &json!(1)));
    assert_eq!(got[0].body["routing_key"], ROUTING_KEY);
    assert_eq!(got[0].body["links"][0]["href"], format!("https://desk.example/items/{item}"));
    let text = String::from_utf8_lossy(&got[0].bytes).into_owned();
    for content in ["ferry", "Norrey", "euro", "9 euro", "ticket", WRONG_FARE] {
        assert!(!text.contains(content), "{content} is in {text}");
    }

    let desk = start(&system, &[]).await;
    let ann = token(&system, "ann", Role::Reviewer).await;
    let path = format!("/api/v1/review/items/{item}");
    let (status, taken) = desk.post(&format!("{path}/take"), &ann, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{taken}");
    receiver.wait(2).await;
    let end = json!({ "fence": taken["fence"], "note": "a test" });
    let (status, closed) = desk.post(&format!("{path}/dismiss"), &ann, end).await;
    assert_eq!(status, StatusCode::OK, "{closed}");
    let got = receiver.wait(3).await;
    assert_eq!(actions(&got), ["trigger", "acknowledge", "resolve"]);
    assert!(got.iter().all(|each| each.body["dedup_key"] == got[0].body["dedup_key"]));
    assert_eq!(outcomes(&tries(&system, 3).await), ["delivered"; 3]);
    let log = process.log();
    assert!(log.contains("told") && !log.contains("s3cret"), "{log}");
    assert!(!log.contains(&receiver.address.port().to_string()), "{log}");
    desk.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_out_after_delivery_does_not_page_twice() {
    let system = system(&["wrong"]).await;
    let _worker = system.worker().await;
    let receiver = Receiver::start([Does::Nothing]).await;
    let config = format!("{QUICK}{ONCALL}").replace("timeout_s = 10", "timeout_s = 0.5");
    let process = paging(&system, &receiver, &config).start();
    escalated(&system, "wrong").await;
    let got = receiver.wait(2).await;
    assert_eq!(actions(&got[..2]), ["trigger", "trigger"]);
    assert_eq!(got[0].body["dedup_key"], got[1].body["dedup_key"]);
    assert_eq!(got[0].header("idempotency-key"), got[1].header("idempotency-key"));
    assert_ne!(got[0].header("idempotency-key"), "");
    let tries = tries(&system, 2).await;
    assert_eq!(outcomes(&tries), ["timeout", "delivered"]);
    assert_eq!(tries[1]["state"], "delivered");
    assert!(!process.log().contains("s3cret"), "{}", process.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_asks_for_time_gets_it() {
    let system = system(&["wrong"]).await;
    let _worker = system.worker().await;
    let receiver = Receiver::start([Does::Throttle(2), Does::Status(503)]).await;
    let _process = paging(&system, &receiver, &format!("{QUICK}{ONCALL}")).start();
    escalated(&system, "wrong").await;
    let got = receiver.wait(3).await;
    assert!(got[1].at - got[0].at >= Duration::from_secs(2));
    let tries = tries(&system, 3).await;
    assert_eq!(outcomes(&tries), ["throttled", "unavailable", "delivered"]);
    assert_eq!((&tries[0]["status"], &tries[1]["status"]), (&json!(429), &json!(503)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_findings_of_one_kind_make_one_page_also_for_two_processes() {
    let names: Vec<String> = (0..100).map(|number| format!("wrong-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let system = system(&names).await;
    let worker = system.worker().await;
    for name in &names {
        system.publish(&trace(name).saying(WRONG_FARE)).await;
    }
    for name in &names {
        assert_eq!(system.ended(name).await["disposition"], "escalated");
    }
    system.outbox_empty().await;
    worker.stop(PATIENCE).await;
    let receiver = Receiver::start([]).await;
    let config = format!("{QUICK}{ONCALL}").replace("gather_s = 0.1", "gather_s = 10");
    let (one, other) =
        (paging(&system, &receiver, &config).start(), paging(&system, &receiver, &config).start());
    let got = receiver.wait(1).await;
    assert_eq!(got[0].body["payload"]["custom_details"]["items"], 100);
    assert!(got[0].body["payload"]["summary"].as_str().unwrap().contains("100 "), "{}", got[0].body);
    assert_eq!(got[0].body["links"][0]["href"], "https://desk.example/queue");
    tries(&system, 1).await;
    // Neither a restart nor a message that comes again pages anybody.
    for mut process in [one, other] {
        process.terminate();
        assert!(process.ended(PATIENCE).await.success(), "{}", process.log());
    }
    let again = system
        .json("select convert_from(body, 'UTF8')::jsonb from groundcrew.outbox where routing_key = 'review.opened'")
        .await;
    let body = again[0].to_string();
    assert!(system.vhost.publish("groundcrew.results", "review.opened", json!({}), body.as_bytes()).await);
    let _third = paging(&system, &receiver, &config).start();
    wait_for("an empty queue", PATIENCE, async || {
        (system.vhost.depth("groundcrew.review").await == Some((0, 0))).then_some(())
    })
    .await;
    let pages = system.json("select to_jsonb(count(*)) from groundcrew.notification_pages").await;
    assert_eq!((pages, receiver.got().len()), (vec![json!(1)], 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_down_is_told_when_it_is_up_again_also_by_another_process() {
    let system = system(&["wrong"]).await;
    let _worker = system.worker().await;
    let receiver = Receiver::start([]).await;
    let address = receiver.address;
    let command = paging(&system, &receiver, &format!("{QUICK}{ONCALL}"));
    drop(receiver);
    let mut process = command.start();
    escalated(&system, "wrong").await;
    assert!(outcomes(&tries(&system, 2).await).iter().all(|outcome| *outcome == "unavailable"));
    process.terminate();
    assert!(process.ended(PATIENCE).await.success(), "{}", process.log());
    assert!(!process.log().contains("s3cret"), "{}", process.log());
    let receiver = Receiver::start_at(address, []).await;
    let _process = command.start();
    receiver.wait(1).await;
    wait_for("a delivery on record", PATIENCE, async || {
        tries(&system, 3).await.last().filter(|last| last["outcome"] == "delivered").map(|_| ())
    })
    .await;
    assert_eq!(receiver.got().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_signed_and_slack_is_told_and_what_is_refused_is_given_up() {
    let system = system(&["wrong"]).await;
    let _worker = system.worker().await;
    let (webhook, slack, refusing) =
        (Receiver::start([]).await, Receiver::start([]).await, Receiver::start([Does::Status(404)]).await);
    let config = format!(
        "{QUICK}include_content = true\n\
         [notify.receivers.hook]\ntype = \"webhook\"\n[notify.receivers.chat]\ntype = \"slack\"\n\
         [notify.receivers.gone]\ntype = \"slack\"\n\
         [[notify.rules]]\nreceivers = [\"hook\", \"chat\"]\n[[notify.rules]]\nurgent = true\nreceivers = [\"gone\"]\n\
         [[notify.rules]]\nprojects = [\"another\"]\nreceivers = [\"hook\"]\n"
    );
    let process = notify(&system, &[], &config)
        .set("GROUNDCREW_NOTIFY__RECEIVERS__HOOK__URL", webhook.url())
        .set("GROUNDCREW_NOTIFY__RECEIVERS__HOOK__SIGNING_KEY", SIGNING_KEY)
        .set("GROUNDCREW_NOTIFY__RECEIVERS__CHAT__URL", slack.url())
        .set("GROUNDCREW_NOTIFY__RECEIVERS__GONE__URL", refusing.url())
        .start();
    let item = escalated(&system, "wrong").await;
    let (hook, chat) = (webhook.wait(1).await.remove(0), slack.wait(1).await.remove(0));
    refusing.wait(1).await;
    let mut mac = Hmac::<Sha256>::new_from_slice(SIGNING_KEY.as_bytes()).unwrap();
    mac.update(format!("{}.", hook.header("groundcrew-timestamp")).as_bytes());
    mac.update(&hook.bytes);
    let expected: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hook.header("groundcrew-signature"), format!("v1={expected}"));
    assert_eq!(hook.header("groundcrew-event"), "trigger");
    assert_eq!((&hook.body["review_item"], &hook.body["event"]), (&json!(item), &json!("trigger")));
    assert!(hook.body["content"]["answer"].as_str().unwrap().contains(WRONG_FARE), "{}", hook.body);
    assert_eq!(hook.path, "/s3cret-path");
    assert!(chat.body["text"].as_str().unwrap().contains(&format!("https://desk.example/items/{item}")));
    let tries = tries(&system, 3).await;
    let refused: Vec<&Value> = tries.iter().filter(|each| each["outcome"] == "refused").collect();
    assert_eq!((refused.len(), &refused[0]["state"]), (1, &json!("failed")));
    let log = process.log();
    assert!(log.contains("NOT TOLD") && !log.contains("s3cret"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_sends_nothing_and_a_test_says_what_was_answered() {
    let system = system(&["wrong"]).await;
    let _worker = system.worker().await;
    let item = escalated(&system, "wrong").await;
    let receiver = Receiver::start([Does::Status(202), Does::Status(202), Does::Status(400)]).await;
    let config = format!("{QUICK}{ONCALL}");
    let command = |arguments: &[&str]| {
        notify(&system, arguments, &config)
            .set("GROUNDCREW_NOTIFY__RECEIVERS__ONCALL__URL", receiver.url())
            .set("GROUNDCREW_NOTIFY__RECEIVERS__ONCALL__ROUTING_KEY", ROUTING_KEY)
    };
    let (code, printed) = command(&["--dry-run"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains(&item) && printed.contains("1 open review items, 1 pages"), "{printed}");
    assert!(!printed.contains("s3cret") && receiver.got().is_empty(), "{printed}");

    let (code, printed) = command(&["test", "oncall"]).run().await;
    assert_eq!((code, actions(&receiver.got())), (Some(0), vec!["trigger", "resolve"]), "{printed}");
    let (code, printed) = command(&["test", "oncall"]).run().await;
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("refused: answered 400") && !printed.contains("s3cret"), "{printed}");
    let (code, printed) = command(&["test", "nobody"]).run().await;
    assert_eq!(code, Some(2), "{printed}");
    // Without its secret a receiver cannot be told, and the program says what to set.
    let (code, printed) = notify(&system, &[], &config).run().await;
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("GROUNDCREW_NOTIFY__RECEIVERS__ONCALL__ROUTING_KEY"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_desk_pages_where_it_is_configured() {
    let system = system(&["wrong"]).await;
    let _worker = system.worker().await;
    let receiver = Receiver::start([]).await;
    let file = std::env::temp_dir().join(format!("notify-{}.toml", uuid::Uuid::now_v7().simple()));
    std::fs::write(&file, format!("{QUICK}{ONCALL}")).unwrap();
    let (file, url) = (file.display().to_string(), receiver.url());
    let desk = start(
        &system,
        &[
            ("GROUNDCREW_CONFIG", &file),
            ("GROUNDCREW_NOTIFY__RECEIVERS__ONCALL__URL", &url),
            ("GROUNDCREW_NOTIFY__RECEIVERS__ONCALL__ROUTING_KEY", ROUTING_KEY),
        ],
    )
    .await;
    escalated(&system, "wrong").await;
    assert_eq!(actions(&receiver.wait(1).await), ["trigger"]);
    tries(&system, 1).await;
    desk.stop().await;
}

/// It says of itself whether it lives, whether people would be told, and what it has told.
#[tokio::test(flavor = "multi_thread")]
async fn a_notifier_of_its_own_serves_health_and_figures() {
    let system = system(&["wrong"]).await;
    let _worker = system.worker().await;
    let receiver = Receiver::start([]).await;
    let config = format!("{QUICK}health_listen = \"127.0.0.1:0\"\n{ONCALL}");
    let relay = TcpRelay::start(Vhost::address()).await;
    let mut process =
        paging(&system, &receiver, &config).set("AMQP_URL", system.vhost.url(Some(relay.address()))).start();
    let address = wait_for("the address of the endpoints", PATIENCE, async || {
        let log = process.log();
        let line = log.lines().find(|line| line.contains("health endpoints"))?.to_owned();
        let rest = line.split("127.0.0.1:").nth(1)?;
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("http://127.0.0.1:{port}"))
    })
    .await;
    let get = async |path: &str| {
        let response = reqwest::get(format!("{address}{path}")).await.unwrap();
        (response.status(), response.text().await.unwrap())
    };
    assert_eq!(get("/livez").await.0, StatusCode::OK);
    wait_for("it to be ready", PATIENCE, async || (get("/readyz").await.0 == StatusCode::OK).then_some(()))
        .await;
    escalated(&system, "wrong").await;
    receiver.wait(1).await;
    tries(&system, 1).await;
    let figures = get("/metrics").await.1;
    for line in [
        "groundcrew_notification_tries_total{receiver=\"oncall\",outcome=\"delivered\"} 1",
        "groundcrew_up{service=\"database\"} 1",
        "groundcrew_up{service=\"broker_consuming\"} 1",
        "groundcrew_ready 1",
    ] {
        assert!(figures.contains(line), "{line} is not in {figures}");
    }
    assert!(!figures.contains("s3cret") && !figures.contains("Norrey"), "{figures}");
    // The broker goes: people would not be told, and it says so.
    relay.refuse();
    let why = wait_for("it not to be ready", PATIENCE, async || {
        let (status, body) = get("/readyz").await;
        (status == StatusCode::SERVICE_UNAVAILABLE).then_some(body)
    })
    .await;
    assert!(why.contains("broker_consuming"), "{why}");
    assert_eq!(get("/livez").await.0, StatusCode::OK);
    process.terminate();
    assert!(process.ended(PATIENCE).await.success(), "{}", process.log());
}
