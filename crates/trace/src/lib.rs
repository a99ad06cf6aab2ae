//! The trace contract: types, decoding, completeness, content hash. No I/O.
