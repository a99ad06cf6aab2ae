//! A short run of the fuzz target over its seeds and over what small changes make of them.
//!
//! The long run is in `fuzz/` at the root of the repository.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod traces;

use std::path::Path;

use proptest::prelude::*;

/// The inputs of the corpus, by name.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut seeds: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()))
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    seeds
}

#[test]
fn every_seed_passes_and_the_good_ones_are_traces() {
    for (name, seed) in seeds() {
        // The test's output says which seed it was, should one fail.
        println!("{name}");
        let is_trace = traces::check(&seed);
        assert_eq!(is_trace, name.starts_with("good_"));
    }
}

/// Pieces that a change of bytes would hardly hit upon.
const PIECES: [&str; 20] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    "\\ud800",
    "\\",
    "null",
    "\n",
    ",",
    "\u{feff}",
    "1e999",
    "\0",
    "-1",
    "1.0",
    "\"a\":{\"a\":1,\"a\":2},",
    "\"trace_id\":1,",
    "\"rank\":1e18,",
    "2026-02-30T25:00:00Z",
    "\u{fffd}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_seeds_pass(
        seed in prop::sample::select(seeds()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..3, any::<u8>(), prop::sample::select(&PIECES[..])), 0..12),
    ) {
        let mut input = seed.1;
        for (at, edit, byte, piece) in edits {
            let at = at.index(input.len() + 1);
            match edit {
                0 if at < input.len() => input[at] = byte,
                1 => drop(input.splice(at..at, piece.bytes())),
                _ => drop(input.splice(at..(at + usize::from(byte % 16)).min(input.len()), [])),
            }
        }
        let _ = traces::check(&input);
    }

    #[test]
    fn any_bytes_pass(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = traces::check(&body);
    }
}
