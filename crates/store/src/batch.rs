//! Many callers, one statement: what waits at the same moment is done together.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{Error, Result};

/// A question and where its answer goes.
type Job<Q, A> = (Q, oneshot::Sender<Result<A>>);

/// Hands questions of concurrent callers to a task that takes as many as are waiting and answers
/// them together.
///
/// Nobody waits for a batch to fill: while one is at the database, the next gathers by itself.
#[derive(Debug)]
pub(crate) struct Batcher<Q, A> {
    queue: mpsc::Sender<Job<Q, A>>,
}

/// Where batches run, and when they stop.
#[derive(Debug, Clone)]
pub(crate) struct Crew {
    /// The tasks.
    pub tasks: TaskTracker,
    /// No question is taken any more; those that wait are answered.
    pub closing: CancellationToken,
    /// How many tasks serve one queue, so that one batch is built while another one commits.
    pub servers: usize,
    /// How many questions are answered together at most.
    pub batch_max: usize,
}

impl<Q: Send + 'static, A: Send + 'static> Batcher<Q, A> {
    /// Starts the tasks. `run` gets at least one question and gives as many answers, in their order.
    pub fn start<Run, Running>(crew: &Crew, run: Run) -> Self
    where
        Run: Fn(Vec<Q>) -> Running + Clone + Send + Sync + 'static,
        Running: Future<Output = Vec<Result<A>>> + Send + 'static,
    {
        let (queue, waiting) = mpsc::channel(crew.batch_max.saturating_mul(4));
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..crew.servers {
            crew.tasks.spawn(serve(crew.clone(), Arc::clone(&waiting), run.clone()));
        }
        Self { queue }
    }

    /// Waits for the answer. Dropping this future changes nothing: a question that was taken is carried out.
    pub async fn ask(&self, question: Q) -> Result<A> {
        let (reply, answer) = oneshot::channel();
        self.queue.send((question, reply)).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

async fn serve<Q, A, Run, Running>(crew: Crew, waiting: Arc<Mutex<mpsc::Receiver<Job<Q, A>>>>, run: Run)
where
    Q: Send + 'static,
    A: Send + 'static,
    Run: Fn(Vec<Q>) -> Running + Send + Sync + 'static,
    Running: Future<Output = Vec<Result<A>>> + Send + 'static,
{
    loop {
        let batch = take(&crew, &waiting).await;
        if batch.is_empty() {
            return;
        }
        let (questions, replies): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        // In a task of its own, so that a panic in one batch does not end the service of all others.
        let Ok(answers) = crew.tasks.spawn(run(questions)).await else { continue };
        for (reply, answer) in replies.into_iter().zip(answers) {
            // A caller that is gone does not need its answer.
            let _ = reply.send(answer);
        }
    }
}

/// The jobs that wait now, at least one; none when the queue is closed and empty.
async fn take<Q, A>(crew: &Crew, waiting: &Mutex<mpsc::Receiver<Job<Q, A>>>) -> Vec<Job<Q, A>> {
    let mut batch = Vec::new();
    let mut waiting = waiting.lock().await;
    tokio::select! {
        biased;
        () = crew.closing.cancelled(), if !waiting.is_closed() => waiting.close(),
        _ = waiting.recv_many(&mut batch, crew.batch_max) => return batch,
    }
    waiting.recv_many(&mut batch, crew.batch_max).await;
    batch
}
