//! The fuzz targets of `audit` and `trace` under a fuzzer that sees which code an input reaches.
//! `./run` gives each a million inputs; the targets themselves stand beside the short runs of the
//! crates' own tests.

#![cfg(test)]

#[path = "../../crates/audit/tests/fuzz/mutation.rs"]
mod mutation;
#[path = "../../crates/audit/tests/fuzz/replies.rs"]
mod reply_target;
#[path = "../../crates/trace/tests/fuzz/traces.rs"]
mod trace_target;

/// Reading and verifying replies.
#[test]
fn replies() {
    bolero::check!().for_each(|input| {
        reply_target::check(input);
    });
}

/// Reading traces, and judging whether they are complete.
#[test]
fn traces() {
    bolero::check!().for_each(|input| {
        trace_target::check(input);
    });
}
