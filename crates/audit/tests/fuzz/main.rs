//! A short run of the fuzz target over its seeds and over what small changes make of them.
//!
//! The long run is in `fuzz/` at the root of the repository.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod mutation;
mod replies;

use std::path::Path;

use audit::Outcome;
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
fn every_seed_passes_and_the_good_ones_are_accepted() {
    const GOOD: [&str; 6] = ["plain", "fenced", "reasoning", "twice", "scripts", "elided"];
    for (name, seed) in seeds() {
        // The test's output says which seed it was, should one fail.
        println!("{name}");
        let outcome = replies::check(&seed);
        assert!(outcome == Outcome::Accepted || !GOOD.contains(&name.as_str()), "{outcome:?}");
    }
}

#[test]
fn orders_begin_with_a_reply_that_is_accepted() {
    for trace in 0..6 {
        assert_eq!(replies::check(&[0, trace, 0, 1]), Outcome::Accepted, "trace {trace}");
    }
}

/// Pieces that a change of bytes would hardly hit upon.
const PIECES: [&str; 16] = [
    "\"", "{", "}", "[", "]", "\\ud800", "\\", "null", "\n", "</think>", "```", "\u{feff}", "1e999", "\0",
    "…", "٣",
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
                _ => drop(input.splice(at..(at + usize::from(byte)).min(input.len()), [])),
            }
        }
        let _ = replies::check(&input);
    }

    #[test]
    fn orders_of_any_bytes_pass(head in any::<[u8; 3]>(), body in prop::collection::vec(any::<u8>(), 0..160)) {
        // An odd mode: the body are orders.
        let input: Vec<u8> = head.into_iter().chain([1]).chain(body).collect();
        let _ = replies::check(&input);
    }
}
