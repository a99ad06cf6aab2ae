//! `groundcrew schema`: what producers send, as JSON Schema.

use crate::failure::Outcome;
use crate::output::Output;

/// Prints the schema of a trace, generated from the types that the worker reads with.
pub(crate) fn trace() -> Outcome {
    Output::new().json(&trace::schema());
    Ok(())
}
