//! Hashing for tables of words that are fixed in the code. What is looked up comes from outside, what is
//! in the table does not: nobody can crowd it, so a quick hash without a secret is enough.

use std::hash::{BuildHasherDefault, Hasher};

/// How tables of fixed words hash.
pub type Quick = BuildHasherDefault<Fnv>;

/// FNV-1a for 64 bits.
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
