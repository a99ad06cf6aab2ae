//! Numbers that know their range, so that a refused value is always told what is allowed.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole<const MIN: u64, const MAX: u64>(u64);

/// A time in seconds, given with or without a fraction, from `MIN_MS` to `MAX_MS` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seconds<const MIN_MS: u64, const MAX_MS: u64>(Duration);

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

/// A sum of money: 0, or a millionth to a million.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Money(pub(crate) f64);

/// A value, or the word `provider` for leaving it to the provider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OrProvider<T> {
    Value(T),
    Provider,
}

/// A sampling temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Temperature(pub(crate) f64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    /// The number as an index or a count; `MAX` always fits.
    pub(crate) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// The number as a `u32`; ranges beyond that type are not used with it.
    pub(crate) fn small(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }

    /// The number as a `u16`; ranges beyond that type are not used with it.
    pub(crate) fn tiny(self) -> u16 {
        u16::try_from(self.0).unwrap_or(u16::MAX)
    }
}

impl<const MIN_MS: u64, const MAX_MS: u64> Seconds<MIN_MS, MAX_MS> {
    pub(crate) const fn get(self) -> Duration {
        self.0
    }

    pub(crate) fn ms(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Money {
    /// The sum in millionths of its currency.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to a million units, which is checked when it is read"
    )]
    pub(crate) fn micros(self) -> u64 {
        (self.0 * 1_000_000.0).round() as u64
    }
}

impl<T> OrProvider<T> {
    pub(crate) fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Provider => None,
        }
    }
}

/// What a number has to be, and how it is said.
trait Bounded: Sized {
    fn expected(formatter: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn from_number(number: f64) -> Option<Self>;
}

impl<const MIN: u64, const MAX: u64> Bounded for Whole<MIN, MAX> {
    fn expected(formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a whole number from {MIN} to {MAX}")
    }

    fn from_number(number: f64) -> Option<Self> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and checked against u64"
        )]
        let whole = (number.fract() == 0.0 && (0.0..=9e15).contains(&number)).then_some(number as u64)?;
        (MIN..=MAX).contains(&whole).then_some(Self(whole))
    }
}

impl<const MIN_MS: u64, const MAX_MS: u64> Bounded for Seconds<MIN_MS, MAX_MS> {
    fn expected(formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ms: u64| Duration::from_millis(ms).as_secs_f64();
        write!(formatter, "seconds from {} to {}", seconds(MIN_MS), seconds(MAX_MS))
    }

    fn from_number(number: f64) -> Option<Self> {
        let duration = Duration::try_from_secs_f64(number).ok()?;
        // Whole milliseconds: what the broker and the database count in.
        let rounded =
            Duration::from_millis(u64::try_from((duration + Duration::from_micros(500)).as_millis()).ok()?);
        let range = Duration::from_millis(MIN_MS)..=Duration::from_millis(MAX_MS);
        range.contains(&rounded).then_some(Self(rounded))
    }
}

impl Bounded for Share {
    fn expected(formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number from 0 to 1")
    }

    fn from_number(number: f64) -> Option<Self> {
        (0.0..=1.0).contains(&number).then_some(Self(number))
    }
}

impl Bounded for Money {
    fn expected(formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("0, or a number from 0.000001 to 1000000")
    }

    fn from_number(number: f64) -> Option<Self> {
        // Less than a millionth would be rounded to 0, which means none at all.
        let is_allowed = number == 0.0 || (0.000_001..=1_000_000.0).contains(&number);
        is_allowed.then_some(Self(number))
    }
}

impl Bounded for Temperature {
    fn expected(formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number from 0 to 2")
    }

    fn from_number(number: f64) -> Option<Self> {
        (0.0..=2.0).contains(&number).then_some(Self(number))
    }
}

impl<T: Bounded> Bounded for OrProvider<T> {
    fn expected(formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::expected(formatter)?;
        formatter.write_str(", or \"provider\"")
    }

    fn from_number(number: f64) -> Option<Self> {
        T::from_number(number).map(Self::Value)
    }
}

/// Reads a bounded number; `word` is the one text that is allowed in its place.
struct BoundedVisitor<T> {
    word: Option<(&'static str, T)>,
}

impl<T: Bounded> Visitor<'_> for BoundedVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::expected(formatter)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        #[expect(clippy::cast_precision_loss, reason = "every range lies far below 2^53")]
        T::from_number(number as f64).ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        T::from_number(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        match self.word {
            Some((word, value)) if word == text => Ok(value),
            word => Err(E::invalid_type(Unexpected::Str(text), &Self { word })),
        }
    }
}

macro_rules! deserialize_bounded {
    ($([$($generics:tt)*] $type:ty, $word:expr;)+) => {$(
        impl<'de, $($generics)*> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(BoundedVisitor { word: $word })
            }
        }
    )+};
}

deserialize_bounded! {
    [const MIN: u64, const MAX: u64] Whole<MIN, MAX>, None;
    [const MIN_MS: u64, const MAX_MS: u64] Seconds<MIN_MS, MAX_MS>, None;
    [] Share, None;
    [] Money, None;
    [const MIN: u64, const MAX: u64] OrProvider<Whole<MIN, MAX>>, Some(("provider", Self::Provider));
    [] OrProvider<Temperature>, Some(("provider", Self::Provider));
}

#[cfg(test)]
mod tests {
    use toml::Value;

    use super::*;

    #[test]
    fn numbers_outside_their_range_are_told_the_range() {
        assert_eq!(Value::Integer(7).try_into::<Whole<1, 10>>().unwrap().get(), 7);
        for wrong in [
            Value::Integer(0),
            Value::Integer(11),
            Value::Integer(-1),
            Value::Float(1.5),
            Value::Boolean(true),
        ] {
            let error = wrong.try_into::<Whole<1, 10>>().unwrap_err();
            assert!(error.message().ends_with("expected a whole number from 1 to 10"), "{error}");
        }
    }

    #[test]
    fn seconds_may_have_a_fraction_and_are_whole_milliseconds() {
        let seconds = |number| Value::Float(number).try_into::<Seconds<1, 600_000>>();
        assert_eq!(seconds(0.25).unwrap().get(), Duration::from_millis(250));
        assert_eq!(seconds(0.1).unwrap().get(), Duration::from_millis(100));
        assert!(seconds(0.0).unwrap_err().message().ends_with("expected seconds from 0.001 to 600"));
        for wrong in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert!(seconds(wrong).is_err());
        }
    }

    #[test]
    fn provider_is_the_only_word_among_the_numbers() {
        let read = |value: Value| value.try_into::<OrProvider<Temperature>>();
        assert_eq!(read(Value::from("provider")).unwrap().value(), None);
        assert_eq!(read(Value::Integer(0)).unwrap().value(), Some(Temperature(0.0)));
        let error = read(Value::from("auto")).unwrap_err();
        assert!(error.message().ends_with("expected a number from 0 to 2, or \"provider\""), "{error}");
    }
}
