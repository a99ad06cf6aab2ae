//! The rows that are written, each column named once: struct, array parameters and SQL come from one list.

mod convert;

use std::fmt::Write as _;

use chrono::{DateTime, NaiveDate, Utc};
use uuid::Uuid;

pub(crate) use convert::{stored_attempts, stored_trace};

/// Declares the columns of a table that batches write.
///
/// A batch is one statement over `unnest` of one array per column. `unnest` pads arrays of unequal
/// length with nulls without a word, so they are only ever filled row by row, by the code below.
macro_rules! table {
    ($(#[$meta:meta])* $name:ident = $table:literal { $($column:ident: $type:ty = $pg:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        pub(crate) struct $name { $(pub $column: $type),+ }

        impl $name {
            const COLUMNS: &'static [(&'static str, &'static str)] = &[$((stringify!($column), $pg)),+];

            /// The statement that inserts rows. `computed` are further columns with their expressions,
            /// `tail` is what follows the rows.
            pub(crate) fn insert(computed: &[(&str, &str)], tail: &str) -> String {
                insert($table, Self::COLUMNS, computed, tail)
            }

            /// That statement with these rows.
            pub(crate) fn bind<'q>(
                statement: &'static str,
                rows: impl IntoIterator<Item = Self>,
            ) -> sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments> {
                $(let mut $column = Vec::new();)+
                for row in rows {
                    $($column.push(row.$column);)+
                }
                sqlx::query(statement)$(.bind($column))+
            }
        }
    };
}

/// `insert into t (a, b) select row.a, row.b::jsonb from unnest($1::uuid[], $2::text[]) as row (a, b)`.
///
/// JSON travels as text and is parsed by the server, once.
fn insert(table: &str, columns: &[(&str, &str)], computed: &[(&str, &str)], tail: &str) -> String {
    let (mut names, mut values, mut arrays, mut aliases) =
        (String::new(), String::new(), String::new(), String::new());
    for (at, (name, pg)) in columns.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        // `final` is a word of Rust and no word of SQL.
        let name = name.trim_start_matches("r#");
        let (carrier, cast) = if *pg == "jsonb" { ("text", "::jsonb") } else { (*pg, "") };
        // Writing to a string cannot fail.
        let _ = write!(names, "{comma}{name}");
        let _ = write!(values, "{comma}row.{name}{cast}");
        let _ = write!(arrays, "{comma}${}::{carrier}[]", at + 1);
        let _ = write!(aliases, "{comma}{name}");
    }
    for (name, expression) in computed {
        let _ = write!(names, ", {name}");
        let _ = write!(values, ", {expression}");
    }
    let rows = format!("unnest({arrays}) as row ({aliases})");
    format!("insert into groundcrew.{table} ({names}) select {values} from {rows} {tail}")
}

table! {
    /// A row of `groundcrew.trace_rows`.
    TraceRow = "trace_rows" {
        id: Uuid = "uuid",
        project: String = "text",
        trace_id: String = "text",
        content_hash: Vec<u8> = "bytea",
        occurred_at: Option<DateTime<Utc>> = "timestamptz",
        origin: &'static str = "text",
        intent: &'static str = "text",
        risk: &'static str = "text",
        value: &'static str = "text",
        domain: Option<String> = "text",
        query: Option<String> = "text",
        answer: Option<String> = "text",
        generator_model: Option<String> = "text",
        generator_prompt_version: Option<String> = "text",
        content_owner: Option<String> = "text",
        chunk_count: i32 = "int4",
        human_faithful: Option<bool> = "bool",
        human_score: Option<f64> = "float8",
        human_labeler: Option<String> = "text",
        received_at: DateTime<Utc> = "timestamptz",
        payload_bytes: i64 = "int8",
    }
}

table! {
    /// A row of `groundcrew.trace_bodies`, without its time.
    TraceBodyRow = "trace_bodies" {
        trace_row: Uuid = "uuid",
        payload: Vec<u8> = "bytea",
    }
}

