//! One delivery, from decoding to settling.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use judge::Urgency;
use queue::{Delivery, Envelope, Lane, Message, Settled, Target};
use runner::Terms;
use serde_json::json;
use store::{DeadLetter, DeadSource};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trace::{Kind, Problem, Trace};

use crate::audit::{Circumstances, Fate, Stops, settle};
use crate::vitals::InWork;
use crate::worker::Context;
use ::audit::record::TraceRecord;
use durable::{GivenUp, chain, persist};

/// Takes one delivery to its end. Whatever happens, it is acked, parked or handed back.
///
/// Once the broker has taken it back, no call of the judge begins any more: somebody else has the delivery, and would
/// pay for the same once more. A call that has begun ends, so that what it took is counted.
pub(crate) async fn handle(
    context: &Context,
    delivery: Delivery,
    in_work: InWork,
    abort: &CancellationToken,
) {
    if !delivery.is_held() {
        return;
    }
    let begun = Instant::now();
    let stops = Stops::new(abort);
    let verdict = {
        let mut work = Box::pin(decide(context, &delivery, begun, &stops));
        tokio::select! {
            biased;
            verdict = &mut work => verdict,
            () = delivery.lost().cancelled() => {
                stops.withdrawn.cancel();
                // It is the next one's now.
                drop(in_work);
                work.await
            }
        }
    };
    measure(&delivery, &verdict, begun);
    conclude(context, delivery, verdict).await;
}

async fn decide(context: &Context, delivery: &Delivery, begun: Instant, stops: &Stops) -> Verdict {
    if delivery.body.len() > context.settings.max_message_bytes {
        let reason = format!(
            "the message has {} bytes, more than worker.max_message_bytes allows ({})",
            delivery.body.len(),
            context.settings.max_message_bytes
        );
        return bury(context, delivery, DeadSource::Oversized, reason, &[], stops).await;
    }
    match trace::decode(&delivery.body) {
        Ok(trace) => match aside(context, delivery, &trace) {
            Some(verdict) => verdict,
            None => audits(context, delivery, trace, begun + context.settings.max_work, stops).await,
        },
        Err(undecodable) => {
            let reason = undecodable.to_string();
            bury(context, delivery, DeadSource::Undecodable, reason, &undecodable.problems, stops).await
        }
    }
}

/// What to do with the delivery.
enum Verdict {
    /// What it caused is durable.
    Ack,
    /// It goes to a delay tier, for the kinds that remain.
    Park { kinds: Vec<Kind>, advance: bool, reason: String, until: Option<DateTime<Utc>> },
    /// Sampling leaves it out.
    LeaveOut,
    /// It goes to the bulk lane: its project is over its rate.
    Move,
    /// It goes back to its queue at once, or has gone back already.
    HandBack,
}

/// What needs no look at the trace's audits: it is left out by sampling, or its project is over its rate.
///
/// Both are decided once, when a trace comes from its producer. A parked copy has begun, and what an operator replays
/// is wanted.
fn aside(context: &Context, delivery: &Delivery, trace: &Trace) -> Option<Verdict> {
    let envelope = &delivery.envelope;
    let is_new = envelope.kinds.is_empty()
        && envelope.tier.is_none()
        && envelope.generation == 0
        && envelope.source_dead_letter.is_none()
        && envelope.moved_from.is_none();
    if !is_new {
        return None;
    }
    let project = context.settings.project(&trace.project);
    // Who waits for an answer gets one.
    if envelope.reply_to.is_none() && !trace::sampling::is_in(trace, project.sample_rate) {
        context.vitals.left_out(&trace.project);
        metrics::counter!("groundcrew_sampled_out_total").increment(1);
        return Some(Verdict::LeaveOut);
    }
    let is_bulk = delivery.lane() == Some(Lane::Bulk);
    (!is_bulk && !context.rates.admits(&trace.project)).then_some(Verdict::Move)
}

fn measure(delivery: &Delivery, verdict: &Verdict, begun: Instant) {
    let lane = delivery.lane().unwrap_or(Lane::Normal).routing_key();
    let outcome = match verdict {
        Verdict::Ack => "acked",
        Verdict::Park { .. } => "parked",
        Verdict::LeaveOut => "sampled_out",
        Verdict::Move => "moved",
        Verdict::HandBack => "handed_back",
    };
    metrics::counter!("groundcrew_deliveries_total", "lane" => lane, "outcome" => outcome).increment(1);
    metrics::histogram!("groundcrew_delivery_seconds", "lane" => lane).record(begun.elapsed().as_secs_f64());
}

