use chrono::{DateTime, Utc};
use lapin::types::{AMQPValue, FieldTable};
use queue::{Connection, Envelope, Lane, Message, PublishError, Publisher, Purpose, Settled, Source, Target};

use crate::support::{Process, Vhost, eventually, raw, trace};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_arrives_with_all_that_was_said_and_is_gone_once_acked() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let first_seen: DateTime<Utc> = "2026-01-02T03:04:05.678Z".parse().unwrap();
    let envelope = Envelope {
        message_id: Some("trace-1".into()),
        correlation_id: Some("order-9".into()),
        reply_to: Some("amq.gen-answers".into()),
        content_encoding: Some("gzip".into()),
        first_seen: Some(first_seen),
        tier: Some(2),
        kinds: vec!["gate".into(), "faithfulness".into()],
        generation: 3,
        source_dead_letter: Some("77".into()),
        ..Envelope::default()
    };
    let body = vec![0, 159, 146, 150];
    let message =
        Message { target: Target::lane(Lane::Urgent), envelope: envelope.clone(), body: body.clone() };

    process.publisher.publish(&message).await.unwrap();

    let mut consumer = process.consumer(Source::Lane(Lane::Urgent)).await;
    let delivery = process.next(&mut consumer).await;
    assert_eq!(delivery.body, body);
    assert_eq!(delivery.envelope, Envelope { content_type: Some("application/json".into()), ..envelope });
    assert_eq!(delivery.lane(), Some(Lane::Urgent));
    assert!(!delivery.redelivered && delivery.returns == 0 && delivery.death.is_none() && delivery.is_held());
    assert_eq!(delivery.ack().await.unwrap(), Settled::Sent);
    drop(consumer);
    process.consuming.close().await;

    let later = Process::start(&vhost.settings(|_| {})).await;
    assert_eq!(later.ready(Lane::Urgent.queue()).await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_queue_that_is_gone_is_returned() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut answer = trace(Lane::Normal, "answer");

    answer.target = Target::reply_to("amq.gen-gone");
    let outcome = process.publisher.publish(&answer).await;
    assert!(matches!(outcome, Err(PublishError::Returned { code: 312, .. })), "{outcome:?}");

    // The channel that carried the return goes on to tell the truth.
    for _ in 0..20 {
        answer.target = Target::reply_to(Lane::Bulk.queue());
        process.publisher.publish(&answer).await.unwrap();
        answer.target = Target::reply_to("amq.gen-gone");
        process.publisher.publish(&answer).await.unwrap_err();
    }
    assert_eq!(process.ready(Lane::Bulk.queue()).await, Some(20));
}

