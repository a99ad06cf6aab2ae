//! The whole system for one test.

use std::time::Duration;

use practice::CannedReply;
use queue::{Connection, Envelope, Lane, Message, PublishError, Publisher, Purpose, Target};
use serde_json::Value;
use store::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use worker::Worker;

use crate::environment::ServicesLock;
use crate::material::TraceBuilder;
use crate::process::{Command, Process};
use crate::{Database, PATIENCE, TcpRelay, Tuning, Vhost, wait_for, wait_until_equal};

/// The queue that gets a copy of everything on `groundcrew.results`.
pub const TAP: &str = "test.results";

/// A virtual host, a database, a practice judge, and relays before all three, for one test.
#[derive(Debug)]
pub struct System {
    /// How its workers are set.
    pub tuning: Tuning,
    /// Stands between workers and the broker.
    pub to_broker: TcpRelay,
    /// Stands between workers and the database.
    pub to_database: TcpRelay,
    /// Stands between workers and the judge.
    pub to_judge: TcpRelay,
    /// The judge.
    pub judge: practice::Server,
    producer: Publisher,
    watching: Connection,
    /// The broker's side of this test.
    pub vhost: Vhost,
    /// The database's side of this test.
    pub database: Database,
    // Last: nobody may stop the services before all of the above is cleared up.
    _services: ServicesLock,
}

/// A [`System`] in the making.
#[derive(Debug, Default)]
pub struct SystemBuilder {
    tuning: Tuning,
    judge: practice::Settings,
    alone: bool,
}

impl SystemBuilder {
    /// What the judge says about a trace: the n-th call gets the n-th reply, the last one repeats.
    #[must_use]
    pub fn replies(mut self, trace_id: &str, replies: impl Into<Vec<CannedReply>>) -> Self {
        self.judge.canned.insert(trace_id, replies.into());
        self
    }

    /// Changes how workers are set.
    #[must_use]
    pub fn tuned(mut self, tune: impl FnOnce(&mut Tuning)) -> Self {
        tune(&mut self.tuning);
        self
    }

    /// Changes how the judge behaves.
    #[must_use]
    pub fn judged(mut self, change: impl FnOnce(&mut practice::Settings)) -> Self {
        change(&mut self.judge);
        self
    }

    /// No other test uses the services meanwhile, so that they may be stopped.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Sets everything up. No worker runs yet.
    ///
    /// # Panics
    /// When a service does not answer.
    pub async fn start(self) -> System {
        let services = if self.alone { ServicesLock::alone().await } else { ServicesLock::shared().await };
        // The HTTP client of the tests brings no cryptography of its own. Another test may have been faster.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (vhost, database) = tokio::join!(Vhost::create(), Database::create());
        let judge = practice::Server::start("127.0.0.1:0".parse().unwrap(), self.judge).await.unwrap();

        let settings = queue::Settings::new(&vhost.url(None), self.tuning.queue("test")).unwrap();
        let connection = Connection::open(&settings, Purpose::Publish).await.unwrap();
        queue::topology::declare(&connection).await.unwrap();
        vhost.tap(TAP, queue::exchange::RESULTS, "#").await;
        if self.alone {
            crate::wait::register_of_queues_is_written().await;
        }
        System {
            to_broker: TcpRelay::start(Vhost::address()).await,
            to_database: TcpRelay::start(Database::address()).await,
            to_judge: TcpRelay::start(judge.local_addr().to_string()).await,
            tuning: self.tuning,
            judge,
            producer: Publisher::new(&connection),
            watching: connection,
            vhost,
            database,
            _services: services,
        }
    }
}

impl System {
    /// A system to set up.
    pub fn builder() -> SystemBuilder {
        SystemBuilder::default()
    }

    // --- producers ---------------------------------------------------------------------------

    /// Publishes a trace into the normal lane.
    ///
    /// # Panics
    /// When the broker does not confirm it.
    pub async fn publish(&self, trace: &TraceBuilder) {
        self.try_publish(Lane::Normal, Envelope::default(), trace.bytes()).await.unwrap();
    }