async fn audits(
    context: &Context,
    delivery: &Delivery,
    trace: Trace,
    until: Instant,
    stops: &Stops,
) -> Verdict {
    let wanted = match wanted_kinds(context, &delivery.envelope, &trace) {
        Ok(wanted) => wanted,
        Err(reason) => return bury(context, delivery, DeadSource::UnsupportedKind, reason, &[], stops).await,
    };
    let urgency = match delivery.lane() {
        Some(Lane::Urgent) => Urgency::Urgent,
        Some(Lane::Bulk) => Urgency::Bulk,
        Some(Lane::Normal) | None => Urgency::Normal,
    };
    let circumstances = Circumstances {
        delivery,
        terms: Terms { urgency, until: Some(until), ..Terms::default() },
        generation: delivery.envelope.generation,
        first_seen: delivery.envelope.first_seen.unwrap_or_else(Utc::now),
        reply_to: reply_to(context, &delivery.envelope),
    };
    let record = TraceRecord { trace, payload: delivery.body.clone(), received_at: Utc::now() };
    let record = Arc::new(record);
    let mut remaining = Vec::new();
    let mut park = None;
    for kind in wanted {
        if let Err(unavailable) = ::audit::kinds::find(kind) {
            let reason = unavailable.to_string();
            match bury(context, delivery, DeadSource::UnsupportedKind, reason, &[], stops).await {
                Verdict::Ack => continue,
                other => return other,
            }
        }
        match settle(context, kind, &record, &circumstances, stops).await {
            Fate::Ended => {}
            Fate::Parked { advance, reason, until } => {
                remaining.push(kind);
                // What waits for a certain time waits no longer for the sake of another kind.
                park = Some((advance, reason, until));
            }
            Fate::Failed(reason) => {
                tracing::error!(trace_id = %record.trace.trace_id, %kind, reason, "an audit failed; it is parked");
                if is_too_old(context, &circumstances) {
                    match bury(context, delivery, DeadSource::Failed, reason, &[], stops).await {
                        Verdict::Ack => continue,
                        other => return other,
                    }
                }
                remaining.push(kind);
                park = Some((true, reason, None));
            }
            Fate::HandedBack => return Verdict::HandBack,
        }
    }
    match park {
        Some((advance, reason, until)) => Verdict::Park { kinds: remaining, advance, reason, until },
        None => Verdict::Ack,
    }
}

fn is_too_old(context: &Context, circumstances: &Circumstances) -> bool {
    (Utc::now() - circumstances.first_seen).to_std().is_ok_and(|age| age >= context.settings.max_age)
}

/// The kinds still to do: what a parked copy names, else what the trace asks for, else the project's default.
fn wanted_kinds(context: &Context, envelope: &Envelope, trace: &Trace) -> Result<Vec<Kind>, String> {
    let mut kinds = if envelope.kinds.is_empty() {
        trace.audits.clone()
    } else {
        let parsed: Result<Vec<Kind>, _> = envelope.kinds.iter().map(|word| word.parse::<Kind>()).collect();
        parsed.map_err(|error| format!("header {}: {error}", queue::header::KINDS))?
    };
    if kinds.is_empty() {
        kinds.clone_from(&context.settings.project(&trace.project).audits);
    }
    let mut seen = std::collections::HashSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    Ok(kinds)
}

/// A producer may name its own reply queue; anything else could flood a queue that is not the producer's.
fn reply_to(context: &Context, envelope: &Envelope) -> Option<(String, Option<String>)> {
    let queue = envelope.reply_to.as_deref()?;
    let allowed = queue.starts_with("amq.")
        || context.settings.reply_to_prefixes.iter().any(|prefix| queue.starts_with(prefix.as_str()));
    if !allowed {
        tracing::warn!(
            queue,
            "reply_to is not honoured: not an amq.* name and not in worker.reply_to_prefixes"
        );
        return None;
    }
    Some((queue.to_owned(), envelope.correlation_id.clone()))
}

