//! Judges asked over real sockets.
//!
//! Each test names the bytes that a server sends and when, and looks at what the caller gets.

#![expect(clippy::unwrap_used, reason = "in a test a panic is how things fail")]

mod anthropic;
mod breaker;
mod failures;
mod gemini;
mod http2;
mod open_ai;
mod order;
mod replies;
mod server;
