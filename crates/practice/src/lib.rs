//! The practice judge: an OpenAI-compatible HTTP server without a model.
//!
//! It compares words, numbers, names and negations of an answer with the evidence and replies in the
//! asked schema, so that everything around a judge can be run, tested and measured at no cost.
//! What it says is a baseline to hold real judges against and no proof of anything.
//!
//! It knows all five audit kinds and the call that only lists claims. Which of them is asked for it takes from the
//! name of the schema in `response_format`; where the dialect has no name, from the keys that the request wants.
//! The answer is analysed once, in the same way for all (`honest`), and then put into a kind's words (`shape`).
//!
//! A [`Server`] answers honestly unless its [`Settings`] tell it to misbehave: by [`Faults`] (which, how
//! often, by a seed) or by [`Canned`] replies (what exactly, trace by trace).
//!
//! | request | what it does |
//! | --- | --- |
//! | `POST /v1/chat/completions` | judges; the trace id comes in the header `groundcrew-trace-id` |
//! | `GET /v1/models` | names the one model there is |
//! | `GET /health` | says that it is up |
//! | `GET /calls` | counts of calls: in total, without a trace id, and by trace |
//! | `GET /calls/{trace id}` | counts of calls for one trace, its id percent-encoded |
//! | `POST /reset` | forgets all counts |

mod canned;
mod counts;
mod dice;
mod envelope;
mod faults;
mod honest;
mod misbehave;
mod plan;
mod server;
mod settings;
mod shape;

pub use canned::{Canned, CannedError, CannedReply};
pub use counts::Calls;
pub use faults::{Fault, Faults, FaultsError};
pub use server::{Server, StartError};
pub use settings::Settings;

/// The model's name in every reply: nobody shall take these verdicts for those of a real judge.
pub const MODEL: &str = "groundcrew-practice-judge";
