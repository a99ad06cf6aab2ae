//! Holds the system tests; see `it/main.rs`.
