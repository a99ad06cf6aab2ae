//! What a caller of the gate sends, read into a trace. Pure.

use std::time::Duration;

use axum::http::StatusCode;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use trace::contract::MAX_ID_CHARS;
use trace::{Kind, Provenance, Readiness, Requirements, Trace, completeness};

use crate::problem::{Problem, Refusal};
use crate::settings::GateSettings;

/// A question to the gate that can be judged.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// `gate` or `evidence_check`.
    pub(crate) kind: Kind,
    /// The trace that is made of it.
    pub(crate) trace: Trace,
    /// That trace as it is stored.
    pub(crate) payload: Vec<u8>,
    /// Whether the caller named the trace, so that there may be others of its name.
    pub(crate) is_named: bool,
    /// The caller's session.
    pub(crate) session: Option<String>,
    /// How long the caller waits.
    pub(crate) deadline: Duration,
}

/// What may be left out of the evidence: its time is that of the call, its order its rank, and an id can be made.
pub(crate) const REQUIREMENTS: Requirements = Requirements {
    retrieved_at: Some(Provenance::FromSpan),
    rank: Some(Provenance::ListOrder),
    source_id: Some(Provenance::Synthetic),
};

/// Fields that mean what they mean in a trace.
const OF_TRACE: [&str; 11] = [
    "project",
    "trace_id",
    "query",
    "answer",
    "intent",
    "risk",
    "domain",
    "value",
    "generator",
    "content_owner",
    "metadata",
];

/// Fields of the gate alone.
const OF_GATE: [&str; 6] = ["schema", "kind", "response", "evidence", "session", "deadline_ms"];

/// The schema of the body, for callers that like to say it.
pub(crate) const SCHEMA: &str = "groundcrew.gate/v1";

/// Reads the body of a call. `trace_id` is for callers that name none, `now` is when it came.
///
/// # Errors
/// 400 when it is not a JSON object, with line and column; 422 with every field that is wrong.
pub(crate) fn read(
    body: &[u8],
    trace_id: &str,
    now: DateTime<Utc>,
    settings: &GateSettings,
) -> Result<Asked, Refusal> {
    let mut fields = object(body)?;
    let mut problems = unknown(&fields);
    let kind = kind(&mut fields, &mut problems);
    let session = session(&mut fields, &mut problems);
    let deadline = deadline(&mut fields, settings, &mut problems);
    if let Some(response) = fields.remove("response").filter(|response| !response.is_null()) {
        let is_twice = fields.get("answer").is_some_and(|answer| !answer.is_null());
        if is_twice {
            problems.push(Problem::new("$.response", "means the same as answer; send one of them"));
        }
        fields.insert("answer".to_owned(), response);
    }
    let is_named = fields.get("trace_id").is_some_and(|id| !id.is_null());
    let evidence = fields.remove("evidence").filter(|evidence| !evidence.is_null());
    match &evidence {
        None => problems.push(Problem::new("$.evidence", "missing: the answer is held against it")),
        Some(Value::Array(chunks)) if chunks.is_empty() => {
            problems.push(Problem::new(
                "$.evidence",
                "is empty: without evidence there is nothing to hold the answer against",
            ));
        }
        Some(_) => {}
    }
    fields.retain(|key, _| OF_TRACE.contains(&key.as_str()));
    fields.insert("schema".to_owned(), json!(trace::contract::SCHEMA));
    if !is_named {
        fields.insert("trace_id".to_owned(), json!(trace_id));
    }
    fields.insert("occurred_at".to_owned(), json!(now.to_rfc3339_opts(SecondsFormat::Micros, true)));
    fields.insert("audits".to_owned(), json!([kind]));
    fields.insert("retrieval".to_owned(), json!({ "chunks": evidence }));
    let payload = Value::Object(fields).to_string().into_bytes();
    let trace = match trace::decode(&payload) {
        Ok(trace) => Some(trace),
        Err(undecodable) => {
            add(&mut problems, undecodable.problems);
            None
        }
    };
    match trace.as_ref().map(|trace| completeness::check(trace, kind, &REQUIREMENTS)) {
        Some(Readiness::Incomplete(found)) => add(&mut problems, found),
        Some(Readiness::NotApplicable(why)) if problems.is_empty() => {
            problems.push(Problem::new("$.intent", why));
        }
        _ => {}
    }
    match trace {
        Some(trace) if problems.is_empty() => Ok(Asked { kind, trace, payload, is_named, session, deadline }),
        _ => Err(Refusal::unprocessable(problems)),
    }
}

