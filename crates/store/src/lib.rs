//! Postgres: migrations, batched writes, reads, the outbox.
