//! The handle that everything else in this crate hangs on.

use std::future::Future;
use std::sync::Arc;

use audit::record::{AuditKey, Known};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::batch::{Batcher, Crew};
use crate::finish::Prepared;
use crate::{Error, Finished, Result, Settings, duplicate, finish, lookup};

/// Writers of endings: while one waits for its commit, another fills its transaction. Measured on two
/// cores: a third ends a third more audits per second, a fourth none.
pub(crate) const WRITERS: usize = 3;

/// Postgres, for everybody in the process. Clones share the connections and the batches.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    instance: Uuid,
    pool: PgPool,
    lookups: Batcher<AuditKey, Known>,
    endings: Batcher<Prepared, Finished>,
    duplicates: Batcher<Uuid, ()>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl Store {
    /// A store for these settings. Connections are made when they are needed: a worker may start
    /// while the server restarts. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Settings`] when the settings cannot work.
    pub fn connect(settings: &Settings) -> Result<Self> {
        settings.check()?;
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            .acquire_timeout(settings.acquire_timeout)
            .connect_lazy_with(settings.options()?);
        let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
        let crew = |servers| Crew {
            tasks: tasks.clone(),
            closing: closing.clone(),
            servers,
            batch_max: settings.batch_max,
        };
        let instance = Uuid::now_v7();
        let inner = Inner {
            instance,
            lookups: Batcher::start(&crew(1), {
                let pool = pool.clone();
                move |keys| lookup::all(pool.clone(), keys)
            }),
            endings: Batcher::start(&crew(WRITERS), {
                let pool = pool.clone();
                move |endings| finish::all(pool.clone(), instance, endings)
            }),
            duplicates: Batcher::start(&crew(1), {
                let pool = pool.clone();
                move |audits| duplicate::all(pool.clone(), audits)
            }),
            pool,
            tasks,
            closing,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Takes no more work, waits for what has begun, and closes the connections. Later calls fail
    /// with [`Error::Closed`].
    pub async fn close(&self) {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.pool.close().await;
    }

    /// Whether the server answers.
    pub async fn ping(&self) -> Result<()> {
        sqlx::query("select 1").execute(self.pool()).await.map_err(Error::cannot("reach the database"))?;
        Ok(())
    }

    /// Who this process is, among those that use the same database.
    pub(crate) fn instance(&self) -> Uuid {
        self.inner.instance
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    pub(crate) fn lookups(&self) -> &Batcher<AuditKey, Known> {
        &self.inner.lookups
    }

    pub(crate) fn endings(&self) -> &Batcher<Prepared, Finished> {
        &self.inner.endings
    }

    pub(crate) fn duplicates(&self) -> &Batcher<Uuid, ()> {
        &self.inner.duplicates
    }

    /// Runs a write to its end even if the caller is dropped meanwhile.
    pub(crate) async fn run<T, Writing>(&self, write: impl FnOnce(PgPool) -> Writing) -> Result<T>
    where
        T: Send + 'static,
        Writing: Future<Output = Result<T>> + Send + 'static,
    {
        if self.inner.closing.is_cancelled() {
            return Err(Error::Closed);
        }
        self.inner.tasks.spawn(write(self.pool().clone())).await.map_err(|_| Error::Closed)?
    }
}
