//! `groundcrew publish`: traces from a file to the queue.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use queue::{Envelope, Message, PublishError, Publisher, Target};
use serde::Serialize;

use crate::args::Publish;
use crate::config::Settings;
use crate::failure::{Failure, Outcome, chain};
use crate::output::{self, Output};
use crate::{services, terminal};

use super::lines::{Line, lines};
use super::read;

/// How often a message whose fate is unknown is published again, under the same id.
const TRIES: u32 = 3;

/// How long to wait before that.
const PAUSE: Duration = Duration::from_millis(500);

/// What became of the lines.
#[derive(Debug, Default, Serialize)]
struct Answer {
    lane: String,
    confirmed: usize,
    /// Traces that --sample left out.
    left_out: usize,
    refused: Vec<Refused>,
}

/// A line that the broker does not have for certain.
#[derive(Debug, Serialize)]
struct Refused {
    line: usize,
    reason: String,
}

/// Sends every line and waits until the broker has confirmed it.
pub(crate) async fn run(args: &Publish, settings: &Settings) -> Outcome {
    let bytes = read(&args.file)?;
    let mut lines: Vec<Line<'_>> = lines(&bytes).collect();
    let all = lines.len();
    let lane = queue::Lane::from(args.lane);
    let mut answer = Answer { lane: lane.to_string(), ..Answer::default() };
    if args.check {
        answer.refused = lines.iter().filter_map(undecodable).collect();
    }
    if let Some(rate) = args.sample {
        lines.retain(|line| is_in(line, rate, settings));
        answer.left_out = all - lines.len();
    }
    if answer.refused.is_empty() && !lines.is_empty() {
        let publisher = services::publisher(settings).await?;
        send(&publisher, lane, &lines, &mut answer).await;
        publisher.connection().close().await;
    }
    print(&answer, args, &args.file, all);
    if answer.refused.is_empty() { Ok(()) } else { Err(Failure::not_fine()) }
}

/// Whether a line is sent: one that is no trace in any case, so that it is looked at.
fn is_in(line: &Line<'_>, rate: Option<f64>, settings: &Settings) -> bool {
    trace::decode(line.bytes).map_or(true, |trace| {
        let rate = rate.unwrap_or_else(|| settings.worker.project(&trace.project).sample_rate);
        trace::sampling::is_in(&trace, rate)
    })
}

fn undecodable(line: &Line<'_>) -> Option<Refused> {
    let problems = trace::decode(line.bytes).err()?.problems;
    let words: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect();
    Some(Refused { line: line.number, reason: format!("is not a trace: {}", words.join("; ")) })
}

async fn send(publisher: &Publisher, lane: queue::Lane, lines: &[Line<'_>], answer: &mut Answer) {
    let bar = output::progress(lines.len(), "publishing");
    // Twice as many as the broker answers at once, so that none of its channels is ever idle.
    let at_once = publisher.connection().settings().options().publish_channels * 2;
    let mut outcomes = futures_util::stream::iter(lines)
        .map(|line| async move { (line.number, confirmed(publisher, lane, line.bytes).await) })
        .buffered(at_once);
    while let Some((line, outcome)) = outcomes.next().await {
        bar.inc(1);
        let Err(error) = outcome else {
            answer.confirmed += 1;
            continue;
        };
        answer.refused.push(Refused { line, reason: chain(&error) });
        // Every further line would only wait for its time-outs.
        if let Some(gone) = gone(publisher) {
            let rest = lines.iter().filter(|left| left.number > line);
            answer.refused.extend(rest.map(|left| Refused { line: left.number, reason: gone.clone() }));
            break;
        }
    }
    bar.finish_and_clear();
}

/// Why the broker is not there, if it is not.
fn gone(publisher: &Publisher) -> Option<String> {
    match publisher.connection().state() {
        queue::State::Down(reason) => Some(format!("not sent: the broker is away ({reason})")),
        queue::State::Closed => Some("not sent: the connection to the broker is closed".into()),
        queue::State::Up | queue::State::Blocked(_) => None,
    }
}

async fn confirmed(publisher: &Publisher, lane: queue::Lane, body: &[u8]) -> Result<(), PublishError> {
    let message = Message {
        target: Target::lane(lane),
        envelope: Envelope { message_id: Some(uuid::Uuid::now_v7().to_string()), ..Envelope::default() },
        body: body.to_vec(),
    };
    let mut tries = 1;
    loop {
        match publisher.publish(&message).await {
            Err(error) if error.is_transient() && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}

fn print(answer: &Answer, args: &Publish, file: &Path, lines: usize) {
    let mut output = Output::new();
    if args.json.json {
        output.json(answer);
        return;
    }
    for refused in &answer.refused {
        output.line(format!("line {}: {}", refused.line, terminal::line(&refused.reason)));
    }
    if args.check && answer.confirmed == 0 && !answer.refused.is_empty() {
        output.line(format!("nothing sent: {} of {lines} lines are no traces", answer.refused.len()));
        return;
    }
    let source =
        if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    output.line(format!(
        "{}: {} confirmed, {} refused{} (lane {})",
        terminal::line(&source),
        answer.confirmed,
        answer.refused.len(),
        if answer.left_out > 0 {
            format!(", {} left out by --sample", answer.left_out)
        } else {
            String::new()
        },
        answer.lane
    ));
}
