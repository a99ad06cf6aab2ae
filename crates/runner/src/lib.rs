//! One audit from trace to report: ask, read, verify, decide.
