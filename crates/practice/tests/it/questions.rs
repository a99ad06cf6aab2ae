//! Questions as the runner asks them, and what verification says about the replies.

use audit::{
    Assessment, Unit,
    kinds::{Spec, extraction},
    prompt::{Library, Rendered, render},
    units::{self, Cut, Extraction},
};
use practice::Server;
use serde_json::{Value, json};
use trace::Trace;

use crate::client::{Raw, ask_raw, body_in, named};

/// One call about one unit of a trace.
#[derive(Clone)]
pub struct Question<'a> {
    pub spec: &'static Spec,
    pub trace: &'a Trace,
    pub unit: Unit,
}

impl Question<'_> {
    /// The schema's name.
    pub fn name(&self) -> &'static str {
        if self.is_extraction() { extraction::SCHEMA_NAME } else { self.spec.kind.as_str() }
    }

    /// What is asked about what, for messages.
    pub fn label(&self) -> String {
        format!("{} about {:?} of {:?}", self.name(), self.unit, self.trace.answer)
    }

    pub fn is_extraction(&self) -> bool {
        matches!(self.unit, Unit::Extraction(_))
    }

    pub fn rendered(&self) -> Rendered {
        let library = Library::embedded().unwrap();
        let prompt = library.current(self.spec.kind).unwrap();
        render(prompt, self.spec, self.trace, &self.unit, "w7k2", None)
    }

    pub async fn ask(&self, server: &Server) -> Raw {
        self.ask_in(server, &named(self.name())).await
    }

    /// Asks in a dialect: what stands as its `response_format`.
    pub async fn ask_in(&self, server: &Server, response_format: &Value) -> Raw {
        let rendered = self.rendered();
        ask_raw(server, "t", &body_in(response_format, &rendered.system, &rendered.user)).await
    }

    /// The dialects that carry no name.
    pub fn nameless_dialects(&self) -> [Value; 3] {
        let schema = if self.is_extraction() { extraction::schema() } else { (self.spec.schema)() };
        [json!(null), json!({ "type": "json_object" }), json!({ "type": "json_object", "schema": schema })]
    }

    pub fn assess(&self, raw: &Raw) -> Assessment {
        let choice = raw.choice();
        let content = choice["message"]["content"].as_str().unwrap_or_default();
        let finish_reason = choice["finish_reason"].as_str();
        audit::assess(self.spec.kind, self.trace, &self.unit, content, finish_reason).unwrap()
    }
}

/// All first questions about a trace: every kind, with the answer whole or cut small, and the call that only
/// lists the claims.
pub fn questions(trace: &Trace, is_small: bool) -> Vec<Question<'_>> {
    let (max_chars, claims_per_call) = if is_small { (30, 1) } else { (10_000, 100) };
    let kinds = audit::kinds::ALL
        .iter()
        .flat_map(|spec| [Extraction::Sentences, Extraction::Judge].map(|extraction| (*spec, extraction)));
    let mut questions: Vec<Question<'_>> = Vec::new();
    for (spec, extraction) in kinds {
        for unit in units::first(spec, trace, Cut { max_chars, claims_per_call, extraction }) {
            let is_known = |known: &Question<'_>| known.spec.kind == spec.kind && known.unit == unit;
            if !questions.iter().any(is_known) {
                questions.push(Question { spec, trace, unit });
            }
        }
    }
    questions
}
