//! A virtual host, a database and a judge for one measurement, and what is run on them.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use lapin::BasicProperties;
use lapin::options::{BasicConsumeOptions, BasicPublishOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use queue::{Connection, Envelope, Lane, Message, Publisher, Purpose, Target};
use serde_json::Value;

use super::added::Added;
use super::load::{self, Reply, Size};
use super::meter::{Measured, used};
use crate::process::{Command, Process};
use crate::{Database, Vhost, unique, wait_for};

/// How long anything may go without progress.
const PATIENCE: Duration = Duration::from_secs(300);

/// How a worker is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tempo {
    in_work: u32,
    /// Whether the judge is asked how many calls it has open, which costs it time.
    looks_at_judge: bool,
    /// Which HTTP is spoken with the judge.
    http: &'static str,
}

impl Tempo {
    /// So many audits in work at once.
    pub fn at_once(in_work: u32) -> Self {
        Self { in_work, looks_at_judge: false, http: "http1" }
    }

    /// The same, and the calls in flight are counted.
    pub fn counted(in_work: u32, http: &'static str) -> Self {
        Self { looks_at_judge: true, http, ..Self::at_once(in_work) }
    }
}

#[derive(Debug)]
pub(super) struct Rig {
    size: Size,
    judge: SocketAddr,
    _judge: Process,
    _reply: Reply,
    vhost: Vhost,
    database: Database,
    publisher: Publisher,
}

impl Rig {
    pub async fn start(size: Size, latency: Duration) -> Self {
        let reply = Reply::write(&load::reply());
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let judge = port.expect("a port is free");
        let address = judge.to_string();
        let milliseconds = latency.as_millis().to_string();
        let process =
            Command::new(&["judge", "practice", "--listen", &address, "--latency-ms", &milliseconds])
                .argument("--canned-default")
                .argument(reply.path())
                .start();
        wait_for("the judge", PATIENCE, async || std::net::TcpStream::connect(&address).ok().map(drop)).await;
        let (vhost, database) = tokio::join!(Vhost::create(), Database::create());
        let settings =
            queue::Settings::new(&vhost.url(None), queue::Options::default()).expect("the URL is valid");
        let connection = Connection::open(&settings, Purpose::Publish).await.expect("the broker answers");
        queue::topology::declare(&connection).await.expect("the topology can be declared");
        Self {
            size,
            judge,
            _judge: process,
            _reply: reply,
            vhost,
            database,
            publisher: Publisher::new(&connection),
        }
    }

    /// Publishes so many traces and gives what their ids begin with.
    async fn publish(&self, traces: usize) -> String {
        let run = unique("b");
        let bodies: Vec<usize> = (0..traces).collect();
        for chunk in bodies.chunks(500) {
            let messages = chunk.iter().map(|at| self.message(load::trace(self.size, &run, *at)));
            for outcome in self.publisher.publish_many(&messages.collect::<Vec<_>>()).await {
                outcome.expect("the broker confirms");
            }
        }
        run
    }

    fn message(&self, body: Vec<u8>) -> Message {
        Message { target: Target::lane(Lane::Normal), envelope: Envelope::default(), body }
    }

    /// One of the floors, in a process of its own.
    pub async fn floor(&self, which: &str, traces: usize, concurrency: u32) -> Measured {
        self.publish(traces).await;
        let own = std::env::current_exe().expect("a program knows its path");
        let mut floor = std::process::Command::new(own);
        floor
            .args([
                "floor",
                which,
                "--traces",
                &traces.to_string(),
                "--concurrency",
                &concurrency.to_string(),
            ])
            .env("BENCH_AMQP_URL", self.vhost.url(None))
            .env("BENCH_DATABASE_URL", self.database.url(None))
            .env("BENCH_JUDGE_URL", self.judge_url());
        let output = tokio::task::spawn_blocking(move || floor.output()).await.expect("no panic");
        let output = output.expect("the floor can be started");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
        let line = printed.lines().last().unwrap_or_default();
        let figures: Value = serde_json::from_str(line).expect("the floor prints its figures");
        let figure = |name: &str| figures[name].as_u64().unwrap_or_default();
        Measured {
            count: traces,
            took: Duration::from_micros(figure("took_us")),
            cpu: Duration::from_millis(figure("cpu_ms")),
            peak_kib: figure("peak_kib"),
            in_flight: None,
        }
    }

