//! Reads the queue, keeps pages, sends what is due.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use durable::{chain, persist};
use queue::{Connection, Consumer, Delivery, Next, Source};
use reqwest::Client;
use store::{DueNotification, PageEvent, PageItem, Store, Tried, TryOutcome};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::message::{self, Page};
use crate::receiver::client;
use crate::retry::{self, Answer, Limits};
use crate::{Content, Incoming, Kindred, Notice, NotifyError, Receiver, Settings};

/// Messages in hand at once.
const PREFETCH: u16 = 16;

/// Tries in flight at once.
const AT_ONCE: u32 = 16;

/// Between two looks for a queue that cannot be read yet.
const REOPEN_PAUSE: Duration = Duration::from_secs(1);

/// What a lease is longer than the slowest try, so that nobody else sends what is still on its way.
const LEASE_MARGIN: Duration = Duration::from_secs(10);

/// Tells people. Several may run at once, on one database.
#[derive(Debug, Clone)]
pub struct Notifier {
    pub(crate) settings: Arc<Settings>,
    pub(crate) store: Store,
    client: Client,
    /// There may be something to send.
    woken: Arc<Notify>,
}

impl Notifier {
    /// Nothing is read or sent before [`Notifier::run`].
    ///
    /// # Errors
    /// [`NotifyError::Client`].
    pub fn new(settings: Settings, store: Store) -> Result<Self, NotifyError> {
        Ok(Self { settings: Arc::new(settings), store, client: client()?, woken: Arc::default() })
    }

    /// Reads the queue over `connection` and sends what is due, until the stop. What is on its way then ends first.
    pub async fn run(&self, connection: &Connection, stop: &CancellationToken) {
        tokio::join!(self.consume(connection, stop), self.deliver(stop));
    }

    async fn consume(&self, connection: &Connection, stop: &CancellationToken) {
        let mut consumer = loop {
            match Consumer::open_with(connection, Source::Review, PREFETCH).await {
                Ok(consumer) => break consumer,
                Err(error) => tracing::warn!(
                    queue = Source::Review.queue(),
                    error = %chain(&error),
                    "the queue cannot be read yet"
                ),
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(REOPEN_PAUSE) => {}
            }
        };
        loop {
            match consumer.next(stop).await {
                Next::Delivery(delivery) => self.take(delivery, stop).await,
                Next::Leftover(delivery) => hand_back(delivery).await,
                Next::Stopped => return,
            }
        }
    }

