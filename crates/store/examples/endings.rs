//! How many audits per second can be ended, over a real Postgres.
//!
//! `cargo run --release -p store --example endings -- [ENDINGS] [CALLERS]` with `DATABASE_URL` set. Makes a
//! database of its own and drops it. Each ending has a message of 8 KB, one attempt, four claims and
//! one event; every tenth is escalated.

#![expect(clippy::print_stdout, reason = "printing a figure is what this is for")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use audit::policy::Class;
use audit::record::{Attempt, AuditKey, Ending, Event, Opening, TraceRecord, derived_id};
use audit::routing::{Decision, Disposition, Reason, Routed};
use audit::{Claim, Evidence, MatchGrade, Report, Role, Span, Verdict};
use chrono::Utc;
use serde_json::json;
use sqlx::{AssertSqlSafe, ConnectOptions, postgres::PgConnectOptions};
use store::{Settings, Store};
use trace::{Kind, Trace, content_hash};
use uuid::Uuid;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        |default: usize| arguments.next().map_or(Ok(default), |argument| argument.parse::<usize>());
    let (endings, callers) = (number(30_000)?, number(512)?);
    let url = std::env::var("DATABASE_URL").map_err(|_| "DATABASE_URL is not set, see ./dev env")?;
    let mut admin = url.parse::<PgConnectOptions>()?.connect().await?;
    let name = format!("store_bench_{}", Uuid::now_v7().simple());
    sqlx::query(AssertSqlSafe(format!("create database {name}"))).execute(&mut admin).await?;
    let base = url.rsplit_once('/').map_or(url.as_str(), |(base, _)| base);
    let result = measure(&format!("{base}/{name}"), endings, callers).await;
    sqlx::query(AssertSqlSafe(format!("drop database {name} with (force)"))).execute(&mut admin).await?;
    result
}

async fn measure(url: &str, endings: usize, callers: usize) -> Outcome<()> {
    let settings = Settings::new(url);
    store::migrate(&settings).await?;
    let store = Store::connect(&settings)?;
    // Made beforehand: making up texts takes longer than storing them.
    let bench =
        Arc::new(Bench { store: store.clone(), samples: (0..64).map(sample).collect::<Outcome<_>>()? });
    // Plans and connections first, so that the figure is the steady one.
    let warm_up = callers * 4;
    run("warm-up", &bench, 0..warm_up, callers, finish).await?;
    run("endings", &bench, warm_up..warm_up + endings, callers, finish).await?;
    run("lookups", &bench, warm_up..warm_up + endings, callers, look_up).await?;
    store.close().await;
    Ok(())
}

struct Bench {
    store: Store,
    samples: Vec<Ending>,
}

impl Bench {
    fn key(&self, id: usize) -> AuditKey {
        let mut key = self.samples[id % self.samples.len()].key.clone();
        key.trace_id = format!("trace-{id}");
        key
    }

    fn ending(&self, id: usize) -> Ending {
        let mut ending = self.samples[id % self.samples.len()].clone();
        ending.key = self.key(id);
        ending.events[0].id = derived_id(ending.key.id(), "result");
        ending.ended_at = Utc::now();
        ending
    }
}

async fn finish(bench: Arc<Bench>, id: usize) -> Outcome<()> {
    bench.store.finish(bench.ending(id)).await?;
    Ok(())
}

async fn look_up(bench: Arc<Bench>, id: usize) -> Outcome<()> {
    bench.store.lookup(bench.key(id)).await?;
    Ok(())
}

/// Does `work` for each id, by as many callers as are told, each one thing after the other.
async fn run<W: Future<Output = Outcome<()>> + Send + 'static>(
    what: &str,
    bench: &Arc<Bench>,
    ids: std::ops::Range<usize>,
    callers: usize,
    work: fn(Arc<Bench>, usize) -> W,
) -> Outcome<()> {
    let (next, end, count) = (Arc::new(AtomicUsize::new(ids.start)), ids.end, ids.len());
    let begun = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (bench, next) = (Arc::clone(bench), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let id = next.fetch_add(1, Ordering::Relaxed);
                    if id >= end {
                        return Outcome::Ok(());
                    }
                    work(Arc::clone(&bench), id).await?;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let took = begun.elapsed();
    let rate = f64::from(u32::try_from(count)?) / took.as_secs_f64();
    println!("{what}: {count} in {took:.2?}, {rate:.0} per second");
    Ok(())
}

/// Words in an order that differs from id to id, so that compression has to work.
fn words(id: usize, count: usize) -> String {
    const WORDS: [&str; 16] = [
        "returns",
        "are",
        "free",
        "within",
        "thirty",
        "days",
        "of",
        "purchase",
        "customers",
        "may",
        "keep",
        "the",
        "receipt",
        "warranty",
        "covers",
        "repairs",
    ];
    let mut state = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    for _ in 0..count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(WORDS[state % WORDS.len()]);
        text.push_str(&format!("{} ", state % 97));
    }
    text
}

