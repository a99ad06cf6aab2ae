//! Audits run against judges that misbehave, without any other service.

#![expect(clippy::unwrap_used, reason = "in a test a panic is how things fail")]

mod fallback;
mod replies;
mod terms;

use std::time::Duration;

use audit::policy::Policy;
use audit::prompt::Library;
use audit::record::{Attempt, AuditKey, TraceRecord};
use audit::units::{Cut, Extraction};
use chrono::Utc;
use judge::{Judge, Judges, Limits, Profile, ProfileSettings};
use practice::{Fault, Faults, Server, Settings};
use runner::memory::MemorySink;
use runner::{Delivery, Run, Runner, Terms};
use tokio_util::sync::CancellationToken;
use trace::{Kind, Requirements};

const TRACE: &str = r#"{
    "schema": "groundcrew.trace/v1", "trace_id": "t1", "project": "harbour",
    "query": "When does the first ferry leave, and what is a ticket?",
    "answer": "The first ferry leaves pier 3 at 07:40. A single ticket costs 9 euro.",
    "retrieval": { "retrieved_at": "2026-05-04T09:15:00Z", "chunks": [
        { "source_id": "timetable", "rank": 1, "text": "The first ferry leaves pier 3 at 07:40." },
        { "source_id": "fares", "rank": 2, "text": "A single ticket costs 9 euro." }
    ] }
}"#;

/// A judge that does the same to every question.
pub struct TestJudge {
    server: Server,
}

impl TestJudge {
    /// Starts it; without a fault it answers honestly.
    pub async fn start(fault: Option<Fault>) -> TestJudge {
        let faults = fault.map(Faults::always).unwrap_or_default();
        let settings = Settings { faults, ..Settings::default() };
        TestJudge { server: Server::start("127.0.0.1:0".parse().unwrap(), settings).await.unwrap() }
    }

    /// One that takes its time before it does the same to every question.
    pub async fn slow(fault: Fault, latency_ms: u64) -> TestJudge {
        let settings = Settings { faults: Faults::always(fault), latency_ms, ..Settings::default() };
        TestJudge { server: Server::start("127.0.0.1:0".parse().unwrap(), settings).await.unwrap() }
    }

    /// A profile of that name for it.
    pub fn judge(&self, name: &str) -> Judge {
        judge(name, &self.server.base_url())
    }

    /// Questions that it received.
    pub fn calls(&self) -> u64 {
        self.server.calls("t1").received
    }
}

/// A judge at an address, whose model is named after it.
pub fn judge(name: &str, base_url: &str) -> Judge {
    let settings = ProfileSettings {
        practice: true,
        max_tokens: Some(4000),
        ..ProfileSettings::new(name, base_url, format!("model-of-{name}"))
    };
    Judge::new(Profile::new(settings).unwrap(), &Limits::default()).unwrap()
}

/// Runs one audit; returns how it ended and all attempts.
pub async fn run(judges: Judges) -> (Run, Vec<Attempt>) {
    run_on(judges, Terms::default()).await
}

/// The same, on these terms.
pub async fn run_on(judges: Judges, terms: Terms) -> (Run, Vec<Attempt>) {
    let settings = runner::Settings {
        cut: Cut { max_chars: 6000, claims_per_call: 8, extraction: Extraction::Sentences },
        prompts: Library::embedded().unwrap(),
        quick_tries: 3,
        delays: judge::delay::DelaySettings {
            initial: Duration::from_millis(1),
            cap: Duration::from_millis(2),
            ..judge::delay::DelaySettings::default()
        },
        max_age: Duration::from_secs(3600),
    };
    let trace = trace::decode(TRACE.as_bytes()).unwrap();
    let delivery = Delivery {
        key: AuditKey {
            project: trace.project.clone(),
            trace_id: trace.trace_id.clone(),
            content_hash: trace::content_hash(&trace),
            kind: Kind::Faithfulness,
            generation: 0,
            repeat: 0,
        },
        trace: TraceRecord { trace, payload: TRACE.into(), received_at: Utc::now() },
        opening: None,
        attempts: Vec::new(),
        first_seen: Utc::now(),
        reply_to: None,
        requirements: Requirements::default(),
        routing: audit::routing::Policy::default(),
        policy: Policy::of(Kind::Faithfulness),
        gate: None,
    };
    let sink = MemorySink::default();
    let run = Runner::new(judges, settings)
        .run_on(delivery, terms, &sink, &CancellationToken::new())
        .await
        .unwrap();
    let mut attempts: Vec<Attempt> = sink.attempts().into_iter().map(|(_, attempt)| attempt).collect();
    if let Run::Ended(ending) = &run {
        attempts.extend(ending.attempts.clone());
    }
    (run, attempts)
}

/// Who was asked, with which model, and how it ended.
pub fn summary(attempts: &[Attempt]) -> Vec<(&str, &str, &'static str)> {
    attempts
        .iter()
        .map(|attempt| (attempt.judge.as_str(), attempt.model.as_str(), attempt.class.as_str()))
        .collect()
}
