use queue::topology::{self, Presence};
use queue::{Connection, Error, Lane, PublishError, Purpose, Source, Target};
use serde_json::{Value, json};

use crate::support::{Process, Vhost, trace};

#[tokio::test(flavor = "multi_thread")]
async fn declaring_twice_changes_nothing_and_verify_agrees() {
    let vhost = Vhost::new();
    let settings = vhost.settings(|_| {});
    let connection = Connection::open(&settings, Purpose::Consume).await.unwrap();

    let before = topology::verify(&connection).await.unwrap();
    assert!(before.iter().all(|finding| finding.state == Presence::Missing), "{before:?}");
    assert!(vhost.management.queue(&vhost.name, queue::queue::DEAD).is_none(), "verify created a queue");

    topology::declare(&connection).await.unwrap();
    topology::declare(&connection).await.unwrap();

    let after = topology::verify(&connection).await.unwrap();
    assert!(after.iter().all(|finding| finding.state == Presence::Right), "{after:?}");
    let depths = topology::depths(&connection).await.unwrap();
    assert_eq!(depths.len(), 3 + 4 + 2);
    assert!(depths.iter().all(|depth| depth.counts.is_some_and(|counts| counts.ready == 0)), "{depths:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_difference_is_listed_with_what_the_broker_said() {
    let vhost = Vhost::new();
    let normal = |change: &dyn Fn(&mut Value)| {
        let mut arguments = json!({
            "x-queue-type": "quorum",
            "x-overflow": "reject-publish",
            "x-delivery-limit": 50,
            "x-dead-letter-exchange": "groundcrew.dead",
            "x-dead-letter-strategy": "at-least-once",
        });
        change(&mut arguments);
        arguments
    };
    let declare = |name: &str, arguments| vhost.management.declare_queue(&vhost.name, name, arguments);
    declare(Lane::Urgent.queue(), normal(&|arguments| arguments["x-delivery-limit"] = json!(7)));
    declare(
        Lane::Normal.queue(),
        normal(&|arguments| arguments["x-dead-letter-exchange"] = json!("elsewhere")),
    );
    declare(
        Lane::Bulk.queue(),
        normal(&|arguments| arguments["x-dead-letter-strategy"] = json!("at-most-once")),
    );
    declare("groundcrew.review", normal(&|arguments| arguments["x-overflow"] = json!("drop-head")));
    declare("groundcrew.dead", json!({"x-queue-type": "classic"}));
    declare(
        "groundcrew.retry.30s",
        normal(&|arguments| {
            arguments["x-dead-letter-exchange"] = json!("groundcrew.traces");
            arguments["x-message-ttl"] = json!(31_000);
        }),
    );
    declare(
        "groundcrew.retry.2m",
        normal(&|arguments| {
            arguments["x-dead-letter-exchange"] = json!("groundcrew.traces");
            arguments["x-message-ttl"] = json!(120_000);
            arguments["x-dead-letter-routing-key"] = json!("normal");
        }),
    );
    declare(
        "groundcrew.retry.10m",
        normal(&|arguments| {
            arguments["x-dead-letter-exchange"] = json!("groundcrew.traces");
            arguments["x-message-ttl"] = json!(600_000);
        }),
    );
    vhost.management.declare_exchange(&vhost.name, "groundcrew.results", "fanout");
    let settings = vhost.settings(|_| {});
    let connection = Connection::open(&settings, Purpose::Consume).await.unwrap();

    let error = topology::declare(&connection).await.unwrap_err();

    assert!(error.is_configuration());
    let Error::Topology(mismatches) = &error else { panic!("{error:?}") };
    let names: Vec<&str> = mismatches.iter().map(|mismatch| mismatch.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "groundcrew.results",
            "groundcrew.dead",
            "groundcrew.audit.urgent",
            "groundcrew.audit.normal",
            "groundcrew.audit.bulk",
            "groundcrew.retry.30s",
            "groundcrew.retry.2m",
            "groundcrew.review",
        ],
        "{error}"
    );
    assert!(mismatches.iter().all(|mismatch| mismatch.reason.contains("inequivalent arg")), "{error}");

    let wrong = topology::verify(&connection).await.unwrap();
    let wrong: Vec<&str> = wrong
        .iter()
        .filter(|finding| matches!(finding.state, Presence::Wrong(_)))
        .map(|finding| finding.name.as_str())
        .collect();
    assert_eq!(wrong, names);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_broker_holds_the_arguments_that_keep_messages() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let names = topology::depths(&process.consuming).await.unwrap().into_iter().map(|depth| depth.queue);
    for name in names {
        let queue = vhost.management.queue(&vhost.name, &name).unwrap();
        let arguments = &queue["arguments"];
        assert_eq!(queue["durable"], true, "{name}");
        assert_eq!(arguments["x-queue-type"], "quorum", "{name}");
        assert_eq!(arguments["x-overflow"], "reject-publish", "{name}");
        assert!(arguments["x-delivery-limit"].as_u64().is_some_and(|limit| limit > 0), "{name}");
        assert_eq!(arguments["x-dead-letter-routing-key"], Value::Null, "{name}");
        if name != queue::queue::DEAD {
            assert_eq!(arguments["x-dead-letter-strategy"], "at-least-once", "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_routing_key_without_a_lane_ends_in_the_dead_queue() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut dead = process.consumer(Source::Dead).await;

    let headers = lapin::types::FieldTable::default();
    crate::support::raw::publish(&vhost.url(), "groundcrew.traces", "urgnet", Default::default(), headers)
        .await;

    let delivery = process.next(&mut dead).await;
    assert_eq!(delivery.dead_reason(), "unroutable");
    assert_eq!(delivery.death, None);
    assert_eq!(delivery.routing_key, "urgnet");
    assert_eq!(delivery.exchange, "groundcrew.traces");
    assert_eq!(delivery.lane(), None);
    assert_eq!(delivery.ack().await.unwrap(), queue::Settled::Sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn announcements_of_reviews_are_kept_and_other_events_are_not() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let event = |name: &str| {
        let mut message = trace(Lane::Normal, name);
        message.target = Target::event(name);
        message
    };
    process.publisher.publish(&event("audit.completed")).await.unwrap();
    let mut review = event("review.opened");
    review.target = Target::review("review.opened");
    process.publisher.publish(&review).await.unwrap();
    review.target = Target::review("reveiw.opened");
    let outcome = process.publisher.publish(&review).await;
    assert!(matches!(outcome, Err(PublishError::Returned { .. })), "{outcome:?}");
    let mut review = process.consumer(Source::Review).await;
    let delivery = process.next(&mut review).await;
    assert_eq!(delivery.envelope.message_id.as_deref(), Some("review.opened"));
    // Had the first event been kept it would have come first.
    assert_eq!(delivery.ack().await.unwrap(), queue::Settled::Sent);
}
