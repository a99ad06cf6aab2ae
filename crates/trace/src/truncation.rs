//! Signs that a text was cut or blanked out on its way here.

/// Why `text` cannot be what was retrieved or answered, if it shows.
pub(crate) fn sign(text: &str) -> Option<&'static str> {
    let end = text.trim_end();
    if end.contains("__REDACTED__") {
        return Some("holds __REDACTED__: the text was hidden before it was sent");
    }
    if end.ends_with('\u{fffd}') {
        return Some("ends inside a character: the text was cut");
    }
    if has_marker(end) {
        return Some("ends with a truncation marker: the text was cut");
    }
    if is_cut_json(end) {
        return Some("ends inside a JSON value: the text was cut");
    }
    None
}

/// Markers that tracing SDKs leave at the end of what they shorten, such as `...[truncated]` or
/// `… (truncated 1200 chars)`. Only words in brackets count: a sentence may well end in dots, and may
/// speak of a truncated thing in brackets.
fn has_marker(text: &str) -> bool {
    const PAIRS: [(char, char); 3] = [(']', '['), (')', '('), ('>', '<')];
    let end = text.trim_end_matches('.').to_lowercase();
    let Some(last) = end.chars().next_back() else { return false };
    let Some((_, open)) = PAIRS.iter().find(|(close, _)| *close == last) else { return false };
    let Some(start) = end.rfind(*open) else { return false };
    let inside = end[start..].trim_matches(|c: char| !c.is_alphanumeric());
    if inside.chars().count() > 60 {
        return false;
    }
    // A person writes `(truncated).` within a sentence; a program puts it behind dots, or alone in other brackets.
    let is_behind_dots = end[..start].trim_end().ends_with(['.', '…']);
    let is_word = matches!(inside, "truncated" | "output truncated" | "content truncated" | "text truncated");
    if is_word {
        let is_sentence = *open == '(' || text.len() > end.len();
        return is_behind_dots || !is_sentence;
    }
    let words: Vec<&str> =
        inside.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let counts = |word: &&str| {
        matches!(
            *word,
            "chars"
                | "char"
                | "characters"
                | "bytes"
                | "tokens"
                | "lines"
                | "words"
                | "more"
                | "for"
                | "by"
                | "at"
        )
    };
    let has_digit = words.iter().any(|word| word.bytes().any(|byte| byte.is_ascii_digit()));
    let is_named = words.first() == Some(&"truncated")
        || words.last() == Some(&"truncated")
        || inside.starts_with("output truncated");
    is_named && (has_digit || words.iter().any(counts)) && (is_behind_dots || has_digit || *open != '(')
}

/// A text that starts as a JSON object, array of objects or strings, and stops before its end.
fn is_cut_json(text: &str) -> bool {
    let start = text.trim_start();
    let looks_like_json = start.starts_with("{\"") || start.starts_with("[{") || start.starts_with("[\"");
    looks_like_json && serde_json::from_str::<serde::de::IgnoredAny>(start).is_err_and(|error| error.is_eof())
}

#[cfg(test)]
mod tests {
    use super::sign;

    #[test]
    fn cut_texts_are_seen() {
        for text in [
            "the fee is ...[truncated]",
            "the fee is… (truncated 1200 chars)",
            "the fee is <truncated>",
            "the fee is [12 more characters truncated]",
            "the fee is... [output truncated]",
            "the fee is [truncated for length]",
            "the fee is... (truncated)",
            "the fee is \u{fffd}",
            "{\"fee\": \"2.8",
            "[{\"fee\": 1}, {\"fe",
            "see __REDACTED__ for more",
        ] {
            assert!(sign(text).is_some(), "{text}");
        }
    }

    #[test]
    fn whole_texts_are_left_alone() {
        for text in [
            "and so on ...",
            "He said … and left.",
            "A truncated cone (see figure)",
            "The cone is then cut (frustum, truncated).",
            "The table has three columns [list, truncated]",
            "The pyramid is flat at its top (truncated).",
            "a list [a, b",
            "the colours are red, green (dark",
            "prices: 5, 7,",
            "a list [a, b]",
            "{\"fee\": 2}",
            "{fee",
            "a \u{fffd} inside",
            "[1] The fee",
            "",
        ] {
            assert_eq!(sign(text), None, "{text}");
        }
    }
}
