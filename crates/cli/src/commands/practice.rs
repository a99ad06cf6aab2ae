//! `groundcrew judge practice`: a judge without a model.

use practice::{Canned, Faults, Server};

use crate::args::Practice;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::signals::{self, Insist};

use super::read;

/// Serves until it is told to stop.
pub(crate) async fn run(args: &Practice) -> Outcome {
    let stop = signals::stop_token(Insist::Quietly).map_err(Failure::failed)?;
    let server = Server::start(args.listen, settings(args)?).await.map_err(|error| {
        Failure::failed(error).hint("choose another address with --listen; port 0 takes a free one")
    })?;
    let mut output = Output::new();
    output.line(format!("practice judge on {}", server.base_url()));
    output.line("use it with:");
    output.line(format!("  export GROUNDCREW_JUDGE__BASE_URL={}", server.base_url()));
    output.line(format!("  export GROUNDCREW_JUDGE__MODEL={}", practice::MODEL));
    output.flush();
    stop.cancelled().await;
    server.stop().await;
    Ok(())
}

fn settings(args: &Practice) -> Result<practice::Settings, Failure> {
    let canned = match &args.canned {
        None => Canned::default(),
        Some(file) => {
            let text = String::from_utf8(read(file)?)
                .map_err(|error| Failure::usage(format!("{} is not UTF-8: {error}", file.display())))?;
            Canned::parse(&text).map_err(Failure::usage)?
        }
    };
    let canned_default = match &args.canned_default {
        None => None,
        Some(file) => Some(String::from_utf8_lossy(&read(file)?).into_owned()),
    };
    Ok(practice::Settings {
        seed: args.seed,
        faults: Faults::parse(&args.fault).map_err(Failure::usage)?,
        latency_ms: args.latency_ms,
        latency_spread_ms: args.latency_spread_ms,
        canned,
        canned_default,
    })
}