/// The JSON object in the body.
fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let before = &body[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        Refusal::malformed(format!("the body is not UTF-8, at line {line} column {column}")).at(line, column)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document = trace::json::read(text).map_err(|error| {
        Refusal::malformed(format!("the body is not JSON: {error}")).at(error.line(), error.column())
    })?;
    if !document.duplicate_keys.is_empty() {
        let twice = document.duplicate_keys.iter();
        let problem =
            |path: &String| Problem::new(path, "is given more than once; which one counts is unclear");
        return Err(Refusal::unprocessable(twice.map(problem).collect()));
    }
    match document.value {
        Value::Object(fields) => Ok(fields),
        _ => {
            Err(Refusal::new(StatusCode::BAD_REQUEST, "malformed", "the body is JSON and no object").at(1, 1))
        }
    }
}

/// A misspelt field would be a wish that is not heard.
fn unknown(fields: &Map<String, Value>) -> Vec<Problem> {
    let is_known = |key: &str| OF_TRACE.contains(&key) || OF_GATE.contains(&key);
    let unknown = fields.keys().filter(|key| !is_known(key));
    let known = OF_GATE.iter().chain(&OF_TRACE).copied().collect::<Vec<_>>().join(", ");
    unknown
        .map(|key| {
            let shown: String = key.chars().filter(|c| !c.is_control()).take(60).collect();
            Problem::new(format!("$.{shown}"), format!("is no field of a call; those are {known}"))
        })
        .collect()
}

fn kind(fields: &mut Map<String, Value>, problems: &mut Vec<Problem>) -> Kind {
    match fields.remove("schema") {
        None | Some(Value::Null) => {}
        Some(schema) if schema == SCHEMA => {}
        Some(_) => problems.push(Problem::new("$.schema", format!("expected \"{SCHEMA}\", or nothing"))),
    }
    match fields.remove("kind") {
        None | Some(Value::Null) => Kind::Gate,
        Some(kind) if kind == Kind::Gate.as_str() => Kind::Gate,
        Some(kind) if kind == Kind::EvidenceCheck.as_str() => Kind::EvidenceCheck,
        Some(_) => {
            problems.push(Problem::new("$.kind", "expected \"gate\" or \"evidence_check\""));
            Kind::Gate
        }
    }
}

fn session(fields: &mut Map<String, Value>, problems: &mut Vec<Problem>) -> Option<String> {
    match fields.remove("session") {
        None | Some(Value::Null) => None,
        Some(Value::String(session)) if is_id(&session) => Some(session),
        Some(_) => {
            let message = format!("expected a text of 1 to {MAX_ID_CHARS} characters, not blank");
            problems.push(Problem::new("$.session", message));
            None
        }
    }
}

fn is_id(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MAX_ID_CHARS && !text.contains('\0')
}

fn deadline(
    fields: &mut Map<String, Value>,
    settings: &GateSettings,
    problems: &mut Vec<Problem>,
) -> Duration {
    let most = settings.max_deadline.as_millis();
    match fields.remove("deadline_ms") {
        None | Some(Value::Null) => settings.deadline,
        Some(value) => match value.as_u64().filter(|ms| *ms > 0 && u128::from(*ms) <= most) {
            Some(ms) => Duration::from_millis(ms),
            None => {
                let message =
                    format!("expected a whole number of milliseconds from 1 to {most} (gate.max_deadline_s)");
                problems.push(Problem::new("$.deadline_ms", message));
                settings.deadline
            }
        },
    }
}

