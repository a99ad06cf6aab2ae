//! Conditions as people write them: a name, a comparison, a number.

use std::fmt;

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `=` or `==`
    Equal,
    /// `!=`
    Different,
}

impl Comparison {
    /// Two characters before one, so that `<=` is not read as `<`.
    const ALL: [(&'static str, Self); 7] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("==", Self::Equal),
        ("!=", Self::Different),
        ("<", Self::Less),
        (">", Self::More),
        ("=", Self::Equal),
    ];

    /// Whether the comparison holds. Nothing compares with a number that is none.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::More => left > right,
            Self::AtLeast => left >= right,
            Self::Equal => left == right,
            Self::Different => left != right && !left.is_nan() && !right.is_nan(),
        }
    }

    /// Whether `left` fulfils the comparison by more than `right` does; equality knows no more and no less.
    pub fn exceeds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less | Self::AtMost => left < right,
            Self::More | Self::AtLeast => left > right,
            Self::Equal | Self::Different => false,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(_, comparison)| comparison == self).map_or("", |(word, _)| *word);
        formatter.write_str(if *self == Self::Equal { "=" } else { word })
    }
}

/// A condition, its name not yet looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition<'a> {
    /// What is looked at.
    pub name: &'a str,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what; finite.
    pub value: f64,
}

/// Why a text is no condition. Each says what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConditionError {
    /// There is no sign of comparison.
    #[error(
        "`{text}` has no comparison: write a name, one of < <= > >= = !=, and a number, such as `{example}`"
    )]
    NoComparison {
        /// What was written.
        text: String,
        /// A condition that is right.
        example: &'static str,
    },
    /// The name is missing or unknown.
    #[error("`{text}`: there is no `{name}`; allowed are {allowed}")]
    UnknownName {
        /// What was written.
        text: String,
        /// The name in it.
        name: String,
        /// What may stand there.
        allowed: String,
    },
    /// What follows the comparison is no number.
    #[error("`{text}`: `{given}` is not a number; write digits with a full stop, such as 2 or 0.8")]
    NotANumber {
        /// What was written.
        text: String,
        /// What stands in the number's place.
        given: String,
    },
}

/// Reads `name comparison number`; white space around the parts is allowed.
///
/// # Errors
/// [`ConditionError`]; the name is not looked up.
pub fn parse<'a>(text: &'a str, example: &'static str) -> Result<Condition<'a>, ConditionError> {
    let no_comparison = || ConditionError::NoComparison { text: text.to_owned(), example };
    let at = text.find(['<', '>', '=', '!']).ok_or_else(no_comparison)?;
    let (name, rest) = text.split_at(at);
    let (word, comparison) =
        Comparison::ALL.into_iter().find(|(word, _)| rest.starts_with(word)).ok_or_else(no_comparison)?;
    let number = rest[word.len()..].trim();
    let value = number
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
        .ok_or_else(|| ConditionError::NotANumber { text: text.to_owned(), given: number.to_owned() })?;
    Ok(Condition { name: name.trim(), comparison, value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXAMPLE: &str = "contradicted>0";

    #[test]
    fn a_condition_is_a_name_a_comparison_and_a_number() {
        let parsed = |text| parse(text, EXAMPLE).map(|c| (c.name, c.comparison.to_string(), c.value));
        assert_eq!(parsed("contradicted>0"), Ok(("contradicted", ">".into(), 0.0)));
        assert_eq!(parsed(" mean.faithfulness <= 0.8 "), Ok(("mean.faithfulness", "<=".into(), 0.8)));
        assert_eq!(parsed("claims==3"), Ok(("claims", "=".into(), 3.0)));
        assert_eq!(parsed("claims!=3"), Ok(("claims", "!=".into(), 3.0)));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        let error = |text| parse(text, EXAMPLE).unwrap_err().to_string();
        assert!(error("contradicted").contains("such as `contradicted>0`"));
        assert!(error("").contains("no comparison"));
        assert!(error("contradicted!2").contains("one of < <= > >= = !="));
        assert_eq!(
            error("faithfulness<80%"),
            "`faithfulness<80%`: `80%` is not a number; write digits with a full stop, such as 2 or 0.8"
        );
        for not_a_number in ["a>", "a>NaN", "a>inf", "a>1,5", "a>=>1", "a>1 2"] {
            assert!(error(not_a_number).contains("is not a number"), "{not_a_number}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(name in "[a-z_.]{1,20}", value in -1.0e9..1.0e9_f64, at in 0..7_usize) {
            let (word, comparison) = Comparison::ALL[at];
            let text = format!("{name} {word} {value}");
            prop_assert_eq!(parse(&text, EXAMPLE), Ok(Condition { name: &name, comparison, value }));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = parse(&text, EXAMPLE);
        }

        #[test]
        fn nothing_is_both_less_and_more(left in any::<f64>(), right in any::<f64>()) {
            prop_assert!(!(Comparison::Less.holds(left, right) && Comparison::AtLeast.holds(left, right)));
            prop_assert!(!(Comparison::More.holds(left, right) && Comparison::AtMost.holds(left, right)));
        }
    }
}