    /// Acks only what is committed.
    async fn take(&self, delivery: Delivery, stop: &CancellationToken) {
        let kept = match Incoming::read(&delivery.routing_key, &delivery.body) {
            Ok(Incoming::Opened(notice)) => self.opened(&notice, stop).await,
            Ok(Incoming::Moved(_)) => {
                persist("looking at pages", stop, || self.store.settle_pages()).await.map(|_| ())
            }
            Ok(Incoming::Other) => Ok(()),
            Err(error) => {
                // The item itself is on the desk; a message that nobody can read would only come again.
                metrics::counter!("groundcrew_notify_unreadable_total").increment(1);
                tracing::error!(error = %chain(&error), routing_key = delivery.routing_key, "a message was dropped");
                Ok(())
            }
        };
        match kept {
            Ok(()) => {
                self.woken.notify_one();
                if let Err(error) = delivery.ack().await {
                    tracing::warn!(error = %chain(&error), "a message could not be acked; it comes again");
                }
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "a message stays in groundcrew.review");
                hand_back(delivery).await;
            }
        }
    }

    async fn opened(&self, notice: &Notice, stop: &CancellationToken) -> Result<(), durable::GivenUp> {
        let receivers: Vec<String> =
            self.settings.rules.receivers(notice, Utc::now()).into_iter().map(str::to_owned).collect();
        if receivers.is_empty() {
            return Ok(());
        }
        let item = self.item(notice, receivers);
        let (gather, window) = (self.settings.gather, self.settings.window);
        let opened = persist("paging people", stop, || self.store.page(item.clone(), gather, window)).await?;
        for receiver in opened {
            tracing::info!(receiver, review_item = %notice.review_item, "a page was opened");
        }
        Ok(())
    }

    fn item(&self, notice: &Notice, receivers: Vec<String>) -> PageItem {
        let kindred = Kindred::of(notice);
        let content = notice.content.as_ref().filter(|_| self.settings.include_content);
        PageItem {
            review_item: notice.review_item,
            receivers,
            project: kindred.project,
            kind: kindred.kind,
            severity: kindred.severity.map(str::to_owned),
            urgent: kindred.urgent,
            reason: kindred.reason,
            practice: notice.practice,
            content: content.map(Content::json),
        }
    }

    /// Sends what is due until the stop.
    async fn deliver(&self, stop: &CancellationToken) {
        let tasks = TaskTracker::new();
        let slowest =
            self.settings.receivers.values().map(|receiver| receiver.timeout).max().unwrap_or_default();
        let mut in_trouble = false;
        while !stop.is_cancelled() {
            let sent = self.round(&tasks, slowest + LEASE_MARGIN).await;
            match &sent {
                Ok(_) if in_trouble => tracing::info!("pages can be read again"),
                Err(error) if !in_trouble => {
                    tracing::warn!(error = %chain(error), "pages cannot be read; trying again");
                }
                _ => {}
            }
            in_trouble = sent.is_err();
            if sent.is_ok_and(|count| count > 0) {
                continue;
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.woken.notified() => {}
                () = tokio::time::sleep(self.settings.poll) => {}
            }
        }
        tasks.close();
        tasks.wait().await;
    }

    /// Takes what is due and sends it; gives how much there was. One slow receiver keeps no other waiting.
    async fn round(&self, tasks: &TaskTracker, lease: Duration) -> Result<usize, store::Error> {
        while self.store.settle_pages().await? {}
        let room = AT_ONCE.saturating_sub(u32::try_from(tasks.len()).unwrap_or(AT_ONCE));
        if room == 0 {
            return Ok(0);
        }
        let due = self.store.lease_notifications(room, lease).await?;
        let count = due.len();
        for due in due {
            let this = self.clone();
            tasks.spawn(async move { this.tell(due).await });
        }
        Ok(count)
    }

    async fn tell(&self, due: DueNotification) {
        let page = self.worded(&due);
        let begun = Instant::now();
        let answer = match self.settings.receivers.get(&due.receiver) {
            Some(receiver) => receiver.send(&self.client, &page, due.may_have_arrived).await,
            None => Answer {
                outcome: TryOutcome::Refused,
                status: None,
                retry_after: None,
                error: Some("no receiver of this name is configured".to_owned()),
            },
        };
        let limits = Limits {
            max_tries: self.settings.max_tries,
            first_pause: self.settings.first_pause,
            longest_pause: self.settings.longest_pause,
        };
        let number = u32::try_from(due.tries).unwrap_or(u32::MAX);
        let tried = Tried {
            id: due.id,
            number: due.tries,
            outcome: answer.outcome,
            status: answer.status,
            error: answer.error.clone(),
            latency: begun.elapsed(),
            again_after: retry::pause(&answer, number, &limits),
        };
        self.report(&due, &tried);
        // Not given up with the stop: what was delivered has to be known.
        let never = CancellationToken::new();
        let recorded = tokio::time::timeout(
            LEASE_MARGIN,
            persist("recording a notification", &never, || self.store.notification_tried(tried.clone())),
        );
        match recorded.await {
            Ok(Ok(())) => self.woken.notify_one(),
            Ok(Err(error)) => {
                tracing::error!(error = %chain(&error), "a try could not be recorded; it may be repeated")
            }
            Err(_) => {
                tracing::error!("a try could not be recorded in time; it may be repeated under the same key")
            }
        }
    }

    fn report(&self, due: &DueNotification, tried: &Tried) {
        let (receiver, event) = (due.receiver.clone(), due.event.as_str());
        let outcome = tried.outcome.as_str();
        metrics::counter!("groundcrew_notification_tries_total", "receiver" => receiver.clone(), "outcome" => outcome)
            .increment(1);
        let (page, error) = (due.page_id, tried.error.as_deref().unwrap_or_default());
        match (tried.outcome, tried.again_after) {
            (TryOutcome::Delivered, _) => tracing::info!(receiver, event, %page, items = due.items, "told"),
            (_, Some(pause)) => {
                tracing::warn!(receiver, event, %page, outcome, error, again_in_s = pause.as_secs_f64(), "not told yet");
            }
            (_, None) => {
                metrics::counter!("groundcrew_notifications_failed_total", "receiver" => receiver.clone())
                    .increment(1);
                tracing::error!(receiver, event, %page, outcome, error, tries = tried.number, "NOT TOLD: given up");
            }
        }
    }

    fn worded(&self, due: &DueNotification) -> Page {
        let items = u64::try_from(due.items).unwrap_or_default();
        Page {
            notification: due.id,
            page: due.page_id,
            event: due.event,
            items,
            project: due.project.clone(),
            kind: due.kind.clone(),
            severity: due.severity.clone(),
            urgent: due.urgent,
            reasons: due.reason.split(',').filter(|code| !code.is_empty()).map(str::to_owned).collect(),
            practice: due.practice,
            test: false,
            review_item: due.review_item,
            trace_id: due.trace_id.clone(),
            opened_at: due.opened_at,
            link: message::link(self.settings.desk_url.as_deref(), items, due.review_item),
            content: due.content.clone(),
        }
    }

    /// Sends a receiver a test, and to PagerDuty its end as well. Gives what it answered.
    ///
    /// # Errors
    /// [`NotifyError::UnknownReceiver`].
    pub async fn test(&self, name: &str) -> Result<Answer, NotifyError> {
        let receiver = self.settings.receivers.get(name);
        let receiver = receiver.ok_or_else(|| NotifyError::UnknownReceiver(name.to_owned()))?;
        let page = test_page();
        let mut answer = receiver.send(&self.client, &page, false).await;
        if receiver.ends_tests() && answer.outcome == TryOutcome::Delivered {
            let end = Page { event: PageEvent::Resolve, notification: Uuid::now_v7(), ..page };
            answer = receiver.send(&self.client, &end, false).await;
        }
        Ok(answer)
    }
}

impl Receiver {
    /// Whether a test would stay open and ring.
    fn ends_tests(&self) -> bool {
        matches!(self.target, crate::Target::PagerDuty { .. })
    }
}

pub(crate) fn test_page() -> Page {
    Page {
        notification: Uuid::now_v7(),
        page: Uuid::now_v7(),
        event: PageEvent::Trigger,
        items: 1,
        project: "test".to_owned(),
        kind: "test".to_owned(),
        severity: None,
        urgent: false,
        reasons: vec!["test".to_owned()],
        practice: false,
        test: true,
        review_item: Uuid::nil(),
        trace_id: "test".to_owned(),
        opened_at: Utc::now(),
        link: None,
        content: None,
    }
}

async fn hand_back(delivery: Delivery) {
    if let Err(error) = delivery.requeue().await {
        tracing::warn!(error = %chain(&error), "a message could not be handed back");
    }
}
