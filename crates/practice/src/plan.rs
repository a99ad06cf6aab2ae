//! From a request to what is sent back, as a pure function of settings, request, trace and number of the call.

use std::{borrow::Cow, time::Duration};

use axum::body::Bytes;
use serde_json::Value;

use crate::{
    canned::CannedReply,
    dice::Dice,
    envelope::{self, ChatRequest, Said},
    faults::Fault,
    honest::{self, Blocks},
    misbehave::{self, BROKEN_MARK, Base},
    settings::Settings,
    shape::{Reply, Shape},
};

/// What is sent back, when and how.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) status: u16,
    pub(crate) html: bool,
    pub(crate) retry_after_s: Option<u64>,
    pub(crate) body: Bytes,
    pub(crate) delay: Duration,
    pub(crate) delivery: Delivery,
    /// The fault that was done, for the curious.
    pub(crate) fault: Option<Fault>,
}

/// How the body goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// One byte at a time.
    Drip,
    /// Announced whole, and cut in the middle.
    Cut,
    /// Never.
    Hang,
}

impl Plan {
    /// Whether the reply counts as an answer of the judge once it is sent whole.
    pub(crate) fn is_answer(&self) -> bool {
        let sent_whole = matches!(self.delivery, Delivery::Whole | Delivery::Drip);
        self.status == 200 && !self.html && sent_whole
    }
}

/// Plans the reply to the n-th call for a trace.
pub(crate) fn plan(settings: &Settings, request: &[u8], trace_id: &str, nth: u64) -> Plan {
    let mut dice = Dice::new(settings.seed, trace_id, nth);
    let spread = Duration::from_millis(settings.latency_spread_ms).mul_f64(dice.share());
    let delay = Duration::from_millis(settings.latency_ms).saturating_add(spread);

    let canned = settings.canned.get(trace_id, nth);
    let fault = match canned {
        Some(canned) => canned.fault,
        None => settings.faults.draw(&mut dice),
    };
    let mut plan = match fault.and_then(without_content) {
        Some(plan) => plan,
        None => with_content(settings, canned, request, fault, &mut dice),
    };
    plan.delay = delay + Duration::from_millis(canned.map_or(0, |canned| canned.delay_ms));
    plan
}

/// The faults that need no content, so that the question need not even be read.
fn without_content(fault: Fault) -> Option<Plan> {
    let error = |status, kind, code, message| Plan {
        status,
        fault: Some(fault),
        ..Plan::json(envelope::error(kind, code, message))
    };
    let plan = match fault {
        Fault::Hang => Plan { delivery: Delivery::Hang, fault: Some(fault), ..Plan::json(String::new()) },
        Fault::Status429 => error(429, "requests", "rate_limit_exceeded", "Too many requests."),
        Fault::Status429RetryAfter => Plan {
            retry_after_s: Some(1),
            ..error(429, "requests", "rate_limit_exceeded", "Too many requests; come back in a second.")
        },
        Fault::Status500 => error(500, "server_error", "internal_error", "Something broke."),
        Fault::Status529 => error(529, "overloaded_error", "overloaded", "Overloaded."),
        Fault::Status401 => error(401, "authentication_error", "invalid_api_key", "The API key is wrong."),
        Fault::Html200 => Plan {
            html: true,
            fault: Some(fault),
            ..Plan::json("<!DOCTYPE html><html><body><h1>Please sign in</h1></body></html>".to_owned())
        },
        _ => return None,
    };
    Some(plan)
}

