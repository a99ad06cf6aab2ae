//! SIGTERM and Ctrl-C: the first asks for an orderly end, the second ends at once.

use tokio_util::sync::CancellationToken;

use crate::output;

/// A token that the first signal cancels. With `insist`, the second signal ends the process.
///
/// # Errors
/// When signals cannot be listened to.
pub(crate) fn stop_token(insist: Insist) -> std::io::Result<CancellationToken> {
    let mut signals = Signals::new()?;
    let stop = CancellationToken::new();
    let token = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        token.cancel();
        if insist == Insist::ForADrain {
            output::note("stopping; once more to stop at once");
        }
        signals.next().await;
        exit_at_once();
    });
    Ok(stop)
}

/// Whether the end takes long enough to say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insist {
    /// Work is finished first.
    ForADrain,
    /// The end comes within a moment.
    Quietly,
}

#[expect(clippy::exit, reason = "somebody asked twice: nothing may hold the process back any more")]
fn exit_at_once() -> ! {
    std::process::exit(130)
}

struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) {
        // An error would mean that no signal can ever come.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
