//! Publishes the outbox: leased batches, confirms, and no transaction held meanwhile.
//!
//! What this worker commits is leased by the commit itself and handed over in memory, so that it goes out at once and
//! without a query. What others have left, and what was handed over in vain, is leased from the table.

use std::time::{Duration, Instant};

use queue::{Envelope, Lane, Message, OtherHeaders, PublishError, Target, exchange};
use serde_json::Value;
use store::{OutboxRow, Outcome};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::worker::Context;
use durable::{chain, persist};

/// How long a message that the broker did not take waits before the next try.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How many messages may wait in memory. More than that means that the broker takes none; they wait in the table then.
const MOST_HANDED_OVER: usize = 4096;

/// How many batches of handed over messages may wait for their confirms at the same time.
const HANDS: usize = 2;

/// A message and the end of its lease.
type HandedOver = (OutboxRow, Instant);

/// Takes messages from those who committed them.
#[derive(Debug)]
pub(crate) struct Relay {
    waiting: mpsc::Sender<HandedOver>,
    taking: Mutex<mpsc::Receiver<HandedOver>>,
}

impl Relay {
    pub(crate) fn new() -> Self {
        let (waiting, taking) = mpsc::channel(MOST_HANDED_OVER);
        Self { waiting, taking: Mutex::new(taking) }
    }

    /// Has messages published that are leased until then.
    pub(crate) fn hand_over(&self, messages: Vec<OutboxRow>, leased_until: Instant) {
        for message in messages {
            // A full channel is no error: the message is in the table, and free when its lease is over.
            if self.waiting.try_send((message, leased_until)).is_err() {
                metrics::counter!("groundcrew_outbox_messages_total", "outcome" => "left").increment(1);
            }
        }
    }

    /// The messages that wait, at least one; none when `stop` was cancelled and all are out.
    async fn take(&self, most: usize, stop: &CancellationToken) -> Vec<HandedOver> {
        let mut taking = self.taking.lock().await;
        let mut batch = Vec::new();
        tokio::select! {
            biased;
            _ = taking.recv_many(&mut batch, most) => {}
            () = stop.cancelled() => {}
        }
        batch
    }
}

/// Publishes until the stop, and after it what the last commits wrote.
pub(crate) async fn run(context: &Context, stop: &CancellationToken) {
    let hands = (0..HANDS).map(|_| publish_handed_over(context, stop));
    tokio::join!(futures_util::future::join_all(hands), publish_leased(context, stop));
}

/// Publishes what this worker has committed.
async fn publish_handed_over(context: &Context, stop: &CancellationToken) {
    let most = usize::try_from(context.settings.relay.batch).unwrap_or(usize::MAX);
    loop {
        let batch = context.relay.take(most, stop).await;
        if batch.is_empty() {
            return;
        }
        // Half of a lease is longer than a publish may take. What has waited longer may be another's by then.
        let spare = Instant::now() + context.settings.relay.lease / 2;
        let rows: Vec<OutboxRow> =
            batch.into_iter().filter(|(_, until)| *until > spare).map(|(row, _)| row).collect();
        if !rows.is_empty() {
            send(context, rows, stop).await;
        }
    }
}

/// Publishes what is in the table and nobody has in hand.
async fn publish_leased(context: &Context, stop: &CancellationToken) {
    loop {
        let stopping = stop.is_cancelled();
        let moved = pass(context, stop).await;
        if stopping {
            return;
        }
        if moved == 0 {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(context.settings.relay.poll) => {}
            }
        }
    }
}

/// Leases one batch and publishes it. Returns how many rows were settled.
async fn pass(context: &Context, stop: &CancellationToken) -> usize {
    let settings = context.settings.relay;
    let leased = persist("leasing the outbox", stop, || context.store.lease(settings.batch, settings.lease));
    let rows = match leased.await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::warn!(error = %chain(&error), "the outbox could not be read");
            return 0;
        }
    };
    if rows.is_empty() { 0 } else { send(context, rows, stop).await }
}

