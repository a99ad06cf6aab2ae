//! The two floors: programs that do less than the product, as fast as this design can do it.
//!
//! `bare`: consume from a quorum queue, one HTTP call, parse the reply, three batched inserts in a transaction, ack.
//! `same-writes`: consume, one HTTP call, parse, and then write what the product writes, through the product's own
//! store, with the outbox row published and marked. It decodes, renders, looks up and verifies nothing.
#![expect(
    clippy::disallowed_methods,
    reason = "a floor settles as bare as can be: a lost ack would end the measurement"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use audit::record::{AuditKey, Ending, TraceRecord};
use futures_util::StreamExt as _;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use queue::{Connection, Envelope, Message, Publisher, Purpose, Target};
use runner::memory::MemorySink;
use serde_json::{Value, json};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use store::{OutboxRow, Outcome, Store};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::meter::used;
use crate::Tuning;
use crate::environment::required;

/// Which floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Floor {
    /// Three batched inserts.
    Bare,
    /// All that the product writes.
    SameWrites,
}

/// Settles so many messages and prints its figures as one line of JSON.
///
/// # Panics
/// When a service does not answer.
pub async fn run(floor: Floor, traces: usize, concurrency: u32) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let judge = required("BENCH_JUDGE_URL");
    let mut deliveries = subscribe(concurrency).await;
    let first = deliveries.next().await.expect("a message").expect("a delivery");
    let template = Arc::new(template(&judge, &first.data).await);
    let writer = Writer::start(floor, Arc::clone(&template)).await;
    let client =
        reqwest::Client::builder().no_proxy().tls_certs_only([]).build().expect("a client can be made");
    let hands = Arc::new(Semaphore::new(usize::try_from(concurrency).unwrap_or(1)));
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    let mut next = Some(first);
    for _ in 0..traces {
        let delivery = match next.take() {
            Some(delivery) => delivery,
            None => deliveries.next().await.expect("a message").expect("a delivery"),
        };
        let hand = Arc::clone(&hands).acquire_owned().await.expect("never closed");
        let (client, template, writer) = (client.clone(), Arc::clone(&template), writer.clone());
        let url = format!("{judge}/chat/completions");
        tasks.spawn(async move {
            let _hand = hand;
            let request = template.attempts[0].request.clone();
            let call = client.post(url).header("content-type", "application/json").body(request);
            let body = call.send().await.expect("the judge answers").bytes().await.expect("a body");
            let reply: Value = serde_json::from_slice(&body).expect("JSON");
            let content = reply["choices"][0]["message"]["content"].as_str().expect("a content");
            let _: Value = serde_json::from_str(content).expect("a JSON reply");
            writer.write(delivery, body.to_vec()).await;
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.expect("no task panics");
    }
    let took = begun.elapsed();
    writer.finish().await;
    let (cpu, peak_kib) = used(std::process::id()).unwrap_or_default();
    let figures = json!({
        "took_us": u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "cpu_ms": u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX),
        "peak_kib": peak_kib,
    });
    println!("{figures}");
}

async fn subscribe(concurrency: u32) -> lapin::Consumer {
    let properties = lapin::ConnectionProperties::default();
    let connection = lapin::Connection::connect(&required("BENCH_AMQP_URL"), properties)
        .await
        .expect("the broker answers");
    let channel = connection.create_channel().await.expect("a channel can be opened");
    let prefetch = u16::try_from(concurrency * 2).unwrap_or(2000).min(2000);
    channel.basic_qos(prefetch, BasicQosOptions::default()).await.expect("a prefetch");
    let consumer = channel
        .basic_consume(
            queue::Lane::Normal.queue().into(),
            "floor".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        )
        .await
        .expect("a subscription");
    // The program's end closes it.
    std::mem::forget(connection);
    consumer
}

