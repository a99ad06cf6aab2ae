//! `groundcrew desk`: the HTTP server.

use std::time::Duration;

use desk::{DeskError, Server};
use runner::Runner;

use crate::args::Desk;
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::services;
use crate::signals::{self, Insist};

/// Puts the parts together and serves until it is told to stop.
pub(crate) async fn run(args: &Desk, settings: Settings) -> Outcome {
    let Some(configured) = &settings.judge else {
        return Err(Failure::usage("no judge is configured").hint(
            "the gate asks one: set GROUNDCREW_JUDGE__BASE_URL and GROUNDCREW_JUDGE__MODEL, \
             or start `groundcrew judge practice`, which needs no model and prints what to set",
        ));
    };
    let judges = services::judges(configured, &settings.fallback)?;
    let stop = signals::stop_token(Insist::ForADrain).map_err(Failure::failed)?;
    // A stop during the wait ends it: nothing has begun.
    let store = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        ready = services::wait_for(Duration::from_secs(args.wait_for), async || services::store(&settings).await) => ready?,
    };
    let runner = Runner::new(judges, settings.runner.clone());
    let server = Server::bind(settings.desk.clone(), store, runner).await.map_err(refused)?;
    let mut output = Output::new();
    output.line(format!("desk http://{}", server.address()));
    output.flush();
    drop(output);
    // Both end what they have begun before they return.
    tokio::join!(
        Box::pin(server.run(stop.clone())),
        Box::pin(super::notify::beside_the_desk(&settings, &stop))
    );
    Ok(())
}

fn refused(error: DeskError) -> Failure {
    match error {
        DeskError::Database(error) => services::database(error),
        error => Failure::usage(error),
    }
}
