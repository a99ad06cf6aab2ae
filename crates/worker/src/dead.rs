//! Moves what the broker gave up on, or could not route, into the dead letters.

use queue::{Connection, Delivery, Next, Source};
use store::DeadSource;
use tokio_util::sync::CancellationToken;

use crate::handle::dead_letter;
use crate::worker::Context;
use durable::{chain, persist};

/// Dead letters in hand at once.
const PREFETCH: u16 = 16;

/// Drains `groundcrew.dead` until the stop.
pub(crate) async fn drain(context: &Context, connection: &Connection, stop: &CancellationToken) {
    let Some(mut consumer) = crate::worker::open_consumer(connection, Source::Dead, PREFETCH, stop).await
    else {
        return;
    };
    loop {
        match consumer.next(stop).await {
            Next::Delivery(delivery) => bury(context, delivery, stop).await,
            Next::Leftover(delivery) => requeue(delivery).await,
            Next::Stopped => return,
        }
    }
}

async fn bury(context: &Context, delivery: Delivery, stop: &CancellationToken) {
    let (source, reason) = match &delivery.death {
        Some(death) => (
            DeadSource::DeliveryLimit,
            format!(
                "{} gave up on it: {} (it came back {} times)",
                death.queue, death.reason, delivery.returns
            ),
        ),
        None => (
            DeadSource::Unroutable,
            format!(
                "no queue is bound for the routing key `{}`; use urgent, normal or bulk",
                delivery.routing_key
            ),
        ),
    };
    tracing::warn!(source = source.as_str(), reason, "a message became a dead letter");
    let letter = dead_letter(&delivery, source, reason, &[]);
    match persist("burying a message", stop, || context.store.bury(letter.clone())).await {
        Ok(_) => match delivery.ack().await {
            Ok(_) => {}
            Err(error) => tracing::warn!(error = %chain(&error), "a dead letter could not be acked"),
        },
        Err(error) => {
            tracing::warn!(error = %chain(&error), "a message could not be buried; it stays in groundcrew.dead");
            requeue(delivery).await;
        }
    }
}

async fn requeue(delivery: Delivery) {
    if let Err(error) = delivery.requeue().await {
        tracing::warn!(error = %chain(&error), "a delivery could not be handed back");
    }
}