/// What the product would write about the first message, made by the product's own runner.
async fn template(judge_url: &str, body: &[u8]) -> Ending {
    let tuning = Tuning::default();
    let profile = judge::Profile::new(tuning.judge(judge_url)).expect("a valid profile");
    let judge = judge::Judge::new(profile, &tuning.limits()).expect("a judge");
    let runner = runner::Runner::new(judge, tuning.runner());
    let trace = trace::decode(body).expect("a trace");
    let key = AuditKey {
        project: trace.project.clone(),
        trace_id: trace.trace_id.clone(),
        content_hash: trace::content_hash(&trace),
        kind: trace::Kind::Faithfulness,
        generation: 0,
        repeat: 0,
    };
    let now = chrono::Utc::now();
    let worker = tuning.worker();
    let project = worker.project(&trace.project);
    let delivery = runner::Delivery {
        key,
        opening: None,
        attempts: Vec::new(),
        first_seen: now,
        reply_to: None,
        requirements: project.requirements,
        routing: project.routing.clone(),
        policy: worker.policy(trace::Kind::Faithfulness),
        gate: None,
        trace: Arc::new(TraceRecord { trace, payload: body.to_vec(), received_at: now }),
    };
    match runner.run(delivery, &MemorySink::default(), &CancellationToken::new()).await {
        Ok(runner::Run::Ended(ending)) => *ending,
        other => panic!("the first message was not audited: {other:?}"),
    }
}

/// Writes and acks.
#[derive(Debug, Clone)]
enum Writer {
    Bare(mpsc::Sender<(Delivery, Vec<u8>, tokio::sync::oneshot::Sender<()>)>),
    SameWrites {
        store: Store,
        template: Arc<Ending>,
        outbox: mpsc::Sender<OutboxRow>,
        relay: Arc<tokio::task::JoinHandle<()>>,
    },
}

impl Writer {
    async fn start(floor: Floor, template: Arc<Ending>) -> Self {
        let url = required("BENCH_DATABASE_URL");
        match floor {
            Floor::Bare => {
                let pool = PgPoolOptions::new()
                    .max_connections(4)
                    .connect(&url)
                    .await
                    .expect("the database answers");
                create_tables(&pool).await;
                let (sender, receiver) = mpsc::channel(1024);
                let receiver = Arc::new(tokio::sync::Mutex::new(receiver));
                for _ in 0..2 {
                    tokio::spawn(insert_batches(pool.clone(), Arc::clone(&receiver)));
                }
                Self::Bare(sender)
            }
            Floor::SameWrites => {
                let store = Store::connect(&store::Settings::new(url)).expect("a pool can be made");
                let (outbox, waiting) = mpsc::channel(4096);
                let relay = Arc::new(tokio::spawn(publish_outbox(store.clone(), waiting)));
                Self::SameWrites { store, template, outbox, relay }
            }
        }
    }

    async fn write(&self, delivery: Delivery, reply: Vec<u8>) {
        match self {
            Self::Bare(sender) => {
                let (done, written) = tokio::sync::oneshot::channel();
                sender.send((delivery, reply, done)).await.expect("the writers live");
                written.await.expect("the row is written");
            }
            Self::SameWrites { store, template, outbox, .. } => {
                let ending = another(template, &delivery.data, reply);
                let finished = store.finish_in_hand(&ending, Duration::from_secs(60)).await;
                for message in finished.expect("the audit is written").1 {
                    outbox.send(message).await.expect("the relay lives");
                }
                delivery.acker.ack(BasicAckOptions::default()).await.expect("an ack");
            }
        }
    }

    /// Waits until all messages of the outbox are out.
    async fn finish(self) {
        if let Self::SameWrites { store, outbox, relay, .. } = self {
            drop(outbox);
            let relay = Arc::into_inner(relay).expect("all writers are done");
            relay.await.expect("the relay does not panic");
            store.close().await;
        }
    }
}

