//! The whole system over real RabbitMQ and Postgres. Everything is in `it/`.
