//! Chance that can be repeated.

/// A row of numbers that looks random and follows from its seed alone, on every machine and in every
/// release. The generators of the `rand` crate do not promise the latter.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The dice for one call. Calls for the same trace get different dice, replays get the same.
    pub(crate) fn new(seed: u64, trace_id: &str, nth: u64) -> Dice {
        // FNV-1a over all that identifies the call; the finaliser below mixes what it leaves uneven.
        let bytes = seed.to_le_bytes().into_iter().chain(trace_id.bytes()).chain(nth.to_le_bytes());
        Dice(bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        }))
    }

    /// The next number (SplitMix64).
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exactly what an f64 holds")]
    pub(crate) fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `end`, or 0 when there is none.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.roll().checked_rem(end).unwrap_or(0)
    }

    /// One of the items, or none when there are none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.below(items.len().try_into().unwrap_or(u64::MAX));
        items.get(usize::try_from(index).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_rolls_the_same() {
        let row = |mut dice: Dice| (0..5).map(|_| dice.roll()).collect::<Vec<_>>();
        assert_eq!(row(Dice::new(1, "t", 1)), row(Dice::new(1, "t", 1)));
        for other in [Dice::new(2, "t", 1), Dice::new(1, "u", 1), Dice::new(1, "t", 2)] {
            assert_ne!(row(Dice::new(1, "t", 1)), row(other));
        }
    }

    #[test]
    fn shares_are_even_across_traces() {
        let below = (0..10_000).filter(|n| Dice::new(7, &format!("trace-{n}"), 1).share() < 0.25).count();
        assert!((2300..2700).contains(&below), "{below}");
        assert_eq!(Dice::new(0, "", 0).pick::<u8>(&[]), None);
    }
}
