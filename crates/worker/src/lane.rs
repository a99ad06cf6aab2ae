//! One lane: take deliveries, work on them side by side, follow the flow.

use std::sync::Arc;

use queue::{Connection, Consumer, Lane, MOST_PREFETCH, Next, Source};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::flow::Flow;
use crate::handle;
use crate::worker::{Context, log_panic, open_consumer};
use durable::chain;

/// How many deliveries each consumer of a lane may hold, for a lane that may hold so many.
///
/// A quorum queue hands at most 2000 to one consumer, so a larger number takes several, each on a channel of its own.
pub(crate) fn shares(in_work: u32) -> Vec<u16> {
    let consumers = in_work.div_ceil(u32::from(MOST_PREFETCH));
    let mut left = in_work;
    (0..consumers)
        .map(|at| {
            let share = left.div_ceil(consumers - at);
            left -= share;
            u16::try_from(share).unwrap_or(MOST_PREFETCH)
        })
        .collect()
}

/// Consumes a lane until the stop, then waits for what it has in work.
pub(crate) async fn consume(
    context: Arc<Context>,
    connection: Connection,
    lane: Lane,
    prefetch: u16,
    stop: CancellationToken,
    abort: CancellationToken,
) {
    let mut flow = context.flow.subscribe();
    // A worker that starts into a pause takes nothing, not even for a moment.
    tokio::select! {
        () = stop.cancelled() => return,
        opened = flow.wait_for(|flow| flow.takes()) => if opened.is_err() { return },
    }
    let Some(mut consumer) = open_consumer(&connection, Source::Lane(lane), prefetch, &stop).await else {
        return;
    };
    let mut now = Flow::Full;
    let wanted = *flow.borrow_and_update();
    follow(&mut consumer, &mut now, wanted).await;
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            next = consumer.next(&stop) => match next {
                Next::Delivery(delivery) => {
                    let (context, abort) = (context.clone(), abort.clone());
                    let in_work = context.vitals.taken(lane, delivery.published_at);
                    tasks.spawn(async move {
                        handle::handle(&context, delivery, in_work, &abort).await;
                    });
                }
                Next::Leftover(delivery) => {
                    if let Err(error) = delivery.requeue().await {
                        tracing::warn!(error = %chain(&error), "a delivery could not be handed back");
                    }
                }
                Next::Stopped => break,
            },
            Some(joined) = tasks.join_next() => log_panic(joined),
            changed = flow.changed() => {
                if changed.is_err() {
                    break;
                }
                let wanted = *flow.borrow_and_update();
                follow(&mut consumer, &mut now, wanted).await;
            }
        }
    }
    while let Some(joined) = tasks.join_next().await {
        log_panic(joined);
    }
}

async fn follow(consumer: &mut Consumer, now: &mut Flow, wanted: Flow) {
    if std::mem::replace(now, wanted) == wanted {
        return;
    }
    // What has come already is worked on in any case; a prefetch is only set when a subscription begins.
    if !consumer.is_paused() {
        consumer.pause().await;
    }
    match wanted {
        Flow::Full => consumer.resume(),
        Flow::Probe => consumer.resume_narrowly(1),
        Flow::JudgeUnavailable | Flow::Paused => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_as_many_consumers_as_its_prefetch_needs() {
        assert_eq!(shares(0), Vec::<u16>::new());
        assert_eq!(shares(8), [8]);
        assert_eq!(shares(2000), [2000]);
        assert_eq!(shares(2001), [1001, 1000]);
        assert_eq!(shares(4000), [2000, 2000]);
        assert_eq!(shares(4100), [1367, 1367, 1366]);
    }
}