/// Adds problems of the trace under the paths that the caller knows. What is said already is not said twice.
fn add(problems: &mut Vec<Problem>, found: Vec<Problem>) {
    for problem in found {
        let path = match problem.path.strip_prefix("$.retrieval.chunks") {
            Some(rest) => format!("$.evidence{rest}"),
            None => problem.path.clone(),
        };
        if !problems.iter().any(|known| known.path == path) {
            problems.push(Problem { path, ..problem });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;
    use proptest::prelude::*;

    fn body() -> Value {
        json!({
            "project": "p", "query": "When?", "answer": "At nine.",
            "evidence": [{ "source_id": "a", "text": "It opens at nine." }],
        })
    }

    fn ask(body: &[u8]) -> Result<Asked, Refusal> {
        read(body, "made", DateTime::UNIX_EPOCH, &GateSettings::default())
    }

    fn with(path: &str, value: Option<Value>) -> Result<Asked, Refusal> {
        let mut body = body();
        let object = body.as_object_mut().unwrap();
        match value {
            Some(value) => object.insert(path.to_owned(), value),
            None => object.remove(path),
        };
        ask(body.to_string().as_bytes())
    }

    fn refused(asked: Result<Asked, Refusal>) -> (u16, String) {
        let refusal = asked.unwrap_err();
        (refusal.status().as_u16(), format!("{refusal:?}"))
    }

    #[test]
    fn a_call_becomes_a_trace() {
        let asked = ask(body().to_string().as_bytes()).unwrap();
        assert_eq!((asked.kind, asked.is_named, asked.session), (Kind::Gate, false, None));
        assert_eq!(asked.trace.trace_id, "made");
        assert_eq!(asked.trace.chunks()[0].text.as_deref(), Some("It opens at nine."));
        assert_eq!(asked.deadline, GateSettings::default().deadline);
        assert_eq!(trace::decode(&asked.payload).unwrap(), asked.trace);
        assert!(with("query", None).is_ok(), "the user's question may be left out");
        assert!(with("evidence", Some(json!([{ "text": "x y z" }]))).is_ok(), "ids can be made");
        assert!(with("trace_id", Some(json!("mine"))).unwrap().is_named);
        let renamed = json!({ "project": "p", "response": "At nine.", "evidence": [{ "text": "At nine." }] });
        assert_eq!(ask(renamed.to_string().as_bytes()).unwrap().trace.answer.as_deref(), Some("At nine."));
    }

    #[test]
    fn each_field_that_is_wrong_is_named() {
        for (field, value, path) in [
            ("evidence", None, "$.evidence"),
            ("evidence", Some(json!([])), "$.evidence"),
            ("evidence", Some(json!([{ "source_id": "a" }])), "$.evidence[0].text"),
            ("evidence", Some(json!("text")), "$.evidence"),
            ("answer", None, "$.answer"),
            ("answer", Some(json!(5)), "$.answer"),
            ("response", Some(json!("too")), "$.response"),
            ("project", None, "$.project"),
            ("kind", Some(json!("faithfulness")), "$.kind"),
            ("session", Some(json!(" ")), "$.session"),
            ("deadline_ms", Some(json!(0)), "$.deadline_ms"),
            ("deadline_ms", Some(json!(1e12)), "$.deadline_ms"),
            ("risk", Some(json!("huge")), "$.risk"),
            ("intent", Some(json!("creative")), "$.intent"),
            ("evidences", Some(json!([])), "$.evidences"),
            ("schema", Some(json!("v0")), "$.schema"),
        ] {
            let (status, said) = refused(with(field, value.clone()));
            assert_eq!(status, 422, "{field} {value:?}");
            assert!(said.contains(&format!("{path:?}")), "{field} {value:?}: {said}");
        }
    }

    #[test]
    fn what_is_no_json_is_told_where() {
        let (status, said) = refused(ask(b"{\n  \"project\": \"p\",\n  oops\n}"));
        assert_eq!(status, 400);
        assert!(said.contains("(3, 3)"), "{said}");
        assert_eq!(refused(ask(b"[]")).0, 400);
        assert_eq!(refused(ask(b"")).0, 400);
        assert!(refused(ask(b"{\n\"a\": \"\xff\"}")).1.contains("(2, 7)"));
        assert_eq!(refused(ask(b"{\"project\":\"a\",\"project\":\"b\"}")).0, 422);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Err(refusal) = ask(&bytes) {
                prop_assert!(refusal.into_response().status().is_client_error());
            }
        }
    }
}
