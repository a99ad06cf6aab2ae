use std::time::Duration;

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use queue::{Connection, Lane, Next, PublishError, Publisher, Purpose, Settled, Source, State};
use tokio_util::sync::CancellationToken;

use crate::support::relay::Relay;
use crate::support::{PATIENCE, Process, Vhost, eventually, raw, trace};

const NORMAL: Source = Source::Lane(Lane::Normal);

#[tokio::test(flavor = "multi_thread")]
async fn consumer_and_publisher_survive_connections_that_the_broker_closes() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut consumer = process.consumer(NORMAL).await;
    process.publisher.publish(&trace(Lane::Normal, "before")).await.unwrap();
    process.publisher.publish(&trace(Lane::Normal, "prefetched")).await.unwrap();
    let held = process.next(&mut consumer).await;
    eventually("the prefetch to fill", || async {
        (process.ready(NORMAL.queue()).await == Some(0)).then_some(())
    })
    .await;

    eventually("both connections to be listed and closed", || async {
        (vhost.management.close_connections(&vhost.name) >= 2).then_some(())
    })
    .await;

    eventually("the loss to be noticed", || async { (!held.is_held()).then_some(()) }).await;
    assert_eq!(held.ack().await.unwrap(), Settled::Lost);
    // What was prefetched over the lost connection must not be worked on: it can no longer be acked.
    for id in ["before", "prefetched"] {
        let again = process.next(&mut consumer).await;
        assert_eq!(again.envelope.message_id.as_deref(), Some(id));
        assert!(again.redelivered && again.is_held());
        assert_eq!(again.ack().await.unwrap(), Settled::Sent);
    }

    let message = trace(Lane::Normal, "after");
    eventually("a publish to succeed", || async { process.publisher.publish(&message).await.ok() }).await;
    let delivery = process.next(&mut consumer).await;
    assert_eq!(delivery.envelope.message_id.as_deref(), Some("after"));
    assert_eq!(process.consuming.state(), State::Up);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_deleted_under_its_consumer_is_declared_again() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut consumer = process.consumer(NORMAL).await;
    vhost.management.delete_queue(&vhost.name, NORMAL.queue());

    let stop = process.stop.clone();
    let receiving = tokio::spawn(async move { (consumer.next(&stop).await, consumer) });
    // What is published before the queue is back and bound is unroutable and ends in the dead queue.
    let message = trace(Lane::Normal, "after");
    eventually("a trace to arrive", || async {
        process.publisher.publish(&message).await.unwrap();
        receiving.is_finished().then_some(())
    })
    .await;

    let (next, _consumer) = receiving.await.unwrap();
    let Next::Delivery(delivery) = next else { panic!("{next:?}") };
    assert_eq!(delivery.envelope.message_id.as_deref(), Some("after"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_virtual_host_that_was_emptied_is_filled_again_by_a_reconnect() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    vhost.management.delete_queue(&vhost.name, queue::queue::DEAD);
    vhost.management.delete_exchange(&vhost.name, "groundcrew.traces");
    eventually("the connections to be closed", || async {
        (vhost.management.close_connections(&vhost.name) >= 2).then_some(())
    })
    .await;
    let message = trace(Lane::Normal, "after");
    eventually("a publish to succeed", || async { process.publisher.publish(&message).await.ok() }).await;
    eventually("the queue to be back", || async { process.ready(queue::queue::DEAD).await }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_falls_silent_is_noticed_by_its_heartbeat() {
    let vhost = Vhost::new();
    let relay = Relay::start(vhost.address()).await;
    let settings = vhost.settings_at(&relay.address, |options| {
        options.heartbeat_s = 1;
        options.publish_timeout = Duration::from_secs(1);
        options.settle_timeout = Duration::from_secs(2);
        options.connect_timeout = Duration::from_secs(2);
    });
    let process = Process::start(&settings).await;
    let mut consumer = process.consumer(NORMAL).await;
    process.publisher.publish(&trace(Lane::Normal, "before")).await.unwrap();
    let held = process.next(&mut consumer).await;

    relay.freeze();
    let outcome = process.publisher.publish(&trace(Lane::Normal, "into the void")).await;
    assert!(matches!(outcome, Err(PublishError::Unknown(_))), "{outcome:?}");
    eventually("both connections to be given up", || async {
        let down = |connection: &Connection| matches!(connection.state(), State::Down(_));
        (down(&process.consuming) && down(process.publisher.connection())).then_some(())
    })
    .await;
    assert_eq!(held.ack().await.unwrap(), Settled::Lost);

    relay.thaw();
    let mut seen = Vec::new();
    let message = trace(Lane::Normal, "after");
    eventually("a publish to succeed", || async { process.publisher.publish(&message).await.ok() }).await;
    while !seen.contains(&"after".to_owned()) || !seen.contains(&"before".to_owned()) {
        let delivery = process.next(&mut consumer).await;
        seen.extend(delivery.envelope.message_id.clone());
        assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_connection_is_told_and_holds_up_publishing_only() {
    let vhost = Vhost::new();
    let relay = Relay::start(vhost.address()).await;
    let mut process = Process::start(&vhost.settings(|_| {})).await;
    let through_relay = vhost.settings_at(&relay.address, |options| {
        options.publish_timeout = Duration::from_secs(1);
        options.settle_timeout = Duration::from_secs(1);
    });
    let publishing = Connection::open(&through_relay, Purpose::Publish).await.unwrap();
    process.publisher = Publisher::new(&publishing);
    process.publisher.publish(&trace(Lane::Normal, "before")).await.unwrap();

    relay.say_blocked("low on memory");
    eventually("the block to be noticed", || async {
        (publishing.state() == State::Blocked("low on memory".into())).then_some(())
    })
    .await;
    let outcome = process.publisher.publish(&trace(Lane::Normal, "meanwhile")).await;
    assert!(matches!(outcome, Err(PublishError::Unknown(queue::Error::Timeout { .. }))), "{outcome:?}");
    let mut consumer = process.consumer(NORMAL).await;
    let delivery = process.next(&mut consumer).await;
    assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);

    relay.say_unblocked();
    let message = trace(Lane::Normal, "after");
    eventually("a publish to succeed", || async { process.publisher.publish(&message).await.ok() }).await;
    eventually("the block to be over", || async { (publishing.state() == State::Up).then_some(()) }).await;

    // Closing must not wait for a broker that reads nothing.
    relay.say_blocked("low on memory");
    eventually("the block to be noticed", || async { (publishing.state() != State::Up).then_some(()) }).await;
    tokio::time::timeout(PATIENCE, publishing.close()).await.unwrap();
    eventually("the socket to be closed", || async { (relay.clients() == 0).then_some(()) }).await;
}

/// The library's reading thread lives as long as its socket, however long ago its caller gave up.
#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_to_connect_that_was_given_up_leaves_no_socket_behind() {
    let vhost = Vhost::new();
    // Accepts and says nothing. A real broker would hang up after ten seconds.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = Relay::start(silent.local_addr().unwrap().to_string()).await;
    let settings =
        vhost.settings_at(&relay.address, |options| options.connect_timeout = Duration::from_millis(300));
    let connecting =
        tokio::spawn(async move { Connection::open(&settings, Purpose::Consume).await.map(drop) });
    eventually("the attempt to be accepted", || async { (relay.clients() == 1).then_some(()) }).await;
    assert!(matches!(connecting.await.unwrap(), Err(queue::Error::Timeout { .. })));
    eventually("the socket to be closed", || async { (relay.clients() == 0).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_may_outlast_the_connection() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut consumer = process.consumer(NORMAL).await;
    process.publisher.publish(&trace(Lane::Normal, "1")).await.unwrap();
    eventually("the prefetch to fill", || async {
        (process.ready(NORMAL.queue()).await == Some(0)).then_some(())
    })
    .await;
    consumer.pause().await;
    eventually("the connections to be closed", || async {
        (vhost.management.close_connections(&vhost.name) >= 2).then_some(())
    })
    .await;
    eventually("the message to be back", || async {
        (process.ready(NORMAL.queue()).await == Some(1)).then_some(())
    })
    .await;
    let waiting = tokio::time::timeout(Duration::from_millis(300), consumer.next(&process.stop)).await;
    assert!(waiting.is_err(), "a delivery of the lost connection was handed out: {waiting:?}");

    consumer.resume();
    let delivery = process.next(&mut consumer).await;
    assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_may_start_before_its_broker() {
    let vhost = Vhost::new();
    let relay = Relay::start(vhost.address()).await;
    relay.freeze();
    let settings =
        vhost.settings_at(&relay.address, |options| options.connect_timeout = Duration::from_millis(500));
    let stop = CancellationToken::new();
    let waiting = {
        let (settings, stop) = (settings.clone(), stop.clone());
        tokio::spawn(async move { Connection::open_when_ready(&settings, Purpose::Consume, &stop).await })
    };
    assert!(Connection::open(&settings, Purpose::Consume).await.is_err());
    relay.thaw();
    let connection = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();
    assert_eq!(connection.state(), State::Up);

    relay.freeze();
    let patient = Connection::open_when_ready(&settings, Purpose::Consume, &stop);
    stop.cancel();
    assert!(matches!(patient.await, Err(queue::Error::Closed)));
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_connection_stops_the_consumer_and_gives_its_deliveries_back() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    process.publisher.publish(&trace(Lane::Normal, "1")).await.unwrap();
    let mut consumer = process.consumer(NORMAL).await;
    let held = process.next(&mut consumer).await;
    process.consuming.close().await;
    assert_eq!(process.consuming.state(), State::Closed);
    assert!(matches!(consumer.next(&process.stop).await, Next::Stopped));
    assert_eq!(held.ack().await.unwrap(), Settled::Lost);

    let later = Process::start(&vhost.settings(|_| {})).await;
    eventually("the delivery to be back", || async {
        (later.ready(NORMAL.queue()).await == Some(1)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_not_text_does_not_stop_the_lane() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|options| options.delivery_limit = 3)).await;
    raw::publish_with_binary_id(&vhost.address(), &vhost.url(), &vhost.name, "groundcrew.traces", "normal")
        .await;
    process.publisher.publish(&trace(Lane::Normal, "neighbour")).await.unwrap();
    let mut consumer = process.consumer(NORMAL).await;
    let poison = process.next(&mut consumer).await;
    let neighbour = process.next(&mut consumer).await;
    assert_eq!(poison.body, b"{}");
    assert!(
        poison.envelope.message_id.is_some_and(|id| id.starts_with("??")),
        "the id is not empty and not lost"
    );
    assert_eq!(neighbour.envelope.message_id.as_deref(), Some("neighbour"));
    assert!(!neighbour.redelivered);
}

/// What the broker adds to a frame of the largest size made one that the client library drops the connection for.
#[tokio::test(flavor = "multi_thread")]
async fn headers_that_fill_a_frame_do_not_stop_the_lane() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|options| options.delivery_limit = 3)).await;
    // With name, type and lengths a frame of 131,072 bytes.
    let mut headers = FieldTable::default();
    headers.insert("big".into(), AMQPValue::LongString("v".repeat(131_000).into()));
    headers.insert("small".into(), AMQPValue::LongString("kept".into()));
    let properties = BasicProperties::default();
    raw::publish(&vhost.url(), "groundcrew.traces", "normal", properties, headers).await;
    process.publisher.publish(&trace(Lane::Normal, "neighbour")).await.unwrap();
    let mut consumer = process.consumer(NORMAL).await;
    let large = process.next(&mut consumer).await;
    let neighbour = process.next(&mut consumer).await;
    assert_eq!(large.body, b"{}");
    let _settled = large.requeue().await.unwrap();
    let again = process.next(&mut consumer).await;
    assert_eq!((again.returns, again.envelope.others.text("small").as_deref()), (1, Some("kept")));
    assert_eq!(again.envelope.others.text("big"), None);
    assert!(neighbour.is_held() && !neighbour.redelivered, "the connection lives");

    // Parked and back, with what the broker says of where it was.
    process.publisher.park(&again, 0, &again.envelope).await.unwrap();
    let _settled = again.ack().await.unwrap();
    assert_eq!(process.publisher.connection().state(), State::Up);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_says_soon_when_it_is_lost_also_while_its_consumer_pauses() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    for id in ["1", "2"] {
        process.publisher.publish(&trace(Lane::Normal, id)).await.unwrap();
    }
    let mut consumer = process.consumer(NORMAL).await;
    let first = process.next(&mut consumer).await;
    let second = process.next(&mut consumer).await;
    consumer.pause().await;
    assert!(!first.lost().is_cancelled());
    let _settled = second.ack().await.unwrap();
    eventually("the connections to be closed", || async {
        (vhost.management.close_connections(&vhost.name) > 0).then_some(())
    })
    .await;
    tokio::time::timeout(PATIENCE, first.lost().cancelled()).await.unwrap();
    assert!(!first.is_held());
}
