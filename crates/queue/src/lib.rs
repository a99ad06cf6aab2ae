//! RabbitMQ: topology, consuming, publishing with confirms.
