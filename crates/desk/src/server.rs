//! The server: start, serve, drain.

use std::net::SocketAddr;
use std::time::Duration;

use durable::{calibration, chain};
use runner::Runner;
use store::Store;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;
use crate::state::Desk;
use crate::{connections, gate, health, routes};

/// How long what was cut off may take to be sent.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The desk cannot start.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The address is taken, or is none of this machine.
    #[error("desk.listen: cannot listen on {address}")]
    Listen {
        /// Where it should be.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Who is not asked who they are may only come from this machine.
    #[error("desk.login: `loopback` asks nobody who they are, and {0} can be reached from other machines")]
    Open(SocketAddr),
    /// The database is not ready.
    #[error("the database is not ready")]
    Database(#[source] store::Error),
}

/// A desk that listens. Any number may run at the same time.
#[derive(Debug)]
pub struct Server {
    desk: Desk,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens. Nothing is answered before [`Server::run`].
    ///
    /// # Errors
    /// [`DeskError`].
    pub async fn bind(settings: Settings, store: Store, runner: Runner) -> Result<Self, DeskError> {
        let address = settings.listen;
        if settings.logins.loopback.is_some() && !address.ip().is_loopback() {
            return Err(DeskError::Open(address));
        }
        store.check_schema().await.map_err(DeskError::Database)?;
        runner.calibration().replace(store.calibrated().await.map_err(DeskError::Database)?);
        let listen = |source| DeskError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self { desk: Desk::new(settings, store, runner), listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`; then requests that have begun may end within the drain deadline.
    pub async fn run(self, stop: CancellationToken) {
        let Self { desk, listener, address } = self;
        let end = CancellationToken::new();
        let mut background = JoinSet::new();
        let (watched, token) = (desk.clone(), end.clone());
        background.spawn(async move { health::watch(&watched, &token).await });
        let (followed, token) = (desk.clone(), end.clone());
        background
            .spawn(async move { calibration::follow(followed.store(), followed.runner(), &token).await });
        let (swept, token) = (desk.clone(), end.clone());
        background.spawn(async move { gate::sweep(&swept, &token).await });
        tracing::info!(%address, "the desk listens");

        let limits = connections::Limits::of(desk.settings().gate.max_calls);
        let router = routes::router(desk.clone());
        let mut serve = tokio::spawn(connections::serve(listener, router, limits, stop.clone(), end.clone()));
        stop.cancelled().await;
        desk.tasks().close();
        let drained = async {
            let _ = (&mut serve).await;
            desk.tasks().wait().await;
        };
        if tokio::time::timeout(desk.settings().drain_deadline, drained).await.is_err() {
            tracing::warn!("the drain deadline is over; what is left is cut off");
            desk.abort().cancel();
            desk.tasks().wait().await;
            // What was cut off still has an answer. A task that has ended may not be waited for again.
            if !serve.is_finished() {
                let _ = tokio::time::timeout(LAST_ANSWERS, &mut serve).await;
            }
        }
        end.cancel();
        while let Some(joined) = background.join_next().await {
            if let Err(error) = joined {
                tracing::error!(%error, "a task ended by a panic");
            }
        }
        if let Err(error) = desk.store().return_reservations().await {
            tracing::debug!(error = %chain(&error), "reserved calls could not be given back");
        }
        desk.store().close().await;
        tracing::info!("stopped");
    }
}
