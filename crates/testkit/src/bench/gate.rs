//! What the gate adds to the judge's own time, with many calls in flight and each result stored before its answer.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use desk::access::{NewToken, Role};
use futures_util::future::join_all;
use serde_json::{Value, json};
use store::Store;

use super::load::Reply;
use crate::environment::ServicesLock;
use crate::process::Command;
use crate::{Database, unique, wait_for};

/// How long a process may take to listen.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct GatePlan {
    /// Calls, after as many to warm up as are in flight.
    pub calls: usize,
    /// Calls in flight at once.
    pub in_flight: usize,
    /// How long the judge takes at least.
    pub judge: Duration,
    /// How many of the calls name a session and an idempotency key, in percent.
    pub claimed: usize,
}

/// One call: what it took, and how much of that the judge.
#[derive(Debug, Clone, Copy)]
struct Sample {
    wall: Duration,
    total: Duration,
    judge: Duration,
}

/// Runs the measurement and prints it.
///
/// # Panics
/// When a program fails, or a call is not answered as it should be.
pub async fn run(plan: GatePlan) {
    let _alone = ServicesLock::alone().await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let reply = Reply::write(&verdict());
    let judge = free_port();
    let ms = plan.judge.as_millis().to_string();
    let _judge = Command::new(&["judge", "practice", "--listen", &judge.to_string(), "--latency-ms", &ms])
        .argument("--latency-spread-ms")
        .argument((plan.judge.as_millis() / 2).to_string())
        .argument("--canned-default")
        .argument(reply.path())
        .start();
    listening("the judge", judge).await;
    let database = Database::create().await;
    database.recycle_wal().await;
    let token = token(&database).await;
    let desk = free_port();
    let concurrency = (plan.in_flight * 2).to_string();
    let _desk = Command::new(&["desk"])
        .set("DATABASE_URL", database.url(None))
        .set("GROUNDCREW_JUDGE__BASE_URL", format!("http://{judge}/v1"))
        .set("GROUNDCREW_JUDGE__MODEL", practice::MODEL)
        .set("GROUNDCREW_JUDGE__MAX_CONCURRENCY", &concurrency)
        .set("GROUNDCREW_JUDGE__START_CONCURRENCY", &concurrency)
        .set("GROUNDCREW_GATE__MAX_CALLS", &concurrency)
        .set("GROUNDCREW_DESK__LISTEN", desk.to_string())
        .start();
    listening("the desk", desk).await;

    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(plan.in_flight).build();
    let caller =
        Caller { client: client.expect("a client"), url: format!("http://{desk}/v1/gate"), token, plan };
    caller.calls(plan.in_flight).await;
    let began = Instant::now();
    let samples = caller.calls(plan.calls).await;
    let took = began.elapsed();
    let stored: i64 =
        sqlx::query_scalar("select count(*) from groundcrew.gate_calls where ended_at is not null")
            .fetch_one(&database.pool)
            .await
            .expect("the database answers");
    assert_eq!(usize::try_from(stored), Ok(plan.calls + plan.in_flight), "every call is stored");
    #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
    let rate = plan.calls as f64 / took.as_secs_f64();
    println!(
        "gate: {} calls, {} in flight, judge of {} to {} ms, {} % with key and session, {rate:.0} calls a second",
        plan.calls,
        plan.in_flight,
        plan.judge.as_millis(),
        plan.judge.as_millis() * 3 / 2,
        plan.claimed
    );
    print(
        "added, by the desk's clock:  ",
        samples.iter().map(|it| it.total.saturating_sub(it.judge)).collect(),
    );
    print(
        "added, by the caller's clock:",
        samples.iter().map(|it| it.wall.saturating_sub(it.judge)).collect(),
    );
    print("the judge's own time:        ", samples.iter().map(|it| it.judge).collect());
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!("  {what} p50 {:.2?}, p90 {:.2?}, p99 {:.2?}, max {:.2?}", at(50), at(90), at(99), at(100));
}

struct Caller {
    client: reqwest::Client,
    url: String,
    token: String,
    plan: GatePlan,
}

impl Caller {
    /// So many calls, as many in flight as planned.
    async fn calls(&self, calls: usize) -> Vec<Sample> {
        let next = AtomicUsize::new(0);
        let lanes = (0..self.plan.in_flight).map(|_| async {
            let mut samples = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < calls {
                let is_claimed = samples.len() % 100 < self.plan.claimed;
                samples.push(self.call(is_claimed).await);
            }
            samples
        });
        join_all(lanes).await.into_iter().flatten().collect()
    }

    async fn call(&self, is_claimed: bool) -> Sample {
        let mut body = question();
        let mut request = self.client.post(&self.url).bearer_auth(&self.token);
        if is_claimed {
            body["session"] = json!(unique("s"));
            request = request.header("idempotency-key", unique("k"));
        }
        let began = Instant::now();
        let response = request.json(&body).send().await.expect("the desk answers");
        let status = response.status();
        let timing =
            response.headers().get("server-timing").and_then(|it| it.to_str().ok()).map(str::to_owned);
        let text = response.text().await.expect("the answer arrives");
        let wall = began.elapsed();
        assert!(status.is_success() && text.contains("\"action\":\"deliver\""), "{status}: {text}");
        let timing = timing.expect("the desk says how long it took");
        let of = |name: &str| {
            let value = timing.split(name).nth(1)?.trim_start_matches(";dur=").split(',').next()?;
            value.trim().parse::<f64>().ok().map(|ms| Duration::from_secs_f64(ms / 1000.0))
        };
        Sample { wall, total: of("total").expect("a total"), judge: of("judge").expect("a judge's time") }
    }
}

const ANSWER: &str = "The gate opens at 10:00 on weekdays.";

fn question() -> Value {
    let filler = "The river flows past the old stone table in the garden. ".repeat(24);
    json!({
        "project": crate::material::PROJECT,
        "query": "When does the gate open?",
        "answer": ANSWER,
        "evidence": [{ "source_id": "plan", "text": format!("{ANSWER} {filler}") }],
    })
}

fn verdict() -> Value {
    json!({
        "overall_verdict": "grounded",
        "claims": [{ "claim_text": ANSWER, "verdict": "grounded", "source_quote": ANSWER, "source_id": "plan",
            "confidence": "HIGH" }],
    })
}

async fn token(database: &Database) -> String {
    let store = Store::connect(&store::Settings::new(database.url(None))).expect("the settings are right");
    let token = NewToken::make();
    let added = store.add_token("bench", token.hash(), Role::Gate.as_str(), None).await;
    assert!(added.expect("the database answers"));
    store.close().await;
    token.expose().to_owned()
}

fn free_port() -> SocketAddr {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    port.expect("a port is free")
}

async fn listening(what: &str, address: SocketAddr) {
    wait_for(what, PATIENCE, async || std::net::TcpStream::connect(address).ok().map(drop)).await;
}
