//! LLM judges over HTTP: one call, its limits and its failure class.
//!
//! A [`Profile`] says where a judge lives and how it wants to be asked, a [`Judge`] asks it.
//! One [`Judge::ask`] is one HTTP request: this crate never repeats a call by itself, because whoever
//! counts and stores attempts must see each of them.
//! What the judge says is not understood here; only the envelope is opened ([`Reply`]).
//! What goes wrong gets a [`Class`], and the class alone decides what the caller does next.
//!
//! Clones of a [`Judge`] share its [`Limiter`] and its [`Breaker`].

mod breaker;
mod call;
mod classify;
pub mod delay;
mod error;
mod headers;
mod judge;
mod limiter;
mod profile;
mod question;
mod reply;

pub use breaker::{Breaker, BreakerState, OpenReason};
pub use error::{Class, JudgeError};
pub use judge::{Judge, JudgeSetupError, Limits};
pub use limiter::Limiter;
pub use profile::{MaxTokensKey, Price, Profile, ProfileError, ProfileSettings, Secret, StructuredOutput};
pub use question::Question;
pub use reply::{Cost, Reply, Usage};
