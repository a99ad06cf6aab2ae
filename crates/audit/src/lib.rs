//! Audit kinds, prompts, reading replies, verification, policy and routing. No I/O.
