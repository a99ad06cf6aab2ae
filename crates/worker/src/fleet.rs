//! What the worker hears from operators, and what it tells them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use queue::Lane;
use store::WorkerReport;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::worker::Context;
use durable::chain;

/// How often the database is asked and told.
const EVERY: Duration = Duration::from_secs(2);

/// A worker that has not reported for this long is taken to be gone.
pub const SILENCE: Duration = Duration::from_secs(20);

/// Who this worker is.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    id: Uuid,
    host: String,
    started_at: DateTime<Utc>,
}

impl Identity {
    pub(crate) fn new() -> Self {
        // What the kernel calls the host; a container's is its short id, a pod's is the pod's name.
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self { id: Uuid::now_v7(), host: host.trim().to_owned(), started_at: Utc::now() }
    }

    fn report(&self, context: &Context) -> WorkerReport {
        let vitals = &context.vitals;
        let in_work = |lane| i64::try_from(vitals.in_work(lane)).unwrap_or(i64::MAX);
        let flow = if vitals.is_stopping() { "stopping" } else { context.flow.borrow().as_str() };
        WorkerReport {
            id: self.id,
            host: self.host.clone(),
            process_id: std::process::id().into(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            flow: flow.to_owned(),
            in_work_urgent: in_work(Lane::Urgent),
            in_work_normal: in_work(Lane::Normal),
            in_work_bulk: in_work(Lane::Bulk),
            taken_urgent: vitals.last_published(Lane::Urgent),
            taken_normal: vitals.last_published(Lane::Normal),
            taken_bulk: vitals.last_published(Lane::Bulk),
        }
    }
}

/// Asks and tells until `end`, then says goodbye.
pub(crate) async fn follow(context: &Context, paused: &watch::Sender<bool>, end: &CancellationToken) {
    let identity = Identity::new();
    let mut is_taken = true;
    loop {
        hear(context, paused).await;
        is_taken = tell(context, &identity, is_taken).await;
        tokio::select! {
            () = end.cancelled() => break,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
    tell(context, &identity, is_taken).await;
    if let Err(error) = context.store.forget_worker(identity.id).await {
        tracing::debug!(error = %chain(&error), "the worker's row stays until it is too old");
    }
}

/// Reads whether the fleet is paused. While the database does not answer, what was heard last holds.
pub(crate) async fn hear(context: &Context, paused: &watch::Sender<bool>) {
    match context.store.fleet().await {
        Ok(fleet) => {
            paused.send_if_modified(|paused| std::mem::replace(paused, fleet.paused) != fleet.paused);
            context.vitals.database_answered(Ok(()));
        }
        Err(error) => context.vitals.database_answered(Err(chain(&error))),
    }
}

/// Gives whether the report was taken; `was_taken` is what the last one was.
async fn tell(context: &Context, identity: &Identity, was_taken: bool) -> bool {
    let told = context.store.report_worker(identity.report(context)).await;
    match &told {
        // Once, and not every two seconds: whoever looks for workers does not see this one.
        Err(error) if was_taken => {
            tracing::warn!(error = %chain(error), "the worker could not report itself: it is missing in `groundcrew queue status`");
        }
        Err(error) => tracing::debug!(error = %chain(error), "the worker could not report itself"),
        Ok(()) => {}
    }
    let left_out = context.vitals.take_left_out();
    if let Err(error) = context.store.count_sampled_out(left_out.clone()).await {
        tracing::debug!(error = %chain(&error), "what sampling left out is counted later");
        context.vitals.keep_left_out(left_out);
    }
    told.is_ok()
}

/// Says that the event loop is alive, until `end`.
pub(crate) async fn beat(context: &Context, end: &CancellationToken) {
    while !end.is_cancelled() {
        context.vitals.beat();
        tokio::select! {
            () = end.cancelled() => {}
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}
