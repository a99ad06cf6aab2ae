//! A virtual host per test, and the means to look at it from outside.

pub mod management;
pub mod raw;
pub mod relay;

use std::time::Duration;

use queue::{
    Connection, Consumer, Delivery, Envelope, Lane, Message, Next, Options, Publisher, Purpose, Settings,
    Source, Target,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use management::Management;

/// Longer than anything takes on a busy machine, so that only a real failure runs into it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A virtual host that is deleted at the end of the test.
pub struct Vhost {
    pub name: String,
    pub management: Management,
    base_url: String,
}

impl Vhost {
    pub fn new() -> Self {
        let management = Management::from_environment();
        let base_url =
            std::env::var("AMQP_URL").unwrap_or_else(|_| panic!("AMQP_URL is not set: use ./dev test"));
        let name = format!("queue-test-{}", uuid::Uuid::now_v7().simple());
        management.create_vhost(&name);
        Self { name, management, base_url }
    }

    pub fn url(&self) -> String {
        let after_scheme = self.base_url.find("://").map_or(0, |at| at + 3);
        let end = self.base_url[after_scheme..].find('/').map_or(self.base_url.len(), |at| after_scheme + at);
        format!("{}/{}", &self.base_url[..end], self.name)
    }

    /// Host and port of the broker.
    pub fn address(&self) -> String {
        let url = self.url();
        let (_, rest) = url.rsplit_once('@').unwrap();
        rest.split('/').next().unwrap().to_owned()
    }

    pub fn settings(&self, change: impl FnOnce(&mut Options)) -> Settings {
        self.settings_through(&self.url(), change)
    }

    /// The same, by way of a relay that listens on another address.
    pub fn settings_at(&self, address: &str, change: impl FnOnce(&mut Options)) -> Settings {
        self.settings_through(&self.url().replace(&self.address(), address), change)
    }

    fn settings_through(&self, url: &str, change: impl FnOnce(&mut Options)) -> Settings {
        let mut options = Options { name: self.name.clone(), ..Options::default() };
        change(&mut options);
        Settings::new(url, options).unwrap()
    }
}

impl Drop for Vhost {
    fn drop(&mut self) {
        self.management.delete_vhost(&self.name);
    }
}

/// Both connections of a process, with the topology declared.
pub struct Process {
    pub consuming: Connection,
    pub publisher: Publisher,
    pub stop: CancellationToken,
}

impl Process {
    pub async fn start(settings: &Settings) -> Self {
        let consuming = Connection::open(settings, Purpose::Consume).await.unwrap();
        queue::topology::declare(&consuming).await.unwrap();
        let publishing = Connection::open(settings, Purpose::Publish).await.unwrap();
        Self { consuming, publisher: Publisher::new(&publishing), stop: CancellationToken::new() }
    }

    pub async fn consumer(&self, source: Source) -> Consumer {
        Consumer::open(&self.consuming, source).await.unwrap()
    }

    pub async fn next(&self, consumer: &mut Consumer) -> Delivery {
        match tokio::time::timeout(PATIENCE, consumer.next(&self.stop)).await {
            Ok(Next::Delivery(delivery)) => delivery,
            other => panic!("expected a delivery, got {other:?}"),
        }
    }

    /// Messages ready in one queue; nothing while it, or the broker, is away.
    pub async fn ready(&self, queue: &str) -> Option<u32> {
        let depths = queue::topology::depths(&self.consuming).await.ok()?;
        depths.into_iter().find(|depth| depth.queue == queue).unwrap().counts.map(|counts| counts.ready)
    }
}

pub fn trace(lane: Lane, id: &str) -> Message {
    let envelope = Envelope { message_id: Some(id.to_owned()), ..Envelope::default() };
    Message { target: Target::lane(lane), envelope, body: format!("{{\"trace_id\":\"{id}\"}}").into_bytes() }
}

/// Asks again and again until there is an answer.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "gave up waiting for: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