/// The template's end for another message: new ids, its own payload and reply, the same sizes.
fn another(template: &Ending, payload: &[u8], reply: Vec<u8>) -> Ending {
    let mut ending = template.clone();
    ending.key.trace_id = format!("w-{}", Uuid::now_v7().simple());
    Arc::make_mut(&mut ending.trace).payload = payload.to_vec();
    ending.ended_at = chrono::Utc::now();
    let id = ending.key.id();
    for attempt in &mut ending.attempts {
        attempt.raw_reply = Some(reply.clone());
    }
    for event in &mut ending.events {
        event.id = audit::record::derived_id(id, &event.routing_key);
    }
    ending
}

async fn create_tables(pool: &PgPool) {
    for sql in [
        "create table if not exists bare_traces (id uuid primary key, payload bytea not null)",
        "create table if not exists bare_audits (id uuid primary key, score float8, reply bytea not null)",
        "create table if not exists bare_claims (audit uuid, index int4, text text, primary key (audit, index))",
    ] {
        sqlx::query(sql).execute(pool).await.expect("a table can be made");
    }
}

type Job = (Delivery, Vec<u8>, tokio::sync::oneshot::Sender<()>);

async fn insert_batches(pool: PgPool, waiting: Arc<tokio::sync::Mutex<mpsc::Receiver<Job>>>) {
    loop {
        let mut batch = Vec::new();
        if waiting.lock().await.recv_many(&mut batch, 128).await == 0 {
            return;
        }
        insert(&pool, &batch).await.expect("a batch is written");
        for (delivery, _, done) in batch {
            delivery.acker.ack(BasicAckOptions::default()).await.expect("an ack");
            let _ = done.send(());
        }
    }
}

async fn insert(pool: &PgPool, batch: &[Job]) -> Result<(), sqlx::Error> {
    let ids: Vec<Uuid> = batch.iter().map(|_| Uuid::now_v7()).collect();
    let payloads: Vec<&[u8]> = batch.iter().map(|(delivery, _, _)| delivery.data.as_slice()).collect();
    let replies: Vec<&[u8]> = batch.iter().map(|(_, reply, _)| reply.as_slice()).collect();
    let texts: Vec<&str> = batch.iter().map(|_| "The gate opens at 10:00 on weekdays.").collect();
    let mut transaction = pool.begin().await?;
    sqlx::query("insert into bare_traces select * from unnest($1::uuid[], $2::bytea[])")
        .bind(&ids)
        .bind(payloads)
        .execute(&mut *transaction)
        .await?;
    sqlx::query("insert into bare_audits select id, 1.0, reply from unnest($1::uuid[], $2::bytea[]) as row (id, reply)")
        .bind(&ids)
        .bind(replies)
        .execute(&mut *transaction)
        .await?;
    sqlx::query(
        "insert into bare_claims select id, 0, text from unnest($1::uuid[], $2::text[]) as row (id, text)",
    )
    .bind(&ids)
    .bind(texts)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await
}

/// Sends what is committed until nobody commits any more.
async fn publish_outbox(store: Store, mut waiting: mpsc::Receiver<OutboxRow>) {
    let settings =
        queue::Settings::new(&required("BENCH_AMQP_URL"), queue::Options::default()).expect("a valid URL");
    let connection = Connection::open(&settings, Purpose::Publish).await.expect("the broker answers");
    let publisher = Publisher::new(&connection);
    loop {
        let mut rows = Vec::new();
        if waiting.recv_many(&mut rows, 256).await == 0 {
            return;
        }
        let (ids, messages): (Vec<Uuid>, Vec<Message>) = rows
            .into_iter()
            .map(|row| {
                let envelope = Envelope { message_id: Some(row.id.to_string()), ..Envelope::default() };
                (row.id, Message { target: Target::event(&row.routing_key), envelope, body: row.body })
            })
            .unzip();
        for outcome in publisher.publish_many(&messages).await {
            outcome.expect("the broker confirms");
        }
        let sent: Vec<_> = ids.into_iter().map(|id| (id, Outcome::Confirmed)).collect();
        store.mark_sent(&sent).await.expect("messages can be marked");
    }
}