fn with_content(
    settings: &Settings,
    canned: Option<&CannedReply>,
    request: &[u8],
    fault: Option<Fault>,
    dice: &mut Dice,
) -> Plan {
    let base = match base(settings, canned, request) {
        Ok(base) => base,
        Err(message) => {
            let body = envelope::error("invalid_request_error", "not_a_groundcrew_prompt", &message);
            return Plan { status: 400, ..Plan::json(body) };
        }
    };
    if let Some(status) = canned.and_then(|canned| canned.status).filter(|status| *status != 200) {
        return Plan { status, ..Plan::json(envelope::error("canned", "canned", &base.text)) };
    }
    let spoiled = fault.and_then(|fault| misbehave::spoil(fault, &base, dice));
    let delivery = match fault {
        Some(Fault::SlowDrip) => Delivery::Drip,
        Some(Fault::CutBody) => Delivery::Cut,
        _ => Delivery::Whole,
    };
    // A fault that could not be done to this reply leaves it honest, and unnamed.
    let done = fault.filter(|_| spoiled.is_some() || delivery != Delivery::Whole);
    let mut said = spoiled.unwrap_or_else(|| Said::content(base.text.as_ref()));
    if let Some(finish_reason) = canned.and_then(|canned| canned.finish_reason.clone()) {
        said.finish_reason = finish_reason;
    }
    let mut plan = Plan::json(envelope::completion(&said, request.len()));
    if done == Some(Fault::BrokenUtf8) {
        plan.body = break_utf8(&plan.body);
    }
    Plan { delivery, fault: done, ..plan }
}

/// The content before anything is spoiled: canned for this trace, canned for all, or honest.
fn base<'a>(
    settings: &'a Settings,
    canned: Option<&CannedReply>,
    request: &[u8],
) -> Result<Base<'a>, Cow<'static, str>> {
    if let Some(content) = canned.and_then(|canned| canned.content.as_ref()) {
        let text = match content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        return Ok(fixed(Cow::Owned(text), request, canned.is_some_and(|canned| canned.fault.is_some())));
    }
    if let (None, Some(text)) = (canned, &settings.canned_default) {
        return Ok(fixed(Cow::Borrowed(text), request, !settings.faults.is_empty()));
    }
    // A status without content needs no verdict, so the question may be anything.
    if canned.is_some_and(|canned| canned.status.is_some_and(|status| status != 200)) {
        return Ok(Base { reply: None, text: Cow::Borrowed("canned status"), question: None });
    }
    let (shape, blocks) = read(request)?;
    let reply = Reply::new(shape, &honest::judge(&blocks));
    Ok(Base { text: Cow::Owned(reply.to_json()), reply: Some(reply), question: Some(blocks) })
}

/// A content that was fixed beforehand. What it means is looked at only where a fault may need to know.
fn fixed<'a>(text: Cow<'a, str>, request: &[u8], may_be_spoiled: bool) -> Base<'a> {
    let question = if may_be_spoiled { read(request).ok() } else { None };
    let Some((shape, blocks)) = question else { return Base { reply: None, text, question: None } };
    Base { reply: Reply::read(shape, &text), text, question: Some(blocks) }
}

/// What is asked: the shape of the reply, and what it shall be about.
fn read(request: &[u8]) -> Result<(&'static Shape, Blocks), Cow<'static, str>> {
    let request: ChatRequest =
        serde_json::from_slice(request).map_err(|_| "the request is not a chat completion request")?;
    let user = request.user().ok_or("the request has no user message")?;
    let shape = shape(&request)?;
    let blocks = honest::read_prompt(&user).ok_or("the user message is no prompt of groundcrew")?;
    Ok((shape, blocks))
}

/// The name of the asked schema says which shape it is; without a name the keys of the system message's example do.
fn shape(request: &ChatRequest) -> Result<&'static Shape, String> {
    let found = match request.schema_name() {
        Some(name) => Shape::named(name).ok_or_else(|| format!("does not know the schema `{name}`")),
        None => Shape::with_keys(request.asked_keys())
            .ok_or_else(|| "finds neither a schema's name nor all keys of a reply in the request".to_owned()),
    };
    found.map_err(|problem| format!("the practice judge {problem}; it knows {}", Shape::names()))
}

/// Puts the beginning of a character that never ends in the place of the mark.
fn break_utf8(body: &[u8]) -> Bytes {
    let mut mark = [0; 4];
    let mark = BROKEN_MARK.encode_utf8(&mut mark).as_bytes();
    let at = body.windows(mark.len()).position(|window| window == mark).unwrap_or(body.len());
    let (before, after) = body.split_at(at);
    [before, b"\xC3\x28\xFF", after.get(mark.len()..).unwrap_or_default()].concat().into()
}

impl Plan {
    fn json(body: String) -> Plan {
        Plan {
            status: 200,
            html: false,
            retry_after_s: None,
            body: body.into(),
            delay: Duration::ZERO,
            delivery: Delivery::Whole,
            fault: None,
        }
    }
}