    fn worker(&self, tempo: Tempo) -> Process {
        let in_work = tempo.in_work.to_string();
        let set = |name: &str, value: &str| (format!("GROUNDCREW_{name}"), value.to_owned());
        Command::new(&["worker", "--wait-for", "60"])
            .set("DATABASE_URL", self.database.url(None))
            .set("AMQP_URL", self.vhost.url(None))
            .set_all([
                set("JUDGE__BASE_URL", &self.judge_url()),
                set("JUDGE__MODEL", practice::MODEL),
                set("JUDGE__HTTP_VERSION", tempo.http),
                set("JUDGE__MAX_CONCURRENCY", &in_work),
                // A floor has no level to find either.
                set("JUDGE__START_CONCURRENCY", &in_work),
                set("WORKER__CONCURRENCY_NORMAL", &in_work),
                set("PROJECT_DEFAULTS__SAMPLE_PASSED", "0"),
                set("LOG__LEVEL", "warn"),
            ])
            .start()
    }

    /// Workers of the product: all is published before they start, so that no producer is in the figure.
    pub async fn product(&self, traces: usize, tempo: Tempo, workers: usize) -> Measured {
        let before = self.ended().await;
        self.publish(traces).await;
        let running: Vec<Process> = (0..workers).map(|_| self.worker(tempo)).collect();
        let (mut most, mut last) = (0, (Instant::now(), before));
        loop {
            let ended = self.ended().await;
            if tempo.looks_at_judge {
                most = most.max(self.open_calls().await);
            }
            if ended - before >= traces {
                break;
            }
            if ended > last.1 {
                last = (Instant::now(), ended);
            }
            assert!(last.0.elapsed() < PATIENCE, "nothing ended for {PATIENCE:?}: {}", running[0].log());
            crate::wait::between_looks().await;
        }
        let used: Vec<(Duration, u64)> = running.iter().filter_map(|worker| used(worker.id())).collect();
        Measured {
            count: traces,
            took: self.span(traces).await,
            cpu: used.iter().map(|(cpu, _)| *cpu).sum(),
            peak_kib: used.iter().map(|(_, peak)| *peak).max().unwrap_or_default(),
            in_flight: tempo.looks_at_judge.then_some(most),
        }
    }

    async fn ended(&self) -> usize {
        let sql = "select count(*) from groundcrew.audits where ended_at is not null";
        let count: i64 =
            sqlx::query_scalar(sql).fetch_one(&self.database.pool).await.expect("the database answers");
        usize::try_from(count).unwrap_or_default()
    }

