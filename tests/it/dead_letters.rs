//! What cannot be audited: it is kept, and keeps nobody up.

use practice::{CannedReply, Fault};
use queue::{Envelope, Lane};
use serde_json::{Value, json};
use testkit::material::{all_grounded, trace};
use testkit::{PATIENCE, System, wait_for, wait_until_equal};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

async fn listening() -> System {
    System::builder().judged(|judge| judge.canned_default = Some(all_grounded().to_string())).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn undecodable_messages_are_kept_byte_for_byte_and_their_neighbours_go_on() {
    let system = listening().await;
    let worker = system.worker().await;
    let old = trace("old").set("/schema", "groundcrew.trace/v0");
    let twice = Value::String(String::from_utf8(trace("twice").bytes()).unwrap());
    let double_key =
        String::from_utf8(trace("double").bytes()).unwrap().replacen('{', "{\"answer\": \"Other.\",", 1);
    let poison: Vec<(&str, Vec<u8>, &str)> = vec![
        ("no JSON", b"ferry, 07:40".to_vec(), "not JSON"),
        ("no UTF-8", vec![b'{', 0xff, 0xfe, b'}'], "not UTF-8"),
        ("empty", Vec::new(), "empty"),
        ("another version", old.bytes(), "version"),
        ("encoded twice", twice.to_string().into_bytes(), "encoded twice"),
        ("a list", format!("[{}]", trace("list").value()).into_bytes(), "array"),
        ("no id", trace("nameless").without("/trace_id").bytes(), "required"),
        ("a key twice", double_key.into_bytes(), "more than once"),
        ("a wrong type", trace("typed").set("/retrieval/chunks/0/rank", "first").bytes(), "rank"),
    ];
    for (at, (_, body, _)) in poison.iter().enumerate() {
        system.publish(&trace(&format!("good-{at}"))).await;
        system.publish_bytes(body.clone()).await;
    }
    let letters = system.dead_letters("undecodable", poison.len()).await;
    assert_eq!(letters.len(), poison.len());
    for (what, body, word) in &poison {
        let letter = letters.iter().find(|letter| letter["body"] == hex(body));
        let letter = letter.unwrap_or_else(|| panic!("{what}: its bytes are in no row"));
        assert_eq!((&letter["status"], &letter["seen"]), (&json!("open"), &json!(1)), "{what}");
        let problems = letter["problems"].to_string();
        assert!(problems.contains(word), "{what}: {problems}");
        assert_eq!(letter["lane"], "normal");
    }
    let named = letters.iter().find(|letter| letter["trace_id"] == "old").expect("who can be read is named");
    assert_eq!(named["project"], testkit::material::PROJECT);
    for at in 0..poison.len() {
        assert_eq!(system.ended(&format!("good-{at}")).await["disposition"], "passed");
    }
    worker.stop(PATIENCE).await;
    assert_eq!(system.waiting().await, Vec::<String>::new(), "every message was acked");
    assert_eq!(system.judge.calls("good-0").received, 1, "a neighbour is not asked about again");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_twice_are_one_row_that_was_seen_twice() {
    let system = listening().await;
    let _worker = system.worker().await;
    system.publish_bytes("nonsense").await;
    system.dead_letters("undecodable", 1).await;
    system.publish_bytes("nonsense").await;
    wait_until_equal("it is counted", PATIENCE, json!(2), async || {
        system.dead_letters("undecodable", 1).await[0]["seen"].clone()
    })
    .await;
    let letters = system.dead_letters("undecodable", 1).await;
    assert_eq!(letters.len(), 1);
    assert!(letters[0]["first_seen_at"].as_str() < letters[0]["last_seen_at"].as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_is_not_even_parsed() {
    let system = System::builder()
        .judged(|judge| judge.canned_default = Some(all_grounded().to_string()))
        .tuned(|tuning| tuning.max_message_bytes = 20_000)
        .start()
        .await;
    let _worker = system.worker().await;
    let nonsense = vec![b'['; 30_000];
    system.publish_bytes(nonsense).await;
    let padding = "x".repeat(30_000);
    system.publish(&trace("large").set("/metadata", json!({ "padding": padding }))).await;
    system.publish(&trace("small")).await;

    let letters = system.dead_letters("oversized", 2).await;
    assert!(letters.iter().all(|letter| letter["body_bytes"].as_i64().unwrap() >= 30_000), "{letters:?}");
    assert_eq!(letters[0]["problems"], json!([]));
    assert_eq!(system.ended("small").await["disposition"], "passed");
    assert!(system.audits("large").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_queue_is_not_lost() {
    let system = listening().await;
    let _worker = system.worker().await;
    let properties = json!({ "message_id": "m-1", "headers": { "x-team": "harbour" } });
    let body = trace("misrouted").bytes();
    // The broker's own answer: the alternate exchange has taken it.
    assert!(system.vhost.publish(queue::exchange::TRACES, "norml", properties, &body).await);

    let letters = system.dead_letters("unroutable", 1).await;
    assert_eq!(letters[0]["body"], hex(&body));
    assert_eq!(letters[0]["trace_id"], "misrouted");
    assert!(letters[0]["reason"].as_str().unwrap().contains("norml"), "{}", letters[0]["reason"]);
    assert_eq!(letters[0]["headers"]["message_id"], "m-1");
    assert!(system.audits("misrouted").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_does_not_exist_becomes_a_dead_letter() {
    let system = listening().await;
    let _worker = system.worker().await;
    let envelope = Envelope { kinds: vec!["astrology".into()], ..Envelope::default() };
    system.publish_with(&trace("unknown"), envelope).await;
    let letters = system.dead_letters("unsupported_kind", 1).await;
    assert!(letters[0]["reason"].as_str().unwrap().contains("astrology"), "{}", letters[0]["reason"]);
    assert!(system.audits("unknown").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_broker_gave_up_on_is_kept_with_the_reason() {
    let system = System::builder()
        .replies("victim", [CannedReply::content(all_grounded())])
        .tuned(|tuning| tuning.delivery_limit = 2)
        .start()
        .await;
    system.publish(&trace("victim")).await;
    // Whoever takes it hands it back, as a worker does that dies over it.
    wait_until_equal("the broker gives up", PATIENCE, Some(1), async || {
        system.vhost.hand_back(Lane::Normal.queue()).await;
        system.counts(queue::queue::DEAD).await.map(|counts| counts.ready)
    })
    .await;
    let _worker = system.worker().await;

    let letters = system.dead_letters("delivery_limit", 1).await;
    assert_eq!(letters[0]["trace_id"], "victim");
    assert_eq!(letters[0]["lane"], "normal");
    assert_eq!(letters[0]["body"], hex(&trace("victim").bytes()));
    assert!(letters[0]["reason"].as_str().unwrap().contains("delivery_limit"), "{}", letters[0]["reason"]);
    assert!(system.audits("victim").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_that_this_version_cannot_go_on_with_is_put_aside_when_it_is_too_old() {
    let system = System::builder()
        .replies("newer", [CannedReply::content("nonsense"), CannedReply::fault(Fault::Hang)])
        .replies("neighbour", [CannedReply::content(all_grounded())])
        .tuned(|tuning| tuning.drain_deadline = std::time::Duration::from_millis(300))
        .start()
        .await;
    let worker = system.worker().await;
    let first_seen = Some(chrono::Utc::now() - chrono::Duration::hours(25));
    system.publish_with(&trace("newer"), Envelope { first_seen, ..Envelope::default() }).await;
    wait_until_equal("the second call", PATIENCE, 2, async || system.judge.calls("newer").received).await;
    worker.stop(PATIENCE).await;
    // As if a newer version had opened it and was rolled back since.
    sqlx::query("update groundcrew.audits set prompt_version = 'faithfulness-2099'")
        .execute(&system.database.pool)
        .await
        .unwrap();

    let _worker = system.worker().await;
    let letters = system.dead_letters("failed", 1).await;
    assert_eq!(letters[0]["trace_id"], "newer");
    assert!(letters[0]["reason"].as_str().unwrap().contains("faithfulness-2099"), "{}", letters[0]["reason"]);
    system.publish(&trace("neighbour")).await;
    assert_eq!(system.ended("neighbour").await["disposition"], "passed");
    assert_eq!(system.judge.calls("newer").received, 2, "no call under another prompt");
}

// --- what an operator does about them -------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_dead_letter_is_audited_as_a_new_generation() {
    let system = listening().await;
    let _worker = system.worker().await;
    // The first is audited before and after, the second only after its routing key was mended.
    system.publish(&trace("again")).await;
    system.ended("again").await;
    for id in ["again", "misrouted"] {
        system.vhost.publish(queue::exchange::TRACES, "norml", json!({}), &trace(id).bytes()).await;
    }
    system.dead_letters("unroutable", 2).await;

    let (code, printed) = system.program(&["queue", "dead", "replay", "--all", "--json"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    let audits = system.ended_times("again", 2).await;
    let generations: Vec<_> =
        audits.iter().map(|audit| (&audit["generation"], &audit["disposition"])).collect();
    assert_eq!(generations, [(&json!(0), &json!("passed")), (&json!(1), &json!("passed"))]);
    assert_eq!(system.ended("misrouted").await["disposition"], "passed");
    assert_eq!(system.judge.calls("again").received, 2);
    for letter in system.dead_letters("unroutable", 2).await {
        assert_eq!((&letter["status"], &letter["replays"]), (&json!("replayed"), &json!(1)), "{letter}");
        assert_ne!(letter["settled_at"], Value::Null);
    }
}

/// A replay went out under the current prompt and without the producer's headers.
#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_dead_letter_has_the_prompt_version_and_the_headers_that_it_came_with() {
    let system = listening().await;
    let headers = json!({
        "groundcrew-prompt-version": "faithfulness-2099", "tenant": "blue", "hops": 7, "deep": { "list": [true] },
    });
    let properties = json!({ "headers": headers, "content_encoding": "identity", "correlation_id": "c-1" });
    system.vhost.publish(queue::exchange::TRACES, "norml", properties, &trace("t").bytes()).await;
    let _worker = system.worker().await;
    let letters = system.dead_letters("unroutable", 1).await;
    assert_eq!(letters[0]["headers"]["prompt_version"], "faithfulness-2099", "{}", letters[0]);
    system.vhost.tap("test.again", queue::exchange::TRACES, "#").await;
    let (code, printed) = system.program(&["queue", "dead", "replay", "--all"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    let seen =
        wait_for("the replay", PATIENCE, async || system.vhost.peek("test.again").await.into_iter().next())
            .await;
    for name in ["groundcrew-prompt-version", "tenant", "hops", "deep"] {
        assert_eq!(seen.headers[name], headers[name], "{name}: {}", seen.headers);
    }
    assert_eq!(seen.headers["groundcrew-generation"], json!(1));
    assert_eq!(seen.correlation_id.as_deref(), Some("c-1"));
}

/// A letter that was discarded could be replayed, and one that was replayed discarded; a second note replaced the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_settled_dead_letter_is_left_alone_and_one_named_twice_counts_once() {
    let system = listening().await;
    let worker = system.worker().await;
    for id in ["unwanted", "wanted"] {
        system.vhost.publish(queue::exchange::TRACES, "norml", json!({}), &trace(id).bytes()).await;
    }
    let letters = system.dead_letters("unroutable", 2).await;
    let id = |trace_id: &str| {
        let letter = letters.iter().find(|letter| letter["trace_id"] == trace_id).unwrap();
        letter["id"].as_str().unwrap().to_owned()
    };
    let call = async |arguments: &[&str]| {
        let arguments: Vec<&str> = ["queue", "dead"].iter().chain(arguments).copied().collect();
        system.program(&arguments).run().await
    };
    let (unwanted, wanted) = (id("unwanted"), id("wanted"));
    let (code, printed) = call(&["discard", &unwanted, "--note", "first"]).await;
    assert_eq!(code, Some(0), "{printed}");
    for arguments in [&["discard", &unwanted, "--note", "second"][..], &["replay", &unwanted]] {
        let (code, printed) = call(arguments).await;
        assert_eq!(code, Some(1), "{printed}");
        assert!(printed.contains("replayed or discarded already"), "{printed}");
    }
    let (code, printed) = call(&["replay", &wanted, &wanted, &wanted]).await;
    assert!(code == Some(0) && printed.contains("1 replayed, 0 not"), "{printed}");
    let (code, printed) = call(&["discard", &wanted, "--note", "late"]).await;
    assert_eq!(code, Some(1), "{printed}");
    let nobody = uuid::Uuid::nil().to_string();
    let (code, printed) = call(&["discard", &nobody, "--note", "late"]).await;
    assert!(code == Some(1) && printed.contains("there is no dead letter"), "{printed}");

    system.ended("wanted").await;
    worker.stop(PATIENCE).await;
    for letter in system.dead_letters("unroutable", 2).await {
        let expected = match letter["trace_id"].as_str() {
            Some("unwanted") => (json!("discarded"), json!("first"), json!(0)),
            _ => (json!("replayed"), Value::Null, json!(1)),
        };
        assert_eq!(
            (&letter["status"], &letter["note"], &letter["replays"]),
            (&expected.0, &expected.1, &expected.2)
        );
    }
    assert!(system.audits("unwanted").await.is_empty());
}

/// A trace had been judged again meanwhile, so that the letter's replay was taken for a duplicate of that.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_of_a_trace_that_was_judged_again_is_audited_all_the_same() {
    let system = listening().await;
    let worker = system.worker().await;
    system.publish(&trace("t")).await;
    system.ended("t").await;
    system.vhost.publish(queue::exchange::TRACES, "norml", json!({}), &trace("t").bytes()).await;
    system.dead_letters("unroutable", 1).await;
    let (code, printed) = system.program(&["replay", "traces", "--yes"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    system.ended_times("t", 2).await;
    let (code, printed) = system.program(&["queue", "dead", "replay", "--all"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    let audits = system.ended_times("t", 3).await;
    let generations: Vec<_> = audits.iter().map(|audit| &audit["generation"]).collect();
    assert_eq!(generations, [&json!(0), &json!(1), &json!(2)]);
    worker.stop(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_message_that_still_cannot_be_read_is_open_again() {
    let system = listening().await;
    let _worker = system.worker().await;
    system.publish_bytes("nonsense").await;
    let letters = system.dead_letters("undecodable", 1).await;
    let id = letters[0]["id"].as_str().unwrap().to_owned();
    let (code, printed) = system.program(&["queue", "dead", "replay", &id]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    wait_until_equal("it came back", PATIENCE, true, async || {
        let letters = system.dead_letters("undecodable", 1).await;
        letters.iter().any(|letter| letter["status"] == "open")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discarded_dead_letter_keeps_the_reason_and_is_audited_no_more() {
    let system = listening().await;
    let _worker = system.worker().await;
    system.vhost.publish(queue::exchange::TRACES, "norml", json!({}), &trace("unwanted").bytes()).await;
    let letters = system.dead_letters("unroutable", 1).await;
    let id = letters[0]["id"].as_str().unwrap().to_owned();

    let (code, printed) =
        system.program(&["queue", "dead", "discard", &id, "--note", "a typing error"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    let letters = system.dead_letters("unroutable", 1).await;
    assert_eq!((&letters[0]["status"], &letters[0]["note"]), (&json!("discarded"), &json!("a typing error")));
    let (code, printed) = system.program(&["queue", "dead", "replay", "--all", "--json"]).run().await;
    assert_eq!(code, Some(0), "{printed}");
    assert!(system.audits("unwanted").await.is_empty(), "--all leaves alone what was discarded");
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_counted_replayed_and_discarded_by_reason() {
    let system = listening().await;
    let worker = system.worker().await;
    for (at, key) in ["norml", "norml", "norml", "bulky"].iter().enumerate() {
        let body = trace(&format!("t-{at}")).bytes();
        system.vhost.publish(queue::exchange::TRACES, key, json!({}), &body).await;
    }
    system.dead_letters("unroutable", 4).await;
    let call = async |arguments: &[&str]| {
        let arguments: Vec<&str> = ["queue", "dead"].iter().chain(arguments).copied().collect();
        let (code, printed) = system.program(&arguments).argument("--json").run().await;
        assert_eq!(code, Some(0), "{printed}");
        serde_json::from_str::<Value>(&printed).unwrap()
    };
    let groups = call(&["list", "--by-reason"]).await;
    let letters: Vec<&Value> = groups.as_array().unwrap().iter().map(|group| &group["letters"]).collect();
    assert_eq!(letters, [&json!(3), &json!(1)], "{groups}");
    assert!(groups[0]["reason"].as_str().unwrap().contains("norml"), "{groups}");

    let done = |answer: &Value| answer["done"].as_array().unwrap().len();
    let first = call(&["replay", "--source", "unroutable", "--reason", "norml", "--limit", "2"]).await;
    assert_eq!(done(&first), 2, "the two that came first");
    for id in ["t-0", "t-1"] {
        assert_eq!(system.ended(id).await["disposition"], "passed", "{id}");
    }
    let discarded = call(&["discard", "--reason", "bulky", "--note", "a typing error"]).await;
    assert_eq!(done(&discarded), 1);
    let rest = call(&["replay", "--all"]).await;
    assert_eq!(done(&rest), 1);
    system.ended("t-2").await;
    assert!(system.audits("t-3").await.is_empty(), "what was discarded is left alone");
    let nothing = call(&["replay", "--project", "nobody"]).await;
    assert_eq!(done(&nothing), 0);
    worker.stop(PATIENCE).await;
}

/// Two who replayed the same letter at the same time sent it twice.
#[tokio::test(flavor = "multi_thread")]
async fn replaying_a_dead_letter_twice_at_once_sends_it_once() {
    let system = listening().await;
    let worker = system.worker().await;
    system.vhost.publish(queue::exchange::TRACES, "norml", json!({}), &trace("twice").bytes()).await;
    let letters = system.dead_letters("unroutable", 1).await;
    let id = letters[0]["id"].as_str().unwrap().to_owned();
    let replay = async || system.program(&["queue", "dead", "replay", &id, "--json"]).run().await;
    let (one, other, third) = tokio::join!(replay(), replay(), replay());
    let mut codes = [one.0, other.0, third.0];
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(1), Some(1)], "{one:?} {other:?} {third:?}");
    let refused =
        [one.1, other.1, third.1].iter().filter(|said| said.contains("replayed or discarded")).count();
    assert_eq!(refused, 2);
    assert_eq!(system.ended("twice").await["generation"], json!(1));
    worker.stop(PATIENCE).await;
    let sent =
        system.strings("select id::text from groundcrew.outbox where headers ? 'source_dead_letter'").await;
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(system.judge.calls("twice").received, 1);
    assert_eq!(system.dead_letters("unroutable", 1).await[0]["replays"], json!(1));
}
