//! The contract between producers and Groundcrew: what a trace is, how a message becomes one,
//! and whether it is complete enough to be judged. Pure functions, no I/O.
//!
//! Read in this order: [`contract`] (the types of `groundcrew.trace/v1`), [`decode`] (bytes to a
//! [`Trace`]), [`completeness`] (may this trace be judged?), [`hash`] (when are two traces the
//! same?), [`sampling`] (which traces are audited?), [`json`] (the strict reader that traces and judge replies share).

pub mod completeness;
pub mod contract;
pub mod decode;
pub mod hash;
pub mod json;
pub mod sampling;
mod truncation;

pub use completeness::{Provenance, Readiness, Requirements};
pub use contract::{
    Chunk, Generator, HumanClaim, HumanLabel, Intent, Kind, Origin, Reference, Retrieval, Risk, SCHEMA,
    Timestamp, Timings, Trace, Value,
};
pub use decode::{Undecodable, decode};
pub use hash::{ContentHash, content_hash};

/// One thing that is wrong with a trace, and where.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Problem {
    /// JSON path from the root of the message, such as `$.retrieval.chunks[2].rank`.
    pub path: String,
    /// What is wrong and what is expected there, without the offending content.
    pub message: String,
}

impl Problem {
    /// A problem at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// The JSON Schema of a trace, generated from the types that the worker reads with.
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Trace>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("$id".into(), SCHEMA.into());
        object.insert("title".into(), "Groundcrew trace, version 1".into());
    }
    schema
}
