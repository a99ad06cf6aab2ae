//! How long the desk's lists take with many open items, over a real Postgres.
//!
//! `cargo run --release -p store --example queue -- [ITEMS] [RUNS]` with `DATABASE_URL` set. Makes a database of its
//! own, loads it with open items of 20 projects, each with a message of about 1.5 KB, and drops it.

#![expect(clippy::print_stdout, reason = "printing a figure is what this is for")]

use std::error::Error;
use std::time::{Duration, Instant};

use audit::review::List;
use sqlx::{AssertSqlSafe, ConnectOptions, postgres::PgConnectOptions};
use store::review::{Assignee, QueueFilter, QueuePlace};
use store::{Settings, Store};
use uuid::Uuid;

/// What the desk gives a search.
const SEARCH_BUDGET: Duration = Duration::from_millis(70);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().map_or(Ok(default), |argument| argument.parse::<u32>());
    let (items, runs) = (number(100_000)?, number(20)?);
    let url = std::env::var("DATABASE_URL").map_err(|_| "DATABASE_URL is not set, see ./dev env")?;
    let mut admin = url.parse::<PgConnectOptions>()?.connect().await?;
    let name = format!("store_queue_{}", Uuid::now_v7().simple());
    sqlx::query(AssertSqlSafe(format!("create database {name}"))).execute(&mut admin).await?;
    let base = url.rsplit_once('/').map_or(url.as_str(), |(base, _)| base);
    let result = measure(&format!("{base}/{name}"), items, runs).await;
    sqlx::query(AssertSqlSafe(format!("drop database {name} with (force)"))).execute(&mut admin).await?;
    result
}

/// Traces, audits and items: number, project, severity and reasons follow from each other.
const LOAD: &str = "
    create temp table each on commit drop as
        select number, md5('trace' || number)::uuid as trace, md5('audit' || number)::uuid as audit,
            'project-' || number % 20 as project, 'trace-' || number as trace_id,
            (array['minor', 'major', 'major', 'critical'])[number % 4 + 1] as severity, number % 400 = 3 as urgent,
            now() - (number % 10000) * interval '1 minute' as at,
            repeat('The ferry to Norrey leaves pier ' || number || ' at 07:40. ', 12) as answer
        from generate_series(1, $1) as number;
    insert into groundcrew.trace_rows (id, project, trace_id, content_hash, origin, intent, risk, value, query, answer,
            chunk_count, received_at, payload_bytes)
        select trace, project, trace_id, sha256(trace_id::bytea), 'sample', 'factual', 'standard', 'normal',
            'How do I get to Norrey from pier ' || number || '?', answer, 3, at, 0 from each;
    insert into groundcrew.audits (id, trace_row, project, trace_id, content_hash, kind, generation, repeat, disposition,
            decision, severity, prompt_version, prompt_hash, judge, nonce, opened_at, ended_at)
        select audit, trace, project, trace_id, sha256(trace_id::bytea), 'faithfulness', 0, 0, 'escalated', 'hold', severity,
            'f-1', 'x', 'j', 'n', at, at from each;
    insert into groundcrew.review_items (id, audit_id, project, trace_id, kind, reasons, severity, urgent, blind, created_at,
            evidence)
        select md5('item' || number)::uuid, audit, project, trace_id, 'faithfulness',
            jsonb_build_array(
                jsonb_build_object('code', severity || '_finding', 'message', 'x', 'claims', '[1]'::jsonb),
                jsonb_build_object('code', (array['score_below_threshold', 'high_risk', 'human_disagreement'])[number % 3 + 1])
            ),
            severity, urgent, false, at, jsonb_build_object('answer', answer, 'query', 'How?', 'flagged', answer) from each";

async fn measure(url: &str, items: u32, runs: u32) -> Outcome<()> {
    let settings = Settings { statement_timeout: Duration::from_secs(300), ..Settings::new(url) };
    store::migrate(&settings).await?;
    let pool = sqlx::PgPool::connect(url).await?;
    let mut transaction = pool.begin().await?;
    for statement in LOAD.split(";\n") {
        let statement = statement.replace("$1", &items.to_string());
        sqlx::query(AssertSqlSafe(statement)).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    // What autovacuum does by itself after a while.
    sqlx::query("vacuum analyze").execute(&pool).await?;
    let store = Store::connect(&settings)?;
    let any = QueueFilter::default();
    let first = store.review_queue(List::Findings, &any, None, 51).await?;
    let middle = first.last().map(|it| QueuePlace { rank: 2, at: it.created_at, id: it.id });
    let text = |text: &str| QueueFilter { text: Some(text.into()), ..QueueFilter::default() };
    let cases: [(&str, QueueFilter, Option<QueuePlace>); 7] = [
        ("first page", any.clone(), None),
        ("a page in the middle", any.clone(), middle),
        ("of one project", QueueFilter { project: Some("project-7".into()), ..any.clone() }, None),
        ("of one reason", QueueFilter { reason: Some("critical_finding".into()), ..any.clone() }, None),
        ("nobody's", QueueFilter { assignee: Some(Assignee::Nobody), ..any.clone() }, None),
        ("words that many have", text("norrey"), None),
        ("words that nobody has", text("submarine"), None),
    ];
    println!("{items} open items, {runs} runs each");
    for (name, filter, after) in &cases {
        let mut times = Vec::new();
        for _ in 0..runs {
            let began = Instant::now();
            store.review_queue(List::Findings, filter, *after, 51).await?;
            times.push(began.elapsed());
        }
        print(name, times);
    }
    for (name, words) in [
        ("search: many have it", "norrey"),
        ("search: nobody has it", "submarine"),
        ("search: an id", "trace-99999"),
    ] {
        let (mut times, mut looked_at) = (Vec::new(), 0);
        for _ in 0..runs {
            let began = Instant::now();
            let searched =
                store.review_search(Some(List::Findings), &text(words), None, 51, SEARCH_BUDGET).await?;
            times.push(began.elapsed());
            looked_at = searched.looked_at;
        }
        print(name, times);
        println!("{:<24} looked at {looked_at} items in the last run", "");
    }
    let (mut counts, mut projects) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let began = Instant::now();
        store.review_counts(None).await?;
        counts.push(began.elapsed());
        let began = Instant::now();
        store.review_projects(None).await?;
        projects.push(began.elapsed());
    }
    print("counts by reason", counts);
    print("projects", projects);
    store.close().await;
    Ok(())
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let ms = |at: usize| times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    println!(
        "{name:<24} median {:>8.1} ms   slowest {:>8.1} ms",
        ms(times.len() / 2),
        ms(times.len().saturating_sub(1))
    );
}