/// Publishes leased rows and notes what became of them. Returns how many were settled.
async fn send(context: &Context, rows: Vec<OutboxRow>, stop: &CancellationToken) -> usize {
    let (sent, failed) = publish(context, rows).await;
    let settled = sent.len();
    if !sent.is_empty() {
        // Not given up at the stop: a published row that is not marked would be published again.
        let never = CancellationToken::new();
        let marked = persist("marking the outbox", &never, || context.store.mark_sent(&sent));
        if let Err(error) = marked.await {
            tracing::warn!(error = %chain(&error), "published messages could not be marked; they will be sent again");
        }
    }
    if !failed.is_empty() {
        let released =
            persist("releasing the outbox", stop, || context.store.release(&failed, PAUSE_AFTER_FAILURE));
        if let Err(error) = released.await {
            tracing::warn!(error = %chain(&error), "unsent messages wait for the end of their lease");
        }
    }
    settled
}

/// Publishes rows; says which are done, and which must be tried again.
async fn publish(context: &Context, rows: Vec<OutboxRow>) -> (Vec<(Uuid, Outcome)>, Vec<Uuid>) {
    let (ids, messages): (Vec<_>, Vec<_>) = rows.into_iter().map(|row| (row.id, message(row))).unzip();
    let (mut sent, mut failed) = (Vec::new(), Vec::new());
    let count = |outcome: &'static str| {
        metrics::counter!("groundcrew_outbox_messages_total", "outcome" => outcome).increment(1);
    };
    let mut sort = |id: Uuid, outcome: Result<(), PublishError>| match outcome {
        Ok(()) => {
            count("confirmed");
            sent.push((id, Outcome::Confirmed));
        }
        Err(error) if error.is_forbidden() => {
            tracing::error!(
                error = %chain(&error),
                "a message is lost: the broker's user may not write there; replies need the right to write to amq.default"
            );
            count("returned");
            sent.push((id, Outcome::Returned));
        }
        Err(error @ (PublishError::Returned { .. } | PublishError::Refused(_))) => {
            // Who asked is gone. That is noted, and not tried for ever.
            tracing::warn!(error = %chain(&error), "nobody takes an outbox message any more");
            count("returned");
            sent.push((id, Outcome::Returned));
        }
        Err(error) => {
            tracing::debug!(error = %chain(&error), "an outbox message was not confirmed; it is sent again");
            count("failed");
            failed.push(id);
        }
    };
    // Events may have no listener, so they go in one pipeline; what a person or a producer must get goes alone.
    let is_event = |message: &Message| message.target.is_event();
    let (events, single): (Vec<_>, Vec<_>) =
        ids.into_iter().zip(messages).partition(|(_, message)| is_event(message));
    let (event_ids, events): (Vec<_>, Vec<_>) = events.into_iter().unzip();
    for (id, outcome) in event_ids.into_iter().zip(context.publisher.publish_many(&events).await) {
        sort(id, outcome);
    }
    let outcomes = futures_util::future::join_all(
        single.iter().map(|(id, message)| async move { (*id, context.publisher.publish(message).await) }),
    );
    for (id, outcome) in outcomes.await {
        sort(id, outcome);
    }
    (sent, failed)
}

fn message(row: OutboxRow) -> Message {
    let target = match (row.exchange.as_str(), row.routing_key.as_str()) {
        ("", queue) => Target::reply_to(queue),
        // A trace that somebody asks for again.
        (exchange::TRACES, lane) => Target::lane(lane.parse().unwrap_or(Lane::Normal)),
        (_, name) if name.starts_with("review.") => Target::review(name),
        (_, name) => Target::event(name),
    };
    let envelope = Envelope {
        // The row's id: whoever sees a message twice can tell.
        message_id: Some(row.id.to_string()),
        correlation_id: row.correlation_id,
        ..row.headers.as_ref().map(asked_again).unwrap_or_default()
    };
    Message { target, envelope, body: row.body }
}

/// What goes along with a trace that somebody asks for again.
fn asked_again(headers: &Value) -> Envelope {
    let text = |name: &str| headers.get(name).and_then(Value::as_str).map(str::to_owned);
    let kinds = headers.get("kinds").and_then(Value::as_array).into_iter().flatten();
    let generation = headers.get("generation").and_then(Value::as_u64).unwrap_or_default();
    Envelope {
        reply_to: text("reply_to"),
        content_type: text("content_type"),
        content_encoding: text("content_encoding"),
        prompt_version: text("prompt_version"),
        others: headers.get("others").map(OtherHeaders::from_json).unwrap_or_default(),
        kinds: kinds.filter_map(Value::as_str).map(str::to_owned).collect(),
        generation: u32::try_from(generation).unwrap_or(u32::MAX),
        source_dead_letter: text("source_dead_letter"),
        ..Envelope::default()
    }
}
