//! A consumer that receives nothing while messages wait.

use std::time::Duration;

use queue::{Lane, Settled, Source, State};

use crate::support::relay::Relay;
use crate::support::{PATIENCE, Process, Vhost, eventually, trace};

const NORMAL: Source = Source::Lane(Lane::Normal);

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_whose_deliveries_are_lost_on_the_way_is_replaced() {
    let vhost = Vhost::new();
    let relay = Relay::start(vhost.address()).await;
    let settings = vhost.settings_at(&relay.address, |options| {
        options.watchdog = Duration::from_millis(600);
        options.prefetch.normal = 3;
    });
    let process = Process::start(&settings).await;
    let mut consumer = process.consumer(NORMAL).await;
    relay.lose_deliveries(true);
    for id in ["1", "2", "3", "4", "5"] {
        process.publisher.publish(&trace(Lane::Normal, id)).await.unwrap();
    }
    // The broker takes three of them for delivered and gives out no more.
    eventually("two that wait", async || (process.ready(NORMAL.queue()).await == Some(2)).then_some(()))
        .await;
    // From here on all is well again, and yet nothing would ever come by this consumer.
    relay.lose_deliveries(false);
    let (mut ids, mut again) = (Vec::new(), 0);
    while ids.len() < 5 {
        let delivery = process.next(&mut consumer).await;
        again += u32::from(delivery.redelivered);
        ids.push(delivery.envelope.message_id.clone().unwrap());
        assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
    }
    assert_eq!(again, 3, "those that were lost on the way");
    ids.sort();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_answers_nothing_is_replaced_before_its_heartbeat_says_so() {
    let vhost = Vhost::new();
    let relay = Relay::start(vhost.address()).await;
    let settings = vhost.settings_at(&relay.address, |options| {
        options.watchdog = Duration::from_millis(500);
        options.settle_timeout = Duration::from_millis(500);
        options.heartbeat_s = 600;
    });
    let process = Process::start(&settings).await;
    let mut consumer = process.consumer(NORMAL).await;
    relay.freeze();
    let stop = process.stop.clone();
    let next = tokio::spawn(async move { consumer.next(&stop).await });
    let is_down = || matches!(process.consuming.state(), State::Down(_)).then_some(());
    eventually("a connection that was given up", async || is_down()).await;
    relay.thaw();
    let publisher = Process::start(&vhost.settings(|_| {})).await.publisher;
    publisher.publish(&trace(Lane::Normal, "1")).await.unwrap();
    let next = tokio::time::timeout(PATIENCE, next).await.unwrap().unwrap();
    assert!(matches!(next, queue::Next::Delivery(_)), "{next:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_is_busy_or_has_an_empty_queue_is_left_alone() {
    let vhost = Vhost::new();
    let settings = vhost.settings(|options| {
        options.watchdog = Duration::from_millis(100);
        options.prefetch.normal = 1;
    });
    let process = Process::start(&settings).await;
    let mut consumer = process.consumer(NORMAL).await;
    for id in ["1", "2"] {
        process.publisher.publish(&trace(Lane::Normal, id)).await.unwrap();
    }
    let held = process.next(&mut consumer).await;
    // As long as one is held the other cannot come, however often the watchdog looks.
    let waiting = tokio::time::timeout(Duration::from_millis(600), consumer.next(&process.stop)).await;
    assert!(waiting.is_err(), "{waiting:?}");
    assert!(held.is_held());
    assert_eq!(held.ack().await.unwrap(), Settled::Sent);
    let second = process.next(&mut consumer).await;
    assert!(!second.redelivered, "the consumer was not replaced");
    assert_eq!(second.ack().await.unwrap(), Settled::Sent);
}
