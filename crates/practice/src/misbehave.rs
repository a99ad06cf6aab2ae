//! Spoiling a reply in exactly one named way, whatever its kind.

use std::borrow::Cow;

use audit::{
    Severity,
    text::{Form, Pool, numbers},
};
use serde_json::Value;

use crate::{
    dice::Dice,
    envelope::Said,
    faults::Fault,
    honest::{Blocks, Claim, Verdict},
    shape::Reply,
};

/// 10 MiB, ten times what a judge is allowed to say.
const HUGE_BYTES: usize = 10 * 1024 * 1024;

/// Stands in the text where [`Fault::BrokenUtf8`] puts broken bytes once the body is a row of bytes.
pub(crate) const BROKEN_MARK: char = '\u{F8FF}';

/// What a reply is made from.
#[derive(Debug, Clone)]
pub(crate) struct Base<'a> {
    /// The content taken apart, where it is a reply of the kind that was asked for.
    pub(crate) reply: Option<Reply>,
    /// The content as text.
    pub(crate) text: Cow<'a, str>,
    /// The question, as far as it was read.
    pub(crate) question: Option<Blocks>,
}

/// Spoils what the judge says. None when the fault cannot be done to this reply: a reply without grounded
/// claims has no quote to forge. Faults of the transport are none of this function's business.
pub(crate) fn spoil(fault: Fault, base: &Base<'_>, dice: &mut Dice) -> Option<Said> {
    let text = base.text.as_ref();
    let said = match fault {
        Fault::NotJson => Said::content("Looking at the answer, most of it seems fine to me, more or less."),
        Fault::Truncated => Said { finish_reason: "length".into(), ..Said::content(beginning(text)) },
        Fault::TruncatedStop => Said::content(beginning(text)),
        Fault::Empty => Said::content(""),
        Fault::ReasoningOnly => Said {
            reasoning: Some("The answer has to be held against the evidence, so first".into()),
            ..Said::nothing("length")
        },
        Fault::DuplicateKey => Said::content(duplicate_key(text)?),
        Fault::Refusal => Said::content("I'm sorry, but I can't help with that request."),
        Fault::RefusalField => {
            Said { refusal: Some("I'm sorry, but I can't help with that.".into()), ..Said::nothing("stop") }
        }
        Fault::ContentFilter => Said::nothing("content_filter"),
        Fault::Fenced => Said::content(format!("```json\n{text}\n```")),
        Fault::Think => Said::content(format!("{}\n{text}", thoughts(base))),
        Fault::Huge => Said::content("x".repeat(HUGE_BYTES)),
        Fault::BrokenUtf8 => Said::content(with_remark(base, &format!("{BROKEN_MARK}"))?),
        Fault::Nul => Said::content(with_remark(base, "\0")?),
        _ => Said::content(spoil_reply(fault, base, dice)?),
    };
    Some(said)
}

/// Spoils one thing in a reply; none when there is no such thing, or when the fault is not about what a reply says.
fn spoil_reply(fault: Fault, base: &Base<'_>, dice: &mut Dice) -> Option<String> {
    let reply = base.reply.clone()?;
    let spoiled = match fault {
        Fault::SeveralCandidates => return Some(two_candidates(reply, &base.text)),
        Fault::Nan => return not_a_number(reply),
        Fault::MissingKey | Fault::WrongType | Fault::OutOfRange => broken_shape(fault, reply)?,
        Fault::CountMismatch => wrong_figures(reply)?,
        Fault::MissingClaim => without_claim(reply, dice)?,
        Fault::DuplicateClaim => with_copied_claim(reply, base, dice)?,
        Fault::InventedClaim => {
            let invented = reply.word(&invented_claim());
            with_claim(reply, invented)
        }
        Fault::BadEnum
        | Fault::FabricatedQuote
        | Fault::WrongSource
        | Fault::MissingQuote
        | Fault::UnknownSource => with_spoiled_claim(fault, reply, base, dice)?,
        _ => return None,
    };
    Some(spoiled.to_string())
}

