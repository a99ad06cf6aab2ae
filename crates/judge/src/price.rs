//! What a call costs.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::reply::{Cost, Usage};

/// What a provider charges, in units of `currency` for a million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// For a million tokens of the prompt.
    pub input_per_million: f64,
    /// For a million tokens of the reply.
    pub output_per_million: f64,
    /// For a million tokens of the prompt that the provider had cached. None: as `input_per_million`.
    #[serde(default)]
    pub cached_input_per_million: Option<f64>,
    /// ISO 4217 code, such as `USD`.
    pub currency: String,
}

impl Price {
    /// Checks the amounts and the currency; names the field that is wrong.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let amounts = [
            ("input_per_million", Some(self.input_per_million)),
            ("output_per_million", Some(self.output_per_million)),
            ("cached_input_per_million", self.cached_input_per_million),
        ];
        for (key, amount) in amounts {
            // A million units for a million tokens is beyond every price list, and keeps the sums in range.
            if amount.is_some_and(|amount| !(0.0..=1_000_000.0).contains(&amount)) {
                return Err((key, "must be between 0 and 1000000"));
            }
        }
        if self.currency.len() != 3 || !self.currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(("currency", "must be three capital letters, such as USD"));
        }
        Ok(())
    }
}

/// The price of the model that answered, else of the one that was asked, else the profile's only price.
///
/// A provider may answer with a dated name of the model, or with another model altogether: the table's word on
/// that name goes first.
pub(crate) fn of_model<'a>(
    table: &'a BTreeMap<String, Price>,
    only: Option<&'a Price>,
    asked: &str,
    answered: Option<&str>,
) -> Option<&'a Price> {
    answered.and_then(|model| table.get(model)).or_else(|| table.get(asked)).or(only)
}

/// The cost of a call, or None where price or usage is unknown.
///
/// Prices become whole micro-units once and all sums are done in integers, so that adding up costs is exact;
/// one rounding, half up, happens at the end.
pub(crate) fn cost(price: Option<&Price>, usage: Option<Usage>) -> Option<Cost> {
    let (price, usage) = (price?, usage?);
    let input = micros(price.input_per_million);
    let cached_price = price.cached_input_per_million.map_or(input, micros);
    let cached = usage.cached.unwrap_or(0).min(usage.prompt);
    let total = i128::from(usage.prompt - cached) * input
        + i128::from(cached) * cached_price
        + i128::from(usage.completion) * micros(price.output_per_million);
    let micros = i64::try_from((total + 500_000) / 1_000_000).ok()?;
    Some(Cost { micros, currency: price.currency.clone() })
}

/// Whole micro-units. The profile has checked that the amount is between 0 and a million.
#[expect(clippy::cast_possible_truncation, reason = "at most 10^12 after the profile's check")]
fn micros(amount: f64) -> i128 {
    (amount * 1_000_000.0).round() as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: f64, output: f64, cached: Option<f64>) -> Price {
        Price {
            input_per_million: input,
            output_per_million: output,
            cached_input_per_million: cached,
            currency: "USD".into(),
        }
    }

    #[test]
    fn cost_is_exact_and_unknown_is_not_zero() {
        let usage = |prompt, completion, cached| Some(Usage { prompt, completion, cached });
        let micros =
            |price: &Price, usage| cost(Some(price), usage).map(|cost| (cost.micros, cost.currency)).unwrap();

        assert_eq!(
            micros(&price(2.5, 10.0, None), usage(1_000_000, 100_000, None)),
            (3_500_000, "USD".into())
        );
        // 0.15 for a million tokens is 0.15 micro-units a token: only the total is rounded.
        assert_eq!(micros(&price(0.15, 0.6, None), usage(1000, 0, None)).0, 150);
        assert_eq!(micros(&price(0.15, 0.6, None), usage(3, 0, None)).0, 0);
        assert_eq!(micros(&price(0.15, 0.6, None), usage(4, 0, None)).0, 1);
        assert_eq!(micros(&price(1.0, 1.0, Some(0.1)), usage(1000, 0, Some(600))).0, 460);
        assert_eq!(micros(&price(1.0, 1.0, Some(0.0)), usage(10, 0, Some(999))).0, 0);
        assert_eq!(micros(&price(0.0, 0.0, None), usage(10, 10, None)).0, 0);

        assert_eq!(cost(None, usage(10, 10, None)), None);
        assert_eq!(cost(Some(&price(1.0, 1.0, None)), None), None);
        assert_eq!(cost(Some(&price(1e6, 1e6, None)), usage(u64::MAX, u64::MAX, None)), None);
    }

    #[test]
    fn the_model_that_answered_goes_before_the_one_that_was_asked() {
        let table = BTreeMap::from([
            ("m".to_owned(), price(1.0, 1.0, None)),
            ("m-2026".to_owned(), price(2.0, 2.0, None)),
        ]);
        let only = price(9.0, 9.0, None);
        let input = |asked, answered| {
            of_model(&table, Some(&only), asked, answered).map(|price| price.input_per_million)
        };
        assert_eq!(input("m", Some("m-2026")), Some(2.0));
        assert_eq!(input("m", Some("m-2027")), Some(1.0));
        assert_eq!(input("m", None), Some(1.0));
        assert_eq!(input("other", Some("another")), Some(9.0));
        assert_eq!(of_model(&table, None, "other", Some("another")), None);
    }
}
