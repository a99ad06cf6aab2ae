//! Whether a description of missing evidence says that the sources contradict the claim or each other.

/// Beginnings of words that speak of a contradiction.
const STEMS: [&str; 5] = ["contradict", "conflict", "disagree", "inconsisten", "refute"];

/// Words that, shortly before, turn such a word around.
const NEGATIONS: [&str; 8] = ["not", "no", "neither", "nor", "never", "without", "none", "n't"];

/// How many words before it a negation reaches.
const REACH: usize = 4;

/// Whether a contradiction is noted (E-08).
pub fn is_noted(description: &str) -> bool {
    let lower = description.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().any(|(at, word)| {
        STEMS.iter().any(|stem| word.starts_with(stem))
            && !words[at.saturating_sub(REACH)..at]
                .iter()
                .any(|before| NEGATIONS.contains(before) || before.ends_with("n't"))
    })
}

#[cfg(test)]
mod tests {
    use super::is_noted;

    #[test]
    fn a_contradiction_is_noted_unless_it_is_denied() {
        for (text, noted) in [
            ("Contradicted: source `b` says 9 euro.", true),
            ("The two timetables conflict with each other.", true),
            ("The sources disagree on the year.", true),
            ("Sources neither support nor contradict this.", false),
            ("This does not conflict with the sources, which are silent.", false),
            ("A price list would be needed.", false),
            ("", false),
        ] {
            assert_eq!(is_noted(text), noted, "{text}");
        }
    }
}