/// The broker's own pseudo-queue for answers, which no declaration stands for.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_reaches_who_asked_by_direct_reply() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut asker = raw::Asker::ask(&vhost.url(), "groundcrew.traces", "urgent").await;
    let mut consumer = process.consumer(Source::Lane(Lane::Urgent)).await;
    let delivery = process.next(&mut consumer).await;
    let reply_to = delivery.envelope.reply_to.clone().unwrap();
    assert!(reply_to.starts_with("amq.rabbitmq.reply-to."), "{reply_to}");
    let answer = Message { target: Target::reply_to(&reply_to), ..trace(Lane::Urgent, "verdict") };

    process.publisher.publish(&answer).await.unwrap();
    assert_eq!(asker.answer().await, answer.body);

    // The broker confirms an answer to nobody as well: it must not count as a failure for ever.
    asker.leave().await;
    process.publisher.publish(&answer).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_share_the_channels_and_each_gets_its_own_answer() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|options| options.publish_channels = 4)).await;
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let publisher = process.publisher.clone();
            tokio::spawn(async move {
                let mut message = trace(Lane::Bulk, &number.to_string());
                if number % 3 == 0 {
                    message.target = Target::reply_to("nobody");
                }
                (number % 3 == 0, publisher.publish(&message).await)
            })
        })
        .collect();
    for task in tasks {
        let (to_nobody, outcome) = task.await.unwrap();
        assert_eq!(matches!(outcome, Err(PublishError::Returned { .. })), to_nobody, "{outcome:?}");
        assert_eq!(outcome.is_ok(), !to_nobody);
    }
    assert_eq!(process.ready(Lane::Bulk.queue()).await, Some(133));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_events_is_confirmed_one_by_one() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut events: Vec<Message> = (0..300)
        .map(|number| Message {
            target: Target::event("review.opened"),
            ..trace(Lane::Normal, &number.to_string())
        })
        .collect();
    events[7].envelope.message_id = Some("x".repeat(256));

    let outcomes = process.publisher.publish_many(&events).await;

    assert_eq!(outcomes.len(), 300);
    let failed: Vec<usize> = (0..300).filter(|index| outcomes[*index].is_err()).collect();
    assert_eq!(failed, [7]);
    assert!(matches!(outcomes[7], Err(PublishError::Refused(_))), "{:?}", outcomes[7]);
    assert_eq!(process.ready(queue::queue::REVIEW).await, Some(299));
    assert!(process.publisher.publish_many(&[]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_and_a_missing_exchange_are_told_apart() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let message = trace(Lane::Bulk, "one");
    vhost.management.limit_length(&vhost.name, Lane::Bulk.queue(), 1);
    // The policy takes effect a moment after the broker took it, and a limit may be overrun by what is in flight.
    let outcome =
        eventually("a full queue", || async { process.publisher.publish(&message).await.err() }).await;
    assert!(matches!(outcome, PublishError::Nacked), "{outcome:?}");
    assert!(outcome.is_transient());

    let event = Message { target: Target::event("audit.completed"), ..message };
    vhost.management.delete_exchange(&vhost.name, "groundcrew.results");
    let outcome = process.publisher.publish(&event).await.unwrap_err();
    assert!(matches!(outcome, PublishError::Refused(_)), "{outcome:?}");
    assert!(!outcome.is_transient());
    let outcomes = process.publisher.publish_many(&[event.clone(), event]).await;
    assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");

    queue::topology::declare(&process.consuming).await.unwrap();
    process.publisher.publish(&trace(Lane::Normal, "two")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_published_after_the_connection_was_closed() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    process.publisher.connection().close().await;
    let outcome = process.publisher.publish(&trace(Lane::Normal, "late")).await;
    assert!(matches!(outcome, Err(PublishError::Unknown(queue::Error::Closed))), "{outcome:?}");
    let outcomes = process.publisher.publish_many(&[trace(Lane::Normal, "late")]).await;
    assert!(outcomes[0].is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strangers_headers_are_read_leniently() {
    let vhost = Vhost::new();
    let process = Process::start(&vhost.settings(|_| {})).await;
    let mut headers = FieldTable::default();
    headers.insert("groundcrew-tier".into(), AMQPValue::Boolean(true));
    headers.insert("groundcrew-generation".into(), AMQPValue::LongLongInt(-4));
    headers.insert("groundcrew-first-seen".into(), AMQPValue::LongString("3000-01-01T00:00:00Z".into()));
    headers.insert("groundcrew-kinds".into(), AMQPValue::LongString(" gate ,,reference".into()));
    headers.insert("tenant".into(), AMQPValue::LongString("blue".into()));
    raw::publish(&vhost.url(), "groundcrew.traces", "normal", Default::default(), headers).await;

    let mut consumer = process.consumer(Source::Lane(Lane::Normal)).await;
    let delivery = process.next(&mut consumer).await;
    let envelope = &delivery.envelope;
    assert_eq!((envelope.tier, envelope.generation, envelope.first_seen), (None, 0, None));
    assert_eq!(envelope.kinds, ["gate", "reference"]);
    assert_eq!(envelope.others.text("tenant").as_deref(), Some("blue"));
    assert_eq!(envelope.others.names().collect::<Vec<_>>(), ["tenant"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_are_configuration_and_an_absent_broker_is_not() {
    let vhost = Vhost::new();
    let options =
        || queue::Options { connect_timeout: std::time::Duration::from_secs(5), ..Default::default() };
    let open = async |url: &str| {
        let settings = queue::Settings::new(url, options()).unwrap();
        Connection::open(&settings, Purpose::Publish)
            .await
            .map(|connection| Publisher::new(&connection))
            .unwrap_err()
    };
    let stranger = open(&format!("amqp://nobody:wrong@{}/{}", vhost.address(), vhost.name)).await;
    assert!(stranger.is_configuration(), "{stranger:?}");
    let elsewhere = open(&vhost.url().replace(&vhost.name, "no-such-host")).await;
    assert!(elsewhere.is_configuration(), "{elsewhere:?}");
    let absent = open("amqp://user:pw@127.0.0.1:1/x").await;
    assert!(!absent.is_configuration(), "{absent:?}");
}
