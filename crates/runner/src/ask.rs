//! One call of the judge, written down as an attempt.

use audit::policy::Class;
use audit::prompt::Rendered;
use audit::record::{Attempt, Opening};
use audit::reply::{Code, Problem};
use audit::{Outcome, Unit, assess, kinds};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use judge::{JudgeError, Reply};
use serde_json::{Value, json};
use trace::{Kind, Trace};

/// What is said of a reply that its provider marked; the mark itself is not in its words.
pub(crate) const MARKED_REFUSAL: &str = "the provider marked the reply as a refusal";

/// What is known about a call before it is made.
pub(crate) struct Call<'a> {
    pub(crate) kind: Kind,
    pub(crate) trace: &'a Trace,
    pub(crate) opening: &'a Opening,
    pub(crate) prompt_hash: &'a str,
    /// The profile that is asked, which need not be the audit's own.
    pub(crate) judge: &'a str,
    pub(crate) model: &'a str,
    /// The unit's number.
    pub(crate) at: u32,
    pub(crate) number: u32,
    pub(crate) unit: &'a Unit,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) request: Bytes,
}

/// The question that carries a rendered prompt.
pub(crate) fn question(
    spec: &kinds::Spec,
    unit: &Unit,
    rendered: Rendered,
    trace: &Trace,
) -> judge::Question {
    let (schema, name): (Value, &str) = match unit {
        Unit::Extraction(_) => (kinds::extraction::schema(), kinds::extraction::SCHEMA_NAME),
        _ => ((spec.schema)(), spec.kind.as_str()),
    };
    judge::Question {
        system: rendered.system,
        user: rendered.user,
        schema,
        schema_name: name.to_owned(),
        output_chars: unit.covered_chars(trace.answer.as_deref().unwrap_or_default()),
        trace_id: trace.trace_id.clone(),
    }
}

impl Call<'_> {
    fn blank(&self, class: Class, problems: &[Problem]) -> Attempt {
        Attempt {
            unit: self.at,
            number: self.number,
            started_at: self.started_at,
            latency: std::time::Duration::ZERO,
            judge: self.judge.to_owned(),
            model: self.model.to_owned(),
            model_answered: None,
            prompt_version: self.opening.prompt_version.clone(),
            // The text that was sent, also where somebody changed it under its version.
            prompt_hash: self.prompt_hash.to_owned(),
            request: self.request.to_vec(),
            raw_reply: None,
            content: None,
            finish_reason: None,
            http_status: None,
            prompt_tokens: None,
            completion_tokens: None,
            cost_micros: None,
            currency: None,
            class,
            problems: json!(problems),
            remedy: None,
        }
    }

    /// A reply that came back whole.
    pub(crate) fn replied(&self, reply: Reply) -> Attempt {
        let (class, problems) = self.judge(&reply);
        Attempt {
            latency: reply.latency,
            model_answered: reply.model,
            raw_reply: Some(reply.body),
            content: Some(reply.refusal.unwrap_or(reply.content)),
            finish_reason: reply.finish_reason,
            http_status: Some(200),
            prompt_tokens: reply.usage.map(|usage| usage.prompt),
            completion_tokens: reply.usage.map(|usage| usage.completion),
            cost_micros: reply.cost.as_ref().map(|cost| cost.micros),
            currency: reply.cost.map(|cost| cost.currency),
            ..self.blank(class, &problems)
        }
    }

    fn judge(&self, reply: &Reply) -> (Class, Vec<Problem>) {
        if reply.refusal.is_some() {
            let problem = Problem::new(Code::Refused, "$", MARKED_REFUSAL);
            return (Class::Refusal, vec![problem]);
        }
        match assess(self.kind, self.trace, self.unit, &reply.content, reply.finish_reason.as_deref()) {
            Ok(assessment) if reply.reasoning_only && assessment.outcome == Outcome::Format => {
                (Class::Format, vec![reasoning_only(reply.finish_reason.as_deref())])
            }
            Ok(assessment) => (class_of(assessment.outcome), assessment.problems),
            // The kind was looked up before the call was made.
            Err(unavailable) => {
                (Class::Permanent, vec![Problem::new(Code::Refused, "$", unavailable.to_string())])
            }
        }
    }

    /// A call that was stopped while somebody waited for it. None when nothing was sent.
    pub(crate) fn cut_off(&self, error: &JudgeError) -> Option<Attempt> {
        error.sent.then(|| Attempt {
            latency: error.latency,
            problems: json!([{ "code": "interrupted", "path": "$", "message": error.in_full() }]),
            ..self.blank(Class::Transport, &[])
        })
    }

    /// A call that brought no reply. None when it is no attempt: nothing was sent, or we stopped it ourselves.
    pub(crate) fn failed(&self, error: &JudgeError) -> Option<Attempt> {
        if !error.sent || error.class == judge::Class::Interrupted {
            return None;
        }
        let (class, code) = match error.class {
            judge::Class::Transport | judge::Class::Interrupted => (Class::Transport, None),
            judge::Class::Throttle => (Class::Throttle, None),
            judge::Class::Permanent => (Class::Permanent, None),
            judge::Class::ContextTooLong => (Class::ContextTooLong, None),
            judge::Class::Refusal => (Class::Refusal, Some(Code::Refused)),
            judge::Class::Oversized => (Class::Format, Some(Code::Truncated)),
        };
        let problems = match code {
            Some(code) => json!([Problem::new(code, "$", error.in_full())]),
            None => json!([{ "code": class.as_str(), "path": "$", "message": error.message }]),
        };
        Some(Attempt {
            latency: error.latency,
            raw_reply: (!error.body.is_empty()).then(|| error.body.clone()),
            http_status: error.status,
            problems,
            ..self.blank(class, &[])
        })
    }
}

/// What is wrong with a reply whose reasoning stands beside a content that is empty.
fn reasoning_only(finish_reason: Option<&str>) -> Problem {
    let message = match finish_reason {
        Some("length") => {
            "the reply is empty: its tokens went into reasoning; raise reasoning_tokens or max_tokens"
        }
        _ => "the reply is reasoning only; expected one JSON object",
    };
    Problem::new(Code::Empty, "$", message)
}

/// The class of a reply that was received in full.
pub(crate) fn class_of(outcome: Outcome) -> Class {
    match outcome {
        Outcome::Accepted => Class::Accepted,
        Outcome::Format => Class::Format,
        Outcome::Content => Class::Content,
        Outcome::Refusal => Class::Refusal,
    }
}
