use std::fmt;
use std::time::Duration;

use lapin::ErrorKind;
use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};

/// What can go wrong between this process and the broker, publishing apart: see [`PublishError`].
///
/// The text says what failed; why it failed is in [`std::error::Error::source`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL could not be understood. It is not repeated here, since it may hold a password.
    #[error("the AMQP URL is not valid ({0}), expected amqp://user:password@host:port/vhost")]
    Url(&'static str),
    /// A setting is out of its range.
    #[error("the queue setting {name} {problem}")]
    Setting {
        /// The field of [`crate::Options`].
        name: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No connection to the broker, or none within the time allowed.
    #[error("cannot connect to the broker at {broker}")]
    Connect {
        /// Host, port and virtual host, without credentials.
        broker: String,
        /// What the client library reported.
        source: Box<lapin::Error>,
    },
    /// Exchanges or queues of our names exist with other properties, or may not be declared.
    #[error("the broker's topology is not what this version needs:{}", list(.0))]
    Topology(Vec<Mismatch>),
    /// The broker or the connection refused an operation.
    #[error("the broker did not carry out: {operation}")]
    Broker {
        /// What was attempted.
        operation: &'static str,
        /// What the client library reported.
        source: Box<lapin::Error>,
    },
    /// No answer within the time allowed. Whether the broker carried it out is not known.
    #[error("no answer from the broker within {} ms: {operation}", .after.as_millis())]
    Timeout {
        /// What was attempted.
        operation: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// A name or an id is longer than the 255 bytes that AMQP allows.
    #[error("the {0} is longer than 255 bytes")]
    TooLong(&'static str),
    /// [`crate::Connection::close`] was called.
    #[error("the connection to the broker was closed by this process")]
    Closed,
}

impl Error {
    /// Whether somebody must change something before it can work: settings, credentials, rights, topology.
    /// Everything else is worth another try later.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Url(_) | Self::Setting { .. } | Self::Topology(_) | Self::TooLong(_) => true,
            Self::Connect { source, .. } | Self::Broker { source, .. } => is_refusal(source),
            Self::Timeout { .. } | Self::Closed => false,
        }
    }

    pub(crate) fn broker(operation: &'static str, source: lapin::Error) -> Self {
        Self::Broker { operation, source: Box::new(source) }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Broker { source, .. } if is_not_found(source))
    }
}

/// One exchange or queue that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// `exchange`, `queue` or `binding`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The broker's own words.
    pub reason: String,
    /// What an operator can do.
    pub remedy: &'static str,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}: {} ({})", self.kind, self.name, self.reason, self.remedy)
    }
}

fn list(mismatches: &[Mismatch]) -> String {
    mismatches.iter().map(|mismatch| format!("\n  {mismatch}")).collect()
}

/// Why a message does not count as published.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// No queue wanted it. The broker does not have it, and trying again does not help by itself.
    #[error("the message was returned: {code} {text}")]
    Returned {
        /// The broker's reply code, 312 when no queue is bound.
        code: u16,
        /// The broker's words.
        text: String,
    },
    /// The broker could not store it, for instance because a queue is full. Worth another try later.
    #[error("the broker refused to store the message")]
    Nacked,
    /// The message itself is at fault: its exchange does not exist, it is too large, a name is too long.
    #[error("the message cannot be published")]
    Refused(#[source] Error),
    /// No answer. The broker may or may not have it: publish it again under the same message id.
    #[error("whether the message was published is not known")]
    Unknown(#[source] Error),
}

impl PublishError {
    /// Whether the same message may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Nacked | Self::Unknown(_))
    }

    /// Whether the broker's user lacks the right to publish there: nothing is wrong with the message.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused(Error::Broker { source, .. }) if is_access_refused(source))
    }
}

fn soft(error: &lapin::Error) -> Option<AMQPSoftError> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => match error.kind() {
            AMQPErrorKind::Soft(soft) => Some(soft.clone()),
            AMQPErrorKind::Hard(_) => None,
        },
        _ => None,
    }
}

/// The broker closed the channel over what was asked of it, and would do so again.
pub(crate) fn is_channel_refusal(error: &lapin::Error) -> bool {
    soft(error).is_some()
}

pub(crate) fn is_not_found(error: &lapin::Error) -> bool {
    matches!(soft(error), Some(AMQPSoftError::NOTFOUND))
}

pub(crate) fn is_access_refused(error: &lapin::Error) -> bool {
    matches!(soft(error), Some(AMQPSoftError::ACCESSREFUSED))
}

/// Credentials, rights and virtual host: time heals none of them.
fn is_refusal(error: &lapin::Error) -> bool {
    let hard = match error.kind() {
        ErrorKind::ProtocolError(error) => match error.kind() {
            AMQPErrorKind::Hard(hard) => Some(hard.clone()),
            AMQPErrorKind::Soft(_) => None,
        },
        _ => None,
    };
    matches!(hard, Some(AMQPHardError::NOTALLOWED)) || is_access_refused(error)
}

/// What the broker said, without the wrapping of the client library.
pub(crate) fn broker_words(error: &lapin::Error) -> String {
    match error.kind() {
        ErrorKind::ProtocolError(error) => error.get_message().to_string(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use lapin::protocol::AMQPError;

    use super::*;

    fn soft_error(kind: AMQPSoftError, text: &str) -> lapin::Error {
        ErrorKind::ProtocolError(AMQPError::new(kind.into(), text.into())).into()
    }

    #[test]
    fn refusals_are_configuration_and_outages_are_not() {
        let refused = Error::broker("consume", soft_error(AMQPSoftError::ACCESSREFUSED, "no"));
        let missing = Error::broker("consume", soft_error(AMQPSoftError::NOTFOUND, "no"));
        let dead = Error::broker("consume", ErrorKind::MissingHeartbeatError.into());
        assert!(refused.is_configuration() && !refused.is_not_found());
        assert!(missing.is_not_found() && !missing.is_configuration());
        assert!(!dead.is_configuration() && !dead.is_not_found());
    }

    #[test]
    fn the_text_of_an_error_does_not_repeat_its_source() {
        let error = Error::broker("consume", soft_error(AMQPSoftError::NOTFOUND, "no queue here"));
        assert!(!error.to_string().contains("no queue here"));
        assert!(
            std::error::Error::source(&error).is_some_and(|source| source.to_string().contains("no queue"))
        );
    }

    #[test]
    fn a_mismatch_names_the_object_the_reason_and_the_way_out() {
        let error = Error::Topology(vec![Mismatch {
            kind: "queue",
            name: "groundcrew.dead".into(),
            reason: "inequivalent arg".into(),
            remedy: "drain it and delete it",
        }]);
        let text = error.to_string();
        for part in ["queue groundcrew.dead", "inequivalent arg", "drain it and delete it"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