fn sample(id: usize) -> Outcome<Ending> {
    let chunks: Vec<_> = (0..5)
        .map(|at| json!({ "source_id": format!("s{at}"), "rank": at + 1, "text": words(id * 7 + at, 170) }))
        .collect();
    let message = json!({
        "schema": trace::SCHEMA, "trace_id": format!("trace-{id}"), "project": "bench",
        "query": words(id, 10), "answer": words(id + 1, 60),
        "retrieval": { "retrieved_at": "2025-06-15T10:00:00Z", "chunks": chunks },
    });
    let payload = message.to_string().into_bytes();
    let trace: Trace = serde_json::from_value(message)?;
    let key = AuditKey {
        project: trace.project.clone(),
        trace_id: trace.trace_id.clone(),
        content_hash: content_hash(&trace),
        kind: Kind::Faithfulness,
        generation: 0,
        repeat: 0,
    };
    let is_escalated = id.is_multiple_of(10);
    let report = Report {
        score: Some(if is_escalated { 0.75 } else { 1.0 }),
        claims: (0..4).map(|at| claim(id, at, is_escalated && at == 0)).collect(),
        coverage: Some(0.9),
        overall_assessment: words(id, 20),
        ..Report::default()
    };
    let reason = Reason {
        code: "critical_finding".into(),
        message: "1 critical finding".into(),
        claims: vec![0],
        decision: Decision::Block,
        urgent: true,
    };
    Ok(Ending {
        gate: None,
        events: vec![Event {
            id: derived_id(key.id(), "result"),
            exchange: "groundcrew.results".into(),
            routing_key: "audit.passed".into(),
            correlation_id: None,
            body: json!({ "audit_id": key.id(), "findings": words(id, 40) }),
        }],
        opening: Opening {
            prompt_version: "faithfulness/3".into(),
            prompt_hash: "ab".repeat(32),
            judge: "primary".into(),
            nonce: format!("n{id}"),
            cut: None,
            opened_at: Utc::now(),
        },
        attempts: vec![attempt(id, &payload)],
        trace: TraceRecord { trace, payload, received_at: Utc::now() },
        report: Some(report),
        comparison: None,
        routed: Routed {
            disposition: if is_escalated { Disposition::Escalated } else { Disposition::Passed },
            decision: Some(if is_escalated { Decision::Hold } else { Decision::Deliver }),
            severity: None,
            reasons: if is_escalated { vec![reason] } else { Vec::new() },
            urgent: false,
            blind_sample: false,
        },
        trace_problems: Vec::new(),
        provenance: json!({ "rank": "explicit", "source_id": "explicit", "retrieved_at": "explicit" }),
        uncalibrated: false,
        practice: false,
        ended_at: Utc::now(),
        key,
    })
}

fn claim(id: usize, at: usize, is_finding: bool) -> Claim {
    Claim {
        id: None,
        fabrication: None,
        text: words(id + at, 15),
        verdict: if is_finding { Verdict::Unsupported } else { Verdict::Grounded },
        judge_verdict: Some("grounded".into()),
        severity: None,
        confidence: None,
        explanation: words(id + at + 1, 20),
        evidence: vec![Evidence {
            role: Role::Supporting,
            source_id: format!("s{at}"),
            chunk: at,
            quote: words(id + at, 12),
            span: Span { start: 0, end: 60 },
            grade: MatchGrade::Exact,
        }],
        answer_span: Some(Span { start: at * 10, end: at * 10 + 9 }),
        by_rule: false,
    }
}

fn attempt(id: usize, payload: &[u8]) -> Attempt {
    let content = words(id + 3, 150);
    Attempt {
        unit: 0,
        number: 1,
        started_at: Utc::now(),
        latency: Duration::from_millis(900),
        judge: "primary".into(),
        model: "judge-large".into(),
        model_answered: Some("judge-large".into()),
        prompt_version: "faithfulness/3".into(),
        prompt_hash: "ab".repeat(32),
        request: [payload, words(id, 300).as_bytes()].concat(),
        raw_reply: Some(
            json!({ "choices": [{ "message": { "content": content } }] }).to_string().into_bytes(),
        ),
        content: Some(content),
        finish_reason: Some("stop".into()),
        http_status: Some(200),
        prompt_tokens: Some(3_000),
        completion_tokens: Some(400),
        cost_micros: Some(4_200),
        currency: Some("USD".into()),
        class: Class::Accepted,
        problems: json!([]),
        remedy: None,
    }
}