fn with_claim(mut reply: Reply, claim: Value) -> Value {
    reply.change_claims(|claims| claims.push(claim));
    reply.into_value()
}

/// Lists a claim twice; not one that the answer makes twice, which might well be listed so.
fn with_copied_claim(reply: Reply, base: &Base<'_>, dice: &mut Dice) -> Option<Value> {
    let answer = base.question.as_ref().map_or("", |question| &question.answer);
    let is_made_once = |claim: &&Value| answer.matches(text_of(claim)).count() < 2;
    let is_sent = reply.shape.is_sent_claims();
    let claims: Vec<&Value> = reply.claims().iter().filter(|claim| is_sent || is_made_once(claim)).collect();
    let copy = (*dice.pick(&claims)?).clone();
    Some(with_claim(reply, copy))
}

/// Leaves out a claim that will be missed: any of those that were sent, else one that alone has some number.
fn without_claim(mut reply: Reply, dice: &mut Dice) -> Option<Value> {
    let texts: Vec<&str> = reply.claims().iter().map(text_of).collect();
    let is_missed = |at: &usize| {
        let mut others = texts.clone();
        let text = others.remove(*at);
        let held = Pool::of(others);
        let is_alone =
            |number: audit::text::Number| number.form == Form::Digits && !held.holds_loosely(&number);
        reply.shape.is_sent_claims() || numbers(text).into_iter().any(is_alone)
    };
    let missed: Vec<usize> = (0..texts.len()).filter(is_missed).collect();
    let left_out = *dice.pick(&missed)?;
    reply.change_claims(|claims| drop(claims.remove(left_out)));
    Some(reply.into_value())
}

fn text_of(claim: &Value) -> &str {
    claim.get("claim_text").and_then(Value::as_str).unwrap_or_default()
}

fn invented_claim() -> Claim<'static> {
    Claim {
        // No list that is sent is that long.
        id: "48151".into(),
        text: "The harbour commission rejected 48151 petitions in 2093.".into(),
        verdict: Verdict::Unsupported,
        passage: None,
        severity: Some(Severity::Major),
        explanation: "The evidence does not speak of this.".into(),
        overlap: 0.0,
        is_foreign: true,
    }
}

/// Spoils one claim: a grounded one, where the fault is about what it rests on.
fn with_spoiled_claim(fault: Fault, reply: Reply, base: &Base<'_>, dice: &mut Dice) -> Option<Value> {
    let shape = reply.shape;
    let (verdict, grounded) = shape.verdict?;
    let is_wanted = |claim: &Value| {
        let is_quoted = || shape.quote.is_some_and(|key| claim.get(key).is_some_and(Value::is_string));
        let word = claim.get(verdict).and_then(Value::as_str);
        if fault == Fault::BadEnum { word.is_some() } else { word == Some(grounded) && is_quoted() }
    };
    let wanted: Vec<usize> =
        (0..).zip(reply.claims()).filter(|(_, claim)| is_wanted(claim)).map(|(at, _)| at).collect();
    let at = *dice.pick(&wanted)?;
    let mut claim = reply.claims().get(at)?.clone();
    let quote = shape.quote.and_then(|key| Some((key, claim.get(key)?.as_str()?.to_owned())));
    let (key, value) = match fault {
        Fault::BadEnum => (verdict, Value::from(format!("{}.", claim.get(verdict)?.as_str()?))),
        Fault::MissingQuote => (shape.quote?, Value::Null),
        Fault::UnknownSource => (shape.source?, Value::from("no-such-source-7731")),
        Fault::FabricatedQuote => {
            let (key, quote) = quote?;
            (key, Value::from(format!("{quote} This was confirmed on page 90210 of the appendix.")))
        }
        Fault::WrongSource => (shape.source?, Value::from(other_source(&quote?.1, base, dice)?)),
        _ => return None,
    };
    claim.as_object_mut()?.insert(key.to_owned(), value);
    // The figures stay: they are those of the claims as they were meant.
    let mut value = reply.into_value();
    *value.get_mut(shape.list)?.get_mut(at)? = claim;
    Some(value)
}