    /// From the first to the last end of the latest audits.
    async fn span(&self, latest: usize) -> Duration {
        let sql = "select extract(epoch from max(ended_at) - min(ended_at))::float8 from (
            select ended_at from groundcrew.audits order by ended_at desc limit $1) as latest";
        let latest = i64::try_from(latest).unwrap_or(i64::MAX);
        let seconds: f64 = sqlx::query_scalar(sql)
            .bind(latest)
            .fetch_one(&self.database.pool)
            .await
            .expect("the database answers");
        Duration::from_secs_f64(seconds.max(0.0))
    }

    fn judge_url(&self) -> String {
        format!("http://{}/v1", self.judge)
    }

    /// Calls that the judge has received and not answered.
    async fn open_calls(&self) -> u64 {
        let answer = crate::ask(self.judge, "/calls").await;
        let calls: Value = answer.and_then(|(_, text)| serde_json::from_str(&text).ok()).unwrap_or_default();
        let count = |name: &str| calls["total"][name].as_u64().unwrap_or_default();
        count("received").saturating_sub(count("answered"))
    }

    /// Publishes at a steady rate and says how long it took until each result was announced, and where the time went.
    #[expect(
        clippy::disallowed_methods,
        reason = "a load that is measured, and nothing that may not be lost"
    )]
    pub async fn added(&self, per_second: f64, during: Duration) -> Added {
        let worker = self.worker(Tempo::at_once(64));
        let mut results = self.results().await;
        let run = unique("b");
        // The first results pay for connections and plans that later ones find ready.
        let warm_up = 200;
        let steady = (per_second * during.as_secs_f64()).ceil();
        let count = warm_up + (0..).take_while(|at| f64::from(*at) < steady).count();
        let (begun, begun_at) = (Instant::now(), chrono::Utc::now());
        let since =
            |at: usize| Duration::from_secs_f64(f64::from(u32::try_from(at).unwrap_or(0)) / per_second);
        // Publishes without waiting for confirms: what a producer waits for is not what the pipeline adds.
        let channel = self.channel().await;
        let publishing = async {
            for at in 0..count {
                let body = load::trace(self.size, &run, at);
                tokio::time::sleep_until((begun + since(at)).into()).await;
                let (exchange, key) = (queue::exchange::TRACES.into(), Lane::Normal.routing_key().into());
                let options = BasicPublishOptions::default();
                let properties = BasicProperties::default().with_delivery_mode(2);
                let published = channel.basic_publish(exchange, key, options, &body, properties).await;
                published.expect("the connection lives");
            }
        };
        let receiving = async {
            let mut arrived: HashMap<usize, Duration> = HashMap::with_capacity(count);
            while arrived.len() < count {
                let next = tokio::time::timeout(PATIENCE, results.next()).await.expect("results arrive");
                let delivery = next.expect("the subscription lives").expect("the connection lives");
                let result: Value = serde_json::from_slice(&delivery.data).unwrap_or_default();
                let id = result["trace_id"].as_str().unwrap_or_default();
                if let Some(at) = id.strip_prefix(&format!("{run}-")).and_then(|at| at.parse().ok()) {
                    arrived.entry(at).or_insert_with(|| begun.elapsed());
                }
            }
            arrived
        };
        let ((), arrived) = tokio::join!(publishing, receiving);
        drop(worker);
        let mut added = Added::default();
        for (at, stored) in self.stored(&run, begun_at).await {
            if let Some(arrived) = arrived.get(&at).filter(|_| at >= warm_up) {
                added.count(since(at), &stored, *arrived);
            }
        }
        added
    }

    /// When the worker received each trace, asked the judge, had its reply, and had the result ready to write.
    async fn stored(&self, run: &str, begun: chrono::DateTime<chrono::Utc>) -> Vec<(usize, [Duration; 4])> {
        let sql = "select substring(trace.trace_id from '[0-9]+$')::int8,
                extract(epoch from trace.received_at - $2)::float8,
                extract(epoch from attempt.started_at - $2)::float8,
                extract(epoch from attempt.started_at - $2)::float8 + attempt.latency_us / 1e6,
                extract(epoch from audit.ended_at - $2)::float8
            from groundcrew.audits as audit
            join groundcrew.traces as trace using (project, trace_id)
            join groundcrew.attempts as attempt on attempt.audit_id = audit.id
            where starts_with(audit.trace_id, $1)";
        let rows: Vec<(i64, f64, f64, f64, f64)> = sqlx::query_as(sql)
            .bind(run)
            .bind(begun)
            .fetch_all(&self.database.pool)
            .await
            .expect("the database answers");
        let at = |seconds: f64| Duration::from_secs_f64(seconds.max(0.0));
        rows.into_iter()
            .map(|(trace, received, asked, replied, ended)| {
                (usize::try_from(trace).unwrap_or_default(), [received, asked, replied, ended].map(at))
            })
            .collect()
    }

    async fn results(&self) -> lapin::Consumer {
        let channel = self.channel().await;
        let exclusive = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
        channel
            .queue_declare("bench.results".into(), exclusive, FieldTable::default())
            .await
            .expect("a queue");
        let (queue, exchange) = ("bench.results".into(), queue::exchange::RESULTS.into());
        let bind = QueueBindOptions::default();
        channel
            .queue_bind(queue, exchange, "audit.#".into(), bind, FieldTable::default())
            .await
            .expect("a binding");
        let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        channel
            .basic_consume("bench.results".into(), "bench".into(), options, FieldTable::default())
            .await
            .expect("a subscription")
    }

    /// A channel on a connection of its own.
    async fn channel(&self) -> lapin::Channel {
        let properties = lapin::ConnectionProperties::default();
        let connection =
            lapin::Connection::connect(&self.vhost.url(None), properties).await.expect("the broker answers");
        let channel = connection.create_channel().await.expect("a channel can be opened");
        // It lives as long as the measurement; the program's end closes it.
        std::mem::forget(connection);
        channel
    }
}
