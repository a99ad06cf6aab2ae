//! `groundcrew notify`: what is critical reaches people.

use std::time::Duration;

use notify::{Health, Notifier, NotifyError, Planned};
use queue::Purpose;
use store::{Store, TryOutcome};
use tokio_util::sync::CancellationToken;

use crate::args::{Notify, NotifyTest, Send};
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use crate::signals::{self, Insist};
use crate::{services, terminal};

/// Open items that a dry run looks at.
const MOST_ITEMS: u32 = 10_000;

/// Sends until it is told to stop, or does the one thing that is asked for.
pub(crate) async fn run(args: &Notify, settings: Settings) -> Outcome {
    if let Some(Send::Test(test)) = &args.send {
        return self::test(test, &settings).await;
    }
    if let Some(why) = why_nobody(&settings) {
        return Err(
            Failure::usage(why).hint("docs/paging.md has an example; config.default.toml explains each key")
        );
    }
    if args.dry_run {
        return dry_run(args, &settings).await;
    }
    let health = health(&settings)?;
    let stop = signals::stop_token(Insist::ForADrain).map_err(Failure::failed)?;
    let patience = Duration::from_secs(args.wait_for);
    // A stop during the wait ends it: nothing has begun.
    let (store, connection) = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        ready = services::wait_for(patience, async || {
            Ok((services::store(&settings).await?, consuming(&settings).await?))
        }) => ready?,
    };
    let notifier = Notifier::new(settings.notify.settings.clone(), store.clone()).map_err(Failure::failed)?;
    output::note("notify: reading groundcrew.review");
    // The endpoints answer until the last notification is told.
    let end = CancellationToken::new();
    let work = async {
        notifier.run(&connection, &stop).await;
        end.cancel();
    };
    let serve = async {
        if let Some(health) = health {
            health.serve(store.clone(), connection.clone(), stop.clone(), end.clone()).await;
        }
    };
    tokio::join!(serve, work);
    store.close().await;
    Ok(())
}

/// The socket of the health endpoints, where one is configured: before anything else begins.
fn health(settings: &Settings) -> Result<Option<Health>, Failure> {
    let Some(address) = settings.notify.health_listen else { return Ok(None) };
    Health::bind(address)
        .map(Some)
        .map_err(|error| Failure::usage(format!("notify.health_listen: cannot listen on {address}: {error}")))
}

/// Why no notification can be sent; none when they can.
fn why_nobody(settings: &Settings) -> Option<String> {
    let paging = &settings.notify;
    if !paging.missing.is_empty() {
        return Some(paging.missing.join("; "));
    }
    (!paging.settings.is_configured()).then(|| "no [[notify.rules]] tell any receiver anything".to_owned())
}

/// A connection to the broker with all queues declared.
async fn consuming(settings: &Settings) -> Result<queue::Connection, Failure> {
    let connection = services::connection(settings, Purpose::Consume).await?;
    match queue::topology::declare(&connection).await {
        Ok(()) => {}
        // An account may be allowed to read and nothing else.
        Err(error @ queue::Error::Topology(_)) => {
            output::note(format!("warning: {}", crate::failure::chain(&error)));
        }
        Err(error) => return Err(services::broker(error)),
    }
    Ok(connection)
}

/// Sends notifications beside the desk's own work, where `[notify]` and the broker are configured.
pub(crate) async fn beside_the_desk(settings: &Settings, stop: &CancellationToken) {
    if !settings.notify.settings.is_configured() && settings.notify.missing.is_empty() {
        return;
    }
    let why = why_nobody(settings)
        .or_else(|| settings.queue.settings.is_none().then(|| "no broker is configured".to_owned()));
    if let Some(why) = why {
        tracing::warn!(why, "this desk pages nobody; `groundcrew notify` does where it is set up");
        return;
    }
    // A store of its own: the desk closes the other at its end, and a try that is on its way has to be recorded.
    let (notifier, store) = match own_notifier(settings) {
        Ok(made) => made,
        Err(failure) => {
            tracing::error!(error = failure.message(), "this desk pages nobody");
            return;
        }
    };
    page_until(&notifier, settings, stop).await;
    store.close().await;
}

fn own_notifier(settings: &Settings) -> Result<(Notifier, Store), Failure> {
    let store = Store::connect(&services::store_settings(settings)?).map_err(Failure::usage)?;
    let notifier = Notifier::new(settings.notify.settings.clone(), store.clone()).map_err(Failure::failed)?;
    Ok((notifier, store))
}

async fn page_until(notifier: &Notifier, settings: &Settings, stop: &CancellationToken) {
    loop {
        let connected = tokio::select! {
            () = stop.cancelled() => return,
            connected = consuming(settings) => connected,
        };
        match connected {
            Ok(connection) => return notifier.run(&connection, stop).await,
            Err(failure) => tracing::warn!(error = failure.message(), "this desk pages nobody yet"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(5)) => {}
        }
    }
}

async fn dry_run(args: &Notify, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let items = store.open_items(MOST_ITEMS).await.map_err(services::database)?;
    let count = items.len();
    let notifier = Notifier::new(settings.notify.settings.clone(), store.clone()).map_err(Failure::failed)?;
    let planned = notifier.plan(items).await.map_err(services::database)?;
    let mut output = Output::new();
    for Planned { receiver, kind, summary, body } in &planned {
        if args.json.json {
            output.json_line(&serde_json::json!({
                "receiver": receiver, "type": kind, "summary": summary, "body": body,
            }));
        } else {
            output.line(format!("{} ({kind}): {}", terminal::line(receiver), terminal::line(summary)));
            output.json(body);
        }
    }
    if !args.json.json {
        output.line(format!("{count} open review items, {} pages; nothing was sent", planned.len()));
    }
    store.close().await;
    Ok(())
}

async fn test(args: &NotifyTest, settings: &Settings) -> Outcome {
    // The store connects only when it is asked something, and a test asks it nothing.
    let (notifier, _store) = own_notifier(settings)?;
    let answer = notifier.test(&args.receiver).await.map_err(|error| match error {
        error @ NotifyError::UnknownReceiver(_) => {
            Failure::usage(error).hint(if settings.notify.missing.is_empty() {
                "it needs a section [notify.receivers.<name>] with its secrets in the environment or in files"
                    .to_owned()
            } else {
                settings.notify.missing.join("; ")
            })
        }
        error => Failure::failed(error),
    })?;
    if answer.outcome == TryOutcome::Delivered {
        let status = answer.status.map(|status| format!(" ({status})")).unwrap_or_default();
        Output::new().line(format!("{}: delivered{status}", terminal::line(&args.receiver)));
        return Ok(());
    }
    let error = answer.error.unwrap_or_default();
    Err(Failure::failed(format!("{}: {}: {error}", args.receiver, answer.outcome)))
}
