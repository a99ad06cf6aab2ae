//! LLM judges over HTTP: one call, its limits and its failure class.
//!
//! A [`Profile`] says where a judge lives and how it wants to be asked, a [`Judge`] asks it.
//! One [`Judge::ask`] is one HTTP request: this crate never repeats a call by itself, because whoever
//! counts and stores attempts must see each of them.
//! What the judge says is not understood here; only the envelope is opened ([`Reply`]).
//! What goes wrong gets a [`Class`], and the class alone decides what the caller does next.
//!
//! [`Judges`] are several in the order in which they are asked; which of them is next is the caller's business,
//! step by step, so that the rule of one request for each attempt holds there as well.
//!
//! Clones of a [`Judge`] share its [`Limiter`] and its [`Breaker`].

mod adaptive;
mod breaker;
mod call;
mod classify;
mod client;
pub mod delay;
mod dialect;
mod error;
mod headers;
mod judge;
mod judges;
mod limiter;
mod models;
mod pace;
mod price;
mod profile;
mod provider;
mod question;
mod reply;
mod secret;
mod turnstile;

pub use breaker::{Breaker, BreakerState, OpenReason};
pub use client::client;
pub use dialect::{HttpVersion, MaxTokensKey, Provider, StructuredOutput};
pub use error::{Class, JudgeError};
pub use headers::retry_after;
pub use judge::{Judge, JudgeSetupError, LEAST_SHARE, Limits, TURN_PATIENCE};
pub use judges::{Availability, Judges, Turn, Watch};
pub use limiter::Limiter;
pub use models::ModelRule;
pub use price::Price;
pub use profile::{Profile, ProfileError, ProfileSettings};
pub use question::Question;
pub use reply::{Cost, Reply, Usage};
pub use secret::Secret;
pub use turnstile::Urgency;
