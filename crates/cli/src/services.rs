//! Reaching Postgres, RabbitMQ and the judges, and waiting for them.

use std::time::Duration;

use judge::{Judge, Judges};
use queue::{Connection, Publisher, Purpose};
use store::Store;
use tokio::time::Instant;

use crate::config::{self, Settings};
use crate::failure::Failure;
use crate::output;

/// How long to wait between two looks at a service that does not answer yet.
const PAUSE: Duration = Duration::from_millis(500);

/// How long a connection to the database's port may take.
const KNOCK: Duration = Duration::from_secs(5);

/// Where Postgres listens unless its URL says otherwise.
const POSTGRES_PORT: u16 = 5432;

/// How the store shall reach Postgres.
///
/// # Errors
/// When no URL is configured.
pub(crate) fn store_settings(settings: &Settings) -> Result<store::Settings, Failure> {
    let database = &settings.database;
    let Some(url) = &database.url else {
        return Err(Failure::usage("no database is configured")
            .hint("set DATABASE_URL, such as postgres://user:password@host:5432/groundcrew"));
    };
    Ok(store::Settings {
        ca_file: database.ca_file.clone(),
        max_connections: database.max_connections,
        acquire_timeout: database.acquire_timeout,
        statement_timeout: database.statement_timeout,
        lock_timeout: database.lock_timeout,
        ..store::Settings::new(url.expose())
    })
}

/// How to reach RabbitMQ.
///
/// # Errors
/// When no URL is configured.
pub(crate) fn queue_settings(settings: &Settings) -> Result<&queue::Settings, Failure> {
    settings.queue.settings.as_ref().ok_or_else(|| {
        Failure::usage("no broker is configured")
            .hint("set AMQP_URL, such as amqp://user:password@host:5672/vhost")
    })
}

/// Whether anything listens where the database should be.
///
/// The pool of connections waits for its whole time-out before it says that it got none, and does not say why.
pub(crate) async fn knock(database: &store::Settings) -> Result<(), Failure> {
    // Sockets in the file system, and lists of hosts, are left to the pool.
    let Ok(url) = reqwest::Url::parse(&database.url) else { return Ok(()) };
    let Some(host) = url.host_str().filter(|host| !host.is_empty() && url.query().is_none()) else {
        return Ok(());
    };
    let (host, port) = (host.trim_matches(['[', ']']), url.port().unwrap_or(POSTGRES_PORT));
    let failed = |error: &dyn std::fmt::Display| {
        Failure::unreachable(format!("cannot reach the database at {host}:{port}: {error}"))
            .hint("is Postgres running where DATABASE_URL points to? `groundcrew check services` says more")
    };
    match tokio::time::timeout(KNOCK, tokio::net::TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(failed(&error)),
        Err(elapsed) => Err(failed(&elapsed)),
    }
}

/// A store whose database answers and has this version's tables.
pub(crate) async fn store(settings: &Settings) -> Result<Store, Failure> {
    let target = store_settings(settings)?;
    knock(&target).await?;
    let store = Store::connect(&target).map_err(Failure::usage)?;
    store.ping().await.map_err(|error| {
        Failure::unreachable(error)
            .hint("is Postgres running where DATABASE_URL points to? `groundcrew check services` says more")
    })?;
    store.check_schema().await.map_err(database)?;
    Ok(store)
}

/// The first judge and those that stand in for it, made ready. Nothing is sent.
///
/// # Errors
/// When one cannot be set up.
pub(crate) fn judges(first: &config::Judge, fallback: &[config::Judge]) -> Result<Judges, Failure> {
    let fallback = fallback.iter().map(judge).collect::<Result<_, _>>()?;
    Judges::new(judge(first)?, fallback).map_err(Failure::usage)
}

fn judge(configured: &config::Judge) -> Result<Judge, Failure> {
    let judge = Judge::new(configured.profile.clone(), &configured.limits).map_err(Failure::usage)?;
    tracing::info!(
        judge = judge.name(),
        provider = judge.profile().settings().provider.as_str(),
        model = judge.profile().model(),
        endpoint = %without_query(judge.profile().endpoint()),
        practice = judge.profile().is_practice(),
        "judge configured"
    );
    Ok(judge)
}

/// An address for a log: some providers want their key in the query.
fn without_query(address: &reqwest::Url) -> String {
    let mut address = address.clone();
    if address.query().is_some() {
        address.set_query(Some("hidden"));
    }
    address.to_string()
}

/// A connection to the broker.
pub(crate) async fn connection(settings: &Settings, purpose: Purpose) -> Result<Connection, Failure> {
    Connection::open(queue_settings(settings)?, purpose).await.map_err(broker)
}

/// A publisher on a connection of its own. Exchanges and queues are declared if they are missing, so that
/// what is published before the first worker starts is kept.
pub(crate) async fn publisher(settings: &Settings) -> Result<Publisher, Failure> {
    let connection = connection(settings, Purpose::Publish).await?;
    match queue::topology::declare(&connection).await {
        Ok(()) => {}
        // A producer's account may be allowed to publish and nothing else.
        Err(error @ queue::Error::Topology(_)) => {
            output::note(format!("warning: {}", crate::failure::chain(&error)))
        }
        Err(error) => return Err(broker(error)),
    }
    Ok(Publisher::new(&connection))
}

/// A failure of the database, by what can be done about it.
pub(crate) fn database(error: store::Error) -> Failure {
    if error.is_transient() { Failure::unreachable(error) } else { Failure::failed(error) }
}

/// A failure of the broker, by what can be done about it.
pub(crate) fn broker(error: queue::Error) -> Failure {
    match error {
        error if error.is_configuration() => Failure::usage(error),
        error => Failure::unreachable(error)
            .hint("is RabbitMQ running where AMQP_URL points to? `groundcrew check services` says more"),
    }
}

/// Repeats `attempt` while it finds a service unreachable and `patience` lasts.
pub(crate) async fn wait_for<T>(
    patience: Duration,
    mut attempt: impl AsyncFnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let deadline = Instant::now() + patience;
    let mut told = false;
    loop {
        match attempt().await {
            Err(failure) if failure.may_pass() && Instant::now() < deadline => {
                if !told {
                    output::note(format!("waiting: {}", failure.message()));
                    told = true;
                }
                tokio::time::sleep(PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}
