//! Chance that can be repeated.

use std::fmt;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

/// Where a test takes its chance from. It is printed, and set again through `GROUNDCREW_TEST_SEED`.
#[derive(Debug)]
pub struct Seed {
    number: u64,
    dice: SmallRng,
}

impl Seed {
    /// The seed of the environment, or a new one.
    ///
    /// # Panics
    /// When `GROUNDCREW_TEST_SEED` is not a number.
    pub fn new() -> Self {
        let number = match std::env::var("GROUNDCREW_TEST_SEED") {
            Ok(text) => text.trim().parse().expect("GROUNDCREW_TEST_SEED is a whole number"),
            Err(_) => rand::random_range(0..1_000_000),
        };
        println!("seed {number}: GROUNDCREW_TEST_SEED={number} repeats this run");
        Self::of(number)
    }

    /// A certain seed.
    pub fn of(number: u64) -> Self {
        Self { number, dice: SmallRng::seed_from_u64(number) }
    }

    /// The number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// A whole number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.dice.random_range(0..end)
    }

    /// The same items in another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.dice.random_range(0..=last));
        }
    }
}

impl Default for Seed {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.number)
    }
}