/// A source that does not hold the quote: otherwise nothing would be wrong.
fn other_source(quote: &str, base: &Base<'_>, dice: &mut Dice) -> Option<String> {
    let evidence = &base.question.as_ref()?.evidence;
    let holds_quote =
        |id: &str| evidence.iter().any(|block| block.source_id == id && block.text.contains(quote));
    let ids = evidence.iter().map(|block| block.source_id.as_str());
    let others: Vec<&str> = ids.filter(|id| !holds_quote(id)).collect();
    dice.pick(&others).map(|id| (*id).to_owned())
}

/// The figures of other claims: of some more, or of none where more would change nothing.
fn wrong_figures(mut reply: Reply) -> Option<Value> {
    let honest = reply.clone();
    let more = [reply.claims(), &vec![reply.word(&invented_claim()); 3]].concat();
    for claims in [more, Vec::new()] {
        reply.count_instead(&claims);
        if reply != honest {
            return Some(reply.into_value());
        }
    }
    None
}

/// The reply and a different one before it, both complete.
fn two_candidates(reply: Reply, text: &str) -> String {
    let invented = reply.word(&invented_claim());
    format!("A first draft:\n{}\n\nOn reflection:\n{text}", with_claim(reply, invented))
}

/// A block of thoughts that holds another reply.
fn thoughts(base: &Base<'_>) -> String {
    let list = base.reply.as_ref().map_or("claims", |reply| reply.shape.list);
    format!("<think>At first sight {{\"{list}\": []}} would do, but no.</think>")
}

/// The first two thirds, which for a JSON text is never valid JSON.
fn beginning(text: &str) -> String {
    let count = text.chars().count();
    text.chars().take(count * 2 / 3).collect()
}

/// Repeats the first key with another value.
fn duplicate_key(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix('{')?;
    let key = rest.split('"').nth(1)?;
    Some(format!("{{\"{key}\":null,{rest}"))
}

fn not_a_number(reply: Reply) -> Option<String> {
    const MARK: &str = "not a number 0f1c";
    let (figure, _) = reply.shape.figure?;
    let mut value = reply.into_value();
    *value.pointer_mut(figure)? = Value::from(MARK);
    Some(value.to_string().replacen(&format!("\"{MARK}\""), "NaN", 1))
}

fn broken_shape(fault: Fault, reply: Reply) -> Option<Value> {
    let shape = reply.shape;
    let mut value = reply.into_value();
    match fault {
        Fault::WrongType => *value.get_mut(shape.list)? = Value::from("none worth mentioning"),
        Fault::OutOfRange => {
            let (figure, outside) = shape.figure?;
            *value.pointer_mut(figure)? = Value::from(outside);
        }
        _ => {
            let key = shape.verdict.map_or("claim_text", |(key, _)| key);
            let first_claim = value.get_mut(shape.list).and_then(|claims| claims.get_mut(0));
            match first_claim.and_then(Value::as_object_mut) {
                Some(claim) => claim.remove(key),
                None => value.as_object_mut()?.remove(shape.list),
            };
        }
    }
    Some(value)
}

/// Adds a remark to a text of the reply, or to the end of a content that is none.
fn with_remark(base: &Base<'_>, remark: &str) -> Option<String> {
    let Some(reply) = base.reply.clone() else { return Some(format!("{}{remark}", base.text)) };
    let place = reply.shape.remark;
    let mut value = reply.into_value();
    let told = value.pointer_mut(place)?;
    *told = Value::from(format!("{}{remark}", told.as_str()?));
    Some(value.to_string())
}