/// The time of a body is that of its row: both are written by one transaction.
pub(crate) const STORED_AT: (&str, &str) = ("stored_at", "now()");

table! {
    /// A row of `groundcrew.audits`.
    AuditRow = "audits" {
        id: Uuid = "uuid",
        trace_row: Uuid = "uuid",
        project: String = "text",
        trace_id: String = "text",
        content_hash: Vec<u8> = "bytea",
        kind: &'static str = "text",
        generation: i64 = "int8",
        repeat: i64 = "int8",
        disposition: Option<&'static str> = "text",
        decision: Option<&'static str> = "text",
        severity: Option<&'static str> = "text",
        score: Option<f64> = "float8",
        score_by_rule: bool = "bool",
        prompt_version: String = "text",
        prompt_hash: String = "text",
        judge: String = "text",
        nonce: String = "text",
        cut: Option<String> = "text",
        model_answered: Option<String> = "text",
        claims_total: Option<i32> = "int4",
        claims_grounded: Option<i32> = "int4",
        claims_contradicted: Option<i32> = "int4",
        claims_unsupported: Option<i32> = "int4",
        claims_insufficient: Option<i32> = "int4",
        omissions_total: Option<i32> = "int4",
        coverage: Option<f64> = "float8",
        doubts: String = "jsonb",
        discrepancies: String = "jsonb",
        notes: String = "jsonb",
        overall_assessment: Option<String> = "text",
        human_agreement: Option<bool> = "bool",
        discrepancy_notes: Option<String> = "text",
        reasons: String = "jsonb",
        trace_problems: String = "jsonb",
        provenance: String = "jsonb",
        uncalibrated: bool = "bool",
        practice: bool = "bool",
        urgent: bool = "bool",
        attempts_total: i32 = "int4",
        replies_total: i32 = "int4",
        opened_at: DateTime<Utc> = "timestamptz",
        ended_at: Option<DateTime<Utc>> = "timestamptz",
        r#final: bool = "bool",
    }
}

table! {
    /// A row of `groundcrew.attempt_rows`.
    AttemptRow = "attempt_rows" {
        audit_id: Uuid = "uuid",
        unit: i32 = "int4",
        number: i32 = "int4",
        fingerprint: Uuid = "uuid",
        started_at: DateTime<Utc> = "timestamptz",
        latency_us: i64 = "int8",
        judge: String = "text",
        model: String = "text",
        model_answered: Option<String> = "text",
        prompt_version: String = "text",
        prompt_hash: String = "text",
        request_bytes: i64 = "int8",
        finish_reason: Option<String> = "text",
        http_status: Option<i32> = "int4",
        prompt_tokens: Option<i64> = "int8",
        completion_tokens: Option<i64> = "int8",
        cost_micros: Option<i64> = "int8",
        currency: Option<String> = "text",
        class: &'static str = "text",
        problems: String = "jsonb",
        remedy: Option<&'static str> = "text",
    }
}

table! {
    /// A row of `groundcrew.attempt_bodies`, without its time.
    AttemptBodyRow = "attempt_bodies" {
        audit_id: Uuid = "uuid",
        unit: i32 = "int4",
        number: i32 = "int4",
        request: Vec<u8> = "bytea",
        raw_reply: Option<Vec<u8>> = "bytea",
        content: Option<String> = "text",
        content_raw: Option<Vec<u8>> = "bytea",
    }
}

/// An attempt as it is written: into two tables.
#[derive(Debug, Clone)]
pub(crate) struct StoredAttempt {
    pub row: AttemptRow,
    pub body: AttemptBodyRow,
}

/// A trace as it is written: into two tables.
#[derive(Debug, Clone)]
pub(crate) struct StoredTrace {
    pub row: TraceRow,
    pub body: TraceBodyRow,
}

/// The place of an attempt: audit, unit, number.
pub(crate) type Place = (Uuid, i32, i32);

impl AttemptRow {
    /// Where it stands.
    pub(crate) fn place(&self) -> Place {
        (self.audit_id, self.unit, self.number)
    }
}

