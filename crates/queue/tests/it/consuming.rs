use queue::{Lane, Next, Settled, Source};

use crate::support::{Process, Vhost, eventually, trace};

const NORMAL: Source = Source::Lane(Lane::Normal);

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_hands_out_what_was_prefetched_and_takes_nothing_new() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|options| options.prefetch.normal = 3)).await;
    for id in ["1", "2", "3", "4", "5"] {
        process.publisher.publish(&trace(Lane::Normal, id)).await.unwrap();
    }
    let mut consumer = process.consumer(NORMAL).await;
    let mut held = vec![process.next(&mut consumer).await];
    ready_becomes(&process, 2).await;

    consumer.pause().await;
    assert!(consumer.is_paused());
    held.push(process.next(&mut consumer).await);
    held.push(process.next(&mut consumer).await);
    let waiting =
        tokio::time::timeout(std::time::Duration::from_millis(300), consumer.next(&process.stop)).await;
    assert!(waiting.is_err(), "a paused consumer handed out {waiting:?}");
    assert_eq!(process.ready(NORMAL.queue()).await, Some(2));
    for delivery in held {
        assert!(delivery.is_held(), "a pause must not give back what is being worked on");
        assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
    }

    consumer.resume();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let delivery = process.next(&mut consumer).await;
        ids.extend(delivery.envelope.message_id.clone());
        assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
    }
    assert_eq!(ids, ["4", "5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_stop_the_prefetched_rest_is_handed_out_and_given_back() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    for id in ["1", "2", "3"] {
        process.publisher.publish(&trace(Lane::Normal, id)).await.unwrap();
    }
    let mut consumer = process.consumer(NORMAL).await;
    let working = process.next(&mut consumer).await;
    ready_becomes(&process, 0).await;

    process.stop.cancel();
    let mut leftovers = 0;
    while let Next::Leftover(delivery) = consumer.next(&process.stop).await {
        leftovers += 1;
        assert_eq!(delivery.requeue().await.unwrap(), Settled::Sent);
    }
    assert_eq!(leftovers, 2);
    assert!(matches!(consumer.next(&process.stop).await, Next::Stopped));

    // The worker may let go of the consumer before it has finished what it holds.
    drop(consumer);
    ready_becomes(&process, 2).await;
    assert!(working.is_held());
    assert_eq!(working.ack().await.unwrap(), Settled::Sent);
    process.consuming.close().await;
    let later = Process::start(&vhost.settings(|_| {})).await;
    ready_becomes(&later, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn next_may_be_abandoned_at_any_time_without_losing_a_delivery() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut consumer = process.consumer(NORMAL).await;
    let publisher = process.publisher.clone();
    let publishing = tokio::spawn(async move {
        for number in 0..100 {
            publisher.publish(&trace(Lane::Normal, &number.to_string())).await.unwrap();
        }
    });
    let mut ids = Vec::new();
    let mut abandoned = 0;
    while ids.len() < 100 {
        match tokio::time::timeout(std::time::Duration::from_micros(300), consumer.next(&process.stop)).await
        {
            Ok(Next::Delivery(delivery)) => {
                ids.extend(delivery.envelope.message_id.clone());
                assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) => abandoned += 1,
        }
        assert!(abandoned < 1_000_000, "only {} of 100 arrived", ids.len());
    }
    publishing.await.unwrap();
    let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(ids, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_a_panicking_task_drops_comes_back() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|options| options.prefetch.normal = 1)).await;
    process.publisher.publish(&trace(Lane::Normal, "1")).await.unwrap();
    let mut consumer = process.consumer(NORMAL).await;
    let delivery = process.next(&mut consumer).await;
    drop(delivery);
    let again = process.next(&mut consumer).await;
    assert!(again.redelivered);
    assert_eq!(again.ack().await.unwrap(), Settled::Sent);
}

/// What was sent to the broker takes effect a moment after it was written.
async fn ready_becomes(process: &Process, count: u32) {
    eventually("the count of ready messages", || async {
        (process.ready(NORMAL.queue()).await == Some(count)).then_some(())
    })
    .await;
}
