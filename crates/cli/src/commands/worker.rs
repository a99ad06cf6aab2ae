//! `groundcrew worker`: the part that runs for ever.

use std::time::Duration;

use judge::{Judge, Judges};
use queue::{Connection, Publisher, Purpose};
use runner::Runner;
use worker::WorkerError;

use crate::args::Worker;
use crate::config::{self, Settings};
use crate::failure::{Failure, Outcome};
use crate::services;
use crate::signals::{self, Insist};

/// Puts the parts together and works until it is told to stop.
pub(crate) async fn run(args: &Worker, settings: Settings) -> Outcome {
    let Some(configured) = &settings.judge else {
        return Err(Failure::usage("no judge is configured").hint(
            "set GROUNDCREW_JUDGE__BASE_URL and GROUNDCREW_JUDGE__MODEL (and GROUNDCREW_JUDGE__API_KEY), \
             or start `groundcrew judge practice`, which needs no model and prints what to set",
        ));
    };
    let first = set_up(configured)?;
    let fallback = settings.fallback.iter().map(set_up).collect::<Result<_, _>>()?;
    let judges = Judges::new(first, fallback).map_err(Failure::usage)?;
    let stop = signals::stop_token(Insist::ForADrain).map_err(Failure::failed)?;
    // A stop during the wait ends it: nothing has begun.
    let ready = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        ready = services::wait_for(Duration::from_secs(args.wait_for), async || reach(&settings).await) => ready?,
    };
    let Ready { store, consuming, publishing } = ready;
    let runner = Runner::new(judges, settings.runner.clone());
    let worker =
        worker::Worker::new(settings.worker.clone(), store, consuming, Publisher::new(&publishing), runner)
            .await
            .map_err(refused)?;
    worker.run(stop).await;
    Ok(())
}

pub(crate) fn set_up(configured: &config::Judge) -> Result<Judge, Failure> {
    let judge = Judge::new(configured.profile.clone(), &configured.limits).map_err(Failure::usage)?;
    tracing::info!(
        judge = judge.name(),
        provider = judge.profile().settings().provider.as_str(),
        model = judge.profile().model(),
        endpoint = %judge.profile().endpoint(),
        practice = judge.profile().is_practice(),
        "judge configured"
    );
    Ok(judge)
}

/// The services, reached.
struct Ready {
    store: store::Store,
    consuming: Connection,
    publishing: Connection,
}

async fn reach(settings: &Settings) -> Result<Ready, Failure> {
    Ok(Ready {
        store: services::store(settings).await?,
        consuming: services::connection(settings, Purpose::Consume).await?,
        publishing: services::connection(settings, Purpose::Publish).await?,
    })
}

fn refused(error: WorkerError) -> Failure {
    match error {
        WorkerError::Topology(error) => services::broker(error),
        WorkerError::Database(error) => services::database(error),
    }
}