    /// Publishes a trace into the normal lane with properties.
    ///
    /// # Panics
    /// When the broker does not confirm it.
    pub async fn publish_with(&self, trace: &TraceBuilder, envelope: Envelope) {
        self.try_publish(Lane::Normal, envelope, trace.bytes()).await.unwrap();
    }

    /// Publishes bytes into the normal lane.
    ///
    /// # Panics
    /// When the broker does not confirm them.
    pub async fn publish_bytes(&self, body: impl Into<Vec<u8>>) {
        self.try_publish(Lane::Normal, Envelope::default(), body.into()).await.unwrap();
    }

    /// Publishes bytes.
    ///
    /// # Errors
    /// When the broker does not confirm them.
    pub async fn try_publish(
        &self,
        lane: Lane,
        envelope: Envelope,
        body: Vec<u8>,
    ) -> Result<(), PublishError> {
        self.producer.publish(&Message { target: Target::lane(lane), envelope, body }).await
    }

    // --- workers -----------------------------------------------------------------------------

    /// A worker in this process, behind the relays.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn worker(&self) -> Inside {
        self.worker_with(|_| {}).await
    }

    /// A worker in this process that is set otherwise than the system's others.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn worker_with(&self, change: impl FnOnce(&mut worker::Settings)) -> Inside {
        self.worker_on(self.database.url(Some(self.to_database.address())), change).await
    }

    /// A worker in this process that reaches the database by this URL.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn worker_on(&self, database: String, change: impl FnOnce(&mut worker::Settings)) -> Inside {
        let tuning = &self.tuning;
        let store = Store::connect(&store::Settings::new(database)).unwrap();
        let url = self.vhost.url(Some(self.to_broker.address()));
        let settings = queue::Settings::new(&url, tuning.queue("worker")).unwrap();
        let consuming = Connection::open(&settings, Purpose::Consume).await.unwrap();
        let publishing = Connection::open(&settings, Purpose::Publish).await.unwrap();
        let profile = judge::Profile::new(tuning.judge(&self.judge_url())).unwrap();
        let judge = judge::Judge::new(profile, &tuning.limits()).unwrap();
        let runner = runner::Runner::new(judge.clone(), tuning.runner());
        let mut settings = tuning.worker();
        change(&mut settings);
        let worker = Worker::new(settings, store, consuming.clone(), Publisher::new(&publishing), runner)
            .await
            .unwrap();
        let stop = CancellationToken::new();
        let health = worker.health_address();
        let task = tokio::spawn(worker.run(stop.clone()));
        Inside { judge, consuming, health, stop, task: Some(task) }
    }

    /// The environment of a program that works on this system, behind the relays.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables = self.tuning.environment();
        variables.extend([
            ("DATABASE_URL".to_owned(), self.database.url(Some(self.to_database.address()))),
            ("AMQP_URL".to_owned(), self.vhost.url(Some(self.to_broker.address()))),
            ("GROUNDCREW_JUDGE__BASE_URL".to_owned(), self.judge_url()),
        ]);
        variables
    }

    /// The program, to be called on this system.
    pub fn program(&self, arguments: &[&str]) -> Command {
        Command::new(arguments).set_all(self.environment())
    }

    /// A worker as a process of its own, behind the relays.
    ///
    /// # Panics
    /// When the program cannot be started.
    pub fn worker_process(&self) -> Process {
        self.program(&["worker"]).start()
    }

    fn judge_url(&self) -> String {
        format!("http://{}/v1", self.to_judge.address())
    }

    /// Waits until this many workers consume the normal lane.
    ///
    /// # Panics
    /// When they do not, in time.
    pub async fn consumers(&self, count: u32) {
        wait_until_equal("consumers of the normal lane", PATIENCE, Some(count), async || {
            self.counts(Lane::Normal.queue()).await.map(|counts| counts.consumers)
        })
        .await;
    }

    /// Messages that wait in a queue of the fleet, and its consumers; none while the broker cannot be asked.
    pub async fn counts(&self, queue: &str) -> Option<queue::topology::Counts> {
        let depths = queue::topology::depths(&self.watching).await.ok()?;
        depths.into_iter().find(|depth| depth.queue == queue)?.counts
    }

    /// The queues of the fleet in which messages wait, apart from the one for people.
    ///
    /// # Panics
    /// When the broker cannot be asked.
    pub async fn waiting(&self) -> Vec<String> {
        let depths = queue::topology::depths(&self.watching).await.unwrap();
        let is_ours = |queue: &str| queue != queue::queue::REVIEW;
        depths
            .into_iter()
            .filter(|depth| is_ours(&depth.queue) && depth.counts.is_none_or(|counts| counts.ready > 0))
            .map(|depth| depth.queue)
            .collect()
    }

    /// Waits until every message of a lane is in some worker's hands, or gone.
    ///
    /// # Panics
    /// When it is not, in time.
    pub async fn taken(&self, lane: Lane) {
        wait_until_equal("a lane of which all is taken", PATIENCE, Some(0), async || {
            self.counts(lane.queue()).await.map(|counts| counts.ready)
        })
        .await;
    }

    /// Waits until a lane holds nothing, not even a delivery without its ack. The broker tells of the latter only every
    /// few seconds: to stop the workers and to look at what came back is faster, and exact.
    ///
    /// # Panics
    /// When it does, for too long.
    pub async fn drained(&self, lane: Lane) {
        // The exact figure first: an old one of the other kind could be from before the last message came.
        wait_until_equal("an empty lane", PATIENCE, Some((0, 0)), async || {
            match self.counts(lane.queue()).await {
                Some(counts) if counts.ready == 0 => self.vhost.depth(lane.queue()).await,
                _ => None,
            }
        })
        .await;
    }

    // --- what became of it -------------------------------------------------------------------

    /// Waits until a trace has an audit that has ended, and gives it as a JSON object of its columns.
    ///
    /// # Panics
    /// When none ends in time.
    pub async fn ended(&self, trace_id: &str) -> Value {
        let what = format!("the end of the audit of {trace_id}");
        wait_for(&what, PATIENCE, async || {
            self.audits(trace_id).await.into_iter().find(|audit| !audit["disposition"].is_null())
        })
        .await
    }

    /// Waits until this many audits of a trace have ended, and gives them, oldest generation first.
    ///
    /// # Panics
    /// When they do not end in time.
    pub async fn ended_times(&self, trace_id: &str, count: usize) -> Vec<Value> {
        let what = format!("{count} ended audits of {trace_id}");
        wait_for(&what, PATIENCE, async || {
            let audits = self.audits(trace_id).await;
            let ended = audits.iter().filter(|audit| !audit["disposition"].is_null()).count();
            (ended >= count).then_some(audits)
        })
        .await
    }

    /// Waits until a message became a dead letter for this reason, and gives all of that reason.
    ///
    /// # Panics
    /// When there is none in time.
    pub async fn dead_letters(&self, source: &str, count: usize) -> Vec<Value> {
        let what = format!("{count} dead letters from {source}");
        wait_for(&what, PATIENCE, async || {
            let letters = self
                .json("select to_jsonb(d) from groundcrew.dead_letters d order by first_seen_at, id")
                .await;
            let letters: Vec<Value> =
                letters.into_iter().filter(|letter| letter["source"] == source).collect();
            (letters.len() >= count).then_some(letters)
        })
        .await
    }

    /// All audits of a trace, by kind and generation.
    pub async fn audits(&self, trace_id: &str) -> Vec<Value> {
        let sql = "select to_jsonb(a) from groundcrew.audits a where trace_id = $1 order by kind, generation, opened_at";
        self.rows(sql, trace_id).await
    }

    /// All attempts at a trace, in order.
    pub async fn attempts(&self, trace_id: &str) -> Vec<Value> {
        let sql =
            "select to_jsonb(t) from groundcrew.attempts t join groundcrew.audits a on a.id = t.audit_id
                   where a.trace_id = $1 order by a.kind, a.generation, t.unit, t.number";
        self.rows(sql, trace_id).await
    }

    /// All claims about a trace, in order.
    pub async fn claims(&self, trace_id: &str) -> Vec<Value> {
        let sql = "select to_jsonb(c) from groundcrew.claims c join groundcrew.audits a on a.id = c.audit_id
                   where a.trace_id = $1 order by a.kind, a.generation, c.index";
        self.rows(sql, trace_id).await
    }

    /// All review items of a trace.
    pub async fn review_items(&self, trace_id: &str) -> Vec<Value> {
        let sql = "select to_jsonb(r) from groundcrew.review_items r where trace_id = $1 order by created_at";
        self.rows(sql, trace_id).await
    }

    /// The bytes of a column, such as `raw_reply`, of all attempts at a trace.
    ///
    /// # Panics
    /// When the database does not answer.
    pub async fn raw_replies(&self, trace_id: &str) -> Vec<Option<Vec<u8>>> {
        let sql =
            "select t.raw_reply from groundcrew.attempts t join groundcrew.audits a on a.id = t.audit_id
                   where a.trace_id = $1 order by a.kind, a.generation, t.unit, t.number";
        sqlx::query_scalar(sql).bind(trace_id).fetch_all(&self.database.pool).await.unwrap()
    }

    /// Waits until everything in the outbox is sent.
    ///
    /// # Panics
    /// When it is not, in time.
    pub async fn outbox_empty(&self) {
        wait_for("an empty outbox", PATIENCE, async || {
            let unsent = self.strings("select id::text from groundcrew.outbox where sent_at is null").await;
            unsent.is_empty().then_some(())
        })
        .await;
    }

    /// Messages on the results exchange so far, in order of arrival.
    pub async fn announced(&self) -> Vec<crate::Seen> {
        self.vhost.peek(TAP).await
    }

    /// The one message with this routing key about a trace.
    ///
    /// # Panics
    /// When there is none in time, or more than one.
    pub async fn announcement(&self, routing_key: &str, trace_id: &str) -> crate::Seen {
        self.outbox_empty().await;
        let matching: Vec<_> = self
            .announced()
            .await
            .into_iter()
            .filter(|seen| seen.routing_key == routing_key && seen.body["trace_id"] == trace_id)
            .collect();
        assert_eq!(matching.len(), 1, "messages with the key {routing_key} about {trace_id}: {matching:?}");
        matching.into_iter().next().unwrap()
    }

    /// Rows as JSON.
    ///
    /// # Panics
    /// When the database does not answer.
    pub async fn json(&self, sql: &'static str) -> Vec<Value> {
        sqlx::query_scalar(sql).fetch_all(&self.database.pool).await.unwrap()
    }

    /// A column of text.
    ///
    /// # Panics
    /// When the database does not answer.
    pub async fn strings(&self, sql: &'static str) -> Vec<String> {
        sqlx::query_scalar(sql).fetch_all(&self.database.pool).await.unwrap()
    }

    async fn rows(&self, sql: &'static str, trace_id: &str) -> Vec<Value> {
        sqlx::query_scalar(sql).bind(trace_id).fetch_all(&self.database.pool).await.unwrap()
    }
}

/// A worker inside the test's own process. It is stopped when this goes out of scope.
#[derive(Debug)]
pub struct Inside {
    /// Its judge, to see what limiter and breaker do.
    pub judge: judge::Judge,
    /// The connection it consumes on.
    pub consuming: Connection,
    /// Where its health endpoints are, if it was told to have any.
    pub health: Option<std::net::SocketAddr>,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Inside {
    /// Asks it to stop and waits until it has.
    ///
    /// # Panics
    /// When it takes longer than `deadline`, or had panicked.
    pub async fn stop(mut self, deadline: Duration) {
        self.stop.cancel();
        let task = self.task.take().unwrap();
        let stopped = tokio::time::timeout(deadline, task).await;
        stopped.unwrap_or_else(|_| panic!("the worker did not stop within {deadline:?}")).unwrap();
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
