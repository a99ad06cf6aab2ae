//! What keeps notifications from being set up or tried.

/// Why notifications cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// The HTTP client could not be built.
    #[error("the HTTP client for notifications cannot be set up")]
    Client(#[source] reqwest::Error),
    /// No receiver has this name.
    #[error("no receiver is called `{0}`")]
    UnknownReceiver(String),
}