/// Puts a message into the dead letters.
async fn bury(
    context: &Context,
    delivery: &Delivery,
    source: DeadSource,
    reason: String,
    problems: &[Problem],
    stops: &Stops,
) -> Verdict {
    tracing::warn!(
        source = source.as_str(),
        reason,
        bytes = delivery.body.len(),
        "a message became a dead letter"
    );
    metrics::counter!("groundcrew_dead_letters_total", "source" => source.as_str()).increment(1);
    let letter = dead_letter(delivery, source, reason, problems);
    match persist("burying a message", &stops.withdrawn, || context.store.bury(letter.clone())).await {
        Ok(_) => Verdict::Ack,
        Err(GivenUp::Stopped) => Verdict::HandBack,
        Err(GivenUp::Failed(error)) => {
            // The broker's delivery limit keeps this from going round for ever.
            tracing::error!(error = %chain(&error), "a message could not be buried; it goes back to its queue");
            Verdict::HandBack
        }
    }
}

/// The dead letter that keeps all of a delivery.
pub(crate) fn dead_letter(
    delivery: &Delivery,
    source: DeadSource,
    reason: String,
    problems: &[Problem],
) -> DeadLetter {
    let envelope = &delivery.envelope;
    // Best effort: many undecodable messages still say whose they are.
    let text = delivery.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&delivery.body);
    let named: Option<serde_json::Value> = serde_json::from_slice(text).ok();
    let name = |key: &str| named.as_ref().and_then(|value| value.get(key)?.as_str()).map(str::to_owned);
    DeadLetter {
        source,
        reason,
        problems: json!(problems),
        body: delivery.body.clone(),
        body_bytes: u64::try_from(delivery.body.len()).unwrap_or(u64::MAX),
        headers: json!({
            "message_id": envelope.message_id,
            "correlation_id": envelope.correlation_id,
            "reply_to": envelope.reply_to,
            "content_type": envelope.content_type,
            "content_encoding": envelope.content_encoding,
            "prompt_version": envelope.prompt_version,
            "others": envelope.others.to_json(),
            "routing_key": delivery.routing_key,
            "returns": delivery.returns,
            "generation": envelope.generation,
        }),
        lane: delivery.lane().map(|lane| lane.routing_key().to_owned()),
        project: name("project"),
        trace_id: name("trace_id"),
        kinds: envelope.kinds.clone(),
        generation: envelope.generation,
        received_at: Utc::now(),
    }
}

/// Publishes a copy into the bulk lane, marked so that it stays there.
async fn move_to_bulk(context: &Context, delivery: &Delivery) -> Result<(), queue::PublishError> {
    let mut envelope = delivery.envelope.clone();
    envelope.moved_from = delivery.lane().map(|lane| lane.routing_key().to_owned());
    envelope.first_seen.get_or_insert_with(Utc::now);
    let message = Message { target: Target::lane(Lane::Bulk), envelope, body: delivery.body.clone() };
    context.publisher.publish(&message).await?;
    metrics::counter!("groundcrew_moved_to_bulk_total").increment(1);
    Ok(())
}

async fn conclude(context: &Context, delivery: Delivery, verdict: Verdict) {
    let settled = match verdict {
        Verdict::Ack | Verdict::LeaveOut => delivery.ack().await,
        Verdict::Move => match move_to_bulk(context, &delivery).await {
            Ok(()) => delivery.ack().await,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "a delivery could not be moved to bulk; it goes back to its queue");
                delivery.requeue().await
            }
        },
        Verdict::HandBack => delivery.requeue().await,
        Verdict::Park { kinds, advance, reason, until } => {
            let tier = delivery.envelope.tier.unwrap_or(0);
            let mut envelope = delivery.envelope.clone();
            envelope.kinds = kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
            envelope.tier = Some(if advance { tier.saturating_add(1) } else { tier });
            let index = match until {
                Some(until) => {
                    context.publisher.tier_within((until - Utc::now()).to_std().unwrap_or_default())
                }
                None => usize::try_from(tier).unwrap_or(usize::MAX),
            };
            match context.publisher.park(&delivery, index, &envelope).await {
                Ok(()) => {
                    tracing::info!(tier, reason, "a delivery was parked");
                    delivery.ack().await
                }
                Err(error) => {
                    tracing::warn!(error = %chain(&error), "a delivery could not be parked; it goes back to its queue");
                    delivery.requeue().await
                }
            }
        }
    };
    match settled {
        Ok(Settled::Sent) => {}
        Ok(Settled::Lost) => {
            tracing::debug!("the channel of a delivery is gone; the broker delivers it again")
        }
        Err(error) => tracing::warn!(error = %chain(&error), "a delivery could not be settled"),
    }
}
