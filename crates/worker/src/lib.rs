//! From delivery to ack: lanes, parking, the outbox relay, shutdown.