table! {
    /// A row of `groundcrew.usage`, without the slot of the connection that writes it.
    UsageRow = "usage" {
        project: String = "text",
        day: NaiveDate = "date",
        currency: String = "text",
        worker: Uuid = "uuid",
        calls: i64 = "int8",
        replies: i64 = "int8",
        prompt_tokens: i64 = "int8",
        completion_tokens: i64 = "int8",
        replies_without_tokens: i64 = "int8",
        cost_micros: Option<i64> = "int8",
    }
}

table! {
    /// A row of `groundcrew.claims`.
    ClaimRow = "claims" {
        audit_id: Uuid = "uuid",
        index: i32 = "int4",
        text: String = "text",
        verdict: &'static str = "text",
        judge_verdict: Option<String> = "text",
        severity: Option<&'static str> = "text",
        confidence: Option<&'static str> = "text",
        explanation: String = "text",
        by_rule: bool = "bool",
        answer_start: Option<i64> = "int8",
        answer_end: Option<i64> = "int8",
        source_id: Option<String> = "text",
        evidence: String = "jsonb",
        claim_id: Option<String> = "text",
        fabrication: Option<&'static str> = "text",
    }
}

table! {
    /// A row of `groundcrew.omissions`.
    OmissionRow = "omissions" {
        audit_id: Uuid = "uuid",
        index: i32 = "int4",
        missing_fact: String = "text",
        available_evidence: String = "text",
        impact: String = "text",
        source_id: String = "text",
        chunk: i32 = "int4",
        chunk_start: i64 = "int8",
        chunk_end: i64 = "int8",
        grade: &'static str = "text",
    }
}

table! {
    /// A row of `groundcrew.review_items`.
    ReviewRow = "review_items" {
        id: Uuid = "uuid",
        audit_id: Uuid = "uuid",
        project: String = "text",
        trace_id: String = "text",
        kind: &'static str = "text",
        reasons: String = "jsonb",
        severity: Option<&'static str> = "text",
        urgent: bool = "bool",
        blind: bool = "bool",
        created_at: DateTime<Utc> = "timestamptz",
        evidence: String = "jsonb",
    }
}

table! {
    /// A row of `groundcrew.outbox`.
    EventRow = "outbox" {
        id: Uuid = "uuid",
        audit_id: Option<Uuid> = "uuid",
        exchange: String = "text",
        routing_key: String = "text",
        correlation_id: Option<String> = "text",
        body: Vec<u8> = "bytea",
        created_at: DateTime<Utc> = "timestamptz",
        available_at: DateTime<Utc> = "timestamptz",
        leased_until: Option<DateTime<Utc>> = "timestamptz",
        attempts: i32 = "int4",
    }
}

table! {
    /// A row of `groundcrew.gate_calls` that has ended.
    GateCallRow = "gate_calls" {
        id: Uuid = "uuid",
        project: String = "text",
        trace_id: String = "text",
        kind: &'static str = "text",
        channel: &'static str = "text",
        caller: Option<String> = "text",
        session: Option<String> = "text",
        regenerations: i32 = "int4",
        generation: i64 = "int8",
        idempotency_key: Option<String> = "text",
        body_hash: Option<Vec<u8>> = "bytea",
        audit_id: Uuid = "uuid",
        outcome: &'static str = "text",
        verdict: &'static str = "text",
        action: &'static str = "text",
        deadline_ms: Option<i64> = "int8",
        judge_us: i64 = "int8",
        total_us: Option<i64> = "int8",
        response: Option<String> = "text",
        received_at: DateTime<Utc> = "timestamptz",
        ended_at: DateTime<Utc> = "timestamptz",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_each_column_once_and_casts_json() {
        let sql =
            insert("t", &[("a", "uuid"), ("r#final", "jsonb")], &[("c", "1 + 1")], "on conflict do nothing");
        assert_eq!(
            sql,
            "insert into groundcrew.t (a, final, c) select row.a, row.final::jsonb, 1 + 1 \
             from unnest($1::uuid[], $2::text[]) as row (a, final) on conflict do nothing"
        );
    }
}
