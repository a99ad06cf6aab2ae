use std::time::Duration;

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldArray, FieldTable};
use queue::{Lane, Settled, Source};
use tokio::time::Instant;

use crate::support::{Process, Vhost, raw, trace};

const TIERS: [Duration; 2] = [Duration::from_millis(400), Duration::from_millis(900)];

/// RabbitMQ before 4.0 drops a message that passes two chained delays twice with its death headers on.
#[tokio::test(flavor = "multi_thread")]
async fn a_parked_trace_comes_back_to_its_lane_however_often_it_is_parked() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|options| options.retry_tiers = TIERS.to_vec())).await;
    let mut headers = FieldTable::default();
    headers.insert("tenant".into(), AMQPValue::LongString("blue".into()));
    let properties = BasicProperties::default()
        .with_message_id("trace-1".into())
        .with_correlation_id("order-9".into())
        .with_priority(7);
    raw::publish(&vhost.url(), "groundcrew.traces", "bulk", properties, headers).await;
    let mut consumer = process.consumer(Source::Lane(Lane::Bulk)).await;

    let mut first_seen = None;
    for round in 0..6_u32 {
        let delivery = process.next(&mut consumer).await;
        let envelope = &delivery.envelope;
        assert_eq!(delivery.lane(), Some(Lane::Bulk));
        assert_eq!(delivery.routing_key, "bulk");
        assert_eq!(envelope.message_id.as_deref(), Some("trace-1"));
        assert_eq!(envelope.correlation_id.as_deref(), Some("order-9"));
        assert_eq!(envelope.others.text("tenant").as_deref(), Some("blue"));
        assert_eq!(envelope.others.names().count(), 1, "{envelope:?}");
        if round > 0 {
            let death = delivery.death.as_ref().expect("it has just left a tier");
            assert_eq!(
                (death.reason.as_str(), death.count),
                ("expired", 1),
                "old death headers were published again"
            );
            assert_eq!(envelope.tier, Some(round));
            assert!(envelope.first_seen.is_some());
            assert_eq!(*first_seen.get_or_insert(envelope.first_seen), envelope.first_seen);
        }
        let tier = usize::try_from(round % 2).unwrap();
        let mut next = envelope.clone();
        next.tier = Some(round + 1);
        let parked = Instant::now();
        process.publisher.park(&delivery, tier, &next).await.unwrap();
        assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
        // Half of it: the clocks of both sides need not agree to the millisecond.
        let back = process.next(&mut consumer).await;
        assert!(parked.elapsed() >= TIERS[tier] / 2, "came back after {:?}", parked.elapsed());
        assert_eq!(back.requeue().await.unwrap(), Settled::Sent);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn death_headers_of_a_stranger_do_not_make_the_broker_drop_a_trace() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|options| options.retry_tiers = TIERS.to_vec())).await;
    let mut death = FieldTable::default();
    death.insert("queue".into(), AMQPValue::LongString(Lane::Normal.queue().into()));
    death.insert("reason".into(), AMQPValue::LongString("expired".into()));
    death.insert("count".into(), AMQPValue::LongLongInt(3));
    death.insert("exchange".into(), AMQPValue::LongString("groundcrew.traces".into()));
    death.insert("routing-keys".into(), AMQPValue::FieldArray(FieldArray::from(vec![])));
    let mut headers = FieldTable::default();
    headers.insert(
        "x-death".into(),
        AMQPValue::FieldArray(FieldArray::from(vec![AMQPValue::FieldTable(death)])),
    );
    headers.insert("x-first-death-queue".into(), AMQPValue::LongString(Lane::Normal.queue().into()));
    headers.insert("x-delivery-count".into(), AMQPValue::LongLongInt(3));
    raw::publish(&vhost.url(), "groundcrew.traces", "normal", BasicProperties::default(), headers).await;
    let mut consumer = process.consumer(Source::Lane(Lane::Normal)).await;

    let delivery = process.next(&mut consumer).await;
    process.publisher.park(&delivery, 0, &delivery.envelope).await.unwrap();
    assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);

    let back = process.next(&mut consumer).await;
    assert_eq!(back.death.as_ref().map(|death| death.queue.as_str()), Some("groundcrew.retry.400ms"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_is_returned_too_often_ends_in_the_dead_queue_with_its_reason() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|options| options.delivery_limit = 2)).await;
    process.publisher.publish(&trace(Lane::Urgent, "poison")).await.unwrap();
    let mut consumer = process.consumer(Source::Lane(Lane::Urgent)).await;
    for returns in 0..3 {
        let delivery = process.next(&mut consumer).await;
        assert_eq!((delivery.returns, delivery.redelivered), (returns, returns > 0));
        assert_eq!(delivery.requeue().await.unwrap(), Settled::Sent);
    }

    let mut dead = process.consumer(Source::Dead).await;
    let delivery = process.next(&mut dead).await;
    assert_eq!(delivery.dead_reason(), "delivery_limit");
    assert_eq!(delivery.envelope.message_id.as_deref(), Some("poison"));
    assert_eq!(delivery.lane(), Some(Lane::Urgent));
    let death = delivery.death.as_ref().unwrap();
    assert_eq!(
        (death.queue.as_str(), death.routing_keys.as_slice()),
        (Lane::Urgent.queue(), &["urgent".to_owned()][..])
    );
    assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
}
